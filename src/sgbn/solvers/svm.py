r"""L2-SVM on a kernel, and the radius for its radius-margin bound (Section 3.1.2 of the paper).

.. math:: \min_{w, b, \xi} \tfrac12 \|w\|^2 + \tfrac{C}{2} \sum_i \xi_i^2, \qquad
          y_i (w^T \phi_i + b) \ge 1 - \xi_i

is a hard-margin SVM on the kernel K + I/C. The paper writes C without the half, which would make it
K + I/(2C). With alpha the multipliers and beta_i = alpha_i y_i, the optimality conditions are

.. math:: y_i ((K + I/C) \beta + b)_i = 1 \text{ or more}, \quad \alpha_i \ge 0, \quad
          \textstyle\sum_i \beta_i = 0,

with equality where alpha_i > 0, and at the optimum half the sum of alpha is half the squared norm
of the augmented w, the paper's J_0.

Newton's method. Without xi the objective is 1/2 ||w||^2 + C/2 sum max(0, s_i)^2 with the slacks
s_i = 1 - y_i f_i: convex and quadratic as long as the same samples have s_i > 0. Each iteration
solves the linear system of the present piece, and a few are enough almost always. Where they are
not, an active-set method takes over on the dual: it goes towards the solution of the system only as
far as alpha >= 0, drops the sample that blocks, and else lets in the one that violates most. The
dual objective rises all the time, so that it cannot cycle.

Both problems here, SVM and ball, depend on the kernel only through distances, and may move the
origin to where the numbers are best.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import get_lapack_funcs

from sgbn.exceptions import InputError
from sgbn.types import Array, Indices, Mask

TOL = 1e-9  # KKT violation, in units of the margin
MAX_ITER = 5000  # linear systems; 1 to 10 are usual
MAX_NEWTON_STEPS = 15  # before the active-set method takes over
GAP = 1e-10  # between the bounds on the squared radius, as a share of it
MAX_POINTS = 10_000  # times that a point may enter the support of the ball; n / 2 are usual
ROUND_OFF = 1e-15  # of a sum, as a share of its terms
SINGULAR = 1e-12  # pivots of the points' Gram matrix, as a share of the largest distance

# LAPACK itself: for a hundred unknowns, scipy's checks would take longer than the work.
_posv, _potrf, _potrs = get_lapack_funcs(("posv", "potrf", "potrs"), dtype=np.float64)


class L2SVM(NamedTuple):
    """Separating plane f(x) = sum_i beta_i k(x, x_i) + intercept.

    Attributes
    ----------
    beta : ndarray of shape (n,)
        alpha_i y_i; they sum to zero.
    intercept : float
    objective : float
        J_0, half the squared norm of the augmented w.
    support : ndarray of int
        Samples with alpha > 0, which is `start` for a similar kernel.
    n_iter : int
        Linear systems solved.
    violation : float
        Largest violation of the optimality conditions, in units of the margin.
    converged : bool
        Whether `violation` is within the tolerance, or within round-off where that is larger.
    """

    beta: Array
    intercept: float
    objective: float
    support: Indices
    n_iter: int
    violation: float
    converged: bool


class Radius(NamedTuple):
    """Smallest ball around all points.

    Attributes
    ----------
    squared : float
        Squared radius: the lower bound, which is exact where converged.
    weights : ndarray of shape (n,)
        The centre as a convex combination of the points; `start` for a similar kernel. The
        derivative of `squared` in K_ij is -weights_i weights_j, and weights_i more where i = j.
    n_iter : int
        Points that entered the support.
    violation : float
        Gap between the farthest point and `squared`, as a share of the former.
    converged : bool
        Whether `violation` is within the tolerance, or within round-off where that is larger.
    """

    squared: float
    weights: Array
    n_iter: int
    violation: float
    converged: bool


class _Plane(NamedTuple):
    """A plane; its slacks are alpha / C to the last digit where it solved for them."""

    beta: Array
    K_beta: Array
    intercept: float
    slack: Array


def total_scatter(K: Array) -> float:
    """Return the trace of the total scatter matrix, tr(K) - 1'K1 / n.

    It is the sum of squared distances from the mean.

    For the augmented features, on K + I/C, it is (n - 1) / C larger.

    Paper: Eq. 3.5, the trace that replaces the squared radius.
    """
    return max(float(np.trace(K) - K.sum() / K.shape[0]), 0.0)


def _lifted(K: Array) -> tuple[Array, Array, float]:
    """Return the kernel of the points seen from their mean, plus a constant.

    Returns also what was taken from each row, and the constant.
    """
    # Centring keeps digits where a kernel is nearly constant. The constant lifts the points off the
    # origin, so that they are linearly independent where they are affinely so.
    means = K.mean(axis=0)
    means -= 0.5 * means.mean()
    lifted = K - (means + means[:, None])  # symmetric to the last digit
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
        Kernel: symmetric, without negative eigenvalues, and without I/C.
    y : ndarray of shape (n,)
        1.0 or -1.0. If all are equal, the plane is f = y.
    C : float
        Price of half a squared slack.
    start : array of int or bool, optional
        Samples supposed to be in the support; all by default.
    tol : float, default=1e-9
    max_iter : int, default=5000

    Returns
    -------
    L2SVM

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
        # Newton's steps are few as a rule, but may go in circles. The active-set method ends.
        if n_iter < MAX_NEWTON_STEPS:
            inside, b = goal.slack > 0.0, goal.intercept
        else:
            alpha = _feasible(goal.beta * y, y) if n_iter == MAX_NEWTON_STEPS else alpha
            alpha, inside = _ascend(alpha, goal, y, inside)
    beta = goal.beta
    # The dual objective: right to second order in what is left of the violation.
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
    """Return the optimum of the piece on which the samples `inside` have a slack.

    Without such samples the bias is `b`.
    """
    # The system is (K + I/C) beta + b = y with beta adding up to zero. The bias is eliminated: two
    # right sides, y and ones, are solved at once.
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
                f"K + I/C with C = {C:g} is not positive definite to working precision. Give a "
                "kernel without negative eigenvalues or a smaller C."
            )
        b = float(solved[:, 0].sum() / solved[:, 1].sum())
        beta[places] = solved[:, 0] - b * solved[:, 1]
    K_beta = K @ beta
    slack = np.where(inside, y * beta / C, 1.0 - y * (K_beta + b))
    return _Plane(beta, K_beta, b, slack)


def _violation(plane: _Plane, y: Array, C: float, diagonal: Array) -> float:
    """Return the largest violation of the optimality conditions, in units of the margin."""
    # A negative alpha counts by the margin that it takes from its own sample, unless its slack is
    # within the error with which the system was solved: alphas of copies may cancel like that.
    alpha = plane.beta * y
    missing = 1.0 - y * (plane.K_beta + plane.intercept) - alpha / C
    missing = np.where(alpha != 0.0, np.abs(missing), missing)
    noise = np.max(missing, where=alpha != 0.0, initial=0.0)
    negative = np.where(alpha < -C * noise, -alpha * diagonal, 0.0)
    return float(max(missing.max(), negative.max()))


def _feasible(alpha: Array, y: Array) -> Array:
    """Return the positive part of `alpha`, scaled down in one class so that both sums agree."""
    alpha = np.maximum(alpha, 0.0)
    sums = np.array([alpha[y > 0.0].sum(), alpha[y < 0.0].sum()])
    if sums.min() == 0.0:
        return np.zeros(y.size)
    shares = sums.min() / sums
    return alpha * np.where(y > 0.0, shares[0], shares[1])


def _ascend(alpha: Array, goal: _Plane, y: Array, inside: Mask) -> tuple[Array, Mask]:
    """Make one step of the active-set method; returns the new alpha, and the next samples."""
    inside = inside.copy()
    towards = goal.beta * y - alpha
    falling = np.flatnonzero(inside & (goal.beta * y < 0.0))
    if not falling.size:
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

    It is the largest value of sum_i p_i K_ii - p'Kp over weights p >= 0 that add up to one. The
    farthest point enters the support, and points leave it whose weight would become negative: an
    active-set method. Each p bounds the squared radius from below, its farthest point from above.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel; K + I/C for the augmented features of `l2_svm`.
    start : ndarray of shape (n,), optional
        Weights to start from; the point farthest from the mean by default.
    tol : float, default=1e-10
    max_iter : int, default=10,000

    Returns
    -------
    Radius
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
    """Return the weights of the smallest ball around `far` and some of the support of `p`."""
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
    """Return a direction in which the objective rises, and the step along it (1 is the optimum).

    Where a point is a combination of those before it, weights can be shifted among them without
    moving the centre. The objective then rises for ever, and the distance is infinite.
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
