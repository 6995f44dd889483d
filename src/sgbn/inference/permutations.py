r"""Statistics of every permutation of the rows, for all groups and for sets of groups.

Computation of p from permuted statistics: p of each edge, family-wise p, and q.

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

Differences that concern more than one edge: connected sets of changed edges, hubs and lobes.

The sum of the sizes of weights grows with their noise. So groups of unequal noise differ in this
sum without any difference of weights. The tests therefore use the change along the common sign,

.. math:: s = \sum_{ij} \operatorname{sign}(\bar\theta_{ij}) (\theta^{(2)}_{ij} -
          \theta^{(1)}_{ij}), \qquad s / \sqrt{\textstyle\sum_{ij} v^{(1)}_{ij} + v^{(2)}_{ij}}

where :math:`\theta^{(g)}_{ij}` is the weight of i -> j in group g, v its variance, and
:math:`\bar\theta` the mean of the groups, weighted by 1 / v. If the weights are equal, this mean is
uncorrelated with their difference. So s has mean 0 whatever the noise. With more than two groups,
let :math:`s_g` be the change of group g from the mean. The statistic is then the root of
:math:`\sum_g s_g^2 / \sum_{ij} v^{(g)}_{ij}`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, ndtr
from scipy.stats import false_discovery_control

from sgbn.cohort.design import Design
from sgbn.core.graph import joined_parts
from sgbn.core.moments import one_blas_thread
from sgbn.core.problems import Problem
from sgbn.core.types import Array, Indices, Mask
from sgbn.inference.difference_problem import (
    MIN_EXCHANGES,
    MOST_GROUPS,
    EdgeProblem,
    Fit,
    Members,
    sets_of_groups,
)
from sgbn.inference.joint import GroupWeights
from sgbn.runs.files import Arrays
from sgbn.runs.study import Study

PERMUTATIONS_PER_TASK = 50  # a folder keeps finished tasks, which are not computed again
# By chance, one of 370 edges exceeds this limit. Usually one or two hundred edges are tested, so
# that none or one exceeds it. So a set of several edges is rare by chance.
COMPONENT_T = 3.0


def permuted_statistics(
    problem: EdgeProblem, n_permutations: int, seed: int, settings: dict[str, Any], study: Study
) -> dict[Members, Arrays]:
    """Return the statistics of all permutations, for each set of groups that is compared.

    All groups together come first, then the sets that closed tests need. The study keeps finished
    permutations, and uses them again only if `settings` and the arguments here are the same.
    """
    sets = _compared_sets(problem.design)
    tasks = _tasks(n_permutations, seed, sets)
    asked = {"n_permutations": n_permutations, "alternative": problem.alternative, "seed": seed}
    parts = study.run(permute, tasks, asked | settings, shared={"problem": problem})
    by_members: dict[Members, list[Arrays]] = {members: [] for members in sets}
    for name, task in tasks.items():
        by_members[task["members"]].append(parts[name])
    return {
        members: {name: np.concatenate([part[name] for part in results]) for name in results[0]}
        for members, results in by_members.items()
    }


def _compared_sets(design: Design) -> list[Members]:
    """Return all groups together, and then the sets of groups that closed tests need.

    A set is left out if its groups have no rows to exchange, for example because they share no
    site.
    """
    n_groups = len(design.groups)
    every = tuple(range(n_groups))
    if n_groups > MOST_GROUPS:
        Problem("groups.many", n=n_groups, most=MOST_GROUPS).warn(
            "{n:group} are only compared all together, not in pairs", "Give at most {most} groups."
        )
        return [every]
    # A set without exchanges has no null distribution. `difference_tables` gives it a p of 1.
    sets: list[Members] = [every]
    stuck: list[Members] = []
    for members in sets_of_groups(n_groups)[1:]:
        ways = design.exchange(members).log_exchanges(design.group_codes)
        (sets if ways > np.log(MIN_EXCHANGES) else stuck).append(members)
    pairs = [" and ".join(design.groups[c] for c in pair) for pair in stuck if len(pair) == 2]
    if pairs:
        Problem("exchange.pairs", pairs=pairs).warn(
            "groups that are not compared, since no rows can be exchanged between them: {pairs}",
            "Leave out {sites=}, or groups that share no site.",
        )
    return sets


def _tasks(n_permutations: int, seed: int, sets: Sequence[Members]) -> dict[str, dict[str, Any]]:
    """Return the arguments of `permute` for each task, by the name of the task."""
    tasks = {}
    for members in sets:
        subset = () if members == sets[0] else members
        name = "-".join(["permutations", *map(str, subset)])
        for k in range(-(-n_permutations // PERMUTATIONS_PER_TASK)):
            count = min(PERMUTATIONS_PER_TASK, n_permutations - k * PERMUTATIONS_PER_TASK)
            # The seed depends on the task alone. So results do not depend on the number of
            # processes or on the tasks that a folder already has.
            task = {"seed": (seed, k, *subset), "count": count, "members": members}
            tasks[f"{name}-{k:05d}"] = task
    return tasks


def permute(problem: EdgeProblem, seed: tuple[int, ...], count: int, members: Members) -> Arrays:
    """Return the statistics of `count` permutations that exchange rows between these groups."""
    rng = np.random.default_rng(seed)
    exchange = problem.design.exchange(members)
    with one_blas_thread():
        # `refit` computes once what all permutations of the set share.
        refit = problem.refit(members)
        drawn = [statistics_of(problem, refit(exchange.draw(rng)), members) for _ in range(count)]
    return {
        name: np.concatenate([np.atleast_1d(statistics[name]) for statistics in drawn])
        for name in drawn[0]
    }


def statistics_of(problem: EdgeProblem, fit: Fit, members: Members) -> Arrays:
    """Return all statistics of one permutation, or of the data, as arrays."""
    t, ways = fit.weights.statistic(members), fit.ways.statistics(members)
    kept: dict[str, Any] = {
        "counts": len(t),
        "in_pool": fit.in_pool,
        "tests": signed_statistic(t, problem.alternative),
        "ways": signed_statistic(ways, problem.alternative),
    }
    # Closed tests are only for edges. Hubs, lobes and components are tested over all groups.
    if len(members) < len(problem.design.groups):
        return {name: np.asarray(values) for name, values in kept.items()}
    strongest = changed_components(fit, t)
    weights = fit.weights.matrices(fit.edges, len(problem.regions))
    sums = np.concatenate(list(strength_statistics(weights, problem.lobe_codes).values()))
    kept |= {
        "totals": np.square(t).sum(),
        # The leading axis lets permutations be concatenated.
        "totals_ways": np.square(ways).sum(axis=0)[None],
        "components": strongest[0].strength if strongest else 0.0,
        "sums": sums[None],
    }
    if problem.among is not None:
        inside = problem.among[tuple(fit.edges.T)]
        kept |= {"inside": inside, "totals_inside": np.square(t[inside]).sum()}
    if fit.named is not None:
        kept["named"] = fit.named.statistics(members)[None]
    return {name: np.asarray(values) for name, values in kept.items()}


def signed_statistic(statistic: Array, alternative: str) -> Array:
    """Return statistics that are larger if they are stronger evidence for the alternative."""
    if alternative == "two-sided":
        return np.abs(statistic)
    return statistic if alternative == "greater" else -statistic


def changed_components(fit: Fit, statistic: Array) -> list[Component]:
    """Find connected sets of changed edges.

    The threshold has the same tail probability for any number of groups.
    """
    n_groups = len(fit.weights.weights)
    if n_groups == 2:
        return components_of(statistic, fit.edges, COMPONENT_T)
    # With more groups the root of Q is larger by chance. So the threshold is larger too.
    threshold = float(np.sqrt(chdtri(n_groups - 1, 2 * ndtr(-COMPONENT_T))))
    return components_of(statistic, fit.edges, threshold, signs=(0,))


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
    return (1 + count_reaching(values, np.sort(null))) / (1 + len(null))


def reached(value: float, null: Array) -> float:
    """Return the share of null statistics that reach the value; the value itself counts too."""
    return float(shares_reaching(np.array([value]), null)[0])


def nearly(value: Any) -> Any:
    """Subtract the round-off of a value, so that comparisons do not depend on round-off."""
    return value - ROUND_OFF * np.abs(value)


def discovery_rates(p: Array) -> Array:
    """Return the q of Benjamini and Hochberg."""
    return false_discovery_control(p, method="bh") if len(p) else np.empty(0)


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


def few_permutations(n: int, level: float, by: str = "p_fwer") -> Problem | None:
    """Return the problem that n permutations cannot reach a level, or None if they can."""
    needed = permutations_needed(level, by)
    if n >= needed:
        return None
    return Problem("permutations.few", n=n, level=level, by=by, needed=needed).says(
        "{by:s} cannot reach {level:g} with {n:permutation}",
        "Give {needed} or more ({n_permutations=}).",
    )


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


Edges = NDArray[np.int64]

PRESENT_T = 2.0  # weight over standard error from which an edge counts as present in a group
ONE_EDGE = 1.0  # lower limit of the spread of a count, so that one rare edge is not a large change


class Component(NamedTuple):
    """A connected set of edges that change in one direction.

    Attributes
    ----------
    sign : int
        1 if the weights are greater in the last group, -1 if they are smaller. It is 0 for more
        than two groups, whose differences have no sign.
    pairs : ndarray of shape (k, 2)
        Source and target of each edge, as column numbers.
    strength : float
        Sum over the edges of the amount by which their statistics exceed the threshold.
    """

    sign: int
    pairs: Indices
    strength: float


def components_of(
    statistic: Array, edges: Edges, threshold: float, signs: Sequence[int] = (1, -1)
) -> list[Component]:
    """Find connected sets of edges whose statistics exceed a threshold, for each sign separately.

    This is a network-based statistic (Zalesky et al., 2010) for directed edges. Two edges are
    connected if they share a region. The strongest set comes first.

    Parameters
    ----------
    statistic : ndarray of shape (k,)
        Statistic of each edge.
    edges : ndarray of int of shape (k, 2)
        Source and target of each edge.
    threshold : float
        Size that a statistic must exceed.
    signs : sequence of int
        The signs to look for. 0 is for statistics that have no sign, such as the root of Q.
    """
    components = []
    for sign in signs:
        # Statistics without a sign (0) are all positive.
        excess = (sign or 1) * statistic - threshold
        beyond = excess > 0
        if not beyond.any():
            continue
        pairs, own_excess = edges[beyond], excess[beyond]
        labels = _components(pairs)
        for label in np.unique(labels):
            members = labels == label
            components.append(Component(sign, pairs[members], float(own_excess[members].sum())))
    return sorted(components, key=lambda component: -component.strength)


def _components(edges: Edges) -> NDArray[Any]:
    """Return the number of each edge's component."""
    if len(edges) == 1:  # as in most permutations
        return np.zeros(1, np.intp)
    return joined_parts(edges[:, 0], edges[:, 1], int(edges.max()) + 1)[edges[:, 0]]


