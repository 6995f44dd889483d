import numpy as np
import pandas as pd
import pytest
from scipy.optimize import NonlinearConstraint, minimize
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sgbn import (
    CLSGBNClassifier,
    InputError,
    KLSGBNClassifier,
    MMSGBNClassifier,
    SGBNClassifier,
    simulate_cohort,
)
from sgbn.discriminative import moved as moved_module
from sgbn.discriminative.fisher_objective import PairwiseFisherKernels
from sgbn.discriminative.moved import minimise
from sgbn.discriminative.moves import theta_of
from sgbn.discriminative.objectives import ConditionalLikelihood, MaxMarginObjective
from sgbn.graph import is_dag

CLASSIFIERS = [MMSGBNClassifier, KLSGBNClassifier, CLSGBNClassifier]


@pytest.fixture(scope="module")
def cohort():
    return simulate_cohort(60, regions=14)


def table(cohort):
    return pd.DataFrame(cohort.values, columns=cohort.regions)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_graphs_stay_and_no_class_fits_worse_than_its_limit(cohort, kind):
    moved = kind(temperature=1.0).fit(table(cohort), cohort.group)
    start = SGBNClassifier(variances=moved.variances, temperature=1.0)
    start.fit(table(cohort), cohort.group)
    for label, network in moved.networks_.items():
        np.testing.assert_array_equal(network.coef != 0, start.networks_[label].coef != 0)
        before, after, limit = moved.fitting_errors_[label]
        assert limit == pytest.approx(1.01 * before)
        if moved.anchor == "fit":
            assert after <= limit * (1 + 1e-8)
        else:  # the change itself costs no more than the slack, whatever its direction
            own = table(cohort)[cohort.group == label] / cohort.values.std(axis=0)
            change = theta_of(moved._learned.after[label]) - theta_of(moved._learned.before[label])
            centred = own - cohort.values.mean(axis=0) / cohort.values.std(axis=0)
            fitted = np.column_stack([centred, np.ones(len(own))]) @ change
            assert np.square(fitted).sum() <= 0.01 * before * (1 + 1e-8)


@pytest.mark.parametrize("kind", [MMSGBNClassifier, KLSGBNClassifier])
def test_with_all_edges_new_ones_appear_and_the_graphs_are_dags(cohort, kind):
    moved = kind(edges="all", temperature=1.0).fit(table(cohort), cohort.group)
    start = SGBNClassifier(variances="unit", temperature=1.0).fit(table(cohort), cohort.group)
    for label, network in moved.networks_.items():
        old, new = start.networks_[label].coef != 0, network.coef != 0
        assert is_dag(network.coef)
        assert (new & ~old).any()
        before, after, limit = moved.fitting_errors_[label]
        assert limit == pytest.approx(1.01 * before)
        assert after <= limit * (1 + 1e-8)
    changes = moved.edge_changes()
    assert ((changes["before"] == 0) & (changes["after"] != 0)).any()


