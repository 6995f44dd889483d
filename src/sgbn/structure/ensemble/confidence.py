r"""How sure the edges of a network are: what halves of the sample agree on.

Networks are learned from each of many halves of the rows, in complementary pairs. The share of the
halves' networks that join two regions says how sure the pair is, and the share with i -> j how sure
the arrow. They describe these rows, and are not probabilities of being true:
benchmarks/results/replication.md has what fresh halves found at each share.

The bound of stability selection (Shah and Samworth 2013, Theorem 1). Let :math:`p_k` be the
probability that a network of half the sample joins the pair k, and :math:`L_\theta` the pairs with
:math:`p_k \le \theta`. Of the pairs that a share :math:`\tau > 1/2` of the halves or more joins,

.. math:: E |\hat S_\tau \cap L_\theta| \le \frac{\theta}{2 \tau - 1} E |\hat S \cap L_\theta|

where :math:`\hat S` is what one half joins. It holds for any learner and any number of pairs, and
also where each half gives shares a, b instead of yes or no: :math:`a + b - 1 \le a b` is all that
its proof needs of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.gaussian import NetworkLike
from sgbn.parameters import NOT_NEGATIVE, PROBABILITY, UP_TO_ONE, Number
from sgbn.structure.posterior.consensus import ROUND_OFF, consensus
from sgbn.types import Array, Mask

MIN_SHARE_JOINED = 0.5  # share of a half's networks above which the half joins a pair
# Below these shares, an arrow seldom comes back in other subjects; other thresholds are in
# benchmarks/results/replication.md.
MIN_ADJACENCY = 0.8  # share of the networks that join the pair
MIN_DIRECTION = 0.9  # share of the networks that join the pair and have the direction

EDGE_FIELDS = (("adjacency", float), ("direction", float))


class Agreement(NamedTuple):
    """How well complementary halves agree, on average over the pairs of halves.

    Attributes
    ----------
    n_edges : pairs of regions that one half joins.
    edges : share of these that the other half joins too.
    n_arrows : directions that one half is sure of: `MIN_ADJACENCY` of its networks join the pair,
        and `MIN_DIRECTION` of these have the direction. More than are supported, for which all
        halves must agree.
    arrows : share of these that are joined in the other half with this direction in more than half
        of its networks that join them. NaN if there are none.
    """

    n_edges: float
    edges: float
    n_arrows: float
    arrows: float


@dataclass(frozen=True)
class EdgeConfidence:
    """What networks of halves of a sample agree on.

    Attributes
    ----------
    names : tuple of str
        The m regions.
    n_halves : int
        Halves, two for each split of the rows.
    arrow_ : ndarray of shape (m, m)
        Share of the halves' networks with i -> j. An edge that nothing directs counts half either
        way.
    agreement : Agreement
    """

    names: tuple[str, ...]
    n_halves: int
    arrow_: Array
    agreement: Agreement

    def __repr__(self) -> str:
        return f"EdgeConfidence({len(self.names)} regions, {self.n_halves} halves)"

    @cached_property
    def adjacency_(self) -> Array:
        """Share of the halves' networks that join i and j: ``arrow_ + arrow_.T``."""
        return self.arrow_ + self.arrow_.T

    @cached_property
    def direction_(self) -> Array:
        """Of the networks that join i and j, the share with i -> j; 0 where none joins them."""
        joined = self.adjacency_ > 0
        return self.arrow_ / np.where(joined, self.adjacency_, 1.0)

    @property
    def n_adjacent(self) -> float:
        """Mean number of joined pairs in the network of a half."""
        return float(self.arrow_.sum())

    def supported(
        self,
        graph: NDArray[Any],
        min_adjacency: float = MIN_ADJACENCY,
        min_direction: float = MIN_DIRECTION,
    ) -> Mask:
        """Return the edges i -> j of a graph whose direction the halves support.

        Those that a share of `min_adjacency` of the networks joins, of which `min_direction` have
        this direction.
        """
        return (
            (np.asarray(graph) != 0)
            & (self.adjacency_ >= min_adjacency - ROUND_OFF)
            & (self.direction_ >= min_direction - ROUND_OFF)
        )

    def bound(self, threshold: float, theta: float | None = None) -> float:
        """Bound the expected number of unstable pairs among those joined in `threshold` of halves.

        See `selection_bound`. What one half joins is estimated by `n_adjacent`.

        Parameters
        ----------
        threshold : float
            Share of the halves that join a pair; above 0.5.
        theta : float, optional
            Pairs count as unstable if a half joins them with at most this probability. By default
            the mean over all pairs: what a learner that guesses would give each of them.
        """
        m = len(self.names)
        if theta is None:
            theta = self.n_adjacent / (m * (m - 1) / 2)
        return selection_bound(threshold, theta, self.n_adjacent)

    def consensus(self, threshold: float = 0.5) -> Mask:
        """Return the DAG of the pairs that a share of at least `threshold` of the networks joins.

        See `sgbn.structure.posterior.consensus`. It shows what is sure. It is not a better
        estimate than one network of all rows: what half of the rows cannot show is missing.

        Returns
        -------
        ndarray of bool, shape (m, m)
            ``[i, j]`` is i -> j. `fit_weights` makes a network of it.
        """
        UP_TO_ONE.check("threshold", threshold)
        return consensus(self.arrow_, threshold)

    def edges(self, least: float = 0.0) -> np.recarray[Any, Any]:
        """Pairs that halves joined, as a record array, the most frequent first.

        Parameters
        ----------
        least : float
            Share of the networks that join a pair from which on it is listed.

        Returns
        -------
        record array
            `source` and `target` in the more frequent direction; `adjacency`, the share of the
            networks that join them, and `direction`, the share of these with this direction.
        """
        # pairs that no half joined are left out also with least = 0
        shown = (self.adjacency_ > 0) & (self.adjacency_ >= least - ROUND_OFF)
        rows = []
        for i, j in np.argwhere(np.triu(shown, 1)).tolist():
            source, target = (i, j) if self.arrow_[i, j] >= self.arrow_[j, i] else (j, i)
            ends = self.names[source], self.names[target]
            rows.append((*ends, self.adjacency_[i, j], self.direction_[source, target]))
        # names last: ties have one order, whatever that of the columns
        rows.sort(key=lambda row: (-row[2], -row[3], row[0], row[1]))
        # as wide as the longest name: numpy would cut longer ones off without a word
        text = np.asarray(self.names).dtype
        fields = [("source", text), ("target", text), *EDGE_FIELDS]
        return np.array(rows, dtype=fields).view(np.recarray)


