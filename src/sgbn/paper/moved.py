r"""The base of classifiers that move networks apart after learning, at a bounded loss of fit.

Moving parameters of networks, in coordinates in which a limit on the fitting error is a ball.

The fitting error of a class and its limit T are

.. math:: h(\Theta) = \sum_j \| x_j - \tilde X \theta_j \|^2, \qquad h \le T,

with a column of ones for the bias as the last column of :math:`\tilde X`. Suppose that only some
weights J of child j move. With the Cholesky factor of
:math:`\tilde X_J^T \tilde X_J = L L^T` and the least squares optimum :math:`\theta^*`,

.. math:: h(\Theta) = h^* + \sum_j \| L_j^T (\theta_J - \theta_J^*) \|^2 = h^* + \| u \|^2.

So :math:`h \le T` is one ball per class in the coordinates u. A tiny ridge keeps L invertible. With
it, the ball is a little smaller than the set of parameters with :math:`h \le T`, and never larger.

The likelihoods of a sample as functions of the coordinates u of `Moves`.

The log-likelihood of class c plus its log-prior is, up to a constant,

.. math:: L_c(x) = -\sum_j \frac{(x_j - \tilde x^T \theta_{cj})^2}{2 \sigma_{cj}^2}
          - \sum_j \log \sigma_{cj} + \log \pi_c.

Only the residuals of children with a moving parameter depend on u. They are linear in u.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.graph import levels
from sgbn.core.problems import InputError, Problem
from sgbn.core.types import Array, Indices, Mask
from sgbn.core.validation import NOT_NEGATIVE, OneOf, Whole, allowed
from sgbn.learn.classifier import Learned, Scale, SGBNClassifier
from sgbn.learn.series_features import regressors, to_weights, whiten
from sgbn.paper.descent import (
    LinearResiduals,
    MaxMargin,
    likelihoods_at,
    margins,
    max_margin,
    project_balls,
    spg,
)
from sgbn.paper.fisher import bias_name, component_scores, present_edges, select_edges

RIDGE = 1e-10  # share of the diagonal's mean; enough for an inverse, too small to change results


@dataclass(frozen=True)
class ClassMoves:
    """The moving parameters of one class, sorted by child.

    The parameters of a child are a block.

    Attributes
    ----------
    start : ndarray of shape (m + 1, m)
        All parameters at the start, with the biases in the last row.
    parents, children : ndarray of shape (k,)
        The row and the column of each moving parameter.
    starts : ndarray of shape (blocks + 1,)
        The place at which each block begins, and k.
    centre : ndarray of shape (k,)
        The moving parameters at u = 0.
    factors : ndarray
        The factors F of `sgbn.learn.series_features`. The moving parameters are centre + F u.
    u0 : ndarray of shape (k,)
        The coordinates u at the start.
    radius : float
        The radius of the ball of allowed u.
    error, limit : float
        The fitting error at the start, and the largest error allowed.
    feasible : bool
        Whether any u is within the limit.
    """

    start: Array
    parents: Indices
    children: Indices
    starts: Indices
    centre: Array
    factors: Array
    u0: Array
    radius: float
    error: float
    limit: float
    feasible: bool

    def theta(self, u: Array) -> Array:
        """Return all parameters at u."""
        moved = self.start.copy()
        moved[self.parents, self.children] = self.centre + to_weights(self.factors, self.starts, u)
        return moved

    @property
    def moving(self) -> Indices:
        """Return the child of each block."""
        return self.children[self.starts[:-1]]

    @property
    def still(self) -> Indices:
        """Return the children that have no moving parameters."""
        return np.setdiff1d(np.arange(self.start.shape[1]), self.moving)


@dataclass(frozen=True)
class Moves:
    """The moving parameters of all classes, as one vector u."""

    classes: tuple[ClassMoves, ...]

    @cached_property
    def offsets(self) -> Indices:
        """Return the place at which the part of each class begins in u, and the length of u."""
        return np.cumsum([0, *(len(moves.u0) for moves in self.classes)])

    @cached_property
    def radii(self) -> Array:
        """Return the radius of the ball of each class."""
        return np.array([moves.radius for moves in self.classes])

    @property
    def u0(self) -> Array:
        """Return the coordinates u at the start."""
        return np.concatenate([moves.u0 for moves in self.classes])

    def thetas(self, u: Array) -> list[Array]:
        """Return all parameters of each class at u."""
        return [moves.theta(part) for moves, part in zip(self.classes, self.split(u), strict=True)]

    def project(self, u: Array) -> Array:
        """Return the nearest u with every class in its ball."""
        nearest = u.copy()
        project_balls(nearest, self.offsets, self.radii)
        return nearest

    def split(self, u: Array) -> list[Array]:
        """Return the part of u that belongs to each class."""
        return np.split(u, self.offsets[1:-1])


def theta_of(network: GaussianNetwork) -> Array:
    """Return the weights of a network, with its biases as the last row."""
    return np.vstack([network.coef, network.intercept])


def with_bias(values: Array) -> Array:
    """Return the rows with a last column of ones."""
    return np.column_stack([values, np.ones(len(values))])


def fitting_error(values: Array, theta: Array) -> float:
    """Return the sum of the squared residuals of a class over rows and regions.

    Paper: Eq. 3.6.
    """
    return float(np.square(values - with_bias(values) @ theta).sum())


def moves_of(
    values: Array,
    theta: Array,
    parents: Indices,
    children: Indices,
    *,
    slack: float,
    anchor: str = "fit",
    ridge: float = RIDGE,
    limit: float | None = None,
) -> ClassMoves:
    """Return coordinates for the moving parameters of one class.

    Parameters
    ----------
    values : ndarray of shape (n, m)
        The rows of the class.
    theta : ndarray of shape (m + 1, m)
        The parameters at the start, with the biases in the last row.
    parents, children : ndarray of shape (k,)
        The row and the column of each parameter that moves. Parent m is the bias.
    slack : float
        The share of the fitting error that the move may add.
    anchor : {"fit", "start"}
        "fit" is the paper's constraint h <= (1 + slack) h(start), a ball around least squares.
        "start" is a ball around the start with the squared radius slack h(start). In this ball, h
        may rise by more than slack h(start). The attribute `limit` of the result is the bound of h.
    ridge : float
        The ridge, as a share of the mean square of the moving columns.
    limit : float, optional
        The limit of h to use instead of (1 + slack) h(start). It is only used with "fit".
    """
    X = with_bias(values)
    error = fitting_error(values, theta)
    order = np.lexsort((parents, children))  # by child first: its parameters must be consecutive
    parents, children = parents[order], children[order]
    # No child is -1, so with prepend=-1 the first parameter always begins a block.
    starts = np.append(np.flatnonzero(np.diff(children, prepend=-1)), len(children))
    moving = children[starts[:-1]]
    factors, to_fit = whiten(X.T @ X, theta, parents, moving, starts, ridge)
    start = theta[parents, children]
    if anchor == "start":
        centre, u0, squared_radius = start, np.zeros(len(start)), slack * error
        # The error at u is error - 2 to_fit'u + u'u. Cauchy-Schwarz gives its bound in the ball.
        limit = error + 2 * float(np.sqrt(squared_radius * (to_fit @ to_fit))) + squared_radius
    else:
        # In later rounds, after a new order, `limit` is the limit of the first round.
        limit = (1 + slack) * error if limit is None else limit
        # u = 0 is the least squares optimum. Its error is error - to_fit'to_fit.
        centre, u0 = start + to_weights(factors, starts, to_fit), -to_fit
        squared_radius = limit - error + float(to_fit @ to_fit)
    # If it is below 0, not even least squares is within the limit, and `feasible` is False.
    radius = float(np.sqrt(max(squared_radius, 0.0)))
    feasible = squared_radius >= 0
    return ClassMoves(
        theta, parents, children, starts, centre, factors, u0, radius, error, limit, feasible
    )


Objective = Callable[[Array], tuple[float, Array]]
Places = tuple[Indices, ...]
Edges = int | Literal["present", "all"]

TOL = 1e-5  # largest projected gradient at the end; the objective is 1 at the start
STALL = 1e-7  # share of the objective; the search ends when ten iterations gain less than this
# The order seldom changes after the first round, because all pairs that it allows get a weight.
MAX_ROUNDS = 5
RIDGE_OF_ALL_PAIRS = 1e-2  # larger than `RIDGE`, as a class rarely has enough rows for all pairs
# Lighter edges do not count for a new order, and the paper does not draw them.
LIGHT_EDGE = 0.01  # weight
CHANGE_FIELDS = (
    ("class", object),
    ("source", object),
    ("target", object),
    ("before", float),
    ("after", float),
    ("difference", float),
    ("rank", int),
)


@dataclass(frozen=True)
class Moved(Learned):
    """The networks after the move, and how much worse they fit.

    Attributes
    ----------
    before, after : dict of class to GaussianNetwork
        The networks before and after the move, in standard deviations of all rows.
    moves : Moves
        The parameters of each network that were moved.
    fitting_errors : dict of class to (before, after, limit)
        The fitting error of each class before and after the move, and the largest error allowed.
    n_iter : int
        The number of iterations.
    """

    before: dict[Any, GaussianNetwork]
    after: dict[Any, GaussianNetwork]
    moves: Moves
    fitting_errors: dict[Any, tuple[float, float, float]]
    n_iter: int


class Optimum(NamedTuple):
    """The result of a minimisation: u, the number of iterations, and whether they were enough."""

    u: Array
    n_iter: int
    settled: bool


class _Round(NamedTuple):
    """The parameters of each network after a round, the moves, and the number of iterations."""

    thetas: list[Array]
    moves: Moves
    n_iter: int


@dataclass(eq=False, repr=False, kw_only=True)
class MovedClassifier(SGBNClassifier, ABC):
    """The base of the classifiers that move edge weights. Subclasses define the objective."""

    edges: Edges = allowed(100, OneOf("present", "all") | Whole(1))
    slack: float = allowed(0.01, NOT_NEGATIVE)
    anchor: str = allowed("fit", OneOf("fit", "start"))
    variances: str = "unit"
    max_iter: int = allowed(200, Whole(1))

    @abstractmethod
    def _optimise(self, likelihoods: MovingLikelihoods) -> Optimum:
        """Minimise the objective, starting from the networks before the move."""

    def edge_changes(self) -> NDArray[Any]:
        """Return the edges and biases that were moved, the largest change first.

        Returns
        -------
        structured ndarray
            One record per edge or bias, with the fields class, source ("bias" for a bias), target,
            before, after, difference and rank. Weights are in standard deviations of all training
            rows.
        """
        learned = self._moved()
        rows: list[tuple[Any, ...]] = []
        for label, moves in _by_class(learned.after, learned.moves.classes).items():
            names = list(learned.after[label].names)
            names.append(bias_name(names))
            pairs = theta_of(learned.before[label]), theta_of(learned.after[label])
            moved = pairs[0] != pairs[1]  # this includes edges that a new order removed
            moved[moves.parents, moves.children] = True
            before, after = (theta[moved] for theta in pairs)
            ends = ([names[k] for k in places] for places in np.nonzero(moved))
            labels = [label] * len(before)
            rows += zip(labels, *ends, before, after, after - before, strict=True)
        # row[5] is the difference. Ties are sorted by name, so the order of columns has no effect.
        rows.sort(key=lambda row: (-abs(row[5]), str(row[0]), row[1], row[2]))
        ranked = [(*row, rank) for rank, row in enumerate(rows, start=1)]
        return np.array(ranked, dtype=list(CHANGE_FIELDS))

    @property
    def n_iter_(self) -> int:
        """Return the number of iterations of the last fit."""
        # scikit-learn's checks want at least 1 if an estimator has max_iter.
        return max(self._moved().n_iter, 1)

    @property
    def fitting_errors_(self) -> dict[Any, tuple[float, float, float]]:
        """Return the fitting error of each class before and after the move, and its limit T."""
        return self._moved().fitting_errors

    def _moved(self) -> Moved:
        check_is_fitted(self)
        learned: Moved = self._learned  # type: ignore[assignment]
        return learned

    def _learn(self, values: Array, labels: NDArray[Any], names: list[str]) -> Moved:
        scale = Scale.of(values)
        Z = scale.standardise(values)
        codes = np.searchsorted(self.classes_, labels)
        before = self._standardised_networks(Z, labels, names)
        starts = _distinct(before)
        variances = np.array([network.noise_variance for network in starts])
        # A shared network needs only one prior, which adds the same number to all likelihoods.
        sample = Sample(Z, codes, variances, self._log_priors()[: len(starts)])
        # A shared network is fitted to all rows.
        rows = [codes == c for c in range(len(starts))] if len(starts) > 1 else [codes >= 0]
        thetas = [theta_of(network) for network in starts]
        if self.edges == "all":
            moved = self._move_in_rounds(sample, rows, thetas)
        else:
            places = self._selected(Z, codes, starts)
            moved = self._moved_by(sample, self._moves(Z, rows, thetas, places))
        networks = [
            GaussianNetwork(theta[:-1], theta[-1], network.noise_variance, names)
            for theta, network in zip(moved.thetas, starts, strict=True)
        ]
        parts = zip(rows, thetas, moved.thetas, moved.moves.classes, strict=True)
        errors = [
            (fitting_error(Z[class_rows], theta), fitting_error(Z[class_rows], after), part.limit)
            for class_rows, theta, after, part in parts
        ]
        after = _by_class(before, networks)
        in_units = {label: scale.in_units(network) for label, network in after.items()}
        costs = _by_class(before, errors)
        return Moved(in_units, before, after, moved.moves, costs, moved.n_iter)

    def _selected(self, Z: Array, codes: Indices, networks: list[GaussianNetwork]) -> list[Places]:
        """Return the parameters of each network that tell the classes apart best."""
        present = present_edges(networks)
        # The best k parameters of all classes together are chosen, so one class may get more than
        # another.
        k = int(present.sum()) if self.edges == "present" else int(self.edges)
        chosen = select_edges(component_scores(networks, Z, codes), k, present)
        return [tuple(chosen[chosen[:, 0] == c, 1:].T) for c in range(len(networks))]

    def _moves(
        self,
        values: Array,
        rows: list[Mask],
        thetas: list[Array],
        places: list[Places],
        limits: Sequence[float | None] | None = None,
        ridge: float = RIDGE,
    ) -> Moves:
        """Return the coordinates in which the given parameters of each network move."""
        limits = [None] * len(rows) if limits is None else limits
        of_class = partial(moves_of, slack=self.slack, anchor=self.anchor, ridge=ridge)
        parts = [
            of_class(values[class_rows], theta, *place, limit=limit)
            for class_rows, theta, place, limit in zip(rows, thetas, places, limits, strict=True)
        ]
        return Moves(tuple(parts))

    def _moved_by(self, sample: Sample, moves: Moves) -> _Round:
        optimum = self._optimise(MovingLikelihoods.of(sample, moves))
        if not optimum.settled:
            Problem("move.not-converged", n=self.max_iter).warn(
                "the move did not converge in {n:iteration}",
                "Raise {max_iter=}.",
                ConvergenceWarning,
            )
        # The projection makes sure that round-off does not take a class above its limit.
        return _Round(moves.thetas(moves.project(optimum.u)), moves, optimum.n_iter)

    def _log_priors(self) -> Array:
        """Return the log-priors of the classes, in the unit of the log-likelihoods."""
        logarithms: Array = np.log(self.priors_)
        return logarithms

    def _move_in_rounds(self, sample: Sample, rows: list[Mask], thetas: list[Array]) -> _Round:
        """Repeat two steps: minimise over every pair that the order allows, and find a new order.

        The new order follows from the new weights, without light edges. The rounds end when the
        order no longer changes, and after `MAX_ROUNDS` at the latest. They also end if a new order
        lacks edges that the fit needs. Return the result of the last round.

        Paper: Algorithm 1, step 6, and Algorithm 2, steps 1 and 2.
        """
        limits = [
            (1 + self.slack) * fitting_error(sample.values[class_rows], theta)
            for class_rows, theta in zip(rows, thetas, strict=True)
        ]
        orders = [levels(theta[:-1]) for theta in thetas]
        for _ in range(MAX_ROUNDS):
            places = [_allowed(order) for order in orders]
            if not any(order.any() for order in orders):
                Problem("move.no-edges").warn(
                    "the networks at the start have no edges, so only biases move",
                    "Give a learner that finds edges (a smaller alpha or gamma).",
                )
            moves = self._moves(sample.values, rows, thetas, places, limits, RIDGE_OF_ALL_PAIRS)
            if not all(part.feasible for part in moves.classes):
                # The new order lost edges that the fit needs. This cannot happen in the first
                # round, which has the order of the networks at the start.
                break
            moved = self._moved_by(sample, moves)
            thetas = [_without_light_edges(theta) for theta in moved.thetas]
            last, orders = orders, [levels(theta[:-1]) for theta in thetas]
            if all(np.array_equal(*pair) for pair in zip(last, orders, strict=True)):
                break
        return moved

    def _check_together(self) -> None:
        if self.edges == "all" and self.anchor == "start":
            raise InputError("move.new-edges").says(
                "{edges='all'} cannot go with {anchor='start'}, where new edges have no weight",
                "Set {anchor='fit'}, or {edges='present'}.",
            )


def _distinct(networks: dict[Any, GaussianNetwork]) -> list[GaussianNetwork]:
    """Return the network of each class, or only one network if all classes share it."""
    first, *rest = networks.values()
    return [first] if all(other is first for other in rest) else [first, *rest]


def _by_class(classes: Iterable[Any], parts: Sequence[Any]) -> dict[Any, Any]:
    """Return the entry of each class. With only one entry, all classes get it."""
    labels = list(classes)
    return dict(zip(labels, parts if len(parts) > 1 else [*parts] * len(labels), strict=True))


def _allowed(order: NDArray[np.int64]) -> Places:
    """Return the pairs that the order allows, and all biases."""
    pairs = order[:, None] < order
    return np.nonzero(np.vstack([pairs, np.ones_like(order, bool)]))


def _without_light_edges(theta: Array) -> Array:
    kept = theta.copy()
    kept[:-1][np.abs(theta[:-1]) < LIGHT_EDGE] = 0.0  # the last row has the biases, which stay
    return kept


def minimise(objective: Objective, moves: Moves, u0: Array, max_iter: int) -> Optimum:
    """Minimise from u0 by spectral projected gradient.

    The objective is divided by its value at u0. The search also ends when ten iterations gain less
    than the share `STALL` of the objective.
    """
    unit = 0.0

    def value_and_gradient(u: Array) -> tuple[float, Array]:
        nonlocal unit
        value, gradient = objective(u)
        unit = unit or abs(value) or 1.0  # the first call, at u0, sets it
        return value / unit, gradient / unit

    limits = moves.offsets, moves.radii
    result = spg(value_and_gradient, *limits, u0, tol=TOL, max_iter=max_iter, stall=STALL)
    return Optimum(result.x, result.n_iter, result.n_iter < max_iter)


@dataclass(frozen=True)
class Sample:
    """The rows, their classes, and the parts of the networks that do not move.

    Attributes
    ----------
    values : ndarray of shape (n, m)
        The standardised rows.
    codes : ndarray of shape (n,)
        The class of each row, numbered from 0.
    variances : ndarray of shape (networks, m)
        The noise variances of the network of each class, or of the one network of all classes.
    log_priors : ndarray of shape (networks,)
        The logarithm of the prior of each class.
    """

    values: Array
    codes: Indices
    variances: Array
    log_priors: Array


@dataclass(frozen=True)
class MovingLikelihoods:
    """The likelihoods of a sample, as functions of the moving parameters.

    Attributes
    ----------
    sample : Sample
        The rows and their classes.
    moves : Moves
        The moving parameters of the networks.
    residuals : LinearResiduals
        The residuals of the children that move, in standard deviations of their noise.
    still : list of ndarray of shape (n, children)
        The residuals of the children that do not move, divided by their noise variance, for each
        network.
    children : ndarray of shape (blocks,)
        The child of each block.
    sd : ndarray of shape (blocks,)
        The standard deviation of the noise of each block's child.
    """

    sample: Sample
    moves: Moves
    residuals: LinearResiduals
    still: list[Array]
    children: NDArray[np.int64]
    sd: Array

    @classmethod
    def of(cls, sample: Sample, moves: Moves) -> MovingLikelihoods:
        """Make the object. Residuals of children that move and of other children are separate."""
        columns = np.ascontiguousarray(with_bias(sample.values).T)
        n = len(sample.codes)
        # The kernels take no lists, so all classes share one array, which is filled part by part.
        D, A, rest, still, sds = np.empty((len(moves.u0), n)), [], [], [], []
        # These are views of D, which `regressors` fills in place.
        parts = [D[a:b] for a, b in pairwise(moves.offsets)]
        of_classes = zip(moves.classes, parts, sample.variances, sample.log_priors, strict=True)
        for each, part, variance, prior in of_classes:
            sd = np.sqrt(variance)
            R = (sample.values - columns.T @ each.theta(np.zeros(len(each.u0)))) / sd
            moving, stays = each.moving, each.still
            regressors(each.factors, each.starts, columns, each.parents, sd[moving], part)
            # The term log(2 pi) is left out, because it is the same for all classes.
            rest.append(prior - np.log(sd).sum() - np.square(R[:, stays]).sum(axis=1) / 2)
            A.append(R[:, moving].T)
            still.append(R[:, stays] / sd[stays])
            sds.append(sd[moving])
        # The blocks of all classes follow each other, and `starts` are places in the whole of u.
        owner = np.repeat(np.arange(len(A)), [len(rows) for rows in A])
        pairs = zip(moves.classes, moves.offsets[:-1], strict=True)
        # The last start of a class is left out, because it is the first start of the next class.
        starts = [class_moves.starts[:-1] + offset for class_moves, offset in pairs]
        bounds = np.append(np.concatenate(starts), len(D))
        codes = np.asarray(sample.codes, np.int64)  # numba would compile again for another type
        residuals = LinearResiduals(D, np.concatenate(A), bounds, owner, np.array(rest), codes)
        children = np.concatenate([class_moves.moving for class_moves in moves.classes])
        return cls(sample, moves, residuals, still, children, np.concatenate(sds))

    def log_likelihoods(self, u: Array) -> Array:
        """Return the log-likelihoods at u, shape (classes, n)."""
        L = np.empty_like(self.residuals.rest)
        likelihoods_at(self.residuals, u, np.empty_like(self.residuals.A), L)
        return L


def exact_margin(likelihoods: MovingLikelihoods, u: Array, nu: float) -> MaxMargin:
    """Return the soft margin at u, without smoothing."""
    return max_margin(margins(likelihoods.log_likelihoods(u), likelihoods.residuals.codes)[0], nu)
