import numpy as np
import pytest
from scipy import stats

from sgbn.core.exceptions import InputError
from sgbn.inference.difference_input import read_group_data
from sgbn.inference.series_differences import AdjustedMeans

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
        permuted, exchange = design.permuted(values, (0, 1)), design.data.exchange()
        orders = [exchange.draw(rng) for _ in range(19)]
        drawn = [np.abs(permuted(order).statistic((0, 1))) for order in orders]
        t = np.abs(design.estimates(values).statistic((0, 1)))
        p.append((1 + (np.array(drawn) >= t - 1e-9).sum(axis=0)) / 20)
    assert 0.02 < np.mean(np.array(p) <= 0.05) < 0.08  # 0.3 with slopes between persons


def test_a_covariate_that_changes_with_the_session_only_is_refused(rng):
    codes, pairs, *_ = make_sessions(rng)
    age = rng.normal(60, 9, N // 2)[pairs] + codes
    with pytest.raises(InputError, match="within persons, age explains which group"):
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
