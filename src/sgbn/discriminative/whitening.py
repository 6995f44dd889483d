r"""Coordinates in which the squared error of a few regressions is a ball.

For the weights :math:`\theta_J` of child j on the columns J, with :math:`G = \tilde X^T \tilde X`
and the Cholesky factor of :math:`G_{JJ} + \epsilon I = L L^T`,

.. math:: \| x_j - \tilde X \theta_j \|^2 = \text{least} + \| L^T (\theta_J - \theta_J^*) \|^2,

so that :math:`\theta_J = \theta_J^* + L^{-T} u`. Children are blocks of consecutive parameters, and
the factors :math:`F = L^{-T}` lie one after the other in one array.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from sgbn.jit import jit_inside, jit_loops
from sgbn.types import Array, Indices


def whiten(
    G: Array, theta: Array, parents: Indices, children: Indices, starts: Indices, ridge: float
) -> tuple[Array, Array]:
    """Return the factor of every block, and its optimum seen from `theta`, in coordinates u.

    `children` has the child of each block. `ridge` is a share of the mean of the diagonal of its
    Gram matrix. No more of the data is seen than G.
    """
    sizes = np.diff(starts)
    factors, slopes = np.zeros(np.sum(sizes * sizes)), np.empty(parents.size)
    largest = int(sizes.max(initial=0))
    _fill(G, theta, parents, children, starts, ridge, np.empty((largest, largest)), factors, slopes)
    to_fit = np.empty(parents.size)
    # the optimum is at F' slope, as F F' is the inverse of the Gram matrix of the block
    for block, F in _blocks(factors, starts):
        to_fit[block] = F.T @ slopes[block]
    return factors, to_fit


def to_weights(factors: Array, starts: Indices, u: Array) -> Array:
    """F u, block by block."""
    weights = np.empty(u.size)
    for block, F in _blocks(factors, starts):
        weights[block] = F @ u[block]
    return weights


def _blocks(factors: Array, starts: Indices) -> Iterator[tuple[slice, Array]]:
    """Parameters and factor of each block."""
    place = 0
    for first, last in pairwise(starts.tolist()):
        k = last - first
        yield slice(first, last), factors[place : place + k * k].reshape(k, k)
        place += k * k


@jit_loops
def _fill(G, theta, parents, children, starts, ridge, work, factors, slopes):  # type: ignore[no-untyped-def]
    """Fill `factors` (zero), and `slopes` with half the fall of the error in each weight."""
    place = 0  # where the factor of this block begins
    for b in range(children.size):
        block = parents[starts[b] : starts[b + 1]]
        k = block.size
        L = work[:k, :k]  # one scratch matrix for all blocks: no memory is taken in the loop
        trace = 0.0
        for i in range(k):
            for h in range(k):
                L[i, h] = G[block[i], block[h]]
            trace += L[i, i]
        _factor(L, ridge * trace / k)
        _invert(L, factors[place : place + k * k])
        for i in range(k):
            fitted = 0.0
            # over all weights of the child, those that stay as well: they are part of its residual
            for h in range(theta.shape[0]):
                fitted += G[block[i], h] * theta[h, children[b]]
            slopes[starts[b] + i] = G[block[i], children[b]] - fitted
        place += k * k


@jit_inside
def _factor(M, ridge):  # type: ignore[no-untyped-def]
    """Cholesky factor of M + ridge I in the lower triangle of `M`, in place.

    A pivot that round-off takes below the ridge is set to it: columns that are copies of each other
    would have a square root of a negative number else.
    """
    for i in range(M.shape[0]):
        M[i, i] += ridge
        for j in range(i + 1):
            rest = M[i, j]
            for h in range(j):
                rest -= M[i, h] * M[j, h]
            M[i, j] = rest / M[j, j] if i > j else np.sqrt(max(rest, ridge))


@jit_inside
def _invert(L, F):  # type: ignore[no-untyped-def]
    """Set `F`, the rows of a zero matrix one after the other, to the inverse of L transposed."""
    k = L.shape[0]
    for i in range(k):
        F[i * k + i] = 1.0 / L[i, i]
        for j in range(i):
            total = 0.0
            for h in range(j, i):
                total += L[i, h] * F[j * k + h]
            F[j * k + i] = -total / L[i, i]  # transposed: row j, column i of an upper triangle


@jit_loops
def regressors(factors, starts, columns, parents, sd, D):  # type: ignore[no-untyped-def]
    """Fill `D` with what one unit of each coordinate adds to its child, in units of its noise.

    `columns` is (m + 1, n), and `sd` has the noise of the child of each block.
    """
    # D = F' X_J / sd, one row per coordinate: rows of D lie along memory, as the kernels read them
    D[:] = 0.0
    place = 0
    for b in range(starts.size - 1):
        first, k = starts[b], starts[b + 1] - starts[b]
        for i in range(k):
            for q in range(i, k):  # the factor is an upper triangle
                weight = factors[place + i * k + q] / sd[b]
                for row in range(D.shape[1]):
                    D[first + q, row] += weight * columns[parents[first + i], row]
        place += k * k