def strengths(weights: Sequence[GroupWeights], lobes: Indices) -> dict[str, Array]:
    """Return how much the groups differ in sums over edges, without a correction for noise.

    The sums are the in- and out-strength of every region (the sum of the sizes of its weights), and
    the strength and number of edges from lobe to lobe. With two groups, the change is the second
    minus the first. With more groups, it is the range over the groups. An edge counts as present in
    a group if its weight is at least twice its largest standard error in any group. So all groups
    have the same limit, but counts, like sums of sizes, still depend on noise.
    """
    sums = [_sums_of_hubs(np.abs(group.weights), lobes) for group in weights]
    changes = {name: _change([group[name] for group in sums]) for name in sums[0]}
    return changes | {"number": _change_of_numbers(weights, lobes)}


def _change_of_numbers(weights: Sequence[GroupWeights], lobes: Indices) -> Array:
    """Return the change of the number of edges from lobe to lobe, see `strengths`."""
    least_size = PRESENT_T * np.sqrt(np.max([group.variances for group in weights], axis=0))
    sizes = (np.abs(group.weights) for group in weights)
    return _change([_lobe_sums((size > 0) & (size >= least_size), lobes) for size in sizes])


def strength_statistics(weights: Sequence[GroupWeights], lobes: Indices) -> dict[str, Array]:
    """Return studentised changes along the common sign, and changes of numbers of edges."""
    B = np.array([group.weights for group in weights])
    V = np.array([group.variances for group in weights])
    known = (np.isfinite(V) & (V > 0)).all(axis=0)
    # Unknown variances are set to 1, which does not matter: `known` keeps them out of every sum.
    V = np.where(known, V, 1.0)
    mean = (B / V).sum(axis=0) / (1 / V).sum(axis=0)
    # The common mean is uncorrelated with the difference. The sign in one group would depend on
    # the noise of this group.
    sign = np.where(known, np.sign(mean), 0.0)
    if len(B) == 2:
        statistics = _studentised(sign * (B[1] - B[0]), known * V.sum(axis=0), lobes)
    else:
        groups = zip(B, V, strict=True)
        parts = [_studentised(sign * (b - mean), known * v, lobes) for b, v in groups]
        statistics = {
            name: np.linalg.norm([group[name] for group in parts], axis=0) for name in parts[0]
        }
    return statistics | {"number": _change_of_numbers(weights, lobes)}


