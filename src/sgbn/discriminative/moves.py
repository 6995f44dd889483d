r"""Parameters that discriminative learning moves, in coordinates in which fitting well is a ball.

The fitting error of a class is

.. math:: h(\Theta) = \sum_j \| x_j - \tilde X \theta_j \|^2, \qquad h \le T

with the bias as a last column of :math:`\tilde X`. Where only some weights J of child j move and
the rest stay, with the Cholesky factor of :math:`\tilde X_J^T \tilde X_J = L L^T` and the least
squares optimum :math:`\theta^*`,

.. math:: h(\Theta) = h^* + \sum_j \| L_j^T (\theta_J - \theta_J^*) \|^2 = h^* + \| u \|^2,

so that :math:`h \le T` is one ball a class in u. A tiny ridge keeps L invertible; then the ball is
a little smaller than the set, never larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag, get_lapack_funcs

from sgbn.gaussian import GaussianNetwork
from sgbn.solvers.projected_gradient import project_balls

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

RIDGE = 1e-10  # of the diagonal's mean: enough for an inverse, too little to be seen

# LAPACK itself: for the few parents of a region, scipy's checks would take longer than the work.
_potrf, _trtri = get_lapack_funcs(("potrf", "trtri"), dtype=np.float64)


@dataclass(frozen=True)
class ClassMoves:
    """Movable parameters of one class.

    Attributes
    ----------
    start : ndarray of shape (m + 1, m)
        All parameters at the start, the bias in the last row.
    parents, children : ndarray of shape (k,)
        Which of them move.
    centre : ndarray of shape (k,)
        Where u = 0.
    to_weights : ndarray of shape (k, k)
        The moving parameters are ``centre + to_weights @ u``.
    u0 : ndarray of shape (k,)
        The start.
    radius : float
    error, limit : float
        Fitting error at the start, and what it may be at most.
    """

    start: Array
    parents: Indices
    children: Indices
    centre: Array
    to_weights: Array
    u0: Array
    radius: float
    error: float
    limit: float

    def theta(self, u: Array) -> Array:
        """All parameters at u."""
        moved = self.start.copy()
        moved[self.parents, self.children] = self.centre + self.to_weights @ u
        return moved

    def pull(self, gradient: Array) -> Array:
        """Gradient in u from the gradient in all parameters."""
        pulled: Array = self.to_weights.T @ gradient[self.parents, self.children]
        return pulled


@dataclass(frozen=True)
class Moves:
    """Movable parameters of all classes, as one vector u."""

    classes: tuple[ClassMoves, ...]

    @property
    def offsets(self) -> Indices:
        """Where the part of each class begins in u."""
        return np.cumsum([0, *(len(moves.u0) for moves in self.classes)])

    @property
    def u0(self) -> Array:
        """The start."""
        return np.concatenate([moves.u0 for moves in self.classes])

    def thetas(self, u: Array) -> list[Array]:
        """All parameters of each class at u."""
        return [moves.theta(part) for moves, part in zip(self.classes, self.split(u), strict=True)]

    def pull(self, gradients: Sequence[Array]) -> Array:
        """Gradient in u from those in the parameters of each class."""
        pairs = zip(self.classes, gradients, strict=True)
        return np.concatenate([moves.pull(gradient) for moves, gradient in pairs])

    def project(self, u: Array) -> Array:
        """Nearest u with every class within its limit."""
        return project_balls(u, self.offsets, np.array([moves.radius for moves in self.classes]))

    def split(self, u: Array) -> list[Array]:
        """Part of each class."""
        return np.split(u, self.offsets[1:-1])


def theta_of(network: GaussianNetwork) -> Array:
    """Weights and, in the last row, biases of a network."""
    return np.vstack([network.coef, network.intercept])


def with_bias(values: Array) -> Array:
    """Rows with a last column of ones."""
    return np.column_stack([values, np.ones(len(values))])


def fitting_error(values: Array, theta: Array) -> float:
    """Squared residuals of a class, summed over rows and regions.

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
) -> ClassMoves:
    """Coordinates for the moving parameters of one class.

    Parameters
    ----------
    values : ndarray of shape (n, m)
        Rows of the class.
    theta : ndarray of shape (m + 1, m)
        Parameters at the start.
    parents, children : ndarray of shape (k,)
        Which of them move; parent m is the bias.
    slack : float
        Share of the fitting error that may be added.
    anchor : {"fit", "start"}
        "fit": h <= (1 + slack) h(start), the paper's constraint, a ball around least squares.
        "start": a ball around the start, of the size slack h(start).
    """
    X = with_bias(values)
    residuals = values - X @ theta
    error = float(np.square(residuals).sum())
    order = np.lexsort((parents, children))
    parents, children = parents[order], children[order]
    factors, steps = [], [np.empty(0)]
    for child in np.unique(children):
        columns = X[:, parents[children == child]]
        gram = columns.T @ columns
        gram[np.diag_indices_from(gram)] += RIDGE * np.trace(gram) / len(gram)
        inverse, _ = _trtri(_potrf(gram, lower=1, clean=1)[0], lower=1)
        factors.append(inverse.T)
        steps.append(inverse @ (columns.T @ residuals[:, child]))
    to_fit = np.concatenate(steps)  # the least-squares optimum, seen from the start
    to_weights = block_diag(*factors) if factors else np.empty((0, 0))
    start = theta[parents, children]
    if anchor == "start":
        centre, u0, room = start, np.zeros(len(start)), slack * error
    else:
        centre, u0 = start + to_weights @ to_fit, -to_fit
        room = slack * error + float(to_fit @ to_fit)
    limit = (1 + slack) * error
    radius = float(np.sqrt(max(room, 0.0)))
    return ClassMoves(theta, parents, children, centre, to_weights, u0, radius, error, limit)
