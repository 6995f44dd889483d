"""What OR-SGBN and H-SGBN share: units of the penalty, its strengths, and where to start."""

from __future__ import annotations

import numpy as np

from sgbn.moments import Moments
from sgbn.solvers.lasso import lasso_gram
from sgbn.solvers.result import SolverResult
from sgbn.structure.neighbourhood import inverse_gram, neighbourhoods_by_bic
from sgbn.types import Array

INITS = ("lasso", "ols", "l1mb")
N_PENALTIES = 5  # measured on nine networks: 20 steps reach objectives lower by 0.3 % at most
FIRST_PENALTY_SHARE = 1e-2  # of the last penalty of the path
ABOVE_BOUND = 1.001  # the penalty must exceed its bound, not only reach it
RIDGE = 1e-6  # added to a unit diagonal where the Gram matrix is singular


def penalty_units(moments: Moments, standardize: bool) -> Array:
    """Size of one solver unit of each variable in the units that alpha is meant for.

    Solvers see variables divided by their scale. Where alpha is meant for the data as they are,
    the price of |Theta_kj| becomes alpha / (scale_j scale_k) there.
    """
    if standardize:
        return np.ones(len(moments.R))
    scale = np.append(moments.scale[moments.columns], np.ones(len(moments.R) - moments.m))
    return 1.0 / scale


def strongest_penalty(units: Array, alpha: float) -> float:
    r"""Penalty mu above which every result is a DAG.

    With an integral order and Delta = m it is enough that
    :math:`\lambda_{dag} > 2 \|x_i\| \|x_j\| - \lambda_1` for all pairs, here divided by 2n: where
    a weight is not zero, :math:`2 |x_j^T r| = \lambda_1 + \lambda_{dag} \Upsilon_{ji}`, but
    :math:`|x_j^T r| \le \|x_j\| \|r\| \le \|x_j\| \|x_i\|`, because an optimal theta fits no
    worse than zero. So :math:`\Upsilon_{ji} < 1`, which for whole numbers means 0.

    Paper: Proposition 2, whose own bound is not sufficient.
    """
    # the norms of the two largest variables bound those of all pairs
    first, second = np.sort(1.0 / units)[-2:]
    # a large alpha alone may meet the bound: the path still needs a penalty above zero
    return ABOVE_BOUND * max(first * second - alpha, first * second * 1e-3)


def penalty_path(strongest: float) -> Array:
    """Penalties from weak to `strongest`, for warm starts."""
    return np.geomspace(FIRST_PENALTY_SHARE * strongest, strongest, N_PENALTIES)


def initial_weights(init: str, moments: Moments, units: Array, A: Array) -> SolverResult:
    """Weights before any order is known; they may have cycles.

    ``A[j, k]`` is the price of k -> j in the units of the penalty.
    """
    m, R = moments.m, moments.R
    if init == "lasso":
        return lasso_gram(R, A * np.outer(units[:m], units))
    if init == "ols":
        return SolverResult(_regression_on_all_others(R)[:m], 1, 0.0, True)
    return SolverResult(neighbourhoods_by_bic(R, m, moments.n), 1, 0.0, True)


def _regression_on_all_others(R: Array) -> Array:
    """Least squares of each variable on all others, with a touch of ridge where R is singular."""
    exact = inverse_gram(R)
    precision = np.linalg.inv(R + RIDGE * np.eye(len(R))) if exact is None else exact
    # weights on all others, by the inverse matrix: -K_jk / K_jj
    B: Array = -precision / np.diag(precision)[:, None]
    np.fill_diagonal(B, 0.0)
    return B
