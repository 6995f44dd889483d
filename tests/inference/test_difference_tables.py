import numpy as np
import pandas as pd
import pytest
from tests.codes import refused, warned

from sgbn.inference.difference_tables import (
    global_p,
    pool_statistics,
    rank_edges,
    rank_ways,
    records,
    shares_in,
)
from sgbn.inference.differences import edge_differences
from sgbn.inference.permutations import class_shares
from sgbn.learn.sgbn import SGBN

B = 39  # permutations of the fixture `differences`


def test_every_p_has_its_error(differences):
    def error(p):
        return np.sqrt(p * (1 - p) / (B + 1))

    edges = differences.edges
    assert (edges["p_error"] <= error(edges["p"]) + 1e-12).all()  # it pools over edges,
    assert (edges["p_error"] >= error(edges["p"]) / 5).all()  # of which there are about ten
    for table in (edges, differences.hubs):
        np.testing.assert_allclose(table["error"], error(table["p_fwer"]))
    assert differences.global_error == pytest.approx(error(differences.global_p))
    assert all(own == pytest.approx(error(p)) for _, p, own in differences.components)


def test_differences_are_per_standard_deviation(differences):
    edges = differences.edges
    np.testing.assert_allclose(
        edges["statistic"], edges["difference_std"] / edges["standard_error"], rtol=1e-10
    )
    np.testing.assert_array_equal(np.sign(edges["difference"]), np.sign(edges["difference_std"]))


@pytest.mark.parametrize("level", [0.025, 0.05, 0.29, 0.5])
def test_the_threshold_is_that_of_p_fwer(differences, level):
    pool = differences.edges[differences.edges["from_pool"]]
    above = np.abs(pool["statistic"]) > differences.threshold(level)
    np.testing.assert_array_equal(above, pool["p_fwer"] <= level + 1e-12)
    assert len(differences.null["totals"]) == len(differences.null["lowest"]) == B


@pytest.mark.parametrize("seed", [8, 11])
def test_the_threshold_is_that_of_p_fwer_where_hardly_any_group_chooses_an_edge(two_groups, seed):
    """Permutations have fewer than 20 such edges: all edges are then ranked among each other."""
    X, y = two_groups(seed=seed, change=0.6)
    tests = edge_differences(X, y, learner=SGBN(n_kicks=0), n_permutations=B)
    assert 5 * B < len(tests.null["pool"]) < 5 * B + 20  # five of each pool, and a few others
    pool = tests.edges[tests.edges["from_pool"]]
    for level in np.arange(1, B) / (B + 1):
        above = np.abs(pool["statistic"]) > tests.threshold(level)
        np.testing.assert_array_equal(above, pool["p_fwer"] <= level + 1e-12)


def test_many_changes_do_not_raise_the_threshold(two_groups):
    X, y = two_groups(change=0)
    columns = X.to_numpy().copy()
    second = np.asarray(y) == np.unique(y)[-1]
    columns[second] = np.random.default_rng(0).permuted(columns[second], axis=0)  # no edge is left
    tests = edge_differences(pd.DataFrame(columns, columns=X.columns), y, n_permutations=B)
    pool = tests.edges[tests.edges["from_pool"]]
    above = np.abs(pool["statistic"]) > tests.threshold()
    np.testing.assert_array_equal(above, pool["p_fwer"] <= 0.05)
    assert above.sum() > 2


def test_without_any_permuted_edge_no_difference_is_known_to_be_large():
    X = np.random.default_rng(50).normal(size=(40, 3))  # noise in which no permutation has an edge
    tests = edge_differences(X, np.repeat(["a", "b"], 20), learner=SGBN(1e6), n_permutations=B)
    assert not len(tests.null["pool"])
    assert tests.threshold() == np.inf
    assert not len(tests.significant(0.5, "p_fwer"))


def test_detectable_differences_grow_with_power_and_noise(differences):
    half = differences.detectable(0.5)
    np.testing.assert_allclose(half, differences.threshold() * differences.edges["standard_error"])
    assert (differences.detectable(0.8) > half).all()
    with refused("argument"):
        differences.detectable(1)