def test_all_edges_gain_more_than_those_present(cohort):
    def worst_half(edges):
        moved = MMSGBNClassifier(edges=edges, temperature=1.0).fit(cohort.values, cohort.group)
        ratio = moved.decision_function(cohort.values)
        margins = np.sort(np.where(cohort.group == "patient", ratio, -ratio))
        return margins[: len(margins) // 2].mean()

    assert worst_half("all") > worst_half("present")


def test_the_order_is_solved_anew(cohort, monkeypatch):
    """With edges that are light by definition, a second order allows what the first did not."""
    orders = []
    allowed = moved_module._allowed
    monkeypatch.setattr(moved_module, "LIGHT", 0.5)
    monkeypatch.setattr(
        moved_module, "_allowed", lambda order: orders.append(order) or allowed(order)
    )
    moved = MMSGBNClassifier(edges="all", temperature=1.0).fit(cohort.values, cohort.group)
    assert len({tuple(order) for order in orders}) > 2
    for label, network in moved.networks_.items():
        assert is_dag(network.coef)
        _, after, limit = moved.fitting_errors_[label]
        assert after <= limit * (1 + 1e-8)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_changes_say_what_moved_and_by_how_much(cohort, kind):
    moved = kind(edges=15, temperature=1.0).fit(table(cohort), cohort.group)
    changes = moved.edge_changes()
    assert len(changes) == 15
    np.testing.assert_allclose(changes["after"] - changes["before"], changes["difference"])
    assert (np.diff(np.abs(changes["difference"])) <= 0).all()
    assert changes["rank"].tolist() == list(range(1, 16))
    assert set(changes["class"]) <= {"control", "patient"}
    assert set(changes["target"]) <= set(cohort.regions)
    start = SGBNClassifier(variances=moved.variances, temperature=1.0)
    start.fit(table(cohort), cohort.group)
    sd = cohort.values.std(axis=0)
    for change in changes[changes["source"] != "bias"]:
        i, j = (cohort.regions.index(change[end]) for end in ("source", "target"))
        for when, networks in (("before", start), ("after", moved)):
            weight = networks.networks_[change["class"]].coef[i, j]
            assert weight * sd[i] / sd[j] == pytest.approx(change[when])


def test_without_slack_around_the_start_nothing_moves(cohort):
    still = CLSGBNClassifier(slack=0.0, temperature=1.0).fit(cohort.values, cohort.group)
    start = SGBNClassifier(temperature=1.0).fit(cohort.values, cohort.group)
    np.testing.assert_allclose(
        still.predict_proba(cohort.values), start.predict_proba(cohort.values)
    )


def slsqp(objective, moves, starts=5):
    """Lowest value that SLSQP finds from several starts."""
    radii = np.array([part.radius for part in moves.classes])

    def room(u):
        norms = [part @ part for part in moves.split(u)]
        return radii**2 - norms

    best = np.inf
    rng = np.random.default_rng(0)
    for k in range(starts):
        u0 = moves.project(moves.u0 + (k > 0) * rng.normal(size=len(moves.u0)))
        found = minimize(
            objective,
            u0,
            jac=True,
            method="SLSQP",
            constraints=NonlinearConstraint(room, 0, np.inf),
            options={"maxiter": 500, "ftol": 1e-12},
        )
        best = min(best, objective(moves.project(found.x))[0])
    return best


@pytest.mark.parametrize(
    "make",
    [
        lambda p: MaxMarginObjective(p.likelihoods, 0.5, 0.3),
        lambda p: ConditionalLikelihood(p.likelihoods, 0.2),
        lambda p: PairwiseFisherKernels(p.likelihoods, 1.0, p.moves.u0),
        lambda p: PairwiseFisherKernels(p.likelihoods, 1.0, p.moves.u0, "ball"),
    ],
)
def test_the_optimum_is_no_worse_than_that_of_slsqp(problem, make):
    p = problem(k=8, slack=0.05)
    objective = make(p)
    u, _ = minimise(objective, p.moves, p.moves.u0, 500)
    found, best = objective(u)[0], slsqp(objective, p.moves)
    assert found <= best + 1e-3 * abs(best)
    np.testing.assert_allclose(p.moves.project(u), u, atol=1e-8)


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"edges": 0}, "edges=0"),
        ({"edges": "some"}, "edges='some'"),
        ({"slack": -1}, "slack=-1"),
        ({"anchor": "end"}, "anchor='end'"),
        ({"anchor": "start", "edges": "all"}, "edges='all' with anchor='start'"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(cohort, kind, parameters, message):
    with pytest.raises(InputError, match=message):
        kind(**parameters).fit(cohort.values, cohort.group)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_ten_classes_and_clone(kind, simulate):
    X, _ = simulate(5, 400, 0)
    y = np.arange(400) % 10
    X = X + 3 * np.random.default_rng(1).normal(size=(10, 5))[y]
    fitted = clone(
        kind(pool=0.5, variances="pooled", temperature=1.0, nu=0.9)
        if kind is MMSGBNClassifier
        else kind(pool=0.5, variances="pooled", temperature=1.0)
    ).fit(X, y)
    assert fitted.score(X, y) > 0.5


def test_changes_need_a_fit():
    with pytest.raises(NotFittedError):
        MMSGBNClassifier().edge_changes()
