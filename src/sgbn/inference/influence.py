r"""Weights of edges by least squares, and the influence of every row on them.

For a child y with parents Z (one row per sample, centred), leverages
:math:`h_t = z_t^T (Z^T Z)^{-1} z_t` and residuals e,

.. math:: b = (Z^T Z)^{-1} Z^T y, \qquad \psi_t = \frac{(Z^T Z)^{-1} z_t \, e_t}{1 - h_t},
          \qquad \operatorname{var}_{HC3}(b) = \sum_t \psi_t \psi_t^T

(MacKinnon and White 1985). The influences :math:`\psi` of independent rows add up to a variance
that needs no assumption about the noise; rows of one person are added before they are squared.

A pair can be looked at both ways. Given other regions U, of which i and j leave the residuals r
and s, the two weights are :math:`r^T s / r^T r` and :math:`r^T s / s^T s`. A change of the scale of
a region changes both, and leaves their partial correlation :math:`\rho` as it is,

.. math:: z = \operatorname{artanh} \rho, \qquad \psi_t = \frac{\tilde r_t \tilde s_t -
          \rho (\tilde r_t^2 + \tilde s_t^2) / 2}{(1 - \rho^2) (1 - h_t)}

with residuals :math:`\tilde r, \tilde s` of length one and the leverages of U.
"""

from __future__ import annotations

import numpy as np

from sgbn.jit import jit_inside, jit_loops
from sgbn.types import Array, Indices, Mask

SINGULAR = 1e-10  # what others leave of a parent, as a share of its variance: less is a copy
FULL = 1e-6  # 1 - leverage, below which a row alone decides a weight
FORWARD, BACKWARD, CORRELATION = 0, 1, 2  # the ways of looking at a pair


def edge_influences(
    columns: Array, S: Array, edges: Indices, starts: Indices
) -> tuple[Array, Array]:
    """Weights of edges given the other parents of their child, and the influences of the rows.

    Parameters
    ----------
    columns : ndarray of shape (m, n)
        Centred samples, one row per variable.
    S : ndarray of shape (m, m)
        ``columns @ columns.T``.
    edges : ndarray of int of shape (k, 2)
        Parent and child, the edges of one child together.
    starts : ndarray of int
        Where the edges of each child begin, and k.

    Returns
    -------
    weights : ndarray of shape (k,)
    influences : ndarray of shape (k, n)
        NaN for the edges of a child whose parents determine each other.
    """
    m, n = columns.shape
    weights, influences = np.empty(len(edges)), np.empty((len(edges), n))
    L, W, rest = np.empty((m, m)), np.empty((m, n)), np.empty((2, n))
    parents = np.ascontiguousarray(edges[:, 0])
    _fill_edges(columns, S, parents, edges, starts, L, W, rest, weights, influences)
    return weights, influences


@jit_loops
def _fill_edges(columns, S, parents, edges, starts, L, W, rest, weights, influences):  # type: ignore[no-untyped-def]
    """Fill `weights` and `influences` of `edge_influences`; L, W and `rest` are work space."""
    n = columns.shape[1]
    room, residual = rest[0], rest[1]
    for block in range(starts.size - 1):
        first, last = starts[block], starts[block + 1]
        k, own = last - first, parents[first:last]
        if not _leave(columns, S, own, L, W, room):
            weights[first:last] = np.nan
            influences[first:last] = np.nan
            continue
        _take_out(columns, S, own, L, W, edges[first, 1], weights[first:last], residual)
        for t in range(n):
            residual[t] /= max(room[t], FULL)
        for a in range(k - 1, -1, -1):  # W becomes (Z'Z)^-1 Z', the weights those of Z
            for h in range(a + 1, k):
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
    """Weight of i in the regression of j, of j in that of i, and z, all beside the same others.

    Parameters
    ----------
    columns, S
        As in `edge_influences`.
    edges : ndarray of int of shape (k, 2)
        The two variables of each pair.
    given : ndarray of bool of shape (k, m)
        The others.

    Returns
    -------
    weights : ndarray of shape (3, k)
        `FORWARD`, `BACKWARD`, and of `CORRELATION` Fisher's z of the partial correlation.
    influences : ndarray of shape (3, k, n)
        NaN for a pair whose regressions are not determined.
    """
    m, n = columns.shape
    weights, influences = np.empty((3, len(edges))), np.empty((3, len(edges), n))
    L, W, rest, along = np.empty((m, m)), np.empty((m, n)), np.empty((3, n)), np.empty((2, m))
    own = np.empty(m, np.int64)
    _fill_pairs(columns, S, edges, given, own, L, W, rest, along, weights, influences)
    return weights, influences