def test_what_cannot_be_asked_of_the_tests_is_said(differences):
    with refused("argument"):
        differences.significant(by="fwer")
    with refused("argument"):
        differences.significant(5)
    with refused("permutations.few"):
        differences.threshold(0.001)
    with warned("permutations.few"):
        differences.significant(0.001, "p_fwer")
    assert len(differences.significant(0.03, "p_fwer"))
    assert len(differences.significant(0.05, "q_both")) <= len(differences.significant(0.05, "q"))
    assert len(differences.significant(0.9, "p")) >= len(differences.significant(0.05, "p")) > 0


def test_weights_are_in_the_units_of_the_data(data, differences):
    X, y = data
    edge = differences.edges[0]
    parents = [e["source"] for e in differences.edges if e["target"] == edge["target"]]
    own = X[y == "MCI"]
    A = np.column_stack([own[parents], np.ones(len(own))])
    beta = np.linalg.lstsq(A, own[edge["target"]])[0]
    assert edge["weight_MCI"] == pytest.approx(beta[parents.index(edge["source"])], rel=1e-6)
    assert edge["difference"] == pytest.approx(edge["weight_MCI"] - edge["weight_NC"])
    network = differences.networks["MCI"]
    i, j = (differences.regions.index(edge[end]) for end in ("source", "target"))
    assert network.coef[i, j] == pytest.approx(edge["weight_MCI"])


def test_a_table_without_an_atlas_has_no_lobes(differences):
    assert len(differences.lobes) == 0


def runs(seed=0, n_permutations=40):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 5, n_permutations)
    total = int(counts.sum())

    def draw(k):
        found = {"tests": rng.normal(size=k), "ways": rng.normal(size=(k, 3))}
        found = {name: np.abs(values) for name, values in found.items()}
        return found | {"in_pool": rng.random(k) < 0.5}

    return draw(3), draw(total) | {"counts": counts}


def test_shares_compare_edges_that_were_chosen_alike():
    own, null = runs()
    found = rank_edges(own, null)
    for k, (t, pool) in enumerate(zip(own["tests"], own["in_pool"], strict=True)):
        alike = np.sort(null["tests"][null["in_pool"] == pool])
        np.testing.assert_allclose(found.shares[k], class_shares(np.array([t]), alike)[0])


def test_edges_of_the_pool_are_ranked_among_all_where_one_kind_is_rare():
    for n_pool, n_ranked in ((19, 60), (20, 20), (40, 40), (41, 60), (60, 60)):
        null = {"tests": np.arange(60.0)[::-1], "in_pool": np.arange(60) < n_pool}
        found = pool_statistics(null)
        assert len(found) == n_ranked
        assert (np.diff(found) > 0).all()


def test_each_way_is_ranked_among_its_own():
    own, null = runs(1)
    found = rank_ways(own, null)
    alone = [
        rank_edges(own | {"tests": own["ways"][:, way]}, null | {"tests": null["ways"][:, way]})
        for way in range(3)
    ]
    np.testing.assert_allclose(found.p, np.max([one.p for one in alone], axis=0))
    lowest = np.min([one.lowest for one in alone], axis=0)
    largest = np.max([one.shares for one in alone], axis=0)
    expected = [(1 + np.sum(lowest <= share * (1 + 1e-9))) / (1 + len(lowest)) for share in largest]
    np.testing.assert_allclose(found.family_wise, expected)


def test_the_global_p_both_ways_counts_the_smallest_way():
    own = {"ways": np.array([[9.0, 0.1, 2.0], [0.1, 9.0, 2.0]])}
    totals = np.column_stack([np.arange(9.0), np.zeros(9), np.zeros(9)])
    assert global_p(own, {"totals_ways": totals}) == 0.9  # one permuted sum is below 0.02
    assert global_p(own, {"totals_ways": np.zeros((9, 3))}) == 0.1


def test_shares_count_ties():
    shares = shares_in(np.array([[1.0, 2.0, 2.0, 3.0]]).T)
    assert shares.ravel().tolist() == [1, 0.75, 0.75, 0.25]


def test_columns_keep_their_order_and_types():
    table = records({"region": np.array(["a", "b"], object), "p": np.array([0.1, 0.2])})
    assert table.dtype.names == ("region", "p")
    assert table.tolist() == [("a", 0.1), ("b", 0.2)]
    assert table["p"].dtype == float
