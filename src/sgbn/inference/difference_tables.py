"""The result of the tests of differences, and its construction from statistics.

Tables of the differences between groups, with p from permutations.

Tables as structured arrays, without pandas; `sgbn.to_frame` makes DataFrames of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sgbn.core.gaussian import GaussianNetwork, html_repr
from sgbn.core.problems import DataWarning, InputError, give
from sgbn.core.types import Array
from sgbn.core.validation import SHARE, OneOf
from sgbn.inference.difference_problem import (
    MOST_GROUPS,
    EdgeProblem,
    Estimates,
    Fit,
    Members,
    Ways,
    closed_p,
    known_lobes,
    sets_of_groups,
)
from sgbn.inference.permutations import (
    Component,
    Permuted,
    Ranked,
    changed_components,
    corrected,
    count_reaching,
    discovery_rates,
    few_permutations,
    monte_carlo_error,
    ranked,
    reached,
    shares_reaching,
    signed_statistic,
    statistic_at,
    statistics_of,
    strength_statistics,
    strengths,
    without_small_classes,
)
from sgbn.runs.files import Arrays

UNCORRECTED = ("p", "p_both")
SHOWN = 5  # number of edges that a notebook shows
CORRECTIONS = ("q", "p_fwer", "q_both", "p_fwer_both", *UNCORRECTED)


@dataclass(frozen=True)
class Differences:
    """The tests of the differences between the networks of groups.

    Attributes
    ----------
    regions, groups : tuple of str
        Names of the regions and of the groups. The reference group comes first.
    edges : structured ndarray
        One row per edge that was tested, the surest first. Its fields are

        - source, target: the two regions
        - ``weight_GROUP``: weight in each group, fitted to residuals, in the units of the data
        - difference: weight in the last group minus weight in the first group
        - difference_std, standard_error: the difference per standard deviation of the residuals,
          and its HC3 standard error
        - statistic: see `sgbn.inference.difference_problem`
        - p, p_error: p of this edge alone, and its Monte-Carlo error; the statistic is compared
          with permuted edges that were chosen in the same way
        - p_fwer, error: family-wise p (min-P over all edges), and its Monte-Carlo error
        - q: false discovery rate (Benjamini-Hochberg)
        - p_both, p_fwer_both, q_both: the same for a difference that holds both ways, that is in
          both directions and in the partial correlation
        - from_pool: True if the pooled rows chose the edge, False if only a group chose it
    components : list of (Component, p, error)
        Connected sets of edges whose statistics are all above 3, or all below -3. With more than
        two groups, the statistic is the root of Q, and its limit has the tail probability that 3
        has for two groups. p is corrected over all sets.
    hubs, lobes : structured ndarray
        Changes of the in- and out-strength of every region, and of the strength and number of edges
        from lobe to lobe. In `hubs`, the field p_fwer is corrected over the in- and out-strengths
        of all regions. In `lobes`, it is corrected over the strengths and numbers of all pairs of
        lobes. The field difference is the change of a sum of sizes of standardised weights. It is
        not a test, since such sums grow with noise. The field z tests changes of the weights along
        their common sign, divided by their standard error. These do not grow with noise; see
        `sgbn.inference.permutations`. For numbers of edges, z is in units of their spread
        over the permutations. Numbers of edges depend on noise: groups of unequal noise differ in
        them without a change of weights. Regions whose lobe is unknown are in no lobe.
    global_statistic, global_p, global_error : float
        The test of whether the networks differ at all. The statistic is the sum of the squared
        statistics of all edges.
    global_p_both : float
        The p of a global test in which each pair contributes the smallest of three squared
        statistics: both directions and the partial correlation. Changes of variances alone should
        not make it small. This is measured by simulation, not guaranteed.
    n_permutations : int
        Number of permutations.
    networks : dict of group to GaussianNetwork
        Networks of the residuals, in the units of the data.
    null : dict of str to ndarray
        `lowest` holds, for each permutation, the smallest share u of its edges. The module
        `sgbn.inference.permutations` defines u. `totals` holds the global statistic of each
        permutation. `pool` holds the sorted statistics that edges of the pooled rows are ranked
        among.
    named : structured ndarray or None
        Edges that were named beforehand, with fields as in `edges`. p comes from the edge's own
        permutations, and p_fwer is corrected over the named edges only. With two groups there are
        also the one-sided p_greater and p_less.
    among : Among or None
        One test of all edges between regions that were named beforehand.
    pairwise : dict of (group, group) to structured ndarray
        With more than two groups, the tests of each pair of groups: source, target,
        difference_std (the second group minus the first), standard_error, statistic, and the p,
        p_fwer, q, p_both, p_fwer_both and q_both of closed tests.
    left_out : dict of group to tuple
        Subjects that lie far from the others of their group, and were not tested.

    Notes
    -----
    Each error is the Monte-Carlo standard error of a p. It depends on the number of permutations.
    `sgbn.to_frame` makes DataFrames of the structured arrays.
    """

    regions: tuple[str, ...]
    groups: tuple[str, ...]
    edges: NDArray[Any]
    components: list[tuple[Component, float, float]]
    hubs: NDArray[Any]
    lobes: NDArray[Any]
    global_statistic: float
    global_p: float
    global_error: float
    global_p_both: float
    n_permutations: int
    networks: dict[str, GaussianNetwork]
    null: Arrays
    named: NDArray[Any] | None = None
    among: Among | None = None
    pairwise: dict[tuple[str, str], NDArray[Any]] = field(default_factory=dict)
    left_out: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        one_way, both_ways = (np.count_nonzero(self.edges[by] <= 0.05) for by in ("q", "q_both"))
        return (
            f"Differences({', '.join(self.groups)}: {one_way} of {len(self.edges)} edges with q <= "
            f"0.05, {both_ways} both ways; global p = {self.global_p:.3g}; "
            f"{self.n_permutations} permutations)"
        )

    def _repr_html_(self) -> str:
        weights = [f"weight_{group}" for group in self.groups]
        header = ("source", "target", *weights, "difference_std", "standard_error", "q", "q_both")
        caption = "The surest edges. sgbn.to_frame makes a table of all tested edges (.edges)."
        return html_repr(repr(self), [caption], header, self.edges[list(header)][:SHOWN].tolist())

    def threshold(self, level: float = 0.05) -> float:
        """Return the statistic above which the family-wise p of an edge is at most `level`.

        It holds for edges that the pooled rows chose.
        """
        SHARE.check("level", level)
        # With B permutations, the k-th smallest share has p = k / (B + 1). `place` is the last k
        # whose p is at or below the level.
        place = int(level * (self.n_permutations + 1) * (1 + 1e-12))  # 0.29 * 100 is less than 29
        if problem := few_permutations(self.n_permutations, level):
            raise InputError(problem)
        # Without any permuted edge no statistic is known to be large.
        if not len(self.null["pool"]):
            return np.inf
        too_large = float(np.sort(self.null["lowest"])[place - 1])
        return statistic_at(too_large, self.null["pool"])

    def detectable(self, power: float = 0.8, level: float = 0.05) -> Array:
        r"""Return, for each edge, how large its difference must be to be found with this power.

        The difference is per standard deviation. It is :math:`(t^* + \Phi^{-1}(power))` standard
        errors, where t* is the family-wise `threshold` of the permutations at `level`. With more
        than two groups, it is a difference between the first and the last group, while the other
        groups do not differ. The value is then a little smaller than the difference that is needed.
        """
        SHARE.check("power", power)
        return (self.threshold(level) + ndtri(power)) * self.edges["standard_error"]

    def significant(self, level: float = 0.05, by: str = "q") -> NDArray[Any]:
        """Return the edges whose field `by` is at most `level`.

        "q" is the false discovery rate, and "p_fwer" is the family-wise p. "q_both" and
        "p_fwer_both" are for differences that hold both ways. A change of variance alone rarely
        causes these. "p" and "p_both" are not corrected for the number of edges.
        """
        SHARE.check("level", level)
        OneOf(*CORRECTIONS).check("by", by)
        problem = few_permutations(self.n_permutations, level, by)
        # An empty table would look like a finding of no difference.
        if by not in UNCORRECTED and problem:
            give(DataWarning(problem))
        return self.edges[self.edges[by] <= level]


def summarised(
    problem: EdgeProblem,
    fit: Fit,
    nulls: dict[Members, Arrays],
    networks: dict[str, GaussianNetwork],
    left_out: dict[str, tuple[Any, ...]],
) -> Differences:
    """Return the tests of a fit, with p from its permutations."""
    # The first set holds all groups. The others are for closed tests.
    every, null = next(iter(nulls.items()))
    observed = statistics_of(problem, fit, every)
    count = len(null["counts"])
    p = reached(float(observed["totals"]), null["totals"])
    components = changed_components(fit, fit.weights.statistic(every))
    of_components = [reached(component.strength, null["components"]) for component in components]
    hubs, lobes = sum_tables(problem, fit, null["sums"])
    edges, lowest = edge_table(problem, fit, observed, null)
    return Differences(
        regions=problem.regions,
        groups=problem.design.groups,
        edges=edges,
        components=[
            (component, p, float(monte_carlo_error(p, count)))
            for component, p in zip(components, of_components, strict=True)
        ],
        hubs=hubs,
        lobes=lobes,
        global_statistic=float(observed["totals"]),
        global_p=p,
        global_error=float(monte_carlo_error(p, count)),
        global_p_both=global_p(observed, null),
        n_permutations=count,
        networks=networks,
        null={
            "lowest": lowest,
            "totals": null["totals"],
            # `threshold` needs these to turn a share back into a statistic.
            "pool": pool_statistics(null),
        },
        named=named_table(problem, fit, null),
        among=among_of(problem, fit, observed, null),
        pairwise=pairwise_tables(problem, fit, nulls),
        left_out=left_out,
    )


N_WAYS = len(Ways._fields)


class Among(NamedTuple):
    """One test of all edges between regions that were named beforehand.

    Attributes
    ----------
    regions : tuple of str
        Names of these regions.
    p, error : float
        The p of the sum of squared statistics of these edges, from the permutations of this sum,
        and the Monte-Carlo error of p.
    edges : structured ndarray
        The same as `Differences.edges`, with p, p_fwer and q over these edges only.
    """

    regions: tuple[str, ...]
    p: float
    error: float
    edges: NDArray[Any]


def edge_table(
    problem: EdgeProblem, fit: Fit, observed: Arrays, null: Arrays
) -> tuple[NDArray[Any], Array]:
    """Return one row per edge, the surest first, and the smallest share of every permutation."""
    last = len(problem.design.groups) - 1
    one_way, both_ways = rank_edges(observed, null), rank_ways(observed, null)
    fwer = one_way.family_wise
    table = {
        **_weights(problem, fit.edges, fit.weights, (0, last)),
        "statistic": fit.weights.statistic(range(last + 1)),
        "p": one_way.p,
        "p_error": one_way.error,
        "p_fwer": fwer,
        "q": discovery_rates(one_way.p),
        "error": monte_carlo_error(fwer, len(null["counts"])),
        "p_both": both_ways.p,
        "p_fwer_both": both_ways.family_wise,
        "q_both": discovery_rates(both_ways.p),
        "from_pool": fit.in_pool,
    }
    # Edges are sorted by shares, then by statistics: shares of the two classes are on one scale,
    # statistics are not. Then the regions break ties, so that the order is the same everywhere.
    order = np.lexsort((fit.edges[:, 1], fit.edges[:, 0], -observed["tests"], one_way.shares))
    return records(table)[order], one_way.lowest


def rank_edges(observed: Arrays, null: Arrays) -> Ranked:
    """Rank the statistic of each edge among statistics of edges that were chosen in the same way.

    If a group chose an edge and the pooled rows did not, the edge was chosen because the groups
    look different. So it must be compared only with edges of this kind.
    """
    pools = observed["in_pool"].astype(np.intp), null["in_pool"].astype(np.intp)
    return ranked(Permuted(observed["tests"], pools[0], null["tests"], pools[1], null["counts"]))


def pool_statistics(null: Arrays) -> Array:
    """Return the sorted permuted statistics that edges of the pooled rows are compared with.

    If `without_small_classes` joins the two kinds of edges, these are the statistics of all edges.
    """
    pool, classes = without_small_classes(np.array([1]), null["in_pool"].astype(np.intp))
    return np.sort(null["tests"][classes == pool])


class BothWays(NamedTuple):
    """The p and the family-wise p of pairs. They are small if all three `Ways` of a pair differ."""

    p: Array
    family_wise: Array


def rank_ways(observed: Arrays, null: Arrays) -> BothWays:
    """Return the largest p of the three ways of each pair.

    Each of the three `Ways` is ranked among the permuted statistics of the same way. For the
    family-wise p, the smallest share of a permutation is taken over all three ways.
    """
    ways = [
        rank_edges(*(arrays | {"tests": arrays["ways"][:, way]} for arrays in (observed, null)))
        for way in range(N_WAYS)
    ]
    lowest = np.min([way.lowest for way in ways], axis=0)
    family_wise = [way._replace(lowest=lowest).family_wise for way in ways]
    return BothWays(np.max([way.p for way in ways], axis=0), np.max(family_wise, axis=0))


def global_p(observed: Arrays, null: Arrays) -> float:
    """Return the p of the global test over the three `Ways` of each pair.

    The statistic adds up, over pairs, the smallest of the three squared statistics of a pair.
    Suppose that one of the three is unchanged in each pair. The statistic is then at most the sum
    of the unchanged squares. This sum has about the distribution of a permuted sum over one way. So
    the largest p of the three ways counts.
    """
    smallest = float(np.square(observed["ways"]).min(axis=1, initial=np.inf).sum())
    return max(reached(smallest, totals) for totals in null["totals_ways"].T)


def named_table(problem: EdgeProblem, fit: Fit, null: Arrays) -> NDArray[Any] | None:
    """Return the table of edges that were named beforehand, in the order of their naming."""
    if problem.named is None or fit.named is None:
        return None
    n_groups = len(problem.design.groups)
    raw = np.concatenate([fit.named.statistics(range(n_groups))[None], null["named"]])
    every = signed_statistic(raw, problem.alternative)
    # The data are the first of all permutations. The three ways of a pair lie side by side.
    flat = every.reshape(len(every), -1)
    p = shares_in(flat)[0].reshape(every[0].shape)
    family_wise = _own_family_wise(flat).reshape(every[0].shape)
    table = {
        **_weights(problem, problem.named.edges, fit.named.forward, (0, n_groups - 1)),
        "statistic": raw[0, :, 0],
        "p": p[:, 0],
        "p_error": monte_carlo_error(p[:, 0], len(null["named"])),
        "p_fwer": _own_family_wise(every[:, :, 0]),
        "p_both": p.max(axis=1),
        "p_fwer_both": family_wise.max(axis=1),
    }
    if n_groups == 2:  # by the sign of the difference
        table |= {"p_greater": shares_in(raw[:, :, 0])[0], "p_less": shares_in(-raw[:, :, 0])[0]}
    return records(table)


def _own_family_wise(every: Array) -> Array:
    """Return the family-wise p (min-P) of statistics, each ranked among its own permutations.

    The first row of `every` belongs to the data, the others to the permutations.
    """
    shares = shares_in(every)
    return shares_reaching(-shares[0], -shares[1:].min(axis=1))


def shares_in(every: Array) -> Array:
    """Return, for each value, the share of the values in its column that are at least as large."""
    columns = [count_reaching(column, np.sort(column)) for column in every.T]
    return np.column_stack(columns) / len(every)


def among_of(problem: EdgeProblem, fit: Fit, observed: Arrays, null: Arrays) -> Among | None:
    """Test the edges between regions that were named beforehand, together and one by one."""
    if problem.among is None:
        return None
    parts = [
        {name: arrays[name][arrays["inside"]] for name in ("tests", "in_pool")}
        for arrays in (observed, null)
    ]
    # The edges of all permutations lie one after the other. This is the permutation that each edge
    # between the named regions belongs to.
    run = np.repeat(np.arange(len(null["counts"])), null["counts"])[null["inside"]]
    counts = np.bincount(run, minlength=len(null["counts"]))
    ranks = rank_edges(parts[0], parts[1] | {"counts": counts})
    p = reached(float(observed["totals_inside"]), null["totals_inside"])
    names, inside = np.array(problem.regions, dtype=object), observed["inside"]
    outer = (0, len(problem.design.groups) - 1)
    table = {
        **_weights(problem, fit.edges[inside], fit.weights.part(inside), outer),
        "statistic": fit.weights.statistic(range(len(problem.design.groups)))[inside],
        "p": ranks.p,
        "p_fwer": ranks.family_wise,
        "q": discovery_rates(ranks.p),
    }
    chosen = tuple(names[problem.among.any(axis=0)].tolist())
    return Among(chosen, p, float(monte_carlo_error(p, len(counts))), records(table))


def pairwise_tables(
    problem: EdgeProblem, fit: Fit, nulls: Mapping[Members, Arrays]
) -> dict[tuple[str, str], NDArray[Any]]:
    """Return closed tests of each pair of groups, if there are more than two groups."""
    names = problem.design.groups
    if len(names) == 2 or len(names) > MOST_GROUPS:
        return {}
    by_set = _p_of_sets(problem, fit, nulls)
    pairs = list(combinations(range(len(names)), 2))
    closed_of = {
        pair: {name: closed_p(pair, p_of) for name, p_of in by_set.items()} for pair in pairs
    }
    # One false discovery rate covers all pairs of groups. With separate rates, more pairs of groups
    # would mean more false finds.
    rates_of = {
        q: discovery_rates(np.concatenate([closed_of[pair][p] for pair in pairs]))
        for q, p in (("q", "p"), ("q_both", "p_both"))
    }
    tables = {}
    for k, pair in enumerate(pairs):
        part = slice(k * len(fit.edges), (k + 1) * len(fit.edges))
        closed = closed_of[pair]
        rates = {name: rate[part] for name, rate in rates_of.items()}
        statistic = fit.weights.statistic(pair)
        table = _weights(problem, fit.edges, fit.weights, pair) | {"statistic": statistic}
        order = np.lexsort((-np.abs(statistic), closed["p"]))
        tables[names[pair[0]], names[pair[1]]] = records(table | closed | rates)[order]
    return tables


def _p_of_sets(
    problem: EdgeProblem, fit: Fit, nulls: Mapping[Members, Arrays]
) -> dict[str, dict[Members, Array]]:
    """Return, for each kind of p (such as "p_fwer"), the p of every set of two or more groups."""
    kinds = ("p", "p_fwer", "p_both", "p_fwer_both")
    by_set: dict[str, dict[Members, Array]] = {kind: {} for kind in kinds}
    for members in sets_of_groups(len(problem.design.groups)):
        null = nulls.get(members)
        if null is None:  # these groups have no rows to exchange: nothing is known
            # A p of 1 can only make closed tests more careful.
            for p_of in by_set.values():
                p_of[members] = np.ones(len(fit.edges))
            continue
        observed = statistics_of(problem, fit, members)
        one_way, both_ways = rank_edges(observed, null), rank_ways(observed, null)
        p_values = (one_way.p, one_way.family_wise, both_ways.p, both_ways.family_wise)
        for kind, p in zip(kinds, p_values, strict=True):
            by_set[kind][members] = p
    return by_set


def _weights(
    problem: EdgeProblem, edges: NDArray[np.int64], estimates: Estimates, pair: Members
) -> dict[str, NDArray[Any]]:
    """Return regions and weights of edges, and the difference between a pair of groups."""
    names, sd = np.array(problem.regions, dtype=object), problem.sd
    (i, j), (first, last) = edges.T, pair
    # Weights were fitted per standard deviation.
    in_units = sd[j] / sd[i]
    by_group = zip(problem.design.groups, estimates.weights, strict=True)
    change = estimates.weights[last] - estimates.weights[first]
    return {
        "source": names[i],
        "target": names[j],
        **{f"weight_{name}": weights * in_units for name, weights in by_group},
        "difference": change * in_units,
        "difference_std": change,
        "standard_error": estimates.standard_error(first, last),
    }


def sum_tables(problem: EdgeProblem, fit: Fit, null: Array) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the tables of hubs and of lobes, with their corrected p."""
    m, names = len(problem.regions), np.array(known_lobes(problem.lobes), dtype=object)
    weights = fit.weights.matrices(fit.edges, m)
    differences, statistics = (
        np.concatenate(list(sums(weights, problem.lobe_codes).values()))
        for sums in (strengths, strength_statistics)
    )
    # In- and out-strengths of m regions come first, then strengths from lobe to lobe, then numbers.
    in_lobes = np.arange(len(statistics)) >= 2 * m
    counts = np.arange(len(statistics)) >= 2 * m + len(names) ** 2
    two_sided = len(problem.design.groups) == 2
    z, p = corrected(statistics, null, in_lobes.astype(np.intp), counts, two_sided)
    hubs = {
        "region": np.tile(np.array(problem.regions, dtype=object), 2),
        "kind": np.repeat(np.array(["in", "out"], dtype=object), m),
    }
    pairs = {
        "source": np.tile(np.repeat(names, len(names)), 2),
        "target": np.tile(names, 2 * len(names)),
        "kind": np.repeat(np.array(["strength", "number"], dtype=object), len(names) ** 2),
    }
    error = monte_carlo_error(p, len(null))
    values = {"difference": differences, "z": z, "p_fwer": p, "error": error}
    first, second = (
        {name: column[part] for name, column in values.items()} for part in (~in_lobes, in_lobes)
    )
    return records(hubs | first), records(pairs | second)


def records(columns: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Return a structured array with one field per column, in their order."""
    fields = [(name, column.dtype) for name, column in columns.items()]
    table = np.empty(len(next(iter(columns.values()))), dtype=fields)
    for name, column in columns.items():
        table[name] = column
    return table
