r"""Bootstrap intervals of the weights of a fixed graph.

On a fixed graph the weights are least-squares weights, and the plain bootstrap is right for them.
For region j, let :math:`c_{bn}` be how often resample b has row n, :math:`z_n` the parents of j and
the intercept in this row, and :math:`x_{nj}` the value of j. The Gram matrices :math:`G_b` of all
resamples are one matrix product. They give the weights :math:`\theta_b`,

.. math:: G_b = \sum_n c_{bn} z_n z_n^T, \qquad \theta_b = G_b^{-1} \sum_n c_{bn} z_n x_{nj}.

In small samples, intervals from percentiles of the resamples are too narrow. So percentiles further
out are used. The interval of a mean would need the same expansion (expanded percentiles, Hesterberg
2015). The percentiles are at :math:`\Phi(\pm \sqrt{n / d} \, t_d)`, where k coefficients leave
:math:`d = n - k` degrees of freedom and :math:`t_d` is the quantile of Student's t.

Checks of whether residuals are Gaussian, relations are straight lines, and outliers are few.

Each region is regressed on its parents. Permutation tests, half samples and least-squares weights
do not need Gaussian noise, but likelihoods do. A weight does not describe a curved relation
completely.

Means over splits or cohorts, with intervals that allow for overlapping training parts.

Random splits of one table overlap. Their accuracies are not independent, and the usual interval is
far too narrow. The corrected resampled t (Nadeau and Bengio) uses ``var * (1 / J + n_test /
n_train)`` as the variance of a mean over J splits. ``var`` is the variance of one split, and
``n_test`` and ``n_train`` are its numbers of rows. Independent cohorts need no correction.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from scipy.special import ndtr, stdtrit
from sklearn.base import BaseEstimator

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.rows import Rows, residual_rows, warn_about_few
from sgbn.core.graph import GraphLike, adjacency
from sgbn.core.problems import InputError
from sgbn.core.types import Array, Graph, Indices
from sgbn.core.validation import SEED, SHARE, Whole
from sgbn.inference.difference_tables import records
from sgbn.inference.permutations import holm
from sgbn.learn.base import COLLINEAR, fit_weights, network_of, refuse_columns
from sgbn.learn.orient import curvature

# Many, since in small samples 95 % intervals end at about the 1 % and 99 % percentiles.
N_RESAMPLES = 2000


def weight_intervals(
    X: ArrayLike | Cohort,
    graph: GraphLike,
    *,
    group: str | None = None,
    n_resamples: int = N_RESAMPLES,
    level: float = 0.95,
    random_state: int = 0,
) -> np.recarray[Any, Any]:
    """Return bootstrap intervals of the weights of a fixed graph.

    The intervals are right if the graph was not learned from the same rows. An edge that was chosen
    because it looked strong in these rows looks stronger than it is.

    Parameters
    ----------
    X : array-like of shape (n, m), DataFrame or Cohort
        The rows. The effects of a Cohort's sites and covariates are taken out first, within the
        group. Its persons and families are resampled whole. Arrays and tables are used as they are.
    graph : array-like of shape (m, m), GaussianNetwork or fitted learner
        The DAG; ``graph[i, j] != 0`` is i -> j. Its own weights are not used.
    group : str, optional
        The group to use, if a Cohort has several.
    n_resamples : int
        Number of bootstrap samples.
    level : float
        Coverage of the intervals, such as 0.95.
    random_state : int
        Seed of the bootstrap samples.

    Returns
    -------
    record array
        `source`, `target`, `weight` (least squares on the rows as they are), `low` and `high`, in
        the order of ``np.argwhere(graph)``.

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.inference.intervals import weight_intervals
    >>> X = np.random.default_rng(0).standard_normal((100, 2))
    >>> X[:, 1] += X[:, 0]
    >>> [(low, high)] = weight_intervals(X, [[0, 1], [0, 0]])[["low", "high"]].tolist()
    >>> bool(low < 1 < high)
    True
    """
    rows = residual_rows(X, group)
    SHARE.check("level", level)
    weights, support = fixed_weights(rows, graph)
    warn_about_few(rows.design.n_units)
    counts = resamples(rows, n_resamples, [random_state])
    drawn = resampled_weights(rows.values, support, counts)
    i, j = np.nonzero(support)
    n_parents = support.sum(axis=0)
    bounds = [
        interval(
            drawn[:, e], rows.design.n_units, n_parents[target] + 1 + rows.effects.shape[1], level
        )
        for e, target in enumerate(j)
    ]
    names = np.asarray(rows.names)
    low, high = np.array(bounds).reshape(-1, 2).T
    columns = {"source": names[i], "target": names[j], "weight": weights, "low": low, "high": high}
    return records(columns).view(np.recarray)


def fixed_weights(rows: Rows, graph: Any) -> tuple[Array, Graph]:
    """Return the least-squares weights of a graph, one per edge, and the graph as a matrix.

    Raises
    ------
    InputError
        If the graph has a cycle or does not fit the columns, or a region has too many parents for
        the rows.
    """
    if isinstance(graph, BaseEstimator):
        graph = network_of(graph, "graph")
    # A DataFrame has columns, and a network has names. An array has neither, and fits any regions.
    names = tuple(map(str, getattr(graph, "columns", getattr(graph, "names", rows.names))))
    places = tuple(f"x{k}" for k in range(len(rows.names)))
    if names != rows.names and places not in (names, rows.names):
        refuse_columns()
    support = adjacency(graph)
    if np.ndim(support) != 2:
        raise InputError("graph.type", type=type(graph).__name__).says(
            "graph is a {type:s}", "Give a matrix, a GaussianNetwork or a fitted learner."
        )
    _check_rows(rows, support)
    return fit_weights(rows.values, support, rows.names).coef[support], support


def _check_rows(rows: Rows, support: Graph) -> None:
    """Raise InputError if a region has too many parents for the number of rows."""
    n_parents, (n, lost) = support.sum(axis=0), rows.effects.shape
    if n_parents.max() + 2 + lost > n:
        region, parents = rows.names[int(np.argmax(n_parents))], n_parents.max()
        raise InputError("parents.many", region=region, parents=parents, n=n - lost).says(
            "{region} has {parents:parent}, too many for {n:row}", "Give more rows, or fewer edges."
        )


def resamples(rows: Rows, n_resamples: int, seed: Sequence[int]) -> Array:
    """Return how often each resample has each row, shape (n_resamples, number of rows).

    A resample draws as many rows as the sample has. If rows belong to persons or families, it draws
    persons or families instead, each with all its rows.
    """
    n_resamples = Whole(2).check("n_resamples", n_resamples)
    rng = np.random.default_rng([SEED.check("random_state", number) for number in seed])
    n = rows.design.n_units
    counts = rng.multinomial(n, np.full(n, 1 / n), size=n_resamples).astype(np.float64)
    # Each row is drawn as often as its person or family.
    return counts[:, rows.design.unit_codes]


def resampled_weights(values: Array, support: Graph, counts: Array) -> Array:
    """Return the weights of the edges in every resample, of shape (n_resamples, n_edges).

    Edges are in the order of ``np.argwhere(support)``. If the parents of a region are collinear in
    a resample, the weights of least norm are used.
    """
    mean, sd = values.mean(axis=0), values.std(axis=0)
    # In standard deviations, so that COLLINEAR means the same for all regions.
    Z = np.column_stack([(values - mean) / sd, np.ones(len(values))])
    place = np.full(support.shape, -1)
    place[support] = np.arange(support.sum())
    drawn = np.empty((len(counts), int(support.sum())))
    for j in np.flatnonzero(support.any(axis=0)):
        parents = np.flatnonzero(support[:, j])
        z = Z[:, [*parents, -1]]
        k = len(parents) + 1
        # One product gives the Gram matrices of all resamples, instead of one regression each.
        gram = (counts @ (z[:, :, None] * z[:, None, :]).reshape(-1, k * k)).reshape(-1, k, k)
        along = counts @ (z * Z[:, [j]])
        inverse = np.linalg.pinv(gram, rcond=COLLINEAR, hermitian=True)
        weights = (inverse @ along[:, :, None])[:, :-1, 0]
        drawn[:, place[parents, j]] = weights * (sd[j] / sd[parents])
    return drawn


def interval(drawn: Array, n: int, n_coefficients: int, level: float) -> tuple[float, float]:
    """Return the expanded percentiles of a statistic in resamples of n rows."""
    degrees = max(n - n_coefficients, 1)
    # As for a mean, Student's t replaces the normal distribution, and n - k replaces n.
    reach = np.sqrt(n / degrees) * stdtrit(degrees, (1 + level) / 2)
    tail = float(ndtr(-reach))
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return float(low), float(high)


FEWEST_ROWS = 20  # fewer rows say nothing about the shape of residuals
MAX_ROBUST_SD = 4.0  # robust standard deviations; 6 of 100,000 normal residuals lie further out
# Factors that turn the median and the mean absolute deviation of a normal variable into its SD.
TO_SD = 1.4826, 1.2533


class ResidualChecks(NamedTuple):
    """The results of the checks of a network's residuals.

    Attributes
    ----------
    skewness, kurtosis : ndarray of shape (m,)
        Skewness and excess kurtosis of each residual; both are 0 if it is Gaussian.
    p_gaussian : ndarray of shape (m,)
        The p of D'Agostino and Pearson's test, corrected over the regions by Holm's method.
    edges : ndarray of int of shape (k, 2)
        Source and target of each edge.
    p_curved : ndarray of shape (k,)
        The p of a quadratic term of the source (its squared normal scores) in a regression with all
        parents, corrected over the edges by Holm's method. Variances may be unequal.
    n_far, expected_far : float
        Number of residuals more than 4 robust standard deviations from their median, and the
        number that is expected in Gaussian data.
    """

    skewness: Array
    kurtosis: Array
    p_gaussian: Array
    edges: Indices
    p_curved: Array
    n_far: int
    expected_far: float


def residual_checks(values: Array, graph: Graph) -> ResidualChecks:
    """Check the residuals of each column on its parents.

    Parameters
    ----------
    values : ndarray of shape (n, m)
        The rows that a network was learned from.
    graph : ndarray of shape (m, m)
        The graph; ``graph[i, j] != 0`` is i -> j.

    Raises
    ------
    InputError
        If there are fewer than 20 rows, or fewer than p + 3 rows for a region with p parents.
    """
    n, m = values.shape
    adjacent = np.asarray(graph) != 0
    # A regression has a mean, the parents and one curved term. It needs one row more than terms.
    least = max(FEWEST_ROWS, int(adjacent.sum(axis=0).max(initial=0)) + 3)
    if n < least:
        raise InputError("rows.few", n=n, least=least).says(
            "the sample has {n:subject}, but checks of residuals need {least}", "Give more."
        )
    residuals, edges, t = np.empty((n, m)), [], []
    for j in range(m):
        parents = np.flatnonzero(adjacent[:, j])
        design = np.column_stack([np.ones(n), values[:, parents]])
        residuals[:, j] = values[:, j] - design @ np.linalg.lstsq(design, values[:, j])[0]
        if len(parents):
            t.append(curvature(residuals[:, j], values[:, parents])[: len(parents)])
            edges.append(np.column_stack([parents, np.full(len(parents), j)]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy warns about a region that its parents determine
        p = np.nan_to_num(stats.normaltest(residuals, axis=0).pvalue, nan=1.0)
    far = np.abs(residuals - np.median(residuals, axis=0))
    median, mean = TO_SD[0] * np.median(far, axis=0), TO_SD[1] * far.mean(axis=0)
    # If more than half of the residuals are equal, the median is 0, and the mean is used.
    far /= np.maximum(np.where(median > 0, median, mean), np.finfo(float).tiny)
    # The empty array is for graphs without any edge.
    p_curved = 2 * ndtr(-np.abs(np.concatenate([np.empty(0), *t])))
    return ResidualChecks(
        stats.skew(residuals, axis=0),
        stats.kurtosis(residuals, axis=0),
        holm(p),
        np.concatenate([np.empty((0, 2), np.intp), *edges]),
        holm(p_curved),
        int((far > MAX_ROBUST_SD).sum()),
        2 * n * m * float(ndtr(-MAX_ROBUST_SD)),
    )


LEVEL = 0.95  # probability that an interval covers the true mean
NARROW_HALF_WIDTH = 0.03  # balanced accuracy; an interval this narrow needs no more repeats
MIN_GAIN_PER_REPEAT = 0.05  # share of its width by which a repeat must narrow the interval


class Estimate(NamedTuple):
    """A mean, its standard error and the degrees of freedom."""

    mean: float
    error: float
    df: int

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return the interval that covers the true mean with probability `level`."""
        half = float(stdtrit(self.df, (1 + level) / 2)) * self.error
        return self.mean - half, self.mean + half


