import numpy as np
import pandas as pd
import pytest

from sgbn import DataWarning, InputError, StudyError, simulate_cohort
from sgbn.inference.differences import edge_differences

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
    component, p, _ = found.components[0]
    assert {"r2", "r3"} <= {found.regions[k] for k in component.pairs.ravel()}
    assert p <= 0.05
    assert found.groups == ("MCI", "NC")


def null_cohort(two_groups, setting, seed):
    """Groups without a difference, and what the setting asks for."""
    X, y = two_groups(change=0, seed=seed)
    rng = np.random.default_rng(seed)
    if setting == "three":
        return X - 3 * (y == "MCI")[:, None], np.repeat(["a", "b", "c"], 40), {}
    if setting == "pairs":
        alike = rng.normal(size=(60, X.shape[1]))
        return X + np.tile(alike, (2, 1)), y, {"pairs": np.tile(np.arange(60), 2)}
    if setting == "sites":
        sites = (rng.random(len(y)) < np.where(y == "NC", 0.3, 0.6)).astype(int)
        return X + 3 * sites[:, None] * np.arange(X.shape[1]), y, {"sites": sites}
    return X, y, {"alternative": setting}


@pytest.mark.parametrize("setting", ["two-sided", "three", "pairs", "sites", "greater"])
def test_without_a_difference_little_is_found(two_groups, setting):
    cohorts = [null_cohort(two_groups, setting, seed) for seed in range(30)]
    tests = [edge_differences(X, y, n_permutations=19, **more) for X, y, more in cohorts]
    p = {
        "edges": [own.edges["p_fwer"].min() for own in tests],
        "global": [own.global_p for own in tests],
        "hubs": [own.hubs["p_fwer"].min() for own in tests],
        "lobes": [own.lobes["p_fwer"].min() for own in tests],
    }
    found = {name: np.mean(np.array(values) <= 0.05) for name, values in p.items()}
    assert max(found.values()) <= 0.2, found  # 99.9 % of binomial draws at 5 %


def test_every_p_has_its_error(found):
    def error(p):
        return np.sqrt(p * (1 - p) / (B + 1))

    np.testing.assert_allclose(found.edges["p_error"], error(found.edges["p"]))
    for table in (found.edges, found.hubs, found.lobes):
        np.testing.assert_allclose(table["error"], error(table["p_fwer"]))
    assert found.global_error == pytest.approx(error(found.global_p))
    assert all(own == pytest.approx(error(p)) for _, p, own in found.components)


def test_differences_per_standard_deviation_and_what_arrows_rest_on(found):
    edges = found.edges
    np.testing.assert_allclose(
        edges["statistic"], edges["difference_std"] / edges["standard_error"], rtol=1e-10
    )
    np.testing.assert_array_equal(np.sign(edges["difference"]), np.sign(edges["difference_std"]))
    assert set(edges["graph_direction"]) <= {"compelled", "reversible"}


@pytest.mark.parametrize("level", [0.01, 0.05, 0.29, 0.5])
def test_the_threshold_is_that_of_p_fwer(found, level):
    above = np.abs(found.edges["statistic"]) > found.threshold(level)
    np.testing.assert_array_equal(above, found.edges["p_fwer"] <= level + 1e-12)
    share = (1 + (found.null["highest"] > found.threshold(level)).sum()) / (B + 1)
    assert share == pytest.approx(level)
    assert len(found.null["totals"]) == B


def test_detectable_differences_grow_with_power_and_noise(found):
    half = found.detectable(0.5)
    np.testing.assert_allclose(half, found.threshold() * found.edges["standard_error"])
    assert (found.detectable(0.8) > half).all()
    with pytest.raises(InputError, match="power is 1"):
        found.detectable(1)


def test_what_cannot_be_asked_of_the_tests_is_said(found):
    with pytest.raises(InputError, match=r"\['q', 'p_fwer', 'p'\]. Did you mean 'p_fwer'"):
        found.significant(by="fwer")
    with pytest.raises(InputError, match="level is 5"):
        found.significant(5)
    with pytest.raises(InputError, match="needs 999 permutations"):
        found.threshold(0.001)
    for by in ("q", "p_fwer"):
        with pytest.warns(DataWarning, match="it needs 999 or more"):
            found.significant(0.001, by)
        assert len(found.significant(0.01, by))
    assert len(found.significant(0.9, "p")) >= len(found.significant(0.05, "p")) > 0


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
    assert {component.sign for component, *_ in found.components} == {0}
    assert (found.hubs["p_fwer"] <= 1).all()
    assert found.hubs["p_fwer"].min() <= 0.05


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
