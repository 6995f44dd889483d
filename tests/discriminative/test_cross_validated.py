import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.exceptions import InputError
from sgbn.learn.classifier import SGBNClassifier
from sgbn.paper.classifier_cv import Candidates, Setting, SGBNClassifierCV, mean_weights

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
    found = SGBNClassifierCV(**SMALL, slacks=(0.0, 0.5)).fit(cohort.values, cohort.group)
    assert found.slack_ == 0.0
    moved = SGBNClassifierCV(**SMALL, slacks=(0.01,)).fit(cohort.values, cohort.group)
    assert moved.slack_ == 0.01
    coefs = [[n.coef for n in each.networks_.values()] for each in (found, moved)]
    assert not np.allclose(coefs[0], coefs[1])


def test_too_few_rows_to_compare_by_weigh_all_alike(simulate):
    X, _ = simulate(4, 8, 0)
    found = SGBNClassifierCV(**SMALL).fit(X, [0] * 5 + [1] * 3)
    np.testing.assert_allclose(found.candidates_["weight"], 1 / 8)
    assert (found.slack_, found.temperature_) == (0.0, 1.0)


def messages_of(fit):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    return [str(w.message) for w in caught if issubclass(w.category, UserWarning)]


def test_what_a_user_can_act_on_is_said_once_whatever_the_folds(cohort):
    few = np.r_[:8, 60:120]
    cases = {
        "class 'control': only 8 samples of 14 columns": (cohort.values[few], cohort.group[few]),
        "'x0' and 'x14' are copies": (
            np.column_stack([cohort.values, 3 * cohort.values[:, 0]]),
            cohort.group,
        ),
    }
    for message, (X, y) in cases.items():
        said = messages_of(partial(SGBNClassifierCV(**SMALL).fit, X, y))
        assert len(said) == 1
        assert message in said[0]
    assert not messages_of(partial(SGBNClassifierCV(**SMALL).fit, cohort.values, cohort.group))


def test_weights_that_do_not_converge_are_said_once(cohort, monkeypatch):
    def unsettled(*parts):
        return mean_weights(*parts)._replace(violation=1e-3)

    monkeypatch.setattr("sgbn.paper.classifier_cv.mean_weights", unsettled)
    said = messages_of(partial(SGBNClassifierCV(**SMALL).fit, cohort.values, cohort.group))
    said = [message for message in said if "from their optimum" in message]
    assert len(said) == 1
    assert "Give alphas or ridges above 0" in said[0]


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
    with pytest.raises(InputError, match=r"in a fold of the training rows: .*x3"):
        SGBNClassifierCV(**SMALL).fit(values, cohort.group)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alphas": ()}, "alphas is "),
        ({"pools": (2,)}, "pools is "),
        ({"alphas": (np.inf,)}, "alphas is .* from 0 upwards"),
        ({"ridges": (-0.1,)}, "ridges is "),
        ({"ridges": (1.0,)}, "ridges is .* below 1"),
        ({"mean_shares": (1.5,)}, "mean_shares is "),
        ({"slacks": 1}, "slacks is 1"),
        ({"slacks": (0.0, np.inf)}, "slacks is "),
    ],
)
def test_grids_that_mean_nothing_are_refused(cohort, parameters, message):
    with pytest.raises(InputError, match=message):
        SGBNClassifierCV(**parameters).fit(cohort.values, cohort.group)


@pytest.mark.parametrize("kind", [SGBNClassifier, partial(SGBNClassifierCV, **SMALL)])
def test_copies_of_rows_do_not_sharpen_if_they_are_known(kind):
    cohort = simulate_cohort(25, regions=8)
    twice = np.repeat(np.arange(50), 2)
    X, y = cohort.values[twice], np.asarray(cohort.group)[twice]
    known, fooled = kind().fit(X, y, groups=twice), kind().fit(X, y)
    assert known.temperature_ < fooled.temperature_
    assert "_units" not in vars(known)
    with pytest.raises(InputError, match=r"groups has shape \(3,\): give one label"):
        kind().fit(X, y, groups=[1, 2, 3])
