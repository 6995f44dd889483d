r"""Which edges differ between groups, and how sure that is.

H0 of an edge i -> j, given the learned order and parents: its weight is the same in all groups.
Means and noise variances may differ. The statistic is Wald's with HC3 variances, see
`sgbn.inference.edge_statistics`. Its null distribution comes from whole rows of residuals,
exchanged between the groups and centred in them again. The parents that the pooled rows and each
group choose are chosen anew in every permutation. The order is kept: it has seen the labels only in
so far as the means of the groups were taken out before. `sgbn.inference.permutation_p` has the
rules by which statistics become p.

Where an arrow is learned the wrong way round, unequal noise alone makes its weights unequal. So
every pair is tested both ways as well, i -> j and j -> i, each given the parents of either, and the
larger p counts. A change of the scale of a region changes both weights: their partial correlation,
which it does not change, is the third that must differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from sgbn.cohort import Cohort
from sgbn.exceptions import InputError, shown, warn
from sgbn.gaussian import GaussianNetwork
from sgbn.html_repr import html_repr
from sgbn.inference.closed_tests import Members
from sgbn.inference.difference_fit import TableProblem, problem_of
from sgbn.inference.difference_input import (
    Covariates,
    check_request,
    read_among,
    read_edges,
    read_group_data,
    without_outliers,
)
from sgbn.inference.difference_problem import Fit, Problem, fingerprint
from sgbn.inference.difference_summaries import Component
from sgbn.inference.difference_tables import (
    Among,
    among_of,
    edge_table,
    global_p,
    named_table,
    pairwise_tables,
    sum_tables,
)
from sgbn.inference.joint import covariances, weights_on
from sgbn.inference.permutation_p import (
    monte_carlo_error,
    permutations_needed,
    reached,
    statistic_at,
)
from sgbn.inference.permuted_statistics import (
    changed_components,
    permuted_statistics,
    statistics_of,
)
from sgbn.moments import one_blas_thread
from sgbn.parameters import POSITIVE, SHARE, OneOf
from sgbn.runs import Arrays, Study
from sgbn.series_cohort import SeriesCohort
from sgbn.structure import SGBN
from sgbn.types import Array

UNCORRECTED = ("p", "p_both")
SHOWN = 5  # edges in a notebook
CORRECTIONS = ("q", "p_fwer", "q_both", "p_fwer_both", *UNCORRECTED)


@dataclass(frozen=True)
class Differences:
    """Tests of the differences between the networks of groups.

    Attributes
    ----------
    regions, groups : tuple of str
    edges : structured ndarray
        One row per edge that was tested, the surest first: source, target,
        ``weight_GROUP`` of each group (of residuals, in the units of the data), difference (of the
        last group from the first), difference_std and standard_error (the same per standard
        deviation of the residuals, and its HC3 standard error), statistic, p (of this edge alone,
        among edges that were chosen alike), p_error, p_fwer (family-wise, min-P over all edges), q
        (false discovery rate, Benjamini-Hochberg), error (of p_fwer), p_both, p_fwer_both and
        q_both (of a difference that holds both ways), from_pool (whether the pooled rows chose the
        edge, or a group only).
    components : list of (Component, p, error)
        Connected sets of edges with a statistic beyond 3 (of more than two groups, a root of Q as
        rare as that), corrected over all sets.
    hubs, lobes : structured ndarray
        Changes of in- and out-strength of every region, and of the strength and number of edges
        from lobe to lobe: difference, z, p_fwer (over all regions, in and out; over all lobes,
        strength and number), error. The difference is that of the sum of sizes of standardised
        weights, and describes only: such sums grow with noise. z tests changes of the weights along
        their common sign, which do not, over their standard error, see
        `sgbn.inference.difference_summaries`. Numbers of edges, in units of their spread over the
        permutations, depend on noise: groups of unequal noise differ in them without a change of
        weights. Regions whose lobe is unknown are in no lobe.
    global_statistic, global_p, global_error : float
        Whether the networks differ at all; the statistic is the sum of the squares of all edges'.
    global_p_both : float
        The same by the smallest square of both directions and the partial correlation of each pair:
        changes of variances alone are not to make it small, which is measured, not guaranteed.
    n_permutations : int
    networks : dict of group to GaussianNetwork
        Of the residuals.
    null : dict of str to ndarray
        Over the permutations: `lowest`, the smallest share of an edge in its class (see
        `sgbn.inference.permutation_p`), and `totals`, the global statistic; `pool`, the statistics
        of edges that the pooled rows chose, sorted.
    named : structured ndarray or None
        Edges that were named beforehand: as `edges`, with p from the edge's own permutations and
        p_fwer over the named edges only; of two groups also p_greater and p_less, one-sided.
    among : Among or None
        Regions that were named beforehand: one test of all edges between them.
    pairwise : dict of (group, group) to structured ndarray
        Of more than two groups: source, target, difference_std (of the second from the first),
        standard_error, statistic, and closed p, p_fwer, q, p_both, p_fwer_both, q_both.
    left_out : dict of group to tuple
        Subjects that lie far from the others of their group, and were not tested.

    Notes
    -----
    An error is the Monte-Carlo standard error of a p, from the number of permutations.
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
        found, both = (np.count_nonzero(self.edges[by] <= 0.05) for by in ("q", "q_both"))
        return (
            f"Differences({', '.join(self.groups)}: {found} of {len(self.edges)} edges with q <= "
            f"0.05, {both} both ways; global p = {self.global_p:.3g}; "
            f"{self.n_permutations} permutations)"
        )

    def _repr_html_(self) -> str:
        weights = [f"weight_{group}" for group in self.groups]
        header = ("source", "target", *weights, "difference_std", "standard_error", "q", "q_both")
        said = "The surest edges. sgbn.to_frame makes a table of all that were tested (.edges)."
        return html_repr(repr(self), [said], header, self.edges[list(header)][:SHOWN].tolist())

    def threshold(self, level: float = 0.05) -> float:
        """Statistic beyond which an edge is found family-wise, if the pooled rows chose it."""
        SHARE.check("level", level)
        place = int(level * (self.n_permutations + 1) * (1 + 1e-12))  # 0.29 * 100 is less than 29
        if not place:
            raise InputError(
                f"level={level:g} needs {permutations_needed(level)} permutations or more, and "
                f"there are {self.n_permutations}."
            )
        if not len(self.null["pool"]):
            return np.inf
        too_large = float(np.sort(self.null["lowest"])[place - 1])
        return statistic_at(too_large, self.null["pool"])

    def detectable(self, power: float = 0.8, level: float = 0.05) -> Array:
        r"""Difference of each edge (per standard deviation) that would be found with this power.

        Family-wise at `level`: :math:`(t^* + \Phi^{-1}(power))` standard errors, with t* the
        threshold of the permutations. Of more than two groups it is that of the last from the first
        where the others do not differ, and a little too small.
        """
        SHARE.check("power", power)
        found: Array = (self.threshold(level) + ndtri(power)) * self.edges["standard_error"]
        return found

    def significant(self, level: float = 0.05, by: str = "q") -> NDArray[Any]:
        """Edges at a level of the false discovery rate (``by="q"``) or family-wise ("p_fwer").

        "q_both" and "p_fwer_both" are for differences that hold both ways: a change of variance
        alone rarely makes them. ``by="p"`` corrects for nothing.
        """
        SHARE.check("level", level)
        OneOf(*CORRECTIONS).check("by", by)
        needed = permutations_needed(level, by)
        if by not in UNCORRECTED and self.n_permutations < needed:
            warn(
                f"{by} cannot reach {level:g} with {self.n_permutations} permutations: it needs "
                f"{needed} or more."
            )
        found: NDArray[Any] = self.edges[self.edges[by] <= level]
        return found


