r"""How well models of one group predict rows that they were not fitted to.

Each model is fitted to the training part of a fold and gives a Gaussian density of the other rows.
Effects of sites and covariates, means and standard deviations come from the training part too, so
that a model learns a correlation matrix only. Reported is the log-likelihood per variable,

.. math:: \frac{1}{n m} \sum_i \log N(z_i; 0, \Sigma) =
          -\tfrac12 \left[ \log 2 \pi + \tfrac1m \log |\Sigma|
          + \tfrac1m \operatorname{tr}(T \Sigma^{-1}) \right],

with T the mean of :math:`z z^T` over the rows that were left out. Independent variables have about
-1.42 (the entropy of a standard normal), and a better model has more.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.covariance import graphical_lasso
from sklearn.exceptions import ConvergenceWarning

from sgbn.exceptions import InputError, counted, listed
from sgbn.inference.factor_analysis import factor_analysis, most_factors
from sgbn.inference.learning import learn_part
from sgbn.inference.rows import NOTHING_LEFT, too_few
from sgbn.moments import moments_of, one_blas_thread
from sgbn.runs import Arrays
from sgbn.structure.base import NetworkEstimator
from sgbn.structure.ensemble.splits import deal_rows
from sgbn.structure.nuisance import DEPENDENT, column_lengths
from sgbn.structure.samples import Sample
from sgbn.types import Array, Indices, Mask
from sgbn.validation import FEW_SAMPLES, combined_columns, copied_columns

MODELS = ("network", "factor analysis", "graphical lasso", "independence")
NETWORK, FACTORS, LASSO, INDEPENDENCE = MODELS

N_FACTORS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15)  # tried; the likelihood is flat between large ones
INNER_FOLDS = 3  # of a training part, to choose the number of factors and the penalty
PATIENCE = 3  # larger numbers that predict no better, after which no more are tried
ROWS_PER_FACTOR = 3  # of an inner training part: fewer leave a factor to chance
PENALTIES = (0.32, 0.16, 0.08, 0.04, 0.02)  # of partial correlations; a finer grid gains 0.002
LASSO_TOL, LASSO_ITER = 1e-2, 30  # duality gap; a tighter one costs time, not likelihood
LASSO_COLUMNS = 250  # beyond it one lasso takes seconds, and there are thirty


def deal(sample: Sample, n_folds: int, rng: np.random.Generator) -> Indices:
    """Fold of each row: sites are spread over the folds evenly, and persons are in one."""
    return deal_rows(rng, len(sample.values), n_folds, sample.strata, sample.units)


def check_sample(sample: Sample) -> None:
    """Refuse rows without a density to compare: constant columns, copies, sums of others."""
    n, m = sample.values.shape
    if most_factors(m) < 1:
        raise InputError(
            f"there are {m} columns, but a hidden factor needs three or more. Give more columns."
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
            "columns are linear combinations of the others, so that the rows have no density to "
            f"compare: {listed(extra)}. Drop them."
        )
    if n < 2 * FEW_SAMPLES:
        remedy = "Give more subjects, or join groups."
        raise InputError(
            too_few("the sample", n, "a comparison of models needs", 2 * FEW_SAMPLES, remedy)
        )


def score_fold(
    sample: Sample, learner: NetworkEstimator, folds: Indices, fold: int, random_state: int
) -> Arrays:
    """Log-likelihood per variable of the rows of a fold, under the models of the other rows.

    Returns
    -------
    dict of str to ndarray
        ``log_likelihood`` in the order of `MODELS` (NaN for a lasso that could not be fitted), and
        ``n_factors``.
    """
    # Stream 0 dealt the folds.
    rng = np.random.default_rng([random_state, 1 + fold])
    train = folds != fold
    fitted, held_out = standardised(sample, train, fold)
    T = held_out.T @ held_out / len(held_out)
    with one_blas_thread():
        # with all rows, as the other models have them: the held-out ones have outliers too
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
    """Training rows and the others, without nuisance effects and in units of training rows.

    The training rows have a variance of one (ddof=1). The others are divided by what is expected of
    new rows, where the effects that were taken out have cost degrees of freedom.
    """
    left, lost = residuals_of_training(sample.values, sample.nuisance, train)
    n = int(train.sum())
    if n - 1 - lost < FEW_SAMPLES:
        raise InputError(
            f"without fold {fold + 1} there are {n} rows to learn from, and sites and covariates "
            f"use up {lost} of them: at least {FEW_SAMPLES} must remain. Name fewer covariates, or "
            "give more rows."
        )
    # Scaled by the training rows, so that the network, the factors and the lasso learn a
    # correlation matrix.
    sd = left[train].std(axis=0, ddof=1)
    gone = np.flatnonzero(sd <= NOTHING_LEFT * sample.values.std(axis=0))
    if len(gone):
        raise InputError(
            f"{listed([sample.names[k] for k in gone])} does not vary among the rows outside of "
            f"fold {fold + 1} once sites and covariates are taken out. Leave it out."
        )
    return left[train] / sd, left[~train] / (sd * np.sqrt((n - 1) / (n - 1 - lost)))


def residuals_of_training(values: Array, design: Array, train: Mask) -> tuple[Array, int]:
    """All rows less the mean and the nuisance effects that the training rows show.

    Effects are least squares of least norm on the centred design: a site without training rows has
    the average effect of the others.

    Returns
    -------
    residuals : ndarray of shape (n, m)
    rank : int
        Degrees of freedom that the effects take of the training rows, beside those of the means.
    """
    left: Array = values - values[train].mean(axis=0)
    # Training rows decide means, slopes and which columns vary: the others must not be seen.
    centred = design - design[train].mean(axis=0)
    lengths, varies = column_lengths(design[train], centred[train])
    centred = centred[:, varies] / lengths[varies]
    slopes, _, rank, _ = np.linalg.lstsq(centred[train], left[train], rcond=DEPENDENT)
    return left - centred @ slopes, int(rank)


def log_likelihood(covariance: Array, T: Array) -> float:
    """Gaussian log-likelihood per variable of rows whose second moments are T."""
    m = len(T)
    # One factor gives the determinant and the trace.
    factor = cho_factor(covariance, lower=True)
    log_det = 2 * np.log(np.diag(factor[0])).sum()
    return float(-0.5 * (np.log(2 * np.pi) + (log_det + np.trace(cho_solve(factor, T))) / m))


def _inner_parts(rows: Array, folds: Indices) -> list[tuple[Array, Array, int]]:
    """Correlation of each inner training part, second moments of its test part, and its rows."""
    parts = []
    for fold in range(INNER_FOLDS):
        fitted, left_out = rows[folds != fold], rows[folds == fold]
        sd = fitted.std(axis=0, ddof=1)
        sd[sd <= NOTHING_LEFT] = 1.0  # a column that only the inner test rows move
        Z, Z_out = ((part - fitted.mean(axis=0)) / sd for part in (fitted, left_out))
        R = Z.T @ Z / (len(Z) - 1)
        # A column without spread in the training rows would have 0 there, and no likelihood.
        np.fill_diagonal(R, 1.0)
        parts.append((R, Z_out.T @ Z_out / len(Z_out), len(Z)))
    return parts


def choose_n_factors(parts: list[tuple[Array, Array, int]]) -> int:
    """Choose the number of factors, of `N_FACTORS`, that predicts the inner test parts best."""
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
            # A fit with fewer factors is a good beginning.
            starts[which] = model.own_variance
            score += log_likelihood(model.covariance, T)
        since += 1
        if score > best:
            best, chosen, since = score, k, 0
    return chosen


def _lasso_score(R: Array, T: Array, parts: list[tuple[Array, Array, int]]) -> float:
    """Held-out log-likelihood of a graphical lasso; NaN where none can be fitted.

    One inner part chooses the penalty, the largest first, until the likelihood falls: small
    penalties cost most and win seldom. Where the solver breaks down at the chosen one, the next
    larger one that works is taken.
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
    """Covariance of a graphical lasso; None where the solver breaks down."""
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
