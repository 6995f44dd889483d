"""The result of the tests of differences, and its construction from statistics."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sgbn.core.exceptions import InputError, warn
from sgbn.core.gaussian import GaussianNetwork, html_repr
from sgbn.core.types import Array
from sgbn.core.validation import SHARE, OneOf
from sgbn.inference.closed_tests import Members
from sgbn.inference.difference_problem import Fit, Problem
from sgbn.inference.difference_summaries import Component
from sgbn.inference.difference_tables import (
    Among,
    among_of,
    edge_table,
    global_p,
    named_table,
    pairwise_tables,
    pool_statistics,
    sum_tables,
)
from sgbn.inference.permutation_p import (
    monte_carlo_error,
    permutations_needed,
    reached,
    statistic_at,
)
from sgbn.inference.permuted_statistics import changed_components, statistics_of
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
        - statistic: see `sgbn.inference.edge_statistics`
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
        `sgbn.inference.difference_summaries`. For numbers of edges, z is in units of their spread
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
        `sgbn.inference.permutation_p` defines u. `totals` holds the global statistic of each
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
        if not place:
            raise InputError(
                f"level={level:g} needs at least {permutations_needed(level)} permutations, but "
                f"there are {self.n_permutations}. Test again with more (n_permutations=), or give "
                "a higher level."
            )
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
        difference: Array = (self.threshold(level) + ndtri(power)) * self.edges["standard_error"]
        return difference

    def significant(self, level: float = 0.05, by: str = "q") -> NDArray[Any]:
        """Return the edges whose field `by` is at most `level`.

        "q" is the false discovery rate, and "p_fwer" is the family-wise p. "q_both" and
        "p_fwer_both" are for differences that hold both ways. A change of variance alone rarely
        causes these. "p" and "p_both" are not corrected for the number of edges.
        """
        SHARE.check("level", level)
        OneOf(*CORRECTIONS).check("by", by)
        needed = permutations_needed(level, by)
        # An empty table would look like a finding of no difference.
        if by not in UNCORRECTED and self.n_permutations < needed:
            warn(
                f"{by} cannot reach {level:g} with {self.n_permutations} permutations. Test again "
                f"with {needed} or more (n_permutations=)."
            )
        edges: NDArray[Any] = self.edges[self.edges[by] <= level]
        return edges


def summarised(
    problem: Problem,
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
        regions=problem.data.regions,
        groups=problem.data.groups,
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
