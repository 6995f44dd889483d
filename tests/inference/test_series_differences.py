import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest

from sgbn import Cohort
from sgbn.cohort.series import SeriesCohort, subject_moments
from sgbn.core.exceptions import InputError, StudyError
from sgbn.inference.difference_problem import parents_of_both
from sgbn.inference.differences import edge_differences
from sgbn.inference.series_differences import series_differences
from sgbn.learn.series import SeriesSGBN, subject_weights

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
    rng = np.random.default_rng(0)
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


def test_an_empty_region_is_refused_by_subject_and_name(cohort):
    series = [own.copy() for own in cohort.series]
    series[3][:, 2] = 1.0
    broken = SeriesCohort.of(series, NAMES, group=cohort.group)
    with pytest.raises(InputError, match="region 'r2' of subject 's3' is empty"):
        series_differences(broken, n_permutations=19)


def test_a_cohort_without_series_is_refused(two_groups):
    X, y = two_groups(20)
    table = Cohort(X.to_numpy(), X.columns, [f"s{k}" for k in range(40)], group=y)
    with pytest.raises(InputError, match="series are needed"):
        series_differences(table)


def test_tests_of_tables_refuse_series(cohort):
    with pytest.raises(InputError, match=r"a SeriesCohort.* Call series_differences"):
        edge_differences(cohort)


def test_too_few_subjects_are_refused(cohort):
    with pytest.raises(InputError, match="group 'MCI' has 5 subjects"):
        series_differences(cohort.subset(rows=np.arange(25)))


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