def estimate(values: Array, overlap: float) -> Estimate:
    """Estimate the mean over splits, without splits whose score is NaN.

    Parameters
    ----------
    values : ndarray of shape (splits,)
        The score of each split.
    overlap : float
        The number of test rows per training row if all splits come from one table, or 0 for
        independent cohorts.
    """
    known = values[~np.isnan(values)]
    if known.size < 2:  # there is no spread, so the interval is unknown
        return Estimate(float(known.mean()) if known.size else np.nan, np.nan, 1)
    variance = float(known.var(ddof=1)) * (1 / known.size + overlap)
    return Estimate(float(known.mean()), float(np.sqrt(variance)), known.size - 1)


def relative_width(n_folds: int, n_repeats: int) -> float:
    """Return the half width of the interval of a mean over folds, in SD of a fold's score."""
    n_splits = n_folds * n_repeats
    # The second term (test rows per training row) does not shrink with more repeats.
    error = np.sqrt(1 / n_splits + 1 / (n_folds - 1))
    return float(stdtrit(n_splits - 1, (1 + LEVEL) / 2) * error)


def gain_of_repeat(n_folds: int, n_repeats: int) -> float:
    """Return the share by which one more repeat is expected to narrow the interval.

    Training parts overlap, so the width cannot fall below a limit.
    """
    return 1 - relative_width(n_folds, n_repeats + 1) / relative_width(n_folds, n_repeats)


