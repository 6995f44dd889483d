"""Units, strengths and initial weights for the penalties of OR-SGBN and H-SGBN."""

from __future__ import annotations

import numpy as np

from sgbn.core.moments import Moments
from sgbn.core.types import Array
from sgbn.learn.lasso import SolverResult, lasso_gram
from sgbn.structure.neighbourhood import inverse_gram, neighbourhoods_by_bic

INITS = ("lasso", "ols", "l1mb")
N_PENALTIES = 5  # measured on nine networks: with 20, objectives are at most 0.3 % lower
FIRST_PENALTY_SHARE = 1e-2  # the first penalty of the path, as a share of the last
ABOVE_BOUND = 1.001  # factor, because the penalty must exceed its bound and not only reach it
RIDGE = 1e-6  # added to the unit diagonal of a singular Gram matrix


def strongest_penalty(units: Array, alpha: float) -> float:
    r"""Return a penalty mu that is strong enough to make every result a DAG.

    If the order variables are whole numbers and Delta = m, it is enough that
    :math:`\lambda_{dag} > 2 \|x_i\| \|x_j\| - \lambda_1` for all pairs i, j. The result is this
    bound divided by 2n, times `ABOVE_BOUND`. Proof: let r be the residual of variable i. If the
    weight of j -> i is not zero, then :math:`2 |x_j^T r| = \lambda_1 + \lambda_{dag}
    \Upsilon_{ji}`. But :math:`|x_j^T r| \le \|x_j\| \|r\| \le \|x_j\| \|x_i\|`, because the
    optimal weights fit at least as well as zero weights. So :math:`\Upsilon_{ji} < 1`, which for
    whole numbers means 0.

    Paper: Proposition 2, whose own bound is not sufficient.
    """
    # The product of the two largest norms is at least the product of any pair.
    first, second = np.sort(1.0 / units)[-2:]
    # A large alpha may exceed the bound by itself, but the path needs penalties above zero.
    return ABOVE_BOUND * max(first * second - alpha, first * second * 1e-3)


def penalty_path(strongest: float) -> Array:
    """Return rising penalties up to `strongest`; each solution starts from the one before."""
    return np.geomspace(FIRST_PENALTY_SHARE * strongest, strongest, N_PENALTIES)


def initial_weights(init: str, moments: Moments, units: Array, A: Array) -> SolverResult:
    """Return weights from which the first order is computed; they may have cycles.

    `init` is one of `INITS`. ``A[j, k]`` is the price of k -> j in the units of the penalty.
    """
    m, R = moments.m, moments.R
    if init == "lasso":
        return lasso_gram(R, A * np.outer(units[:m], units))
    if init == "ols":
        return SolverResult(_regression_on_all_others(R)[:m], 1, 0.0, True)
    return SolverResult(neighbourhoods_by_bic(R, m, moments.n), 1, 0.0, True)


def _regression_on_all_others(R: Array) -> Array:
    """Return the least-squares weights of each variable on all others.

    If R is singular, a small ridge is added.
    """
    exact = inverse_gram(R)
    precision = np.linalg.inv(R + RIDGE * np.eye(len(R))) if exact is None else exact
    # With K the inverse of R, the weight of k in the regression of j on all others is -K_jk / K_jj.
    B: Array = -precision / np.diag(precision)[:, None]
    np.fill_diagonal(B, 0.0)
    return B
