"""Whatever numbers a table holds, an estimator gives finite numbers and a DAG, or a named error."""

import traceback
import warnings
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone

import sgbn
from sgbn.core.graph import is_dag
from sgbn.core.problems import InputError
from sgbn.inference.confidence import edge_confidence
from sgbn.inference.differences import edge_differences

LEARNERS = {
    "SGBN": sgbn.SGBN(),
    "SGBN equal": sgbn.SGBN(noise="equal"),
    "SGBN non-Gaussian": sgbn.SGBN(non_gaussian="orient"),
    "SGBN lasso": sgbn.SGBN(weights="lasso"),
    "ORSGBN": sgbn.ORSGBN(),
    "ORSGBN literal": sgbn.ORSGBN(path="literal", init="l1mb"),
    "HSGBN": sgbn.HSGBN(),
    **{
        name: getattr(sgbn, name)()
        for name in ("L1MB", "GS", "TC", "TCbw", "IAMB", "IAMBnPC", "InterIAMB", "InterIAMBnPC")
    },
}
CLASSIFIERS = {
    "classifier": sgbn.SGBNClassifier(),
    "CV": sgbn.SGBNClassifierCV(alphas=(0.5,), pools=(0.0, 0.5), ridges=(0.2,)),
    "Fisher SVM": sgbn.FisherSVMClassifier(),
    "KL": sgbn.KLSGBNClassifier(),
    "MM": sgbn.MMSGBNClassifier(),
    "CL": sgbn.CLSGBNClassifier(),
    "analysis": sgbn.make_analysis(),
    "analysis knn": sgbn.make_analysis(impute="knn", k=2),
}

LONG_RUN = settings.default.max_examples > 1000


