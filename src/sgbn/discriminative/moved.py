"""The base of classifiers that move networks apart after learning, at a bounded loss of fit."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from sgbn.core.exceptions import InputError, warn
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.graph import levels
from sgbn.core.types import Array, Indices, Mask
from sgbn.core.validation import NOT_NEGATIVE, OneOf, Parameters, Whole
from sgbn.discriminative.edge_selection import component_scores, present_edges, select_edges
from sgbn.discriminative.moves import RIDGE, Moves, fitting_error, moves_of, theta_of
from sgbn.discriminative.network_score import bias_name
from sgbn.discriminative.objectives import MovingLikelihoods, Sample
from sgbn.learn.classifier import Learned, Scale, SGBNClassifier
from sgbn.solvers.projected_gradient import spg

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


class MovedClassifier(SGBNClassifier, ABC):
    """The base of the classifiers that move edge weights. Subclasses define the objective."""

    edges: Edges
    slack: float
    anchor: str
    max_iter: int
    _parameters: ClassVar[Parameters] = {
        "edges": OneOf("present", "all") | Whole(1),
        "slack": NOT_NEGATIVE,
        "anchor": OneOf("fit", "start"),
        "max_iter": Whole(1),
    }

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
            names = [*learned.after[label].names]
            names.append(bias_name(names))
            pairs = theta_of(learned.before[label]), theta_of(learned.after[label])
            moved = pairs[0] != pairs[1]  # this includes edges that a new order removed
            moved[moves.parents, moves.children] = True
            before, after = (theta[moved] for theta in pairs)
            parents, children = np.nonzero(moved)
            sources = [names[k] for k in parents]
            targets = [names[k] for k in children]
            labels = [label] * len(sources)
            rows += zip(labels, sources, targets, before, after, after - before, strict=True)
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
        errors = [
            (fitting_error(Z[class_rows], theta), fitting_error(Z[class_rows], after), part.limit)
            for class_rows, theta, after, part in zip(
                rows, thetas, moved.thetas, moved.moves.classes, strict=True
            )
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
        parts = [
            moves_of(
                values[class_rows],
                theta,
                *place,
                slack=self.slack,
                anchor=self.anchor,
                limit=limit,
                ridge=ridge,
            )
            for class_rows, theta, place, limit in zip(rows, thetas, places, limits, strict=True)
        ]
        return Moves(tuple(parts))

    def _moved_by(self, sample: Sample, moves: Moves) -> _Round:
        optimum = self._optimise(MovingLikelihoods.of(sample, moves))
        if not optimum.settled:
            warnings.warn(
                f"the move had not converged after max_iter={self.max_iter} iterations. Raise "
                "max_iter.",
                ConvergenceWarning,
                stacklevel=2,
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
                warn(
                    "the networks at the start have no edges, so their order allows no edges, "
                    "and only biases move. Give a learner that finds edges (a smaller alpha or "
                    "gamma)."
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
            raise InputError(
                "edges='all' cannot go with anchor='start', because new edges have no weight at "
                "the start. Set anchor='fit', or edges='present'."
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
