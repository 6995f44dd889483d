r"""Coordinates in which the squared error of a few regressions is a ball.

For the weights :math:`\theta_J` of child j on the columns J, with :math:`G = \tilde X^T \tilde X`
and the Cholesky factor of :math:`G_{JJ} + \epsilon I = L L^T`,

.. math:: \| x_j - \tilde X \theta_j \|^2 = \text{least} + \| L^T (\theta_J - \theta_J^*) \|^2,

so that :math:`\theta_J = \theta_J^* + L^{-T} u`. Children are blocks of consecutive parameters, and
the factors :math:`F = L^{-T}` lie one after the other in one array.
"""

from __future__ import annotations

import numpy as np

from sgbn.jit import jit


@jit
def whiten(G, theta, parents, children, starts, ridge):  # type: ignore[no-untyped-def]
    """Factor of every block, and the optimum seen from `theta`, in whitened coordinates.

    `children` has the child of each block; `ridge` is a share of the mean of the diagonal of its
    Gram matrix. No more of the data is seen than G.
    """
    sizes = np.diff(starts)
    factors = np.zeros((sizes * sizes).sum())
    to_fit = np.empty(parents.size)
    place = 0
    for b in range(children.size):
        own, k = parents[starts[b] : starts[b + 1]], sizes[b]
        L = np.empty((k, k))
        for i in range(k):
            L[i] = G[own[i]][own]
        least = ridge * np.trace(L) / k
        _factor(L, least)
        F = factors[place : place + k * k].reshape(k, k)
        _invert(L, F)
        for i in range(k):
            slope = G[own[i], children[b]] - (G[own[i]] * theta[:, children[b]]).sum()
            L[i, 0] = slope
        to_fit[starts[b] : starts[b + 1]] = F.T @ np.ascontiguousarray(L[:, 0])
        place += k * k
    return factors, to_fit


@jit
def _factor(M, ridge):  # type: ignore[no-untyped-def]
    """Cholesky factor of M + ridge I in the lower triangle of `M`, in place.

    A pivot that round-off takes below the ridge is set to it.
    """
    for i in range(M.shape[0]):
        M[i, i] += ridge
        for j in range(i + 1):
            rest = M[i, j]
            for h in range(j):
                rest -= M[i, h] * M[j, h]
            M[i, j] = rest / M[j, j] if i > j else np.sqrt(max(rest, ridge))


@jit
def _invert(L, F):  # type: ignore[no-untyped-def]
    """Set `F` to the inverse of L transposed; its lower triangle must be zero."""
    for i in range(L.shape[0]):
        F[i, i] = 1.0 / L[i, i]
        for j in range(i):
            total = 0.0
            for h in range(j, i):
                total += L[i, h] * F[j, h]
            F[j, i] = -total / L[i, i]


@jit
def to_weights(factors, starts, u):  # type: ignore[no-untyped-def]
    """F u, block by block."""
    weights = np.empty(u.size)
    place = 0
    for b in range(starts.size - 1):
        k = starts[b + 1] - starts[b]
        F = factors[place : place + k * k].reshape(k, k)
        weights[starts[b] : starts[b + 1]] = F @ u[starts[b] : starts[b + 1]]
        place += k * k
    return weights


@jit
def regressors(factors, starts, columns, parents, sd, D):  # type: ignore[no-untyped-def]
    """Fill `D` with what one unit of each coordinate adds to its child, in units of its noise.

    `columns` is (m + 1, n), and `sd` has the noise of the child of each block.
    """
    D[:] = 0.0
    place = 0
    for b in range(starts.size - 1):
        first, k = starts[b], starts[b + 1] - starts[b]
        for i in range(k):
            for q in range(i, k):
                weight = factors[place + i * k + q] / sd[b]
                for row in range(D.shape[1]):
                    D[first + q, row] += weight * columns[parents[first + i], row]
        place += k * k
