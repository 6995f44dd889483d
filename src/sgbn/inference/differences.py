r"""Which edges differ between groups, and how sure that is.

H0 of an edge i -> j, given the learned order and parents: its weight is the same in all groups.
Means and noise variances may differ. The statistic is studentised with a variance a group,

.. math:: t_{ij} = \frac{\theta_{ij}^{(2)} - \theta_{ij}^{(1)}}{\sqrt{v^{(1)}_{ij} + v^{(2)}_{ij}}},
          \qquad Q_{ij} = \sum_g \frac{(\theta^{(g)}_{ij} - \bar\theta_{ij})^2}{v^{(g)}_{ij}}

with the weighted mean of the groups in Q, which is for more than two. The null distribution comes
from whole rows of residuals, exchanged between the groups and centred in them again. The parents
that the pooled rows and each group choose are chosen anew in every permutation. The order is kept:
it has seen the labels only in so far as the means of the groups were taken out before.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtri, ndtr, ndtri

from sgbn.cohort import Cohort
from sgbn.exceptions import InputError, did_you_mean, warn
from sgbn.gaussian import GaussianNetwork
from sgbn.inference.difference_fit import Fit, Problem, fingerprint, problem_of
from sgbn.inference.difference_input import Covariates, check_request, read_group_data
from sgbn.inference.difference_summaries import (
    Component,
    components_of,
    monte_carlo_error,
    reached,
    strength_statistics,
)
from sgbn.inference.difference_tables import edge_table, signed_statistic, sum_tables
from sgbn.inference.nuisance import permuted
from sgbn.inference.rows import check_share
from sgbn.moments import one_blas_thread
from sgbn.runs import Arrays, run_study
from sgbn.structure import SGBN

Array = NDArray[np.float64]

A_TASK = 50  # permutations
# An edge exceeds it by chance once in 370 times: of the one or two hundred edges that are usually
# tested one or none does, so that a chance set of several edges is rare.
COMPONENT_T = 3.0
CORRECTIONS = ("q", "p_fwer", "p")


@dataclass(frozen=True)
class Differences:
    """Tests of the differences between the networks of groups.

    Attributes
    ----------
    regions, groups : tuple of str
    edges : structured ndarray
        One row an edge that was tested, the most different first: source, target,
        ``weight_GROUP`` of each group (of residuals, in the units of the data), difference (of the
        last group from the first), difference_std and standard_error (the same per standard
        deviation of the residuals, and its standard error), statistic, p (of this edge alone),
        p_error, p_fwer (max-T over all edges), q (false discovery rate), error (of p_fwer),
        graph_direction (what the arrow rests on in the tested graph: "compelled" or "reversible",
        see `sgbn.graph.edge_kinds`; no verdict on the direction).
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
        weights.
    global_statistic, global_p, global_error : float
        Whether the networks differ at all; the statistic is the sum of the squares of all edges'.
    n_permutations : int
    networks : dict of group to GaussianNetwork
        Of the residuals.
    null : dict of str to ndarray
        Over the permutations: `highest`, the largest statistic of an edge, and `totals`, the global
        statistic.

    Notes
    -----
    An error is the Monte-Carlo standard error of a p, from the number of permutations.
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
    n_permutations: int
    networks: dict[str, GaussianNetwork]
    null: Arrays

    def __repr__(self) -> str:
        found = np.count_nonzero(self.edges["q"] <= 0.05)
        return (
            f"Differences({', '.join(self.groups)}: {found} of {len(self.edges)} edges with q <= "
            f"0.05; global p = {self.global_p:.3g}; {self.n_permutations} permutations)"
        )

    def threshold(self, level: float = 0.05) -> float:
        """Statistic that an edge must exceed to be found family-wise."""
        check_share(level, "level")
        place = int(level * (self.n_permutations + 1) * (1 + 1e-12))  # 0.29 * 100 is less than 29
        if not place:
            raise InputError(
                f"level={level:g} needs {self._needed(level)} permutations or more, and there are "
                f"{self.n_permutations}."
            )
        return float(np.sort(self.null["highest"])[-place])

    def detectable(self, power: float = 0.8, level: float = 0.05) -> Array:
        r"""Difference of each edge (per standard deviation) that would be found with this power.

        Family-wise at `level`: :math:`(t^* + \Phi^{-1}(power))` standard errors, with t* the
        threshold of the permutations. Of more than two groups it is that of the last from the first
        where the others do not differ, and a little too small.
        """
        check_share(power, "power")
        found: Array = (self.threshold(level) + ndtri(power)) * self.edges["standard_error"]
        return found

    def significant(self, level: float = 0.05, by: str = "q") -> NDArray[Any]:
        """Edges at a level of the false discovery rate (``by="q"``) or family-wise ("p_fwer").

        ``by="p"`` corrects for nothing: it is for an edge that was named beforehand.
        """
        check_share(level, "level")
        if by not in CORRECTIONS:
            hint = did_you_mean(by, CORRECTIONS)
            raise InputError(f"by={by!r}: give one of {list(CORRECTIONS)}. {hint}")
        if by != "p" and level < (1 - 1e-12) / (self.n_permutations + 1):
            warn(
                f"{by} of an edge by itself cannot reach {level:g} with {self.n_permutations} "
                f"permutations: it needs {self._needed(level)} or more."
            )
        found: NDArray[Any] = self.edges[self.edges[by] <= level]
        return found

    @staticmethod
    def _needed(level: float) -> int:
        """Permutations with which p can reach a level."""
        return int(np.ceil((1 - 1e-12) / level)) - 1


