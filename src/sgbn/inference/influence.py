r"""Least-squares weights of edges, and the influence of every row on them.

A child y has the parents Z, with one centred row :math:`z_t` per sample t. The leverages are
:math:`h_t = z_t^T (Z^T Z)^{-1} z_t`, and the residuals are e. The weights b and the influences
:math:`\psi` of the rows are

.. math:: b = (Z^T Z)^{-1} Z^T y, \qquad \psi_t = \frac{(Z^T Z)^{-1} z_t \, e_t}{1 - h_t},
          \qquad \operatorname{var}_{HC3}(b) = \sum_t \psi_t \psi_t^T

(MacKinnon and White 1985). The squared influences of independent rows add up to a variance that
needs no assumption about the noise. Influences of rows of one person are added before they are
squared.

A pair i, j has a weight in each direction. Let r and s be the residuals of i and j, given other
regions U. The two weights are :math:`r^T s / r^T r` and :math:`r^T s / s^T s`. A change of the
scale of a region changes both weights, but not the partial correlation :math:`\rho`. Fisher's z of
:math:`\rho` and the influences on it are

.. math:: z = \operatorname{artanh} \rho, \qquad \psi_t = \frac{\tilde r_t \tilde s_t -
          \rho (\tilde r_t^2 + \tilde s_t^2) / 2}{(1 - \rho^2) (1 - h_t)}

where :math:`\tilde r, \tilde s` are the residuals scaled to length one, and h the leverages of U.
"""

from __future__ import annotations

import numpy as np

from sgbn.core.jit import jit_inside, jit_loops
from sgbn.core.types import Array, Indices, Mask

SINGULAR = 1e-10  # share of a variance; if other variables leave less, they determine this one
FULL = 1e-6  # lower limit of 1 - leverage; below it, one row alone determines a weight
FORWARD, BACKWARD, CORRELATION = 0, 1, 2  # the three statistics of a pair


def edge_influences(
    columns: Array, S: Array, edges: Indices, starts: Indices
) -> tuple[Array, Array]:
    """Return the weights of edges given the other parents of the child, and the rows' influences.

    Parameters
    ----------
    columns : ndarray of shape (m, n)
        Centred samples, one row per variable.
    S : ndarray of shape (m, m)
        ``columns @ columns.T``.
    edges : ndarray of int of shape (k, 2)
        Parent and child of each edge. Edges of one child lie next to each other.
    starts : ndarray of int
        Positions at which the edges of each child begin, and k at the end.

    Returns
    -------
    weights : ndarray of shape (k,)
        Weight of each edge.
    influences : ndarray of shape (k, n)
        Influence of each row on each weight. Both are NaN for the edges of a child whose parents
        determine each other.
    """
    m, n = columns.shape
    weights, influences = np.empty(len(edges)), np.empty((len(edges), n))
    L, W, rest = np.empty((m, m)), np.empty((m, n)), np.empty((2, n))
    parents = np.ascontiguousarray(edges[:, 0])
    _fill_edges(columns, S, parents, edges, starts, L, W, rest, weights, influences)
    return weights, influences


@jit_loops
def _fill_edges(columns, S, parents, edges, starts, L, W, rest, weights, influences):  # type: ignore[no-untyped-def]
    """Fill `weights` and `influences` of `edge_influences`.

    `L`, `W` and `rest` are work space. `slack` is 1 - leverage of each row.
    """
    # The innermost loops run over rows t: arrays are (variables, rows) and C-ordered, so that
    # memory is read in order.
    n = columns.shape[1]
    slack, residual = rest[0], rest[1]
    for block in range(starts.size - 1):
        first, last = starts[block], starts[block + 1]
        k, members = last - first, parents[first:last]
        # A child whose parents determine each other gets NaN instead of an error. In a permutation
        # its edges are few among hundreds, and their statistics become 0.
        if not _orthonormalise(columns, S, members, L, W, slack):
            weights[first:last] = np.nan
            influences[first:last] = np.nan
            continue
        _take_out(columns, S, members, L, W, edges[first, 1], weights[first:last], residual)
        for t in range(n):
            # HC3 divides by 1 - leverage. A row with leverage 1 has residual 0. FULL prevents
            # 0 / 0.
            residual[t] /= max(slack[t], FULL)
        for a in range(k - 1, -1, -1):  # W becomes (Z'Z)^-1 Z'
            for h in range(a + 1, k):
                # Back substitution with L transposed turns weights of the orthonormal rows W into
                # weights of the parents Z.
                weights[first + a] -= L[h, a] * weights[first + h]
                for t in range(n):
                    W[a, t] -= L[h, a] * W[h, t]
            weights[first + a] /= L[a, a]
            for t in range(n):
                W[a, t] /= L[a, a]
        for a in range(k):
            for t in range(n):
                influences[first + a, t] = W[a, t] * residual[t]


def pair_influences(columns: Array, S: Array, edges: Indices, given: Mask) -> tuple[Array, Array]:
    """Return both weights and Fisher's z of each pair, and the influences of the rows.

    Parameters
    ----------
    columns, S
        The same as in `edge_influences`.
    edges : ndarray of int of shape (k, 2)
        The two variables i and j of each pair.
    given : ndarray of bool of shape (k, m)
        The other variables in the regressions of each pair.

    Returns
    -------
    weights : ndarray of shape (3, k)
        `FORWARD` is the weight of i -> j, `BACKWARD` the weight of j -> i, and `CORRELATION` is
        Fisher's z of the partial correlation.
    influences : ndarray of shape (3, k, n)
        Influence of each row on each of these. Both arrays are NaN for a pair whose regressions are
        not determined.
    """
    m, n = columns.shape
    weights, influences = np.empty((3, len(edges))), np.empty((3, len(edges), n))
    L, W, rest, along = np.empty((m, m)), np.empty((m, n)), np.empty((3, n)), np.empty((2, m))
    members = np.empty(m, np.int64)
    _fill_pairs(columns, S, edges, given, members, L, W, rest, along, weights, influences)
    return weights, influences


