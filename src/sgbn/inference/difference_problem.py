r"""The data that a test of tables or of series needs, and one fit to these data.

The statistics and the tables of p-values need nothing else. So their code is the same for tables
and for series.

Statistics of edges from the influences of the rows, by the same formula for any design.

A unit u is a row, a person or a family. Let :math:`\theta` be the weights of an edge in the groups,
and :math:`\psi^{(g)}_u` the sum of the influences of the unit's rows on the weight of group g. The
covariances of the groups' weights and Wald's statistic are

.. math:: C_{gh} = \frac{n}{n - r} \sum_u \psi^{(g)}_u \psi^{(h)}_u, \qquad
          Q = (D \theta)^T (D C D^T)^{-1} D \theta

where n is the number of rows, D forms the differences from the first group, and r is the rank of
the effects that are held fixed. With two groups, Q is the square of
:math:`t = (\theta^{(2)} - \theta^{(1)}) / \sqrt{C_{11} + C_{22} - 2 C_{12}}`. The influences are
the HC3 influences of `sgbn.inference.influence`. So noise may differ between groups, and may depend
on the parents. C has off-diagonal entries only if a unit has rows in several groups.

Closed tests, which show which groups differ when more than two are compared.

The hypothesis "groups a and b are equal" is rejected only if every hypothesis that implies it is
rejected too (Marcus, Peritz and Gabriel 1976). Such a hypothesis divides the groups into sets, says
that the groups within each set are equal, and has a and b in the same set. With three groups a, b
and c there are two such hypotheses: "a = b" and "a = b = c". If a hypothesis has several sets of
two or more groups, its p is the smallest p of these sets times their number (Bonferroni). The p of
a set comes from permutations that exchange rows between the groups of this set only.

Checks whether a test of differences that a user asks for is possible with the data.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from sgbn.cohort.atlas import UNKNOWN_LOBE
from sgbn.cohort.design import LABELS, Design
from sgbn.cohort.rows import region_index
from sgbn.core.problems import InputError, Problem, did_you_mean
from sgbn.core.types import Array, Graph, Indices, Mask
from sgbn.core.validation import SEED, OneOf, Whole, is_number, read_edge
from sgbn.inference.influence import edge_influences, pair_influences
from sgbn.inference.joint import GroupWeights

DIGITS = 8  # decimals of values in standard deviations; all machines agree in these


class Fit(NamedTuple):
    """The fit to one table, permuted or not.

    Attributes
    ----------
    parents : ndarray of bool of shape (m, m)
        ``parents[i, j]`` is i -> j.
    edges : ndarray of int of shape (k, 2)
        Source and target of each edge, sorted by target.
    in_pool : ndarray of bool of shape (k,)
        Whether the pooled rows chose the edge. All other edges were chosen by single groups only.
    weights : Estimates
        Weight of each edge in each group, given the other parents of the target.
    ways : Ways
        The weight of the source on the target, the weight in the opposite direction, and the
        partial correlation. All three are estimated given the parents of both regions.
    named : Ways or None
        The same three statistics for the edges that were named beforehand.
    """

    parents: Graph
    edges: Edges
    in_pool: Mask
    weights: Estimates
    ways: Ways
    named: Ways | None


class NamedEdges(NamedTuple):
    """The edges that were named before the data were seen, and the regions held fixed for each."""

    edges: Edges
    given: Graph


@dataclass(frozen=True, kw_only=True)
class EdgeProblem(ABC):
    """The data that every permutation needs. They are sent to the workers.

    Attributes
    ----------
    design : Design
        Groups and labels of the rows.
    regions, lobes : tuple of str
        Name and lobe of each region.
    sd : ndarray of shape (m,)
        Standard deviation of each region. The fitted weight of i -> j times ``sd[j] / sd[i]`` is
        in the units of the data.
    alternative : {"two-sided", "greater", "less"}
        Direction of the tests of edges.
    named : NamedEdges or None
        Edges that were named beforehand.
    among : ndarray of bool of shape (m, m), or None
        Edges between regions that were named beforehand.
    """

    design: Design
    regions: tuple[str, ...]
    lobes: tuple[str, ...]
    sd: Array
    alternative: str
    named: NamedEdges | None = None
    among: Graph | None = None

    @property
    def lobe_codes(self) -> Indices:
        """The place of each region's lobe among the sorted names; -1 if it is unknown."""
        names = known_lobes(self.lobes)
        return np.array([names.index(x) if x in names else -1 for x in self.lobes], np.intp)

    @property
    @abstractmethod
    def content(self) -> Array:
        """The numbers that all statistics are computed from."""

    @abstractmethod
    def refit(self, members: Members) -> Callable[[Indices], Fit]:
        """Return a function that fits permuted rows; it takes the row that moves to each place.

        `members` are the groups that exchange rows. They are equal under the null hypothesis.
        """


