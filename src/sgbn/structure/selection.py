"""The choice of alpha by an information criterion or by cross-validation."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.base import clone

from sgbn.core.exceptions import InputError
from sgbn.core.moments import Moments
from sgbn.core.types import Array, Indices
from sgbn.learn.base import least_squares
from sgbn.learn.lasso import folds, grid, residual_variances
from sgbn.runs.tasks import parallel

if TYPE_CHECKING:
    from sgbn.structure.penalized import PenalizedEstimator


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
            raise InputError(
                f"alpha={estimator.alpha!r} could not learn from the {len(train)} training rows of "
                f"one fold: {error} Or use more folds (cv=), or alpha='ebic'."
            ) from error
    if estimator.alpha == "cv_likelihood":
        return -float(network.log_likelihood(X[test]).mean())
    # In units of each variable's variance, so that columns with large units do not dominate.
    squared = network.residuals(X[test]) ** 2
    return float((squared / X.var(axis=0)).sum(axis=1).mean())
