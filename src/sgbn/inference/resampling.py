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
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, stdtrit
from sklearn.base import BaseEstimator

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.design import Sample
from sgbn.cohort.rows import read_rows, warn_about_few
from sgbn.core.exceptions import InputError
from sgbn.core.graph import GraphLike, adjacency
from sgbn.core.types import Array, Graph
from sgbn.core.validation import SEED, SHARE, Whole
from sgbn.inference.records import records
from sgbn.learn.base import COLLINEAR, fit_weights, network_of

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
    >>> from sgbn.inference import weight_intervals
    >>> X = np.random.default_rng(0).standard_normal((100, 2))
    >>> X[:, 1] += X[:, 0]
    >>> [(low, high)] = weight_intervals(X, [[0, 1], [0, 0]])[["low", "high"]].tolist()
    >>> bool(low < 1 < high)
    True
    """
    rows = read_rows(X, group)
    SHARE.check("level", level)
    weights, support = fixed_weights(rows, graph)
    warn_about_few(rows.n_units, "the sample")
    counts = resamples(rows, n_resamples, [random_state])
    drawn = resampled_weights(rows.values, support, counts)
    i, j = np.nonzero(support)
    n_parents = support.sum(axis=0)
    bounds = [
        interval(drawn[:, e], rows.n_units, n_parents[target] + 1 + rows.nuisance.shape[1], level)
        for e, target in enumerate(j)
    ]
    names = np.asarray(rows.names)
    low, high = np.array(bounds).reshape(-1, 2).T
    columns = {"source": names[i], "target": names[j], "weight": weights, "low": low, "high": high}
    return records(columns).view(np.recarray)


def fixed_weights(rows: Sample, graph: Any) -> tuple[Array, Graph]:
    """Return the least-squares weights of a graph, one per edge, and the graph as a matrix.

    Raises
    ------
    InputError
        If the graph has a cycle or does not fit the columns, or a region has too many parents for
        the rows.
    """
    if isinstance(graph, BaseEstimator):
        graph = network_of(graph, "the graph")
    _check_names(graph, rows.names)
    support = adjacency(graph)
    if np.ndim(support) != 2:
        raise InputError(
            f"the graph is a {type(graph).__name__}: give a matrix, a GaussianNetwork or a fitted "
            "learner."
        )
    _check_rows(rows, support)
    return fit_weights(rows.values, support, rows.names).coef[support], support


def _check_rows(rows: Sample, support: Graph) -> None:
    """Raise InputError if a region has too many parents for the number of rows."""
    n_parents, (n, lost) = support.sum(axis=0), rows.nuisance.shape
    if n_parents.max() + 2 + lost > n:
        j = int(np.argmax(n_parents))
        effects = f", and sites and covariates use up {lost} of them" if lost else ""
        raise InputError(
            f"{rows.names[j]!r} has {n_parents[j]} parents, but there are only {n} rows{effects}. "
            "These are too few for intervals of its weights. Give more rows, or a graph with fewer "
            "edges."
        )


def _check_names(graph: Any, names: list[str]) -> None:
    """Raise InputError if a graph has other names than the columns; x0, x1, ... fit any names."""
    # A DataFrame has columns, and a network has names. An array has neither, and fits any regions.
    nodes = list(map(str, getattr(graph, "columns", getattr(graph, "names", names))))
    places = [f"x{k}" for k in range(len(names))]
    if nodes != names and places not in (nodes, names):
        raise InputError(
            "the regions of the graph are not the columns of X. Give both the same regions in the "
            "same order."
        )


def resamples(rows: Sample, n_resamples: int, seed: Sequence[int]) -> Array:
    """Return how often each resample has each row, shape (n_resamples, number of rows).

    A resample draws as many rows as the sample has. If rows belong to persons or families, it draws
    persons or families instead, each with all its rows.
    """
    n_resamples = Whole(2).check("n_resamples", n_resamples)
    rng = np.random.default_rng([SEED.check("random_state", number) for number in seed])
    n = rows.n_units
    counts = rng.multinomial(n, np.full(n, 1 / n), size=n_resamples).astype(np.float64)
    if rows.units is None:
        return counts
    # Each row is drawn as often as its person or family.
    return counts[:, np.unique(rows.units, return_inverse=True)[1]]


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