def known_lobes(lobes: Sequence[str]) -> list[str]:
    """Return the sorted names of the lobes, without the name for unknown lobes."""
    return sorted(set(lobes) - {UNKNOWN_LOBE})


def fingerprint(problem: EdgeProblem, learner: BaseEstimator) -> str:
    """Return a hash of the data and the learner, so that a folder never mixes two tests."""
    design = problem.design
    # The last digits differ between machines, and a folder may be moved to another machine.
    digest = hashlib.sha256((np.round(problem.content, DIGITS) + 0.0).tobytes())  # no -0.0
    for codes in map(design.codes, LABELS):
        digest.update(b"-" if codes is None else codes.astype(np.int64).tobytes())
    # Absent columns add "-". Otherwise the same labels, as sites or as pairs, would have one hash.
    for chosen in (None if problem.named is None else problem.named.edges, problem.among):
        digest.update(b"-" if chosen is None else chosen.tobytes())
    digest.update(json.dumps([problem.lobes, problem.regions, design.groups]).encode())
    digest.update(json.dumps(list(design.covariates)).encode())
    digest.update((replace(design, site=None).columns() + 0.0).tobytes())
    # The parameters are hashed, not the learner's repr, since a long repr is shortened.
    digest.update(joblib.hash(learner.get_params()).encode())
    return digest.hexdigest()


Edges = NDArray[np.int64]


class Estimates(NamedTuple):
    """The weights of edges in the groups, and their covariances between groups.

    Attributes
    ----------
    weights : ndarray of shape (groups, k)
        Weight of each of the k edges in each group.
    covariances : ndarray of shape (groups, groups, k)
        Covariances of the groups' weights, for each edge.
    """

    weights: Array
    covariances: Array

    def statistic(self, members: Sequence[int]) -> Array:
        """Return the statistic of each edge for these groups; 0 if it is not defined.

        For two groups it is the t of the second minus the first. For more groups it is the root of
        Wald's Q.
        """
        groups = list(members)
        b, C = self.weights[groups], self.covariances[np.ix_(groups, groups)]
        if len(groups) == 2:
            # A variance of 0 or NaN comes from a singular regression. The statistic is then set to
            # 0, which is never significant.
            with np.errstate(divide="ignore", invalid="ignore"):
                t = (b[1] - b[0]) / np.sqrt(C[0, 0] + C[1, 1] - 2 * C[0, 1])
        else:
            t = _root_of_q(b, C)
        return np.where(np.isfinite(t), t, 0.0)

    def part(self, chosen: Mask | slice) -> Estimates:
        """Return the estimates of some of the edges."""
        return Estimates(self.weights[:, chosen], self.covariances[..., chosen])

    def standard_error(self, first: int, last: int) -> Array:
        """Return the standard error of the difference between two groups."""
        C = self.covariances
        return np.sqrt(C[first, first] + C[last, last] - 2 * C[first, last])

    def matrices(self, edges: Edges, m: int) -> list[GroupWeights]:
        """Return weights and variances of each group as matrices; noise variances are NaN."""
        i, j = edges.T
        matrices = []
        for g, weights in enumerate(self.weights):
            B, V = np.zeros((m, m)), np.zeros((m, m))
            B[i, j], V[i, j] = weights, self.covariances[g, g]
            matrices.append(GroupWeights(B, V, np.full(m, np.nan)))
        return matrices


class Ways(NamedTuple):
    """The estimates of pairs in three ways: both directions and the correlation; see `all_ways`."""

    forward: Estimates
    backward: Estimates
    correlation: Estimates

    def statistics(self, members: Sequence[int]) -> Array:
        """Return the statistic of each pair in each way, of shape (k, 3)."""
        return np.column_stack([estimates.statistic(members) for estimates in self])


