r"""H-SGBN: a sparse network by block coordinate descent (Huang et al. 2013; Section 2.1).

.. math:: \min_\Theta \sum_i \tfrac12 \|x_i - PA_i^T \theta_i\|^2 + \lambda_1 \|\theta_i\|_1
          + \lambda_2 \sum_j P_{ij} |\Theta_{ji}|

Here P_ij = 1 if a directed path leads from i to j. This is Eq. 2.1 with its constraint as a
penalty; the other symbols are those of docs/conventions.md. The columns are solved one at a time,
each by a lasso. Before column i is solved, the paths from node i (row i of P) are searched again.

H-SGBN's lasso of one column at a time, with a penalty on parents that are descendants (Eq. 2.1).

The path matrix P of the paper is never formed. Before a column is solved, its descendants are
searched in the current graph.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sgbn.core.jit import jit, jit_inside
from sgbn.core.moments import Moments
from sgbn.learn.lasso import TOL, column_objective, penalty_units, solve_column
from sgbn.paper.penalised import (
    Learned,
    PenalizedEstimator,
    initial_weights,
    penalty_path,
    strongest_penalty,
)


@dataclass(eq=False, repr=False, kw_only=True)
class HSGBN(PenalizedEstimator):
    r"""Sparse Gaussian Bayesian network by block coordinate descent (H-SGBN).

    .. math:: \min_\Theta \sum_j \frac{1}{2n} \|x_j - \theta_{0j} - X \theta_j\|^2
              + \alpha \|\theta_j\|_1 \quad \text{over DAGs}

    The columns are solved one after the other. A penalty keeps descendants of a variable from
    becoming its parents, and rises until the network is a DAG. **The result depends on the order
    of the columns** (the paper's Exp-I): use `ORSGBN` unless you want to compare with this method.
    Paper: Section 2.1, Eq. 2.1.

    Parameters
    ----------
    alpha : float or {"bic", "ebic", "cv_error", "cv_likelihood"}, default=0.1
        Sparsity as in `ORSGBN`; Huang's lambda_1 is n alpha.
    init : {"lasso", "ols", "l1mb"}, default="l1mb"
        Weights to start from, as in `ORSGBN`. Huang et al. start from the first stage of L1MB.
    standardize, penalize_intercept, refit, alphas, cv, n_jobs
        As in `ORSGBN`.
    max_iter : int, default=100
        The largest number of sweeps over the columns at one penalty.

    Attributes
    ----------
    coef_, coef_std_, intercept_, noise_variance_, order_, network_, alpha_, cpdag_, edge_kinds_
        As in `ORSGBN`; `order_` holds the levels of the learned DAG.
    n_iter_ : int
        Number of sweeps, over all penalties.
    objective_path_ : ndarray of records (penalty, objective)
        The penalty lambda_2 / n of each sweep, and the penalised objective per sample after it. The
        paths change together with the columns, so that the objective may rise before the last
        penalty.

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.paper.h_sgbn import HSGBN
    >>> rng = np.random.default_rng(0)
    >>> a = rng.standard_normal((500, 3))
    >>> a[:, 2] += a[:, 0] + a[:, 1]
    >>> HSGBN(alpha=0.1).fit(a).network_
    GaussianNetwork(3 variables, 2 edges)
    """

    init: str = "l1mb"

    def learn_weights(self, moments: Moments, alpha: float) -> Learned:
        """Learn one variable after the other, with a rising penalty for cycles."""
        units = penalty_units(moments, self.standardize)
        prices = np.full((moments.m, len(moments.R)), alpha)
        B = initial_weights(self.init, moments, units, prices).x
        sweep_order = np.argsort(moments.columns)  # the user's columns from left to right
        steps: list[tuple[float, float]] = []
        for mu in penalty_path(strongest_penalty(units, alpha)):
            for _ in range(self.max_iter):
                n_changed, value, violation = sweep_columns(
                    moments.R, B, alpha, mu, units, sweep_order
                )
                steps.append((mu, value))
                if n_changed == 0:
                    break
        return Learned(B, len(steps), steps, violation, n_changed == 0)


@jit
def _children(B):  # type: ignore[no-untyped-def]
    """Return the children ``children[u, :count[u]]`` of every node u, and the counts."""
    m = B.shape[0]
    # Each list has the fixed length m, because growing lists are slow in numba.
    children = np.empty((m, m), np.int64)
    count = np.zeros(m, np.int64)
    for j in range(m):
        for k in range(m):
            if B[j, k] != 0.0:
                children[k, count[k]] = j
                count[k] += 1
    return children, count


@jit_inside
def _replace_parents(children, count, j, b):  # type: ignore[no-untyped-def]
    """Make j a child of exactly the nodes that are not zero in `b`, in place."""
    for k in range(count.size):
        place = -1
        for c in range(count[k]):
            if children[k, c] == j:
                place = c
        if place < 0 and b[k] != 0.0:
            children[k, count[k]] = j
            count[k] += 1
        elif place >= 0 and b[k] == 0.0:
            # The last child takes the free place, because the order of children does not matter.
            count[k] -= 1
            children[k, place] = children[k, count[k]]


@jit_inside
def _mark_descendants(children, count, i, reached, stack):  # type: ignore[no-untyped-def]
    """Set `reached` to True for the nodes that a directed path from i leads to.

    `stack` is work space: nodes whose children are still to be visited.
    """
    reached[:] = False
    stack[0] = i
    size = 1
    while size > 0:
        size -= 1
        u = stack[size]
        for c in range(count[u]):
            v = children[u, c]
            if not reached[v]:
                reached[v] = True
                stack[size] = v
                size += 1


@jit_inside
def _column_prices(reached, j, alpha, mu, units, w):  # type: ignore[no-untyped-def]
    """Fill ``w[k]`` with the price of k -> j: alpha, plus mu if a path leads from j to k."""
    for k in range(w.size):
        price = alpha + mu if k < reached.size and reached[k] else alpha
        w[k] = price * units[j] * units[k]


@jit
def sweep_columns(R, B, alpha, mu, units, sweep_order):  # type: ignore[no-untyped-def]
    """Solve each row of `B` once, in place, in the order `sweep_order`.

    Paper: Section 2.1, the block coordinate descent on Eq. 2.1.

    Parameters
    ----------
    R : ndarray of shape (p, p)
        Gram matrix with a unit diagonal.
    B : ndarray of shape (m, p)
        Row j holds the weights of the parents of j.
    alpha, mu : float
        The penalty of every edge, and the further penalty of parents that are descendants.
    units : ndarray of shape (p,)
        Result of `penalty_units`.
    sweep_order : ndarray of shape (m,)
        The order in which the columns are solved.

    Returns
    -------
    n_changed : int
        Number of columns that were not optimal before.
    objective : float
        Sum over the columns of the penalised objective per sample. Each column uses the paths at
        the time when it was solved.
    violation : float
        Worst KKT violation that is left.
    """
    m, p = B.shape
    children, count = _children(B)
    reached = np.empty(m, np.bool_)
    stack = np.empty(m, np.int64)
    w = np.empty(p)
    n_changed = 0
    total = 0.0
    worst = 0.0
    for j in sweep_order:
        # The columns before j have new weights already: so the result depends on the order.
        _mark_descendants(children, count, j, reached, stack)
        _column_prices(reached, j, alpha, mu, units, w)
        before = B[j].copy()
        _, violation = solve_column(R, j, w, B[j])
        worst = max(worst, violation)
        moved = 0.0
        for k in range(p):
            moved = max(moved, abs(B[j, k] - before[k]))
        if moved > 0.0:
            _replace_parents(children, count, j, B[j])
        n_changed += moved > TOL  # a smaller change is within the accuracy of the lasso
        total += column_objective(R, j, w, B[j]) / units[j] ** 2
    return n_changed, total, worst


@jit
def descendant_prices(B, alpha, mu, units):  # type: ignore[no-untyped-def]
    """Return the price alpha + mu P_jk of every edge k -> j, with P the path matrix of `B`."""
    m, p = B.shape
    children, count = _children(B)
    reached = np.empty(m, np.bool_)
    stack = np.empty(m, np.int64)
    W = np.empty((m, p))
    for j in range(m):
        _mark_descendants(children, count, j, reached, stack)
        _column_prices(reached, j, alpha, mu, units, W[j])
    return W
