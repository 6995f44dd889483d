import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from tests.codes import warned

from sgbn.core.graph import is_dag
from sgbn.core.moments import one_blas_thread
from sgbn.learn.classifier import SGBNClassifier
from sgbn.paper import moved as moved_module
from sgbn.paper.descent import log_loss, margins, max_margin, residuals_at
from sgbn.paper.kl_sgbn import KLSGBNClassifier, PairwiseFisherKernels
from sgbn.paper.mm_sgbn import CLSGBNClassifier, MMSGBNClassifier
from sgbn.paper.moved import exact_margin, fitting_error, moves_of, theta_of
from sgbn.paper.or_sgbn import ORSGBN

CLASSIFIERS = [MMSGBNClassifier, KLSGBNClassifier, CLSGBNClassifier]


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
        assert after <= limit * (1 + 1e-8)
        if moved.anchor == "fit":
            assert limit == pytest.approx(1.01 * before)
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
    monkeypatch.setattr(moved_module, "LIGHT_EDGE", 0.5)
    monkeypatch.setattr(
        moved_module, "_allowed", lambda order: orders.append(order) or allowed(order)
    )
    moved = MMSGBNClassifier(edges="all", temperature=1.0).fit(cohort.values, cohort.group)
    assert len({tuple(order) for order in orders}) > 2
    changes = moved.edge_changes()
    listed = set(zip(changes["class"], changes["source"], changes["target"], strict=True))
    for label, before in moved._learned.before.items():
        gone = np.argwhere((before.coef != 0) & (moved._learned.after[label].coef == 0))
        assert {(label, before.names[i], before.names[j]) for i, j in gone} <= listed
    for label, network in moved.networks_.items():
        assert is_dag(network.coef)
        _, after, limit = moved.fitting_errors_[label]
        assert after <= limit * (1 + 1e-8)


def test_an_empty_start_allows_no_edges(cohort):
    with warned("move.no-edges"):
        MMSGBNClassifier(ORSGBN(3.0), edges="all", nu=0.9, temperature=1.0).fit(
            cohort.values, cohort.group
        )


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


class Balls:
    """The limits of the fitting errors as a constraint of SLSQP; further variables are free."""

    def __init__(self, moves):
        self.moves, self.d = moves, len(moves.u0)

    def room(self, x):
        return self.moves.radii**2 - [part @ part for part in self.moves.split(x[: self.d])]

    def slope(self, x):
        J = np.zeros((len(self.moves.radii), len(x)))
        for c, part in enumerate(self.moves.split(x[: self.d])):
            J[c, self.moves.offsets[c] : self.moves.offsets[c + 1]] = -2 * part
        return J

    @property
    def constraint(self):
        return {"type": "ineq", "fun": self.room, "jac": self.slope}


def slsqp(objective, moves, starts=3):
    """Lowest value that SLSQP finds from several starts."""
    rng = np.random.default_rng(0)
    found = []
    with one_blas_thread():  # more of them take three times the CPU time on matrices this small
        for k in range(starts):
            u0 = moves.project(moves.u0 + (k > 0) * rng.normal(size=len(moves.u0)))
            found.append(objective.minimise(u0, Balls(moves).constraint))
    return min(objective.value(moves.project(u)) for u in found)


OPTIONS = {"maxiter": 500, "ftol": 1e-12}


class Smooth:
    """Any function of u with a gradient."""

    def __init__(self, f):
        self.f = f

    def value(self, u):
        return self.f(u)[0]

    def minimise(self, u0, inside):
        return minimize(self.f, u0, jac=True, method="SLSQP", constraints=inside, options=OPTIONS).x


