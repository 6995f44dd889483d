r"""From permuted statistics to p: within classes, family-wise, and as false discovery rates.

Edges that the pooled rows choose and edges that only a group chooses are classes with null
distributions of their own. A statistic t first gets the share u of the permuted statistics of its
class that reach it, itself counted as one more. Where one of the two classes has fewer than 20,
they are joined. Beyond the 50 largest of a class, of which
small classes have too few to be told apart, u falls exponentially,

.. math:: u(t) = u(t_{50}) \, e^{-(t - t_{50}) / \bar e}, \qquad
          \bar e = \text{mean of } t - t_{50} \text{ over the 50 largest.}

The data's own statistics have no part in it: many true changes would hide each other. Then, with
all classes on one scale,

- p of an edge is the share of all permuted edges, itself counted as one more, with a u as small;
  a permutation with fewer edges than the data has edges with a u of 1 in place of those it lacks;
- its family-wise p is the share of permutations, the data among them, whose smallest u is as small
  (min-P; Westfall and Young 1993); the null is that no edge differs;
- q is that of Benjamini and Hochberg (1995) over the p of all edges; the null of each edge is that
  it does not differ.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import false_discovery_control

from sgbn.types import Array, Indices

ROUND_OFF = 1e-9  # share of a statistic: the same rows in another order differ by less
TAIL = 50  # largest statistics of a class that its exponential tail is fitted to
FEWEST_IN_TAIL = 5  # with fewer, the mean excess says nothing
FEWEST_IN_CLASS = 20  # permuted statistics; a smaller class is joined with its partner


class Permuted(NamedTuple):
    """Statistics of the data, and of the permutations one after the other.

    Attributes
    ----------
    observed, classes : ndarray of shape (k,)
        The larger the more they speak against the null, and the number of the class of each.
        Classes 0 and 1 are partners.
    null, null_classes : ndarray of shape (all statistics of all permutations,)
    counts : ndarray of shape (permutations,)
        How many of them belong to each permutation.
    """

    observed: Array
    classes: Indices
    null: Array
    null_classes: Indices
    counts: Indices


class Ranked(NamedTuple):
    """Shares and p of the data's statistics, and the shares of the permuted statistics.

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
        """Monte-Carlo error of p."""
        return _pooled_error(-self.shares, self.p, -self.null, self.run)

    @property
    def family_wise(self) -> Array:
        """Family-wise p: the share of permutations, with the data, whose smallest u is as small."""
        return shares_reaching(-self.shares, -self.lowest)


def ranked(permuted: Permuted) -> Ranked:
    """P-values of all statistics, on one scale for all classes of statistics."""
    shares, null = np.ones(len(permuted.observed)), np.ones(len(permuted.null))
    classes, null_classes = without_small_classes(permuted.classes, permuted.null_classes)
    # Statistics of the data are ranked among permuted ones only; permuted ones among themselves,
    # where each is one of them already.
    for number in np.unique(np.concatenate([classes, null_classes])):
        mine, theirs = classes == number, null_classes == number
        ascending = np.sort(permuted.null[theirs])
        shares[mine] = class_shares(permuted.observed[mine], ascending)
        null[theirs] = class_shares(permuted.null[theirs], ascending, n_extra=0)
    # A permutation with fewer edges than the data would else count for less in p.
    lacking = np.maximum(len(shares) - permuted.counts, 0)
    whole = np.concatenate([null, np.ones(lacking.sum())])
    numbers = np.arange(len(lacking))
    runs = [np.repeat(numbers, count) for count in (permuted.counts, lacking)]
    return Ranked(
        shares,
        shares_reaching(-shares, -whole),
        whole,
        np.concatenate(runs),
        lowest_of(null, permuted.counts),
    )


def without_small_classes(classes: Indices, null_classes: Indices) -> tuple[Indices, Indices]:
    """Return the classes of all statistics, after small classes are joined with their partners.

    If hardly any permutation has a class, no statistic in it could be rare, however large it is.
    """
    sizes = np.bincount(null_classes, minlength=classes.max(initial=-1) + 1)
    number = np.arange(len(sizes))
    # Classes 0 and 1 are partners, so that the partner's number differs in the last bit.
    partner_sizes = np.append(sizes, 0)[np.minimum(number ^ 1, len(sizes))]
    joined = np.where(np.minimum(sizes, partner_sizes) < FEWEST_IN_CLASS, number & ~1, number)
    return joined[classes], joined[null_classes]


