r"""Spectral projected gradient: a smooth function over a product of balls, with projection P.

.. math:: \min_x f(x), \qquad \| x_c \| \le \rho_c \text{ for every block } c; \qquad
          \text{optimal of first order where } P(x - \nabla f(x)) = x.

Each iteration aims at P(x - a g), with the Barzilai-Borwein step a = s's / s'y of the last move s
and the change y of the gradient in it, and goes there unless the value exceeds the worst of the
last few (a non-monotone line search): the short steps that a strict descent needs would undo what
the spectral step gains. The path does not depend on the scale of f; the tolerance does.

The search is a generator that asks for evaluations: `spg` answers with any Python function, and
compiled solvers ask its compiled form `descent`, without a call back into Python.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sgbn.exceptions import InputError
from sgbn.jit import jit, jit_generator, jit_loops
from sgbn.solvers.result import SolverResult
from sgbn.types import Array

ValueAndGradient = Callable[[Array], tuple[float, Array]]

MEMORY = 10  # iterations that the line search and the test for a stall look back on
DECREASE = 1e-4  # share of the decrease that the gradient promises, for a step to be taken
SHORTEST = 1e-12  # share of a move below which only round-off is left to gain
LONGEST = 1e10  # spectral step, as a multiple of the first one, and its inverse as the least
LENGTHEN = 10.0  # where f is concave along a move and no spectral step exists
ROUND_OFF = 1e-14  # of f, as a share of it: the gradient goes on falling where f no longer can


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
    """Spectral projected gradient with a non-monotone line search.

    Parameters
    ----------
    value_and_gradient : callable
        x -> (f(x), gradient). Where either is not finite, the step is shortened.
    offsets : ndarray of int of shape (n_balls + 1,)
        Block c is ``x[offsets[c] : offsets[c + 1]]``; blocks may be empty.
    radii : ndarray of shape (n_balls,)
        Radius of each ball; infinity leaves the block free.
    x0 : ndarray of shape (d,)
        Start; its projection must have a finite value.
    tol : float
        Limit of `violation`, which is in the unit of the gradient: scale f to the order of 1.
    max_iter : int
        The most moves.
    stall : float, default=0
        Also stop, converged or not, when the lowest value fell by less than this share of it over
        ten iterations.

    Returns
    -------
    SolverResult
        The point of the lowest value seen; `n_iter` counts moves, and `violation` is the largest
        entry of |P(x - g) - x| at that point.

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
        raise InputError("the value or the gradient at the start is not finite: start elsewhere.")
    return SolverResult(x, int(n_iter), float(violation), bool(violation <= tol))


def search(x, value, gradient, offsets, radii, tol, max_iter, stall, outcome):  # type: ignore[no-untyped-def]
    """Ask for evaluations: at each yield, put f(x) in ``value[0]`` and its gradient in `gradient`.

    Changes `x`, at the end the result, and `outcome`: iterations, and the violation, which is not a
    number if f is not finite at the start.
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
    lows = np.full(MEMORY + 1, np.inf)  # the last lowest values, the oldest at n_iter + 1
    lows[0] = lowest
    n_iter, fresh = 0, True
    while violation > tol and n_iter < max_iter:
        move = _aimed(point, slope_at, step, offsets, radii)
        # The bound holds for any convex set, and keeps the sign where g'move is round-off.
        slope = min(_inner(slope_at, move), -_inner(move, move) / step)
        bar, share, accepted = _highest(recent), 1.0, False
        while slope < 0.0 and share >= SHORTEST and not accepted:
            _go(point, share, move, x)
            yield 0
            if not _finite(value, gradient):  # no parabola to go by
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
        elif fresh:  # nothing helps from the lowest point either
            break
        # The line search failed, or it converged at a higher point: a fresh start where f is
        # lowest, without the memory of higher values.
        height = _keep(best, lowest, best_slope, point, slope_at)
        violation = _violation(point, slope_at, offsets, radii)
        step, fresh = first, True
        recent[:] = -np.inf
        recent[0] = height
    if violation > tol:  # not converged: the lowest point, not the last one
        _keep(best, lowest, best_slope, point, slope_at)
    _keep(point, lowest, slope_at, x, gradient)
    outcome[0], outcome[1] = n_iter, _violation(point, slope_at, offsets, radii)


descent = jit_generator(search)


# Loops in small kernels: numba needs seconds for each expression of whole arrays in `search`, which
# is compiled into every kernel that minimises.


@jit_loops
def _keep(x, value, gradient, point, slope):  # type: ignore[no-untyped-def]
    """Copy x to `point` and its gradient to `slope`; the value."""
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
    """Largest of at least one value."""
    highest = values[0]
    for i in range(1, values.size):
        highest = max(highest, values[i])
    return highest


@jit_loops
def _largest(values):  # type: ignore[no-untyped-def]
    """Largest of the absolute values; 0 if there are none, NaN if one is NaN."""
    largest = 0.0
    for i in range(values.size):
        if np.isnan(values[i]):
            return np.nan
        largest = max(largest, abs(values[i]))
    return largest


@jit
def _inner(a, b):  # type: ignore[no-untyped-def]
    """Return the inner product, by BLAS."""
    return a @ b


@jit_loops
def project_balls(x, offsets, radii):  # type: ignore[no-untyped-def]
    """Move `x`, in place, to the nearest point in a product of balls around zero."""
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
    total = 0.0  # finite only if all are; opposite infinities give NaN
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
    """Return the share of the move at the minimum of the parabola, kept within 0.1 and 0.9."""
    # The parabola through the value and the slope at the start and the value that was too high
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