def examples(short, long):
    """A fit takes longer than a look at a text: fewer examples than usual, many in a long run."""
    return settings(
        max_examples=long if LONG_RUN else short,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


# What happens to a column of plain numbers: each takes the table before it, and a column.
FAULTS = {
    "none": lambda X, k: X[:, k],
    "constant": lambda X, k: np.full(len(X), X[0, k]),
    "nearly constant": lambda X, k: 1 + 1e-15 * X[:, k],
    "copy": lambda X, k: X[:, k - 1],
    "copy in other units": lambda X, k: -3.7 * X[:, k - 1] + 1,
    "sum": lambda X, k: X.sum(axis=1) - X[:, k],
    "nearly a copy": lambda X, k: X[:, k - 1] + 1e-9 * X[:, k],
    "huge": lambda X, k: 1e300 * X[:, k],
    "large": lambda X, k: 1e140 * X[:, k],
    "tiny": lambda X, k: 1e-300 * X[:, k],
    "small": lambda X, k: 1e-150 * X[:, k],
    "denormal": lambda X, k: 5e-324 * np.round(3 * X[:, k]),
    "far from zero": lambda X, k: 1e12 + X[:, k],
    "whole": lambda X, k: np.round(X[:, k]),
    "two values": lambda X, k: (X[:, k] > 0).astype(float),
    "one that stands out": lambda X, k: np.where(np.arange(len(X)) == 0, 1e8, X[:, k]),
    "mostly zero": lambda X, k: np.where(np.arange(len(X)) > 1, 0.0, X[:, k]),
    "a gap": lambda X, k: np.where(np.arange(len(X)) == 1, np.nan, X[:, k]),
    "infinite": lambda X, k: np.where(np.arange(len(X)) == 1, -np.inf, X[:, k]),
}
FORMS = {
    "array": lambda X: X,
    "columns first": np.asfortranarray,
    "single": lambda X: X.astype(np.float32),
    "object": lambda X: X.astype(object),
    "table": lambda X: pd.DataFrame(X, columns=[f"r{k}" for k in range(X.shape[1])]),
    "table of objects": lambda X: pd.DataFrame(X).astype(object),
    "integers": lambda X: np.nan_to_num(X, posinf=9, neginf=-9).clip(-9e15, 9e15).astype(np.int64),
    "list": lambda X: X.tolist(),
}


@st.composite
def plain(draw, least=2):
    """Rows of a random linear model."""
    n, m = draw(st.integers(least, 24)), draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return rng.standard_normal((n, m)) @ (np.eye(m) + np.triu(rng.uniform(-1, 1, (m, m)), 1))


@st.composite
def faulty(draw, least=2):
    X = draw(plain(least))
    for k in range(X.shape[1]):
        if draw(st.booleans()):
            with np.errstate(all="ignore"):
                X[:, k] = FAULTS[draw(st.sampled_from(sorted(FAULTS)))](X, k)
    return X


any_floats = hnp.arrays(
    float, st.tuples(st.integers(0, 8), st.integers(0, 4)), elements=st.floats(width=64)
)
numbers = st.one_of(faulty(), faulty(6), any_floats)


@st.composite
def tables(draw, values=numbers):
    X = draw(values)
    with np.errstate(all="ignore"):
        return FORMS[draw(st.sampled_from(sorted(FORMS)))](X)


def is_named(error):
    """Whether an error is ours, or one by which scikit-learn itself refuses a table."""
    if isinstance(error, InputError):
        return True
    last = traceback.extract_tb(error.__traceback__)[-1].filename.replace("\\", "/")
    return type(error) in (ValueError, TypeError) and "/sklearn/" in last


def attempt(function, *arguments, **options):
    """Result, or None after a named error; any other error is raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*arguments, **options)
        except (ValueError, TypeError) as error:
            if not is_named(error):
                raise
            return None


def check_network(network):
    assert is_dag(network.coef)
    for part in (network.coef, network.intercept, network.noise_variance):
        assert np.isfinite(part).all()
    assert (network.noise_variance >= 0).all()


@pytest.mark.parametrize("name", LEARNERS)
@given(X=tables())
@examples(3, 150)
def test_any_table_gives_a_learner_a_dag_of_finite_weights_or_a_named_error(name, X):
    learner = attempt(LEARNERS[name].fit, X)
    if learner is not None:
        check_network(learner.network_)
        assert np.isfinite(learner.coef_std_).all()
        assert np.isfinite(learner.score(X))


@pytest.mark.parametrize("name", CLASSIFIERS)
@given(X=tables(), data=st.data())
@examples(3, 150)
def test_any_table_gives_a_classifier_finite_probabilities_or_a_named_error(name, X, data):
    labels = st.sampled_from(data.draw(st.sampled_from(["ab", "abc", "a", [0, 1]])))
    y = data.draw(st.lists(labels, min_size=len(X), max_size=len(X)))
    # scikit-learn's discriminant analysis takes one class, of which it has no probabilities
    assume(len(set(y)) > 1 or not name.startswith("analysis"))
    classifier = attempt(CLASSIFIERS[name].fit, X, y)
    if classifier is not None and hasattr(classifier, "predict_proba"):
        shares = attempt(classifier.predict_proba, X)
        assert shares is None or np.isfinite(shares).all()
        assert shares is None or np.allclose(shares.sum(axis=1), 1)


@given(X=tables(), data=st.data())
@examples(3, 150)
def test_any_table_and_graph_give_finite_weights_or_a_named_error(X, data):
    m = np.shape(X)[1] if np.ndim(X) == 2 else 2
    graph = data.draw(hnp.arrays(np.int8, (m, m), elements=st.integers(0, 1)))
    graph = graph if data.draw(st.booleans()) else np.triu(graph, 1)
    network = attempt(sgbn.fit_weights, X, graph)
    if network is not None:
        check_network(network)


@given(X=tables(), data=st.data())
@examples(3, 150)
def test_any_table_gives_differences_with_a_p_or_a_named_error(X, data):
    y = data.draw(st.lists(st.sampled_from("ab"), min_size=len(X), max_size=len(X)))
    found = attempt(edge_differences, X, y, n_permutations=19)
    if found is not None:
        for network in found.networks.values():
            check_network(network)
        for field in ("p", "p_fwer", "q"):
            assert ((found.edges[field] > 0) & (found.edges[field] <= 1)).all()
        assert 0 < found.global_p <= 1
        assert np.isfinite(found.edges["difference_std"]).all()


@given(X=tables())
@examples(3, 150)
def test_any_table_gives_confidence_between_0_and_1_or_a_named_error(X):
    found = attempt(edge_confidence, X, n_pairs=2)
    if found is not None:
        assert ((found.adjacency_ >= 0) & (found.adjacency_ <= 1 + 1e-9)).all()
        assert is_dag(found.consensus())


# HSGBN and GS say that they depend on the order, and equal variances are in one unit for all.
ORDERLESS = [name for name in LEARNERS if name not in ("HSGBN", "GS")]
UNITLESS = [name for name in LEARNERS if name != "SGBN equal"]
ITERATED = {"KL": 1e-4, "CL": 1e-4, "MM": 1e-3}  # climb until they are near enough: how near


def named(X):
    return pd.DataFrame(X, columns=[f"r{k}" for k in range(X.shape[1])])


def fitted(model, *data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).fit(*data)


@contextmanager
def said_of(name):
    """An error within says which estimator it is of."""
    try:
        yield
    except Exception as error:
        error.add_note(f"estimator: {name}")
        raise


# Each table is for all estimators: one drawn with it would leave most of them out of a few examples


@given(X=plain(8), data=st.data())
@examples(3, 150)
def test_columns_in_another_order_give_the_same_network_to_the_bit(X, data):
    order = data.draw(st.permutations(range(X.shape[1])))
    for name in ORDERLESS:
        with said_of(name):
            first = fitted(LEARNERS[name], named(X))
            other = fitted(LEARNERS[name], named(X).iloc[:, order])
            assert np.array_equal(other.coef_, first.coef_[np.ix_(order, order)])
            assert np.array_equal(other.intercept_, first.intercept_[order])
            assert np.array_equal(other.noise_variance_, first.noise_variance_[order])


@given(X=plain(8), data=st.data())
@examples(3, 150)
def test_other_units_give_the_same_network_in_these_units(X, data):
    m = X.shape[1]
    powers = np.array(data.draw(st.lists(st.integers(-300, 300), min_size=m, max_size=m)))
    for name in UNITLESS:
        with said_of(name):
            first = fitted(LEARNERS[name], X)
            scale = 2.0**powers
            other = fitted(LEARNERS[name], X * scale)
            assert np.array_equal(other.coef_std_, first.coef_std_)
            assert np.array_equal(other.coef_, first.coef_ * scale / scale[:, None])
            assert np.array_equal(other.noise_variance_, first.noise_variance_ * scale**2)
            other = fitted(LEARNERS[name], X * 10.0 ** (powers / 100))
            np.testing.assert_allclose(other.coef_std_, first.coef_std_, rtol=1e-8, atol=1e-8)


IN_TIME = [name for name in CLASSIFIERS if LONG_RUN or name != "MM"]  # which climbs for long


@given(X=plain(12), data=st.data())
@examples(2, 20)
def test_neither_order_nor_units_of_the_columns_change_a_probability(X, data):
    m, y = X.shape[1], np.arange(len(X)) % 2
    X[y == 1, 0] += 1
    order = data.draw(st.permutations(range(m)))
    scale = 2.0 ** np.array(data.draw(st.lists(st.integers(-60, 60), min_size=m, max_size=m)))
    for name in IN_TIME:
        with said_of(name):
            tol = ITERATED.get(name, 1e-8)
            model = fitted(CLASSIFIERS[name], named(X), y)
            method = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
            expected = getattr(model, method)(named(X))
            for other in (named(X).iloc[:, order], named(X * scale)):
                found = getattr(fitted(CLASSIFIERS[name], other, y), method)(other)
                np.testing.assert_allclose(found, expected, rtol=tol, atol=tol)


@given(X=faulty(6))
@examples(3, 20)
def test_what_was_learned_of_any_table_comes_back_from_a_file(X, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "fuzz.sgbn"
    y = np.arange(len(X)) % 2
    for name, estimator in {**LEARNERS, **CLASSIFIERS}.items():
        with said_of(name):
            model = attempt(clone(estimator).fit, named(X), y)
            if model is None or attempt(sgbn.save, model, path) is None:
                continue
            back = sgbn.load(path)
            for method in ("score_samples", "predict_proba", "decision_function"):
                if hasattr(model, method):
                    first, other = (
                        attempt(getattr(one, method), named(X)) for one in (model, back)
                    )
                    assert np.array_equal(first, other, equal_nan=True)


weights = hnp.arrays(float, (3, 3), elements=st.floats(width=64))


@given(coef=weights, upper=st.booleans(), data=st.data())
def test_any_weights_give_a_network_with_finite_moments_or_a_named_error(coef, upper, data):
    intercept, noise = (
        data.draw(hnp.arrays(float, 3, elements=st.floats(width=64))) for _ in range(2)
    )
    network = attempt(sgbn.GaussianNetwork, np.triu(coef, 1) if upper else coef, intercept, noise)
    if network is None:
        return
    check_network(network)
    for moment in ("mean", "covariance"):
        found = attempt(getattr, network, moment)
        assert found is None or np.isfinite(found).all()
    X = data.draw(hnp.arrays(float, (2, 3), elements=st.floats(width=64)))
    found = attempt(network.log_likelihood, X)
    assert found is None or not np.isnan(found).any()