class Margin:
    """The paper's form of the soft margin: one slack per row, and r, as variables."""

    def __init__(self, likelihoods, nu):
        self.likelihoods, self.nu = likelihoods, nu

    def value(self, u):
        return exact_margin(self.likelihoods, u, self.nu).value

    def minimise(self, u0, inside):
        P, d, n = self.likelihoods.residuals, len(u0), len(self.likelihoods.residuals.codes)
        block = np.repeat(np.arange(len(P.owner)), np.diff(P.starts))
        sign = np.where(P.codes == P.owner[block][:, None], 1.0, -1.0)
        price = 1 / (self.nu * n)

        def margins_at(x):
            return margins(self.likelihoods.log_likelihoods(x[:d].copy()), P.codes)[0]

        def slope(x):
            R = np.empty_like(P.A)
            residuals_at(P, x[:d].copy(), R)
            return np.hstack([(sign * R[block] * P.D).T, np.eye(n), -np.ones((n, 1))])

        found = minimize(
            lambda x: price * x[d:-1].sum() - x[-1],
            np.r_[u0, np.maximum(-margins_at(u0), 0), 0.0],
            jac=lambda _: np.r_[np.zeros(d), np.full(n, price), -1.0],
            method="SLSQP",
            bounds=[(None, None)] * d + [(0, None)] * (n + 1),
            constraints=[
                {"type": "ineq", "fun": lambda x: margins_at(x) - x[-1] + x[d:-1], "jac": slope},
                inside,
            ],
            options={"maxiter": 300, "ftol": 1e-7},
        )
        return found.x[:d]


@pytest.mark.parametrize(
    ("classifier", "make"),
    [
        (
            CLSGBNClassifier(sharpness=0.2),
            lambda p: Smooth(lambda u: with_gradient(log_loss, p, u, 0.2)),
        ),
        (
            KLSGBNClassifier(),
            lambda p: Smooth(PairwiseFisherKernels(p.likelihoods, 1.0, p.moves.u0)),
        ),
        (
            KLSGBNClassifier(radius="ball"),
            lambda p: Smooth(PairwiseFisherKernels(p.likelihoods, 1.0, p.moves.u0, "ball")),
        ),
    ],
)
def test_the_optimum_is_no_worse_than_that_of_slsqp(problem, classifier, make):
    p = problem(k=8, slack=0.05)
    objective = make(p)
    u = p.moves.project(classifier._optimise(p.likelihoods).u)
    found, best = objective.value(u), slsqp(objective, p.moves)
    assert found <= best + 1e-3 * abs(best)


@pytest.mark.parametrize("nu", [0.2, 0.5])
@pytest.mark.parametrize(
    ("n", "k", "regions"), [(20, 16, 12), pytest.param(40, 50, 40, marks=pytest.mark.long)]
)
def test_the_exact_margin_is_no_worse_than_that_of_slsqp(problem, nu, n, k, regions):
    p = problem(n=n, k=k, regions=regions)
    u = p.moves.project(MMSGBNClassifier(nu=nu)._optimise(p.likelihoods).u)
    objective = Margin(p.likelihoods, nu)
    best = slsqp(objective, p.moves)
    assert objective.value(u) <= best + 1e-3 * abs(best)


def with_gradient(f, p, u, *arguments):
    gradient = np.empty_like(u)
    return f(p.likelihoods.residuals, u, *arguments, gradient), gradient


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_a_move_that_has_not_settled_is_said(cohort, kind):
    with warned("move.not-converged", kind=ConvergenceWarning):
        kind(max_iter=1, temperature=1.0).fit(cohort.values, cohort.group)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_ten_classes_and_clone(kind, simulate):
    X, _ = simulate(5, 400, 0)
    y = np.arange(400) % 10
    X = X + 3 * np.random.default_rng(1).normal(size=(10, 5))[y]
    more = {"nu": 0.9} if kind is MMSGBNClassifier else {}
    classifier = kind(pool=0.5, variances="pooled", temperature=1.0, **more)
    assert clone(classifier).fit(X, y).score(X, y) > 0.5


def test_changes_need_a_fit():
    with pytest.raises(NotFittedError):
        MMSGBNClassifier().edge_changes()


def rows(problem, c):
    return problem.sample.values[problem.sample.codes == c]


@pytest.mark.parametrize("anchor", ["fit", "start"])
def test_the_start_is_inside_and_comes_back(problem, anchor):
    p = problem(anchor=anchor)
    u0 = p.moves.u0
    np.testing.assert_array_equal(p.moves.project(u0), u0)
    for theta, network in zip(p.moves.thetas(u0), p.networks.values(), strict=True):
        np.testing.assert_allclose(theta, theta_of(network), atol=1e-10)


