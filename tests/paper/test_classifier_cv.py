import warnings
from functools import partial
from itertools import product

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.codes import refused

from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.problems import problem_of
from sgbn.learn.classifier import SGBNClassifier
from sgbn.learn.lasso import lasso_gram
from sgbn.paper.classifier_cv import (
    TOL,
    Candidates,
    ClassMoments,
    Setting,
    SGBNClassifierCV,
    common_order,
    lasso_departures,
    mean_weights,
)

SMALL = {"alphas": (0.5, 1.0), "pools": (0.0, 1.0), "ridges": (0.1,), "mean_shares": (0.1, 1.0)}


ONE = {"alphas": (0.7,), "pools": (0.5,), "ridges": (0.1,), "mean_shares": (0.1, 1.0)}


@parametrize_with_checks([SGBNClassifierCV(**ONE)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def found(cohort):
    return SGBNClassifierCV(**SMALL).fit(cohort.values, cohort.group)


def fresh(cohort, n=1000):
    values = [network.sample(n, 7) for network in cohort.networks.values()]
    return np.vstack(values), np.repeat(list(cohort.networks), n)


def test_candidates_are_all_that_were_offered_and_what_is_reported_is_their_mean(found):
    candidates = found.candidates_
    assert len(candidates) == 2 * 2 * 1 * 2
    assert candidates["weight"].sum() == pytest.approx(1)
    for name in ("alpha", "pool", "ridge", "mean_share"):
        mean = candidates["weight"] @ candidates[name]
        assert getattr(found, f"{name}_") == pytest.approx(mean)
        # the mean of equal numbers may differ from them by round-off
        assert candidates[name].min() <= mean * (1 + 1e-12)
        assert mean * (1 - 1e-12) <= candidates[name].max()


def test_probabilities_are_calibrated(cohort, found):
    X, y = fresh(cohort)
    loss = log_loss(y, found.predict_proba(X))
    assert loss < np.log(2)
    for sharper in (0.3, 3.0):
        scores = np.outer(found.decision_function(X) * sharper, [-0.5, 0.5])
        other = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        assert log_loss(y, other) > loss


def test_groups_that_differ_in_edges_are_told_apart_where_a_line_cannot():
    cohort = simulate_cohort(100, 2000, regions=20, differ="edges")
    X, y = fresh(cohort)
    ours = SGBNClassifierCV().fit(cohort.values, cohort.group)
    line = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    line.fit(cohort.values, cohort.group)
    assert balanced_accuracy_score(y, line.predict(X)) < 0.55
    assert balanced_accuracy_score(y, ours.predict(X)) > 0.6


def test_groups_that_differ_in_means_alone_are_told_apart_as_by_a_line():
    cohort = simulate_cohort(40, 2000, regions=20, differ="means", mean_shift=1.0)
    X, y = fresh(cohort)
    ours = SGBNClassifierCV().fit(cohort.values, cohort.group)
    line = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    line.fit(cohort.values, cohort.group)
    assert ours.score(X, y) > line.score(X, y) - 0.02
    assert ours.pool_ > 0.4


def test_one_candidate_gives_its_own_networks(cohort):
    """Fully pooled, without a price and with a ridge it is linear discriminant analysis."""
    one = SGBNClassifierCV(alphas=(0.0,), pools=(1.0,), ridges=(0.3,), mean_shares=(1.0,))
    one.fit(cohort.values, cohort.group)
    Z = (cohort.values - cohort.values.mean(axis=0)) / cohort.values.std(axis=0)
    line = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.3, priors=[0.5, 0.5])
    theirs = line.fit(Z, cohort.group).decision_function(Z)
    ours = one.decision_function(cohort.values)
    assert np.corrcoef(ours, theirs)[0, 1] > 0.99
    assert (one.alpha_, one.pool_, one.ridge_, one.mean_share_) == (0.0, 1.0, 0.3, 1.0)


def test_better_candidates_count_for_more_and_dull_ones_for_less():
    losses = np.array([[[0.5] * 10, [0.6] * 10], [[0.5] * 10, [5.0] * 10]])
    temperatures = np.array([[1.0, 1.0], [0.5, 1.0]])
    candidates = Candidates([Setting(1, 0, 0)] * 2, [0.1, 1.0], losses, temperatures)
    weights = candidates.weights(np.arange(10))
    assert weights.sum() == pytest.approx(1)
    assert weights[0, 0] == pytest.approx(2 * weights[1, 0])
    assert weights[0, 0] == pytest.approx(np.exp(0.5) * weights[0, 1])
    assert weights[1, 1] == 0


def test_rows_left_out_of_a_fold_have_no_part_in_it(cohort):
    """Neither in the order, nor in moments; nor do their losses weigh the candidates."""
    classifier = SGBNClassifierCV(**SMALL)
    codes = np.unique(cohort.group, return_inverse=True)[1]
    classifier.classes_, classifier.priors_ = np.unique(cohort.group), np.array([0.5, 0.5])
    classifier._design = cohort.design
    names = [f"x{k}" for k in range(14)]
    settings = [Setting(0.5, 0.0, 0.1), Setting(1.0, 1.0, 0.1)]
    fold = classifier._folds(cohort.values, codes, names, settings)[0]
    changed = cohort.values.copy()
    changed[fold.test] += 1000.0
    other = classifier._folds(changed, codes, names, settings)[0]
    np.testing.assert_array_equal(fold.test, other.test)
    np.testing.assert_array_equal(fold.centres.order, other.centres.order)
    np.testing.assert_array_equal(fold.centres.means, other.centres.means)
    for ours, others in zip(fold.weights, other.weights, strict=True):
        np.testing.assert_array_equal(ours.matrices, others.matrices)
        np.testing.assert_array_equal(ours.variances, others.variances)
    losses = np.random.default_rng(0).random((4, 2, len(codes)))
    candidates = Candidates([Setting(1, 0, 0)] * 4, [0.1, 1.0], losses, np.ones((4, 2)))
    before = candidates.weights(fold.train)
    losses[:, :, fold.test] = 9.0
    np.testing.assert_array_equal(candidates.weights(fold.train), before)


def test_units_and_places_of_columns_do_not_matter(cohort, found):
    columns = np.random.default_rng(1).permutation(14)
    other = SGBNClassifierCV(**SMALL).fit(cohort.values[:, columns] * 1000 - 7, cohort.group)
    np.testing.assert_allclose(
        other.predict_proba(cohort.values[:, columns] * 1000 - 7),
        found.predict_proba(cohort.values),
        atol=1e-4,
    )


def test_the_same_rows_give_the_same_answer(cohort, found):
    again = SGBNClassifierCV(**SMALL).fit(cohort.values, cohort.group)
    np.testing.assert_array_equal(
        again.predict_proba(cohort.values), found.predict_proba(cohort.values)
    )


def test_explanations_sum_to_the_ratio(cohort, found):
    explained = found.explain(cohort.values[:5])
    np.testing.assert_allclose(explained.regions.sum(axis=1), explained.ratio)
    np.testing.assert_allclose(
        found.temperature_ * explained.ratio, found.decision_function(cohort.values[:5])
    )


def test_ten_classes():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(10), 12)
    X = rng.standard_normal((120, 6))
    X[np.arange(120), y % 6] += np.where(y < 6, 4.0, -4.0)
    found = SGBNClassifierCV(**SMALL).fit(X, y)
    assert len(found.networks_) == 10
    assert found.score(X, y) > 0.8
    np.testing.assert_allclose(found.predict_proba(X).sum(axis=1), 1)


