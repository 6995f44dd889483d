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
from sgbn.discriminative.kl_sgbn import PairwiseFisherKernels
from sgbn.discriminative.moved import minimise
from sgbn.discriminative.moves import theta_of
from sgbn.discriminative.objectives import ConditionalLikelihood, MaxMarginObjective

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
    for part, theta in zip(
        moved._learned.moves.classes, map(theta_of, moved._learned.after.values()), strict=True
    ):
        u = np.linalg.solve(part.to_weights, theta[part.parents, part.children] - part.centre)
        assert np.linalg.norm(u) <= part.radius * (1 + 1e-8)


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
            lambda u: objective(moves.thetas(u))[0],
            u0,
            jac=lambda u: moves.pull(objective(moves.thetas(u))[1]),
            method="SLSQP",
            constraints=NonlinearConstraint(room, 0, np.inf),
            options={"maxiter": 500, "ftol": 1e-12},
        )
        best = min(best, objective(moves.thetas(moves.project(found.x)))[0])
    return best


@pytest.mark.parametrize(
    "make",
    [
        lambda p: MaxMarginObjective(p.sample, 0.5, 0.3),
        lambda p: ConditionalLikelihood(p.sample, 0.2),
        lambda p: PairwiseFisherKernels(p.sample, 1.0, p.moves.thetas(p.moves.u0)),
    ],
)
def test_the_optimum_is_no_worse_than_that_of_slsqp(problem, make):
    p = problem(k=8, slack=0.05)
    objective = make(p)
    u, _ = minimise(objective, p.moves, p.moves.u0, 500)
    found, best = objective(p.moves.thetas(u))[0], slsqp(objective, p.moves)
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
