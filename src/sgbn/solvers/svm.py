r"""L2-SVM on a kernel, and the radius for its radius-margin bound (Section 3.1.2 of the paper).

.. math:: \min_{w, b, \xi} \tfrac12 \|w\|^2 + \tfrac{C}{2} \sum_i \xi_i^2, \qquad
          y_i (w^T \phi_i + b) \ge 1 - \xi_i

is a hard-margin SVM on the kernel K + I/C. (The paper writes C without the half. This would make it
K + I/(2C).) With the multipliers alpha and beta_i = alpha_i y_i, the optimality conditions are

.. math:: y_i ((K + I/C) \beta + b)_i = 1 \text{ or more}, \quad \alpha_i \ge 0, \quad
          \textstyle\sum_i \beta_i = 0,

with equality if alpha_i > 0. At the optimum, half the sum of alpha is half the squared norm of the
augmented w (the w of the kernel K + I/C). This is the paper's J_0.

The solver is Newton's method. Without xi the objective is 1/2 ||w||^2 + C/2 sum max(0, s_i)^2 with
the slacks s_i = 1 - y_i f_i. It is convex, and quadratic on each piece on which the same samples
have s_i > 0. Each iteration solves the linear system of the present piece. A few iterations are
almost always enough. If they are not, an active-set method continues on the dual. It moves towards
the solution of the system as far as alpha >= 0 allows, and drops the sample that blocks the move.
If no sample blocks it, the method adds the sample that violates the conditions most. The dual
objective rises in every step, so that the method cannot cycle.

Both problems in this file, SVM and ball, depend on the kernel only through distances. So the origin
may be moved to where round-off is smallest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import get_lapack_funcs

from sgbn.core.exceptions import InputError
from sgbn.core.types import Array, Indices, Mask

TOL = 1e-9  # KKT violation, in units of the margin
MAX_ITER = 5000  # linear systems; 1 to 10 are usual
MAX_NEWTON_STEPS = 15  # afterwards the active-set method continues
GAP = 1e-10  # gap between the bounds on the squared radius, as a share of it
MAX_POINTS = 10_000  # how often a point may enter the support of the ball; n / 2 is usual
ROUND_OFF = 1e-15  # round-off of a sum, as a share of its terms
SINGULAR = 1e-12  # smaller pivots of the Gram matrix, as a share of the largest, are round-off

# LAPACK is called directly: for a hundred unknowns, scipy's checks take longer than the solution.
_posv, _potrf, _potrs = get_lapack_funcs(("posv", "potrf", "potrs"), dtype=np.float64)


class L2SVM(NamedTuple):
    """The separating plane f(x) = sum_i beta_i k(x, x_i) + intercept.

    Attributes
    ----------
    beta : ndarray of shape (n,)
        The coefficients alpha_i y_i. Their sum is zero.
    intercept : float
        The constant of the plane.
    objective : float
        J_0: half the squared norm of the augmented w.
    support : ndarray of int
        Samples with alpha > 0. They can be the `start` for a similar kernel.
    n_iter : int
        Number of linear systems solved.
    violation : float
        Largest violation of the optimality conditions, in units of the margin.
    converged : bool
        Whether `violation` is at most the tolerance, or at most round-off if round-off is larger.
    """

    beta: Array
    intercept: float
    objective: float
    support: Indices
    n_iter: int
    violation: float
    converged: bool


class Radius(NamedTuple):
    """The smallest ball around all points.

    Attributes
    ----------
    squared : float
        Lower bound of the squared radius. It is exact if the solver has converged.
    weights : ndarray of shape (n,)
        The centre as a convex combination of the points. They can be the `start` for a similar
        kernel. The derivative of `squared` with respect to K_ij is -weights_i weights_j, plus
        weights_i if i = j.
    n_iter : int
        How often a point entered the support.
    violation : float
        (d - `squared`) / d, where d is the squared distance of the farthest point.
    converged : bool
        Whether `violation` is at most the tolerance, or at most round-off if round-off is larger.
    """

    squared: float
    weights: Array
    n_iter: int
    violation: float
    converged: bool


class _Plane(NamedTuple):
    """A plane and its slacks. Slacks of samples in the linear system are exactly alpha / C."""

    beta: Array
    K_beta: Array
    intercept: float
    slack: Array


def total_scatter(K: Array) -> float:
    """Return the trace of the total scatter matrix, tr(K) - 1'K1 / n.

    It is the sum of the squared distances from the mean. For the augmented features, on K + I/C, it
    is larger by (n - 1) / C.

    Paper: Eq. 3.5, the trace that replaces the squared radius.
    """
    return max(float(np.trace(K) - K.sum() / K.shape[0]), 0.0)


def _lifted(K: Array) -> tuple[Array, Array, float]:
    """Return the kernel of the centred points plus a constant, the row means, and the constant."""
    # Centring keeps digits if a kernel is nearly constant. The constant lifts the points off the
    # origin, so that affinely independent points become linearly independent.
    means = K.mean(axis=0)
    means -= 0.5 * means.mean()
    lifted = K - (means + means[:, None])  # this form is symmetric to the last digit
    constant = float(np.diag(lifted).max())
    constant = constant if constant > 0.0 else 1.0
    lifted += constant
    return lifted, means, constant


def l2_svm(
    K: Array,
    y: Array,
    C: float,
    start: ArrayLike | None = None,
    *,
    tol: float = TOL,
    max_iter: int = MAX_ITER,
) -> L2SVM:
    """Return the L2-SVM with a bias on a kernel.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        The kernel without I/C. It is symmetric and has no negative eigenvalues.
    y : ndarray of shape (n,)
        Classes, 1.0 or -1.0. If all are equal, the plane is f = y.
    C : float
        Price of half a squared slack.
    start : array of int or bool, optional
        First guess of the samples in the support. All samples by default.
    tol : float, default=1e-9
        Limit of `violation`, in units of the margin.
    max_iter : int, default=5000
        Largest number of linear systems.

    Returns
    -------
    L2SVM
        The plane.

    Raises
    ------
    InputError
        If K + I/C is not positive definite to working precision.

    Notes
    -----
    Paper: Eq. 3.3, with half the price of a slack, by its dual, Eq. 3.9.
    """
    K, means, _ = _lifted(K)
    diagonal = np.diag(K) + 1.0 / C
    inside = np.zeros(y.size, bool)
    inside[slice(None) if start is None else np.asarray(start)] = True
    alpha, b = np.zeros(y.size), 0.0
    for n_iter in range(1, max_iter + 1):
        goal = _optimum_on(K, y, C, inside, b)
        noise = ROUND_OFF * diagonal.max() * float(np.abs(goal.beta).sum())
        violation = _violation(goal, y, C, diagonal)
        converged = violation <= max(tol, noise)
        if converged:
            break
        # Newton's steps usually end soon, but may cycle. The active-set method always ends.
        if n_iter < MAX_NEWTON_STEPS:
            inside, b = goal.slack > 0.0, goal.intercept
        else:
            alpha = _feasible(goal.beta * y, y) if n_iter == MAX_NEWTON_STEPS else alpha
            alpha, inside = _ascend(alpha, goal, y, inside)
    beta = goal.beta
    # The dual objective: its error is of second order in the remaining violation.
    objective = beta @ y - 0.5 * beta @ (goal.K_beta + beta / C)
    return L2SVM(
        beta,
        goal.intercept - float(means @ beta),
        float(objective),
        np.flatnonzero(beta * y > 0.0),
        n_iter,
        violation,
        converged,
    )


def _optimum_on(K: Array, y: Array, C: float, inside: Mask, b: float) -> _Plane:
    """Return the optimum of the piece on which exactly the samples `inside` have a slack.

    If there are no such samples, the bias is `b`.
    """
    # The system is (K + I/C) beta + b = y, where beta sums to zero. To eliminate the bias, it is
    # solved for two right sides, y and ones.
    places = np.flatnonzero(inside)
    beta = np.zeros(y.size)
    if places.size:
        A = K[np.ix_(places, places)]
        A.flat[:: places.size + 1] += 1.0 / C
        sides = np.ones((places.size, 2), order="F")
        sides[:, 0] = y[places]
        _, solved, failed = _posv(A, sides, lower=1, overwrite_a=1, overwrite_b=1)
        if failed:
            raise InputError(
                f"K + I/C with C = {C:g} is not positive definite to working precision. Use a "
                "kernel without negative eigenvalues, or a smaller C."
            )
        b = float(solved[:, 0].sum() / solved[:, 1].sum())
        beta[places] = solved[:, 0] - b * solved[:, 1]
    K_beta = K @ beta
    slack = np.where(inside, y * beta / C, 1.0 - y * (K_beta + b))
    return _Plane(beta, K_beta, b, slack)


def _violation(plane: _Plane, y: Array, C: float, diagonal: Array) -> float:
    """Return the largest violation of the optimality conditions, in units of the margin."""
    # A negative alpha counts as the margin that it takes from its own sample. It does not count if
    # its slack is within the error of the linear system: copies of a sample can have such alphas.
    alpha = plane.beta * y
    missing = 1.0 - y * (plane.K_beta + plane.intercept) - alpha / C
    missing = np.where(alpha != 0.0, np.abs(missing), missing)
    noise = np.max(missing, where=alpha != 0.0, initial=0.0)
    negative = np.where(alpha < -C * noise, -alpha * diagonal, 0.0)
    return float(max(missing.max(), negative.max()))


def _feasible(alpha: Array, y: Array) -> Array:
    """Return the positive part of `alpha`, scaled down in one class to make both sums equal."""
    alpha = np.maximum(alpha, 0.0)
    sums = np.array([alpha[y > 0.0].sum(), alpha[y < 0.0].sum()])
    if sums.min() == 0.0:
        return np.zeros(y.size)
    shares = sums.min() / sums
    return alpha * np.where(y > 0.0, shares[0], shares[1])


def _ascend(alpha: Array, goal: _Plane, y: Array, inside: Mask) -> tuple[Array, Mask]:
    """Make one step of the active-set method; return the new alpha and the samples inside."""
    inside = inside.copy()
    towards = goal.beta * y - alpha
    falling = np.flatnonzero(inside & (goal.beta * y < 0.0))
    if not falling.size:  # no sample blocks the move: add the one with the largest slack
        inside[np.where(inside, -np.inf, goal.slack).argmax()] = True
        return goal.beta * y, inside
    reach = -alpha[falling] / towards[falling]
    blocking = falling[reach.argmin()]
    alpha = np.maximum(alpha + reach.min() * towards, 0.0)
    alpha[blocking] = 0.0
    inside[blocking] = False
    return alpha, inside


def radius(
    K: Array, start: Array | None = None, *, tol: float = GAP, max_iter: int = MAX_POINTS
) -> Radius:
    """Return the squared radius of the smallest ball around all points of a kernel.

    It is the largest value of sum_i p_i K_ii - p'Kp over weights p >= 0 that sum to one. This is an
    active-set method: in each step the farthest point enters the support, and points whose weight
    would become negative leave it. The objective at p is a lower bound of the squared radius. The
    squared distance of the farthest point is an upper bound.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        The kernel. For the augmented features of `l2_svm` it is K + I/C.
    start : ndarray of shape (n,), optional
        Weights to start from. By default the weight is on the point farthest from the mean.
    tol : float, default=1e-10
        Limit of `violation`, a share of the squared radius.
    max_iter : int, default=10,000
        How often a point may enter the support.

    Returns
    -------
    Radius
        The ball.
    """
    G, _, constant = _lifted(K)
    d = np.diag(G) - constant
    p = np.zeros(d.size)
    p[d.argmax()] = 1.0
    if start is not None:
        p = np.maximum(start, 0.0) / np.maximum(start, 0.0).sum()
    noise = 100 * ROUND_OFF * float(np.abs(np.diag(K)).max())
    best = -np.inf
    for n_iter in range(max_iter + 1):
        G_p = G @ p
        distances = d + constant - 2.0 * G_p + p @ G_p
        lower, upper = float(p @ distances), float(distances.max())
        violation = (upper - lower) / upper if upper > noise else 0.0
        converged = upper - lower <= max(tol * upper, noise)
        if converged or n_iter == max_iter or lower <= best:
            break
        best = lower
        p = _include(G, d, p, int(distances.argmax()))
    return Radius(max(lower, 0.0), p, n_iter, violation, converged)


def _include(G: Array, d: Array, p: Array, far: int) -> Array:
    """Return the weights of the smallest ball around `far` and a part of the support of `p`."""
    p = p.copy()
    places = np.append(np.flatnonzero((p > 0.0) & (np.arange(p.size) != far)), far)
    while True:
        towards, end = _direction(G, d, p, places)
        falling = np.flatnonzero(towards < 0.0)
        reach = -p[places[falling]] / towards[falling]
        if not falling.size or reach.min() >= end:
            p[places] += end * towards
            return p
        p[places] = np.maximum(p[places] + reach.min() * towards, 0.0)
        p[places[falling[reach.argmin()]]] = 0.0
        places = np.delete(places, falling[reach.argmin()])


def _direction(G: Array, d: Array, p: Array, places: Indices) -> tuple[Array, float]:
    """Return a direction in which the objective rises, and the step to its optimum.

    The step is 1, or infinite if a point is a combination of the points before it. Weights can then
    be shifted among these points without moving the centre, and the objective rises without limit.
    """
    L, failed = _potrf(G[np.ix_(places, places)], lower=1, clean=1)
    valid = failed - 1 if failed else places.size
    weak = np.flatnonzero(np.diag(L)[:valid] ** 2 <= SINGULAR * G[places, places].max())
    rank = int(weak[0]) if weak.size else valid
    L = L[:rank, :rank]
    if rank < places.size:
        towards = np.zeros(places.size)
        towards[rank] = 1.0
        towards[:rank] = -_solve(L, G[places[:rank], places[rank]])
        return np.copysign(1.0, towards @ d[places]) * towards, np.inf
    from_d, from_one = _solve(L, d[places]), _solve(L, np.ones(rank))
    multiplier = (from_d.sum() - 2.0) / from_one.sum()
    return 0.5 * (from_d - multiplier * from_one) - p[places], 1.0


def _solve(L: Array, side: Array) -> Array:
    """Return the solution of L L' x = side."""
    return _potrs(L, side, lower=1)[0]
