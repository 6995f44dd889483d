r"""Lasso along an order, from given weights: a price on each departure from them.

For every variable j, with those before it as regressors,

.. math:: \min_d \tfrac12 (b + d)^T S (b + d) - s_j^T (b + d) + \sum_k w_{jk} |d_k|,
          \qquad d_k = 0 \text{ for } k \ge j,

where b are the given weights and S a covariance matrix whose rows and columns stand in the order.
With b = 0 it is the plain lasso along the order. Cyclic coordinate descent.
"""

from __future__ import annotations

import numpy as np

from sgbn.jit import jit
from sgbn.solvers.result import SolverResult
from sgbn.types import Array

TOL = 1e-6  # KKT violation, on variables of about unit scale
MAX_EPOCHS = 500  # reached only where columns are nearly collinear
EMPTY = 1e-12  # variance of a regressor that says nothing


@jit
def _epoch(S, w, size, d, g):  # type: ignore[no-untyped-def]
    """One pass over the first `size` departures `d`, in place with their gradient `g`."""
    for k in range(size):
        scale = S[k, k]
        if scale <= EMPTY:
            continue
        z = scale * d[k] - g[k]
        step = np.sign(z) * max(abs(z) - w[k], 0.0) / scale - d[k]
        if step != 0.0:
            d[k] += step
            for h in range(size):
                g[h] += step * S[k, h]


@jit
def _violation(w, size, d, g):  # type: ignore[no-untyped-def]
    """How far the first `size` departures are from the KKT conditions."""
    worst = 0.0
    for k in range(size):
        if d[k] != 0.0:
            worst = max(worst, abs(g[k] + np.sign(d[k]) * w[k]))
        else:
            worst = max(worst, abs(g[k]) - w[k])
    return worst


@jit
def _solve(S, W, B, D):  # type: ignore[no-untyped-def]
    """Set `D`, zero at first, to the departures; most epochs and the worst violation."""
    m = S.shape[0]
    g = np.empty(m)
    most, worst = 0, 0.0
    for j in range(1, m):
        for k in range(j):
            g[k] = -S[j, k]
        for h in range(j):
            if B[j, h] != 0.0:
                for k in range(j):
                    g[k] += B[j, h] * S[h, k]
        n_epochs, violation = 0, _violation(W[j], j, D[j], g)
        while violation > TOL and n_epochs < MAX_EPOCHS:
            _epoch(S, W[j], j, D[j], g)
            n_epochs += 1
            violation = _violation(W[j], j, D[j], g)
        most, worst = max(most, n_epochs), max(worst, violation)
    return most, worst


def lasso_departures(S: Array, W: Array, B: Array) -> SolverResult:
    """Departures from the weights `B`, a row a variable; see the module.

    Parameters
    ----------
    S : ndarray of shape (m, m)
        Covariance matrix, C-ordered; variables stand in the order.
    W : ndarray of shape (m, m)
        ``W[j, k]`` is the price of a departure of the weight of k -> j.
    B : ndarray of shape (m, m)
        Weights to depart from, strictly lower triangular.

    Returns
    -------
    SolverResult
        `x` is D, so that ``B + D`` are the weights.
    """
    D = np.zeros(S.shape)
    n_epochs, violation = _solve(S, W, B, D)
    return SolverResult(D, n_epochs, violation, violation <= TOL)


def residual_variances(S: Array, B: Array) -> Array:
    r"""Variance of what the weights leave of each variable: the diagonal of (I - B) S (I - B)'."""
    A = np.eye(len(S)) - B
    variances: Array = ((A @ S) * A).sum(axis=1)
    return variances
