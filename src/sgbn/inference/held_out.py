r"""Scores of how well models of one group predict rows that they were not fitted to.

Each model is fitted to the training part of a fold and gives a Gaussian density of the other rows.
Effects of sites and covariates, means and standard deviations come from the training part too. So a
model learns only a correlation matrix :math:`\Sigma`. The score is the log-likelihood per variable
of the n other rows z with m variables,

.. math:: \frac{1}{n m} \sum_i \log N(z_i; 0, \Sigma) =
          -\tfrac12 \left[ \log 2 \pi + \tfrac1m \log |\Sigma|
          + \tfrac1m \operatorname{tr}(T \Sigma^{-1}) \right],

where T is the mean of :math:`z z^T` over these rows. Independent variables score about -1.42, which
is minus the entropy of a standard normal. A better model scores higher.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.covariance import graphical_lasso
from sklearn.exceptions import ConvergenceWarning

from sgbn.cohort.design import Sample, deal_rows
from sgbn.cohort.effects import DEPENDENT, column_lengths
from sgbn.cohort.rows import NOTHING_LEFT, too_few
from sgbn.core.exceptions import InputError, counted, listed
from sgbn.core.moments import moments_of, one_blas_thread
from sgbn.core.types import Array, Indices, Mask
from sgbn.core.validation import FEW_SAMPLES, combined_columns, copied_columns
from sgbn.inference.factor_analysis import factor_analysis, most_factors
from sgbn.inference.learning import learn_part
from sgbn.learn.base import NetworkEstimator
from sgbn.runs.files import Arrays

MODELS = ("network", "factor analysis", "graphical lasso", "independence")
NETWORK, FACTORS, LASSO, INDEPENDENCE = MODELS

# Numbers of factors to try. The likelihood is flat between large numbers.
N_FACTORS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15)
INNER_FOLDS = 3  # folds of a training part, which choose the number of factors and the penalty
PATIENCE = 3  # stop after this many larger numbers of factors that do not predict better
ROWS_PER_FACTOR = 3  # in an inner training part; with fewer rows, chance decides a factor
PENALTIES = (0.32, 0.16, 0.08, 0.04, 0.02)  # of partial correlations; a finer grid gains 0.002
LASSO_TOL, LASSO_ITER = 1e-2, 30  # duality gap; a smaller one costs time and gains no likelihood
LASSO_COLUMNS = 250  # with more columns, each lasso takes seconds, and thirty are fitted


def deal(sample: Sample, n_folds: int, rng: np.random.Generator) -> Indices:
    """Return the fold of each row. Sites are spread evenly, and a person is in one fold."""
    return deal_rows(rng, len(sample.values), n_folds, sample.strata, sample.units)


def check_sample(sample: Sample) -> None:
    """Raise InputError for too few rows or columns, and for columns that others determine."""
    n, m = sample.values.shape
    if most_factors(m) < 1:
        raise InputError(
            f"there are {m} columns, but a hidden factor needs 3 or more. Give more columns."
        )
    moments = moments_of(sample.values, sample.names)  # refuses constant columns by name
    copies = [(sample.names[i], sample.names[j]) for i, j in copied_columns(moments)]
    if copies:
        first, second = copies[0]
        raise InputError(
            f"columns {first!r} and {second!r} are copies of each other "
            f"({counted(len(copies), 'such pair')}), so that the rows have no density to compare. "
            "Drop one column of each pair."
        )
    extra = sorted(sample.names[k] for k in combined_columns(moments))
    if extra:
        raise InputError(
            "some columns are linear combinations of others, so that the rows have no density to "
            f"compare: {listed(extra)}. Drop these columns."
        )
    if n < 2 * FEW_SAMPLES:
        remedy = "Give more subjects, or join groups."
        raise InputError(
            too_few("the sample", n, "a comparison of models needs", 2 * FEW_SAMPLES, remedy)
        )


def score_fold(
    sample: Sample, learner: NetworkEstimator, folds: Indices, fold: int, random_state: int
) -> Arrays:
    """Return the log-likelihood per variable of the rows of a fold, under each model.

    The models are fitted to the other rows.

    Returns
    -------
    dict of str to ndarray
        ``log_likelihood`` in the order of `MODELS`, NaN for a lasso that could not be fitted, and
        ``n_factors``, the chosen number of factors.
    """
    # Stream 0 of the seed assigned the folds.
    rng = np.random.default_rng([random_state, 1 + fold])
    train = folds != fold
    fitted, held_out = standardised(sample, train, fold)
    T = held_out.T @ held_out / len(held_out)
    with one_blas_thread():
        # is_clean: the learner keeps outliers, as the other models do. Held-out rows have them too.
        seed = int(rng.integers(2**31))
        network = learn_part(learner, fitted, sample.names, seed, is_clean=True).network_
        inner = _inner_parts(fitted, deal(sample.take(train), INNER_FOLDS, rng))
        R: Array = np.atleast_2d(np.corrcoef(fitted.T))
        n_factors = choose_n_factors(inner)
        scores = [
            float(network.log_likelihood(held_out).mean()) / len(R),
            log_likelihood(factor_analysis(R, n_factors).covariance, T),
            _lasso_score(R, T, inner),
            log_likelihood(np.eye(len(R)), T),
        ]
    return {"log_likelihood": np.array(scores), "n_factors": np.array(n_factors)}


def standardised(sample: Sample, train: Mask, fold: int) -> tuple[Array, Array]:
    """Return the training rows and the other rows, without nuisance effects and standardised.

    The training rows have a variance of one (ddof=1). The other rows are divided by the standard
    deviation that is expected of new rows. It is larger, since taking effects out of the training
    rows has cost degrees of freedom.
    """
    left, lost = residuals_of_training(sample.values, sample.nuisance, train)
    n = int(train.sum())
    if n - 1 - lost < FEW_SAMPLES:
        raise InputError(
            f"without fold {fold + 1} there are {n} rows to learn from, and sites and covariates "
            f"use up {lost} of them. At least {FEW_SAMPLES} must remain. Give fewer covariates, or "
            "more rows."
        )
    # Training rows are standardised, so that all models learn a correlation matrix.
    sd = left[train].std(axis=0, ddof=1)
    gone = np.flatnonzero(sd <= NOTHING_LEFT * sample.values.std(axis=0))
    if len(gone):
        raise InputError(
            f"{counted(len(gone), 'column does', 'columns do')} not vary among the rows outside of "
            f"fold {fold + 1} once sites and covariates are taken out. Leave out "
            f"{listed([sample.names[k] for k in gone])}."
        )
    return left[train] / sd, left[~train] / (sd * np.sqrt((n - 1) / (n - 1 - lost)))


def residuals_of_training(values: Array, design: Array, train: Mask) -> tuple[Array, int]:
    """Return all rows minus the mean and the nuisance effects of the training rows.

    Effects are the least-squares solution of least norm on the centred design. So a site without
    training rows has the average effect of the others.

    Returns
    -------
    residuals : ndarray of shape (n, m)
        All rows without mean and effects.
    rank : int
        Degrees of freedom that the effects use up in the training rows, without the means.
    """
    left: Array = values - values[train].mean(axis=0)
    # Only training rows determine means, slopes and which columns vary.
    centred = design - design[train].mean(axis=0)
    lengths, varies = column_lengths(design[train], centred[train])
    centred = centred[:, varies] / lengths[varies]
    slopes, _, rank, _ = np.linalg.lstsq(centred[train], left[train], rcond=DEPENDENT)
    return left - centred @ slopes, int(rank)


def log_likelihood(covariance: Array, T: Array) -> float:
    """Return the Gaussian log-likelihood per variable of rows whose second moments are T."""
    m = len(T)
    # One Cholesky factor gives both the determinant and the trace.
    factor = cho_factor(covariance, lower=True)
    log_det = 2 * np.log(np.diag(factor[0])).sum()
    return float(-0.5 * (np.log(2 * np.pi) + (log_det + np.trace(cho_solve(factor, T))) / m))


def _inner_parts(rows: Array, folds: Indices) -> list[tuple[Array, Array, int]]:
    """Return, for each inner fold, what the choice of a model needs.

    This is the correlation matrix of the training part, the second moments of the test part, and
    the number of training rows.
    """
    parts = []
    for fold in range(INNER_FOLDS):
        fitted, left_out = rows[folds != fold], rows[folds == fold]
        sd = fitted.std(axis=0, ddof=1)
        sd[sd <= NOTHING_LEFT] = 1.0  # a column that varies only in the inner test rows
        Z, Z_out = ((part - fitted.mean(axis=0)) / sd for part in (fitted, left_out))
        R = Z.T @ Z / (len(Z) - 1)
        # A column that is constant in the training rows would have 0 here, and no likelihood.
        np.fill_diagonal(R, 1.0)
        parts.append((R, Z_out.T @ Z_out / len(Z_out), len(Z)))
    return parts


def choose_n_factors(parts: list[tuple[Array, Array, int]]) -> int:
    """Return the number of factors among `N_FACTORS` that predicts the inner test parts best."""
    m, fewest = len(parts[0][0]), min(n for _, _, n in parts)
    most = max(1, min(most_factors(m), fewest // ROWS_PER_FACTOR))
    starts: list[Array | None] = [None] * len(parts)
    best, chosen, since = -np.inf, 1, 0
    for k in N_FACTORS:
        if k > most or since == PATIENCE:
            break
        score = 0.0
        for which, (R, T, _) in enumerate(parts):
            model = factor_analysis(R, k, starts[which])
            # The fit with fewer factors is a good start of the next one.
            starts[which] = model.own_variance
            score += log_likelihood(model.covariance, T)
        since += 1
        if score > best:
            best, chosen, since = score, k, 0
    return chosen


def _lasso_score(R: Array, T: Array, parts: list[tuple[Array, Array, int]]) -> float:
    """Return the held-out log-likelihood of a graphical lasso; NaN if none can be fitted.

    One inner fold chooses the penalty. The largest penalty comes first, and the search stops when
    the likelihood does not rise: small penalties take most time and are seldom the best. If the
    solver fails at the chosen penalty, the next larger penalty that works is used.
    """
    if len(R) > LASSO_COLUMNS:
        return np.nan
    inner_R, inner_T, _ = parts[0]
    best, tried = -np.inf, []
    for penalty in PENALTIES:
        covariance = _lasso(inner_R, penalty)
        score = -np.inf if covariance is None else log_likelihood(covariance, inner_T)
        if score <= best:
            break
        best = score
        tried.append(penalty)
    for penalty in reversed(tried):
        covariance = _lasso(R, penalty)
        if covariance is not None:
            return log_likelihood(covariance, T)
    return np.nan


def _lasso(R: Array, penalty: float) -> Array | None:
    """Return the covariance of a graphical lasso; None if the solver fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            covariance, _ = graphical_lasso(R, penalty, tol=LASSO_TOL, max_iter=LASSO_ITER)
            # The solver may return a matrix that is not positive definite without an error.
            np.linalg.cholesky(covariance)
        except (FloatingPointError, np.linalg.LinAlgError):
            return None
    estimate: Array = covariance
    return estimate
