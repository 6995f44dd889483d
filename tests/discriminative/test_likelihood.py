import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.exceptions import DataWarning, InputError
from sgbn.learn.classifier import SGBNClassifier, best_temperature, posterior_scores
from sgbn.learn.sgbn import SGBN
from sgbn.paper.or_sgbn import ORSGBN


@parametrize_with_checks([SGBNClassifier(ORSGBN(0.1), pool=0.3, variances="pooled")])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def cohort():
    return simulate_cohort(150, differ="edges", regions=20)


def fresh(cohort, n=1000):
    values = [network.sample(n, 7) for network in cohort.networks.values()]
    return np.vstack(values), np.repeat(list(cohort.networks), n)


def test_networks_that_differ_in_edges_alone_are_told_apart(cohort):
    X, y = fresh(cohort)
    found = SGBNClassifier().fit(cohort.values, cohort.group)
    truth = np.column_stack([net.log_likelihood(X) for net in cohort.networks.values()])
    bayes = np.mean(np.array(list(cohort.networks))[truth.argmax(axis=1)] == y)
    assert bayes > 0.65
    assert found.score(X, y) > bayes - 0.08
    lda = LinearDiscriminantAnalysis().fit(cohort.values, cohort.group)
    assert found.score(X, y) > lda.score(X, y) + 0.05