@jit_loops
def _fill_pairs(columns, S, edges, given, members, L, W, rest, along, weights, influences):  # type: ignore[no-untyped-def]
    """Fill `weights` and `influences` of `pair_influences`.

    `members`, `L`, `W`, `rest` and `along` are work space. `slack` is 1 - leverage of each row.
    """
    slack, left = rest[2], rest[:2]
    for e in range(edges.shape[0]):
        k = list_marked(given[e], members)
        first, second, product = 0.0, 0.0, 0.0
        known = _orthonormalise(columns, S, members[:k], L, W, slack)
        # The same columns are taken out of both variables. So one factor is enough for the two
        # weights and the correlation.
        if known:
            for end in range(2):
                _take_out(columns, S, members[:k], L, W, edges[e, end], along[end], left[end])
            first = _length_left(S, edges[e, 0], along[0], k)
            second = _length_left(S, edges[e, 1], along[1], k)
            # The product r's comes from S with k operations. The residuals would need n.
            shared = 0.0
            for a in range(k):
                shared += along[0, a] * along[1, a]
            product = S[edges[e, 0], edges[e, 1]] - shared
            known = first > 0.0 and second > 0.0
            # With a correlation of 1, Fisher's z is infinite and the weights have no error.
            known &= product * product < (1 - SINGULAR) * first * second
        if not known:
            weights[:, e] = np.nan
            influences[:, e] = np.nan
            continue
        weights[FORWARD, e] = product / first
        weights[BACKWARD, e] = product / second
        _fill_way(left[0], left[1], slack, product, first, influences[FORWARD, e])
        _fill_way(left[1], left[0], slack, product, second, influences[BACKWARD, e])
        weights[CORRELATION, e] = _fill_correlation(
            left, slack, product, first, second, influences[CORRELATION, e]
        )


@jit_inside
def list_marked(is_marked, members):  # type: ignore[no-untyped-def]
    """Fill `members` with the variables that are marked, and return their number."""
    k = 0
    for v in range(is_marked.size):
        if is_marked[v]:
            members[k] = v
            k += 1
    return k


@jit_inside
def _length_left(S, variable, along, k):  # type: ignore[no-untyped-def]
    """Return the squared length of a variable's residual; 0 if the others determine it."""
    taken = 0.0
    for a in range(k):
        taken += along[a] * along[a]
    # This is a difference of nearly equal numbers. Below SINGULAR it is round-off.
    length = S[variable, variable] - taken
    return length if length > SINGULAR * S[variable, variable] else 0.0


@jit_inside
def _fill_way(source, target, slack, product, length, influence):  # type: ignore[no-untyped-def]
    """Fill the influences on the weight of a source on a target; `length` is r'r of the source."""
    weight = product / length
    for t in range(source.size):
        share = source[t] / length
        # 1 - leverage of a regression on the other regressors and the source.
        open_share = max(slack[t] - source[t] * share, FULL)
        influence[t] = share * (target[t] - weight * source[t]) / open_share


@jit_inside
def _fill_correlation(left, slack, product, first, second, influence):  # type: ignore[no-untyped-def]
    """Fill the influences on Fisher's z of the partial correlation, and return z."""
    length = np.sqrt(first * second)
    rho = product / length
    of_first, of_second = rho / (2 * first), rho / (2 * second)
    for t in range(influence.size):
        r, s = left[0, t], left[1, t]
        # Change of rho by the row's share in the two variances and the covariance. The
        # denominator 1 - rho^2 turns it into a change of Fisher's z.
        change = r * s / length - of_first * r * r - of_second * s * s
        influence[t] = change / (1 - rho * rho) / max(slack[t], FULL)
    return np.arctanh(rho)


@jit_inside
def _take_out(columns, S, members, L, W, variable, along, left):  # type: ignore[no-untyped-def]
    """Fill `left` with the residual of a variable given some columns.

    `along` becomes ``W @ variable``.
    """
    n = columns.shape[1]
    for t in range(n):
        left[t] = columns[variable, t]
    for a in range(members.size):
        # Forward substitution: `along` holds the coordinates of the variable in the rows of W.
        along[a] = S[members[a], variable]
        for h in range(a):
            along[a] -= L[a, h] * along[h]
        along[a] /= L[a, a]
        for t in range(n):
            left[t] -= along[a] * W[a, t]


@jit_inside
def _orthonormalise(columns, S, members, L, W, slack):  # type: ignore[no-untyped-def]
    """Fill orthonormal rows W that span some columns, with ``columns[members] = L @ W``.

    `slack` becomes 1 - leverage of each row. Return False if one of the columns is determined by
    the columns before it.
    """
    n = columns.shape[1]
    for t in range(n):
        slack[t] = 1.0
    for a in range(members.size):
        for h in range(a + 1):
            # L is the Cholesky factor of the products, row by row. The rows of W follow from it.
            rest = S[members[a], members[h]]
            for i in range(h):
                rest -= L[a, i] * L[h, i]
            if h < a:
                L[a, h] = rest / L[h, h]
            elif rest > SINGULAR * S[members[a], members[a]]:
                L[a, a] = np.sqrt(rest)
            else:
                return False
        for t in range(n):
            W[a, t] = columns[members[a], t]
        for h in range(a):
            for t in range(n):
                W[a, t] -= L[a, h] * W[h, t]
        for t in range(n):
            W[a, t] /= L[a, a]
            # A leverage is the sum of the squared entries of an orthonormal basis.
            slack[t] -= W[a, t] * W[a, t]
    return True