def edge_differences(
    X: ArrayLike | Cohort,
    groups: ArrayLike | None = None,
    *,
    covariates: Covariates | None = None,
    sites: ArrayLike | None = None,
    pairs: ArrayLike | None = None,
    reference: str | None = None,
    learner: SGBN | None = None,
    separate_parents: bool = True,
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
        Without missing cells. A cohort brings its groups, covariates, sites and pairs; what is
        given beside it replaces them.
    groups : array-like of shape (n_subjects,)
    covariates : mapping of name to values, or DataFrame, optional
        Their linear effects are held fixed.
    sites : array-like of shape (n_subjects,), optional
        Means of sites are held fixed, and rows are exchanged within a site only.
    pairs : array-like of shape (n_subjects,), optional
        Person of each row, where each is there once in every group: rows are exchanged within
        persons only.
    reference : str, optional
        The group that others are compared with: it comes first. By default groups are sorted by
        name, and the first is it.
    learner : SGBN, optional
        Finds the order in the pooled residuals.
    separate_parents : bool
        Whether parents that only one group shows are tested as well, see `JointSGBN`.
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
    `p_fwer` is the share of permutations (the data counted as one) whose largest statistic over all
    their edges reaches that of the edge. `p` compares with the statistics of edges of all
    permutations together, which studentising makes comparable; its smallest value is one over one
    more than their number, below 1 / (B + 1) of a single edge's own B permutations. Edges that the
    pooled rows choose, and those that only a group chooses, are compared with edges of the same
    kind: the latter are there because the groups look different. `p_fwer` and `q` are over both
    kinds together. `q` is the expected number of edges of a permutation that reach a statistic, one
    more than counted over B + 1, over the number that do in the data, at its lowest over all
    smaller statistics.

    Components of more than two groups have no sign.

    An edge that differs *given the order and parents found* need not be one that differs in
    nature: where the order is wrong, a change shows at neighbouring edges as well, and unequal
    noise alone makes weights unequal, which hubs and lobes then show too.
    """
    data = read_group_data(X, groups, covariates, sites, pairs, reference)
    n_permutations, seed = check_request(n_permutations, alternative, random_state, data)
    learner = SGBN() if learner is None else learner
    with one_blas_thread():
        problem = problem_of(data, learner, separate_parents, alternative)
        fit = problem.fit(problem.residuals)
    settings = {
        "n_permutations": n_permutations,
        "alternative": alternative,
        "seed": seed,
        "learner": repr(learner),
        "separate_parents": separate_parents,
        "data": fingerprint(problem, learner),
    }
    parts = run_study(
        folder,
        _permute,
        _tasks(n_permutations, seed),
        settings,
        shared={"problem": problem},
        n_jobs=n_jobs,
        progress=progress,
    )
    return _summarised(problem, fit, list(parts.values()))


def _tasks(n_permutations: int, seed: int) -> dict[str, dict[str, Any]]:
    return {
        f"permutations-{k:05d}": {
            "seed": (seed, k),
            "count": min(A_TASK, n_permutations - k * A_TASK),
        }
        for k in range(-(-n_permutations // A_TASK))
    }


def _permute(problem: Problem, seed: tuple[int, int], count: int) -> Arrays:
    """Statistics of some permutations: of all edges, and of the sums."""
    rng = np.random.default_rng(seed)
    data = problem.data
    tests, in_pool, totals, components, sums = [], [], [], [], []
    with one_blas_thread():
        for _ in range(count):
            rows = permuted(rng, data.sites, data.pairs, len(data.codes))
            fit = problem.fit(problem.nuisance.residuals(problem.residuals[rows]))
            tests.append(signed_statistic(fit.statistic, problem.alternative)[fit.parents])
            in_pool.append(fit.pooled[fit.parents])
            totals.append(np.square(fit.statistic).sum())
            strongest = _components(fit)
            components.append(strongest[0].strength if strongest else 0.0)
            statistics = strength_statistics(fit.weights, problem.lobes)
            sums.append(np.concatenate(list(statistics.values())))
    return {
        "tests": np.concatenate(tests),
        "in_pool": np.concatenate(in_pool),
        "highest": np.array([own.max(initial=-np.inf) for own in tests]),
        "totals": np.array(totals),
        "components": np.array(components),
        "sums": np.array(sums),
    }


def _components(fit: Fit) -> list[Component]:
    """Find sets of changed edges, beyond a statistic that is as rare for any number of groups."""
    n_groups = len(fit.weights)
    if n_groups == 2:
        return components_of(fit.statistic, fit.parents, COMPONENT_T)
    threshold = float(np.sqrt(chdtri(n_groups - 1, 2 * ndtr(-COMPONENT_T))))
    return components_of(fit.statistic, fit.parents, threshold, signs=(0,))


def _summarised(problem: Problem, fit: Fit, parts: list[Arrays]) -> Differences:
    null = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    count = len(null["highest"])
    total = float(np.square(fit.statistic).sum())
    global_p = reached(total, null["totals"])
    found = [(own, reached(own.strength, null["components"])) for own in _components(fit)]
    hubs, lobes = sum_tables(problem, fit, null["sums"])
    return Differences(
        regions=problem.data.regions,
        groups=problem.data.groups,
        edges=edge_table(problem, fit, null),
        components=[(own, p, float(monte_carlo_error(p, count))) for own, p in found],
        hubs=hubs,
        lobes=lobes,
        global_statistic=total,
        global_p=global_p,
        global_error=float(monte_carlo_error(global_p, count)),
        n_permutations=count,
        networks=_networks(problem, fit),
        null={name: null[name] for name in ("highest", "totals")},
    )


def _networks(problem: Problem, fit: Fit) -> dict[str, GaussianNetwork]:
    """Networks of the groups, in the units of the data."""
    sd = problem.sd
    return {
        name: GaussianNetwork(
            own.weights * sd / sd[:, None],
            noise_variance=own.noise * sd**2,
            names=problem.data.regions,
        )
        for name, own in zip(problem.data.groups, fit.weights, strict=True)
    }
