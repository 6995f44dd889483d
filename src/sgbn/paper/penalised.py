"""The base class of OR-SGBN and H-SGBN. Their L1 penalty is given, or a criterion chooses it.

Units, strengths and initial weights for the penalties of OR-SGBN and H-SGBN.

The choice of alpha by an information criterion or by cross-validation.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning as ConvergenceWarning  # exported from here

from sgbn.core.moments import Moments, moments_of
from sgbn.core.problems import InputError, Problem
from sgbn.core.types import Array, Indices
from sgbn.core.validation import (
    FOLDS,
    JOBS,
    NONE,
    POSITIVE,
    TRUTH,
    ListOf,
    OneOf,
    Whole,
    allowed,
    warn_about_ties,
)
from sgbn.learn.base import Arrows, NetworkEstimator, least_squares
from sgbn.learn.knowledge import Knowledge
from sgbn.learn.lasso import (
    TOL,
    Folds,
    SolverResult,
    folds,
    grid,
    lasso_gram,
    penalty_units,
    residual_variances,
)
from sgbn.paper.l1mb import inverse_gram, neighbourhoods_by_bic
from sgbn.runs.tasks import parallel

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
    if init == "l1mb":
        return SolverResult(neighbourhoods_by_bic(R, m, moments.n), 1, 0.0, True)
    # The least-squares weights of each variable on all others. A singular R gets a small ridge.
    exact = inverse_gram(R)
    precision = np.linalg.inv(R + RIDGE * np.eye(len(R))) if exact is None else exact
    # With K the inverse of R, the weight of k in the regression of j on all others is -K_jk / K_jj.
    B: Array = -precision / np.diag(precision)[:, None]
    np.fill_diagonal(B, 0.0)
    return SolverResult(B[:m], 1, 0.0, True)


CRITERIA = ("bic", "ebic", "cv_error", "cv_likelihood")


ROWS_PER_PARENT = 3  # for BIC and EBIC, a variable may have at most n / 3 parents


class Choice(NamedTuple):
    """The chosen alpha, the values it was chosen from, and the criterion at each of them.

    A smaller criterion is better.
    """

    alpha: float
    alphas: Array
    criterion: Array


def select_alpha(
    estimator: PenalizedEstimator, X: Array, moments: Moments, names: list[str]
) -> Choice:
    """Return the alpha with the smallest criterion, and the criterion on the whole grid.

    If the smallest criterion occurs several times, the largest alpha is chosen, which gives the
    sparsest network. ``estimator.alpha`` names the criterion:

    - ``"bic"``, ``"ebic"``: the sum over the variables of n log(RSS / n) + k (log n + 2 gamma log
      m), after a least-squares refit on the k chosen parents. There are n samples of m variables;
      gamma is 0 for BIC and 0.5 for EBIC. Networks in which a variable has more than n / 3 parents
      are left out: they fit noise, and no penalty of this kind outweighs this.
    - ``"cv_error"``: the squared error of predicting each variable from its parents in held-out
      rows, in units of its variance.
    - ``"cv_likelihood"``: minus the log-likelihood of held-out rows.
    """
    if estimator.alphas is None:
        alphas = grid(moments, standardize=estimator.standardize)
    else:
        alphas = np.sort(np.array(estimator.alphas, dtype=np.float64))[::-1]
    if estimator.alpha in ("bic", "ebic"):
        gamma = 0.5 if estimator.alpha == "ebic" else 0.0
        at_alpha = partial(_information_criterion, estimator, moments, gamma, names)
        criterion = np.array(parallel(at_alpha, alphas, estimator.n_jobs))
    else:
        splitter = folds(estimator.cv, len(X))
        tasks = [(alpha, *rows) for alpha in alphas for rows in splitter.split(X)]
        losses = parallel(partial(_held_out_loss, estimator, X, names), tasks, estimator.n_jobs)
        criterion = np.reshape(losses, (len(alphas), -1)).mean(axis=1)
    # The alphas fall, and argmin takes the first of equal values: the largest alpha.
    return Choice(float(alphas[np.argmin(criterion)]), alphas, criterion)


def _information_criterion(
    estimator: PenalizedEstimator, moments: Moments, gamma: float, names: list[str], alpha: float
) -> float:
    """Return the BIC (gamma = 0) or EBIC of the network learned at one alpha."""
    n, m = moments.n, moments.m
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the final fit repeats them
        B = estimator.learn_weights(moments, alpha).B
        n_parents = np.count_nonzero(B[:, :m], axis=1)
        # Infinite and not an error, because larger alphas of the grid can still be chosen.
        if ROWS_PER_PARENT * n_parents.max() > n:
            return np.inf
        B = least_squares(moments, B, names)
    # Without this limit, a perfect fit would have a criterion of minus infinity.
    share = np.maximum(residual_variances(moments.R, B), np.finfo(float).eps)
    price = np.log(n) + 2 * gamma * np.log(m)
    return float(n * np.log(share).sum() + price * n_parents.sum())


def _held_out_loss(
    estimator: PenalizedEstimator, X: Array, names: list[str], task: tuple[float, Indices, Indices]
) -> float:
    """Return the loss on held-out rows of the network learned from the other rows at one alpha."""
    alpha, train, test = task
    learner = clone(estimator).set_params(alpha=alpha)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the final fit repeats them
        try:
            moments = learner.moments(X[train], names)
            network = learner.learn(moments, X[train], names).network_
        except InputError as error:
            raise InputError("alpha.fold", n=len(train), cause=error).says(
                "in a fold of {n:training row}, {cause}",
                "Or use more folds ({cv=}), or {alpha='ebic'}.",
            ) from error
    if estimator.alpha == "cv_likelihood":
        return -float(network.log_likelihood(X[test]).mean())
    # In units of each variable's variance, so that columns with large units do not dominate.
    squared = network.residuals(X[test]) ** 2
    return float((squared / X.var(axis=0)).sum(axis=1).mean())


OBJECTIVE_STEP = np.dtype([("penalty", float), ("objective", float)])


class Learned(NamedTuple):
    """The result of a learning function, with the variables in the canonical order.

    Attributes
    ----------
    B : ndarray of shape (m, p)
        Row ``B[j]`` holds the weights of the parents of j, for variables divided by their scale.
    n_iter : int
        Number of steps.
    objective_path : list of (float, float)
        The penalty for breaking the order, and the objective, of each step.
    violation : float
        The largest violation of the optimality conditions of the lasso.
    converged : bool
        Whether the last steps changed nothing.
    """

    B: Array
    n_iter: int
    objective_path: list[tuple[float, float]]
    violation: float
    converged: bool


@dataclass(eq=False, repr=False)
class PenalizedEstimator(NetworkEstimator):
    """The base class of the learners with an L1 penalty `alpha`."""

    alpha: float | str = allowed(0.1, OneOf(*CRITERIA) | POSITIVE)
    _: KW_ONLY
    init: str = allowed("lasso", OneOf(*INITS))
    standardize: bool = allowed(True, TRUTH)
    penalize_intercept: bool = allowed(False, TRUTH)
    refit: bool = allowed(False, TRUTH)
    alphas: ArrayLike | None = allowed(None, NONE | ListOf(POSITIVE))
    cv: Folds = allowed(5, FOLDS)
    max_iter: int = allowed(100, Whole(1))
    n_jobs: int | None = allowed(None, JOBS)
    _knowledge = cast(Knowledge | None, None)

    @abstractmethod
    def learn_weights(self, moments: Moments, alpha: float) -> Learned:
        """Learn the weights for one alpha."""

    def moments(self, values: Array, names: list[str]) -> Moments:
        """Return the moments, with a bias if the intercept is penalised."""
        return moments_of(values, names, bias=self.penalize_intercept)

    def learn(self, moments: Moments, values: Array, names: list[str]) -> Self:
        """Choose alpha if it is a criterion, learn the weights, and store the network."""
        # With a number as alpha, these would be left from an earlier fit.
        for stale in ("alphas_", "criterion_path_"):
            self.__dict__.pop(stale, None)
        if isinstance(self.alpha, str):
            choice = select_alpha(self, values, moments, names)
            self.alpha_, self.alphas_, self.criterion_path_ = choice
        else:
            self.alpha_ = float(self.alpha)
        self._keep(moments, self.learn_weights(moments, self.alpha_), names)
        return self

    def _check_together(self) -> None:
        """Raise InputError if two parameters contradict each other."""
        if self.penalize_intercept and self.standardize:
            raise InputError("intercept.centred").says(
                "{penalize_intercept=True} has no effect on columns that are centred",
                "Give {standardize=False}, with data that were standardised across the groups.",
            )

    def _keep(self, moments: Moments, learned: Learned, names: list[str]) -> None:
        """Store what was learned, and warn if the learning stopped early or was ambiguous."""
        # Collinear columns come first: more iterations would not help against them.
        if learned.violation > TOL:
            Problem("lasso.not-optimal", error=learned.violation, least=TOL).warn(
                "a lasso stopped before its optimum, at {error:.1e} (tolerance {least:.0e})",
                "Drop nearly collinear columns, or raise {alpha=}.",
                ConvergenceWarning,
            )
        elif not learned.converged:
            Problem("order.not-fixed", n=learned.n_iter, learner=type(self).__name__).warn(
                "{learner:s} stopped after {n:iteration}, although order and weights still changed",
                "Increase {max_iter=}.",
                ConvergenceWarning,
            )
        units = penalty_units(moments, self.standardize)
        warn_about_ties(moments, learned.B, np.sqrt(self.alpha_) * units, names)
        B = least_squares(moments, learned.B, names) if self.refit else learned.B
        self._store(moments, B, names, Arrows(moments.to_user(B[:, : moments.m]), self._knowledge))
        self.n_iter_ = learned.n_iter
        self.objective_path_ = np.array(learned.objective_path, dtype=OBJECTIVE_STEP)
