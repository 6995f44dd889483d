r"""Coordinates in which a limit on the squared error of a few regressions is a ball.

Child j has the weights :math:`\theta_J` on the columns J, with the optimum :math:`\theta_J^*`. With
:math:`G = \tilde X^T \tilde X` and the Cholesky factor of
:math:`G_{JJ} + \epsilon I = L L^T`, the squared error is

.. math:: \| x_j - \tilde X \theta_j \|^2 = \text{least} + \| L^T (\theta_J - \theta_J^*) \|^2.

So the coordinates are u in :math:`\theta_J = \theta_J^* + L^{-T} u`. The parameters of a child are
consecutive, as one block. The factors :math:`F = L^{-T}` of all blocks follow each other in one
array.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from sgbn.core.jit import jit_inside, jit_loops
from sgbn.core.types import Array, Indices


def whiten(
    G: Array, theta: Array, parents: Indices, children: Indices, starts: Indices, ridge: float
) -> tuple[Array, Array]:
    """Return the factor of every block, and the step in u from `theta` to the optimum.

    Parameters
    ----------
    G : ndarray of shape (m + 1, m + 1)
        The Gram matrix of the columns and the ones.
    theta : ndarray of shape (m + 1, m)
        All parameters, with the biases in the last row.
    parents : ndarray of shape (k,)
        The parent of each moving parameter, block by block.
    children : ndarray of shape (blocks,)
        The child of each block.
    starts : ndarray of shape (blocks + 1,)
        The place at which each block begins, and k.
    ridge : float
        The ridge, as a share of the mean of the diagonal of a block's Gram matrix.
    """
    sizes = np.diff(starts)
    factors, slopes = np.zeros(np.sum(sizes * sizes)), np.empty(parents.size)
    largest = int(sizes.max(initial=0))
    _fill(G, theta, parents, children, starts, ridge, np.empty((largest, largest)), factors, slopes)
    to_fit = np.empty(parents.size)
    # The step is F' slope, because F F' is the inverse of the Gram matrix of the block.
    for block, F in _blocks(factors, starts):
        to_fit[block] = F.T @ slopes[block]
    return factors, to_fit


def to_weights(factors: Array, starts: Indices, u: Array) -> Array:
    """Return F u, block by block."""
    weights = np.empty(u.size)
    for block, F in _blocks(factors, starts):
        weights[block] = F @ u[block]
    return weights


def _blocks(factors: Array, starts: Indices) -> Iterator[tuple[slice, Array]]:
    """Yield the places of the parameters of each block, and its factor."""
    place = 0
    for first, last in pairwise(starts.tolist()):
        k = last - first
        yield slice(first, last), factors[place : place + k * k].reshape(k, k)
        place += k * k


@jit_loops
def _fill(G, theta, parents, children, starts, ridge, work, factors, slopes):  # type: ignore[no-untyped-def]
    """Fill `slopes`, and `factors`, which must be zero before.

    A slope is minus half the derivative of the squared error in a weight. `work` is scratch memory.
    """
    place = 0  # the start of this block's factor
    for b in range(children.size):
        block = parents[starts[b] : starts[b + 1]]
        k = block.size
        L = work[:k, :k]  # all blocks share the scratch matrix, so the loop allocates no memory
        trace = 0.0
        for i in range(k):
            for h in range(k):
                L[i, h] = G[block[i], block[h]]
            trace += L[i, i]
        _factor(L, ridge * trace / k)
        _invert(L, factors[place : place + k * k])
        for i in range(k):
            fitted = 0.0
            # The sum includes the weights that do not move, because they change the residual too.
            for h in range(theta.shape[0]):
                fitted += G[block[i], h] * theta[h, children[b]]
            slopes[starts[b] + i] = G[block[i], children[b]] - fitted
        place += k * k


@jit_inside
def _factor(M, ridge):  # type: ignore[no-untyped-def]
    """Write the Cholesky factor of M + ridge I into the lower triangle of `M`.

    If round-off takes a pivot below the ridge, the pivot is set to the ridge. Otherwise columns
    that are copies of each other could give the square root of a negative number.
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
    """Set `F`, a flattened matrix that must be zero before, to the inverse of L transposed."""
    k = L.shape[0]
    for i in range(k):
        F[i * k + i] = 1.0 / L[i, i]
        for j in range(i):
            total = 0.0
            for h in range(j, i):
                total += L[i, h] * F[j * k + h]
            F[j * k + i] = -total / L[i, i]  # row j, column i of an upper triangle


@jit_loops
def regressors(factors, starts, columns, parents, sd, D):  # type: ignore[no-untyped-def]
    """Fill `D` with what one unit of each coordinate adds to the prediction of its child.

    `columns` has the shape (m + 1, n). The prediction is divided by `sd`, the standard deviation of
    the noise of each block's child.
    """
    # D = F' X_J / sd has one row per coordinate, because the kernels read D row by row.
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
