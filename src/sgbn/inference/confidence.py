r"""How sure the edges of a network are: what halves of the sample agree on.

A network is learned from each of many halves of the rows, in complementary pairs. The share of
halves that join two regions is the confidence of "adjacent", and the share of these halves in
which the data decide for i -> j that of "this direction". They are frequencies, not probabilities
of being true: benchmarks/results/confidence.md has what share of edges was true at each.

The bound of stability selection (Shah and Samworth 2013, Theorem 1). Let :math:`p_k` be the
probability that a network of half the sample joins the pair k, and :math:`L_\theta` the pairs with
:math:`p_k \le \theta`. Of the pairs that a share :math:`\tau > 1/2` of the halves or more joins,

.. math:: E |\hat S_\tau \cap L_\theta| \le \frac{\theta}{2 \tau - 1} E |\hat S \cap L_\theta|

where :math:`\hat S` is what one half joins. It holds for any learner and any number of pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgbn.cohort import Cohort
from sgbn.exceptions import InputError
from sgbn.inference.half_samples import learn_halves
from sgbn.inference.rows import check_count, check_share, read_rows
from sgbn.structure import SGBN
from sgbn.structure.base import NetworkEstimator

Array = NDArray[np.float64]

ROUND_OFF = 1e-9  # of a share of halves

EDGE_FIELDS = (
    ("adjacent", float),
    ("direction", float),
    ("decided", float),
    ("sign", float),
    ("weight", float),
    ("low", float),
    ("high", float),
)


@dataclass(frozen=True)
class EdgeConfidence:
    """What networks of halves of a sample agree on.

    Attributes
    ----------
    names : tuple of str
        The m regions.
    n_halves : int
        Networks learned, two for each pair of halves.
    found : structured ndarray
        Every edge of every network: `half`, `source`, `target` (indices), `weight` in the units of
        the data, and whether its direction is `decided` (by the data or by prior knowledge).
    """

    names: tuple[str, ...]
    n_halves: int
    found: NDArray[Any]

    def __repr__(self) -> str:
        return f"EdgeConfidence({len(self.names)} regions, {self.n_halves} halves)"

    @cached_property
    def learned(self) -> Array:
        """Share of halves with the edge i -> j as it was learned, decided or not."""
        return self._shares(np.ones(len(self.found)))

    @cached_property
    def adjacent(self) -> Array:
        """Share of halves that join i and j, in either direction: a symmetric matrix."""
        return self.learned + self.learned.T

    @cached_property
    def directed(self) -> Array:
        """Share of halves with i -> j; an edge that nothing decides counts half either way.

        ``directed + directed.T`` is `adjacent`.
        """
        certain = self._shares(self.found["decided"])
        open_ways = self._shares(~self.found["decided"]) / 2
        shares: Array = certain + open_ways + open_ways.T
        return shares

    @property
    def n_adjacent(self) -> float:
        """Mean number of joined pairs in the network of a half."""
        return len(self.found) / self.n_halves

    def bound(self, threshold: float, theta: float | None = None) -> float:
        """Bound the expected number of unstable pairs among those joined in `threshold` of halves.

        See `selection_bound`. What one half joins is estimated by `n_adjacent`.

        Parameters
        ----------
        threshold : float
            Above 0.5.
        theta : float, optional
            Pairs count as unstable if a half joins them with at most this probability. By default
            the mean over all pairs: what a learner that guesses would give each of them.
        """
        m = len(self.names)
        if theta is None:
            theta = self.n_adjacent / (m * (m - 1) / 2)
        return selection_bound(threshold, theta, self.n_adjacent)

    def consensus(self, threshold: float = 0.5) -> NDArray[np.bool_]:
        """Return the DAG of the pairs that a share of at least `threshold` of the halves joins.

        Each edge has the direction that more halves learned. The surest directions come first; one
        that would close a cycle is turned round, or left out if no half had it that way. Of
        directions that are exactly even the one from the earlier column is taken.

        It shows what is sure, and is no better estimate than one network of all rows: what half of
        the rows cannot show is missing.

        Returns
        -------
        ndarray of bool, shape (m, m)
            ``[i, j]`` is i -> j. `fit_weights` makes a network of it.
        """
        check_share(threshold, "threshold", 0.0, 1.0 + ROUND_OFF)
        i, j = np.nonzero(np.triu(self.adjacent >= threshold - ROUND_OFF, 1))
        lead = self.learned[i, j] - self.learned[j, i]
        graph = np.zeros(self.learned.shape, bool)
        leads_to = np.eye(len(graph), dtype=bool)
        for k in np.argsort(-np.round(np.abs(lead), 9), kind="stable"):
            source, target = (i[k], j[k]) if lead[k] > -ROUND_OFF else (j[k], i[k])
            if leads_to[target, source]:
                source, target = target, source
            if self.learned[source, target] > 0:
                graph[source, target] = True
                leads_to |= np.outer(leads_to[:, source], leads_to[target])
        return graph

    def edges(self, least: float = 0.0, level: float = 0.95) -> np.recarray[Any, Any]:
        """Pairs that halves joined, as a record array, the most frequent first.

        Parameters
        ----------
        least : float
            Share of halves that join a pair from which on it is listed.
        level : float
            Of the weights that lie between `low` and `high`.

        Returns
        -------
        record array
            `source` and `target` in the more frequent direction; `adjacent`, the share of halves
            that join them; of these halves, `direction` (the share with this direction, an edge
            that nothing decides counting half), `decided` (the share in which the direction was
            decided) and `sign` (the share with the more frequent sign of the weight); and of those
            in which it was learned in this direction the median `weight`, `low` and `high`. These
            quantiles are those of half the sample, where the edge was found: wider than those of
            the sample, and away from zero. `weight_intervals` has intervals for a fixed graph.
        """
        check_share(level, "level")
        pairs = np.argwhere(np.triu((self.adjacent > 0) & (self.adjacent >= least - ROUND_OFF), 1))
        rows = [self._record(*self._towards(i, j), level) for i, j in pairs.tolist()]
        rows.sort(key=lambda row: (-row[2], -row[3], row[0], row[1]))
        text = np.asarray(self.names).dtype
        fields = [("source", text), ("target", text), *EDGE_FIELDS]
        return np.array(rows, dtype=fields).view(np.recarray)

    def _towards(self, i: int, j: int) -> tuple[int, int]:
        """Pair in its more frequent direction; of even ones the one that was learned more often."""
        for shares in (self.directed, self.learned):
            lead = shares[i, j] - shares[j, i]
            if abs(lead) > ROUND_OFF:
                return (i, j) if lead > 0 else (j, i)
        return i, j

    def _record(self, i: int, j: int, level: float) -> tuple[Any, ...]:
        edges = self._of_pair[min(i, j), max(i, j)]
        weights = edges["weight"]
        low, median, high = np.quantile(
            weights[edges["source"] == i], [(1 - level) / 2, 0.5, (1 + level) / 2]
        )
        positive = np.mean(weights > 0)
        return (
            self.names[i],
            self.names[j],
            self.adjacent[i, j],
            self.directed[i, j] / self.adjacent[i, j],
            edges["decided"].mean(),
            max(positive, 1 - positive),
            median,
            low,
            high,
        )

    @cached_property
    def _of_pair(self) -> dict[tuple[int, int], NDArray[Any]]:
        """Edges of each pair (i < j), in either direction."""
        if not len(self.found):
            return {}
        ends = np.sort([self.found["source"], self.found["target"]], axis=0)
        codes = ends[0] * len(self.names) + ends[1]
        order = np.argsort(codes, kind="stable")
        distinct, first = np.unique(codes[order], return_index=True)
        parts = np.split(self.found[order], first[1:])
        pairs = (divmod(int(code), len(self.names)) for code in distinct)
        return dict(zip(pairs, parts, strict=True))

    def _shares(self, counts: NDArray[Any]) -> Array:
        m = len(self.names)
        shares = np.zeros((m, m))
        np.add.at(shares, (self.found["source"], self.found["target"]), counts)
        return shares / self.n_halves


def edge_confidence(
    X: ArrayLike | Cohort,
    learner: NetworkEstimator | None = None,
    *,
    group: str | None = None,
    n_pairs: int = 100,
    random_state: int = 0,
    n_jobs: int | None = None,
    folder: str | Path | None = None,
    progress: bool = False,
) -> EdgeConfidence:
    """Learn a network from each half of many splits of the rows, and count its edges.

    Parameters
    ----------
    X : array-like of shape (n, m), DataFrame or Cohort
        At least 20 rows. What sites and covariates of a Cohort do to its regions is taken out
        before, within the group; rows of arrays and tables are taken as they are.
    learner : estimator, optional
        Any learner of sgbn. By default ``SGBN(n_kicks=0)``: its fast setting finds nearly as much
        in half a sample as the full one, in a seventh of the time.
    group : str, optional
        The group of a Cohort that has several.
    n_pairs : int
        Splits. A frequency's Monte-Carlo error is at most ``0.5 / sqrt(n_pairs)``.
    random_state : int
        Seed of the splits. Results do not depend on `n_jobs`.
    n_jobs : int, optional
        Processes.
    folder : path, optional
        Where finished pairs are kept, so that a second start does only what is missing; more pairs
        can be asked for later.
    progress : bool
        Show a bar with the time left.

    Returns
    -------
    EdgeConfidence

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.inference import edge_confidence
    >>> X = np.random.default_rng(0).standard_normal((200, 4))
    >>> X[:, 2] += X[:, 0] + X[:, 1]
    >>> confidence = edge_confidence(X, n_pairs=10)
    >>> confidence.edges(least=0.9)[["source", "target", "adjacent", "direction"]].tolist()
    [('x0', 'x2', 1.0, 1.0), ('x1', 'x2', 1.0, 1.0)]
    """
    rows = read_rows(X, group)
    n_pairs = check_count(n_pairs, "n_pairs", 1)
    random_state = check_count(random_state, "random_state", 0)
    found = learn_halves(
        rows,
        SGBN(n_kicks=0) if learner is None else learner,
        n_pairs,
        random_state,
        n_jobs=n_jobs,
        folder=folder,
        progress=progress,
    )
    return EdgeConfidence(tuple(rows.names), 2 * n_pairs, found)


def selection_bound(threshold: float, theta: float, n_selected: float) -> float:
    r"""Bound of stability selection with complementary pairs.

    .. math:: E |\hat S_\tau \cap L_\theta| \le \frac{\theta}{2 \tau - 1} E |\hat S \cap L_\theta|

    bounds the expected number of pairs that are joined in a share :math:`\tau` of the halves or
    more although a network of half the sample joins them with a probability of at most
    :math:`\theta`. It says nothing about wrong pairs that a half often joins, such as those that a
    region that was not measured makes dependent: these are stable, and wrong.

    Parameters
    ----------
    threshold : float
        :math:`\tau`, above 0.5 and at most 1.
    theta : float
        From 0 to 1.
    n_selected : float
        Expected number of such pairs that one half joins; that of all pairs it joins will do.
    """
    check_share(threshold, "threshold", 0.5, 1.0 + ROUND_OFF)
    if not (0 <= theta <= 1 and n_selected >= 0):
        raise InputError(
            f"theta is {theta!r} and n_selected {n_selected!r}: give a probability and a number "
            "from 0 on."
        )
    return theta / (2 * threshold - 1) * n_selected
