r"""Lasso along an order, with a price on each departure from given weights.

Solve, for every variable j, with the variables before it as regressors,

.. math:: \min_d \tfrac12 (b + d)^T S (b + d) - s_j^T (b + d) + \sum_k w_{jk} |d_k|,
          \qquad d_k = 0 \text{ for } k \ge j,

where d are the departures, w their prices, b the given weights, S a covariance matrix with the
variables in the order, and s_j its row j. With b = 0 it is the plain lasso along the order.

As in `sgbn.learn.lasso`, a working set grows by the departures that violate the optimality (KKT)
conditions. When the signs of the departures are known, the normal equations give their values to
round-off.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sgbn.core.jit import jit, jit_inside
from sgbn.core.types import Array
from sgbn.learn.lasso import solve_on, violation_at

TOL = 1e-8  # KKT violation, on variables of about unit scale
MAX_EPOCHS = 500  # passes per variable; reached only if columns are nearly collinear
EMPTY_VARIANCE = 1e-12  # below it a regressor is constant, on variables of about unit scale


class Departures(NamedTuple):
    """The departures from given weights, and the residual variances that follow.

    Attributes
    ----------
    x : ndarray of shape (m, m)
        ``x[j, k]`` is added to the weight of k -> j.
    variances : ndarray of shape (m,)
        Residual variance of each variable, given its weights with the departures.
    n_iter : int
        Largest number of epochs (passes over the working set) of a variable.
    violation : float
        Largest violation of the KKT conditions.
    converged : bool
        Whether `violation` is within the tolerance.
    """

    x: Array
    variances: Array
    n_iter: int
    violation: float
    converged: bool


@jit_inside
def _gradient(S, j, b, d, g):  # type: ignore[no-untyped-def]
    """Set the first j entries of `g` to S (b + d) - s_j."""
    for k in range(j):
        g[k] = -S[j, k]
    for h in range(j):
        weight = b[h] + d[h]
        if weight != 0.0:
            for k in range(j):
                g[k] += weight * S[h, k]


@jit
def _solve_variable(S, j, w, b, d, g, working):  # type: ignore[no-untyped-def]
    """Find the departures `d` of variable j; return the number of epochs and the violation.

    `d` is the start, and holds the solution afterwards. `g` becomes the gradient at `d`. `working`
    is work space.
    """
    n_epochs = 0
    while True:
        _gradient(S, j, b, d, g)
        size, worst = 0, 0.0
        for k in range(j):
            violation = violation_at(g, w, d, k)
            # A constant regressor has no departure, and its equation would be singular.
            if S[k, k] > EMPTY_VARIANCE and (d[k] != 0.0 or violation > TOL):
                worst = max(worst, violation)
                working[size] = k
                size += 1
        if worst <= TOL or n_epochs >= MAX_EPOCHS:
            return n_epochs, worst
        places, c = working[:size], np.empty(size)
        for i in range(size):
            # The right side c must make S d - c the gradient on the working set.
            c[i] = -g[places[i]]
            for h in range(size):
                c[i] += S[places[i], places[h]] * d[places[h]]
        n_epochs += solve_on(S, places, c, w, d, 0.1 * TOL, MAX_EPOCHS - n_epochs)


@jit
def _solve(S, W, B, D, variances):  # type: ignore[no-untyped-def]
    """Solve `D` in place, and set `variances`.

    Return the largest number of epochs and the largest violation of a variable.
    """
    m = S.shape[0]
    g, working = np.empty(m), np.empty(m, np.int64)
    most_epochs, worst = 0, 0.0
    for j in range(m):
        n_epochs, violation = _solve_variable(S, j, W[j], B[j], D[j], g, working)
        most_epochs, worst = max(most_epochs, n_epochs), max(worst, violation)
        # The variance is s_jj - 2 s_j'b + b'S b for the weights b, and S b = g + s_j.
        total = S[j, j]
        for k in range(j):
            total += (B[j, k] + D[j, k]) * (g[k] - S[j, k])
        variances[j] = total
    return most_epochs, worst


def lasso_departures(S: Array, W: Array, B: Array, start: Array | None = None) -> Departures:
    """Return the departures from the weights `B` that solve the lasso along the order.

    Parameters
    ----------
    S : ndarray of shape (m, m)
        Covariance matrix in C order, with the variables in the order of the network.
    W : ndarray of shape (m, m)
        ``W[j, k]`` is the price of a departure of the weight of k -> j.
    B : ndarray of shape (m, m)
        The given weights; ``B[j, k]`` is the weight of k -> j. Strictly lower triangular.
    start : ndarray of shape (m, m), optional
        Departures to start from, for example the solution at a higher price. Zero by default.
    """
    D = np.zeros(S.shape) if start is None else start.copy()
    variances = np.empty(len(S))
    n_epochs, violation = _solve(S, W, B, D, variances)
    return Departures(D, variances, n_epochs, violation, violation <= TOL)
