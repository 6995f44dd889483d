"""The choice of alpha by an information criterion or by cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.model_selection import KFold, check_cv

from sgbn.core.exceptions import InputError
from sgbn.core.moments import Moments, moments_of
from sgbn.core.types import Array, Indices
from sgbn.core.validation import check_values, is_whole
from sgbn.runs.tasks import parallel
from sgbn.solvers.lasso import residual_variances
from sgbn.structure.given_graph import least_squares
from sgbn.structure.penalties import penalty_units

if TYPE_CHECKING:
    from sgbn.structure.penalized import PenalizedEstimator


CRITERIA = ("bic", "ebic", "cv_error", "cv_likelihood")
N_ALPHAS = 20  # number of values in the default grid
ROWS_PER_PARENT = 3  # for BIC and EBIC, a variable may have at most n / 3 parents
# The grid ends at the larger of two values: this share of its first value, ...
LAST_ALPHA_SHARE = 0.01
LAST_ALPHA_SE = 0.5  # ... and its first value times this many standard errors of a correlation


class Splitter(Protocol):
    """A cross-validator of scikit-learn, or another object with the same method `split`."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterable[tuple[Any, Any]]:
        """Return, for each fold, the rows to train on and the rows to test on."""


Folds = int | Splitter | Sequence[tuple[ArrayLike, ArrayLike]]


class Choice(NamedTuple):
    """The chosen alpha, the values it was chosen from, and the criterion at each of them.

    A smaller criterion is better.
    """

    alpha: float
    alphas: Array
    criterion: Array


def alpha_max(X: ArrayLike, standardize: bool = True) -> float:
    """Return the smallest alpha at which the network has no edge.

    It is the largest absolute correlation of two columns, or without `standardize` the largest
    absolute covariance.
    """
    return _alpha_max(moments_of(*check_values(X)), standardize)


def alpha_grid(X: ArrayLike, n_alphas: int = N_ALPHAS, standardize: bool = True) -> Array:
    """Return a geometric grid of alphas from `alpha_max` down to where only noise is added.

    For n samples, the last value is `alpha_max` times 1 %, or times ``0.5 / sqrt(n)`` if this is
    more. ``1 / sqrt(n)`` is the standard error of a correlation.
    """
    return grid(moments_of(*check_values(X)), n_alphas, standardize)


def _alpha_max(moments: Moments, standardize: bool) -> float:
    """Return the `alpha_max` of a sample, from its moments."""
    units = penalty_units(moments, standardize)
    return float(np.triu(np.abs(moments.R) / np.outer(units, units), 1).max())


def grid(moments: Moments, n_alphas: int = N_ALPHAS, standardize: bool = True) -> Array:
    """Return the `alpha_grid` of a sample, from its moments."""
    largest = _alpha_max(moments, standardize) or 1.0  # uncorrelated columns: any grid will do
    share = max(LAST_ALPHA_SHARE, LAST_ALPHA_SE / np.sqrt(moments.n))
    return np.geomspace(largest, share * largest, n_alphas)


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


def folds(cv: Folds, n: int) -> Splitter:
    """Return the folds of n rows as a splitter.

    A number gives that many folds, at most n. They are shuffled with a fixed seed, because rows are
    often sorted by site.
    """
    # check_cv also makes a splitter of a list of folds.
    return check_cv(KFold(min(int(cv), n), shuffle=True, random_state=0) if is_whole(cv) else cv)


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
            raise InputError(
                f"alpha={estimator.alpha!r} could not learn from the {len(train)} training rows of "
                f"one fold: {error} Or use more folds (cv=), or alpha='ebic'."
            ) from error
    if estimator.alpha == "cv_likelihood":
        return -float(network.log_likelihood(X[test]).mean())
    # In units of each variable's variance, so that columns with large units do not dominate.
    squared = network.residuals(X[test]) ** 2
    return float((squared / X.var(axis=0)).sum(axis=1).mean())
