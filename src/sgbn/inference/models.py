r"""Check whether a network is the right model of the data.

A hidden common cause makes variables dependent that do not act on each other, and a learner then
draws edges between them. Rows that the network was not learned from can show this. Three models
without arrows are compared with the network: a few hidden factors, a graphical lasso (partial
correlations), and independent variables. One of them may predict these rows better.

Scores of how well models of one group predict rows that they were not fitted to.

Each model is fitted to the training part of a fold and gives a Gaussian density of the other rows.
Effects of sites and covariates, means and standard deviations come from the training part too. So a
model learns only a correlation matrix :math:`\Sigma`. The score is the log-likelihood per variable
of the n other rows z with m variables,

.. math:: \frac{1}{n m} \sum_i \log N(z_i; 0, \Sigma) =
          -\tfrac12 \left[ \log 2 \pi + \tfrac1m \log |\Sigma|
          + \tfrac1m \operatorname{tr}(T \Sigma^{-1}) \right],

where T is the mean of :math:`z z^T` over these rows. Independent variables score about -1.42, which
is minus the entropy of a standard normal. A better model scores higher.

Maximum-likelihood factor analysis of a correlation matrix.

Every variable is the sum of a few hidden factors with loadings :math:`\Lambda` and of its own
noise. So the implied covariance is :math:`\Sigma = \Lambda \Lambda^T + \Psi` with a diagonal matrix
:math:`\Psi` of own variances :math:`\psi_j`. For the correlation matrix R, the fit minimises

.. math:: F(\Lambda, \Psi) = \log |\Sigma| + \operatorname{tr}(R \Sigma^{-1}).

For a given :math:`\Psi` the best loadings are known (Joreskog, 1967). With the largest eigenvalues
:math:`w` and their eigenvectors :math:`V` of :math:`\Psi^{-1/2} R \Psi^{-1/2}`, they are
:math:`\Lambda = \Psi^{1/2} V (w - 1)_+^{1/2}`. What remains is a smooth problem in
:math:`\log \psi`, with the gradient :math:`((\Lambda \Lambda^T + \Psi - R)_{jj} / \psi_j)_j`.

A check of which edges of a network stay when hidden factors are taken out of the data.

A factor analysis of the n rows splits their correlation matrix R into two parts. k hidden factors
with the loadings :math:`\Lambda` explain the part :math:`\Lambda \Lambda^T`. The rest,
:math:`E = R - \Lambda \Lambda^T`, is the covariance of the variables given the factors. The
weights of region j's parents P, refitted beside the factors, are

.. math:: \theta = E_{PP}^{-1} E_{Pj}, \qquad
          s^2 = E_{jj} - E_{jP} \theta, \qquad
          \operatorname{se}_i^2 = \frac{s^2 (E_{PP}^{-1})_{ii}}{n - 1 - |P| - k},

where :math:`s^2` is the noise variance of j and se the standard error of a weight. Each column of
sites and covariates that was taken out before lowers the divisor by one more. This is least squares
with the factors as further regressors. An edge stays if its refitted weight has the same sign as in
the network and its interval does not include 0.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.optimize import minimize
from scipy.special import stdtrit
from sklearn.covariance import graphical_lasso
from sklearn.exceptions import ConvergenceWarning

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.effects import DEPENDENT, column_lengths
from sgbn.cohort.rows import NOTHING_LEFT, Rows, residual_rows, rows_of_group
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.moments import moments_of, one_blas_thread
from sgbn.core.problems import InputError
from sgbn.core.types import Array, Indices, Mask
from sgbn.core.validation import FEW_SAMPLES, SEED, SHARE, OneOf, Whole, collinear_columns
from sgbn.inference.confidence import check_learner, learn_part
from sgbn.inference.difference_tables import records
from sgbn.inference.intervals import fixed_weights
from sgbn.learn.base import NetworkEstimator
from sgbn.learn.ensemble import described
from sgbn.learn.sgbn import SGBN
from sgbn.runs.files import Arrays
from sgbn.runs.study import Study

CLEAR = 2.0  # standard errors; a larger difference is called clear (benchmarks/factors.py)
# If the network predicts well, at most LEADING factors are taken out of its edges, and at most one
# factor per COLUMNS_PER_LEADING columns (benchmarks/factors.py).
LEADING = 3
COLUMNS_PER_LEADING = 10
IN_WORDS = ("", "One", "Two", "Three", "Four", "Five", "Six")


@dataclass(frozen=True)
class ModelComparison:
    """How well a network, and three models without arrows, predict rows that they have not seen.

    Attributes
    ----------
    n, m : int
        Number of rows and number of columns.
    log_likelihood : ndarray of shape (n_folds, 4)
        Log-likelihood per variable of the rows of each fold. The models are fitted to the other
        folds. The columns follow `MODELS`: network, factor analysis, graphical lasso, independence.
        A lasso that could not be fitted has NaN.
    fold_factors : ndarray of shape (n_folds,)
        Number of factors that was chosen for each fold, from the other folds.
    """

    n: int
    m: int
    log_likelihood: Array
    fold_factors: Indices

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self.log_likelihood)

    @property
    def n_factors(self) -> int:
        """Number of factors: the median over the folds, or the lower one of two middle values."""
        # If two values are in the middle, fewer factors are safer than more.
        return int(np.sort(self.fold_factors)[(self.n_folds - 1) // 2])

    @property
    def leading_factors(self) -> int:
        """Number of factors that `edges_beside_factors` should take out.

        It is `n_factors` if the factors predict better than the network. Otherwise it is at most
        three, and at most one for every ten columns. For a sparse network, the number of factors
        that predicts best is often ten or more. So many factors imitate the edges, and nearly all
        edges would be lost.
        """
        if self.edges_may_be_shadows:
            return self.n_factors
        return min(self.n_factors, LEADING, max(1, self.m // COLUMNS_PER_LEADING))

    @cached_property
    def table(self) -> np.recarray[Any, Any]:
        """One row per model, the network first.

        `log_likelihood` is the mean over the folds, per variable. `difference` is this mean minus
        the mean of the network, and `standard_error` belongs to the difference. The training parts
        overlap, so that the folds are not independent. The variance of a mean over the folds is
        therefore multiplied by ``1 + n_folds / (n_folds - 1)`` (Nadeau and Bengio, 2003), which
        tends to be too large rather than too small.
        """
        gain = self.log_likelihood - self.log_likelihood[:, :1]
        # Nadeau and Bengio: 1 / J + n_test / n_train, which is 1 / (J - 1) for J folds.
        inflated = np.sqrt(1 / self.n_folds + 1 / (self.n_folds - 1))
        columns = {
            "model": np.array(MODELS),
            "log_likelihood": self.log_likelihood.mean(axis=0),
            "difference": gain.mean(axis=0),
            "standard_error": gain.std(axis=0, ddof=1) * inflated,
        }
        return records(columns).view(np.recarray)

    def compare(self, model: str) -> int:
        """Return 1 if a model predicts unseen rows clearly better than the network.

        Return -1 if it predicts them clearly worse, and 0 if the difference is not clear. A
        difference is clear if it exceeds `CLEAR` standard errors.
        """
        OneOf(*MODELS).check("model", model)
        row = self.table[MODELS.index(model)]
        if not abs(row.difference) > CLEAR * row.standard_error:  # NaN is not clear
            return 0
        return int(np.sign(row.difference))

    @property
    def edges_may_be_shadows(self) -> bool:
        """Whether hidden factors, without edges, clearly predict better than the network."""
        return self.compare(FACTORS) > 0

    @property
    def edges_may_be_chance(self) -> bool:
        """True unless the network clearly predicts better than independent variables."""
        return self.compare(INDEPENDENCE) >= 0

    @property
    def verdict(self) -> str:
        """The result of the comparison in one or two sentences."""
        return " ".join(filter(None, (self._beside_factors(), self._beside_others())))

    def _beside_factors(self) -> str:
        k = self.n_factors
        count = IN_WORDS[k] if k < len(IN_WORDS) else str(k)
        hidden = f"hidden factor{'' if k == 1 else 's'} without any edge"
        if self.edges_may_be_shadows:
            verb = "predicts" if k == 1 else "predict"
            return (
                f"{count} {hidden} {verb} unseen subjects better than this network "
                f"({self._numbers(FACTORS, NETWORK)}): edges may be shadows of common causes."
            )
        if self.compare(FACTORS) < 0:
            return (
                f"The network predicts unseen subjects better than {count.lower()} {hidden} "
                f"({self._numbers(NETWORK, FACTORS)})."
            )
        return (
            f"The network and {count.lower()} {hidden} cannot be told apart by how they predict "
            f"unseen subjects ({self._numbers(NETWORK, FACTORS)}): edges may be shadows of common "
            "causes, or not."
        )

    def _numbers(self, first: str, second: str) -> str:
        """Return the log-likelihoods of two models, and the standard error of their difference."""
        rows = [self.table[MODELS.index(name)] for name in (first, second)]
        # With a true minus sign instead of a hyphen.
        scores = " against ".join(f"{row.log_likelihood:.3f}".replace("-", "−") for row in rows)
        # One of the two is the network, whose own error is 0: differences are from the network.
        error = max(row.standard_error for row in rows)
        return f"{scores} per variable, standard error of the difference {error:.3f}"

    def _beside_others(self) -> str:
        if self.edges_may_be_chance:
            numbers = self._numbers(NETWORK, INDEPENDENCE)
            if self.compare(INDEPENDENCE) > 0:
                return (
                    "Independent variables predict them better than the network "
                    f"({numbers}): do not rely on its edges."
                )
            return (
                "It is not clear that the network predicts them better than independent variables "
                f"({numbers}): its edges may be due to chance."
            )
        if self.compare(LASSO) > 0:
            return (
                "A graphical lasso, which has pairs but no arrows, predicts them better than the "
                "network."
            )
        return ""


def compare_models(
    cohort: ArrayLike | Cohort,
    group: str | None = None,
    learner: NetworkEstimator | None = None,
    *,
    n_folds: int = 5,
    random_state: int = 0,
    n_jobs: int | None = None,
    folder: str | Path | None = None,
    progress: bool = False,
) -> ModelComparison:
    """Compare a network with hidden factors, a graphical lasso and independence on unseen rows.

    Each fold is predicted by models that are fitted to the other folds, the training part. The
    number of factors (1 to 15) and the penalty of the lasso are chosen inside the training part.
    The effects of the sites and covariates of a Cohort are estimated in the training part and taken
    out. The columns are scaled by the training part. Each fold has about the same share of every
    site. All rows of a person are in the same fold. Outlying rows have the same weight in all
    models.

    Parameters
    ----------
    cohort : Cohort, array-like of shape (n, m) or DataFrame
        The data: at least 20 rows and three columns. Arrays and tables are used as they are.
    group : str, optional
        Name of the group to use, if a Cohort has several.
    learner : estimator, optional
        The learner of the network; by default `SGBN`.
    n_folds : int
        Number of folds.
    random_state : int
        Seed of the folds.
    n_jobs : int, optional
        Number of processes. Results do not depend on it.
    folder : path, optional
        Folder that keeps the finished folds. A second start computes only the missing folds.
    progress : bool
        Whether to show a bar with the time left.

    Returns
    -------
    ModelComparison
        The result in words (`verdict`) and in numbers (`table`).

    Raises
    ------
    InputError
        If there are too few rows or columns. Also if a column is constant, a copy of another, or a
        linear combination of others: such rows have no density to compare.

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.inference.models import compare_models
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 1)) + rng.standard_normal((200, 12))  # one common cause
    >>> compared = compare_models(X)
    >>> compared.n_factors, compared.edges_may_be_shadows
    (1, True)
    """
    rows = rows_of_group(cohort, group)
    learner = check_learner(SGBN() if learner is None else learner)
    random_state = SEED.check("random_state", random_state)
    check_rows(rows)
    n, m = rows.values.shape
    n_folds = Whole(2, n // 2).check("n_folds", n_folds)
    # The folds are made here, not in the tasks: all models of a fold see the same rows.
    folds = rows.design.deal(np.random.default_rng([random_state, 0]), n_folds)
    settings = described(rows, learner, n_folds=n_folds, random_state=random_state)
    shared = {"rows": rows, "learner": learner, "folds": folds, "random_state": random_state}
    tasks = {f"fold{fold:03d}": {"fold": fold} for fold in range(n_folds)}
    study = Study(folder, n_jobs, progress)
    results = study.run(score_fold, tasks, settings, shared=shared).values()
    return ModelComparison(
        n,
        m,
        np.array([result["log_likelihood"] for result in results]),
        np.array([result["n_factors"] for result in results], np.intp),
    )


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


def check_rows(rows: Rows) -> None:
    """Raise InputError for too few rows or columns, and for columns that others determine."""
    n, m = rows.values.shape
    if most_factors(m) < 1:
        raise InputError("columns.few", m=m).says(
            "a hidden factor needs 3 or more columns, not {m}", "Give more columns."
        )
    moments = moments_of(rows.values, rows.names)  # refuses constant columns by name
    if problem := collinear_columns(moments, rows.names):  # the rows have no density
        raise InputError(problem)
    if n < 2 * FEW_SAMPLES:
        raise InputError("rows.few", n=n, least=2 * FEW_SAMPLES).says(
            "the sample has {n:subject}, but models need {least}",
            "Give more subjects, or join groups.",
        )


def score_fold(
    rows: Rows, learner: NetworkEstimator, folds: Indices, fold: int, random_state: int
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
    # The order of columns changes the last digits, and even the fourth of a lasso that stops early.
    columns = moments_of(rows.values, rows.names).columns
    names = tuple(rows.names[k] for k in columns)
    ordered = replace(rows, values=rows.values.take(columns, axis=1), names=names)
    fitted, held_out = standardised(ordered, train)
    with one_blas_thread():
        # is_clean: the learner keeps outliers, as the other models do. Held-out rows have them too.
        seed = int(rng.integers(2**31))
        # Known edges of the learner may be given by the numbers of the user's columns.
        own = fitted[:, np.argsort(columns)]
        network = learn_part(learner, own, rows.names, seed, is_clean=True).network_
        noise, places = network.noise_variance[columns], np.ix_(columns, columns)
        network = GaussianNetwork(network.coef[places], network.intercept[columns], noise)
        inner = _inner_parts(fitted, rows.design.subset(train).deal(rng, INNER_FOLDS))
        R: Array = np.atleast_2d(np.corrcoef(fitted.T))
        T = held_out.T @ held_out / len(held_out)
        n_factors = choose_n_factors(inner)
        scores = [
            float(network.log_likelihood(held_out).mean()) / len(R),
            log_likelihood(factor_analysis(R, n_factors).covariance, T),
            _lasso_score(R, T, inner),
            log_likelihood(np.eye(len(R)), T),
        ]
    return {"log_likelihood": np.array(scores), "n_factors": np.array(n_factors)}


def standardised(rows: Rows, train: Mask) -> tuple[Array, Array]:
    """Return the training rows and the other rows, without nuisance effects and standardised.

    The training rows have a variance of one (ddof=1). The other rows are divided by the standard
    deviation that is expected of new rows. It is larger, since taking effects out of the training
    rows has cost degrees of freedom.
    """
    left, lost = residuals_of_training(rows.values, rows.effects, train)
    n = int(train.sum())
    if n - 1 - lost < FEW_SAMPLES:
        raise InputError("folds.few", n=n - lost, least=FEW_SAMPLES + 1).says(
            "folds have {n:row} after sites and covariates, but need {least}",
            "Give fewer covariates.",
        )
    # Training rows are standardised, so that all models learn a correlation matrix.
    sd = left[train].std(axis=0, ddof=1)
    gone = np.flatnonzero(sd <= NOTHING_LEFT * rows.values.std(axis=0))
    if len(gone):
        raise InputError("folds.constant", columns=[rows.names[k] for k in gone]).says(
            "in a fold, sites and covariates leave nothing of {columns}", "Leave these columns out."
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
    return covariance


LEAST_OWN = 0.005  # least own variance, as a share of the variance; near 0 the likelihood diverges
TOL = 1e-3  # largest gradient per variable; the likelihood is then right to 1e-5
SINGULAR = 1e-10  # share of the largest eigenvalue; smaller eigenvalues are round-off
MAX_ITER = 200  # iterations of L-BFGS-B


class FactorModel(NamedTuple):
    """A fitted factor model.

    Attributes
    ----------
    loadings : ndarray of shape (m, k)
        Loadings of m variables on k factors.
    own_variance : ndarray of shape (m,)
        Variance of each variable that the factors do not explain.
    n_iter : int
        Number of iterations.
    violation : float
        Largest gradient along which an own variance could still move.
    converged : bool
        Whether the solver reports success.
    """

    loadings: Array
    own_variance: Array
    n_iter: int
    violation: float
    converged: bool

    @property
    def covariance(self) -> Array:
        """Return the covariance that the factors and the own variances imply."""
        return self.loadings @ self.loadings.T + np.diag(self.own_variance)


def factor_analysis(R: Array, n_factors: int, start: Array | None = None) -> FactorModel:
    """Fit factors to a correlation matrix.

    Parameters
    ----------
    R : ndarray of shape (m, m)
        The correlation matrix. It may be singular, as with fewer rows than columns.
    n_factors : int
        Number of factors, from 1 to `most_factors(m)`.
    start : ndarray of shape (m,), optional
        Own variances to begin with, such as the own variances of a fit with fewer factors.
    """
    m = len(R)
    root = _root(R)

    def objective(log_own: Array) -> tuple[float, Array]:
        own_variance = np.exp(log_own)
        loadings, w = _best_loadings(root, own_variance, n_factors)
        value = log_own.sum() + (1 / own_variance).sum() + (np.log(w) - w + 1).sum()
        gradient = ((loadings**2).sum(axis=1) + own_variance - 1) / own_variance
        return value / m, gradient / m

    # By default, half of each variance is its own, which is far from both bounds.
    first = np.full(m, 0.5) if start is None else np.clip(start, LEAST_OWN, 1.0)
    bounds = [(np.log(LEAST_OWN), 0.0)] * m
    options = {"maxiter": MAX_ITER, "gtol": TOL / m, "ftol": 1e-8}
    optimum = minimize(
        objective, np.log(first), jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    own_variance = np.exp(optimum.x)
    loadings, _ = _best_loadings(root, own_variance, n_factors)
    # At a bound a gradient that points outwards is not a violation.
    step = np.clip(optimum.x - m * optimum.jac, *bounds[0]) - optimum.x
    violation = float(np.abs(step).max())
    return FactorModel(loadings, own_variance, int(optimum.nit), violation, bool(optimum.success))


def most_factors(m: int) -> int:
    """Return the largest number of factors that m variables can determine; 0 for m < 3.

    This is Ledermann's bound: the loadings and own variances have at most as many free numbers as
    the covariance matrix.
    """
    k = np.arange(m)
    return int(np.flatnonzero((m - k) ** 2 >= m + k)[-1]) if m > 1 else 0


def _root(R: Array) -> Array:
    """Return a matrix A with A A' = R. It has few columns if R comes from few rows."""
    w, V = eigh(R)
    kept = w > SINGULAR * w[-1]
    return V[:, kept] * np.sqrt(w[kept])


