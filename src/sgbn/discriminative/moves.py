r"""Parameters that discriminative learning moves, in coordinates in which fitting well is a ball.

The fitting error of a class is

.. math:: h(\Theta) = \sum_j \| x_j - \tilde X \theta_j \|^2, \qquad h \le T

with the bias as a last column of :math:`\tilde X`. Where only some weights J of child j move and
the rest stay, with the Cholesky factor of :math:`\tilde X_J^T \tilde X_J = L L^T` and the least
squares optimum :math:`\theta^*`,

.. math:: h(\Theta) = h^* + \sum_j \| L_j^T (\theta_J - \theta_J^*) \|^2 = h^* + \| u \|^2,

so that :math:`h \le T` is one ball per class in u. A tiny ridge keeps L invertible; then the ball
is a little smaller than the set, never larger.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sgbn.discriminative.whitening import to_weights, whiten
from sgbn.gaussian import GaussianNetwork
from sgbn.solvers.projected_gradient import project_balls
from sgbn.types import Array, Indices

RIDGE = 1e-10  # share of the diagonal's mean: enough for an inverse, too little to change results


@dataclass(frozen=True)
class ClassMoves:
    """Movable parameters of one class, sorted by child.

    Attributes
    ----------
    start : ndarray of shape (m + 1, m)
        All parameters at the start, the bias in the last row.
    parents, children : ndarray of shape (k,)
        Which of them move.
    starts : ndarray of shape (blocks + 1,)
        Where each child's begin.
    centre : ndarray of shape (k,)
        Where u = 0.
    factors : ndarray
        Of `sgbn.discriminative.whitening`: the moving parameters are the centre and F u.
    u0 : ndarray of shape (k,)
        The start.
    radius : float
    error, limit : float
        Fitting error at the start, and what it may be at most.
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
        """All parameters at u."""
        moved = self.start.copy()
        moved[self.parents, self.children] = self.centre + to_weights(self.factors, self.starts, u)
        return moved

    @property
    def moving(self) -> Indices:
        """Child of each block."""
        return self.children[self.starts[:-1]]

    @property
    def still(self) -> Indices:
        """Children that do not move."""
        return np.setdiff1d(np.arange(self.start.shape[1]), self.moving)


@dataclass(frozen=True)
class Moves:
    """Movable parameters of all classes, as one vector u."""

    classes: tuple[ClassMoves, ...]

    @cached_property
    def offsets(self) -> Indices:
        """Where the part of each class begins in u."""
        return np.cumsum([0, *(len(moves.u0) for moves in self.classes)])

    @cached_property
    def radii(self) -> Array:
        """Radius of the ball of each class."""
        return np.array([moves.radius for moves in self.classes])

    @property
    def u0(self) -> Array:
        """The start."""
        return np.concatenate([moves.u0 for moves in self.classes])

    def thetas(self, u: Array) -> list[Array]:
        """All parameters of each class at u."""
        return [moves.theta(part) for moves, part in zip(self.classes, self.split(u), strict=True)]

    def project(self, u: Array) -> Array:
        """Nearest u with every class within its limit."""
        nearest = u.copy()
        project_balls(nearest, self.offsets, self.radii)
        return nearest

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
    ridge: float = RIDGE,
    limit: float | None = None,
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
        "start": a ball around the start, of the size slack h(start); h may exceed the start's by
        more than that, and `limit` says by how much.
    ridge : float
        As a share of the mean square of the moving columns.
    limit : float, optional
        Of h, instead of (1 + slack) h(start); for "fit".
    """
    X = with_bias(values)
    error = fitting_error(values, theta)
    order = np.lexsort((parents, children))  # by child first: the blocks must be consecutive
    parents, children = parents[order], children[order]
    # prepend=-1: the first parameter begins a block, whatever its child.
    starts = np.append(np.flatnonzero(np.diff(children, prepend=-1)), len(children))
    moving = children[starts[:-1]]
    factors, to_fit = whiten(X.T @ X, theta, parents, moving, starts, ridge)
    start = theta[parents, children]
    if anchor == "start":
        centre, u0, squared_radius = start, np.zeros(len(start)), slack * error
        # The error at u is error - 2 to_fit'u + u'u; Cauchy-Schwarz bounds it in the ball.
        limit = error + 2 * float(np.sqrt(squared_radius * (to_fit @ to_fit))) + squared_radius
    else:
        # In later rounds of a new order the limit stays that of the very start.
        limit = (1 + slack) * error if limit is None else limit
        # u = 0 is the least squares optimum, whose error is error - to_fit'to_fit
        centre, u0 = start + to_weights(factors, starts, to_fit), -to_fit
        squared_radius = limit - error + float(to_fit @ to_fit)
    # Below 0 not even least squares is within the limit: `feasible` says so.
    radius = float(np.sqrt(max(squared_radius, 0.0)))
    return ClassMoves(
        theta,
        parents,
        children,
        starts,
        centre,
        factors,
        u0,
        radius,
        error,
        limit,
        squared_radius >= 0,
    )
