r"""OR-SGBN: a sparse network whose acyclicity is kept by order variables (Section 4).

.. math:: \min_{\Theta, o, \Upsilon} \sum_i \|x_i - PA_i^T \theta_i\|^2
          + \lambda_1 \|\theta_i\|_1 + \lambda_{dag} \epsilon_i^T |\theta_i|
          \quad \text{s.t.} \quad o_j - o_i \ge \Delta/m - \Upsilon_{ij},\;
          \Upsilon \ge 0,\; 0 \le o \le \Delta

This is Eq. 4.2, solved by Algorithm 3; :math:`\epsilon_i` is column i of :math:`\Upsilon`. With
Delta = m and divided by 2n it becomes
:math:`\frac{1}{2n} RSS + \sum_{ij} (\alpha + \mu \Upsilon_{ij}) |\Theta_{ij}|`, in which
alpha = lambda_1 / 2n and mu = lambda_dag / 2n. Two steps alternate: the weights are solved for a
fixed order (`sgbn.learn.lasso`), and the order is solved for fixed weights
(`sgbn.solvers.order`). The other symbols are those of docs/conventions.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgbn.core.jit import jit, jit_inside
from sgbn.core.moments import Moments
from sgbn.core.types import Array, Indices
from sgbn.core.validation import ANYTHING, OneOf, Parameters
from sgbn.learn.knowledge import KNOWLEDGE, Edges, Knowledge, Tiers, read_knowledge
from sgbn.learn.lasso import Folds, column_objective, penalty_units, solve_column
from sgbn.solvers.order import solve_order
from sgbn.structure.penalized import Learned, PenalizedEstimator
from sgbn.structure.penalties import initial_weights, penalty_path, strongest_penalty


@jit_inside
def _prices(A, mu, o, units, j, w):  # type: ignore[no-untyped-def]
    """Fill ``w[k]`` with the price of k -> j, which is A_jk + mu Upsilon_kj, in solver units.

    A variable without an order variable is the bias, which breaks no order.
    """
    for k in range(w.size):
        # Upsilon_kj is the amount by which o_j - o_k is below 1, the smallest step of integers.
        gap = 1 - (o[j] - o[k]) if k < o.size else 0
        w[k] = (A[j, k] + mu * max(gap, 0)) * units[j] * units[k]


@jit_inside
def _still_optimal(b, w, w_old):  # type: ignore[no-untyped-def]
    """Return whether `b`, optimal for the prices `w_old`, must be optimal for the prices `w`.

    This holds if the prices of all edges in `b` are the same, and no other price has fallen.
    """
    for k in range(b.size):
        if w[k] < w_old[k] or (b[k] != 0.0 and w[k] != w_old[k]):
            return False
    return True


@jit
def _lasso_step(R, A, mu, o, mu_old, o_old, units, B, fresh):  # type: ignore[no-untyped-def]
    """Solve the rows of `B` in place for the order `o` and the penalty `mu`.

    Unless `fresh`, `B` is optimal for `o_old` and `mu_old`, and rows that must stay optimal are
    skipped. Return the objective and the worst KKT violation.
    """
    m, p = B.shape
    w = np.empty(p)
    w_old = np.empty(p)
    total = 0.0
    worst = 0.0
    for j in range(m):
        _prices(A, mu, o, units, j, w)
        _prices(A, mu_old, o_old, units, j, w_old)
        # The prices of most columns do not change from one order to the next.
        if fresh or not _still_optimal(B[j], w, w_old):
            _, violation = solve_column(R, j, w, B[j])
            worst = max(worst, violation)
        # Solver units differ by column: the terms are added up in the units of the penalty.
        total += column_objective(R, j, w, B[j]) / units[j] ** 2
    return total, worst


@jit
def _edges(B, units):  # type: ignore[no-untyped-def]
    """Return the tails k, the heads j and the weights of the edges k -> j in the rows `B`.

    A weight is |Theta_kj| in the units of the penalty.
    """
    m = B.shape[0]
    # The edges are counted first, because the arrays need their length before they are filled.
    size = 0
    for j in range(m):
        for k in range(m):
            size += B[j, k] != 0.0
    tails = np.empty(size, np.int64)
    heads = np.empty(size, np.int64)
    weights = np.empty(size)
    e = 0
    for j in range(m):
        for k in range(m):
            if B[j, k] != 0.0:
                tails[e], heads[e] = k, j
                weights[e] = abs(B[j, k]) * units[k] / units[j]
                e += 1
    return tails, heads, weights


class _Alternation:
    """The alternation of weights and order. It keeps its state from one penalty to the next.

    Parameters
    ----------
    R : ndarray of shape (p, p)
        Gram matrix with a unit diagonal.
    units : ndarray of shape (p,)
        Result of `penalty_units`.
    A : ndarray of shape (m, p)
        ``A[j, k]`` is the price of k -> j if the edge does not break the order.
    required : ndarray of shape (r, 2)
        Pairs (j, k) for the r required edges k -> j.
    B : ndarray of shape (m, p)
        Weights to start from; changed in place.
    fresh : bool
        Whether the first step has to solve all rows, because `B` is not the optimum for mu = 0.
    """

    def __init__(
        self,
        R: Array,
        units: Array,
        A: Array,
        required: Indices,
        B: Array,
        fresh: bool,
    ) -> None:
        self.R, self.units, self.A, self.required = R, units, A, required
        self.B, self.fresh = B, fresh
        # The penalty and the order for which B is optimal; mu = 0 is the lasso without an order.
        self.solved_for = (0.0, np.zeros(len(B), np.int64))
        self.order = self._solve_order()
        self.steps: list[tuple[float, float]] = []
        self.violation = 0.0

    def _solve_weights(self, mu: float) -> None:
        """Solve the weights for the current order, and record the objective."""
        value, violation = _lasso_step(
            self.R, self.A, mu, self.order, *self.solved_for, self.units, self.B, self.fresh
        )
        self.fresh = False
        self.solved_for = (mu, self.order)
        self.steps.append((mu, value))
        self.violation = max(self.violation, violation)

    def converge(self, mu: float, max_iter: int) -> bool:
        """Alternate at one penalty until the order stays the same; return whether it did."""
        for _ in range(max_iter):
            self._solve_weights(mu)
            before, self.order = self.order, self._solve_order()
            if np.array_equal(before, self.order):
                return True
        return False

    def _solve_order(self) -> NDArray[np.int64]:
        """Return the best order for the current weights; store their edges."""
        self.edges = tails, heads, weights = _edges(self.B, self.units)
        if self.required.size:
            # One required edge weighs more than all learned edges together, so that the best order
            # never breaks one.
            decisive = np.full(len(self.required), 1.0 + 2.0 * weights.sum())
            tails = np.concatenate([tails, self.required[:, 1]])
            heads = np.concatenate([heads, self.required[:, 0]])
            weights = np.concatenate([weights, decisive])
        return solve_order(tails, heads, weights, len(self.B)).x

    def is_dag(self) -> bool:
        """Return whether no edge breaks the order; then a stronger penalty changes nothing."""
        tails, heads, _ = self.edges
        return bool(np.all(self.order[heads] > self.order[tails]))


class ORSGBN(PenalizedEstimator):
    r"""Sparse Gaussian Bayesian network by order variables (OR-SGBN).

    It minimises, over the weights and over orders that no edge may break,

    .. math:: \sum_j \frac{1}{2n} \|x_j - \theta_{0j} - X \theta_j\|^2 + \alpha \|\theta_j\|_1

    It alternates between a lasso for a given order and the best order for given weights. The result
    is always a DAG. It does not depend on the order of the columns and, with `standardize`, it does
    not depend on their units. Paper: Section 4, Algorithm 3.

    Parameters
    ----------
    alpha : float or {"bic", "ebic", "cv_error", "cv_likelihood"}, default=0.1
        Sparsity, as in scikit-learn's `Lasso`; the paper's lambda_1 is 2 n alpha. A text names the
        criterion that chooses alpha from `alphas`: BIC or EBIC of the refitted network,
        cross-validated prediction error, or cross-validated likelihood.
    path : {"homotopy", "literal"}, default="homotopy"
        "homotopy" raises the penalty for breaking the order step by step, and alternates within
        each step, as the text of the paper describes. It stops as soon as the network is a DAG,
        because a stronger penalty would then change nothing. "literal" is Algorithm 3 as printed:
        the order is fixed while the penalty rises, so that only the strongest penalty has an
        effect.
    init : {"lasso", "ols", "l1mb"}, default="lasso"
        Weights from which the first order is computed: a lasso at `alpha`, least squares of each
        variable on all others, or the first stage of L1MB. For each variable, the first stage of
        L1MB takes the lasso support with the best BIC, and refits its weights. The paper names all
        three.
    standardize : bool, default=True
        Whether to divide columns by their standard deviation (ddof=0) before learning. Use False
        for raw scales, or for groups that were standardised together.
    penalize_intercept : bool, default=False
        Whether the L1 norm includes the intercept, which is the literal reading of the paper's
        bias node. It needs ``standardize=False``.
    refit : bool, default=False
        Whether to replace the weights of the lasso by least squares on the chosen parents.
    forbidden, required, tiers : optional
        Prior knowledge, as in `SGBN`. Required edges are not penalised.
    alphas : array-like, optional
        Values of alpha that a criterion chooses from; by default 20 values from `alpha_max`
        downwards.
    cv : int or splitter, default=5
        Folds for the cross-validated criteria.
    max_iter : int, default=100
        The largest number of alternations at one penalty; 2 or 3 are usual.
    n_jobs : int, optional
        Number of processes for the choice of alpha. The result does not depend on it.

    Attributes
    ----------
    coef_ : ndarray of shape (m, m)
        ``coef_[i, j]`` is the weight of i -> j in the units of the data.
    coef_std_ : ndarray of shape (m, m)
        The same weights per standard deviation.
    intercept_, noise_variance_ : ndarray of shape (m,)
        Intercepts and noise variances in the units of the data. A variance is the residual sum of
        squares divided by n - k, where k counts the parents and the intercept.
    order_ : ndarray of shape (m,)
        Order variables in whole numbers: ``order_[j] > order_[i]`` for every edge i -> j.
        `sgbn.certifies_dag` checks them.
    cpdag_, edge_kinds_
        What decides the directions, as in `SGBN`.
    network_ : GaussianNetwork
        The learned network.
    alpha_ : float
        The alpha used. With a criterion there are also `alphas_` (the values it chose from) and
        `criterion_path_` (the criterion at each; smaller is better).
    n_iter_ : int
        Number of lasso steps, over all penalties.
    objective_path_ : ndarray of records (penalty, objective)
        The penalty of each lasso step (divided by 2n), and the objective after it (Eq. 4.2 divided
        by 2n). At the same penalty the objective never rises.
    n_features_in_, feature_names_in_
        As in all estimators of scikit-learn.

    Notes
    -----
    If several orders are equally good, each variable takes the lowest level that an optimal order
    allows. Variables on the same level are not joined. So a sample of only two variables gives an
    empty network: their weights are equal in both directions, and the data do not say which
    variable comes first.

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn import ORSGBN
    >>> rng = np.random.default_rng(0)
    >>> a = rng.standard_normal((500, 3))
    >>> a[:, 2] += a[:, 0] + a[:, 1]
    >>> learner = ORSGBN(alpha=0.1).fit(a)
    >>> learner.network_
    GaussianNetwork(3 variables, 2 edges)
    >>> learner.order_[[0, 1]].tolist()  # x0 and x1 are not joined: they share a level
    [1, 1]
    """

    _parameters: ClassVar[Parameters] = {
        "path": OneOf("homotopy", "literal"),
        **dict.fromkeys(KNOWLEDGE, ANYTHING),  # read_knowledge checks it
    }

    def __init__(
        self,
        alpha: float | str = 0.1,
        *,
        path: str = "homotopy",
        init: str = "lasso",
        standardize: bool = True,
        penalize_intercept: bool = False,
        refit: bool = False,
        forbidden: Edges | None = None,
        required: Edges | None = None,
        tiers: Tiers | None = None,
        alphas: ArrayLike | None = None,
        cv: Folds = 5,
        max_iter: int = 100,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.path = path
        self.init = init
        self.standardize = standardize
        self.penalize_intercept = penalize_intercept
        self.refit = refit
        self.forbidden = forbidden
        self.required = required
        self.tiers = tiers
        self.alphas = alphas
        self.cv = cv
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def learn(self, moments: Moments, values: Array, names: list[str]) -> Self:
        """Read the prior knowledge, and learn as `PenalizedEstimator` does."""
        self._knowledge: Knowledge = read_knowledge(
            self.forbidden, self.required, self.tiers, names
        )
        return super().learn(moments, values, names)

    def learn_weights(self, moments: Moments, alpha: float) -> Learned:
        """Learn weights and order in turn, with a rising penalty for edges that break the order."""
        units = penalty_units(moments, self.standardize)
        allowed, required = self._knowledge.rows(moments)
        A = np.full((moments.m, len(moments.R)), alpha)
        # A price that no forbidden edge is worth in any order. It is finite, so that all steps of
        # the lasso are finite as well.
        A[:, : moments.m][~allowed] = alpha + 2.0 * strongest_penalty(units, alpha)
        A[:, : moments.m][required] = 0.0
        penalties = self._penalties(strongest_penalty(units, alpha))
        start = initial_weights(self.init, moments, units, A)
        # Least squares and L1MB do not use the prices: their forbidden weights are removed here.
        start.x[:, : moments.m][~allowed] = 0.0
        # Only the lasso starts at the optimum for mu = 0, so that the first step can skip columns.
        is_lasso = self.init == "lasso" and start.converged
        state = _Alternation(
            moments.R, units, A, np.argwhere(required), start.x, fresh=not is_lasso
        )
        converged = True
        for mu in penalties:
            converged = state.converge(mu, self.max_iter)
            if state.is_dag():
                break
        return Learned(state.B, len(state.steps), state.steps, state.violation, converged)

    def _penalties(self, strongest: float) -> Iterable[float]:
        """Return the penalties for breaking the order, which are used one after the other."""
        return [strongest] if self.path == "literal" else penalty_path(strongest)