def _best_loadings(root: Array, own_variance: Array, n_factors: int) -> tuple[Array, Array]:
    """Return the best loadings for given own variances, and the eigenvalues that they come from.

    A A' and A' A have the same positive eigenvalues. So the smaller product A' A is used.
    """
    scaled = root / np.sqrt(own_variance)[:, None]
    r = scaled.shape[1]
    w, U = eigh(scaled.T @ scaled, subset_by_index=[max(r - n_factors, 0), r - 1])
    V = scaled @ U / np.sqrt(w)
    # An eigenvalue below 1 would need an imaginary loading: that factor explains nothing.
    w = np.maximum(w, 1.0)
    return np.sqrt(own_variance)[:, None] * V * np.sqrt(w - 1), w


# Coverage of the intervals. Edges were chosen as the strongest of all pairs. At 95 %, one in five
# of the false edges that a single factor causes would therefore stay. At 99 %, one in twenty stays
# (benchmarks/factors.py).
LEVEL = 0.99
LEAST_EIGENVALUE = 0.05  # lower limit, as a share of a variance; `_regressed` says why


def edges_beside_factors(
    X: ArrayLike | Cohort,
    graph: Any,
    n_factors: int,
    *,
    group: str | None = None,
    level: float = LEVEL,
) -> np.recarray[Any, Any]:
    """Refit the weights of a network beside hidden factors, and report which edges stay.

    An edge that does not stay may come from a common cause of its two regions. But it may also be
    real: the factors explain part of what real edges explain, and more factors explain more of it.
    An edge that stays is not proven either: a cause that only its two regions share is not a
    factor. The edges were chosen because they look strong in these rows. Their intervals therefore
    lie too far from 0, like the intervals of `weight_intervals`.

    Parameters
    ----------
    X : array-like of shape (n, m), DataFrame or Cohort
        The rows. The effects of a Cohort's sites and covariates are taken out first, within the
        group. Arrays and tables are used as they are.
    graph : GaussianNetwork, fitted learner or array-like of shape (m, m)
        The DAG; ``graph[i, j] != 0`` is i -> j. Its own weights are not used.
    n_factors : int
        Number of factors, such as `ModelComparison.leading_factors`.
    group : str, optional
        The group to use, if a Cohort has several.
    level : float
        Coverage of the intervals, such as 0.95.

    Returns
    -------
    record array
        `source`, `target`, `weight_std` (least squares, per standard deviation), `beside_factors`
        (the same weight with the factors as further regressors), `low`, `high` and `stays`, in the
        order of ``np.argwhere(graph)``.

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.inference.models import edges_beside_factors
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 1)) + rng.standard_normal((300, 10))  # one common cause
    >>> X[:, 1] += X[:, 0]
    >>> graph = np.zeros((10, 10))
    >>> graph[0, 1] = graph[2, 3] = 1
    >>> edges_beside_factors(X, graph, 1).stays.tolist()
    [True, False]
    """
    rows = residual_rows(X, group)
    SHARE.check("level", level)
    weights, support = fixed_weights(rows, graph)
    n, m = rows.values.shape
    n_factors = Whole(1).check("n_factors", n_factors)
    if n_factors > most_factors(m):
        raise InputError("factors.many", m=m, most=most_factors(m)).says(
            "{m:column} can determine at most {most:factor}", "Give fewer ({n_factors=})."
        )
    # Factors count as regressors, like the parents and the columns of sites and covariates.
    degrees = n - 1 - rows.effects.shape[1] - n_factors - support.sum(axis=0)
    if degrees.min() < 1:
        raise InputError("factors.rows", n=n, region=rows.names[int(degrees.argmin())]).says(
            "{n:row} are too few for the factors and the parents of {region}", "Give more rows."
        )
    beside, error = _refitted(rows, support, n_factors, degrees)
    i, j = np.nonzero(support)
    sd = rows.values.std(axis=0)
    alone = weights * sd[i] / sd[j]
    # The interval decides whether an edge stays, not the size of its weight.
    reach = error * stdtrit(degrees[j], (1 + level) / 2)
    stays = (np.sign(alone) == np.sign(beside)) & (np.abs(beside) > reach)
    names = np.asarray(rows.names)
    columns = {
        "source": names[i],
        "target": names[j],
        "weight_std": alone,
        "beside_factors": beside,
        "low": beside - reach,
        "high": beside + reach,
        "stays": stays,
    }
    return records(columns).view(np.recarray)


