r"""Which edges differ between groups, and how sure that is.

H0 of an edge i -> j, given the learned order and parents: its weight is the same in all groups.
Means and noise variances may differ. The statistic is studentised with a variance a group,

.. math:: t_{ij} = \frac{\theta_{ij}^{(2)} - \theta_{ij}^{(1)}}{\sqrt{v^{(1)}_{ij} + v^{(2)}_{ij}}},
          \qquad Q_{ij} = \sum_g \frac{(\theta^{(g)}_{ij} - \bar\theta_{ij})^2}{v^{(g)}_{ij}}

with the weighted mean of the groups in Q, which is for more than two. The null distribution comes
from whole rows of residuals, exchanged between the groups; the choice of parents in each group,
which has seen the labels, is repeated in every permutation. The order and the pooled parents have
not seen them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbn.exceptions import InputError, listed
from sgbn.gaussian import GaussianNetwork
from sgbn.inference.difference_input import GroupData, check_request, read_groups
from sgbn.inference.difference_summaries import Component, components_of, reached, strengths
from sgbn.inference.difference_tables import edge_table, signed_statistic, sum_tables
from sgbn.inference.joint import Graph, GroupWeights, SharedOrder, group_weights
from sgbn.inference.nuisance import Nuisance, nuisance_of, permuted
from sgbn.moments import constant_columns, one_blas_thread
from sgbn.runs import Arrays, run_study
from sgbn.structure import SGBN

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

A_TASK = 50  # permutations
COMPONENT_T = 3.0


@dataclass(frozen=True)
class Differences:
    """Tests of the differences between the networks of groups.

    Attributes
    ----------
    regions, groups : tuple of str
    edges : structured ndarray
        One row an edge that was tested, the most different first: source, target,
        ``weight_GROUP`` of each group (of residuals, in the units of the data), difference (of the
        last group from the first), statistic, p (of this edge alone), p_fwer (max-T over all
        edges), q (false discovery rate), error (Monte-Carlo standard error of p_fwer).
    components : list of (Component, p)
        Connected sets of edges with a statistic beyond 3, corrected over all sets.
    hubs, lobes : structured ndarray
        Changes of in- and out-strength of every region (of standardised weights), and of the
        strength and number of edges from lobe to lobe: difference, z, p_fwer.
    global_statistic, global_p : float
        Whether the networks differ at all.
    n_permutations : int
    networks : dict of group to GaussianNetwork
        Of the residuals.
    """

    regions: tuple[str, ...]
    groups: tuple[str, ...]
    edges: NDArray[Any]
    components: list[tuple[Component, float]]
    hubs: NDArray[Any]
    lobes: NDArray[Any]
    global_statistic: float
    global_p: float
    n_permutations: int
    networks: dict[str, GaussianNetwork]

    def significant(self, level: float = 0.05, by: str = "q") -> NDArray[Any]:
        """Edges at a level of the false discovery rate (``by="q"``) or family-wise ("p_fwer")."""
        found: NDArray[Any] = self.edges[self.edges[by] <= level]
        return found


@dataclass(frozen=True)
class Problem:
    """What every permutation needs; it is sent to workers.

    Attributes
    ----------
    residuals : ndarray of shape (n, m)
        Without nuisance effects, in standard deviations `sd`.
    """

    residuals: Array
    sd: Array
    codes: Codes
    nuisance: Nuisance
    shared: SharedOrder
    blocks: Codes | None
    pairs: Codes | None
    lobes: Codes
    separate: bool = True

    @property
    def lost(self) -> float:
        """Share of the degrees of freedom that nuisance effects take."""
        return self.nuisance.rank / len(self.codes)

    def fit(self, residuals: Array) -> tuple[Graph, list[GroupWeights]]:
        """Parents, with the labels as they are, and weights of each group."""
        parents = self.shared.parents(residuals, self.codes, self.separate)
        return parents, group_weights(residuals, self.codes, parents, self.lost)


def edge_differences(
    X: Any,
    groups: Any = None,
    *,
    covariates: Mapping[str, Any] | None = None,
    sites: Any = None,
    pairs: Sequence[Any] | None = None,
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
        Without missing cells. A cohort brings its groups, covariates and sites.
    groups : array-like of shape (n_subjects,)
    covariates : mapping of name to values, optional
        Their linear effects are held fixed.
    sites : array-like of shape (n_subjects,), optional
        Means of sites are held fixed, and rows are exchanged within a site only.
    pairs : sequence, optional
        Subject of each row, where each is there once in both groups: rows are exchanged within
        subjects only.
    learner : SGBN, optional
        Finds the order in the pooled residuals.
    separate_parents : bool
        Whether parents that only one group shows are tested as well, see `JointSGBN`.
    n_permutations : int
    alternative : {"two-sided", "greater", "less"}
        "greater": the weight is greater in the last group than in the first. Two groups only.
    random_state : int
        Seed of the permutations. Results do not depend on `n_jobs`.
    n_jobs : int, optional
        Processes.
    folder : path, optional
        Keeps finished permutations; a second start does only what is missing.
    progress : bool
        Show a bar with the time left.

    Notes
    -----
    `p_fwer` is the share of permutations (the data counted as one) whose largest statistic over all
    their edges reaches that of the edge. `p` compares with the statistics of all edges of all
    permutations together, which studentising makes comparable; its smallest value is one over one
    more than their number, below 1 / (B + 1) of a single edge's own B permutations. `q` is the
    expected number of edges of a permutation that reach a statistic, one more than counted over
    B + 1, over the number that do in the data, at its lowest over all smaller statistics.

    An edge that differs *given the order and parents found* need not be one that differs in
    nature: where the order is wrong, a change shows at neighbouring edges as well.
    """
    data = read_groups(X, groups, covariates, sites, pairs)
    check_request(n_permutations, alternative, data)
    learner = SGBN() if learner is None else learner
    with one_blas_thread():
        problem = _problem(data, learner, separate_parents)
        parents, weights = problem.fit(problem.residuals)
    tasks = {
        f"permutations-{k:05d}": {
            "problem": problem,
            "seed": (random_state, k),
            "count": min(A_TASK, n_permutations - k * A_TASK),
            "alternative": alternative,
        }
        for k in range(-(-n_permutations // A_TASK))
    }
    settings = {
        "n_permutations": n_permutations,
        "alternative": alternative,
        "seed": random_state,
        "learner": repr(learner),
        "separate_parents": separate_parents,
        "paired": pairs is not None,
        "data": _fingerprint(problem),
    }
    results = run_study(folder, _permute, tasks, settings, n_jobs=n_jobs, progress=progress)
    return _summarised(data, parents, weights, problem, list(results.values()), alternative)


def statistics(weights: Sequence[GroupWeights], parents: Graph) -> Array:
    """T of two groups (the second less the first), or the root of Q of more; 0 without an edge."""
    B = np.array([own.weights for own in weights])
    V = np.array([own.variances for own in weights])
    with np.errstate(divide="ignore", invalid="ignore"):
        if len(B) == 2:
            found = (B[1] - B[0]) / np.sqrt(V.sum(axis=0))
        else:
            mean = (B / V).sum(axis=0) / (1 / V).sum(axis=0)
            found = np.sqrt((np.square(B - mean) / V).sum(axis=0))
    statistic: Array = np.where(parents & np.isfinite(found), found, 0.0)
    return statistic


def _permute(problem: Problem, seed: tuple[int, int], count: int, alternative: str) -> Arrays:
    """Statistics of some permutations: of all edges, and of the sums."""
    rng = np.random.default_rng(seed)
    tests, totals, components, sums = [], [], [], []
    with one_blas_thread():
        for _ in range(count):
            rows = permuted(rng, problem.blocks, problem.pairs, len(problem.codes))
            residuals = problem.nuisance.residuals(problem.residuals[rows])
            parents, weights = problem.fit(residuals)
            statistic = statistics(weights, parents)
            tests.append(signed_statistic(statistic, alternative)[parents])
            totals.append(np.square(statistic).sum())
            strongest = components_of(statistic, parents, COMPONENT_T)
            components.append(strongest[0].strength if strongest else 0.0)
            sums.append(np.concatenate(list(strengths(weights, problem.lobes).values())))
    return {
        "tests": np.concatenate(tests),
        "highest": np.array([own.max(initial=-np.inf) for own in tests]),
        "totals": np.array(totals),
        "components": np.array(components),
        "sums": np.array(sums),
    }


def _summarised(
    data: GroupData,
    parents: Graph,
    weights: list[GroupWeights],
    problem: Problem,
    parts: list[Arrays],
    alternative: str,
) -> Differences:
    null = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    statistic = statistics(weights, parents)
    total = float(np.square(statistic).sum())
    components = components_of(statistic, parents, COMPONENT_T)
    return Differences(
        data.regions,
        data.groups,
        edge_table(data, parents, weights, problem.sd, statistic, null, alternative),
        [(found, reached(found.strength, null["components"])) for found in components],
        *sum_tables(data, strengths(weights, problem.lobes), null["sums"]),
        total,
        reached(total, null["totals"]),
        len(null["highest"]),
        _networks(data, weights, problem.sd),
    )


def _networks(
    data: GroupData, weights: list[GroupWeights], sd: Array
) -> dict[str, GaussianNetwork]:
    return {
        name: GaussianNetwork(
            own.weights * sd / sd[:, None], noise_variance=own.noise * sd**2, names=data.regions
        )
        for name, own in zip(data.groups, weights, strict=True)
    }


def _problem(data: GroupData, learner: SGBN, separate: bool) -> Problem:
    nuisance = nuisance_of(data.codes, data.covariates, data.sites)
    residuals = nuisance.residuals(data.values)
    for c, group in enumerate(data.groups):
        constant = constant_columns(data.values[data.codes == c])
        if constant.any():
            names = [data.regions[k] for k in np.flatnonzero(constant)]
            raise InputError(
                f"{listed(names)} has the same value in all subjects of the group {group!r}, so "
                "that it has no weights there. Leave it out."
            )
    sd = residuals.std(axis=0)
    residuals = residuals / sd
    lobes = np.unique(data.lobes, return_inverse=True)[1]
    shared = SharedOrder(residuals, learner)
    return Problem(
        residuals, sd, data.codes, nuisance, shared, data.sites, data.pairs, lobes, separate
    )


def _fingerprint(problem: Problem) -> list[float]:
    """Numbers that tell one table from another, so that a folder is not mixed up."""
    sums = problem.residuals.sum(axis=1) * np.sin(np.arange(len(problem.codes)))
    return [float(f"{value:.6g}") for value in (sums.sum(), problem.codes @ sums)]
