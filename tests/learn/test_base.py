import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.codes import refused, warned

from sgbn import Cohort, Settings, compare
from sgbn.cohort.rows import row_order
from sgbn.core.equivalence import cpdag
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.graph import certifies_dag, is_dag
from sgbn.core.problems import DataWarning
from sgbn.learn.base import Arrows, fit_weights, warnings_about
from sgbn.learn.classifier import SGBNClassifier
from sgbn.learn.knowledge import Knowledge
from sgbn.learn.sgbn import SGBN
from sgbn.paper.h_sgbn import HSGBN
from sgbn.paper.or_sgbn import ORSGBN
from sgbn.paper.penalised import ConvergenceWarning
from sgbn.prepare.outliers import OutlierWarning

LEARNERS = [SGBN, ORSGBN, HSGBN]


@parametrize_with_checks([learner() for learner in LEARNERS])
def test_scikit_learns_contract(estimator, check):
    check(estimator)


@pytest.mark.long
@parametrize_with_checks(
    [
        ORSGBN(path="literal", init="l1mb"),
        SGBN(noise="equal"),
        SGBN(weights="lasso"),
        SGBN(column_transform="normal-scores"),
        SGBN(non_gaussian="orient"),
    ]
)
def test_scikit_learns_contract_of_variants(estimator, check):
    check(estimator)


@pytest.mark.parametrize("learner", LEARNERS)
def test_fitted_attributes_fit_together(learner, simulate):
    X, _ = simulate(10, 120, 0)
    X = 5 + X * np.linspace(0.1, 100, 10)
    fitted = learner().fit(X)
    np.testing.assert_allclose(
        fitted.coef_std_, fitted.coef_ * X.std(axis=0)[:, None] / X.std(axis=0), rtol=1e-10
    )
    residual = X - X @ fitted.coef_ - fitted.intercept_
    np.testing.assert_allclose(residual.mean(axis=0), 0, atol=1e-9 * X.std(axis=0).max())
    k = np.count_nonzero(fitted.coef_, axis=0) + 1
    np.testing.assert_allclose(
        fitted.noise_variance_, (residual**2).sum(axis=0) / (120 - k), rtol=1e-8
    )
    assert is_dag(fitted.coef_)
    assert certifies_dag(fitted.coef_, fitted.order_)
    assert fitted.score(X) == pytest.approx(fitted.network_.log_likelihood(X).mean())
    assert np.array_equal(fitted.sample(3, 1), fitted.network_.sample(3, 1))
    assert fitted.to_networkx().number_of_edges() == fitted.network_.n_edges
    assert np.array_equal(fitted.cpdag_, cpdag(fitted.coef_))
    assert len(fitted.edge_kinds_) == fitted.network_.n_edges


@pytest.mark.parametrize("learner", LEARNERS)
def test_names_come_from_the_table(learner, simulate):
    X, _ = simulate(4, 60, 1)
    regions = ["G&S_frontomargin", "lh insula", "x", "Amygdala_R"]
    fitted = learner().fit(pd.DataFrame(X, columns=regions))
    assert fitted.network_.names == tuple(regions)
    assert fitted.feature_names_in_.tolist() == regions
    assert learner().fit(X).network_.names == ("x0", "x1", "x2", "x3")


@pytest.mark.parametrize(
    ("learner", "parameter", "values"),
    [
        (ORSGBN, "alpha", [0.02, 0.1, 0.8]),
        (HSGBN, "alpha", [0.02, 0.1, 0.8]),
        (SGBN, "gamma", [0.0, 1.0, 100.0]),
    ],
)
def test_pipeline_grid_search_and_clone(learner, parameter, values, simulate):
    X, _ = simulate(6, 90, 3)
    name = f"{learner.__name__.lower()}__{parameter}"
    search = GridSearchCV(make_pipeline(StandardScaler(), learner()), {name: values}, cv=3).fit(X)
    assert search.best_params_[name] < values[-1]
    assert clone(learner(0.3)).get_params()[parameter] == 0.3


def test_of_a_class_the_member_is_taken_in_which_hubs_and_then_first_columns_come_first():
    chain = np.zeros((4, 4), bool)  # 0 <- 1 <- 2 <- 3, of which nothing is decidable
    chain[[1, 2, 3], [0, 1, 2]] = True
    for columns, hub in (([3, 1, 2, 0], 1), ([0, 2, 1, 3], 2)):
        graph = Arrows(chain).hubs_first(np.array(columns)).graph
        assert np.array_equal(cpdag(graph), cpdag(chain))
        assert not graph[:, hub].any()
        assert graph[[1, 2], [0, 3]].all()
    known = Knowledge(~np.eye(4, dtype=bool), chain & (np.arange(4) == 2))
    assert Arrows(chain, known).hubs_first(np.arange(4)).graph[3, 2]


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_fit_is_to_prepare_and_to_learn(learner, simulate):
    X, _ = simulate(5, 60, 2)
    names = [f"x{k}" for k in range(5)]
    unfitted = learner()
    learned = unfitted.learn(*unfitted.prepare(X[row_order(X)], names), names)
    assert np.array_equal(learned.coef_, learner().fit(X).coef_)