def _refitted(rows: Rows, support: Mask, n_factors: int, degrees: Indices) -> tuple[Array, Array]:
    """Return the weight of each edge beside the factors, and its standard error, both per SD."""
    moments = moments_of(rows.values, rows.names)
    loadings = factor_analysis(moments.R, n_factors).loadings
    # The factors are taken out of the whole matrix once: all regressions need only E.
    E = moments.R - loadings @ loadings.T
    weights, errors = np.zeros(E.shape), np.zeros(E.shape)
    for j, is_parent in enumerate(moments.to_canonical(support)):
        parents, left = np.flatnonzero(is_parent), int(degrees[moments.columns[j]])
        weights[j, parents], errors[j, parents] = _regressed(E, parents, j, left)
    return moments.to_user(weights)[support], moments.to_user(errors)[support]


def _regressed(E: Array, parents: Indices, j: int, degrees: int) -> tuple[Array, Array]:
    """Return the weights of j's parents and their standard errors, from the covariance E.

    E is not always positive definite, since the factors are estimates. So all eigenvalues of the
    parents' correlation matrix are raised to at least `LEAST_EIGENVALUE`. The noise of j, as a
    share of its variance, has the same lower limit.
    """
    # E is scaled to a correlation matrix, so that one lower limit suits all regions.
    scale = np.sqrt(np.diag(E))
    C = E / np.outer(scale, scale)
    w, V = np.linalg.eigh(C[np.ix_(parents, parents)])
    inverse = (V / np.maximum(w, LEAST_EIGENVALUE)) @ V.T
    weights = inverse @ C[parents, j]
    noise = max(1.0 - C[parents, j] @ weights, LEAST_EIGENVALUE)
    errors = np.sqrt(noise * np.diag(inverse) / degrees)
    # Back from the units of E to standard deviations of the values.
    ratio = scale[j] / scale[parents]
    return weights * ratio, errors * ratio
