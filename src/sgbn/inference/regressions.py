r"""Least squares of every variable j on its parents P, from a covariance matrix S of n rows.

.. math:: b = S_{PP}^{-1} S_{Pj}, \qquad s^2 = \frac{n (S_{jj} - b^T S_{Pj})}{\nu - |P|}, \qquad
          \operatorname{var}(b) = s^2 \operatorname{diag}(S_{PP}^{-1}) / n

where b are the weights, :math:`s^2` is the residual variance, and :math:`\nu` are the degrees of
freedom before any parent is counted.
"""

from __future__ import annotations

import numpy as np

from sgbn.core.jit import jit_inside, jit_loops
from sgbn.core.types import Array, Mask

SINGULAR = 1e-12  # pivot as a share of the variance; below it, other parents determine a parent


def regressions(S: Array, n: float, freedom: float, parents: Mask) -> tuple[Array, Array, Array]:
    """Return the weights, their variances and the residual variances; ``parents[i, j]`` is i -> j.

    If the parents of a variable determine each other, or leave it no degree of freedom, all its
    weights are 0 with infinite variances, and its residual variance is NaN.
    """
    m = len(S)
    B, V, noise = np.zeros((m, m)), np.zeros((m, m)), np.empty(m)
    parent_list, L, column = np.empty(m, np.int64), np.empty((m + 1, m + 1)), np.empty(m)
    # With another memory layout the kernel would be compiled again, which takes seconds.
    S, parents = np.array(S, float, order="C"), np.array(parents, bool, order="C")
    _fill(S, float(n), float(freedom), parents, parent_list, L, column, B, V, noise)
    return B, V, noise


@jit_loops
def _fill(S, n, freedom, parents, parent_list, L, column, B, V, noise):  # type: ignore[no-untyped-def]
    """Fill `B`, `V` (both zero) and `noise` of `regressions`.

    `parent_list`, `L` and `column` are work space.
    """
    for j in range(noise.size):
        # The child is the last row of the factor. Its pivot is then the residual variance, without
        # another pass.
        k = _list_parents(parents, j, parent_list)
        for a in range(k):
            for h in range(k):
                L[a, h] = S[parent_list[a], parent_list[h]]
            L[k, a] = S[parent_list[a], j]
        L[k, k] = S[j, j]
        usable = freedom > k and _factor(L, k)
        if not usable:
            # NaN and infinite variances mark a region without a regression. Callers name it or
            # leave it out. An error here would stop a permutation.
            noise[j] = np.nan
            for a in range(k):
                V[parent_list[a], j] = np.inf
            continue
        # S was divided by n, not by the degrees of freedom. If the parents determine the region,
        # round-off may make the pivot negative.
        noise[j] = n * max(L[k, k], 0.0) / (freedom - k)
        _solve(L, k, parent_list, j, column, B, V)
        for a in range(k):
            V[parent_list[a], j] *= noise[j] / n


@jit_inside
def _list_parents(parents, j, parent_list):  # type: ignore[no-untyped-def]
    """Fill `parent_list` with the parents of j, and return their number."""
    k = 0
    for i in range(parents.shape[0]):
        if parents[i, j]:
            parent_list[k] = i
            k += 1
    return k


@jit_inside
def _factor(L, k):  # type: ignore[no-untyped-def]
    """Replace L by its Cholesky factor; return False if the parents determine each other.

    The first k rows belong to the parents, the last row to the child. ``L[k, k]`` becomes the
    residual variance.
    """
    for i in range(k + 1):
        spread = L[i, i]
        for j in range(i + 1):
            rest = L[i, j]
            for h in range(j):
                rest -= L[i, h] * L[j, h]
            if i > j:
                L[i, j] = rest / L[j, j]
            elif i == k:
                L[k, k] = rest
            # Only the pivot of the child (i == k) may be 0, since nothing is divided by it.
            elif rest > SINGULAR * spread:
                L[i, i] = np.sqrt(rest)
            else:
                return False
    return True


@jit_inside
def _solve(L, k, parent_list, j, column, B, V):  # type: ignore[no-untyped-def]
    """Fill `B` with the weights of j's parents, and `V` with the inverse Gram matrix's diagonal.

    `column` is work space.
    """
    for a in range(k - 1, -1, -1):
        weight = L[k, a]
        for h in range(a + 1, k):
            weight -= L[h, a] * B[parent_list[h], j]
        B[parent_list[a], j] = weight / L[a, a]
    for a in range(k):  # columns of the inverse factor
        for h in range(a, k):
            total = 1.0 if h == a else 0.0
            for i in range(a, h):
                total -= L[h, i] * column[i]
            column[h] = total / L[h, h]
            # The diagonal of the inverse Gram matrix is the sum of the squared entries of each
            # column of the inverse factor.
            V[parent_list[a], j] += column[h] ** 2
