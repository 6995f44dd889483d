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

from sgbn.jit import jit

SINGULAR = 1e-10  # what others leave of a parent, as a share of its variance: less is a copy
FULL = 1e-6  # 1 - leverage, below which a row alone decides a weight
FORWARD, BACKWARD, CORRELATION = 0, 1, 2  # the ways of looking at a pair


@jit
def edge_influences(columns, S, edges, starts):  # type: ignore[no-untyped-def]
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
    n = columns.shape[1]
    weights, influences = np.empty(len(edges)), np.empty((len(edges), n))
    for block in range(len(starts) - 1):
        first, last = starts[block], starts[block + 1]
        k, child = last - first, edges[first, 1]
        own = edges[first:last, 0]
        L, W = np.empty((k, k)), np.empty((k, n))
        room = _leave(columns, S, own, L, W)
        if not room.size:
            weights[first:last] = np.nan
            influences[first:last] = np.nan
            continue
        residual = np.empty(n)
        _take_out(columns, S, own, L, W, child, weights[first:last], residual)
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
    return weights, influences


@jit
def pair_influences(columns, S, edges, given):  # type: ignore[no-untyped-def]
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
    n = columns.shape[1]
    weights, influences = np.empty((3, len(edges))), np.empty((3, len(edges), n))
    left, squares = np.empty((2, n)), np.empty(2)
    for e in range(len(edges)):
        own = np.flatnonzero(given[e])
        k = own.size
        L, W, along = np.empty((k, k)), np.empty((k, n)), np.empty((2, k))
        room = _leave(columns, S, own, L, W)
        known = room.size > 0
        product = S[edges[e, 0], edges[e, 1]]
        if known:
            for end in range(2):
                variable = edges[e, end]
                _take_out(columns, S, own, L, W, variable, along[end], left[end])
                squares[end] = S[variable, variable] - np.square(along[end]).sum()
                known &= squares[end] > SINGULAR * S[variable, variable]
            product -= (along[0] * along[1]).sum()
            known &= product * product < (1 - SINGULAR) * squares[0] * squares[1]
        if not known:
            weights[:, e] = np.nan
            influences[:, e] = np.nan
            continue
        for way in range(2):
            source, target, weight = left[way], left[1 - way], product / squares[way]
            weights[way, e] = weight
            for t in range(n):
                share = source[t] / squares[way]
                open_share = max(room[t] - source[t] * share, FULL)
                influences[way, e, t] = share * (target[t] - weight * source[t]) / open_share
        length = np.sqrt(squares[0] * squares[1])
        rho = product / length
        weights[CORRELATION, e] = np.arctanh(rho)
        first, second = rho / (2 * squares[0]), rho / (2 * squares[1])
        for t in range(n):
            r, s = left[0, t], left[1, t]
            change = r * s / length - first * r * r - second * s * s
            influences[CORRELATION, e, t] = change / (1 - rho * rho) / max(room[t], FULL)
    return weights, influences


@jit
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


@jit
def _leave(columns, S, own, L, W):  # type: ignore[no-untyped-def]
    """Orthonormal rows W that span some columns, ``columns[own] = L @ W``, and 1 - leverages.

    No leverages where one of the columns is determined by those before it.
    """
    n = columns.shape[1]
    room = np.ones(n)
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
                return np.empty(0)
        W[a] = columns[own[a]]
        for h in range(a):
            for t in range(n):
                W[a, t] -= L[a, h] * W[h, t]
        for t in range(n):
            W[a, t] /= L[a, a]
            room[t] -= W[a, t] * W[a, t]
    return room