def test_a_move_is_made_only_where_unseen_rows_gain(cohort):
    options = SMALL | {"random_state": 1}
    found = SGBNClassifierCV(**options, slacks=(0.0, 0.5)).fit(cohort.values, cohort.group)
    assert found.slack_ == 0.0
    moved = SGBNClassifierCV(**options, slacks=(0.01,)).fit(cohort.values, cohort.group)
    assert moved.slack_ == 0.01
    coefs = [[n.coef for n in each.networks_.values()] for each in (found, moved)]
    assert not np.allclose(coefs[0], coefs[1])


def test_too_few_rows_to_compare_by_weigh_all_alike(simulate):
    X, _ = simulate(4, 8, 0)
    found = SGBNClassifierCV(**SMALL).fit(X, [0] * 5 + [1] * 3)
    np.testing.assert_allclose(found.candidates_["weight"], 1 / 8)
    assert (found.slack_, found.temperature_) == (0.0, 1.0)


def codes_of(fit):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    return [problem_of(w.message).code for w in caught if issubclass(w.category, UserWarning)]


def test_what_a_user_can_act_on_is_said_once_whatever_the_folds(cohort):
    few = np.r_[:8, 60:120]
    cases = {
        "part": (cohort.values[few], cohort.group[few]),
        "columns.copies": (np.column_stack([cohort.values, 3 * cohort.values[:, 0]]), cohort.group),
    }
    for code, (X, y) in cases.items():
        assert codes_of(partial(SGBNClassifierCV(**SMALL).fit, X, y)) == [code]
    assert not codes_of(partial(SGBNClassifierCV(**SMALL).fit, cohort.values, cohort.group))