def test_the_fitting_error_is_a_ball(problem):
    p = problem()
    rng = np.random.default_rng(1)
    u = rng.normal(size=len(p.moves.u0))
    for c, (moves, part) in enumerate(zip(p.moves.classes, p.moves.split(u), strict=True)):
        lowest = fitting_error(rows(p, c), moves.theta(np.zeros(len(part))))
        error = fitting_error(rows(p, c), moves.theta(part))
        assert error == pytest.approx(lowest + part @ part, rel=1e-8)
        assert moves.limit == pytest.approx(lowest + moves.radius**2, rel=1e-8)


@pytest.mark.parametrize("n", [40, 6])
def test_no_point_of_the_ball_exceeds_the_limit(problem, n):
    """Also with fewer rows than moving weights, where the Gram matrix is singular."""
    p = problem(n=max(n, 40))
    theta, own = p.moves.classes[0].start, rows(p, 0)[:n]
    parents, children = np.nonzero(~np.eye(9, 8, dtype=bool))
    moves = moves_of(own, theta, parents, children, slack=0.05)
    rng = np.random.default_rng(0)
    for _ in range(20):
        u = rng.normal(size=len(moves.u0))
        u *= moves.radius / np.linalg.norm(u)
        assert fitting_error(own, moves.theta(u)) <= moves.limit * (1 + 1e-8)


def test_the_centre_is_least_squares_on_what_moves(problem):
    p = problem(k=3)
    moves = p.moves.classes[0]

    def error(weights):
        theta = moves.start.copy()
        theta[moves.parents, moves.children] = weights
        return fitting_error(rows(p, 0), theta)

    best = minimize(error, moves.centre + 0.1).x
    np.testing.assert_allclose(best, moves.centre, atol=1e-4)


def test_around_the_start_the_ball_has_the_size_of_the_slack(problem):
    for moves in problem(anchor="start", slack=0.04).moves.classes:
        assert moves.radius == pytest.approx(0.2 * np.sqrt(moves.error))
        assert not moves.u0.any()


def test_around_the_start_the_limit_is_what_the_ball_allows(problem):
    p = problem(anchor="start", slack=0.04)
    moves, own = p.moves.classes[0], rows(p, 0)
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(300):
        u = rng.normal(size=len(moves.u0))
        errors.append(fitting_error(own, moves.theta(moves.radius * u / np.linalg.norm(u))))
    assert moves.error < max(errors) <= moves.limit * (1 + 1e-8)
    fit = moves_of(own, moves.start, moves.parents, moves.children, slack=0.04)
    worst = moves.radius * fit.u0 / np.linalg.norm(fit.u0)  # away from least squares
    assert fitting_error(own, moves.theta(worst)) == pytest.approx(moves.limit, rel=1e-8)


def test_a_class_without_moving_weights_stays(problem):
    p = problem()
    none = np.empty(0, np.intp)
    still = moves_of(rows(p, 0), p.moves.classes[0].start, none, none, slack=0.01)
    assert still.u0.shape == (0,)
    np.testing.assert_array_equal(still.theta(np.empty(0)), still.start)


@pytest.mark.parametrize("k", [10, 1000])
def test_likelihoods_are_those_of_the_networks(problem, k):
    """At the start, and where the networks have moved; with children that stay, and without."""
    p = problem(3, k=k)
    rng = np.random.default_rng(0)
    for u in (p.moves.u0, p.moves.u0 + rng.normal(size=len(p.moves.u0))):
        L = p.likelihoods.log_likelihoods(u)
        Xb = np.column_stack([p.sample.values, np.ones(len(p.sample.values))])
        for c, theta in enumerate(p.moves.thetas(u)):
            variance = p.sample.variances[c]
            squares = np.square(p.sample.values - Xb @ theta) / variance
            expected = -(squares + np.log(variance)).sum(axis=1) / 2 + p.sample.log_priors[c]
            np.testing.assert_allclose(L[c], expected, rtol=1e-9)


def test_the_exact_margin_is_that_of_the_likelihoods(problem):
    p = problem(3)
    L = p.likelihoods.log_likelihoods(p.moves.u0).T
    own = L[np.arange(len(L)), p.sample.codes]
    others = np.where(np.eye(3, dtype=bool)[p.sample.codes], -np.inf, L).max(axis=1)
    expected = max_margin(own - others, 0.3).value
    assert exact_margin(p.likelihoods, p.moves.u0, 0.3).value == pytest.approx(expected)
