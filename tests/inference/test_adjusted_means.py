import numpy as np
import pytest
from scipy import stats

from sgbn import InputError
from sgbn.inference.adjusted_means import AdjustedMeans
from sgbn.inference.difference_input import read_group_data

sm = pytest.importorskip("statsmodels.api", reason="statsmodels comes with the test extra")
N, K = 40, 5


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def design_of(groups, **more):
    return AdjustedMeans.of(read_group_data(np.zeros((len(groups), 2)), groups, **more))


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
    with pytest.raises(InputError, match="age and scanner explain which group a subject is in"):
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