def repeats_for(sizes: Sequence[int], n_folds: int) -> int:
    """Return the number of repeats of a cross-validation after which one more gains little.

    Repeats stop when the half width of the interval of a balanced accuracy is expected to be at
    most `NARROW_HALF_WIDTH`, or when one more repeat would narrow the interval by less than
    `MIN_GAIN_PER_REPEAT`. `sizes` holds the number of subjects of each group.
    """
    # The standard deviation of the balanced accuracy of a fold, which is a mean of binomial shares.
    # This is its largest value, sqrt(1/2 * 1/2 / n) per group. It is reached if half of each group
    # is recognised.
    between_folds = 0.5 * np.sqrt(np.sum(n_folds / np.array(sizes))) / len(sizes)
    # The gain falls towards 0, so the search ends. For two folds it ends after five repeats.
    return next(
        n_repeats
        for n_repeats in count(1)
        if between_folds * relative_width(n_folds, n_repeats) <= NARROW_HALF_WIDTH
        or gain_of_repeat(n_folds, n_repeats) < MIN_GAIN_PER_REPEAT
    )


def average(estimates: Sequence[Estimate]) -> Estimate:
    """Return the mean of estimates from different data, with the smallest of their df."""
    errors = [part.error for part in estimates]
    return Estimate(
        float(np.mean([part.mean for part in estimates])),
        # Different data are independent, so the variances add up.
        float(np.linalg.norm(errors)) / len(errors),
        min(part.df for part in estimates),
    )
