r"""Spectral projected gradient: a smooth function over a set with a cheap projection P.

.. math:: \min_x f(x), \qquad x \in \Omega; \qquad
          \text{optimal of first order where } P(x - \nabla f(x)) = x.

Each iteration aims at P(x - a g), with the Barzilai-Borwein step a = s's / s'y of the last move s
and the change y of the gradient in it, and goes there unless the value exceeds the worst of the
last few (a non-monotone line search): the short steps that a strict descent needs would undo what
the spectral step gains. The path does not depend on the scale of f; the tolerance does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.exceptions import InputError
from sgbn.solvers.result import SolverResult

Array = NDArray[np.float64]
ValueAndGradient = Callable[[Array], tuple[float, Array]]

DECREASE = 1e-4  # share of the decrease that the gradient promises, for a step to be taken
SHORTEST = 1e-12  # share of a move below which only round-off is left to gain
LONGEST = 1e10  # spectral step, as a multiple of the first one, and its inverse as the least
LENGTHEN = 10.0  # where f is concave along a move and no spectral step exists
ROUND_OFF = 1e-14  # of f, as a share of it: the gradient goes on falling where f no longer can


class _Point(NamedTuple):
    """A point with its value and gradient."""

    x: Array
    value: float
    gradient: Array

    @property
    def finite(self) -> bool:
        return bool(np.isfinite(self.value) and np.isfinite(self.gradient).all())


def spg(
    value_and_gradient: ValueAndGradient,
    project: Callable[[Array], Array],
    x0: Array,
    *,
    tol: float,
    max_iter: int,
    memory: int = 10,
    stall: float = 0.0,
) -> SolverResult:
    """Spectral projected gradient with a non-monotone line search.

    Parameters
    ----------
    value_and_gradient : callable
        x -> (f(x), gradient). Where either is not finite, the step is shortened.
    project : callable
        x -> nearest point of the set, as a new array.
    x0 : ndarray
        Start; its projection must have a finite value.
    tol : float
        For `violation`, which is in the unit of the gradient: scale f to the order of 1.
    max_iter : int
        Moves at most.
    memory : int, default=10
        Values that the line search looks back on; 1 makes f fall at each iteration.
    stall : float, default=0
        Also stop, converged or not, when the lowest value fell by less than this share of it over
        `memory` iterations.

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
    point = best = _evaluate(value_and_gradient, project(x0))
    if not point.finite:
        raise InputError("the value or the gradient at the start is not finite: start elsewhere.")
    violation = _violation(project, point)
    first = step = 1.0 / max(float(np.abs(point.gradient).max(initial=0.0)), 1e-300)
    recent, lowest = deque([point.value], memory), deque([point.value], memory + 1)
    n_iter = 0
    while violation > tol and n_iter < max_iter and not _stalled(lowest, stall):
        moved = _search(value_and_gradient, project, point, step, max(recent))
        if moved is None:
            if step == first and point is best and len(recent) == 1:
                break
            point, step = best, first  # a fresh start where f is lowest
            recent.clear()
        else:
            n_iter += 1
            step = _spectral_step(point, moved, step, first)
            point = moved
            best = point if point.value < best.value else best
            violation = _violation(project, point)
            if violation <= tol and point.value > best.value + ROUND_OFF * abs(best.value):
                point, violation = best, _violation(project, best)
                recent.clear()
            lowest.append(best.value)
        recent.append(point.value)
    final = point if violation <= tol else best
    violation = _violation(project, final)
    return SolverResult(final.x, n_iter, violation, violation <= tol)


def _evaluate(value_and_gradient: ValueAndGradient, x: Array) -> _Point:
    """Point at `x`."""
    value, gradient = value_and_gradient(x)
    return _Point(x, float(value), gradient)


def _violation(project: Callable[[Array], Array], point: _Point) -> float:
    """Largest entry of |P(x - g) - x|."""
    move = project(point.x - point.gradient) - point.x
    return float(np.abs(move).max(initial=0.0))


def _stalled(lowest: deque[float], stall: float) -> bool:
    """Whether a full memory of lowest values shows too little progress."""
    full = len(lowest) == lowest.maxlen
    return full and lowest[0] - lowest[-1] < stall * abs(lowest[-1])


def _search(
    value_and_gradient: ValueAndGradient,
    project: Callable[[Array], Array],
    point: _Point,
    step: float,
    bar: float,
) -> _Point | None:
    """First point on the way to P(x - step g) that is low enough below `bar`; None if none is."""
    move = project(point.x - step * point.gradient) - point.x
    # The bound holds for any convex set, and keeps the sign where g'move is round-off.
    slope = min(float(point.gradient @ move), -float(move @ move) / step)
    share = 1.0
    while slope < 0.0 and share >= SHORTEST:
        trial = _evaluate(value_and_gradient, point.x + share * move)
        if not trial.finite:
            share *= 0.1
            continue
        if trial.value <= bar + DECREASE * share * slope + ROUND_OFF * abs(bar):
            return trial
        bend = trial.value - point.value - share * slope
        lowest = -0.5 * share**2 * slope / bend if bend > 0.0 else 0.0
        share = lowest if 0.1 * share <= lowest <= 0.9 * share else 0.5 * share
    return None


def _spectral_step(point: _Point, moved: _Point, step: float, first: float) -> float:
    """Barzilai-Borwein step, kept within bounds."""
    s = moved.x - point.x
    bend = float(s @ (moved.gradient - point.gradient))
    step = float(s @ s) / bend if bend > 0.0 else LENGTHEN * step
    return float(np.clip(step, first / LONGEST, first * LONGEST))


def project_balls(x: Array, offsets: NDArray[np.intp], radii: Array) -> Array:
    """Nearest point in a product of balls around zero.

    Parameters
    ----------
    x : ndarray of shape (d,)
    offsets : ndarray of int of shape (n_balls + 1,)
        Block c is ``x[offsets[c] : offsets[c + 1]]``; blocks may be empty.
    radii : ndarray of shape (n_balls,)
        Radius of each ball; infinity leaves the block as it is.

    Returns
    -------
    ndarray of shape (d,)
        A new array.
    """
    projected = x.copy()
    for c, radius in enumerate(radii):
        block = projected[offsets[c] : offsets[c + 1]]
        norm = np.sqrt(block @ block)
        if norm > radius:
            block *= radius / norm
    return projected
