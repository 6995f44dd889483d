r"""Weights of a fixed graph, fitted again to resampled rows.

On a fixed graph the weights are those of least squares, and the plain bootstrap is right for them.
For the weights of region j's parents it needs the Gram matrices of the resamples only, and these
are one product: with :math:`c_{bn}` how often resample b has row n, and :math:`z` the intercept
and the parents,

.. math:: G_b = \sum_n c_{bn} z_n z_n^T, \qquad \theta_b = G_b^{-1} \sum_n c_{bn} z_n x_{nj}.

Percentiles of the resamples are too narrow in small samples. They are taken further out, by as
much as the interval of a mean would need (Hesterberg 2015, expanded percentiles): at
:math:`\Phi(\pm \sqrt{n / d} \, t_d)` with :math:`d = n - k` degrees of freedom for k coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, stdtrit
from sklearn.base import BaseEstimator

from sgbn.cohort import Cohort
from sgbn.exceptions import InputError
from sgbn.graph.acyclicity import GraphLike, adjacency
from sgbn.inference.records import records
from sgbn.inference.rows import network_of, read_rows, warn_about_few
from sgbn.parameters import SEED, SHARE, Whole
from sgbn.structure import fit_weights
from sgbn.structure.given_graph import COLLINEAR
from sgbn.structure.samples import Sample
from sgbn.types import Array, Graph

N_RESAMPLES = 2000  # the percentiles of 95 % intervals in small samples lie at about 1 %


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

    They are right if the graph was not learned from the same rows. An edge that was chosen because
    it looked strong in these rows looks stronger than it is.

    Parameters
    ----------
    X : array-like of shape (n, m), DataFrame or Cohort
        What sites and covariates of a Cohort do to its regions is taken out before, within the
        group, and its persons and families are resampled whole; rows of arrays and tables are
        taken as they are.
    graph : array-like of shape (m, m), GaussianNetwork or fitted learner
        A DAG; ``graph[i, j] != 0`` is i -> j. Its own weights do not count.
    group : str, optional
        The group of a Cohort that has several.
    n_resamples : int
        Number of bootstrap samples.
    level : float
        Share of intervals that hold the true value, such as 0.95.
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
    """Least-squares weights on a graph, one per edge, and the graph as a matrix.

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
    """Refuse a region with too many parents for the rows."""
    n_parents, (n, lost) = support.sum(axis=0), rows.nuisance.shape
    if n_parents.max() + 2 + lost > n:
        j = int(np.argmax(n_parents))
        beside = f", and sites and covariates take {lost} of them" if lost else ""
        raise InputError(
            f"{rows.names[j]!r} has {n_parents[j]} parents, but there are {n} rows{beside}: its "
            "weights have no interval. Give more rows, or a graph with fewer edges."
        )


def _check_names(graph: Any, names: list[str]) -> None:
    """Raise InputError if a graph has other regions; names x0, x1, ... fit any regions."""
    # A DataFrame has columns, a network names; an array has neither, and fits any.
    nodes = list(map(str, getattr(graph, "columns", getattr(graph, "names", names))))
    places = [f"x{k}" for k in range(len(names))]
    if nodes != names and places not in (nodes, names):
        raise InputError(
            "the regions of the graph are not the columns of X. Give both the same regions in the "
            "same order."
        )


def resamples(rows: Sample, n_resamples: int, seed: Sequence[int]) -> Array:
    """Return how often each resample has each row, shape (n_resamples, number of rows).

    A resample draws as many rows as there are. If rows belong to persons or families, it draws
    these instead, each with all its rows.
    """
    n_resamples = Whole(2).check("n_resamples", n_resamples)
    rng = np.random.default_rng([SEED.check("random_state", number) for number in seed])
    n = rows.n_units
    counts = rng.multinomial(n, np.full(n, 1 / n), size=n_resamples).astype(np.float64)
    if rows.units is None:
        return counts
    # Each row is there as often as its person or family was drawn.
    return counts[:, np.unique(rows.units, return_inverse=True)[1]]


def resampled_weights(values: Array, support: Graph, counts: Array) -> Array:
    """Weights of the edges in every resample, in the order of ``np.argwhere(support)``.

    Where the parents of a region are collinear in a resample, the smallest weights are taken.

    Returns
    -------
    ndarray of shape (n_resamples, n_edges)
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
        # Gram matrices of all resamples at once: one product, in place of a regression per
        # resample.
        gram = (counts @ (z[:, :, None] * z[:, None, :]).reshape(-1, k * k)).reshape(-1, k, k)
        along = counts @ (z * Z[:, [j]])
        inverse = np.linalg.pinv(gram, rcond=COLLINEAR, hermitian=True)
        weights = (inverse @ along[:, :, None])[:, :-1, 0]
        drawn[:, place[parents, j]] = weights * (sd[j] / sd[parents])
    return drawn


def interval(drawn: Array, n: int, n_coefficients: int, level: float) -> tuple[float, float]:
    """Return the expanded percentiles of a statistic in resamples of n rows."""
    degrees = max(n - n_coefficients, 1)
    # Student's t in place of the normal, and n - k in place of n, as for a mean.
    reach = np.sqrt(n / degrees) * stdtrit(degrees, (1 + level) / 2)
    tail = float(ndtr(-reach))
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return float(low), float(high)