def edge_differences(
    X: ArrayLike | Cohort,
    groups: ArrayLike | None = None,
    *,
    covariates: Covariates | None = None,
    sites: ArrayLike | None = None,
    pairs: ArrayLike | None = None,
    persons: ArrayLike | None = None,
    blocks: ArrayLike | None = None,
    reference: str | None = None,
    learner: SGBN | None = None,
    separate_parents: bool = True,
    penalty: float = 1.0,
    outliers: str | ArrayLike = "trim",
    edges: Sequence[tuple[str, str]] = (),
    among: Sequence[str] = (),
    n_permutations: int = 999,
    alternative: str = "two-sided",
    random_state: int = 0,
    n_jobs: int | None = None,
    folder: str | Path | None = None,
    progress: bool = False,
) -> Differences:
    """Test every edge of the groups' networks for a difference.

    Parameters
    ----------
    X : Cohort, DataFrame or array-like of shape (n_subjects, n_regions)
        Without missing cells. A cohort brings its groups, covariates, sites, pairs, persons and
        blocks; what is given beside it replaces them.
    groups : array-like of shape (n_subjects,)
    covariates : mapping of name to values, or DataFrame, optional
        Their linear effects are held fixed.
    sites : array-like of shape (n_subjects,), optional
        Means of sites are held fixed, and rows are exchanged within a site only.
    pairs : array-like of shape (n_subjects,), optional
        Person of each row, where each is there once in every group: rows are exchanged within
        persons only.
    persons : array-like of shape (n_subjects,), optional
        Person of each row, where a person has several rows in one group: the rows of a person are
        exchanged together, with those of a person who has as many.
    blocks : array-like of shape (n_subjects,), optional
        Family of each row, or another label of rows that are not independent. A family that lies in
        one group is exchanged whole with another of as many persons and rows; in a family that
        spans groups its members are exchanged among themselves (Winkler et al., 2015).
    reference : str, optional
        The group that others are compared with: it comes first, and the rest by name. By default
        one that is called like controls (control, CTR, HC, CN, healthy, 0 beside 1, ...), else the
        first by name; see `sgbn.reference.usual_reference`.
    learner : SGBN, optional
        Finds the order in the pooled residuals.
    separate_parents : bool
        Whether parents that only one group shows are tested as well, see `JointSGBN`.
    penalty : float
        Times the usual price of a parent, BIC in the pooled rows and extended BIC in a group: less
        tests more edges. The learner has a penalty of its own on the order.
    outliers : {"trim", "keep"} or array-like of bool of shape (n_subjects,)
        Whether subjects that lie far from the others of their group are left out, once, before
        anything is permuted; or which ones. `Differences.left_out` names them.
    edges : sequence of (source, target), optional
        Edges that were named before the data were seen. Few tests, each with p from its own
        permutations: see `Differences.named`.
    among : sequence of str, optional
        Regions or lobes that were named beforehand: all edges between them are tested together, and
        corrected among themselves.
    n_permutations : int
    alternative : {"two-sided", "greater", "less"}
        "greater": the weight is greater in the last group than in the first. Two groups only. It
        acts on edges only; the global test, components, hubs and lobes stay two-sided.
    random_state : int
        Seed from 0 on, of the permutations. Results do not depend on `n_jobs`.
    n_jobs : int, optional
        Processes.
    folder : path, optional
        Keeps finished permutations; a second start does only what is missing. Another number of
        permutations needs another folder.
    progress : bool
        Show a bar with the time left.

    Notes
    -----
    A region has at most a fifth as many parents as the smallest group has subjects, less what is
    held fixed, in the data and in the permutations; a pair that is tested both ways has those of
    both regions.

    `p` compares with the statistics of edges of all permutations together, which studentising makes
    comparable; edges that the pooled rows choose, and those that only a group chooses, are compared
    with edges of the same kind: the latter are there because the groups look different. For an edge
    that was named beforehand, give `edges`.

    Where the groups have the same distribution but for their means, permutations without
    covariates and sites are exact up to the means that are estimated and the rows that are left
    out; with covariates and sites they are nearly so (Freedman and Lane 1983).

    `p_both` is the largest p of i -> j, j -> i and their partial correlation, each among its own
    permuted statistics; the null is that at least one of the three is unchanged. `p_fwer_both` is
    corrected over all three of all pairs, and then the largest of a pair; `q_both` is Benjamini and
    Hochberg's over `p_both` (over all three it would not hold: many directions that truly change
    let others pass). A difference that holds one way only may be a change of variance. Their level
    is measured by simulation (benchmarks/calibration.py), not guaranteed: under a wrong order the
    parents of either may hold descendants.

    More than two groups are compared pair by pair too, in closed tests, see
    `sgbn.inference.closed_tests`; of more than five only all together.

    Components of more than two groups have no sign.

    An edge that differs *given the order and parents found* need not be one that differs in
    nature: where the order is wrong, a change shows at neighbouring edges as well.

    Whether rows are subjects is not looked at here: `sgbn.quality.review` does, as `compare` does.
    """
    if isinstance(X, SeriesCohort):
        raise InputError("a SeriesCohort has one series per subject. Call series_differences.")
    data = read_group_data(X, groups, covariates, sites, pairs, reference, persons, blocks)
    data, left_out = without_outliers(data, outliers)
    n_permutations, seed = check_request(n_permutations, alternative, random_state, data)
    POSITIVE.check("penalty", penalty)
    learner = SGBN() if learner is None else learner
    chosen = read_edges(edges, data), read_among(among, data)
    with one_blas_thread():
        problem = problem_of(data, learner, separate_parents, alternative, *chosen, penalty)
        fit = problem.fit(problem.residuals)
        networks = _networks(problem, fit)  # refuses what has none before the long work begins
    settings = {
        "learner": repr(learner),
        "separate_parents": separate_parents,
        "penalty": penalty,
        "data": fingerprint(problem, learner),
    }
    study = Study(folder, n_jobs, progress)
    null = permuted_statistics(problem, n_permutations, seed, settings, study)
    return summarised(problem, fit, null, networks, left_out)