def corrected(
    observed: Array, null: Array, family: Indices, counts: Mask, two_sided: bool = True
) -> tuple[Array, Array]:
    """Return z and p of statistics. Each p is corrected over the family of its statistic.

    Parameters
    ----------
    observed : ndarray of shape (k,)
        Statistics of the data.
    null : ndarray of shape (permutations, k)
        Statistics of the permutations.
    family : ndarray of int of shape (k,)
        Number of each statistic's family.
    counts : ndarray of bool of shape (k,)
        True for statistics that are numbers of edges. These are centred and divided by their spread
        over the permutations. The others are studentised already. To divide them by their spread
        too would exaggerate changes of regions that hardly ever have an edge.
    two_sided : bool
        Whether strongly negative statistics count too.

    Returns
    -------
    z, p : ndarray of shape (k,)
        A statistic that never varies has z = 0 and p = 1.
    """
    both = np.vstack([observed, null])  # the data are one of the permutations
    # A lobe without edges has the same sum in all permutations. Its p is set to 1.
    varies = np.ptp(both, axis=0) > ROUND_OFF * np.abs(both).max(axis=0)
    mean = np.where(counts, both.mean(axis=0), 0.0)
    spread = np.where(counts, np.maximum(both.std(axis=0), ONE_EDGE), 1.0)
    z = np.where(varies, (both - mean) / spread, 0.0)
    sizes = np.abs(z) if two_sided else z
    p = np.ones(len(observed))
    for member in np.unique(family):
        tested = (family == member) & varies
        # The largest of a family in each permutation corrects over the family (max-T).
        highest = sizes[1:, tested].max(axis=1, initial=-np.inf)
        p[tested] = [reached(value, highest) for value in sizes[0, tested]]
    return z[0], p


