r"""Moving parameters of networks, in coordinates in which a limit on the fitting error is a ball.

The fitting error of a class and its limit T are

.. math:: h(\Theta) = \sum_j \| x_j - \tilde X \theta_j \|^2, \qquad h \le T,

with a column of ones for the bias as the last column of :math:`\tilde X`. Suppose that only some
weights J of child j move. With the Cholesky factor of
:math:`\tilde X_J^T \tilde X_J = L L^T` and the least squares optimum :math:`\theta^*`,

.. math:: h(\Theta) = h^* + \sum_j \| L_j^T (\theta_J - \theta_J^*) \|^2 = h^* + \| u \|^2.

So :math:`h \le T` is one ball per class in the coordinates u. A tiny ridge keeps L invertible. With
it, the ball is a little smaller than the set of parameters with :math:`h \le T`, and never larger.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.types import Array, Indices
from sgbn.learn.series_features import to_weights, whiten
from sgbn.solvers.projected_gradient import project_balls

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
