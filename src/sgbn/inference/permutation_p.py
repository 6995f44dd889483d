r"""Computation of p from permuted statistics: p of each edge, family-wise p, and q.

There are two classes of edges: edges that the pooled rows choose, and edges that only a group
chooses. Each class has its own null distribution. If one of the two classes has fewer than 20
permuted statistics, the two classes are joined into one. A statistic t first gets a share u: the
share of the permuted statistics of its class that reach it. The statistic itself counts as one
more.

In a small class, counts cannot tell large statistics apart. So above the 50th largest statistic
:math:`t_{50}` of a class, u falls exponentially,

.. math:: u(t) = u(t_{50}) \, e^{-(t - t_{50}) / \bar e}, \qquad
          \bar e = \text{mean of } t - t_{50} \text{ over the 50 largest.}

In a class with fewer than 100 statistics, the larger half takes the place of the 50 largest. The
other statistics of the data do not enter u. If they did, many true changes would make each other's
u larger. The shares u of all classes are on one scale:

- The p of an edge is the share of all permuted edges whose u is as small or smaller. The edge
  itself counts as one more. A permutation with fewer edges than the data is filled up with edges
  that have a u of 1.
- The family-wise p of an edge is the share of permutations whose smallest u is as small or smaller
  (min-P; Westfall and Young 1993). The data count as one of the permutations. The null hypothesis
  is that no edge differs.
- The q of an edge is its false discovery rate (Benjamini and Hochberg 1995), over the p of all
  edges. The null hypothesis of each edge is that it does not differ.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import false_discovery_control

from sgbn.core.types import Array, Indices

ROUND_OFF = 1e-9  # share of a statistic; the same rows in another order change it by less
TAIL = 50  # number of largest statistics of a class that its exponential tail is fitted to
FEWEST_IN_TAIL = 5  # statistics; with fewer, the mean excess says nothing
FEWEST_IN_CLASS = 20  # permuted statistics; a smaller class is joined with the other class


class Permuted(NamedTuple):
    """The statistics of the data and of all permutations.

    Attributes
    ----------
    observed, classes : ndarray of shape (k,)
        The statistics of the data, and the class of each statistic as a number. Larger statistics
        are stronger evidence against the null hypothesis. Classes 0 and 1 may be joined.
    null, null_classes : ndarray of shape (all statistics of all permutations,)
        Statistics of the permutations, one permutation after the other, and their classes.
    counts : ndarray of shape (permutations,)
        Number of statistics of each permutation.
    """

    observed: Array
    classes: Indices
    null: Array
    null_classes: Indices
    counts: Indices


class Ranked(NamedTuple):
    """The shares and p of the data's statistics, and the shares of the permuted statistics.

    Attributes
    ----------
    shares, p : ndarray of shape (k,)
        u of the data's statistics, and their p.
    null, run : ndarray of shape (all permuted statistics,)
        u of the permuted statistics, and the permutation of each.
    lowest : ndarray of shape (permutations,)
        Smallest u of every permutation.
    """

    shares: Array
    p: Array
    null: Array
    run: Indices
    lowest: Array

    @property
    def error(self) -> Array:
        """Return the Monte-Carlo error of p."""
        return _pooled_error(-self.shares, self.p, -self.null, self.run)

    @property
    def family_wise(self) -> Array:
        """Return the family-wise p, from the smallest u of each permutation."""
        return shares_reaching(-self.shares, -self.lowest)


def ranked(permuted: Permuted) -> Ranked:
    """Return the p of all statistics, on one scale for all classes of statistics."""
    shares, null = np.ones(len(permuted.observed)), np.ones(len(permuted.null))
    classes, null_classes = without_small_classes(permuted.classes, permuted.null_classes)
    # Statistics of the data are ranked only among permuted statistics. Permuted statistics are
    # ranked among themselves. Each of them is counted already, so that n_extra is 0.
    for number in np.unique(np.concatenate([classes, null_classes])):
        in_data, in_null = classes == number, null_classes == number
        ascending = np.sort(permuted.null[in_null])
        shares[in_data] = class_shares(permuted.observed[in_data], ascending)
        null[in_null] = class_shares(permuted.null[in_null], ascending, n_extra=0)
    # Permutations with fewer edges than the data are filled up. Otherwise p would count them less.
    lacking = np.maximum(len(shares) - permuted.counts, 0)
    filled_up = np.concatenate([null, np.ones(lacking.sum())])
    numbers = np.arange(len(lacking))
    runs = [np.repeat(numbers, count) for count in (permuted.counts, lacking)]
    return Ranked(
        shares,
        shares_reaching(-shares, -filled_up),
        filled_up,
        np.concatenate(runs),
        lowest_of(null, permuted.counts),
    )


def without_small_classes(classes: Indices, null_classes: Indices) -> tuple[Indices, Indices]:
    """Return the classes of all statistics, after small classes are joined with their partners.

    If permutations hardly ever have statistics of a class, no statistic of this class could have a
    small share, however large it is.
    """
    sizes = np.bincount(null_classes, minlength=classes.max(initial=-1) + 1)
    number = np.arange(len(sizes))
    # Classes 0 and 1 are partners: their numbers differ in the last bit.
    partner_sizes = np.append(sizes, 0)[np.minimum(number ^ 1, len(sizes))]
    joined = np.where(np.minimum(sizes, partner_sizes) < FEWEST_IN_CLASS, number & ~1, number)
    return joined[classes], joined[null_classes]


def class_shares(values: Array, ascending: Array, n_extra: int = 1) -> Array:
    """Return the share u of each value in its class, whose permuted statistics are `ascending`.

    The docstring of this module defines u. `n_extra` is 1 for values of the data, each of which
    counts as one more. It is 0 for permuted values.
    """
    shares: Array = (n_extra + count_reaching(values, ascending)) / max(n_extra + len(ascending), 1)
    start, at_start, excess = _tail(ascending)
    # Without the fitted tail, all values above the largest permuted statistic would have the same
    # share. A very large change would then have no smaller p than a moderate one.
    beyond = values > start
    shares[beyond] = at_start * np.exp(-(values[beyond] - start) / excess)
    return shares


def statistic_at(share: float, ascending: Array) -> float:
    """Return the statistic that must be exceeded to have a smaller share in the class."""
    n = len(ascending)
    start, at_start, excess = _tail(ascending)
    if share < at_start:
        return float(start - excess * np.log(share / (1 + ROUND_OFF) / at_start))
    # The value itself counts as one more, so that it is subtracted.
    reaching = int(np.ceil(share * (n + 1) * (1 - ROUND_OFF))) - 1
    if reaching <= 0:
        return np.inf
    # Values that differ only by round-off count as equal. So the limit is larger by the round-off.
    equal = float(ascending[n - reaching])
    return equal + ROUND_OFF * abs(equal)


def _tail(ascending: Array) -> tuple[float, float, float]:
    """Return the statistic at which the tail begins, the share there, and the mean excess."""
    n = len(ascending)
    size = min(TAIL, n // 2)
    # A start at infinity means that there is no tail: all shares are counted.
    if size < FEWEST_IN_TAIL or ascending[-1] <= ascending[-size]:
        return np.inf, 0.0, 1.0
    start = float(ascending[-size])
    reaching = n - np.searchsorted(ascending, nearly(start))  # more than `size` if there are ties
    return start, float(reaching) / n, float(np.mean(ascending[-size:] - start))


def lowest_of(shares: Array, counts: Indices) -> Array:
    """Return the smallest share of each permutation; 1 for a permutation without statistics."""
    lowest = np.ones(len(counts))
    some = np.flatnonzero(counts)
    if len(some):
        # reduceat cannot have empty parts. Permutations without an edge are skipped and keep 1.
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])[some]
        lowest[some] = np.minimum.reduceat(shares, starts)
    return lowest


def count_reaching(values: Array, ascending: Array) -> Indices:
    """Return how many of the sorted statistics reach each value."""
    return len(ascending) - np.searchsorted(ascending, nearly(values))


def shares_reaching(values: Array, null: Array) -> Array:
    """Return the share of null statistics that reach each value; the value itself counts too."""
    shares: Array = (1 + count_reaching(values, np.sort(null))) / (1 + len(null))
    return shares


def reached(value: float, null: Array) -> float:
    """Return the share of null statistics that reach the value; the value itself counts too."""
    return float(shares_reaching(np.array([value]), null)[0])


def nearly(value: Any) -> Any:
    """Subtract the round-off of a value, so that comparisons do not depend on round-off."""
    return value - ROUND_OFF * np.abs(value)


def discovery_rates(p: Array) -> Array:
    """Return the q of Benjamini and Hochberg."""
    if not len(p):
        return np.empty(0)
    q: Array = false_discovery_control(p, method="bh")
    return q


def holm(p: Array) -> Array:
    """Return the family-wise p by Holm's method."""
    order = np.argsort(p, kind="stable")
    # The smallest p is multiplied by the number of tests, the next by one less, and so on. The
    # results must not fall.
    steps = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def permutations_needed(level: float, by: str = "p_fwer") -> int:
    """Return how many permutations a family-wise p, or a q, needs at least to reach a level.

    With B permutations of k edges, the p of a single find is at least 1 / (1 + B k). So its q is at
    least k / (1 + B k), which is a little less than 1 / B.
    """
    # Round-off of a computed level must not ask for one permutation more.
    whole = int(np.ceil((1 - 1e-12) / level))
    return whole if by.startswith("q") else whole - 1


def monte_carlo_error(p: Any, n_permutations: int) -> Any:
    """Return the standard error of p that comes from the number of permutations."""
    return np.sqrt(p * (1 - p) / (n_permutations + 1))


def _pooled_error(observed: Array, p: Array, null: Array, run: Indices) -> Array:
    r"""Return the Monte-Carlo error of a p that is pooled over the edges of all permutations.

    Edges of one permutation are dependent. So p is treated as a ratio of sums over permutations b,
    in which :math:`c_b` of :math:`n_b` statistics reach the observed one. The error is
    :math:`\sqrt{\sum_b (c_b - p n_b)^2} / \sum_b n_b`, and at least the error of independent
    statistics. `run` is the permutation of each statistic.
    """
    counts = np.bincount(run)
    order = np.argsort(-null, kind="stable")
    reach = count_reaching(observed, null[order][::-1])
    total = max(len(null), 1)
    error = np.empty(len(p))
    for k, (count, share) in enumerate(zip(reach.tolist(), p.tolist(), strict=True)):
        hits = np.bincount(run[order[:count]], minlength=len(counts))
        error[k] = np.sqrt(np.square(hits - share * counts).sum()) / total
    return np.maximum(error, np.sqrt(p * (1 - p) / total))
