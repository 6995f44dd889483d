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
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sgbn.core.exceptions import InputError
from sgbn.core.jit import jit, jit_generator, jit_loops
from sgbn.core.types import Array
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
        raise InputError(
            "the value or the gradient at the start x0 is not finite. Start from another point."
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
