import numpy as np

from sgbn.inference.difference_tables import (
    global_p,
    pool_statistics,
    rank_edges,
    rank_ways,
    shares_in,
)
from sgbn.inference.permutations import class_shares


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
