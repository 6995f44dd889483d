r"""Lasso of every variable on those that come before it in an order: weights that predict.

.. math:: \min_{\theta_j} \frac{1}{2n} \|x_j - X \theta_j\|^2 + \alpha_j \|\theta_j\|_1
          \quad \text{over } \{k : k \text{ before } j\}
"""

from __future__ import annotations

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sgbn.exceptions import warn
from sgbn.graph.acyclicity import known_order
from sgbn.moments import Moments, moments_of
from sgbn.solvers.lasso import lasso_gram
from sgbn.structure.knowledge import Knowledge
from sgbn.structure.selection import Folds, folds, grid
from sgbn.types import Array, Mask

FORBIDDING_PRICE = 2.0  # no weight pays it: with unit columns no correlation exceeds 1


def lasso_along_order(
    alpha: float | str,
    cv: Folds,
    moments: Moments,
    values: Array,
    names: list[str],
    graph: Mask,
    knowledge: Knowledge,
) -> Array:
    """Weights in canonical order, one row per variable.

    Parameters
    ----------
    alpha : float or "cv"
        "cv" chooses a penalty for each variable by its squared error in held-out rows.
    cv : int or splitter
    moments, values, names
        The sample.
    graph : ndarray of shape (m, m), bool
        The learned DAG in the user's order, whose order counts.
    knowledge : Knowledge
        Required edges are not penalised.
    """
    place = np.empty(moments.m)
    # edges that are known but absent count for the order as well: the lasso may add them
    order = known_order(graph, knowledge.directions, np.argsort(moments.columns))
    place[order] = np.arange(moments.m)
    # in units of alpha: 1 for what comes before, infinity for what must not be a parent
    unit = np.where(knowledge.allowed & (place[:, None] < place), 1.0, np.inf)
    # a price of 0: the lasso has no reason to leave a required edge out
    unit[knowledge.required] = 0.0
    if isinstance(alpha, str):
        alphas = _best_alphas(moments, values, names, unit, cv)
    else:
        alphas = np.full(moments.m, alpha)
    result = lasso_gram(moments.R, _prices(moments, unit, alphas))
    if not result.converged:
        warn(
            f"the lasso of some column stopped at a KKT violation of {result.violation:.1e}: "
            "columns are nearly collinear. Drop one of them, or raise alpha.",
            ConvergenceWarning,
        )
    return result.x


def _prices(moments: Moments, unit: Array, alpha: Array) -> Array:
    """Rows of prices in canonical places; ``unit[i, j]`` is 0, 1 or infinity for i -> j."""
    return moments.to_canonical(np.minimum(unit * alpha, FORBIDDING_PRICE))


def _best_alphas(
    moments: Moments, values: Array, names: list[str], unit: Array, cv: Folds
) -> Array:
    """Penalty of the smallest held-out error for each variable, in the user's order."""
    alphas = grid(moments)
    error = np.zeros((len(alphas), moments.m))
    for train, test in folds(cv, len(values)).split(values):
        fold = moments_of(values[train], names)
        # by the moments of training: held-out rows must not shape their own scale
        Z = (values[test] - fold.mean) / fold.sd
        B = None
        for k, alpha in enumerate(alphas):
            # from the solution of the next larger alpha, which is near
            B = lasso_gram(fold.R, _prices(fold, unit, np.full(fold.m, alpha)), start=B).x
            error[k] += np.square(Z - Z @ fold.to_user(B)).sum(axis=0)
    return alphas[np.argmin(error, axis=0)]
