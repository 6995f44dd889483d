r"""Which edges of a network stay when hidden factors are taken out.

A factor analysis of the rows splits their correlation matrix R into the part that k hidden factors
explain, :math:`\Lambda \Lambda^T`, and the rest, :math:`E = R - \Lambda \Lambda^T`, which is the
covariance of the variables given the factors. The weights of region j's parents P, refitted beside
the factors, are

.. math:: \theta = E_{PP}^{-1} E_{Pj}, \qquad
          s^2 = E_{jj} - E_{jP} \theta, \qquad
          \operatorname{se}_i^2 = \frac{s^2 (E_{PP}^{-1})_{ii}}{n - 1 - |P| - k},

which is least squares with the factors as further regressors. An edge stays if its refitted
weight has the same sign as in the network and its interval does not include 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from sgbn.cohort import Cohort
from sgbn.exceptions import InputError
from sgbn.inference.factor_analysis import factor_analysis, most_factors
from sgbn.inference.records import records
from sgbn.inference.resampling import fixed_weights
from sgbn.inference.rows import read_rows
from sgbn.parameters import SHARE, Whole
from sgbn.types import Array, Indices, Mask

# Of the intervals. Edges are the strongest of all pairs, so that at 95 % one in five shadows of a
# single factor would stay; at 99 % it is one in twenty (benchmarks/factors.py).
LEVEL = 0.99
LEAST_EIGENVALUE = 0.05  # of the parents' correlation beside the factors; less is round-off of R


def edges_beside_factors(
    X: ArrayLike | Cohort,
    graph: Any,
    n_factors: int,
    *,
    group: str | None = None,
    level: float = LEVEL,
) -> np.recarray[Any, Any]:
    """Refit the weights of a network beside hidden factors, and say which edges stay.

    An edge that goes may be the shadow of a common cause. It may also be real and look like one:
    factors that are fitted to the rows take up part of what edges do. More factors take up more. An
    edge that stays is not proven either, since a cause that only its two ends share is not a
    factor. The edges were chosen because they look strong in these rows. Their intervals therefore
    lie too far from 0, as those of `weight_intervals` do.

    Parameters
    ----------
    X : array-like of shape (n, m), DataFrame or Cohort
        What sites and covariates of a Cohort do to its regions is taken out before, within the
        group; rows of arrays and tables are taken as they are.
    graph : GaussianNetwork, fitted learner or array-like of shape (m, m)
        A DAG; ``graph[i, j] != 0`` is i -> j. Its own weights do not count.
    n_factors : int
        Number of factors, such as `ModelComparison.leading_factors`.
    group : str, optional
        The group of a Cohort that has several.
    level : float
        Share of intervals that hold the true value, such as 0.95.

    Returns
    -------
    record array
        `source`, `target`, `weight_std` (least squares, per standard deviation), `beside_factors`
        (the same weight with the factors as further regressors), `low`, `high` and `stays`, in the
        order of ``np.argwhere(graph)``.

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.inference import edges_beside_factors
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 1)) + rng.standard_normal((300, 10))  # one common cause
    >>> X[:, 1] += X[:, 0]
    >>> graph = np.zeros((10, 10))
    >>> graph[0, 1] = graph[2, 3] = 1
    >>> edges_beside_factors(X, graph, 1).stays.tolist()
    [True, False]
    """
    rows = read_rows(X, group)
    SHARE.check("level", level)
    weights, support = fixed_weights(rows, graph)
    n, m = rows.values.shape
    n_factors = Whole(1).check("n_factors", n_factors)
    if n_factors > most_factors(m):
        raise InputError(
            f"{m} columns can tell at most {most_factors(m)} factors apart, not {n_factors}. Take "
            "out fewer, or give more columns."
        )
    # Factors count as regressors, beside the parents and what sites and covariates took.
    degrees = n - 1 - rows.nuisance.shape[1] - n_factors - support.sum(axis=0)
    if degrees.min() < 1:
        raise InputError(
            f"{n} rows are too few for {n_factors} factors beside the parents of "
            f"{rows.names[int(degrees.argmin())]!r}. Take out fewer factors, or give more rows."
        )
    beside, error = _refitted(rows.values, support, n_factors, degrees)
    i, j = np.nonzero(support)
    sd = rows.values.std(axis=0)
    alone = weights * sd[i] / sd[j]
    # An edge stays by its interval, not by the size of its weight.
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


def _refitted(
    values: Array, support: Mask, n_factors: int, degrees: Indices
) -> tuple[Array, Array]:
    """Weights beside the factors and their standard errors, one per edge, per SD."""
    R: Array = np.atleast_2d(np.corrcoef(values.T))
    loadings = factor_analysis(R, n_factors).loadings
    # The factors are taken out of the whole matrix once: regressions beside them need E alone.
    E = R - loadings @ loadings.T
    weights, errors = np.zeros(R.shape), np.zeros(R.shape)
    for j in np.flatnonzero(support.any(axis=0)).tolist():
        parents = np.flatnonzero(support[:, j])
        weights[parents, j], errors[parents, j] = _regressed(E, parents, j, int(degrees[j]))
    return weights[support], errors[support]


def _regressed(E: Array, parents: Indices, j: int, degrees: int) -> tuple[Array, Array]:
    """Weights of j's parents and their standard errors, given the covariance beside the factors.

    E need not be positive definite, since factors are estimates: the eigenvalues of the parents'
    correlation are kept from 0, and the noise of j above that share of its own variance.
    """
    # As a correlation matrix, so that one least eigenvalue serves all regions.
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