def _sums_of_hubs(edges: NDArray[Any], lobes: Indices) -> dict[str, Array]:
    """Add up the edges into and out of each region, and from lobe to lobe."""
    ends = {"in": edges.sum(axis=0), "out": edges.sum(axis=1)}
    return ends | {"strength": _lobe_sums(edges, lobes)}


def _lobe_sums(edges: NDArray[Any], lobes: Indices) -> Array:
    """Add up the edges from each lobe to each lobe; -1 marks regions without a lobe."""
    # Unknown lobes are -1, which no column has.
    member = (lobes[:, None] == np.arange(lobes.max() + 1)).astype(float)
    return (member.T @ edges @ member).ravel()


def _studentised(change: Array, variance: Array, lobes: Indices) -> dict[str, Array]:
    """Return sums of changes divided by the roots of their variances; 0 without an edge."""
    sums, variances = _sums_of_hubs(change, lobes), _sums_of_hubs(variance, lobes)
    return {
        name: total / np.sqrt(np.where(variances[name] > 0, variances[name], 1.0))
        for name, total in sums.items()
    }


def _change(groups: list[Array]) -> Array:
    """Return the second group minus the first; the range if there are more than two groups."""
    return groups[1] - groups[0] if len(groups) == 2 else np.ptp(groups, axis=0)