@dataclass(frozen=True)
class UnitSums:
    """The sums of influences over units: the rows of each group, in the order of their units.

    Attributes
    ----------
    rows : tuple of ndarray of int
        Rows of each group.
    starts : tuple of ndarray of int, or None
        Places in `rows` at which the rows of each unit begin. None if each row is a unit.
    numbers : tuple of ndarray of int
        Number of each unit that has rows in the group.
    count : int
        Number of units in all groups.
    inflation : float
        n / (n - r), since the effects that are held fixed use up r degrees of freedom.
    """

    rows: tuple[Indices, ...]
    starts: tuple[Indices, ...] | None
    numbers: tuple[Indices, ...]
    count: int
    inflation: float

    @classmethod
    def of(cls, codes: Indices, units: Indices | None, rank: int) -> UnitSums:
        """Return the sums for the number of each row's unit; without it, each row is a unit."""
        n = len(codes)
        unit_codes = np.arange(n) if units is None else units
        # Rows in the order of their units, so that reduceat below can add the influences of a unit.
        by_unit = np.argsort(unit_codes, kind="stable")
        rows = tuple(by_unit[codes[by_unit] == c] for c in range(int(codes.max()) + 1))
        parts = [np.unique(unit_codes[place], return_index=True) for place in rows]
        starts = None if units is None else tuple(first for _, first in parts)
        numbers = tuple(unit for unit, _ in parts)
        return cls(rows, starts, numbers, int(unit_codes.max()) + 1, n / (n - rank))

    def covariances(self, influences: Sequence[Array]) -> Array:
        """Return the covariances between groups, from the influences (k, n_g) of each group."""
        n_groups, k = len(influences), len(influences[0])
        C = np.zeros((n_groups, n_groups, k))
        if self.starts is None:
            for g, influence in enumerate(influences):
                # Each row is a unit and is in one group only. So covariances between groups are 0.
                C[g, g] = np.einsum("kn,kn->k", influence, influence)
            return self.inflation * C
        sums = np.zeros((n_groups, k, self.count))
        for g, influence in enumerate(influences):
            sums[g][:, self.numbers[g]] = np.add.reduceat(influence, self.starts[g], axis=1)
        return self.inflation * np.einsum("gku,hku->ghk", sums, sums)


class GroupColumns(NamedTuple):
    """The residuals of one group, one row per region, and their products."""

    columns: Array
    products: Array


def group_columns(residuals: Array, units: UnitSums) -> list[GroupColumns]:
    """Return the residuals of the groups in the form that `sgbn.inference.influence` takes."""
    columns = [np.ascontiguousarray(residuals[rows].T) for rows in units.rows]
    return [GroupColumns(group, group @ group.T) for group in columns]


def one_way(groups: Sequence[GroupColumns], edges: Edges, units: UnitSums) -> Estimates:
    """Return the weights of edges, given the other parents of the target.

    Edges with the same target must lie next to each other.
    """
    targets = edges[:, 1]
    first = np.flatnonzero(np.diff(targets, prepend=-1))
    starts = np.append(first, len(edges)).astype(np.int64)
    influences = [edge_influences(*group, edges, starts) for group in groups]
    return _estimates(influences, units)


def all_ways(groups: Sequence[GroupColumns], edges: Edges, given: Graph, units: UnitSums) -> Ways:
    """Return the weight of i -> j, the weight of j -> i, and the partial correlation of each pair.

    All three are estimated given the same other regions. The correlation is Fisher's z.
    """
    by_group = [pair_influences(*group, edges, given) for group in groups]
    forward, backward, correlation = (
        _estimates([(weights[way], influences[way]) for weights, influences in by_group], units)
        for way in range(3)
    )
    return Ways(forward, backward, correlation)


def parents_of_both(parents: Graph, edges: Edges) -> Graph:
    """Return, for each pair i, j, the parents of i or j, without i and j."""
    i, j = edges.T
    given: Graph = (parents[:, i] | parents[:, j]).T
    places = np.arange(len(edges))
    # If i is a parent of j, it must not be a further regressor beside itself.
    given[places, i] = given[places, j] = False
    return np.ascontiguousarray(given)


