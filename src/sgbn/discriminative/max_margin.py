r"""The soft margin of MM-SGBN (Section 3.2 of the paper), in its nu form.

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

from typing import NamedTuple

import numpy as np

from sgbn.core.exceptions import InputError
from sgbn.core.jit import jit, jit_inside
from sgbn.core.types import Array

MAX_PASSES = 200  # passes of the bracketed Newton method; halving a bracket of floats takes fewer
ROUND_OFF = 1e-14  # error of a sum of n shares, divided by n


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
    _check(g, nu)
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


def _check(g: Array, nu: float) -> None:
    """Raise InputError unless the problem has a solution."""
    if not 0.0 < nu <= 1.0:
        raise InputError(f"nu = {nu}: give a number above 0 and at most 1.")
    if g.size == 0:
        raise InputError("g is empty: give one margin per sample, and at least one sample.")


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
