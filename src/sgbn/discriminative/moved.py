"""Classifiers whose networks are moved apart after they were learned, at a bounded cost in fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sgbn.discriminative.class_networks import Scale
from sgbn.discriminative.edge_selection import edge_scores, present_edges, select_edges
from sgbn.discriminative.fisher import BIAS
from sgbn.discriminative.likelihood import Learned, SGBNClassifier
from sgbn.discriminative.moves import Moves, fitting_error, moves_of, theta_of
from sgbn.discriminative.objectives import Sample
from sgbn.exceptions import InputError
from sgbn.gaussian import GaussianNetwork
from sgbn.solvers.projected_gradient import spg
from sgbn.validation import is_number

Array = NDArray[np.float64]
Objective = Callable[[Sequence[Array]], tuple[float, list[Array]]]

TOL = 1e-8  # of the projected gradient of an objective that starts at one
STALL = 1e-7  # share of the objective in ten iterations, less than which is not worth more
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
    """Networks after the move, and what it cost.

    Attributes
    ----------
    before, after : dict of class to GaussianNetwork
        In standard deviations of all rows.
    moves : Moves
        Which parameters were moved.
    fitting_errors : dict of class to (before, after, limit)
    n_iter : int
    """

    before: dict[Any, GaussianNetwork]
    after: dict[Any, GaussianNetwork]
    moves: Moves
    fitting_errors: dict[Any, tuple[float, float, float]]
    n_iter: int


class MovedClassifier(SGBNClassifier, ABC):
    """Base of the classifiers that move edge weights. Subclasses say what is minimised."""

    edges: Any
    slack: float
    anchor: str
    max_iter: int

    @abstractmethod
    def _optimise(self, sample: Sample, moves: Moves) -> tuple[Array, int]:
        """Best u, and the iterations that it took."""

    def edge_changes(self) -> NDArray[Any]:
        """Edges and biases that were moved, the largest change first.

        Returns
        -------
        structured ndarray
            Fields class, source ("bias" for a bias), target, before, after and difference (in
            standard deviations of all training rows), rank.
        """
        learned = self._moved()
        rows: list[tuple[Any, ...]] = []
        for label, moves in zip(learned.after, learned.moves.classes, strict=True):
            names = [*learned.after[label].names, BIAS]
            pairs = (theta_of(learned.before[label]), theta_of(learned.after[label]))
            before, after = (theta[moves.parents, moves.children] for theta in pairs)
            sources = [names[k] for k in moves.parents]
            targets = [names[k] for k in moves.children]
            labels = [label] * len(sources)
            rows += zip(labels, sources, targets, before, after, after - before, strict=True)
        rows.sort(key=lambda row: (-abs(row[5]), str(row[0]), row[1], row[2]))
        ranked = [(*row, rank) for rank, row in enumerate(rows, start=1)]
        return np.array(ranked, dtype=list(CHANGE_FIELDS))

    @property
    def n_iter_(self) -> int:
        """Iterations of the last fit."""
        return max(self._moved().n_iter, 1)

    @property
    def fitting_errors_(self) -> dict[Any, tuple[float, float, float]]:
        """Class -> fitting error before and after the move, and its limit T."""
        return self._moved().fitting_errors

    def _moved(self) -> Moved:
        check_is_fitted(self)
        learned: Moved = self._learned  # type: ignore[assignment]
        return learned

    def _learn(self, values: Array, labels: NDArray[Any], names: list[str]) -> Moved:
        scale = Scale.of(values)
        Z = scale.standardise(values)
        before = self._standardised_networks(Z, labels, names)
        codes = np.searchsorted(self.classes_, labels)
        moves = self._moves(Z, codes, labels, before)
        variances = np.array([network.noise_variance for network in before.values()])
        sample = Sample(Z, codes, variances, np.log(self.priors_))
        u, n_iter = self._optimise(sample, moves)
        thetas = moves.thetas(moves.project(u))
        after, errors = {}, {}
        for c, (label, network) in enumerate(before.items()):
            theta, own = thetas[c], moves.classes[c]
            after[label] = GaussianNetwork(theta[:-1], theta[-1], network.noise_variance, names)
            errors[label] = (own.error, fitting_error(Z[codes == c], theta), own.limit)
        networks = {label: scale.in_units(network) for label, network in after.items()}
        return Moved(networks, before, after, moves, errors, n_iter)

    def _moves(
        self, Z: Array, codes: NDArray[np.intp], labels: NDArray[Any], before: dict[Any, Any]
    ) -> Moves:
        """Coordinates of the parameters that tell the classes apart best."""
        present = present_edges(list(before.values()))
        k = int(present.sum()) if self.edges == "present" else int(self.edges)
        chosen = select_edges(edge_scores(Z, labels, list(before.values())), k, present)
        parts = []
        for c, network in enumerate(before.values()):
            _, parents, children = chosen[chosen[:, 0] == c].T
            theta = theta_of(network)
            own = Z[codes == c]
            parts.append(
                moves_of(own, theta, parents, children, slack=self.slack, anchor=self.anchor)
            )
        return Moves(tuple(parts))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        whole = is_number(self.edges) and self.edges == int(self.edges) and self.edges >= 1
        if not whole and self.edges != "present":
            raise InputError(f"edges={self.edges!r}: give a number of edges, or 'present'.")
        if not is_number(self.slack) or not 0 <= self.slack < np.inf:
            raise InputError(f"slack={self.slack!r}: give a number from 0 on.")
        if self.anchor not in ("fit", "start"):
            raise InputError(f"anchor={self.anchor!r}: give 'fit' or 'start'.")


def minimise(
    objective: Objective, moves: Moves, u0: Array, max_iter: int, stall: float = STALL
) -> tuple[Array, int]:
    """Spectral projected gradient from u0, on the objective in units of its value at the start.

    It also ends when ten iterations gain less than the share `stall`.
    """
    unit = abs(objective(moves.thetas(u0))[0]) or 1.0

    def value_and_gradient(u: Array) -> tuple[float, Array]:
        value, gradients = objective(moves.thetas(u))
        return value / unit, moves.pull(gradients) / unit

    found = spg(value_and_gradient, moves.project, u0, tol=TOL, max_iter=max_iter, stall=stall)
    return found.x, found.n_iter