def supported_of(network: NetworkLike, confidence: EdgeConfidence | None = None) -> Mask:
    """Return the edges of a network, or of a fitted learner, whose direction is supported.

    Those of `supported_` where the learner has it, else what a confidence that is given supports;
    without half samples nothing is.
    """
    supported = getattr(network, "supported_", None)
    if supported is not None:
        return np.asarray(supported, bool)
    gaussian: Any = getattr(network, "network_", network)
    coef = gaussian.coef
    return np.zeros(coef.shape, bool) if confidence is None else confidence.supported(coef)


def drawn_graph(graph: NDArray[Any], supported: Mask) -> Mask:
    """Return what to draw: supported edges as arrows, the others as lines, set both ways."""
    edges = np.asarray(graph) != 0
    return edges | (edges & ~supported).T


def agreement_of(first: Array, second: Array) -> Array:
    """Count what two complementary halves agree on, each taken as the first.

    Parameters
    ----------
    first, second : ndarray of shape (m, m)
        Share of a half's networks with i -> j.

    Returns
    -------
    ndarray of shape (4,)
        Edges of both halves, those that the other joins, arrows of both, those that come back.
    """
    counts = np.zeros(4)
    for half, other in ((first, second), (second, first)):
        joined, joined_in_other = (shares + shares.T > MIN_SHARE_JOINED for shares in (half, other))
        both = half + half.T
        arrows = both >= MIN_ADJACENCY - ROUND_OFF
        # multiplied, not divided: pairs that no network joins have no share
        arrows &= half >= MIN_DIRECTION * both - ROUND_OFF
        back = arrows & joined_in_other & (other > other.T)
        counts += (joined.sum() / 2, (joined & joined_in_other).sum() / 2, arrows.sum(), back.sum())
    return counts


def agreement_from(counts: Array, n_halves: int) -> Agreement:
    """Make means of counts that were added up over pairs of halves."""
    n_edges, again, n_arrows, back = counts.tolist()
    return Agreement(
        n_edges / n_halves,
        again / n_edges if n_edges else float("nan"),
        n_arrows / n_halves,
        back / n_arrows if n_arrows else float("nan"),
    )


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
    Number(above=0.5, most=1).check("threshold", threshold)
    PROBABILITY.check("theta", theta)
    NOT_NEGATIVE.check("n_selected", n_selected)
    return theta / (2 * threshold - 1) * n_selected
