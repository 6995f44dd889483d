r"""Score tables: the score of every set of parents among a few candidates.

Each variable v with candidate parents :math:`c_0, \dots, c_{K-1}` has tables. Their index is a set
T or M of candidates, as the bits of an integer:

.. math:: s_v(T) = \sum_s n_s \log RSS_{v|T}^{(s)} + price(|T|), \qquad
          best_v(M) = \min_{T \subseteq M} s_v(T), \qquad
          total_v(M) = \log \sum_{T \subseteq M} e^{-s_v(T) / 2}.

The sum over s is over samples. Usually there is one sample. If each subject has a series, there is
one sample per subject.

`score_tables` and `fill_tables` compute them. M may be the candidates that stand before v in an
order. Then `best` gives the score of this order and `total` its posterior weight, with one look-up
per variable. So a move in an order costs a few look-ups instead of regressions.

The residual sums of squares (RSS) of all sets come from one recursion over the candidates. It
decides for each candidate whether it is in the set. If it is, the covariances of all later
candidates are conditioned on it, otherwise they stay. This takes about eight operations per set.
Minima and sums over subsets are zeta transforms, with one pass over the table per candidate.

`candidate_parents` chooses the candidates around one given graph. The neighbours of a variable v
are chosen first, then other variables. v is regressed on the chosen variables, and each step
chooses the variable that improves this regression most. This is the variable with the largest
:math:`cov^2 / var`, where cov is its covariance with v and var its variance, both given the
variables that are chosen already.

`candidate_priorities` and `best_candidates` choose them around several good networks, in rounds.
Score tables contain all sets of the candidates, but no other parents. On 60 random problems
annealing always found the best network within its tables. It missed the best known network only if
a parent was not a candidate.

The first candidates of v are its neighbours in the best network known. All further candidates come
from lists. Each list ranks the other variables u by one criterion:

- "pool": the number of good networks in which u and v are neighbours, better networks weighing
  more;
- "partial": the partial correlation of u and v given all other variables;
- "now": the change of the score if u became a parent of v in one of the best networks, as a further
  parent or in place of another;
- "last": the change of the score if u and all neighbours of v were its parents;
- "mixed": the sum of "pool", "now" and "partial", so that several networks can be improved at once.

Each round uses one list alone, because parents often help only together. Required parents come
first of all. Variables that are not allowed are never candidates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgbn.core.jit import jit, jit_inside, jit_loops
from sgbn.core.types import Array, Mask
from sgbn.learn.search.plan import ParentProblem, ScoredNetwork
from sgbn.learn.search.trees import COLLINEAR, SMALLEST_RSS

IMPOSSIBLE = 1e15  # score of a set that is not allowed: too high for any sum or minimum
SAMPLES_PER_BLOCK = 32  # samples computed together: their covariances fit into the cache
MAX_FACTORS = 20  # residual sums in one product: `SMALLEST_RSS` to this power does not underflow
NEGLIGIBLE_LOG = 40.0  # log(e^a + e^b) equals a in floating point if a - b is larger


class ScoreTables(NamedTuple):
    """The candidate parents of every variable, and the scores of all sets of them.

    Attributes
    ----------
    candidates : int64, (m, K)
        Row v lists the candidate parents of v. The rest of the row is -1.
    bit : int64, (m, m)
        ``bit[v, u]`` is the place of u among v's candidates, or -1 if u is not a candidate.
    score : float, (m, 2^K)
        Score of every set of candidates. Bit k of the column number is set if candidate k is in the
        set.
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
    """Return the score tables of all variables.

    Parameters
    ----------
    R : ndarray of shape (m, m) or (S, m, m)
        Correlations of one sample or of several samples.
    n : int or ndarray of shape (S,)
        Size of each sample.
    price : ndarray
        Price of 0, 1, 2, ... parents.
    max_parents : int
        Largest number of parents. Larger sets get the score `IMPOSSIBLE`.
    candidates : ndarray of shape (m, K)
        Row v lists distinct variables other than v. The rest of the row is -1.
    required : ndarray of shape (m, m), bool
        If ``required[v, u]``, sets of v without u get the score `IMPOSSIBLE`. Required parents must
        be candidates.
    """
    m, K = candidates.shape
    # Columns with bits beyond the candidates of v stay impossible.
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
    """Fill `score` with one table per variable. Table v begins at ``first[v]``.

    `samples` are the correlations (S, m, m) and the sizes (S,) of the samples. All other parameters
    are described in `score_tables`.
    """
    R, n = samples
    counts = (candidates >= 0).sum(axis=1)
    places = places_of(candidates)
    if (required & (places < 0)).any():  # it would be confused with the candidate of bit 0
        raise ValueError("A required parent is not a candidate. Add it to the candidates.")
    needed = np.where(required, 1 << np.maximum(places, 0), 0).sum(axis=1)
    limits = price, max_parents, candidates, counts, needed, first
    if len(n) == 1:
        widest = candidates.shape[1] + 1
        covariance, rss = np.empty((widest, widest, widest)), np.empty(1 << (widest - 1))
        _fill_scores(R[0], n[0], *limits, covariance, rss, score)
    else:
        _fill_sums(R, n, *limits, score)


