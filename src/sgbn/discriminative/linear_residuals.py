r"""Log-likelihoods of several classes whose residuals are linear in the moving coordinates u.

.. math:: R_b(u) = A_b - \sum_{q \in b} u_q D_q, \qquad
          L_c(u) = L_c^0 - \tfrac12 \sum_{b \text{ of } c} R_b(u)^2

Each child with moving parameters has a block b in each class. The residuals :math:`R_b` are divided
by the standard deviation of the child's noise. :math:`L_c^0` holds everything that does not move.
Two functions of L are minimised over balls of u: the smoothed soft margin (Eq. 3.11 of the paper)
and the mean log-loss.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.core.jit import jit, jit_inside, jit_loops
from sgbn.core.types import Array
from sgbn.discriminative.max_margin import smooth_margins
from sgbn.solvers.projected_gradient import descent


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