def _estimates(influences: Sequence[tuple[Array, Array]], units: UnitSums) -> Estimates:
    """Return the estimates from the weights and influences of each group."""
    weights = np.array([weight for weight, _ in influences])
    return Estimates(weights, units.covariances([influence for _, influence in influences]))


def _root_of_q(b: Array, C: Array) -> Array:
    """Return the root of Wald's statistic Q of each edge; NaN if it cannot be computed."""
    d = (b[1:] - b[0]).T  # (k, groups - 1)
    C = np.moveaxis(C, -1, 0)
    # Covariances of the differences from the first group, D C D'.
    V = C[:, 1:, 1:] - C[:, 1:, :1] - C[:, :1, 1:] + C[:, :1, :1]
    usable = np.isfinite(V).all(axis=(1, 2)) & np.isfinite(d).all(axis=1)
    # Nearly singular covariances would make any difference look huge.
    usable[usable] &= np.linalg.cond(V[usable]) < 1e12
    root = np.full(len(d), np.nan)
    solved = np.linalg.solve(V[usable], d[usable][..., None])[..., 0]
    root[usable] = np.sqrt(np.einsum("ki,ki->k", d[usable], solved))
    return root


Members = tuple[int, ...]

MOST_GROUPS = 5  # with six groups, 57 sets of groups would have to be permuted


def sets_of_groups(n_groups: int) -> list[Members]:
    """Return all sets of two or more groups, the largest first."""
    sizes = range(n_groups, 1, -1)
    return [members for size in sizes for members in combinations(range(n_groups), size)]


def partitions(groups: Sequence[int]) -> Iterator[list[Members]]:
    """Yield each partition of the groups, as the list of its sets of two or more groups."""
    if not groups:
        yield []
        return
    # Choose the set of the first group, then partition the rest. So each partition comes once.
    first, rest = groups[0], groups[1:]
    for size in range(len(rest) + 1):
        for partners in combinations(rest, size):
            left = [group for group in rest if group not in partners]
            first_set = [(first, *partners)] if partners else []
            for more_sets in partitions(left):
                yield first_set + more_sets


def closed_p(pair: Members, p_of: Mapping[Members, Array]) -> Array:
    """Return the closed p of each edge for the hypothesis that two groups are equal.

    Parameters
    ----------
    pair : tuple of two int
        Numbers of the two groups.
    p_of : mapping of groups to ndarray of shape (k,)
        The p of the k edges, for every set of two or more groups.
    """
    groups = sorted({group for members in p_of for group in members})
    largest_p = np.zeros(len(p_of[pair]))
    for sets in partitions(groups):
        # Only a hypothesis that puts both groups in one set implies that they are equal.
        if any(set(pair) <= set(members) for members in sets):
            smallest = np.min([p_of[members] for members in sets], axis=0)
            largest_p = np.maximum(largest_p, np.minimum(len(sets) * smallest, 1.0))
    return largest_p


MIN_SUBJECTS_PER_GROUP = 10  # a smaller group raises an error
FEWEST_PERMUTATIONS = 19  # with fewer, no p can be 0.05 or less; a q needs one more
MAX_SIZE_RATIO = 5.0  # largest to smallest group; a larger ratio leads to a warning
MIN_EXCHANGES = 1.5  # if no rows can be exchanged, the count is 1: the data as they are
MAX_SHARE_STUCK = 0.2  # share of rows that no exchange moves; a larger one leads to a warning
ALTERNATIVES = ("two-sided", "greater", "less")


def check_request(
    n_permutations: Any, alternative: str, random_state: Any, design: Design
) -> tuple[int, int]:
    """Return the number of permutations and the seed; raise InputError if no test is possible."""
    _check_sizes(design)
    if is_number(n_permutations) and float(n_permutations).is_integer():
        n_permutations = int(n_permutations)  # users write 1e4, which is a float
    if Whole(0).check("n_permutations", n_permutations) < FEWEST_PERMUTATIONS:
        raise InputError("permutations.few", needed=FEWEST_PERMUTATIONS).says(
            "a p of 0.05 needs {needed:permutation} or more", "Give 999, or 199 for a first look."
        )
    OneOf(*ALTERNATIVES).check("alternative", alternative)
    if alternative != "two-sided" and len(design.groups) > 2:
        raise InputError("alternative.groups", n=len(design.groups)).says(
            "a difference of {n:group} has no direction",
            "Leave out {alternative=}, or compare two.",
        )
    _check_exchanges(design, n_permutations)
    return n_permutations, SEED.check("random_state", random_state)


