r"""The confidence of the edges of a network: what networks of half samples agree on.

The rows are split many times into two halves, and networks are learned from each half. The share of
these networks that join two regions says how sure the pair is. The share with i -> j says how sure
the arrow is. Shares describe these rows. They are not probabilities that an edge is true:
benchmarks/results/replication.md shows what fresh halves found at each share.

`selection_bound` is the bound of stability selection (Shah and Samworth 2013, Theorem 1). Let
:math:`p_k` be the probability that a network of half the sample joins the pair k, and
:math:`L_\theta` the pairs with :math:`p_k \le \theta`. Let :math:`\hat S` be the pairs that one
half joins, and :math:`\hat S_\tau` the pairs that at least a share :math:`\tau > 1/2` of the halves
joins. Then

.. math:: E |\hat S_\tau \cap L_\theta| \le \frac{\theta}{2 \tau - 1} E |\hat S \cap L_\theta|

The bound holds for any learner and any number of splits. It also holds if the two halves give
shares a and b instead of yes or no, because its proof only needs :math:`a + b - 1 \le a b`.

`consensus` makes one DAG of many networks, with the pairs that most of them join.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.core.gaussian import NetworkLike
from sgbn.core.types import Array, Graph, Mask
from sgbn.core.validation import NOT_NEGATIVE, PROBABILITY, UP_TO_ONE, Number

MIN_SHARE_JOINED = 0.5  # a half joins a pair if more than this share of its networks do
# With smaller shares, an arrow seldom comes back in other subjects. Other thresholds are in
# benchmarks/results/replication.md.
MIN_ADJACENCY = 0.8  # share of the networks that join the pair
MIN_DIRECTION = 0.9  # of the networks that join the pair, the share with the direction

EDGE_FIELDS = (("adjacency", float), ("direction", float))


class Agreement(NamedTuple):
    """The agreement of the two halves of a split, on average over all splits.

    Attributes
    ----------
    n_edges : float
        Number of pairs of regions that one half joins.
    edges : float
        Share of these pairs that the other half joins as well. NaN if there are none.
    n_arrows : float
        Number of directions that one half is sure of: at least `MIN_ADJACENCY` of its networks join
        the pair, and at least `MIN_DIRECTION` of these networks have the direction. This is more
        than the number of supported directions, which count the networks of all halves.
    arrows : float
        Share of these directions that come back in the other half: it joins the pair, and this
        direction is the more frequent one. NaN if there are none.
    """

    n_edges: float
    edges: float
    n_arrows: float
    arrows: float


@dataclass(frozen=True)
class EdgeConfidence:
    """The shares of networks of half samples that have each edge.

    Attributes
    ----------
    names : tuple of str
        Names of the m regions.
    n_halves : int
        Number of half samples, two for each split of the rows.
    arrow_ : ndarray of shape (m, m)
        Share of the networks with i -> j. An edge whose direction is open counts one half for each
        direction.
    agreement : Agreement
        How well the two halves of a split agree.
    """

    names: tuple[str, ...]
    n_halves: int
    arrow_: Array
    agreement: Agreement

    def __repr__(self) -> str:
        return f"EdgeConfidence({len(self.names)} regions, {self.n_halves} halves)"

    @cached_property
    def adjacency_(self) -> Array:
        """Return the share of the networks that join i and j: ``arrow_ + arrow_.T``."""
        return self.arrow_ + self.arrow_.T

    @cached_property
    def direction_(self) -> Array:
        """Return the share with i -> j among the networks that join i and j.

        It is 0 if no network joins them.
        """
        return self.arrow_ / np.where(self.adjacency_ > 0, self.adjacency_, 1.0)

    @property
    def n_adjacent(self) -> float:
        """Return the mean number of joined pairs in a network of a half sample."""
        return float(self.arrow_.sum())

    def supported(
        self,
        graph: NDArray[Any],
        min_adjacency: float = MIN_ADJACENCY,
        min_direction: float = MIN_DIRECTION,
    ) -> Mask:
        """Return a mask of the edges of a graph with a direction that the half samples support.

        ``[i, j]`` is True if the graph has i -> j, at least a share `min_adjacency` of the networks
        joins i and j, and at least a share `min_direction` of these networks has this direction.
        """
        return (
            (np.asarray(graph) != 0)
            & (self.adjacency_ >= min_adjacency - ROUND_OFF)
            & (self.direction_ >= min_direction - ROUND_OFF)
        )

    def bound(self, threshold: float, theta: float | None = None) -> float:
        """Return a bound on the expected number of unstable pairs that many halves join.

        See `selection_bound`. The number of pairs that one half joins is estimated by `n_adjacent`.

        Parameters
        ----------
        threshold : float
            Share of the halves that must join a pair; more than 0.5.
        theta : float, optional
            A pair is unstable if a half joins it with at most this probability. The default is the
            mean probability over all pairs, which a learner that guesses would give each pair.
        """
        m = len(self.names)
        if theta is None:
            theta = self.n_adjacent / (m * (m - 1) / 2)
        return selection_bound(threshold, theta, self.n_adjacent)

    def consensus(self, threshold: float = 0.5) -> Mask:
        """Return the DAG of the pairs that at least a share `threshold` of the networks joins.

        See `sgbn.learn.confidence.consensus`. The DAG shows the sure edges. It is not a better
        estimate than one network of all rows, because edges that half of the rows cannot show are
        missing.

        Returns
        -------
        ndarray of bool, shape (m, m)
            ``[i, j]`` is True for i -> j. `fit_weights` makes a network of it.
        """
        UP_TO_ONE.check("threshold", threshold)
        return consensus(self.arrow_, threshold)

    def edges(self, least: float = 0.0) -> np.recarray[Any, Any]:
        """Return the pairs that networks join, as a record array with the most frequent first.

        Parameters
        ----------
        least : float
            A pair is listed if at least this share of the networks joins it.

        Returns
        -------
        record array
            `source` and `target` are the two regions in the more frequent direction. `adjacency` is
            the share of the networks that join them, and `direction` is the share of these networks
            with this direction.
        """
        # Pairs that no network joins are left out even with least = 0.
        shown = (self.adjacency_ > 0) & (self.adjacency_ >= least - ROUND_OFF)
        rows = []
        for i, j in np.argwhere(np.triu(shown, 1)).tolist():
            source, target = (i, j) if self.arrow_[i, j] >= self.arrow_[j, i] else (j, i)
            ends = self.names[source], self.names[target]
            rows.append((*ends, self.adjacency_[i, j], self.direction_[source, target]))
        # Ties are sorted by name, so that the result does not depend on the order of the columns.
        rows.sort(key=lambda row: (-row[2], -row[3], row[0], row[1]))
        # As wide as the longest name, because numpy cuts longer names off without a warning.
        text = np.asarray(self.names).dtype
        return np.array(rows, [("source", text), ("target", text), *EDGE_FIELDS]).view(np.recarray)


def supported_of(network: NetworkLike, confidence: EdgeConfidence | None = None) -> Mask:
    """Return a mask of the edges of a network, or of a fitted learner, with a supported direction.

    This is `supported_` if the learner has it, else the edges that `confidence` supports. Without
    half samples, no direction is supported.
    """
    supported = getattr(network, "supported_", None)
    if supported is not None:
        return np.asarray(supported, bool)
    gaussian: Any = getattr(network, "network_", network)
    coef = gaussian.coef
    return np.zeros(coef.shape, bool) if confidence is None else confidence.supported(coef)


def drawn_graph(graph: NDArray[Any], supported: Mask) -> Mask:
    """Return the graph to draw: supported edges are arrows, and other edges are lines.

    An arrow i -> j is True only at ``[i, j]``, a line also at ``[j, i]``.
    """
    edges = np.asarray(graph) != 0
    return edges | (edges & ~supported).T


def agreement_of(first: Array, second: Array) -> Array:
    """Return the counts from which the `Agreement` of two complementary halves is computed.

    Each half is compared with the other one, and the counts of both comparisons are added up.

    Parameters
    ----------
    first, second : ndarray of shape (m, m)
        Share of the networks of a half with i -> j.

    Returns
    -------
    ndarray of shape (4,)
        Pairs that a half joins; of these, pairs that the other half joins as well; directions that
        a half is sure of; and of these, directions that come back in the other half.
    """
    counts = np.zeros(4)
    for half, other in ((first, second), (second, first)):
        joined, joined_in_other = (shares + shares.T > MIN_SHARE_JOINED for shares in (half, other))
        both = half + half.T
        arrows = both >= MIN_ADJACENCY - ROUND_OFF
        # Multiplied and not divided, because pairs that no network joins have no share.
        arrows &= half >= MIN_DIRECTION * both - ROUND_OFF
        back = arrows & joined_in_other & (other > other.T)
        counts += (joined.sum() / 2, (joined & joined_in_other).sum() / 2, arrows.sum(), back.sum())
    return counts


def agreement_from(counts: Array, n_halves: int) -> Agreement:
    """Return the `Agreement` from counts of `agreement_of` that were added up over all splits."""
    n_edges, again, n_arrows, back = counts.tolist()
    return Agreement(
        n_edges / n_halves,
        again / n_edges if n_edges else float("nan"),
        n_arrows / n_halves,
        back / n_arrows if n_arrows else float("nan"),
    )


def selection_bound(threshold: float, theta: float, n_selected: float) -> float:
    r"""Return the bound of stability selection with complementary halves.

    .. math:: E |\hat S_\tau \cap L_\theta| \le \frac{\theta}{2 \tau - 1} E |\hat S \cap L_\theta|

    A pair is unstable if a network of half the sample joins it with a probability of at most
    :math:`\theta`. The bound is on the expected number of unstable pairs that at least a share
    :math:`\tau` of the halves joins. It says nothing about wrong pairs that a half joins often.
    For example, a region that was not measured can make two regions dependent: such a pair is
    stable, and wrong.

    Parameters
    ----------
    threshold : float
        :math:`\tau`, the share of the halves that must join a pair; more than 0.5 and at most 1.
    theta : float
        :math:`\theta`, a probability from 0 to 1.
    n_selected : float
        Expected number of unstable pairs that one half joins. The number of all pairs that it joins
        may be used instead.
    """
    Number(above=0.5, most=1).check("threshold", threshold)
    PROBABILITY.check("theta", theta)
    NOT_NEGATIVE.check("n_selected", n_selected)
    return theta / (2 * threshold - 1) * n_selected


ROUND_OFF = 1e-9  # shares are sums of floats, and may miss a threshold by this much


def consensus(
    arrows: Array, threshold: float = 0.5, other_way: float = 1.0, max_parents: int | None = None
) -> Graph:
    """Return the DAG of the pairs that at least a share `threshold` of the networks joins.

    Each edge has the more frequent direction. The surest directions come first. If a direction
    would close a cycle, the edge is reversed. If no network has the reversed edge, it is left out.
    If both directions are equally frequent, the edge leads from the earlier to the later variable.

    Parameters
    ----------
    arrows : ndarray of shape (m, m)
        Share of the networks with i -> j.
    threshold : float
        A pair is joined if the share of its more frequent direction, plus `other_way` times the
        share of the opposite direction, is at least this.
    other_way : float
        With 1, all networks that join a pair count. With a smaller number, a pair whose direction
        is open must be joined by more networks. This takes into account that a wrong direction is
        an error, too.
    max_parents : int, optional
        The largest number of parents of a variable. The surest parents are kept.

    Returns
    -------
    ndarray of bool, shape (m, m)
        ``[i, j]`` is True for i -> j.
    """
    more, less = np.maximum(arrows, arrows.T), np.minimum(arrows, arrows.T)
    i, j = np.nonzero(np.triu(more + other_way * less >= threshold - ROUND_OFF, 1))
    lead = arrows[i, j] - arrows[j, i]
    graph = np.zeros(arrows.shape, bool)
    most = len(graph) if max_parents is None else max_parents
    # [i, j] is True if a directed path leads from i to j, and on the diagonal.
    leads_to = np.eye(len(graph), dtype=bool)
    # Rounded, so that round-off of shares does not decide between equally sure pairs.
    for k in np.argsort(-np.round(np.abs(lead), 9), kind="stable"):
        source, target = (i[k], j[k]) if lead[k] > -ROUND_OFF else (j[k], i[k])
        if leads_to[target, source]:
            source, target = target, source
        if arrows[source, target] > 0 and graph[:, target].sum() < most:
            graph[source, target] = True
            # Now paths lead from all ancestors of the source to all descendants of the target.
            leads_to |= np.outer(leads_to[:, source], leads_to[target])
    return graph