def summarised(
    problem: Problem,
    fit: Fit,
    nulls: dict[Members, Arrays],
    networks: dict[str, GaussianNetwork],
    left_out: dict[str, tuple[Any, ...]],
) -> Differences:
    """Return the tests of what was fitted, by its permutations."""
    every, null = next(iter(nulls.items()))
    own = statistics_of(problem, fit, every)
    count = len(null["counts"])
    p = reached(float(own["totals"]), null["totals"])
    components = changed_components(fit, fit.weights.statistic(every))
    of_components = [reached(one.strength, null["components"]) for one in components]
    hubs, lobes = sum_tables(problem, fit, null["sums"])
    edges, lowest = edge_table(problem, fit, own, null)
    return Differences(
        regions=problem.data.regions,
        groups=problem.data.groups,
        edges=edges,
        components=[
            (one, p, float(monte_carlo_error(p, count)))
            for one, p in zip(components, of_components, strict=True)
        ],
        hubs=hubs,
        lobes=lobes,
        global_statistic=float(own["totals"]),
        global_p=p,
        global_error=float(monte_carlo_error(p, count)),
        global_p_both=global_p(own, null),
        n_permutations=count,
        networks=networks,
        null={
            "lowest": lowest,
            "totals": null["totals"],
            "pool": np.sort(null["tests"][null["in_pool"]]),
        },
        named=named_table(problem, fit, null),
        among=among_of(problem, fit, own, null),
        pairwise=pairwise_tables(problem, fit, nulls),
        left_out=left_out,
    )


def _networks(problem: TableProblem, fit: Fit) -> dict[str, GaussianNetwork]:
    """Networks of the groups, in the units of the data."""
    data, sd = problem.data, problem.sd
    groups = covariances(problem.residuals, data.codes)
    fitted = weights_on(groups, fit.parents, problem.nuisance.rank / len(data.codes))
    networks = {}
    for name, own in zip(data.groups, fitted, strict=True):
        unknown = np.flatnonzero(np.isnan(own.noise))
        if len(unknown):
            raise InputError(
                f"the parents of {data.regions[unknown[0]]!r} determine each other in the group "
                f"{shown(name)}. Leave out regions that are sums or copies of others."
            )
        networks[name] = GaussianNetwork(
            own.weights * sd / sd[:, None], noise_variance=own.noise * sd**2, names=data.regions
        )
    return networks
