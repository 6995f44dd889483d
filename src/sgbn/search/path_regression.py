r"""Regression of a variable v on a path: a list of variables that grows or shrinks by one.

L is the Cholesky factor of the Gram matrix of the path, and :math:`b = L^{-1} R_v`. One more
variable adds a row to L and takes :math:`b_a^2` from the residual sum of squares (RSS). The RSS is
a share of the variance of v. Kernels change `L`, `b` and `rows` in place. These arrays are
described in `sgbn.search.tree_arrays.Trees`.
"""

from __future__ import annotations

import numpy as np

from sgbn.core.jit import jit_inside

COLLINEAR = 1e-10  # a smaller share of the variance that others do not explain is round-off
SMALLEST_RSS = 1e-12  # RSS of a perfect fit, as a share of the variance: its logarithm is finite
REDUNDANT = 1e30  # pivot of a redundant variable: dividing by it gives a weight of zero


@jit_inside
def add_to_factor(R, path, L, b, v, a):  # type: ignore[no-untyped-def]
    """Fill row a of L and of b for the variable at place a of `path`, and return b_a^2."""
    new = path[a]
    for c in range(a + 1):
        s = R[new, path[c]]
        for t in range(c):
            s -= L[a, t] * L[c, t]
        if c < a:
            L[a, c] = s / L[c, c]
        else:
            # A required parent may be a combination of others. It must stay in the path without
            # any effect: a huge pivot makes its b, and its part of later rows, zero.
            L[a, a] = np.sqrt(s) if s > COLLINEAR else REDUNDANT
    s = R[new, v]
    for t in range(a):
        s -= L[a, t] * b[t]
    b[a] = s / L[a, a]
    return b[a] * b[a]


@jit_inside
def add_to_rows(R, candidates, path, L, b, rows, v, a):  # type: ignore[no-untyped-def]
    """Fill row a of L^-1 R_path, and update the variances and covariances in the last rows.

    There is one column per candidate parent of v.
    """
    size = candidates[v, 0]
    new = path[a]
    for c in range(size):
        rows[a, c] = R[new, candidates[v, c + 1]]
    # The candidates are in the innermost loop: their memory is contiguous, and the processor works
    # on several at a time.
    for t in range(a):
        factor = L[a, t]
        for c in range(size):
            rows[a, c] -= factor * rows[t, c]
    inverse = 1.0 / L[a, a]
    for c in range(size):
        z = rows[a, c] * inverse
        rows[a, c] = z
        rows[-1, c] -= z * z
        rows[-2, c] -= z * b[a]


@jit_inside
def list_improving(rows, size, least, index):  # type: ignore[no-untyped-def]
    """List the candidates that reduce the RSS by more than `least`, the best first.

    They are written to `index`, and their number is returned. A candidate c reduces the RSS by
    covariance_c^2 / variance_c.
    """
    n_improving = 0
    for c in range(size):
        squared = rows[-2, c] * rows[-2, c]
        # The same inequality without a division: most candidates fail here.
        if squared > least * rows[-1, c] and rows[-1, c] > COLLINEAR:
            gain = squared / rows[-1, c]
            rows[-3, c] = gain
            # Insertion sort, because few candidates get this far. Equal gains keep their order.
            place = n_improving
            while place > 0 and rows[-3, index[place - 1]] < gain:
                index[place] = index[place - 1]
                place -= 1
            index[place] = c
            n_improving += 1
    return n_improving


@jit_inside
def cheapest_removal(L, b, k, n_locked, x):  # type: ignore[no-untyped-def]
    """Return the place of the path whose removal increases the RSS least, and the increase.

    The first `n_locked` places are required parents and stay. The removal of place a adds
    beta_a^2 / (inverse Gram)_aa to the RSS. `x` is work space.
    """
    best = -1
    least = np.inf
    for a in range(n_locked, k):
        inverse = 0.0
        beta = 0.0
        # Forward substitution gives column a of L^-1, which is zero above place a. Its squared
        # length is the diagonal entry of the inverse Gram matrix, and beta = (L^-1)' b.
        for t in range(a, k):
            s = 1.0 if t == a else 0.0
            for u in range(a, t):
                s -= L[t, u] * x[u]
            x[t] = s / L[t, t]
            inverse += x[t] * x[t]
            beta += x[t] * b[t]
        cost = beta * beta / inverse
        if cost < least:
            best, least = a, cost
    return best, least


@jit_inside
def fit_score(weight, is_equal, rss):  # type: ignore[no-untyped-def]
    """Return the score of a residual sum of squares, without the price of the parents."""
    if rss < SMALLEST_RSS:
        rss = SMALLEST_RSS
    return weight * (rss if is_equal else np.log(rss))
