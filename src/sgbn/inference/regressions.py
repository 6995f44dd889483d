r"""Least squares of every variable on its parents, from a covariance matrix.

.. math:: b = S_{PP}^{-1} S_{Pj}, \qquad s^2 = \frac{n (S_{jj} - b^T S_{Pj})}{\nu - |P|}, \qquad
          \operatorname{var}(b) = s^2 \operatorname{diag}(S_{PP}^{-1}) / n

with :math:`\nu` degrees of freedom before any parent is counted.
"""

from __future__ import annotations

import numpy as np

from sgbn.jit import jit_inside, jit_loops
from sgbn.types import Array, Mask

SINGULAR = 1e-12  # pivots, as a share of the variance: smaller ones are copies of other parents


def regressions(S: Array, n: float, freedom: float, parents: Mask) -> tuple[Array, Array, Array]:
    """Weights, their variances and residual variances; ``parents[i, j]`` is i -> j.

    Parents that the others determine, and those of a variable with no degree of freedom left, get a
    weight of 0 and an infinite variance.
    """
    m = len(S)
    B, V, noise = np.zeros((m, m)), np.zeros((m, m)), np.empty(m)
    parent_list, L, column = np.empty(m, np.int64), np.empty((m + 1, m + 1)), np.empty(m)
    # Another memory layout would compile the kernel once more, for seconds.
    S, parents = np.array(S, float, order="C"), np.array(parents, bool, order="C")
    _fill(S, float(n), float(freedom), parents, parent_list, L, column, B, V, noise)
    return B, V, noise


@jit_loops
def _fill(S, n, freedom, parents, parent_list, L, column, B, V, noise):  # type: ignore[no-untyped-def]
    """Fill `B`, `V` (both zero) and `noise` of `regressions`.

    `parent_list`, `L` and `column` are work space.
    """
    for j in range(noise.size):
        # The child is the last row of the factor: its own pivot is then what the parents leave of
        # it, the residual variance, without another pass.
        k = _list_parents(parents, j, parent_list)
        for a in range(k):
            for h in range(k):
                L[a, h] = S[parent_list[a], parent_list[h]]
            L[k, a] = S[parent_list[a], j]
        L[k, k] = S[j, j]
        usable = freedom > k and _factor(L, k)
        if not usable:
            # NaN and infinite variances mark a region without a regression; callers name it or
            # leave it out. An error here would stop a permutation.
            noise[j] = np.nan
            for a in range(k):
                V[parent_list[a], j] = np.inf
            continue
        # S is divided by n, not by the degrees of freedom; round-off may leave less than 0 of a
        # region that its parents determine.
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
    """Cholesky factor of the parents, in place; the last row becomes that of the child.

    ``L[k, k]`` becomes the residual variance.
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
            # The pivot of the child (i == k) may be 0: nothing is divided by it.
            elif rest > SINGULAR * spread:
                L[i, i] = np.sqrt(rest)
            else:
                return False
    return True


@jit_inside
def _solve(L, k, parent_list, j, column, B, V):  # type: ignore[no-untyped-def]
    """Weights into `B`, and the diagonal of the inverse Gram matrix into `V`.

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
            # Diagonal of the inverse Gram matrix: squared columns of the inverse factor.
            V[parent_list[a], j] += column[h] ** 2
