r"""Scores of every parent set among a few candidates, and their minima and sums over subsets.

For each variable v with candidate parents :math:`c_0, \dots, c_{K-1}` a table holds, for every set
T of candidates as the bits of a whole number,

.. math:: s_v(T) = \sum_s n_s \log RSS_{v|T}^{(s)} + price(|T|), \qquad
          best_v(M) = \min_{T \subseteq M} s_v(T), \qquad
          total_v(M) = \log \sum_{T \subseteq M} e^{-s_v(T) / 2}.

The sum is over samples. There is one as a rule, and one per subject where each has a series.

With M the candidates that stand before v in an order, `best` gives the score of that order and
`total` its posterior weight, each by one look-up per variable: a move in an order costs a few
look-ups instead of regressions.

The residual sums come from one recursion over the candidates, which decides for or against each.
A decision for a candidate takes its share from the covariances of all later candidates; a decision
against it leaves them as they are. This takes about eight operations per set. Minima and sums are
zeta transforms, one pass over the table per candidate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgbn.jit import jit, jit_inside, jit_loops
from sgbn.search.path_regression import COLLINEAR, SMALLEST_RSS
from sgbn.types import Array, Mask

IMPOSSIBLE = 1e15  # score of a set that is not allowed: no sum or minimum ever takes it
SAMPLES_PER_BLOCK = 32  # whose residual sums are computed at once: their covariances stay in cache
MAX_FACTORS = 20  # residual sums in one product: 20 times `SMALLEST_RSS` cannot underflow
NEGLIGIBLE_LOG = 40.0  # difference of logarithms beyond which a sum is its larger part, to the bit


class ScoreTables(NamedTuple):
    """Candidates of every variable, and tables over the sets of them.

    Attributes
    ----------
    candidates : (m, K) candidate parents of each variable v, then -1.
    bit : (m, m) ``bit[v, u]`` is the place of u among v's candidates, -1 if it is none.
    score : (m, 2^K) score of every set of candidates; bit k of a column stands for candidate k.
    """

    candidates: NDArray[np.int64]
    bit: NDArray[np.int64]
    score: Array


def score_tables(
    R: Array,
    n: ArrayLike,
    price: Array,
    max_parents: int,
    candidates: NDArray[np.int64],
    required: Mask,
) -> ScoreTables:
    """Fill the tables of all variables.

    Parameters
    ----------
    R : ndarray of shape (m, m) or (S, m, m)
        Correlations, of one sample or of several.
    n : int or ndarray of shape (S,)
        Size of each sample.
    price : ndarray
        What 0, 1, 2, ... parents cost.
    max_parents : int
        Larger sets are impossible.
    candidates : ndarray of shape (m, K)
        Distinct variables other than v itself, then -1.
    required : ndarray of shape (m, m), bool
        ``required[v, u]``: sets of v without u are impossible. They must be candidates.
    """
    m, K = candidates.shape
    # Sets with places beyond the candidates of v stay impossible.
    score = np.full((m, 1 << K), IMPOSSIBLE)
    samples = R.reshape(-1, m, m), np.atleast_1d(np.asarray(n, float))
    first = np.arange(m) << K
    fill_tables(samples, price, max_parents, candidates, required, first, score.reshape(-1))
    return ScoreTables(candidates, places_of(candidates), score)


def fill_tables(
    samples: tuple[Array, Array],
    price: Array,
    max_parents: int,
    candidates: NDArray[np.int64],
    required: Mask,
    first: NDArray[np.int64],
    score: Array,
) -> None:
    """Fill `score`, one table per variable; table v begins at ``first[v]``.

    The other parameters are those of `score_tables`; `samples` are the correlations (S, m, m) and
    the sizes (S,).
    """
    R, n = samples
    counts = (candidates >= 0).sum(axis=1)
    places = places_of(candidates)
    if (required & (places < 0)).any():  # bit 0 would stand for another variable
        raise ValueError("A required parent is no candidate.")
    needed = np.where(required, 1 << np.maximum(places, 0), 0).sum(axis=1)
    limits = price, max_parents, candidates, counts, needed, first
    if len(n) == 1:
        widest = candidates.shape[1] + 1
        covariance, rss = np.empty((widest, widest, widest)), np.empty(1 << (widest - 1))
        _fill_scores(R[0], n[0], *limits, covariance, rss, score)
    else:
        _fill_sums(R, n, *limits, score)


def places_of(candidates: NDArray[np.int64]) -> NDArray[np.int64]:
    """``bit[v, u]``: the place of u among the candidates of v, -1 if it is none."""
    m = len(candidates)
    bit = np.full((m, m), -1, np.int64)
    rows, places = np.nonzero(candidates >= 0)
    bit[rows, candidates[rows, places]] = places
    return bit


# Two kernels, because compiling takes seconds and most users need the first one only.


@jit_loops
def _fill_scores(  # type: ignore[no-untyped-def]
    R, n, price, max_parents, candidates, counts, needed, first, covariance, rss, score
):
    """Fill the scores of all sets from one sample; `covariance` and `rss` are overwritten."""
    for v in range(counts.size):
        table = score[first[v] : first[v] + (1 << counts[v])]
        _residual_sums(R, v, candidates[v], counts[v], covariance, rss)
        for mask in range(table.size):
            left = rss[mask]
            table[mask] = n * np.log(left if left > SMALLEST_RSS else SMALLEST_RSS)
        _add_prices(price, max_parents, needed[v], table)


@jit_loops
def _fill_sums(R, n, price, max_parents, candidates, counts, needed, first, score):  # type: ignore[no-untyped-def]
    """Fill the scores of all sets, summed over samples."""
    for v in range(counts.size):
        table = score[first[v] : first[v] + (1 << counts[v])]
        _sum_over_samples(R, n, v, candidates[v], counts[v], table)
        _add_prices(price, max_parents, needed[v], table)


@jit_inside
def _add_prices(price, max_parents, needed, score):  # type: ignore[no-untyped-def]
    """Add the price of every set; sets that are too large or lack a `needed` one are impossible."""
    for mask in range(score.size):
        size = count_bits(mask)
        if size > max_parents or mask & needed != needed:
            score[mask] = IMPOSSIBLE
        else:
            score[mask] += price[size]


@jit_inside
def count_bits(mask):  # type: ignore[no-untyped-def]
    """Return how many bits are set."""
    count = 0
    while mask:
        mask &= mask - 1  # clears the lowest bit that is set
        count += 1
    return count


@jit_inside
def _residual_sums(R, v, chosen, k, covariance, rss):  # type: ignore[no-untyped-def]
    """Fill ``rss[mask]``, the residual variance of v, for all sets of its first k candidates.

    ``covariance[d]`` holds, on and below its diagonal, the covariances of what is left after d
    decisions: candidates k-1-d, ..., 0, and v last.
    """
    # The last candidate, the highest bit, is decided first: counting the masks up then changes the
    # latest decisions most often, where the fewest covariances are left.
    for a in range(k + 1):
        left = v if a == k else chosen[k - 1 - a]
        for c in range(a + 1):
            covariance[0, a, c] = R[left, v if c == k else chosen[k - 1 - c]]
    if k < 2:
        rss[0] = covariance[0, k, k]
        if k == 1:
            rss[1] = _without(covariance[0, 1, 1], covariance[0, 1, 0], covariance[0, 0, 0])
        return
    # The last two decisions are half of the work. They are written out, four masks at a time.
    for quarter in range(1 << (k - 2)):
        first = 0  # the first decision that differs from those of the quarter before
        if quarter:
            first = k - 3
            while not (quarter >> (k - 3 - first)) & 1:
                first -= 1
        for d in range(first, k - 2):
            _decide(covariance[d], covariance[d + 1], k + 1 - d, (quarter >> (k - 3 - d)) & 1)
        _last_two(covariance[k - 2], rss, 4 * quarter)


@jit
def _sum_over_samples(R, n, v, chosen, k, score):  # type: ignore[no-untyped-def]
    """Fill the sum of n log RSS over samples for all sets of the first k candidates of v."""
    # Every step of the recursion is done for a block of samples at once, which takes a fifth of the
    # time of one sample after the other.
    score[: 1 << k] = 0.0
    covariance = np.empty((k + 1, k + 1, k + 1, SAMPLES_PER_BLOCK))
    inverse = np.empty(SAMPLES_PER_BLOCK)
    for begin in range(0, n.size, SAMPLES_PER_BLOCK):
        width = min(SAMPLES_PER_BLOCK, n.size - begin)
        for a in range(k + 1):
            left = v if a == k else chosen[k - 1 - a]
            for c in range(a + 1):
                right = v if c == k else chosen[k - 1 - c]
                for s in range(
                    SAMPLES_PER_BLOCK
                ):  # samples beyond the last repeat it, and weigh nothing
                    covariance[0, a, c, s] = R[begin + min(s, width - 1), left, right]
        for mask in range(1 << k):
            first = 0  # the first decision that differs from those of the mask before
            if mask:
                first = k - 1
                while not (mask >> (k - 1 - first)) & 1:
                    first -= 1
            for d in range(first, k):
                is_taken = (mask >> (k - 1 - d)) & 1
                _decide_for_all(covariance[d], covariance[d + 1], k + 1 - d, is_taken, inverse)
            score[mask] += _weighted_logs(covariance[k, 0, 0], n[begin : begin + width])


@jit_inside
def _weighted_logs(rss, n):  # type: ignore[no-untyped-def]
    """Return the sum of n log RSS."""
    # Neighbours of the same n share the logarithm of their product, which spares most logarithms:
    # callers sort the samples by n.
    total, product, factors = 0.0, 1.0, 0
    for s in range(n.size):
        product *= max(rss[s], SMALLEST_RSS)
        factors += 1
        if factors == MAX_FACTORS or s + 1 == n.size or n[s + 1] != n[s]:
            total += n[s] * np.log(product)
            product, factors = 1.0, 0
    return total


@jit_inside
def _decide_for_all(before, after, size, is_taken, inverse):  # type: ignore[no-untyped-def]
    """Do what `_decide` does, for a block of samples: a sample is the last index of arrays."""
    if not is_taken:
        for a in range(1, size):
            for c in range(1, a + 1):
                for s in range(inverse.size):
                    after[a - 1, c - 1, s] = before[a, c, s]
        return
    for s in range(inverse.size):
        pivot = before[0, 0, s]
        inverse[s] = 1.0 / pivot if pivot > COLLINEAR else 0.0  # a copy of others adds nothing
    for a in range(1, size):
        for c in range(1, a + 1):
            for s in range(inverse.size):
                factor = before[a, 0, s] * inverse[s]
                after[a - 1, c - 1, s] = before[a, c, s] - factor * before[c, 0, s]


@jit_inside
def _without(left, covariance, variance):  # type: ignore[no-untyped-def]
    """Return the variance that one more variable leaves; a copy of others leaves all of it."""
    return left - covariance * covariance / variance if variance > COLLINEAR else left


@jit_inside
def _last_two(cov, rss, mask):  # type: ignore[no-untyped-def]
    """Fill four residual variances of the last of three variables.

    Given are, in this order: none of the first two, the second, the first, both.
    """
    rss[mask] = cov[2, 2]
    rss[mask + 1] = _without(cov[2, 2], cov[2, 1], cov[1, 1])
    first = cov[0, 0]
    if first > COLLINEAR:
        factor = cov[2, 0] / first
        left = cov[2, 2] - factor * cov[2, 0]
        rss[mask + 2] = left
        covariance = cov[2, 1] - factor * cov[1, 0]
        rss[mask + 3] = _without(left, covariance, cov[1, 1] - cov[1, 0] * cov[1, 0] / first)
    else:
        rss[mask + 2] = rss[mask]
        rss[mask + 3] = rss[mask + 1]


@jit_inside
def _decide(before, after, size, is_taken):  # type: ignore[no-untyped-def]
    """Fill the covariances without the first variable; given it, if it is taken.

    One that is a copy of others is left out even if it is taken.
    """
    pivot = before[0, 0]
    if is_taken and pivot > COLLINEAR:
        for a in range(1, size):
            factor = before[a, 0] / pivot
            for c in range(1, a + 1):
                after[a - 1, c - 1] = before[a, c] - factor * before[c, 0]
    else:
        for a in range(1, size):
            for c in range(1, a + 1):
                after[a - 1, c - 1] = before[a, c]


def log_totals(tables: ScoreTables) -> Array:
    """Return the logarithm of the sum of ``exp(-score / 2)`` over the subsets of every set."""
    total = tables.score * -0.5
    _sums(total)
    return total


@jit_loops
def _sums(total):  # type: ignore[no-untyped-def]
    """Replace logarithms by those of sums over subsets, in place: a zeta transform."""
    m, size = total.shape
    for v in range(m):
        step = 1
        while step < size:
            for mask in range(size):
                if mask & step:
                    # log(e^a + e^b) from the larger one: neither power can overflow
                    large, small = total[v, mask], total[v, mask ^ step]
                    if small > large:
                        large, small = small, large
                    if large - small < NEGLIGIBLE_LOG:
                        large += np.log1p(np.exp(small - large))
                    total[v, mask] = large
            step <<= 1