def places_of(candidates: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ``bit[v, u]``: the place of u among the candidates of v, or -1 if it is not there."""
    m = len(candidates)
    bit = np.full((m, m), -1, np.int64)
    rows, places = np.nonzero(candidates >= 0)
    bit[rows, candidates[rows, places]] = places
    return bit


# There are two kernels because compiling takes seconds and most users need only the first.


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
    """Add the price of every set; sets that are too large or lack `needed` bits are impossible."""
    for mask in range(score.size):
        size = count_bits(mask)
        if size > max_parents or mask & needed != needed:
            score[mask] = IMPOSSIBLE
        else:
            score[mask] += price[size]


@jit_inside
def count_bits(mask):  # type: ignore[no-untyped-def]
    """Return the number of bits that are set."""
    count = 0
    while mask:
        mask &= mask - 1  # clears the lowest bit that is set
        count += 1
    return count


@jit_inside
def _residual_sums(R, v, chosen, k, covariance, rss):  # type: ignore[no-untyped-def]
    """Fill ``rss[mask]``, the residual variance of v, for all sets of its first k candidates.

    ``covariance[d]`` belongs to d decisions. On and below its diagonal are the covariances of the
    variables that are left: candidates k-1-d, ..., 0, and v last.
    """
    # The last candidate, the highest bit, is decided first. Counting the masks up then changes the
    # latest decisions most often, and these have the fewest covariances.
    for a in range(k + 1):
        left = v if a == k else chosen[k - 1 - a]
        for c in range(a + 1):
            covariance[0, a, c] = R[left, v if c == k else chosen[k - 1 - c]]
    if k < 2:
        rss[0] = covariance[0, k, k]
        if k == 1:
            rss[1] = _without(covariance[0, 1, 1], covariance[0, 1, 0], covariance[0, 0, 0])
        return
    # The last two decisions are half of the work, so they are written out: four masks at a time.
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
    # Every step of the recursion handles a block of samples. This takes a fifth of the time of
    # single samples.
    score[: 1 << k] = 0.0
    covariance = np.empty((k + 1, k + 1, k + 1, SAMPLES_PER_BLOCK))
    inverse = np.empty(SAMPLES_PER_BLOCK)
    for begin in range(0, n.size, SAMPLES_PER_BLOCK):
        width = min(SAMPLES_PER_BLOCK, n.size - begin)
        for a in range(k + 1):
            left = v if a == k else chosen[k - 1 - a]
            for c in range(a + 1):
                right = v if c == k else chosen[k - 1 - c]
                # The last block is filled up with copies of the last sample, which are not summed.
                for s in range(SAMPLES_PER_BLOCK):
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
    """Return the sum of n log RSS over samples."""
    # Neighbours with the same n share one logarithm, of their product. Callers sort the samples by
    # n, so that few logarithms are left.
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
    """Do what `_decide` does for a block of samples; the last index of arrays is the sample."""
    if not is_taken:
        for a in range(1, size):
            for c in range(1, a + 1):
                for s in range(inverse.size):
                    after[a - 1, c - 1, s] = before[a, c, s]
        return
    for s in range(inverse.size):
        pivot = before[0, 0, s]
        # A variable that is a combination of others explains nothing more.
        inverse[s] = 1.0 / pivot if pivot > COLLINEAR else 0.0
    for a in range(1, size):
        for c in range(1, a + 1):
            for s in range(inverse.size):
                factor = before[a, 0, s] * inverse[s]
                after[a - 1, c - 1, s] = before[a, c, s] - factor * before[c, 0, s]


@jit_inside
def _without(left, covariance, variance):  # type: ignore[no-untyped-def]
    """Return the variance left after one more variable; all of it if that variable is redundant."""
    return left - covariance * covariance / variance if variance > COLLINEAR else left


@jit_inside
def _last_two(cov, rss, mask):  # type: ignore[no-untyped-def]
    """Fill four residual variances of the last of three variables.

    They are, in this order: given neither of the first two variables, given the second, given the
    first, given both.
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
    """Fill `after`: the covariances without the first variable, conditioned on it if it is taken.

    A variable that is a combination of others has no effect even if it is taken.
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
    """Return, for every set, the logarithm of the sum of ``exp(-score / 2)`` over its subsets."""
    total = tables.score * -0.5
    _sums(total)
    return total


@jit_loops
def _sums(total):  # type: ignore[no-untyped-def]
    """Replace each logarithm by the logarithm of the sum over all subsets (a zeta transform)."""
    m, size = total.shape
    for v in range(m):
        step = 1
        while step < size:
            for mask in range(size):
                if mask & step:
                    # log(e^a + e^b) is computed from the larger one, so that no power overflows.
                    large, small = total[v, mask], total[v, mask ^ step]
                    if small > large:
                        large, small = small, large
                    if large - small < NEGLIGIBLE_LOG:
                        large += np.log1p(np.exp(small - large))
                    total[v, mask] = large
            step <<= 1


def candidate_parents(
    R: Array, near: Mask, allowed: Mask, required: Mask, n_candidates: int
) -> NDArray[np.int64]:
    """Return candidate parents of every variable.

    Parameters
    ----------
    R : ndarray of shape (m, m)
        Correlations of the variables.
    near : ndarray of shape (m, m), bool
        If ``near[v, u]``, u is chosen for v before the variables that are not near.
    allowed, required : ndarray of shape (m, m), bool
        If ``allowed[v, u]``, u may be a parent of v. If ``required[v, u]``, it must be one.
        Required parents are chosen first of all.
    n_candidates : int
        Number of candidates per variable. It is raised if a variable has more required parents,
        and lowered to m - 1 if it is larger.

    Returns
    -------
    ndarray of shape (m, n_candidates)
        Row v holds the candidates of v. It is filled up with -1 if v has fewer candidates.
    """
    m = len(R)
    width = min(max(n_candidates, int(required.sum(axis=1).max(initial=0))), m - 1)
    chosen = np.full((m, width), -1, np.int64)
    turn = np.full((m, m), 2, np.int64)  # turn[v, u] is the turn of u: 0, 1 or 2; 3 means never
    turn[near] = 1
    turn[~allowed] = 3
    turn[required] = 0
    np.fill_diagonal(turn, 3)
    _choose(np.ascontiguousarray(R), turn, chosen)
    return chosen


@jit
def _choose(R, turn, chosen):  # type: ignore[no-untyped-def]
    """Fill `chosen` with the variables of turn 0, then of turn 1, then of turn 2."""
    m, width = chosen.shape
    rows = np.empty((width, m))
    variance, covariance = np.empty(m), np.empty(m)
    for v in range(m):
        variance[:] = 1.0  # correlations are the covariances of variables of variance 1
        covariance[:] = R[v]
        k = 0
        for now in range(3):  # the turn
            while k < width:
                best = _most_useful(variance, covariance, turn[v], now, chosen[v], k)
                if best < 0:
                    break
                chosen[v, k] = best
                regress_on(R, v, best, k, rows, variance, covariance)
                k += 1


@jit_inside
def _most_useful(variance, covariance, turn, now, chosen, k):  # type: ignore[no-untyped-def]
    """Return the variable of turn `now` that explains the most of v, or -1 if none is left."""
    best = -1
    # Required parents (turn 0) are chosen even if they explain nothing: their gain is 0 > -1.
    most = 0.0 if now else -1.0
    for u in range(variance.size):
        if turn[u] != now:
            continue
        gain = 0.0
        if variance[u] > COLLINEAR:
            gain = covariance[u] * covariance[u] / variance[u]
        if gain > most:
            is_taken = False
            for a in range(k):
                is_taken = is_taken or chosen[a] == u
            if not is_taken:
                best, most = u, gain
    return best


@jit_inside
def regress_on(R, v, new, k, rows, variance, covariance):  # type: ignore[no-untyped-def]
    """Condition all variances, and all covariances with v, on the variable `new`.

    Before the call, `variance` and `covariance` are conditioned on k other variables. After it,
    they are also conditioned on `new`. The first k rows of `rows` belong to the k variables, and
    row k is filled. If `new` is a linear combination of the k variables, row k is zero and nothing
    else changes.
    """
    m = variance.size
    if variance[new] <= COLLINEAR:
        for u in range(m):
            rows[k, u] = 0.0
        return
    # This is a modified Gram-Schmidt step. All loops over u are innermost, so that the processor
    # works on several variables at a time.
    root = np.sqrt(variance[new])
    for u in range(m):
        rows[k, u] = R[new, u]
    for t in range(k):
        factor = rows[t, new]
        for u in range(m):
            rows[k, u] -= factor * rows[t, u]
    for u in range(m):
        rows[k, u] /= root
    v_share = rows[k, v]
    for u in range(m):
        variance[u] -= rows[k, u] * rows[k, u]
        covariance[u] -= rows[k, u] * v_share


LISTS = ("pool", "partial", "now", "last", "mixed")
CHILD_WEIGHT = 0.5  # weight of a child of v as its candidate; a parent of v has the weight 1
MAX_EXAMINED = 4  # networks in which "now", "last" and "mixed" compute changes of the score
MAX_LOSS = 6.0  # units of score; a parent that increases the score by more has no merit in "mixed"
MAX_MERIT = 1.5  # largest merit of a parent in "mixed"; one network of the pool counts 1
TOLERANCE = 20.0  # a network whose score is this much above the best has the weight 1 / e


def score_changes(problem: ParentProblem, network: ScoredNetwork) -> tuple[Array, Array]:
    """Return how the score of v changes if u becomes its parent, ``change[v, u]``, in two cases.

    In the first case, u is added to the parents of v in the network, or replaces one of them that
    is not required. The change is infinite if u stands behind v in the order. In the second case, v
    stands last and all its neighbours are its parents, and u becomes a further parent. Both changes
    are infinite if u is a neighbour of v already.
    """
    m = len(problem.R)
    rank = np.argsort(network.order)
    neighbours = network.parents | network.parents.T | np.eye(m, dtype=bool)
    now, at_end = np.empty((m, m)), np.empty((m, m))
    R, n = problem.samples
    _fill_changes(R, n, problem.price, network.parents, neighbours, problem.required, now, at_end)
    now[neighbours | (rank[None, :] > rank[:, None])] = np.inf
    at_end[neighbours] = np.inf
    return now, at_end


@jit_inside
def _scores_with(R, n, price, v, given, size, work, scores):  # type: ignore[no-untyped-def]
    """Fill `scores` with the score of v for each further parent; return the score without one.

    The parents are the first `size` variables of `given`. A further parent takes
    covariance^2 / variance from the residual sum of each sample. `work` is three arrays of the
    shapes (m, m), (m,) and (m,).
    """
    rows, covariance, variance = work
    for u in range(scores.size):
        scores[u] = price[size + 1]
    alone = price[size]
    for s in range(n.size):
        for u in range(scores.size):
            covariance[u] = R[s, v, u]
            variance[u] = 1.0
        for a in range(size):
            regress_on(R[s], v, given[a], a, rows, variance, covariance)
        rss = covariance[v]  # the covariance of v with itself, given its parents
        alone += n[s] * np.log(rss if rss > SMALLEST_RSS else SMALLEST_RSS)
        for u in range(scores.size):
            left = rss
            if variance[u] > COLLINEAR:
                left -= covariance[u] * covariance[u] / variance[u]
            scores[u] += n[s] * np.log(left if left > SMALLEST_RSS else SMALLEST_RSS)
    return alone


@jit_inside
def _list_others(is_listed, v, most, out):  # type: ignore[no-untyped-def]
    """Fill `out` with at most `most` listed variables other than v, and return their number."""
    k = 0
    for u in range(is_listed.size):
        if is_listed[u] and u != v and k < most:
            out[k] = u
            k += 1
    return k


@jit
def _fill_changes(R, n, price, parents, neighbours, required, now, at_end):  # type: ignore[no-untyped-def]
    """Fill both results of `score_changes` for all pairs, without the infinite entries."""
    m = parents.shape[0]
    given, fewer = np.empty(m, np.int64), np.empty(m, np.int64)
    work = np.empty((m, m)), np.empty(m), np.empty(m)
    scores = np.empty(m)
    most = price.size - 2  # one more parent must still have a price
    for v in range(m):
        k = _list_others(parents[v], v, m, given)
        score = _scores_with(R, n, price, v, given, k, work, scores)
        for u in range(m):
            now[v, u] = scores[u] - score
        for a in range(k):  # u in place of parent a
            if required[v, given[a]]:
                continue
            for t in range(k - 1):
                fewer[t] = given[t + (t >= a)]
            _scores_with(R, n, price, v, fewer, k - 1, work, scores)
            for u in range(m):
                if scores[u] - score < now[v, u]:
                    now[v, u] = scores[u] - score
        k = _list_others(neighbours[v], v, most, given)
        score = _scores_with(R, n, price, v, given, k, work, scores)
        for u in range(m):
            at_end[v, u] = scores[u] - score


def candidate_priorities(
    problem: ParentProblem, networks: list[ScoredNetwork], partial: Array, which: str
) -> Array:
    """Return the priority of every variable u as a candidate parent of v, ``priority[v, u]``.

    Parameters
    ----------
    problem : ParentProblem
        The problem that is searched.
    networks : list of ScoredNetwork
        The best networks known, the best first.
    partial : ndarray of shape (m, m)
        Absolute partial correlations of all pairs given all others.
    which : str
        One of the `LISTS`. It ranks the variables that are not neighbours of v.
    """
    best = networks[0].parents
    counted = np.zeros(best.shape)
    for network in networks:
        weight = np.exp((networks[0].score - network.score) / TOLERANCE)
        counted += weight * (network.parents + CHILD_WEIGHT * network.parents.T)
    if which not in LISTS:
        raise ValueError(f"which is {which!r}. Use one of {LISTS}.")
    if which == "pool":
        cost = -counted
    elif which == "partial":
        cost = -partial
    else:
        examined = [score_changes(problem, network) for network in networks[:MAX_EXAMINED]]
        now, last = (np.array(changes) for changes in zip(*examined, strict=True))
        if which == "mixed":
            merit = np.clip((MAX_LOSS - now) / MAX_LOSS, 0.0, MAX_MERIT).sum(axis=0)
            cost = -(counted + merit + partial)
        else:
            cost = (now if which == "now" else last).min(axis=0)
    # The place of every cost in its row, from the smallest to the largest.
    places = np.argsort(np.argsort(cost, axis=1, kind="stable"), axis=1, kind="stable")
    # Neighbours come first: their priority is above 1, and all others have at most 1.
    return np.where(best | best.T, 1.0 + counted, 1.0 / (1.0 + places))


def best_candidates(
    priority: Array, allowed: Mask, required: Mask, counts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the candidates of every variable, one row each.

    Required parents come first, then other variables by falling priority. The rest of a row is -1.

    Parameters
    ----------
    priority : ndarray of shape (m, m)
        ``priority[v, u]`` is the finite priority of u as a parent of v.
    allowed, required : ndarray of shape (m, m), bool
        If ``allowed[v, u]``, u may be a parent of v. If ``required[v, u]``, it must be one.
    counts : ndarray of shape (m,)
        Number of candidates of each variable, at least the number of its required parents. A
        variable gets fewer candidates if fewer parents are allowed.
    """
    m = len(priority)
    is_possible = (allowed | required) & ~np.eye(m, dtype=bool)
    rated = np.where(required, np.inf, np.where(is_possible, priority, -np.inf))
    candidates = np.argsort(-rated, axis=1, kind="stable")[:, : counts.max()]
    is_taken = is_possible[np.arange(m)[:, None], candidates]
    is_taken &= np.arange(candidates.shape[1]) < counts[:, None]
    return np.where(is_taken, candidates, -1)