def test_a_notebook_shows_the_parameters_and_what_was_learned():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["<i>", "b", "c"])
    X["b"] += 2 * X["<i>"]
    X.iloc[0] = 50.0
    with pytest.warns(OutlierWarning):
        learner = SGBN().fit(X)
    pages = learner._repr_html_(), learner._repr_mimebundle_()["text/html"]
    for page in pages:
        assert "GaussianNetwork(3 variables, " in page
        assert "&lt;i&gt;" in page
        assert "were left out: 1." in page
    with config_context(display="text"):
        assert list(learner._repr_mimebundle_()) == ["text/plain"]


def test_equals_ordinary_least_squares(simulate):
    X, network = simulate(8, 60, 0)
    X = X * np.logspace(-2, 2, 8) + 10
    fitted = fit_weights(X, network.coef)
    for j in range(8):
        parents = np.flatnonzero(network.coef[:, j])
        if parents.size:
            expected = LinearRegression().fit(X[:, parents], X[:, j])
            np.testing.assert_allclose(fitted.coef[parents, j], expected.coef_, rtol=1e-8)
            assert fitted.intercept[j] == pytest.approx(expected.intercept_, rel=1e-8)
            residual = X[:, j] - expected.predict(X[:, parents])
        else:
            assert fitted.intercept[j] == pytest.approx(X[:, j].mean())
            residual = X[:, j] - X[:, j].mean()
        expected_noise = residual @ residual / (60 - parents.size - 1)
        assert fitted.noise_variance[j] == pytest.approx(expected_noise, rel=1e-8)


@pytest.mark.parametrize(
    ("graph", "code"),
    [([[0, 1, 0], [1, 0, 0], [0, 0, 0]], "graph.cycle"), (np.zeros((2, 2)), "graph.shape")],
)
def test_wrong_graphs_are_refused(graph, code, simulate):
    with refused(code):
        fit_weights(simulate(3, 30, 2)[0], graph)


def test_labels_are_matched_not_positions(simulate):
    X, network = simulate(4, 50, 3)
    names = ["a", "b", "c", "d"]
    table = pd.DataFrame(X, columns=names)
    graph = pd.DataFrame(network.coef, index=names, columns=names)
    expected = fit_weights(table, network.coef)
    turned = fit_weights(table[names[::-1]], graph)
    assert turned.names == tuple(names[::-1])
    np.testing.assert_allclose(turned.coef[::-1, ::-1], expected.coef, atol=1e-12)
    named = GaussianNetwork(network.coef[::-1, ::-1], names=names[::-1])
    np.testing.assert_array_equal(fit_weights(table, named).coef, expected.coef)
    np.testing.assert_array_equal(fit_weights(X, network).coef, expected.coef)
    with refused("names.differ"):
        fit_weights(table, network.coef, names[::-1])
    with refused("graph.columns"):
        fit_weights(table, graph.rename(columns={"a": "z"}))


@pytest.mark.parametrize(
    ("column", "of", "code"),
    [(2, [1, 1, 0], "parents.exact"), (1, [2, 0, 0], "parents.collinear")],
)
def test_a_perfect_fit_warns_and_keeps_a_density(column, of, code):
    X = np.random.default_rng(0).standard_normal((40, 3))
    X[:, column] = X @ of
    with warned(code):
        network = fit_weights(X, [[0, 0, 1], [0, 0, 1], [0, 0, 0]])
    assert np.isfinite(network.log_likelihood(X)).all()


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        (DataWarning("rows.few"), "group 'CTR': rows.few."),
        (ConvergenceWarning("slow"), "group 'CTR': slow."),
        (DataWarning("groups.few", group="CTR"), "groups.few"),
        (FutureWarning("a new version"), "a new version"),
    ],
)
def test_what_is_about_the_data_begins_with_the_group_once(said, heard):
    with pytest.warns(type(said)) as caught, warnings_about("CTR"):
        warnings.warn(said, stacklevel=1)
    assert [str(one.message) for one in caught] == [heard]


def test_the_same_about_two_groups_is_said_twice_by_default():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for group in ("CTR", "SCZ"):
            with warnings_about(group):
                warnings.warn("few samples", DataWarning, stacklevel=1)
    assert len({str(one.message) for one in caught}) == 2


def few_of_scz(caught):
    """Whether a caught warning is that the group SCZ has too few rows."""
    parts = [one.message.problem.values for one in caught if "cause" in one.message.problem.values]
    return ("SCZ", "rows.few-for-columns") in [(part["name"], part["cause"].code) for part in parts]


FEW_OF_SCZ = np.repeat(["CTR", "SCZ"], [40, 6])


def test_a_classifier_says_which_class_has_few_rows():
    with warned("part") as caught:
        SGBNClassifier().fit(np.random.default_rng(0).normal(size=(46, 4)), FEW_OF_SCZ)
    assert few_of_scz(caught)


@pytest.mark.parametrize("learner", [None, SGBN(), ORSGBN(0.1)])
def test_a_comparison_says_which_group_has_few_subjects(learner):
    values = np.random.default_rng(0).normal(size=(46, 4))
    cohort = Cohort(values, list("abcd"), range(46), group=FEW_OF_SCZ)
    with warned("part") as caught:
        compare(cohort, Settings.networks_only(), learner=learner)
    assert {one.filename for one in caught} == {__file__}
    assert few_of_scz(caught)
