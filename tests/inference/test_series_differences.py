from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.stats import kstest
from tests.codes import refused

from sgbn.cohort.rows import row_order, rows_of_groups
from sgbn.cohort.series import SeriesCohort, subject_moments
from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.problems import StudyError
from sgbn.inference.difference_problem import fingerprint, parents_of_both
from sgbn.inference.differences import edge_differences
from sgbn.inference.permutations import permute
from sgbn.inference.series_differences import (
    AdjustedMeans,
    pair_weights,
    series_differences,
    series_problem_of,
)
from sgbn.learn.series import SeriesSGBN, subject_weights
from sgbn.runs.dask import packed

B, M = 19, 6
NAMES = [f"r{k}" for k in range(M)]


def make_series(n=20, change=0.4, spread=0.1, seed=0, groups=("NC", "MCI"), volumes=(90, 150)):
    """A chain of regions whose weight of r2 -> r3 differs, in subjects of unequal length."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(groups, n)
    series = []
    for label in labels:
        X = rng.normal(size=(rng.integers(*volumes), M))
        for j in range(1, M):
            changed = change * (label == groups[-1] and j == 3)
            X[:, j] += (0.5 + changed + spread * rng.normal()) * X[:, j - 1]
        series.append(X)
    return SeriesCohort.of(series, NAMES, group=labels)


@pytest.fixture(scope="module")
def cohort():
    return make_series()


@pytest.fixture(scope="module")
def found(cohort):
    return series_differences(cohort, n_permutations=B)


def test_the_changed_edge_is_found_first(found):
    best = found.edges[0]
    assert {best["source"], best["target"]} == {"r2", "r3"}
    assert best["p_fwer"] == best["p_fwer_both"] == found.global_p == 1 / (B + 1)
    assert (found.edges["p_fwer"][1:] > 0.05).all()
    component, p, _ = found.components[0]
    assert {found.regions[k] for k in component.pairs.ravel()} == {"r2", "r3"}
    assert p <= 0.05
    assert found.groups == ("NC", "MCI")
    assert found.left_out == {"NC": (), "MCI": ()}


def test_weights_are_means_over_subjects_and_networks_have_them(cohort, found):
    for row in found.edges:
        i, j = NAMES.index(row["source"]), NAMES.index(row["target"])
        for group, network in found.networks.items():
            assert network.coef[i, j] == pytest.approx(row[f"weight_{group}"])
    assert row["difference"] == row["difference_std"]
    graph = found.networks["NC"].coef != 0
    weights = subject_weights(subject_moments(cohort), graph)
    expected = weights[cohort.group == "NC"].mean(axis=0)
    np.testing.assert_allclose(found.networks["NC"].coef, expected)
    variances = np.diag(found.networks["NC"].covariance)
    np.testing.assert_allclose(variances, 1.0, atol=0.05)  # the series are standardised


def test_a_lower_penalty_tests_more_edges(cohort):
    rng = np.random.default_rng(0)
    shared = [own + 0.2 * rng.normal(size=(len(own), 1)) for own in cohort.series]
    cohort = SeriesCohort.of(shared, NAMES, group=cohort.group)
    counts = [
        len(series_differences(cohort, penalty=penalty, n_permutations=19).edges)
        for penalty in (0.2, 1.0)
    ]
    assert counts[0] > counts[1]
    same = series_differences(cohort, penalty=0.5, learner=SeriesSGBN(0.4), n_permutations=19)
    assert len(same.edges) == counts[0]


def test_arrays_and_groups_are_enough(cohort, found):
    again = series_differences(cohort.series, cohort.group, n_permutations=B)
    np.testing.assert_array_equal(again.edges["p"], found.edges["p"])


def test_the_order_of_regions_does_not_matter(cohort, found):
    order = np.random.default_rng(0).permutation(M)
    turned = cohort.subset(regions=[NAMES[k] for k in order])
    again = series_differences(turned, n_permutations=B)
    for name in ("source", "target", "p", "p_fwer", "q_both"):
        np.testing.assert_array_equal(again.edges[name], found.edges[name])


def test_processes_and_folders_change_nothing(cohort, found, tmp_path):
    again = series_differences(cohort, n_permutations=B, n_jobs=2, folder=tmp_path)
    np.testing.assert_array_equal(again.edges, found.edges)
    kept = series_differences(cohort, n_permutations=B, folder=tmp_path)
    np.testing.assert_array_equal(kept.edges, found.edges)
    with pytest.raises(StudyError):
        series_differences(cohort, n_permutations=B, folder=tmp_path, penalty=2.0)


def test_a_folder_is_kept_by_covariates_and_not_by_processes_of_the_learner(cohort, tmp_path):
    rng = np.random.default_rng(0)
    age, sex = rng.normal(size=len(cohort)), rng.choice(["f", "m"], len(cohort))
    asked = {"n_permutations": 19, "folder": tmp_path}
    series_differences(cohort, covariates={"age": age, "sex": sex}, **asked)
    series_differences(
        cohort, covariates={"age": age, "sex": sex}, learner=SeriesSGBN(n_jobs=2), **asked
    )
    for other in ({"age": age}, {"age": age[::-1], "sex": sex}, {"age": age, "group": sex}):
        with pytest.raises(StudyError):
            series_differences(cohort, covariates=other, **asked)


def test_another_seed_draws_other_permutations(cohort, found):
    other = series_differences(cohort, n_permutations=B, random_state=1)
    assert (other.null["totals"] != found.null["totals"]).any()
    np.testing.assert_array_equal(
        np.sort(other.edges["statistic"]), np.sort(found.edges["statistic"])
    )


def test_edges_and_regions_can_be_named_beforehand(cohort):
    found = series_differences(
        cohort, edges=[("r3", "r2"), ("r0", "r5")], among=["r1", "r2", "r3"], n_permutations=B
    )
    assert found.named["p_both"][0] == found.named["p_greater"][0] == 1 / (B + 1)
    assert found.named["p"][1] > 0.05
    assert found.among.p == 1 / (B + 1)
    ends = found.among.edges[["source", "target"]].tolist()
    assert {name for edge in ends for name in edge} <= {"r1", "r2", "r3"}


def test_named_edges_are_beside_the_parents_of_both(cohort):
    found = series_differences(cohort, edges=[("r3", "r2")], n_permutations=19)
    graph = found.networks["NC"].coef != 0
    given = np.flatnonzero(parents_of_both(graph, np.array([[3, 2]]))[0])
    R = subject_moments(cohort).R[:, [[k] for k in (3, *given)], (3, *given)]
    own = subject_moments(cohort).R[:, (3, *given), 2]
    weights = np.linalg.solve(R, own[..., None])[:, 0, 0]
    expected = weights[cohort.group == "NC"].mean()
    assert found.named["weight_NC"][0] == pytest.approx(expected)


def test_three_groups_are_compared_pair_by_pair():
    found = series_differences(make_series(groups=("a", "b", "c")), n_permutations=B)
    pairs = found.pairwise
    assert list(pairs) == [("a", "b"), ("a", "c"), ("b", "c")]
    for pair in (("a", "c"), ("b", "c")):
        assert {pairs[pair]["source"][0], pairs[pair]["target"][0]} == {"r2", "r3"}
        assert pairs[pair]["p_fwer"][0] <= 0.05
    assert (pairs["a", "b"]["p_fwer"] > 0.05).all()


def test_pairs_find_what_differs_within_persons():
    rng = np.random.default_rng(4)
    own = rng.normal(0.5, 0.3, 20)  # weights of persons, who differ more than their sessions
    series = []
    for session in range(2):
        for weight in own:
            X = rng.normal(size=(150, 3))
            X[:, 1] += (weight + 0.15 * session) * X[:, 0]
            series.append(X)
    sessions, persons = np.repeat(["before", "later"], 20), np.tile(np.arange(20), 2)
    apart = series_differences(series, sessions, n_permutations=B)
    paired = series_differences(series, sessions, pairs=persons, n_permutations=B)
    assert paired.edges["p"][0] == 1 / (B + 1)
    assert apart.edges["p"][0] > 0.05


def with_motion(seed, effect=0.5, n=20):
    """Groups that differ in motion, which changes all weights."""
    rng = np.random.default_rng([seed, 1])
    labels = np.repeat(["NC", "MCI"], n)
    motion = rng.normal(size=2 * n) + (labels == "MCI")
    series = []
    for moved in motion:
        X = rng.normal(size=(120, 4))
        for j in range(1, 4):
            X[:, j] += (0.5 + effect * 0.3 * moved) * X[:, j - 1]
        series.append(X)
    return series, labels, motion


def test_what_a_covariate_explains_is_no_difference():
    series, labels, motion = with_motion(0)
    plain = series_differences(series, labels, n_permutations=B)
    held = series_differences(series, labels, covariates={"motion": motion}, n_permutations=B)
    table = pd.DataFrame({"motion": motion})
    again = series_differences(series, labels, covariates=table, n_permutations=B)
    assert plain.global_p == 1 / (B + 1)
    assert held.global_p > 0.05
    np.testing.assert_array_equal(held.edges, again.edges)


def test_independent_regions_have_no_edge_to_test():
    rng = np.random.default_rng(0)
    series = [rng.normal(size=(100, 3)) for _ in range(24)]
    found = series_differences(series, np.arange(24) % 2, n_permutations=19)
    assert not len(found.edges)
    assert found.global_p == 1.0


def test_lagged_effects_are_taken_out_where_the_learner_does():
    cohort = make_series(n=12)
    plain, lagged = (
        series_differences(cohort, learner=SeriesSGBN(lagged=own), n_permutations=19)
        for own in (False, True)
    )
    assert plain.edges["statistic"][0] != lagged.edges["statistic"][0]


def test_directions_by_residuals_are_those_of_the_learner():
    rng = np.random.default_rng(0)
    series = []
    for _ in range(24):
        X = rng.uniform(-1, 1, (200, 2))
        X[:, 0] += X[:, 1]
        series.append(X)
    learner = SeriesSGBN(non_gaussian="orient")
    found = series_differences(series, np.arange(24) % 2, learner=learner, n_permutations=19)
    assert found.edges[["source", "target"]].tolist() == [("x1", "x0")]


def with_an_empty_region(cohort):
    series = [own.copy() for own in cohort.series]
    series[3][:, 2] = 1.0
    return SeriesCohort.of(series, NAMES, group=cohort.group)


@pytest.mark.parametrize(
    ("test", "change", "code"),
    [
        (series_differences, with_an_empty_region, "series.empty"),
        (series_differences, lambda _: simulate_cohort(20, regions=4), "series.cohort"),
        (edge_differences, lambda cohort: cohort, "cohort.series"),
    ],
)
def test_what_is_no_series_of_all_regions_is_refused(cohort, test, change, code):
    with refused(code):
        test(change(cohort))


def p_without_a_difference(setting, seed):
    if setting == "motion":
        series, labels, motion = with_motion(seed)
        return series_differences(
            series, labels, covariates={"motion": motion}, n_permutations=39, random_state=seed
        )
    if setting == "three":
        return series_differences(
            make_series(12, 0.0, seed=seed, groups=("a", "b", "c")), n_permutations=39
        )
    cohort = make_series(12, 0.0, seed=seed)
    if setting == "unequal volumes":  # weights are less precise in one group
        series = [own[: 40 if k < 12 else None] for k, own in enumerate(cohort.series)]
        cohort = SeriesCohort.of(series, NAMES, group=cohort.group)
    pairs = np.tile(np.arange(12), 2) if setting == "pairs" else None
    return series_differences(cohort, pairs=pairs, n_permutations=39)


@pytest.mark.parametrize(
    ("setting", "cohorts", "most"),  # 99.9 % of binomial draws at 5 %
    [
        ("plain", 5, 0.4),
        *(
            pytest.param(own, 120, 0.125, marks=pytest.mark.long)
            for own in ("plain", "motion", "three", "pairs", "unequal volumes")
        ),
    ],
)
def test_without_a_difference_p_is_uniform(setting, cohorts, most):
    tests = [p_without_a_difference(setting, seed) for seed in range(cohorts)]
    assert kstest([own.global_p for own in tests], "uniform").pvalue > 1e-3
    found = {
        name: np.mean([np.min(own.edges[name], initial=1.0) <= 0.05 for own in tests])
        for name in ("p_fwer", "p_fwer_both")
    }
    assert max(found.values()) <= most, found


SERIES_PROBLEM_M, SUBJECTS = 5, 36
GRAPH = np.zeros((SERIES_PROBLEM_M, SERIES_PROBLEM_M), bool)
GRAPH[[0, 0, 1, 2, 3], [1, 2, 3, 3, 4]] = True


def series_problem_make_series(rng, volumes=60):
    series = []
    for _ in range(SUBJECTS):
        X = rng.normal(size=(volumes, SERIES_PROBLEM_M))
        for j in range(1, SERIES_PROBLEM_M):
            X[:, j] += X[:, GRAPH[:, j]].sum(axis=1) * rng.normal(0.5, 0.1)
        series.append(X)
    return series


@pytest.fixture(scope="module")
def moments():
    return subject_moments(series_problem_make_series(np.random.default_rng(0)))


def in_order(groups, columns=2):
    """Return values of rows that stay in their order, as many as the labels."""
    values = np.arange(len(groups) * columns).reshape(-1, columns)
    return values[row_order(values)]


def data_of(groups, **more):
    return rows_of_groups(in_order(groups, SERIES_PROBLEM_M), groups, **more)


def make_problem(moments, groups, named=(), among=None, **more):
    data = data_of(groups, **more)
    return series_problem_of(data, moments, GRAPH, "two-sided", named, among)


def test_ways_of_a_pair_are_its_regressions_given_others(moments):
    edges, given = np.array([[1, 4], [3, 0]]), np.zeros((2, SERIES_PROBLEM_M), bool)
    given[0, [0, 2]] = True
    forward, backward, z = pair_weights(moments, edges, given)
    for s, R in enumerate(moments.R):
        own = [1, 0, 2]
        assert forward[s, 0] == pytest.approx(np.linalg.solve(R[np.ix_(own, own)], R[own, 4])[0])
        own = [4, 0, 2]
        assert backward[s, 0] == pytest.approx(np.linalg.solve(R[np.ix_(own, own)], R[own, 1])[0])
        P = np.linalg.inv(R[np.ix_([1, 4, 0, 2], [1, 4, 0, 2])])
        partial = -P[0, 1] / np.sqrt(P[0, 0] * P[1, 1])
        assert np.tanh(z[s, 0]) == pytest.approx(partial)
        np.testing.assert_allclose([forward[s, 1], backward[s, 1]], R[3, 0])


def test_the_weights_of_the_groups_are_means_over_subjects(moments):
    groups = np.arange(SUBJECTS) % 3
    problem = make_problem(moments, groups, named=[(4, 0)])
    fit = problem.fit()
    weights = subject_weights(moments, GRAPH)
    for c in range(3):
        expected = weights[groups == c].mean(axis=0)[tuple(fit.edges.T)]
        np.testing.assert_allclose(fit.weights.weights[c], expected)
    pair = pair_weights(moments, np.array([[4, 0]]), (GRAPH[:, [4]] | GRAPH[:, [0]]).T)
    for found, own in zip(fit.named, pair, strict=True):
        assert found.weights[1, 0] == pytest.approx(own[groups == 1].mean())
    assert (fit.parents == GRAPH).all()
    assert fit.in_pool.all()


def test_all_edges_of_a_subject_are_exchanged_together(moments):
    groups = np.arange(SUBJECTS) % 2
    problem = make_problem(moments, groups)
    rows = problem.design.exchange().draw(np.random.default_rng((0, 0)))
    swapped = make_problem(moments.take(rows), groups).fit()
    found = problem.refit((0, 1))(rows)
    np.testing.assert_allclose(found.weights.weights, swapped.weights.weights)
    np.testing.assert_allclose(found.weights.covariances, swapped.weights.covariances)
    np.testing.assert_allclose(found.ways.statistics((0, 1)), swapped.ways.statistics((0, 1)))


def test_the_order_of_subjects_does_not_matter_to_the_statistics(moments):
    rng = np.random.default_rng(1)
    groups, age, order = np.arange(SUBJECTS) % 2, rng.normal(size=SUBJECTS), rng.permutation(36)
    plain = make_problem(moments, groups, covariates={"age": age}).fit()
    other = make_problem(moments.take(order), groups[order], covariates={"age": age[order]}).fit()
    np.testing.assert_allclose(
        plain.weights.statistic((0, 1)), other.weights.statistic((0, 1)), rtol=1e-9
    )


def test_sets_of_groups_exchange_their_own_subjects_only(moments):
    groups = np.arange(SUBJECTS) % 3
    problem = make_problem(moments, groups, named=[(0, 4)], among=GRAPH)
    found = permute(problem, (0, 0), 3, (0, 2))
    assert found["tests"].shape == (3 * len(problem.edges),)
    fit = problem.refit((0, 2))(problem.design.exchange((0, 2)).draw(np.random.default_rng(1)))
    np.testing.assert_allclose(fit.weights.weights[1], problem.fit().weights.weights[1])


def test_a_graph_without_edges_is_tested_as_a_whole_and_finds_nothing(moments):
    data = data_of(np.arange(SUBJECTS) % 2)
    problem = series_problem_of(
        data, moments, np.zeros((SERIES_PROBLEM_M, SERIES_PROBLEM_M), bool), "two-sided"
    )
    found = permute(problem, (0, 0), 3, (0, 1))
    assert (found["totals"] == 0).all()
    assert not found["tests"].size


def test_groups_that_covariates_use_up_are_refused(moments):
    rng = np.random.default_rng(0)
    covariates = {f"c{k}": rng.normal(size=SUBJECTS) for k in range(28)}
    with refused("groups.effects"):
        make_problem(moments, np.arange(SUBJECTS) % 2, covariates=covariates)


def test_the_fingerprint_knows_the_weights_and_a_worker_gets_no_series(moments):
    groups, learner = np.arange(SUBJECTS) % 2, SeriesSGBN()
    problem = make_problem(moments, groups)
    again, other = make_problem(moments, groups), make_problem(moments, groups[::-1])
    assert fingerprint(problem, learner) == fingerprint(again, learner)
    assert fingerprint(problem, learner) != fingerprint(other, learner)
    changed = replace(problem, weights=problem.weights + 1e-5)
    assert fingerprint(problem, learner) != fingerprint(changed, learner)
    assert len(packed(problem)) < problem.weights.nbytes + 20_000


sm = pytest.importorskip("statsmodels.api", reason="statsmodels comes with the test extra")
N, K = 40, 5


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def design_of(groups, **more):
    return AdjustedMeans.of(rows_of_groups(in_order(groups), groups, **more).design)


def test_without_covariates_t_is_that_of_welch_with_one_subject_less(rng):
    codes = np.repeat([0, 1], [15, 25])
    values = rng.normal(size=(N, K)) * (1 + codes[:, None])
    found = design_of(codes).estimates(values)
    first, last = values[codes == 0], values[codes == 1]
    np.testing.assert_allclose(found.weights, [first.mean(axis=0), last.mean(axis=0)])
    squares = [own.var(axis=0, ddof=1) / (len(own) - 1) for own in (first, last)]
    expected = (last.mean(axis=0) - first.mean(axis=0)) / np.sqrt(sum(squares))
    np.testing.assert_allclose(found.statistic((0, 1)), expected)
    welch = stats.ttest_ind(last, first, equal_var=False).statistic
    np.testing.assert_allclose(found.statistic((0, 1)), welch, rtol=0.05)


def test_equal_groups_have_the_t_of_welch_but_for_a_constant(rng):
    codes = np.tile([0, 1], N // 2)
    values = rng.normal(size=(N, K))
    t = design_of(codes).estimates(values).statistic((0, 1))
    welch = stats.ttest_ind(values[1::2], values[::2], equal_var=False).statistic
    np.testing.assert_allclose(t, welch * np.sqrt(1 - 2 / N))


def make_covariates(rng):
    return {
        "age": rng.normal(60, 9, N),
        "motion": rng.exponential(1e-3, N),
        "sex": rng.choice(["f", "m"], N),
    }


def columns_of(covariates):
    numbers = [covariates["age"], covariates["motion"], covariates["sex"] == "m"]
    columns = np.column_stack(numbers).astype(float)
    return (columns - columns.mean(axis=0)) / columns.std(axis=0)


def test_means_and_covariances_are_those_of_statsmodels(rng):
    codes, covariates = rng.permutation(np.arange(N) % 3), make_covariates(rng)
    values = rng.normal(size=(N, K)) + columns_of(covariates) @ rng.normal(size=(3, K))
    found = design_of(codes, covariates=covariates).estimates(values)
    X = np.column_stack([codes[:, None] == np.arange(3), columns_of(covariates)]).astype(float)
    for k in range(K):
        expected = sm.OLS(values[:, k], X).fit(cov_type="HC3")
        np.testing.assert_allclose(found.weights[:, k], expected.params[:3])
        np.testing.assert_allclose(found.covariances[..., k], expected.cov_params()[:3, :3])
        wald = expected.wald_test(np.array([[-1, 1, 0, 0, 0, 0], [-1, 0, 1, 0, 0, 0]]), scalar=True)
        root = 2 * wald.statistic if wald.distribution == "F" else wald.statistic
        assert found.statistic((0, 1, 2))[k] ** 2 == pytest.approx(root)


def test_sites_are_held_fixed(rng):
    codes, sites = rng.permutation(np.arange(N) % 2), rng.permutation(np.arange(N) % 3)
    values = rng.normal(size=(N, K))
    plain = design_of(codes, sites=sites).estimates(values)
    moved = design_of(codes, sites=sites).estimates(values + 9 * (sites == 1)[:, None])
    np.testing.assert_allclose(plain.statistic((0, 1)), moved.statistic((0, 1)))
    X = np.column_stack([codes, sites == 0, sites == 1, sites == 2]).astype(float)
    expected = sm.OLS(values[:, 0], X).fit(cov_type="HC3").tvalues[0]
    assert plain.statistic((0, 1))[0] == pytest.approx(expected)


def test_paired_sessions_have_the_t_of_their_differences(rng):
    persons = np.tile(np.arange(N // 2), 2)
    values = rng.normal(size=(N, K)) + 5 * rng.normal(size=(N // 2, K))[persons]
    codes = np.repeat([0, 1], N // 2)
    found = design_of(codes, pairs=persons).estimates(values).statistic((0, 1))
    paired = stats.ttest_1samp(values[N // 2 :] - values[: N // 2], 0).statistic
    np.testing.assert_allclose(found, paired * np.sqrt(1 - 2 / N))


def make_sessions(rng, persons=N // 2, groups=2, columns=K):
    """Motion that changes weights within persons; persons who move more do not differ in them."""
    pairs, codes = np.tile(np.arange(persons), groups), np.repeat(np.arange(groups), persons)
    change = 0.5 * (rng.normal(size=len(codes)) + codes)
    trait, own = rng.normal(size=persons)[pairs], rng.normal(size=(persons, columns))[pairs]
    values = own + change[:, None] + 0.5 * rng.normal(size=(len(codes), columns))
    return codes, pairs, trait + change, values


def test_sessions_with_a_covariate_have_the_t_of_their_differences(rng):
    codes, pairs, motion, values = make_sessions(rng)
    age = rng.normal(60, 9, N // 2)[pairs]  # does not change within a person
    design = design_of(codes, pairs=pairs, covariates={"motion": motion, "age": age})
    found = design.estimates(values)
    d, moved = (own[codes == 1] - own[codes == 0] for own in (values, motion))
    for k in range(K):
        within = sm.OLS(d[:, k], sm.add_constant(moved)).fit(cov_type="HC3")
        assert found.statistic((0, 1))[k] == pytest.approx(within.tvalues[0])
        assert found.standard_error(0, 1)[k] == pytest.approx(within.bse[0])
    assert design.rank / 2 == 1 + 1  # of the differences: their mean and the slope


def test_means_of_sessions_are_for_mean_covariates_and_as_sure_as_means_of_persons(rng):
    codes, pairs, motion, values = make_sessions(rng)
    found = design_of(codes, pairs=pairs, covariates={"motion": motion}).estimates(values)
    np.testing.assert_allclose(found.weights.mean(axis=0), values.mean(axis=0))
    plain = design_of(codes, pairs=pairs).estimates(values)
    for c in (0, 1):
        own = values[codes == c]
        np.testing.assert_allclose(plain.weights[c], own.mean(axis=0))
        expected = own.var(axis=0, ddof=1) / (len(own) - 1)
        np.testing.assert_allclose(plain.covariances[c, c], expected)


def test_three_sessions_are_left_out_by_persons(rng):
    codes, pairs, motion, values = make_sessions(rng, 10, 3)
    found = design_of(codes, pairs=pairs, covariates={"motion": motion}).estimates(values)
    without = []
    for person in range(10):
        left = pairs != person
        kept = np.unique(pairs[left], return_inverse=True)[1]
        X = np.column_stack([codes == 1, codes == 2, motion])[left].astype(float)
        X = np.column_stack([X, kept[:, None] == np.arange(9)])
        without.append(np.linalg.lstsq(X, values[left], rcond=None)[0][:2])
    X = np.column_stack([codes == 1, codes == 2, motion, pairs[:, None] == np.arange(10)])
    all_persons = np.linalg.lstsq(X.astype(float), values, rcond=None)[0][:2]
    np.testing.assert_allclose(found.weights[1:] - found.weights[0], all_persons)
    changes = np.array(without) - all_persons
    expected = np.einsum("pgk,phk->ghk", changes, changes)
    C = found.covariances
    np.testing.assert_allclose(C[1:, 1:] - C[1:, :1] - C[:1, 1:] + C[:1, :1], expected)


@pytest.mark.parametrize(("persons", "moves"), [(20, True), (12, False)])
def test_pairs_keep_their_level_where_motion_acts_within_persons(rng, persons, moves):
    p = []
    for _ in range(20):
        codes, pairs, motion, values = make_sessions(rng, persons, columns=20)
        held = {"covariates": {"motion": motion}} if moves else {}
        design = design_of(codes, pairs=pairs, **held)
        values = values if moves else values - 0.5 * codes[:, None]
        permuted, exchange = design.permuted(values, (0, 1)), design.design.exchange()
        orders = [exchange.draw(rng) for _ in range(19)]
        drawn = [np.abs(permuted(order).statistic((0, 1))) for order in orders]
        t = np.abs(design.estimates(values).statistic((0, 1)))
        p.append((1 + (np.array(drawn) >= t - 1e-9).sum(axis=0)) / 20)
    assert 0.02 < np.mean(np.array(p) <= 0.05) < 0.08  # 0.3 with slopes between persons


def test_a_covariate_that_changes_with_the_session_only_is_refused(rng):
    codes, pairs, *_ = make_sessions(rng)
    age = rng.normal(60, 9, N // 2)[pairs] + codes
    with refused("groups.explained"):
        design_of(codes, pairs=pairs, covariates={"age": age})


def test_sessions_of_one_person_are_no_more_subjects(rng):
    persons = np.repeat(np.arange(N // 2), 2)
    codes = persons % 2
    values = rng.normal(size=(N // 2, K))[persons]
    once = design_of(codes[::2]).estimates(values[::2])
    twice = design_of(codes, persons=persons).estimates(values)
    np.testing.assert_allclose(once.weights, twice.weights)
    np.testing.assert_allclose(once.statistic((0, 1)), twice.statistic((0, 1)), rtol=0.06)


def test_a_permutation_is_one_of_freedman_and_lane(rng):
    codes, covariates = np.arange(N) % 3, make_covariates(rng)
    values = rng.normal(size=(N, K)) + codes[:, None]
    order = rng.permutation(N)
    design = design_of(codes, covariates=covariates)
    columns = columns_of(covariates)
    for members, means in (
        ((0, 1, 2), [np.ones(N)]),
        ((0, 2), [codes != 1, codes == 1]),
    ):
        N0 = np.column_stack([*means, columns]).astype(float)
        fitted = N0 @ np.linalg.lstsq(N0, values, rcond=None)[0]
        expected = design.estimates(fitted + (values - fitted)[order])
        found = design.permuted(values, members)(order)
        np.testing.assert_allclose(found.weights, expected.weights, atol=1e-12)
        np.testing.assert_allclose(found.covariances, expected.covariances, atol=1e-12)


def test_the_identity_gives_the_data_back(rng):
    codes, values = np.arange(N) % 2, rng.normal(size=(N, K))
    design = design_of(codes, covariates=make_covariates(rng))
    same = design.permuted(values, (0, 1))(np.arange(N))
    np.testing.assert_allclose(same.statistic((0, 1)), design.estimates(values).statistic((0, 1)))


def test_groups_that_a_covariate_explains_are_refused(rng):
    codes = np.arange(N) % 2
    scanner = np.where(codes == 1, "new", "old")
    with refused("groups.explained"):
        design_of(codes, covariates={"age": rng.normal(size=N), "scanner": scanner})


def test_a_site_of_one_subject_decides_nothing(rng):
    codes, sites = np.arange(N) % 2, np.zeros(N, int)
    sites[0] = 1
    values = rng.normal(size=(N, K))
    far = values.copy()
    far[0] = 1e6
    design = design_of(codes, sites=sites)
    plain, moved = (design.estimates(own).statistic((0, 1)) for own in (values, far))
    np.testing.assert_allclose(plain, moved, rtol=1e-6)