@jit_loops
def _fill_pairs(columns, S, edges, given, own, L, W, rest, along, weights, influences):  # type: ignore[no-untyped-def]
    """Fill `weights` and `influences` of `pair_influences`; `own` to `along` are work space."""
    room, left = rest[2], rest[:2]
    for e in range(edges.shape[0]):
        k = _list_given(given[e], own)
        first, second, product = 0.0, 0.0, 0.0
        known = _leave(columns, S, own[:k], L, W, room)
        if known:
            for end in range(2):
                _take_out(columns, S, own[:k], L, W, edges[e, end], along[end], left[end])
            first = _length_left(S, edges[e, 0], along[0], k)
            second = _length_left(S, edges[e, 1], along[1], k)
            shared = 0.0
            for a in range(k):
                shared += along[0, a] * along[1, a]
            product = S[edges[e, 0], edges[e, 1]] - shared
            known = first > 0.0 and second > 0.0
            known &= product * product < (1 - SINGULAR) * first * second
        if not known:
            weights[:, e] = np.nan
            influences[:, e] = np.nan
            continue
        weights[FORWARD, e] = product / first
        weights[BACKWARD, e] = product / second
        _fill_way(left[0], left[1], room, product, first, influences[FORWARD, e])
        _fill_way(left[1], left[0], room, product, second, influences[BACKWARD, e])
        weights[CORRELATION, e] = _fill_correlation(
            left, room, product, first, second, influences[CORRELATION, e]
        )


@jit_inside
def _list_given(is_given, own):  # type: ignore[no-untyped-def]
    """Fill `own` with the variables that are given; their number."""
    k = 0
    for v in range(is_given.size):
        if is_given[v]:
            own[k] = v
            k += 1
    return k


@jit_inside
def _length_left(S, variable, along, k):  # type: ignore[no-untyped-def]
    """Squared length of what others leave of a variable; 0 where they determine it."""
    taken = 0.0
    for a in range(k):
        taken += along[a] * along[a]
    length = S[variable, variable] - taken
    return length if length > SINGULAR * S[variable, variable] else 0.0


@jit_inside
def _fill_way(source, target, room, product, length, influence):  # type: ignore[no-untyped-def]
    """Fill the influences on the weight of one variable, of squared length `length`, in another."""
    weight = product / length
    for t in range(source.size):
        share = source[t] / length
        open_share = max(room[t] - source[t] * share, FULL)
        influence[t] = share * (target[t] - weight * source[t]) / open_share


@jit_inside
def _fill_correlation(left, room, product, first, second, influence):  # type: ignore[no-untyped-def]
    """Fill the influences on Fisher's z of the partial correlation, and return z."""
    length = np.sqrt(first * second)
    rho = product / length
    of_first, of_second = rho / (2 * first), rho / (2 * second)
    for t in range(influence.size):
        r, s = left[0, t], left[1, t]
        change = r * s / length - of_first * r * r - of_second * s * s
        influence[t] = change / (1 - rho * rho) / max(room[t], FULL)
    return np.arctanh(rho)


@jit_inside
def _take_out(columns, S, own, L, W, variable, along, left):  # type: ignore[no-untyped-def]
    """Fill `left` with what some columns leave of a variable, and `along` with ``W @ variable``."""
    n = columns.shape[1]
    for t in range(n):
        left[t] = columns[variable, t]
    for a in range(own.size):
        along[a] = S[own[a], variable]
        for h in range(a):
            along[a] -= L[a, h] * along[h]
        along[a] /= L[a, a]
        for t in range(n):
            left[t] -= along[a] * W[a, t]


@jit_inside
def _leave(columns, S, own, L, W, room):  # type: ignore[no-untyped-def]
    """Fill orthonormal rows W that span some columns, ``columns[own] = L @ W``, and 1 - leverages.

    Returns False where one of the columns is determined by those before it.
    """
    n = columns.shape[1]
    for t in range(n):
        room[t] = 1.0
    for a in range(own.size):
        for h in range(a + 1):
            rest = S[own[a], own[h]]
            for i in range(h):
                rest -= L[a, i] * L[h, i]
            if h < a:
                L[a, h] = rest / L[h, h]
            elif rest > SINGULAR * S[own[a], own[a]]:
                L[a, a] = np.sqrt(rest)
            else:
                return False
        for t in range(n):
            W[a, t] = columns[own[a], t]
        for h in range(a):
            for t in range(n):
                W[a, t] -= L[a, h] * W[h, t]
        for t in range(n):
            W[a, t] /= L[a, a]
            room[t] -= W[a, t] * W[a, t]
    return True
