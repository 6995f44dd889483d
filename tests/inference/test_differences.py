from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.codes import refused, warned

from sgbn.cohort.rows import rows_of_groups
from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.problems import StudyError
from sgbn.inference import permutations
from sgbn.inference.difference_problem import group_columns
from sgbn.inference.differences import edge_differences, problem_of, surest_parents
from sgbn.inference.joint import POOLED_GAMMA, covariances, weights_on
from sgbn.learn.sgbn import SGBN
from sgbn.runs.dask import packed

B = 39  # permutations of the fixture `differences`
PLACES = np.arange(120)  # of the rows of `data`


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda X, y: (X, None), "groups.none"),
        (lambda X, y: (X, np.repeat("a", len(y))), "groups.one"),
        (lambda X, y: (X[51:], y[51:]), "groups.small"),
        (lambda X, y: (X, y[1:]), "labels.count"),
        (lambda X, y: (X.assign(r1=X["r1"].where(y == "NC", 1.0)), y), "regions.constant"),
        (lambda X, y: (X, pd.Series(y, index=X.index)[::-1]), "rows.order"),
        (lambda X, y: (X.assign(copy=3 * X["r1"] + 2), y), "columns.copies"),
        (lambda X, y: (simulate_cohort(30, regions=6, missing=0.05),), "cells.gaps"),
    ],
)
def test_rows_that_cannot_be_tested_are_refused(data, change, code):
    with refused(code):
        edge_differences(*change(*data))


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"n_permutations": 5}, "permutations.few"),
        ({"n_permutations": 99.5}, "argument"),
        ({"random_state": -1}, "argument"),
        ({"alternative": "more"}, "argument"),
        ({"outliers": "all"}, "argument"),
        ({"outliers": np.zeros(5, bool)}, "rows.mask"),
        ({"reference": "mci"}, "groups.unknown"),
        ({"groups": PLACES % 3, "alternative": "less"}, "alternative.groups"),
        ({"groups": PLACES % 3, "pairs": PLACES}, "pairs.incomplete"),
        ({"pairs": PLACES[:60]}, "labels.count"),
        ({"persons": PLACES % 60}, "persons.groups"),
        ({"persons": PLACES // 2, "blocks": PLACES % 2}, "persons.blocks"),
        ({"persons": PLACES // 10}, "groups.small"),
        ({"blocks": np.where(PLACES < 60, 0, PLACES // 2)}, "exchange.none"),
        ({"sites": [0] * 60 + [1] * 60}, "exchange.none"),
        ({"sites": ["a", None] * 60}, "labels.missing"),
        ({"sites": pd.Series(["a", None] * 60, dtype="string")}, "labels.missing"),
        ({"covariates": {"age": [1.0, 2.0]}}, "labels.count"),
        ({"covariates": {"age": pd.Series(PLACES)[::-1]}}, "rows.order"),
        ({"covariates": pd.DataFrame({"age": PLACES})[::-1]}, "rows.order"),
        ({"covariates": pd.Series(PLACES)}, "covariates.type"),
        ({"outliers": pd.Series(PLACES == 3)[::-1]}, "rows.order"),
        ({"covariates": np.ones(120)}, "covariates.type"),
        ({"edges": [("r1", "r2"), ("r2", "r1")]}, "edges.twice"),
        ({"edges": [("r9", "r1")]}, "regions.unknown"),
        ({"edges": [("r1", "r1")]}, "edges.loop"),
        ({"edges": ["r1"]}, "edges.pair"),
        ({"among": ["r9"]}, "among.unknown"),
        ({"among": ["r1"]}, "among.one"),
    ],
)
def test_designs_that_cannot_be_tested_are_refused(data, options, code):
    X, y = data
    with refused(code):
        edge_differences(X, **{"groups": y} | options)


def test_the_reference_comes_first(data):
    plain, turned = (
        edge_differences(*data, n_permutations=19, reference=name) for name in ("MCI", None)
    )
    assert (plain.groups, turned.groups) == (("MCI", "NC"), ("NC", "MCI"))
    np.testing.assert_allclose(turned.edges["statistic"], -plain.edges["statistic"])
    np.testing.assert_allclose(turned.edges["weight_NC"], plain.edges["weight_NC"])
    np.testing.assert_allclose(turned.edges["difference"], -plain.edges["difference"])


def test_a_cohort_brings_its_persons_and_families():
    drawn = simulate_cohort(30, regions=4)
    person = np.array([f"{one}{k // 2}" for k, one in enumerate(drawn.group)])
    cohort = replace(drawn, person=person, block=np.array([f"f{k // 4}" for k in range(60)]))
    rows = rows_of_groups(cohort)
    np.testing.assert_array_equal(rows.design.person, cohort.person[rows.places])
    np.testing.assert_array_equal(rows.design.block, cohort.block[rows.places])
    plain, with_persons = (edge_differences(one, n_permutations=19) for one in (drawn, cohort))
    assert not np.array_equal(plain.null["lowest"], with_persons.null["lowest"])


@pytest.mark.parametrize(
    ("ids", "groups", "wrong"), [("xyzzxw", "aaabbb", "wy"), ("xyzzxy", "aabbcc", "xyz")]
)
def test_half_pairs_are_refused(ids, groups, wrong):
    with refused("pairs.incomplete") as caught:
        rows_of_groups(np.eye(6), list(groups), pairs=list(ids))
    assert caught.value.problem.values["persons"] == list(wrong)


def test_rows_far_out_are_left_out_and_named(data):
    X, y = data
    X = X.copy()
    X.iloc[[3, 70]] *= 50
    found = edge_differences(X, y, n_permutations=19)
    assert found.left_out == {"MCI": (70,), "NC": (3,)}
    without = edge_differences(X.drop(index=[3, 70]), np.delete(y, [3, 70]), n_permutations=19)
    np.testing.assert_allclose(found.edges["statistic"], without.edges["statistic"], rtol=1e-9)
    far = np.zeros(len(y), bool)
    far[[3, 70]] = True
    chosen = edge_differences(X, y, n_permutations=19, outliers=far)
    np.testing.assert_array_equal(chosen.edges, found.edges)


def test_the_changed_edge_is_found_first(differences):
    found, best = differences, differences.edges[0]
    assert {best["source"], best["target"]} == {"r2", "r3"}
    assert best["p_fwer"] == 1 / (B + 1)
    assert best["q"] <= 0.05
    assert found.global_p == 1 / (B + 1)
    component, p, _ = found.components[0]
    assert {"r2", "r3"} <= {found.regions[k] for k in component.pairs.ravel()}
    assert p <= 0.05
    assert found.groups == ("NC", "MCI")


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


def share_of_finds(two_groups, setting, n_cohorts):
    """Share of cohorts without a difference in which each test has p <= 0.05."""
    cohorts = [null_cohort(two_groups, setting, seed) for seed in range(n_cohorts)]
    tests = [edge_differences(X, y, n_permutations=19, **more) for X, y, more in cohorts]
    p = {
        "edges": [own.edges["p_fwer"].min() for own in tests],
        "global": [own.global_p for own in tests],
        "hubs": [own.hubs["p_fwer"].min() for own in tests],
        "both": [own.edges["p_fwer_both"].min() for own in tests],
        "global, both": [own.global_p_both for own in tests],
        "pairs of groups": [
            min([table["p_fwer"].min() for table in own.pairwise.values()], default=1.0)
            for own in tests
        ],
    }
    return {name: np.mean(np.array(values) <= 0.05) for name, values in p.items()}


@pytest.mark.long
@pytest.mark.parametrize("setting", ["two-sided", "three", "pairs", "sites", "greater"])
def test_without_a_difference_little_is_found(two_groups, setting):
    finds = share_of_finds(two_groups, setting, 30)
    assert max(finds.values()) <= 0.2, finds  # 99.9 % of binomial draws at 5 %


@pytest.mark.parametrize("setting", ["two-sided", "three", "pairs", "sites", "greater"])
def test_without_a_difference_not_most_is_found(two_groups, setting):
    finds = share_of_finds(two_groups, setting, 2)
    assert max(finds.values()) <= 0.5, finds  # 99.75 % of binomial draws at 5 %


def test_an_edge_that_hardly_any_permutation_has_is_found_by_q():
    rng = np.random.default_rng(4)
    first = rng.normal(size=60)
    X = np.column_stack([np.tile(first, 2), np.concatenate([first, -first])])
    X = np.column_stack([X + 0.3 * rng.normal(size=X.shape), rng.normal(size=(120, 2))])
    tests = edge_differences(X, np.repeat([0, 1], 60), among=["x0", "x1"], n_permutations=B)
    assert tests.among.p == 1 / (B + 1)
    assert tests.among.edges["q"][0] <= 0.05
    assert tests.edges["q"][0] <= 0.05


def test_no_region_has_more_parents_than_the_learner_allows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    X[:100, 5] += X[:100, :2].sum(axis=1)
    X[100:, 5] += X[100:, 2:4].sum(axis=1)
    y = np.repeat([0, 1], 100)
    most = [
        np.bincount(np.unique(tests.edges["target"], return_inverse=True)[1]).max()
        for tests in (
            edge_differences(X, y, learner=SGBN(n_kicks=0, max_parents=k), n_permutations=19)
            for k in (2, 5)
        )
    ]
    assert most[0] == 2 < most[1]


def test_results_do_not_depend_on_processes_units_or_columns(data, differences):
    (X, y), found = data, differences
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


def test_a_broken_run_goes_on(data, tmp_path, two_groups, monkeypatch):
    monkeypatch.setattr(permutations, "PERMUTATIONS_PER_TASK", 10)
    folder, found = tmp_path / "study", edge_differences(*data, n_permutations=19)
    edge_differences(*data, n_permutations=19, folder=folder)
    (folder / "tasks" / "permutations-00001.npz").unlink()
    again = edge_differences(*data, n_permutations=19, folder=folder)
    np.testing.assert_array_equal(found.edges, again.edges)
    with refused("study.settings", kind=StudyError):
        edge_differences(*two_groups(seed=1), n_permutations=19, folder=folder)


def test_one_sided_tests_see_one_side(data):
    less, greater = (
        edge_differences(*data, n_permutations=19, alternative=side).edges
        for side in ("less", "greater")
    )
    changed = {"r2", "r3"}

    def p_of(edges):
        return next(e["p_fwer"] for e in edges if {e["source"], e["target"]} == changed)

    assert p_of(greater) == 1 / 20  # of MCI less NC: it is larger in MCI
    assert p_of(less) == 1


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


def test_pairs_are_swapped_within_subjects(data):
    X, y = data
    ids = np.tile(np.arange(60), 2)
    found = edge_differences(X, y, pairs=ids, n_permutations=19)
    assert {found.edges[0]["source"], found.edges[0]["target"]} == {"r2", "r3"}
    assert found.edges[0]["p_fwer"] <= 0.05


def test_a_cohort_brings_groups_sites_and_covariates():
    cohort = simulate_cohort(60, regions=8, differ="edges", n_sites=2, covariates=["age"])
    found = edge_differences(cohort, n_permutations=19)
    plain = edge_differences(
        pd.DataFrame(cohort.values, columns=cohort.regions),
        cohort.group,
        covariates=cohort.covariates,
        sites=cohort.site,
        n_permutations=19,
    )
    np.testing.assert_array_equal(found.edges, plain.edges)
    assert set(found.lobes["source"]) == set(cohort.lobes)
    assert len(found.hubs) == 16


def noisier_groups(seed, n=80, m=12):
    """A chain; in one group the noise of every second region is twice as large."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], n)
    noise = rng.normal(size=(2 * n, m)) * np.where(np.arange(m) % 2 * y[:, None], 2.0, 1.0)
    X = noise.copy()
    for j in range(1, m):
        X[:, j] += 0.8 * X[:, j - 1]
    return X, y


def test_a_change_of_variance_alone_does_not_hold_both_ways():
    tests = [edge_differences(*noisier_groups(k), n_permutations=19) for k in range(4)]
    one_way = sum(own.edges["p_fwer"].min() <= 0.05 for own in tests)
    both = sum(own.edges["p_fwer_both"].min() <= 0.05 for own in tests)
    assert both <= 1 < one_way  # 98.6 % of binomial draws at 5 % are at most 1
    assert sum(own.global_p_both <= 0.05 for own in tests) <= 1


def test_a_change_of_scale_alone_does_not_hold_both_ways(two_groups):
    finds = []
    for seed in range(4):
        X, y = two_groups(change=0, seed=seed)
        X = X * np.where((np.arange(6) % 2) * (y == "MCI")[:, None], 2.0, 1.0)
        tests = edge_differences(X, y, n_permutations=19)
        finds.append((tests.edges["p_fwer"].min(), tests.edges["p_fwer_both"].min()))
    one_way, both = (np.array(finds) <= 0.05).sum(axis=0)
    assert both <= 1 < one_way


def test_a_relation_that_turns_round_holds_both_ways(two_groups):
    found = edge_differences(*two_groups(change=-1.4), n_permutations=B)
    best = found.edges[0]
    assert {best["source"], best["target"]} == {"r2", "r3"}
    assert best["q_both"] <= 0.05 >= best["p_fwer_both"]
    assert found.global_p_both <= 0.05


def test_edges_named_beforehand_have_p_of_their_own(data, differences):
    (X, y), plain = data, differences
    found = edge_differences(X, y, edges=[("r2", "r3"), ("r0", "r5")], n_permutations=B)
    assert found.named["source"].tolist() == ["r2", "r0"]
    assert found.named["p"][0] == 1 / (B + 1)
    assert found.named["p_fwer"][0] <= 2 / (B + 1)  # each edge is the surest in one permutation
    assert found.named["p"][1] > 0.05
    assert (found.named["p_fwer"] >= found.named["p"] - 1e-12).all()
    assert (found.named["p_both"] >= found.named["p"]).all()
    np.testing.assert_array_equal(found.edges, plain.edges)
    assert plain.named is None


@pytest.mark.parametrize(
    ("n_samples", "most"),
    [(6, 0.34), pytest.param(60, 0.17, marks=pytest.mark.long)],  # 99.8 % and more of draws at 5 %
)
def test_noise_in_proportion_to_the_parent_is_no_difference(n_samples, most):
    def drawn(seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(100, 5))
        X[:, 1] = 0.5 * X[:, 0] + np.abs(X[:, 0]) * rng.normal(size=100)
        return X, np.repeat([0, 1], 50)

    p = [
        edge_differences(
            *drawn(k), edges=[("x0", "x1")], n_permutations=19, outliers="keep", random_state=k
        ).named["p"][0]
        for k in range(n_samples)
    ]
    assert np.mean(np.array(p) <= 0.05) <= most


def test_regions_named_beforehand_are_tested_together(data):
    X, y = data
    found = edge_differences(X, y, among=["r2", "r3", "r4"], n_permutations=19)
    assert found.among.regions == ("r2", "r3", "r4")
    assert found.among.p == 1 / 20
    ends = {frozenset(edge) for edge in found.among.edges[["source", "target"]].tolist()}
    assert frozenset(("r2", "r3")) in ends
    assert set().union(*ends) <= {"r2", "r3", "r4"}
    elsewhere = edge_differences(X, y, among=["r0", "r1", "r5"], n_permutations=19)
    assert elsewhere.among.p > 0.05


@pytest.fixture(scope="module")
def three(two_groups):
    """Tests of three groups, of which a and c are alike."""
    X, y = two_groups()
    other, _ = two_groups(seed=5)
    X3 = np.vstack([X, other[y == "NC"]])
    groups = np.r_[np.where(y == "NC", "a", "b"), np.full(60, "c")]
    return edge_differences(X3, groups, n_permutations=B)


def test_three_groups(three):
    assert len(three.groups) == 3
    best = three.edges[0]
    assert {best["source"], best["target"]} == {"x2", "x3"}
    assert best["p_fwer"] <= 0.05
    assert {component.sign for component, *_ in three.components} == {0}
    assert (three.hubs["p_fwer"] <= 1).all()
    assert three.hubs["p_fwer"].min() <= 0.05


def test_pairs_of_groups_are_told_apart(three):
    found = three
    assert set(found.pairwise) == {("a", "b"), ("a", "c"), ("b", "c")}

    def p_of(pair):
        table = found.pairwise[pair]
        changed = [{e["source"], e["target"]} == {"x2", "x3"} for e in table]
        return table["p_fwer"][changed][0]

    assert p_of(("a", "b")) <= 0.05 >= p_of(("b", "c"))
    assert p_of(("a", "c")) > 0.05
    omnibus = {(e["source"], e["target"]): e["p_fwer"] for e in found.edges}
    for table in found.pairwise.values():
        for edge in table:
            assert edge["p_fwer"] >= omnibus[edge["source"], edge["target"]] - 1e-12


def test_pairs_of_many_groups_are_not_tested():
    rng = np.random.default_rng(0)
    with warned("groups.many"):
        found = edge_differences(rng.normal(size=(72, 3)), np.arange(72) % 6, n_permutations=19)
    assert found.pairwise == {}


def test_named_edges_have_few_parents_beside_them():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 30)) + rng.normal(size=(24, 4)) @ rng.normal(size=(4, 30))
    found = edge_differences(X, np.arange(24) % 2, edges=[("x0", "x1")], n_permutations=19)
    assert np.isfinite(found.named["standard_error"]).all()


def test_groups_that_share_no_site_are_not_compared():
    rng = np.random.default_rng(0)
    groups = np.repeat(["a", "b", "c"], [20, 20, 40])
    sites = np.repeat([1, 2, 1, 2], 20)
    X = rng.normal(size=(80, 4))
    X[:, 1:] += X[:, :1]
    with warned("exchange.pairs"):
        found = edge_differences(X, groups, sites=sites, n_permutations=19)
    assert (found.pairwise["a", "b"]["p"] == 1).all()
    assert (found.pairwise["a", "c"]["p"] < 1).any()


ROWS = 30


@pytest.fixture(scope="module")
def group_data(two_groups):
    X, y = two_groups(ROWS)
    return rows_of_groups(X, y, sites=np.arange(2 * ROWS) % 2)


def make_problem(data, learner=None, **options):
    choices = {"separate": True, "alternative": "two-sided"} | options
    return problem_of(data, learner or SGBN(n_kicks=0), **choices)


def test_pooled_parents_are_those_of_the_rows_at_hand(group_data):
    problem = make_problem(group_data, separate=False)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=problem.residuals.shape)
    rows[:, problem.shared.order[-1]] += 2 * rows[:, problem.shared.order[0]]
    fit = problem.fit(rows)
    S = rows.T @ rows / len(rows)
    expected = problem.shared.parents_of(S, len(rows), POOLED_GAMMA, problem.most_parents)
    np.testing.assert_array_equal(fit.parents, expected)
    assert fit.in_pool.all()
    assert (expected != problem.fit(problem.residuals).parents).any()


def test_weights_are_those_of_the_rows_of_each_group_on_all_parents(group_data):
    problem = make_problem(group_data)
    fit = problem.fit(problem.residuals)
    expected = weights_on(
        covariances(problem.residuals, group_data.design.group_codes), fit.parents
    )
    own = fit.weights.matrices(fit.edges, len(group_data.names))
    for mine, theirs in zip(own, expected, strict=True):
        np.testing.assert_allclose(mine.weights, theirs.weights, rtol=1e-9, atol=1e-12)


def test_a_smaller_penalty_tests_more_edges_along_the_same_order(group_data):
    dense, usual, sparse = (make_problem(group_data, penalty=one) for one in (0.5, 1.0, 2.0))
    counts = [len(one.fit(one.residuals).edges) for one in (dense, usual, sparse)]
    assert counts[0] > counts[1] > counts[2]
    np.testing.assert_array_equal(dense.shared.order, sparse.shared.order)


def test_groups_that_do_not_add_parents_test_no_edge_of_their_own(group_data):
    alone = make_problem(group_data, separate=False)
    assert alone.fit(alone.residuals).in_pool.all()


def test_a_worker_gets_the_table_once():
    X = np.random.default_rng(0).normal(size=(4000, 8))
    data = rows_of_groups(X, np.arange(4000) % 2)
    problem = make_problem(data)
    design = data.design.group.nbytes + 4000 * 8 * 3 + problem.nuisance.basis.nbytes
    assert len(packed(problem)) < X.nbytes + design + 10_000
    assert np.array_equal(data.values, X[data.places])  # what was given is as it was


@pytest.mark.filterwarnings("ignore::sgbn.DataWarning")  # so few residuals are collinear
def test_used_up_degrees_of_freedom_are_refused(two_groups):
    X, y = two_groups(12)
    covariates = dict(enumerate(np.random.default_rng(0).normal(size=(21, 24))))
    data = rows_of_groups(X, y, covariates)
    with refused("groups.effects"):
        make_problem(data)


def test_a_region_has_at_most_a_fifth_as_many_parents_as_the_smallest_group_has_rows(two_groups):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(62, 40))
    X[:, 20:] += X[:, :20] @ rng.normal(size=(20, 20))
    data = rows_of_groups(X, np.repeat([0, 1], [32, 30]))
    problem = make_problem(data)
    assert problem.most_parents == 5  # a fifth of 29, once a mean is taken out
    for rows in (problem.residuals, rng.permutation(problem.residuals)):
        assert problem.fit(rows).parents.sum(axis=0).max() <= 5
    few = make_problem(data, SGBN(n_kicks=0, max_parents=2))
    pooled, _ = few.choose(group_columns(few.residuals, few.units))
    assert pooled.sum(axis=0).max() <= 2


def test_rows_of_a_person_count_once_for_the_parents():
    X = np.random.default_rng(0).normal(size=(120, 4))
    codes, persons = np.repeat([0, 1], 60), np.arange(120) // 4
    data = rows_of_groups(X, codes, persons=persons)
    assert make_problem(data).most_parents == 2  # of 15 persons, less a quarter of one for means


def test_parents_of_the_pool_stay_first():
    parents = np.zeros((5, 5), bool)
    parents[:4, 4] = True
    pooled = np.zeros_like(parents)
    pooled[0, 4] = True
    S = np.eye(5)
    S[4, :4] = S[:4, 4] = [0.0, 0.1, 0.5, 0.3]
    kept = surest_parents(parents, pooled, [S, np.eye(5)], 2)
    assert np.flatnonzero(kept[:, 4]).tolist() == [0, 2]
