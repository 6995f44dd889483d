"""Checks of whether residuals are Gaussian, relations are straight lines, and outliers are few.

Each region is regressed on its parents. Permutation tests, half samples and least-squares weights
do not need Gaussian noise, but likelihoods do. A weight does not describe a curved relation
completely.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.special import ndtr

from sgbn.cohort.rows import too_few
from sgbn.core.exceptions import InputError
from sgbn.core.types import Array, Graph, Indices
from sgbn.inference.permutation_p import holm
from sgbn.learn.orient import curvature

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
        remedy = "Give more subjects, or a graph with fewer parents per region."
        raise InputError(too_few("the sample", n, "checks of residuals need", least, remedy))
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