def test_weights_that_do_not_converge_are_said_once(cohort, monkeypatch):
    def unsettled(*parts):
        return mean_weights(*parts)._replace(violation=1e-3)

    monkeypatch.setattr("sgbn.paper.classifier_cv.mean_weights", unsettled)
    said = codes_of(partial(SGBNClassifierCV(**SMALL).fit, cohort.values, cohort.group))
    assert said.count("weights.not-optimal") == 1


def test_a_candidate_without_an_optimum_does_not_spoil_the_others():
    """Without price and ridge, weights of near copies of a region are all but free."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 60))
    X[:, 30:] = X[:, :30] + 1e-7 * rng.standard_normal((40, 30))
    X[20:, 0] += 1.0
    X[20:, 30] += 1.0
    y = np.repeat([0, 1], 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        found = SGBNClassifierCV(alphas=(0.0, 1.0), pools=(0.0,), ridges=(0.0,)).fit(X, y)
    assert np.isfinite(found.predict_proba(X)).all()
    free = found.candidates_["alpha"] == 0
    assert found.candidates_["weight"][~free].sum() > 0.9


def test_groups_are_equal_beforehand_unless_said_otherwise(cohort):
    rows = np.r_[:30, 60:120]
    equal = SGBNClassifierCV(**SMALL).fit(cohort.values[rows], cohort.group[rows])
    np.testing.assert_array_equal(equal.priors_, [0.5, 0.5])
    shares = SGBNClassifierCV(**SMALL, priors="empirical")
    shares.fit(cohort.values[rows], cohort.group[rows])
    np.testing.assert_allclose(shares.priors_, [1 / 3, 2 / 3])
    assert isinstance(shares, SGBNClassifier)


def test_a_region_that_is_constant_in_a_fold_is_named(cohort):
    values = cohort.values.copy()
    values[:, 3] = 1.0
    values[0, 3] = 2.0
    with refused("fold.unlearned"):
        SGBNClassifierCV(**SMALL).fit(values, cohort.group)


@pytest.mark.parametrize("kind", [SGBNClassifier, partial(SGBNClassifierCV, **SMALL)])
def test_copies_of_rows_do_not_sharpen_if_they_are_known(kind):
    cohort = simulate_cohort(25, regions=8)
    twice = np.repeat(np.arange(50), 2)
    X, y = cohort.values[twice], np.asarray(cohort.group)[twice]
    known, fooled = kind().fit(X, y, groups=twice), kind().fit(X, y)
    assert known.temperature_ < fooled.temperature_
    assert "_units" not in vars(known)
    with refused("labels.count"):
        kind().fit(X, y, groups=[1, 2, 3])


M = 12


@pytest.fixture(scope="module")
def departures_cohort():
    return simulate_cohort(50, regions=M)


def moments_of(values, group):
    classes, codes = np.unique(group, return_inverse=True)
    return ClassMoments.of(values, codes, classes.tolist(), [f"x{k}" for k in range(len(values.T))])


@pytest.fixture(scope="module")
def moments(departures_cohort):
    return moments_of(departures_cohort.values, departures_cohort.group)


def fit(moments, setting):
    ((_, weights),) = moments.fits([setting])
    return weights


def networks(moments, setting, share=1.0):
    names = [f"x{k}" for k in range(M)]
    return moments.centres.networks(fit(moments, setting), share, names)


@pytest.mark.parametrize(("pool", "ridge"), [(0.0, 0.0), (0.3, 0.2), (1.0, 0.5)])
def test_without_a_price_it_is_regularised_discriminant_analysis(
    departures_cohort, moments, pool, ridge
):
    values, group = departures_cohort.values, departures_cohort.group
    Z = (values - values.mean(axis=0)) / values.std(axis=0)
    own = [np.cov(Z[group == label].T, bias=True) for label in np.unique(group)]
    pooled = sum(own) / 2
    for S, network in zip(own, networks(moments, Setting(0.0, pool, ridge)), strict=True):
        blend = (1 - pool) * S + pool * pooled
        expected = (1 - ridge) * blend + ridge * np.diag(np.diag(blend))
        np.testing.assert_allclose(network.covariance, expected, atol=1e-6)


def test_groups_share_most_weights_exactly_and_differ_in_some(moments):
    first, second = networks(moments, Setting(1.0, 0.0, 0.0))
    present = (first.coef != 0) | (second.coef != 0)
    same = (first.coef == second.coef)[present]
    assert 0.5 < same.mean() < 1
    assert (first.noise_variance == second.noise_variance).any()


def test_fully_pooled_networks_differ_in_means_alone(moments):
    first, second = networks(moments, Setting(0.7, 1.0, 0.1))
    np.testing.assert_array_equal(first.coef, second.coef)
    np.testing.assert_array_equal(first.noise_variance, second.noise_variance)
    assert not np.allclose(first.mean, second.mean)


def test_a_higher_price_leaves_fewer_edges_and_departures(moments):
    counts = []
    for alpha in (0.3, 1.0, 3.0):
        first, second = networks(moments, Setting(alpha, 0.0, 0.0))
        counts.append((first.n_edges, np.count_nonzero(first.coef != second.coef)))
    assert counts[0] > counts[1] > counts[2]
    assert counts[0][1] > counts[1][1] > counts[2][1]


def test_without_a_share_of_the_means_they_are_the_same(moments):
    first, second = networks(moments, Setting(0.7, 0.0, 0.0), share=0.0)
    np.testing.assert_allclose(first.mean, second.mean, atol=1e-10)


def test_log_likelihoods_are_those_of_the_networks_up_to_a_constant(departures_cohort, moments):
    fitted = fit(moments, Setting(0.7, 0.3, 0.1))
    shares = (0.0, 0.5, 1.0)
    quick = moments.centres.log_likelihoods(fitted, shares, departures_cohort.values)
    Z = moments.centres.scale.standardise(departures_cohort.values)
    for share, of_share in zip(shares, quick, strict=True):
        found = moments.centres.networks(fitted, share, [f"x{k}" for k in range(M)])
        exact = np.column_stack([network.log_likelihood(Z) for network in found])
        np.testing.assert_allclose(exact - of_share, -M * np.log(2 * np.pi) / 2, atol=1e-8)


def test_settings_that_start_from_each_other_end_where_each_does_alone(moments):
    settings = [
        Setting(*numbers) for numbers in product((0.3, 1.0, 0.6), (0.0, 0.5, 1.0), (0.2, 0.0))
    ]
    together = dict(moments.fits(settings))
    assert sorted(together) == list(range(len(settings)))
    for number, setting in enumerate(settings):
        alone = fit(moments, setting)
        np.testing.assert_allclose(together[number].matrices, alone.matrices, atol=1e-7)
        np.testing.assert_allclose(together[number].variances, alone.variances, atol=1e-7)


def test_an_average_lies_between_and_is_a_network(moments):
    parts = [fit(moments, one) for one in (Setting(0.3, 0.0, 0.0), Setting(1.0, 1.0, 0.2))]
    mean = mean_weights(parts, np.array([0.25, 0.75]))
    expected = 0.25 * parts[0].matrices + 0.75 * parts[1].matrices
    np.testing.assert_allclose(mean.matrices, expected)
    logs = [np.log(part.variances) for part in parts]
    np.testing.assert_allclose(np.log(mean.variances), 0.25 * logs[0] + 0.75 * logs[1])
    names = [f"x{k}" for k in range(M)]
    moments.centres.networks(mean, 1.0, names)  # raises if there is a cycle


def test_a_part_without_a_share_does_not_count(moments):
    used = fit(moments, Setting(0.3, 0.0, 0.0))
    unsettled = used._replace(violation=1.0)
    mean = mean_weights([used, unsettled], np.array([1.0, 0.0]))
    np.testing.assert_array_equal(mean.matrices, used.matrices)
    assert mean.violation == used.violation
    assert mean_weights([used, unsettled], np.array([0.5, 0.5])).violation == 1.0


def test_units_and_places_of_columns_do_not_matter_departures(departures_cohort, moments):
    columns = np.random.default_rng(0).permutation(M)
    units = np.geomspace(0.01, 100, M)
    other = moments_of((departures_cohort.values * units + 5)[:, columns], departures_cohort.group)
    np.testing.assert_array_equal(columns[other.centres.order], moments.centres.order)
    setting = Setting(0.7, 0.0, 0.1)
    first, second = (fit(one, setting).matrices for one in (other, moments))
    np.testing.assert_allclose(first, second, atol=1e-7)


def test_a_collider_comes_after_its_parents():
    """In x0 -> x2 <- x1 nothing but the place of x2 is fixed."""
    X = np.random.default_rng(0).standard_normal((400, 3))
    X[:, 2] += X[:, 0] + X[:, 1]
    assert common_order(X - X.mean(axis=0), ["a", "b", "c"])[-1] == 2


def test_a_class_of_one_row_is_refused(departures_cohort):
    group = np.array(["a"] * 99 + ["b"])
    with refused("classes.small"):
        moments_of(departures_cohort.values, group)


SHAPE = (8, 8)
NOTHING = np.zeros(SHAPE)
BELOW = np.tril(np.ones(SHAPE, bool), -1)


@pytest.fixture
def S():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 8)) @ (np.eye(8) + 0.4 * rng.standard_normal(SHAPE))
    return np.corrcoef(X.T)


@pytest.fixture
def B():
    return np.tril(np.random.default_rng(4).normal(0, 0.3, SHAPE), -1)


def prices(price):
    return np.full(SHAPE, price)


def test_from_nothing_it_is_the_lasso_along_the_order(S):
    plain = lasso_gram(S, np.where(BELOW, 0.1, 2.0))
    result = lasso_departures(S, prices(0.1), NOTHING)
    assert result.violation <= TOL
    np.testing.assert_allclose(result.x, plain.x, atol=1e-8)


def test_without_a_price_the_start_does_not_matter(S, B):
    result = lasso_departures(S, prices(0.0), B).x + B
    for j in range(1, 8):
        np.testing.assert_allclose(result[j, :j], np.linalg.solve(S[:j, :j], S[:j, j]), atol=1e-6)


def test_no_departure_is_worth_a_price_above_the_gradient(S, B):
    dearest = np.abs(np.tril(B @ S - S, -1)).max()
    assert not lasso_departures(S, prices(dearest + 1e-9), B).x.any()
    assert lasso_departures(S, prices(0.9 * dearest), B).x.any()


def test_optimality_conditions_hold(S, B):
    D = lasso_departures(S, prices(0.1), B).x
    gradient = (B + D) @ S - S
    used = BELOW & (D != 0)
    assert 0 < used.sum() < BELOW.sum()
    np.testing.assert_allclose(gradient[used], -0.1 * np.sign(D[used]), atol=2 * TOL)
    assert np.abs(gradient[BELOW & (D == 0)]).max() <= 0.1 + TOL
    assert not D[~BELOW].any()


def test_a_regressor_without_variance_is_left_alone(S):
    S[2], S[:, 2] = 0.0, 0.0
    result = lasso_departures(S, prices(0.05), NOTHING)
    assert np.isfinite(result.x).all()
    assert not result.x[:, 2].any()


def test_inputs_stay_as_they_are(S, B):
    given = S.copy(), B.copy()
    lasso_departures(S, prices(0.1), B)
    np.testing.assert_array_equal((S, B), given)


def test_variances_are_those_of_what_the_weights_leave_of_rows(B):
    X = np.random.default_rng(0).standard_normal((40, 8))
    result = lasso_departures(X.T @ X / 40, prices(0.1), B)
    expected = np.square(X - X @ (B + result.x).T).mean(axis=0)
    np.testing.assert_allclose(result.variances, expected)


def test_any_start_ends_at_the_same_departures(S, B):
    cold = lasso_departures(S, prices(0.05), B)
    dearer = lasso_departures(S, prices(0.2), B)
    for start in (dearer.x, -cold.x, BELOW.astype(float)):
        given = start.copy()
        np.testing.assert_allclose(lasso_departures(S, prices(0.05), B, start).x, cold.x, atol=1e-7)
        np.testing.assert_array_equal(start, given)


def test_fewer_rows_than_variables_are_solved_to_the_end():
    X = np.random.default_rng(1).standard_normal((6, 8))
    S = np.cov(X.T, bias=True)
    result = lasso_departures(S, prices(0.05), NOTHING)
    assert result.violation <= TOL
    assert np.count_nonzero(result.x) > 8


def test_without_a_price_weights_of_copies_stay_bounded():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((20, 8))
    X[:, 4:] = X[:, :4] + 1e-7 * rng.standard_normal((20, 4))
    result = lasso_departures(np.cov(X.T, bias=True), prices(0.0), NOTHING)
    assert np.abs(result.x).max() < 10
    assert result.variances.min() > -1e-9
