r"""A check of which edges of a network stay when hidden factors are taken out of the data.

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

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.rows import read_rows
from sgbn.core.exceptions import InputError
from sgbn.core.types import Array, Indices, Mask
from sgbn.core.validation import SHARE, Whole
from sgbn.inference.factor_analysis import factor_analysis, most_factors
from sgbn.inference.records import records
from sgbn.inference.resampling import fixed_weights

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
            f"n_factors is {n_factors}, but {m} columns can determine at most {most_factors(m)} "
            "factors. Give a smaller n_factors, or more columns."
        )
    # Factors count as regressors, like the parents and the columns of sites and covariates.
    degrees = n - 1 - rows.nuisance.shape[1] - n_factors - support.sum(axis=0)
    if degrees.min() < 1:
        raise InputError(
            f"there are {n} rows, which are too few for {n_factors} factors and the parents of "
            f"{rows.names[int(degrees.argmin())]!r}. Give a smaller n_factors, or more rows."
        )
    beside, error = _refitted(rows.values, support, n_factors, degrees)
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


def _refitted(
    values: Array, support: Mask, n_factors: int, degrees: Indices
) -> tuple[Array, Array]:
    """Return the weight of each edge beside the factors, and its standard error, both per SD."""
    R: Array = np.atleast_2d(np.corrcoef(values.T))
    loadings = factor_analysis(R, n_factors).loadings
    # The factors are taken out of the whole matrix once: all regressions need only E.
    E = R - loadings @ loadings.T
    weights, errors = np.zeros(R.shape), np.zeros(R.shape)
    for j in np.flatnonzero(support.any(axis=0)).tolist():
        parents = np.flatnonzero(support[:, j])
        weights[parents, j], errors[parents, j] = _regressed(E, parents, j, int(degrees[j]))
    return weights[support], errors[support]


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