def test_full_networks_of_each_class_are_quadratic_discriminant_analysis():
    """Every pair joined and class variances: the class covariances are fitted as they are."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3)) @ np.array([[2.0, 1, 1], [0, 2, 1], [0, 0, 1]])
    y = np.repeat(["a", "b", "c"], 200)
    X[:200] *= 2
    X[200:400] += 1
    every_pair = SGBN(required=[(0, 1), (0, 2), (1, 2)])
    full = SGBNClassifier(every_pair, temperature=1.0).fit(X, y)
    assert all(net.n_edges == 3 for net in full.networks_.values())
    qda = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    np.testing.assert_allclose(full.predict_proba(X), qda.predict_proba(X), atol=0.02)


def test_wholly_pooled_networks_differ_in_means_alone(cohort):
    pooled = SGBNClassifier(pool=1.0, temperature=1.0).fit(cohort.values, cohort.group)
    first, second = pooled.networks_.values()
    np.testing.assert_allclose(first.coef, second.coef)
    np.testing.assert_allclose(first.noise_variance, second.noise_variance)
    for network, group in ((first, "control"), (second, "patient")):
        np.testing.assert_allclose(network.mean, cohort.of_group(group).mean(axis=0))


@pytest.mark.parametrize("variances", ["class", "pooled", "unit"])
def test_variances_are_those_of_the_class_common_or_one(cohort, variances):
    found = SGBNClassifier(variances=variances, temperature=1.0).fit(cohort.values, cohort.group)
    first, second = (network.noise_variance for network in found.networks_.values())
    assert np.array_equal(first, second) == (variances != "class")
    assert np.allclose(first, cohort.values.var(axis=0)) == (variances == "unit")


def test_priors_shift_the_log_odds(cohort):
    X, y = cohort.values, cohort.group
    odds = {}
    for name, priors in {"equal": "equal", "given": {"control": 9, "patient": 1}}.items():
        odds[name] = SGBNClassifier(temperature=1.0, priors=priors).fit(X, y).decision_function(X)
    np.testing.assert_allclose(odds["given"] - odds["equal"], np.log(1 / 9))
    few = np.r_[:150, 150:200]
    fitted = SGBNClassifier(temperature=1.0).fit(X[few], y[few])
    assert fitted.priors_.tolist() == [0.75, 0.25]


def test_temperature_calibrates_what_is_too_sure(cohort):
    X, y = fresh(cohort)
    codes = (y == "patient").astype(int)
    losses = {}
    for temperature in ("cv", 1.0):
        small = cohort.subset(np.r_[:60, 150:210])
        found = SGBNClassifier(temperature=temperature).fit(small.values, small.group)
        losses[temperature] = -found.predict_log_proba(X)[np.arange(len(X)), codes].mean()
    assert losses["cv"] < min(losses[1.0], np.log(2) + 0.02)


def test_the_best_temperature_is_that_of_the_smallest_log_loss():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 400)
    likelihoods = 5 * (rng.normal(size=(400, 3)) + 1.0 * np.eye(3)[codes])
    priors = np.full(3, 1 / 3)
    best = best_temperature(likelihoods, codes, priors)
    grid = np.geomspace(0.01, 5, 400)
    loss = [
        -log_softmax(posterior_scores(likelihoods, t, priors), axis=1)[range(400), codes].mean()
        for t in grid
    ]
    assert best == pytest.approx(grid[int(np.argmin(loss))], rel=0.03)


def test_too_few_rows_for_folds_leave_the_temperature_at_one(simulate):
    X, _ = simulate(3, 8, 0)
    assert SGBNClassifier().fit(X, np.repeat([0, 1], 4)).temperature_ != 1.0
    assert SGBNClassifier().fit(X, [0] * 5 + [1] * 3).temperature_ == 1.0


def test_a_region_that_is_constant_in_a_fold_is_named(simulate):
    X, _ = simulate(4, 40, 0)
    X[:, 3] = np.arange(40) % 20 == 5  # one row of each class
    message = r"^in a fold for the temperature: .*constant column: 'x3'.* Or set temperature=1\.$"
    with pytest.raises(InputError, match=message):
        SGBNClassifier(SGBN(outliers="keep")).fit(X, np.repeat([0, 1], 20))
    assert SGBNClassifier(SGBN(outliers="keep"), temperature=1.0).fit(X, np.repeat([0, 1], 20))


def test_networks_that_say_nothing_of_unseen_rows_warn(cohort, recwarn):
    rows = np.r_[:4, 150:210]
    found = SGBNClassifier().fit(cohort.values[rows], cohort.group[rows])
    assert (found.predict(cohort.values) == "patient").all()
    said = [str(w.message) for w in recwarn if "temperature fell to 0.001" in str(w.message)]
    assert len(said) == 1
    assert "class 'control' (4 rows)" in said[0]
    recwarn.clear()
    SGBNClassifier(temperature=1e-3).fit(cohort.values, cohort.group)  # as asked for
    SGBNClassifier().fit(cohort.values, cohort.group)
    assert not [w for w in recwarn if "temperature" in str(w.message)]


def test_few_rows_warn_once_and_not_again_in_folds(cohort):
    rows = np.r_[:8, 150:210]
    with pytest.warns(DataWarning) as caught:
        SGBNClassifier().fit(cohort.values[rows], cohort.group[rows])
    assert ["only" in str(w.message) for w in caught].count(True) == 1
    assert "only 8 samples" in str(caught[0].message)


def test_priors_are_found_by_keys_that_equal_the_classes(cohort):
    y = (cohort.group == "patient").astype(float)
    for keys in ((0, 1), (0.0, 1.0), ("0.0", "1.0"), (False, True)):
        found = SGBNClassifier(temperature=1.0, priors=dict(zip(keys, (3, 1), strict=True)))
        assert found.fit(cohort.values, y).priors_.tolist() == [0.75, 0.25]


def test_probabilities_sum_to_one_and_agree_with_the_rest(cohort):
    found = SGBNClassifier(temperature=0.3).fit(cohort.values, cohort.group)
    P = found.predict_proba(cohort.values)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert (found.classes_[P.argmax(axis=1)] == found.predict(cohort.values)).all()
    np.testing.assert_allclose(
        found.decision_function(cohort.values), np.log(P[:, 1] / P[:, 0]), atol=1e-6
    )


def test_columns_in_another_order_and_other_units_give_the_same_classes(cohort):
    rng = np.random.default_rng(0)
    order, units = rng.permutation(20), np.exp(rng.normal(size=20))
    plain = SGBNClassifier().fit(cohort.values, cohort.group)
    other = SGBNClassifier().fit((cohort.values * units)[:, order], cohort.group)
    np.testing.assert_allclose(
        plain.decision_function(cohort.values),
        other.decision_function((cohort.values * units)[:, order]),
        rtol=1e-6,
        atol=1e-6,
    )


def test_ten_classes(simulate):
    X, _ = simulate(5, 600, 0)
    y = np.arange(600) % 10
    X = X + 3 * np.random.default_rng(1).normal(size=(10, 5))[y]
    assert SGBNClassifier(pool=0.5).fit(X, y).score(X, y) > 0.5


def test_it_works_in_searches_and_clones_and_keeps_names(cohort):
    X = pd.DataFrame(cohort.values, columns=cohort.regions)
    search = GridSearchCV(SGBNClassifier(temperature=1.0), {"pool": [0.0, 0.5]}, cv=3)
    best = search.fit(X, cohort.group).best_estimator_
    assert best.feature_names_in_.tolist() == list(cohort.regions)
    assert best.networks_["control"].names == cohort.regions
    assert cross_val_score(clone(best), X, cohort.group, cv=3).shape == (3,)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"pool": 1.5}, "pool is 1.5"),
        ({"variances": "own"}, "variances is 'own'"),
        ({"priors": "flat"}, "priors is 'flat'"),
        ({"variances": np.ones(2)}, "variances is array"),
        ({"priors": [0.5, 0.5]}, r"priors is \[0.5, 0.5\]; give 'empirical', 'equal' or a mapping"),
        ({"priors": np.array([0.5, 0.5])}, "priors is array"),
        ({"priors": {"control": 1}}, "give a positive share for each"),
        ({"priors": {"control": 1, "patient": np.inf}}, "give a positive share for each"),
        (
            {"priors": {"control": 1, "patient": 1, "pateint": 3}},
            "share of 'pateint', .* class of y. Did you mean 'patient'",
        ),
        ({"temperature": 0}, "temperature is 0"),
        ({"temperature": np.inf}, "temperature is inf"),
        ({"temperature": "best"}, "temperature is 'best'"),
        ({"temperature": np.ones(2)}, "temperature is array"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(cohort, parameters, message):
    with pytest.raises(InputError, match=message):
        SGBNClassifier(**parameters).fit(cohort.values, cohort.group)


def test_a_class_of_one_and_a_class_with_a_constant_region_are_named(cohort):
    y = cohort.group.copy()
    y[:] = "a"
    y[0] = "b"
    with pytest.raises(InputError, match="class 'b' has 1 row"):
        SGBNClassifier().fit(cohort.values, y)
    X = cohort.values.copy()
    X[cohort.group == "patient", 3] = 1.0
    with pytest.raises(InputError, match=r"class 'patient' \(150 rows\): constant column"):
        SGBNClassifier().fit(X, cohort.group)


def test_a_ratio_is_of_two_classes():
    X = np.random.default_rng(0).standard_normal((60, 3))
    y = np.repeat(["a", "b", "c"], 20)
    fitted = SGBNClassifier(temperature=1.0).fit(X, y)
    plain = fitted.explain(X).ratio
    np.testing.assert_array_equal(fitted.explain(X, of="c").ratio, plain)
    np.testing.assert_array_equal(fitted.explain(X, against="a").ratio, plain)
    np.testing.assert_allclose(fitted.explain(X, of="a").ratio, -plain)
    np.testing.assert_allclose(fitted.explain(X, against="c").ratio, -plain)
    with pytest.raises(InputError, match="both 'b'"):
        fitted.explain(X, of="b", against="b")
