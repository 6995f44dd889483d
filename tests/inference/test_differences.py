import numpy as np
import pandas as pd
import pytest

from sgbn import StudyError, simulate_cohort
from sgbn.inference.differences import edge_differences, statistics
from sgbn.inference.joint import GroupWeights

B = 99


@pytest.fixture(scope="module")
def found(data):
    return edge_differences(*data, n_permutations=B)


def test_the_changed_edge_is_found_first(found):
    best = found.edges[0]
    assert {best["source"], best["target"]} == {"r2", "r3"}
    assert best["p_fwer"] == 1 / (B + 1)
    assert best["q"] <= 0.05
    assert found.global_p == 1 / (B + 1)
    component, p = found.components[0]
    assert {"r2", "r3"} <= {found.regions[k] for k in component.pairs.ravel()}
    assert p <= 0.05
    assert found.groups == ("MCI", "NC")


def test_without_a_difference_little_is_found(two_groups):
    p = [
        edge_differences(*two_groups(change=0, seed=s), n_permutations=39).edges["p_fwer"].min()
        for s in range(30)
    ]
    assert np.mean(np.array(p) <= 0.05) <= 0.2  # 99.9 % of binomial draws at 5 %


def test_weights_are_in_the_units_of_the_data(data, found):
    X, y = data
    edge = found.edges[0]
    parents = [e["source"] for e in found.edges if e["target"] == edge["target"]]
    own = X[y == "MCI"]
    A = np.column_stack([own[parents], np.ones(len(own))])
    beta = np.linalg.lstsq(A, own[edge["target"]])[0]
    assert edge["weight_MCI"] == pytest.approx(beta[parents.index(edge["source"])], rel=1e-6)
    assert edge["difference"] == pytest.approx(edge["weight_NC"] - edge["weight_MCI"])
    network = found.networks["MCI"]
    i, j = (found.regions.index(edge[end]) for end in ("source", "target"))
    assert network.coef[i, j] == pytest.approx(edge["weight_MCI"])


def test_results_do_not_depend_on_processes_units_or_columns(data, found):
    X, y = data
    again = edge_differences(X, y, n_permutations=B, n_jobs=2)
    np.testing.assert_array_equal(found.edges, again.edges)
    units = edge_differences(X * [1, 10, 0.1, 5, 3, 1000], y, n_permutations=B)
    np.testing.assert_allclose(units.edges["statistic"], found.edges["statistic"], rtol=1e-6)
    turned = edge_differences(X[X.columns[::-1]], y, n_permutations=B)
    assert set(turned.edges[["source", "target"]].tolist()) == set(
        found.edges[["source", "target"]].tolist()
    )
    np.testing.assert_allclose(
        np.sort(turned.edges["p_fwer"]), np.sort(found.edges["p_fwer"]), atol=0.02
    )


def test_a_broken_run_goes_on(data, found, tmp_path, two_groups):
    folder = tmp_path / "study"
    edge_differences(*data, n_permutations=B, folder=folder)
    (folder / "tasks" / "permutations-00001.npz").unlink()
    again = edge_differences(*data, n_permutations=B, folder=folder)
    np.testing.assert_array_equal(found.edges, again.edges)
    with pytest.raises(StudyError, match="other settings"):
        edge_differences(*two_groups(seed=1), n_permutations=B, folder=folder)


def test_one_sided_tests_see_one_side(data):
    less, greater = (
        edge_differences(*data, n_permutations=B, alternative=side).edges
        for side in ("less", "greater")
    )
    changed = {"r2", "r3"}

    def p_of(edges):
        return next(e["p_fwer"] for e in edges if {e["source"], e["target"]} == changed)

    assert p_of(less) == 1 / (B + 1)  # of NC less MCI, where it is larger
    assert p_of(greater) == 1


def test_without_parents_of_the_groups_an_edge_that_cancels_is_not_tested(two_groups):
    X, y = two_groups(change=-1.4)  # 0.7 and -0.7
    joined = [
        {"r2", "r3"} in [{e["source"], e["target"]} for e in tests.edges]
        for tests in (
            edge_differences(X, y, n_permutations=19, separate_parents=separate)
            for separate in (True, False)
        )
    ]
    assert joined == [True, False]


def test_three_groups(data):
    X, y = data
    three = np.where(np.arange(len(y)) % 60 < 20, y, "third-" + y[0])
    found = edge_differences(X, np.where(y == "MCI", "MCI", three), n_permutations=B)
    assert len(found.groups) == 3
    assert {found.edges[0]["source"], found.edges[0]["target"]} == {"r2", "r3"}
    assert found.edges[0]["p_fwer"] <= 0.05


def test_q_of_two_groups_is_the_square_of_t():
    rng = np.random.default_rng(0)
    parents = np.triu(np.ones((4, 4), bool), 1)
    a, b = (
        GroupWeights(parents * rng.normal(size=(4, 4)), parents * rng.random((4, 4)), np.ones(4))
        for _ in range(2)
    )
    t = statistics([a, b], parents)
    mean = (a.weights / a.variances + b.weights / b.variances)[parents] / (
        1 / a.variances + 1 / b.variances
    )[parents]
    Q = (a.weights[parents] - mean) ** 2 / a.variances[parents]
    Q += (b.weights[parents] - mean) ** 2 / b.variances[parents]
    np.testing.assert_allclose(Q, t[parents] ** 2)
    three = statistics([a, b, a], parents)
    assert (three[parents] >= np.abs(t[parents]) - 1e-12).all()


def test_pairs_are_swapped_within_subjects(data):
    X, y = data
    ids = np.tile(np.arange(60), 2)
    found = edge_differences(X, y, pairs=ids, n_permutations=B)
    assert {found.edges[0]["source"], found.edges[0]["target"]} == {"r2", "r3"}
    assert found.edges[0]["p_fwer"] <= 0.05


def test_a_cohort_brings_groups_sites_and_covariates():
    cohort = simulate_cohort(60, regions=8, differ="edges", n_sites=2, covariates=["age"])
    found = edge_differences(cohort, n_permutations=B)
    plain = edge_differences(
        pd.DataFrame(cohort.values, columns=cohort.regions),
        cohort.group,
        covariates=cohort.covariates,
        sites=cohort.site,
        n_permutations=B,
    )
    np.testing.assert_array_equal(found.edges, plain.edges)
    assert set(found.lobes["source"]) == set(cohort.lobes)
    assert len(found.hubs) == 16