def read_edges(edges: Sequence[tuple[str, str]], regions: Sequence[str]) -> list[tuple[int, int]]:
    """Return the edges that were named beforehand, as numbers of regions."""
    chosen = [
        read_edge(edge, "edges", lambda name: region_index(str(name), regions)) for edge in edges
    ]
    # Every pair is tested in both directions. So (i, j) and (j, i) would be the same test.
    pairs = [frozenset(edge) for edge in chosen]
    twice = [edge for edge, pair in zip(edges, pairs, strict=True) if pairs.count(pair) > 1]
    if twice:
        raise InputError("edges.twice", regions=twice[0]).says(
            "edges holds the regions {regions} twice", "Name each pair once."
        )
    return chosen


def read_among(names: Sequence[str], regions: Sequence[str], lobes: Sequence[str]) -> Mask | None:
    """Mark all edges between some regions, which are given by their names or by their lobes."""
    # A single name would be read as a sequence of letters.
    if isinstance(names, str):
        names = [names]
    if not names:
        return None
    inside = np.zeros(len(regions), bool)
    for name in names:
        named = np.array([name in both for both in zip(regions, lobes, strict=True)])
        if not named.any() or name == UNKNOWN_LOBE:
            near = did_you_mean(name, list(dict.fromkeys([*regions, *lobes])))
            raise InputError("among.unknown", name=name, near=near).says(
                "no region or lobe is called {name} ({among=})", "{near}"
            )
        inside |= named
    if inside.sum() < 2:
        raise InputError("among.one", names=names).says(
            "{names} is only one region ({among=})", "Name several, or a lobe that has several."
        )
    return np.outer(inside, inside)


def _check_sizes(design: Design) -> None:
    """Raise InputError if there is one group or a group is too small; warn of unequal sizes."""
    # Persons are counted, not rows: ten sessions of one person are not ten subjects.
    sizes = np.array(list(design.counts(design.persons).values()))
    if len(sizes) < 2:
        raise InputError("groups.one", group=design.groups[0]).says(
            "there is only one group, {group}", "Give two or more."
        )
    smallest, n = design.groups[sizes.argmin()], sizes.min()
    if n < MIN_SUBJECTS_PER_GROUP:
        raise InputError("groups.small", group=smallest, n=n, least=MIN_SUBJECTS_PER_GROUP).says(
            "group {group} has {n:subject}, but tests need {least}",
            "Merge groups, or leave it out.",
        )
    # The variance of a difference is the sum of the variances in both groups. So the variance in
    # the smaller group limits the test, however large the other group is.
    if sizes.max() > MAX_SIZE_RATIO * n:
        Problem("groups.uneven", group=smallest, n=n, most=sizes.max()).warn(
            "group {group} has {n:subject} and the largest {most}, so that little can be found",
            "Add subjects to the smaller group.",
        )


def _check_exchanges(design: Design, n_permutations: int) -> None:
    """Raise InputError if no rows can be exchanged between groups; warn if only few can."""
    exchange, n = design.exchange(), design.n
    log_count = exchange.log_exchanges(design.group_codes)
    # Counts are logarithms: a thousand subjects have more exchanges than a float can hold.
    if log_count < np.log(MIN_EXCHANGES):
        raise InputError("exchange.none").says(
            "no rows of two groups can be exchanged within a site",
            "Leave out {sites=} or {blocks=}, or groups that share no site with others. Give the "
            "same number of rows for each person.",
        )
    stuck = exchange.cannot_move(design.group_codes)
    if stuck > MAX_SHARE_STUCK * n:
        Problem("exchange.stuck", stuck=stuck, n=n).warn(
            "{stuck} of {n} rows cannot change groups, as no other person has as many at a site",
            "Leave out sites of only one group, and keep as many rows of each person.",
        )
    if log_count < np.log(n_permutations):
        Problem("exchange.few", ways=np.exp(log_count), p=np.exp(-log_count)).warn(
            "the rows can be exchanged in {ways:.0f} ways only, so that no p is below {p:.2g}",
            "Give more subjects of both groups at each site, with as many rows each.",
        )
