r"""The spectral projected gradient method: a minimum of a smooth function over a product of balls.

.. math:: \min_x f(x), \qquad \| x_c \| \le \rho_c \text{ for every block } c.

P is the projection onto the balls and g the gradient. A point x satisfies the first-order
conditions of optimality if P(x - g) = x. Each iteration aims at P(x - a g), with the
Barzilai-Borwein step a = s's / s'y, where s is the last move and y the change of the gradient along
it. It moves there unless the value exceeds the highest of the last few values (a non-monotone line
search). A strictly descending search would need short steps, and lose the gain of the spectral
step. The path does not depend on the scale of f, but the tolerance does.

The search is a generator that asks for evaluations. `spg` answers with any Python function.
Compiled solvers use the compiled form `descent`, without a call back into Python.

Log-likelihoods of several classes whose residuals are linear in the moving coordinates u.

.. math:: R_b(u) = A_b - \sum_{q \in b} u_q D_q, \qquad
          L_c(u) = L_c^0 - \tfrac12 \sum_{b \text{ of } c} R_b(u)^2

Each child with moving parameters has a block b in each class. The residuals :math:`R_b` are divided
by the standard deviation of the child's noise. :math:`L_c^0` holds everything that does not move.
Two functions of L are minimised over balls of u: the smoothed soft margin (Eq. 3.11 of the paper)
and the mean log-loss.

The soft margin of MM-SGBN (Section 3.2 of the paper), in its nu form.

For the margins g_i of n samples,

.. math:: F(g) = \min_{r \ge 0} -r + \frac{1}{\nu n} \sum_i \max(0, r - g_i), \qquad 0 < \nu \le 1.

The paper's lambda is 1 / (nu n). With a smaller lambda, r would be unbounded. While the nu-quantile
of the margins is not negative, r is this quantile, and -F is the mean of the worst share nu of the
margins (the conditional value at risk). Otherwise r = 0, and the fit has collapsed: -F no longer
rewards any margin.

F is convex in the margins but has kinks. The smoothed form replaces max(0, z) by

.. math:: (z + \delta/2)^2 / (2 \delta) \quad \text{for } |z| \le \delta / 2.

This exceeds max(0, z) by at most delta / 8, so F rises by at most delta / (8 nu). Its r solves

.. math:: \sum_i \operatorname{clip}((r - g_i) / \delta + 1/2, 0, 1) = \nu n.

The left side is linear between breakpoints. Newton's method in a bracket reaches the right piece,
where it is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.core.jit import jit, jit_generator, jit_inside, jit_loops
from sgbn.core.problems import InputError
from sgbn.core.types import Array
from sgbn.core.validation import UP_TO_ONE
from sgbn.learn.lasso import SolverResult

ValueAndGradient = Callable[[Array], tuple[float, Array]]

MEMORY = 10  # past iterations that the line search and the test for a stall use
DECREASE = 1e-4  # a step is accepted if f falls by this share of what the gradient predicts
SHORTEST = 1e-12  # a smaller share of a move changes f only by round-off
LONGEST = 1e10  # largest ratio of the spectral step to the first step, and of the first to it
LENGTHEN = 10.0  # the step grows by this factor if f is concave along a move (no spectral step)
ROUND_OFF = 1e-14  # round-off of f, as a share of f: the gradient can still fall when f cannot


def spg(
    value_and_gradient: ValueAndGradient,
    offsets: NDArray[np.int64],
    radii: Array,
    x0: Array,
    *,
    tol: float,
    max_iter: int,
    stall: float = 0.0,
) -> SolverResult:
    """Return a minimum by the spectral projected gradient method.

    Parameters
    ----------
    value_and_gradient : callable
        Function of x that returns f(x) and its gradient. If either is not finite, the step is
        shortened.
    offsets : ndarray of int of shape (n_balls + 1,)
        Block c is ``x[offsets[c] : offsets[c + 1]]``. Blocks may be empty.
    radii : ndarray of shape (n_balls,)
        Radius of each ball. A block with an infinite radius is unconstrained.
    x0 : ndarray of shape (d,)
        The start. f must be finite at its projection.
    tol : float
        Limit of `violation`. It has the unit of the gradient, so f should be of the order of 1.
    max_iter : int
        Largest number of moves.
    stall : float, default=0
        The search also stops, converged or not, when ten iterations lowered the lowest value by
        less than this share of itself.

    Returns
    -------
    SolverResult
        `x` is the point of the lowest value found. `n_iter` is the number of moves, and `violation`
        the largest entry of |P(x - g) - x| at this point.

    Raises
    ------
    InputError
        If the value or the gradient at the start is not finite.
    """
    x, value, gradient, outcome = np.array(x0, float), np.empty(1), np.empty(len(x0)), np.empty(2)
    limits = np.asarray(offsets, np.int64), np.asarray(radii, float)
    for _ in search(x, value, gradient, *limits, float(tol), int(max_iter), float(stall), outcome):
        value[0], gradient[:] = value_and_gradient(x.copy())
    n_iter, violation = outcome
    if np.isnan(violation):
        raise InputError("descent.start").says(
            "the value or gradient at x0 is not finite", "Start from another point."
        )
    return SolverResult(x, int(n_iter), float(violation), bool(violation <= tol))


def search(x, value, gradient, offsets, radii, tol, max_iter, stall, outcome):  # type: ignore[no-untyped-def]
    """Minimise f as a generator. At each yield the caller evaluates f at `x`.

    The caller writes f(x) to ``value[0]`` and the gradient to `gradient`. At the end, `x` is the
    result, and `outcome` holds the number of iterations and the violation. The violation is NaN if
    f is not finite at the start.
    """
    project_balls(x, offsets, radii)
    yield 0
    outcome[0], outcome[1] = 0.0, np.nan
    if not _finite(value, gradient):
        return
    point, height, slope_at = x.copy(), value[0], gradient.copy()
    best, lowest, best_slope = point.copy(), height, slope_at.copy()
    violation = _violation(point, slope_at, offsets, radii)
    first = step = 1.0 / max(_largest(slope_at), 1e-300)
    recent = np.full(MEMORY, -np.inf)
    recent[0] = height
    lows = np.full(MEMORY + 1, np.inf)  # lowest values so far; the oldest is at place n_iter + 1
    lows[0] = lowest
    n_iter, fresh = 0, True
    while violation > tol and n_iter < max_iter:
        move = _aimed(point, slope_at, step, offsets, radii)
        # This bound holds for any convex set. It keeps the sign when g'move is round-off.
        slope = min(_inner(slope_at, move), -_inner(move, move) / step)
        bar, share, accepted = _highest(recent), 1.0, False
        while slope < 0.0 and share >= SHORTEST and not accepted:
            _go(point, share, move, x)
            yield 0
            if not _finite(value, gradient):  # no parabola can be fitted
                share *= 0.1
            elif value[0] <= bar + DECREASE * share * slope + ROUND_OFF * abs(bar):
                accepted = True
            else:
                share = _shortened(share, slope, value[0] - height)
        if accepted:
            step = _spectral_step(x, point, gradient, slope_at, step, first)
            height = _keep(x, value[0], gradient, point, slope_at)
            violation = _violation(point, slope_at, offsets, radii)
            if height < lowest:
                lowest = _keep(point, height, slope_at, best, best_slope)
            n_iter, fresh = n_iter + 1, False
            recent[n_iter % MEMORY] = height
            lows[n_iter % (MEMORY + 1)] = lowest
            if lows[(n_iter + 1) % (MEMORY + 1)] - lowest < stall * abs(lowest):
                break
            if violation > tol or height <= lowest + ROUND_OFF * abs(lowest):
                continue
        elif fresh:  # the line search fails even from the lowest point
            break
        # The line search failed, or converged at a point that is not the lowest. Start again from
        # the lowest point, and forget the higher values.
        height = _keep(best, lowest, best_slope, point, slope_at)
        violation = _violation(point, slope_at, offsets, radii)
        step, fresh = first, True
        recent[:] = -np.inf
        recent[0] = height
    if violation > tol:  # not converged: return the lowest point instead of the last one
        _keep(best, lowest, best_slope, point, slope_at)
    _keep(point, lowest, slope_at, x, gradient)
    outcome[0], outcome[1] = n_iter, _violation(point, slope_at, offsets, radii)


descent = jit_generator(search)


# `search` is compiled into every kernel that minimises, and numba needs seconds for each expression
# of whole arrays in it. So the loops are in the small kernels below.


@jit_loops
def _keep(x, value, gradient, point, slope):  # type: ignore[no-untyped-def]
    """Copy `x` to `point` and its gradient to `slope`, and return the value."""
    for i in range(x.size):
        point[i] = x[i]
        slope[i] = gradient[i]
    return value


@jit_loops
def _go(point, share, move, x):  # type: ignore[no-untyped-def]
    """Set `x` to point + share * move."""
    for i in range(x.size):
        x[i] = point[i] + share * move[i]


@jit_loops
def _highest(values):  # type: ignore[no-untyped-def]
    """Return the largest of one or more values."""
    highest = values[0]
    for i in range(1, values.size):
        highest = max(highest, values[i])
    return highest


@jit_loops
def _largest(values):  # type: ignore[no-untyped-def]
    """Return the largest absolute value, 0 for an empty array, NaN if a value is NaN."""
    largest = 0.0
    for i in range(values.size):
        if np.isnan(values[i]):
            return np.nan
        largest = max(largest, abs(values[i]))
    return largest


@jit
def _inner(a, b):  # type: ignore[no-untyped-def]
    """Return the inner product."""
    return a @ b  # by BLAS


@jit_loops
def project_balls(x, offsets, radii):  # type: ignore[no-untyped-def]
    """Project `x`, in place, onto a product of balls around zero."""
    for c in range(radii.size):
        total = 0.0
        for i in range(offsets[c], offsets[c + 1]):
            total += x[i] * x[i]
        norm = np.sqrt(total)
        if norm > radii[c]:
            for i in range(offsets[c], offsets[c + 1]):
                x[i] *= radii[c] / norm


@jit_loops
def _finite(value, gradient):  # type: ignore[no-untyped-def]
    """Return whether value and gradient are finite."""
    total = 0.0  # finite only if all entries are: opposite infinities add up to NaN
    for i in range(gradient.size):
        total += gradient[i]
    return np.isfinite(value[0]) and np.isfinite(total)


@jit
def _aimed(x, g, step, offsets, radii):  # type: ignore[no-untyped-def]
    """Return P(x - step g) - x."""
    move = np.empty(x.size)
    _go(x, -step, g, move)
    project_balls(move, offsets, radii)
    for i in range(x.size):
        move[i] -= x[i]
    return move


@jit
def _violation(x, g, offsets, radii):  # type: ignore[no-untyped-def]
    """Return the largest entry of |P(x - g) - x|."""
    return _largest(_aimed(x, g, 1.0, offsets, radii))


@jit_loops
def _shortened(share, slope, rise):  # type: ignore[no-untyped-def]
    """Return a shorter share of the move.

    It is the minimum of a parabola, if this is between 0.1 and 0.9 times the present share.
    Otherwise it is half the present share.
    """
    # The parabola goes through the value and the slope at the start, and the value that was too
    # high.
    bend = rise - share * slope
    lowest = -0.5 * share**2 * slope / bend if bend > 0.0 else 0.0
    return lowest if 0.1 * share <= lowest <= 0.9 * share else 0.5 * share


@jit
def _spectral_step(x, point, g, slope, step, first):  # type: ignore[no-untyped-def]
    """Return the Barzilai-Borwein step of the last move, kept within bounds."""
    s, y = np.empty(x.size), np.empty(x.size)
    _go(x, -1.0, point, s)
    _go(g, -1.0, slope, y)
    bend = _inner(s, y)
    step = _inner(s, s) / bend if bend > 0.0 else LENGTHEN * step
    return min(max(step, first / LONGEST), first * LONGEST)


class LinearResiduals(NamedTuple):
    """The residuals and log-likelihoods of n rows, as functions of d coordinates u.

    Attributes
    ----------
    D : ndarray of shape (d, n)
        The amount that one unit of each coordinate subtracts from the residuals of its block.
    A : ndarray of shape (blocks, n)
        The residuals at u = 0.
    starts : ndarray of int64 of shape (blocks + 1,)
        Block b has the coordinates from ``starts[b]`` to ``starts[b + 1] - 1``.
    owner : ndarray of int64 of shape (blocks,)
        The class of each block.
    rest : ndarray of shape (classes, n)
        The log-likelihoods without the blocks.
    codes : ndarray of int64 of shape (n,)
        The true class of each row.
    """

    D: Array
    A: Array
    starts: NDArray[np.int64]
    owner: NDArray[np.int64]
    rest: Array
    codes: NDArray[np.int64]


@jit_loops
def residuals_at(P, u, R):  # type: ignore[no-untyped-def]
    """Write the residuals at u into `R`, shape (blocks, n)."""
    for b in range(R.shape[0]):
        # The row of a block stays in the cache while all its coordinates are added.
        row, start = R[b], P.A[b]
        for i in range(row.size):
            row[i] = start[i]
        for q in range(P.starts[b], P.starts[b + 1]):
            weight, slope = u[q], P.D[q]
            for i in range(row.size):  # this loop runs along memory, so that it vectorises
                row[i] -= weight * slope[i]


@jit_loops
def likelihoods_at(P, u, R, L):  # type: ignore[no-untyped-def]
    """Write the residuals at u into `R`, and the log-likelihoods into `L`, shape (classes, n)."""
    residuals_at(P, u, R)
    for c in range(L.shape[0]):
        for i in range(L.shape[1]):
            L[c, i] = P.rest[c, i]
    for b in range(R.shape[0]):
        row, of_class = R[b], L[P.owner[b]]
        for i in range(row.size):
            of_class[i] -= 0.5 * row[i] * row[i]


@jit_loops
def pull(P, in_residuals, g):  # type: ignore[no-untyped-def]
    """Turn a gradient in the residuals into a gradient in u, and write it into `g`."""
    for b in range(P.owner.size):
        for q in range(P.starts[b], P.starts[b + 1]):
            g[q] = -_dot(in_residuals[b], P.D[q])


@jit_inside
def _dot(a, b):  # type: ignore[no-untyped-def]
    """Return the inner product by four sums, which a processor computes at the same time."""
    first = second = third = fourth = 0.0
    whole = a.size - a.size % 4  # the up to three entries that are left go to the first sum
    for i in range(0, whole, 4):
        first += a[i] * b[i]
        second += a[i + 1] * b[i + 1]
        third += a[i + 2] * b[i + 2]
        fourth += a[i + 3] * b[i + 3]
    for i in range(whole, a.size):
        first += a[i] * b[i]
    return (first + second) + (third + fourth)


@jit_inside
def _pull_likelihoods(P, R, in_likelihoods, g):  # type: ignore[no-untyped-def]
    """Turn a gradient in the log-likelihoods into a gradient in u, in `g`. Overwrite `R`."""
    for b in range(P.owner.size):
        row, weights = R[b], in_likelihoods[P.owner[b]]
        for i in range(row.size):
            row[i] *= -weights[i]
    pull(P, R, g)


@jit
def margins(L, codes):  # type: ignore[no-untyped-def]
    """Return the margin of each row, and its strongest other class.

    The margin is the log-likelihood of the true class minus the log-likelihood of the strongest
    other class.

    Paper: Eq. 3.10, and the remark on several classes.
    """
    rivals = np.empty(codes.size, np.int64)
    g = np.empty(codes.size)
    for i in range(codes.size):
        rival = 1 if codes[i] == 0 else 0  # start with the first of the other classes
        for c in range(L.shape[0]):
            if c != codes[i] and L[c, i] > L[rival, i]:
                rival = c
        rivals[i] = rival
        g[i] = L[codes[i], i] - L[rival, i]
    return g, rivals


@jit
def soft_margin(P, u, nu, delta, gradient):  # type: ignore[no-untyped-def]
    """Return the smoothed soft margin at u, and write its gradient into `gradient`.

    Paper: Eq. 3.11, in its nu form.
    """
    R, L = np.empty_like(P.A), np.empty_like(P.rest)
    likelihoods_at(P, u, R, L)
    g, rivals = margins(L, P.codes)
    weights = np.empty(g.size)
    value, _ = smooth_margins(g, nu, delta, weights)
    # From here on, L holds the gradient in the log-likelihoods. A margin is the difference of two
    # log-likelihoods, and `weights` is minus the gradient in the margins.
    L[:] = 0.0
    for i in range(g.size):
        L[P.codes[i], i] = -weights[i]
        L[rivals[i], i] = weights[i]
    _pull_likelihoods(P, R, L, gradient)
    return value


@jit
def log_loss(P, u, temperature, gradient):  # type: ignore[no-untyped-def]
    """Return the mean of -log p(y | x) at u, and write its gradient into `gradient`.

    The log-likelihoods are multiplied by the temperature.
    """
    R, L = np.empty_like(P.A), np.empty_like(P.rest)
    likelihoods_at(P, u, R, L)
    n, value = P.codes.size, 0.0
    for i in range(n):
        # The highest log-likelihood is subtracted, so that the exponential cannot overflow. L is
        # overwritten by the gradient in the log-likelihoods: temperature * (posterior - truth) / n.
        highest = L[0, i]
        for c in range(1, L.shape[0]):
            highest = max(highest, L[c, i])
        total = 0.0
        true_class = temperature * (L[P.codes[i], i] - highest)
        for c in range(L.shape[0]):
            L[c, i] = np.exp(temperature * (L[c, i] - highest))
            total += L[c, i]
        value += (np.log(total) - true_class) / n
        for c in range(L.shape[0]):
            L[c, i] *= temperature / (n * total)
        L[P.codes[i], i] -= temperature / n
    _pull_likelihoods(P, R, L, gradient)
    return value


@jit
def minimise_margin(P, offsets, radii, u0, nu, delta, tol, max_iter, stall):  # type: ignore[no-untyped-def]
    """Minimise `soft_margin` from u0. Return u, the number of iterations and the violation.

    The value is divided by its size at u0.
    """
    u, value, g, outcome = u0.copy(), np.empty(1), np.empty(u0.size), np.empty(2)
    # In this unit, `tol` and `stall` do not depend on the number of regions and rows.
    unit = abs(soft_margin(P, u, nu, delta, g)) or 1.0
    # `descent` is a generator: it moves u in place and then needs `value` and `g` at this u.
    for _ in descent(u, value, g, offsets, radii, tol, max_iter, stall, outcome):
        value[0] = soft_margin(P, u, nu, delta, g) / unit
        for q in range(g.size):
            g[q] /= unit
    return u, int(outcome[0]), outcome[1]


@jit
def minimise_log_loss(P, offsets, radii, u0, temperature, tol, max_iter, stall):  # type: ignore[no-untyped-def]
    """Minimise `log_loss` from u0. Return u, the number of iterations and the violation.

    The loss is divided by its value at u0.
    """
    u, value, g, outcome = u0.copy(), np.empty(1), np.empty(u0.size), np.empty(2)
    # If the classes are far apart, the loss may be exactly 0, which cannot be a unit.
    unit = log_loss(P, u, temperature, g) or 1.0
    for _ in descent(u, value, g, offsets, radii, tol, max_iter, stall, outcome):
        value[0] = log_loss(P, u, temperature, g) / unit
        for q in range(g.size):
            g[q] /= unit
    return u, int(outcome[0]), outcome[1]


MAX_PASSES = 200  # passes of the bracketed Newton method; halving a bracket of floats takes fewer


class MaxMargin(NamedTuple):
    """The value of the soft margin, and the weights of the samples in it.

    Attributes
    ----------
    value : float
        F. It is NaN if a margin is not finite.
    weights : ndarray of shape (n,)
        The weights of the samples. ``-weights`` is the gradient of F in the margins, or a
        subgradient of the exact form. They lie between 0 and 1 / (nu n), and add up to 1 if r > 0.
    r : float
        The margin, which is the minimiser in the definition.
    """

    value: float
    weights: Array
    r: float

    @property
    def collapsed(self) -> bool:
        """Return whether no positive margin is left, that is r = 0."""
        return self.r == 0.0


def max_margin(g: Array, nu: float) -> MaxMargin:
    """Compute the exact soft margin.

    Samples whose margin is exactly r share the rest of the weight equally.

    Parameters
    ----------
    g : ndarray of shape (n,)
        The margins.
    nu : float
        The share of samples that the margin may give up, 0 < nu <= 1.

    Returns
    -------
    MaxMargin

    Raises
    ------
    InputError
        If `nu` is outside its range or `g` is empty.
    """
    UP_TO_ONE.check("nu", nu)
    if g.size == 0:
        raise InputError("margins.none").says("g is empty", "Give one margin per sample.")
    if not np.isfinite(g).all():
        return MaxMargin(np.nan, np.full(g.size, np.nan), np.nan)
    budget = nu * g.size  # number of samples that may be given up, not always a whole number
    place = min(int(np.ceil(budget)), g.size) - 1  # place of the nu-quantile, counted from 0
    # Only one place of the sorted margins is needed, so a partition is enough.
    r = max(float(np.partition(g, place)[place]), 0.0)
    below, tied = g < r, g == r
    weights = below / budget
    left = 1.0 - below.sum() / budget
    if left > 0.0:  # otherwise r = 0 is above the quantile, and samples at 0 cost nothing
        weights[tied] = left / tied.sum()
    return MaxMargin(float((r - g)[below].sum()) / budget - r, weights, r)


@jit
def smooth_margins(g, nu, delta, weights):  # type: ignore[no-untyped-def]
    """Compute the smoothed soft margin: set `weights` in place, and return the value and r."""
    budget = nu * g.size
    # All margins lie in [low, high], so the root is at most delta / 2 outside.
    low = np.inf
    high = -np.inf
    for i in range(g.size):
        if not np.isfinite(g[i]):
            weights[:] = np.nan
            return np.nan, np.nan
        low = min(low, g[i])
        high = max(high, g[i])
    r = 0.0
    # r is never negative: if the shares fill the budget at 0 already, r stays 0.
    if _excess(g, 0.0, delta, budget)[0] < 0.0:
        r = _root(g, max(low - 0.5 * delta, 0.0), high + 0.5 * delta, delta, budget)
    total = 0.0
    for i in range(g.size):
        z = r - g[i]
        share = min(max(z / delta + 0.5, 0.0), 1.0)
        weights[i] = share / budget
        total += z if share == 1.0 else 0.5 * delta * share * share
    return total / budget - r, r


@jit_inside
def _excess(g, r, delta, budget):  # type: ignore[no-untyped-def]
    """Return the sum of the samples' shares at `r` minus the budget, and its slope in r."""
    total = -budget
    partial = 0
    for i in range(g.size):  # no branches, because a processor could not predict them
        share = min(max((r - g[i]) / delta + 0.5, 0.0), 1.0)
        total += share
        partial += (share > 0.0) & (share < 1.0)
    return total, partial / delta


@jit
def _root(g, low, high, delta, budget):  # type: ignore[no-untyped-def]
    """Return the r between `low` and `high` at which the shares add up to the budget.

    If the share of a sample is 0 or 1 in all of the bracket, later passes leave the sample out.
    """
    near = g.copy()
    size = g.size
    r = 0.5 * (low + high)
    for _ in range(MAX_PASSES):
        excess, slope = _excess(near[:size], r, delta, budget)
        if abs(excess) <= ROUND_OFF * g.size:
            break
        if excess > 0.0:
            high = r
        else:
            low = r
        newton = r - excess / slope if slope > 0.0 else low
        r = newton if low < newton < high else 0.5 * (low + high)
        if r in (low, high):
            break  # there is no float between the two limits
        # Keep the margins whose share still depends on r. Full shares are taken off the budget.
        kept = 0
        for i in range(size):
            margin = near[i]
            full = margin <= low - 0.5 * delta
            budget -= full
            near[kept] = margin
            kept += (not full) & (margin < high + 0.5 * delta)
        size = kept
    return r