def class_shares(values: Array, ascending: Array, n_extra: int = 1) -> Array:
    """Share of the permuted statistics of a class, sorted, that reach each value; see the module.

    `n_extra` is 1 for values of the data, each of which counts as one more, and 0 for permuted
    ones.
    """
    shares: Array = (n_extra + count_reaching(values, ascending)) / max(n_extra + len(ascending), 1)
    start, at_start, excess = _tail(ascending)
    # Without the fitted tail all values beyond the largest permuted one would have one share, and a
    # large change no smaller p than a middling one.
    beyond = values > start
    shares[beyond] = at_start * np.exp(-(values[beyond] - start) / excess)
    return shares


def statistic_at(share: float, ascending: Array) -> float:
    """Statistic that must be exceeded to have a smaller share of the class."""
    n = len(ascending)
    start, at_start, excess = _tail(ascending)
    if share < at_start:
        return float(start - excess * np.log(share / (1 + ROUND_OFF) / at_start))
    reaching = int(np.ceil(share * (n + 1) * (1 - ROUND_OFF))) - 1  # and the value itself
    if reaching <= 0:
        return np.inf
    # Counting takes a value that is equal but for round-off for equal, which does not exceed it.
    equal = float(ascending[n - reaching])
    return equal + ROUND_OFF * abs(equal)


def _tail(ascending: Array) -> tuple[float, float, float]:
    """Statistic at which the tail of a class begins, the share there, and the mean excess."""
    n = len(ascending)
    size = min(TAIL, n // 2)
    # Infinity as the start means that no value is beyond: counting alone decides.
    if size < FEWEST_IN_TAIL or ascending[-1] <= ascending[-size]:
        return np.inf, 0.0, 1.0
    start = float(ascending[-size])
    reaching = n - np.searchsorted(ascending, nearly(start))  # more than `size` where some tie
    return start, float(reaching) / n, float(np.mean(ascending[-size:] - start))


def lowest_of(shares: Array, counts: Indices) -> Array:
    """Return the smallest share of each permutation; 1 for a permutation without statistics."""
    lowest = np.ones(len(counts))
    some = np.flatnonzero(counts)
    if len(some):
        # reduceat has no empty parts: permutations without an edge are left out, and keep 1.
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])[some]
        lowest[some] = np.minimum.reduceat(shares, starts)
    return lowest


def count_reaching(values: Array, ascending: Array) -> Indices:
    """How many statistics, sorted, reach each value."""
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
    """Benjamini and Hochberg's q."""
    if not len(p):
        return np.empty(0)
    q: Array = false_discovery_control(p, method="bh")
    return q


def holm(p: Array) -> Array:
    """Family-wise p by Holm's method."""
    order = np.argsort(p, kind="stable")
    # Holm: the smallest p times the number of tests, the next times one less; never falling.
    steps = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def permutations_needed(level: float, by: str = "p_fwer") -> int:
    """Fewest permutations with which a family-wise p, or a q, can reach a level.

    B permutations of k edges leave one find alone a p of at least 1 / (1 + B k), hence a q of at
    least k / (1 + B k), a little less than 1 / B.
    """
    # Round-off of a computed level must not ask for one permutation more.
    whole = int(np.ceil((1 - 1e-12) / level))
    return whole if by.startswith("q") else whole - 1


def monte_carlo_error(p: Any, n_permutations: int) -> Any:
    """Give the standard error of p from that many permutations."""
    return np.sqrt(p * (1 - p) / (n_permutations + 1))


def _pooled_error(observed: Array, p: Array, null: Array, run: Indices) -> Array:
    r"""Monte-Carlo error of p that pools over the edges of a permutation, which are dependent.

    That of a ratio of sums over B permutations b, with :math:`c_b` of :math:`n_b` statistics that
    reach: :math:`\sqrt{\sum_b (c_b - p n_b)^2} / \sum_b n_b`; at least that of independent ones.
    `run` is the permutation of each statistic.
    """
    # Edges of one permutation rise and fall together: permutations, not edges, are the independent
    # trials.
    counts = np.bincount(run)
    order = np.argsort(-null, kind="stable")
    reach = count_reaching(observed, null[order][::-1])
    total = max(len(null), 1)
    error = np.empty(len(p))
    for k, (count, share) in enumerate(zip(reach.tolist(), p.tolist(), strict=True)):
        hits = np.bincount(run[order[:count]], minlength=len(counts))
        error[k] = np.sqrt(np.square(hits - share * counts).sum()) / total
    return np.maximum(error, np.sqrt(p * (1 - p) / total))
