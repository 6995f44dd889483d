r"""H-SGBN: a sparse network by block coordinate descent (Huang et al. 2013; Section 2.1).

.. math:: \min_\Theta \sum_i \tfrac12 \|x_i - PA_i^T \theta_i\|^2 + \lambda_1 \|\theta_i\|_1
          + \lambda_2 \sum_j P_{ij} |\Theta_{ji}|

Here P_ij = 1 if a directed path leads from i to j. This is Eq. 2.1 with its constraint as a
penalty; the other symbols are those of docs/conventions.md. The columns are solved one at a time,
each by a lasso. Before column i is solved, the paths from node i (row i of P) are searched again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sgbn.core.moments import Moments
from sgbn.learn.lasso import Folds, penalty_units
from sgbn.structure.penalized import Learned, PenalizedEstimator
from sgbn.structure.penalties import initial_weights, penalty_path, strongest_penalty
from sgbn.structure.reachability import sweep_columns


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
    >>> from sgbn import HSGBN
    >>> rng = np.random.default_rng(0)
    >>> a = rng.standard_normal((500, 3))
    >>> a[:, 2] += a[:, 0] + a[:, 1]
    >>> HSGBN(alpha=0.1).fit(a).network_
    GaussianNetwork(3 variables, 2 edges)
    """

    def __init__(
        self,
        alpha: float | str = 0.1,
        *,
        init: str = "l1mb",
        standardize: bool = True,
        penalize_intercept: bool = False,
        refit: bool = False,
        alphas: ArrayLike | None = None,
        cv: Folds = 5,
        max_iter: int = 100,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.init = init
        self.standardize = standardize
        self.penalize_intercept = penalize_intercept
        self.refit = refit
        self.alphas = alphas
        self.cv = cv
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def learn_weights(self, moments: Moments, alpha: float) -> Learned:
        """Learn one variable after the other, with a rising penalty for cycles."""
        units = penalty_units(moments, self.standardize)
        B = initial_weights(
            self.init, moments, units, np.full((moments.m, len(moments.R)), alpha)
        ).x
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
