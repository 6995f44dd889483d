r"""A lasso of every variable on the variables before it in an order, for weights that predict well.

.. math:: \min_{\theta_j} \frac{1}{2n} \|x_j - X \theta_j\|^2 + \alpha_j \|\theta_j\|_1
          \quad \text{over } \{k : k \text{ before } j\}

There are n samples, :math:`x_j` is the column of variable j, :math:`\theta_j` holds the weights of
its parents k, and :math:`\alpha_j` is its penalty.
"""

from __future__ import annotations

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sgbn.core.exceptions import warn
from sgbn.core.graph import known_order
from sgbn.core.moments import Moments, moments_of
from sgbn.core.types import Array, Mask
from sgbn.solvers.lasso import lasso_gram
from sgbn.structure.knowledge import Knowledge
from sgbn.structure.selection import Folds, folds, grid

FORBIDDING_PRICE = 2.0  # forces a weight of 0: with columns of unit scale, 1 is enough


def lasso_along_order(
    alpha: float | str,
    cv: Folds,
    moments: Moments,
    values: Array,
    names: list[str],
    graph: Mask,
    knowledge: Knowledge,
) -> Array:
    """Return the weights of a lasso along the order of a DAG, as rows in the canonical order.

    Row j holds the weights of the parents of variable j.

    Parameters
    ----------
    alpha : float or "cv"
        The penalty. "cv" chooses one for each variable by its squared error in held-out rows.
    cv : int or splitter
        Folds for ``alpha="cv"``.
    moments, values, names
        The moments of the sample, its rows, and the names of its columns.
    graph : ndarray of shape (m, m), bool
        The learned DAG in the user's order of columns. Only the order of its nodes counts.
    knowledge : Knowledge
        Prior knowledge. Forbidden edges get no weight, and required edges are not penalised.
    """
    place = np.empty(moments.m)
    # Known directions count for the order even if the DAG lacks the edge: the lasso may add it.
    order = known_order(graph, knowledge.directions, np.argsort(moments.columns))
    place[order] = np.arange(moments.m)
    # Prices in units of alpha: 1 for variables that come before, infinity for all others.
    unit = np.where(knowledge.allowed & (place[:, None] < place), 1.0, np.inf)
    # A price of 0, so that the lasso has no reason to leave out a required edge.
    unit[knowledge.required] = 0.0
    if isinstance(alpha, str):
        alphas = _best_alphas(moments, values, names, unit, cv)
    else:
        alphas = np.full(moments.m, alpha)
    result = lasso_gram(moments.R, _prices(moments, unit, alphas))
    if not result.converged:
        warn(
            "the lasso of at least one column stopped before its optimum, at a KKT violation of "
            f"{result.violation:.1e}, because some columns are nearly collinear. Drop one of these "
            "columns, or raise alpha.",
            ConvergenceWarning,
        )
    return result.x


def _prices(moments: Moments, unit: Array, alpha: Array) -> Array:
    """Return the prices as rows of parents in the canonical order.

    ``unit[i, j]`` is the price of i -> j in units of alpha: 0, 1 or infinity.
    """
    return moments.to_canonical(np.minimum(unit * alpha, FORBIDDING_PRICE))


def _best_alphas(
    moments: Moments, values: Array, names: list[str], unit: Array, cv: Folds
) -> Array:
    """Return for each variable, in the user's order, the penalty of the smallest held-out error."""
    alphas = grid(moments)
    error = np.zeros((len(alphas), moments.m))
    for train, test in folds(cv, len(values)).split(values):
        fold = moments_of(values[train], names)
        # Scaled by the training rows: held-out rows must not have a part in their own scale.
        Z = (values[test] - fold.mean) / fold.sd
        B = None
        for k, alpha in enumerate(alphas):
            # It starts from the solution of the next larger alpha, which is similar.
            B = lasso_gram(fold.R, _prices(fold, unit, np.full(fold.m, alpha)), start=B).x
            error[k] += np.square(Z - Z @ fold.to_user(B)).sum(axis=0)
    return alphas[np.argmin(error, axis=0)]
