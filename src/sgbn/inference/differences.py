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

from sgbn.cohort import Cohort
from sgbn.exceptions import InputError, listed, shown, warn
from sgbn.gaussian import GaussianNetwork
from sgbn.inference.difference_summaries import (
    Component,
    components_of,
    corrected,
    reached,
    strengths,
)
from sgbn.inference.joint import Graph, GroupWeights, SharedOrder, group_weights
from sgbn.inference.nuisance import Nuisance, check_pairs, nuisance_of, permuted
from sgbn.moments import constant_columns, one_blas_thread
from sgbn.runs import Arrays, run_study
from sgbn.structure import SGBN
from sgbn.validation import check_values, is_number, read_labels

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

FEWEST = 10  # subjects of a group
FEWEST_PERMUTATIONS = 19  # with fewer no p is below 0.05
UNEQUAL = 5.0  # ratio of group sizes from which on the smaller group decides nearly alone
A_TASK = 50  # permutations
ALTERNATIVES = ("two-sided", "greater", "less")
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
class _Data:
    """Checked input."""

    values: Array
    regions: tuple[str, ...]
    groups: tuple[str, ...]
    codes: Codes
    covariates: Mapping[str, NDArray[Any]]
    sites: Codes | None
    pairs: Codes | None
    lobes: tuple[str, ...]


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
    data = _read(X, groups, covariates, sites, pairs)
    _check(n_permutations, alternative, data)
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
            tests.append(_signed(statistic, alternative)[parents])
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


def _signed(statistic: Array, alternative: str) -> Array:
    """Statistic that is the larger the more it speaks for the alternative."""
    if alternative == "two-sided":
        return np.abs(statistic)
    return statistic if alternative == "greater" else -statistic


def _summarised(
    data: _Data,
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
        _edge_table(data, parents, weights, problem.sd, statistic, null, alternative),
        [(found, reached(found.strength, null["components"])) for found in components],
        *_sum_tables(data, strengths(weights, problem.lobes), null["sums"]),
        total,
        reached(total, null["totals"]),
        len(null["highest"]),
        _networks(data, weights, problem.sd),
    )


def _edge_table(
    data: _Data,
    parents: Graph,
    weights: list[GroupWeights],
    sd: Array,
    statistic: Array,
    null: Arrays,
    alternative: str,
) -> NDArray[Any]:
    sources, targets = np.nonzero(parents)
    signed = _signed(statistic, alternative)[sources, targets]
    in_units = sd[targets] / sd[sources]
    own = [group.weights[sources, targets] * in_units for group in weights]
    tests = np.sort(null["tests"])
    above = len(tests) - np.searchsorted(tests, signed)
    fwer = np.array([reached(value, null["highest"]) for value in signed])
    count = len(null["highest"])
    table = {
        "source": np.array(data.regions, dtype=object)[sources],
        "target": np.array(data.regions, dtype=object)[targets],
        **{f"weight_{name}": w for name, w in zip(data.groups, own, strict=True)},
        "difference": own[-1] - own[0],
        "statistic": statistic[sources, targets],
        "p": (1 + above) / (1 + len(tests)),
        "p_fwer": fwer,
        "q": discovery_rates(signed, above, count),
        "error": np.sqrt(fwer * (1 - fwer) / (count + 1)),
    }
    return _records(table)[np.lexsort((targets, sources, -signed))]


def discovery_rates(signed: Array, above: NDArray[np.intp], n_permutations: int) -> Array:
    """Estimate the false discovery rate of all edges with at least each statistic.

    `above` counts null statistics of all permutations that reach it. One more than counted makes
    the estimate of a statistic that no permutation reached other than zero.
    """
    expected = (above + 1) / (n_permutations + 1)
    order = np.argsort(-signed, kind="stable")
    found = np.searchsorted(np.sort(-signed), -signed, side="right")
    rates = np.minimum(expected / np.maximum(found, 1), 1.0)
    lowest = np.minimum.accumulate(rates[order][::-1])[::-1]
    q = np.empty_like(rates)
    q[order] = lowest
    return q


def _sum_tables(
    data: _Data, sums: dict[str, Array], null: Array
) -> tuple[NDArray[Any], NDArray[Any]]:
    family = np.repeat(np.arange(4), [len(part) for part in sums.values()])
    family[family == 1] = 0  # in- and out-strength are one family
    observed = np.concatenate(list(sums.values()))
    z, p = corrected(observed, null, family)
    m, lobes = len(data.regions), sorted(set(data.lobes))
    regions = np.array(data.regions, dtype=object)
    hubs = {
        "region": np.tile(regions, 2),
        "kind": np.repeat(np.array(["in", "out"], dtype=object), m),
    }
    names = np.array(lobes, dtype=object)
    pairs = {
        "source": np.tile(np.repeat(names, len(names)), 2),
        "target": np.tile(names, 2 * len(names)),
        "kind": np.repeat(np.array(["strength", "number"], dtype=object), len(names) ** 2),
    }
    values = {"difference": observed, "z": z, "p_fwer": p}
    first, second = (
        {name: column[part] for name, column in values.items()}
        for part in (slice(0, 2 * m), slice(2 * m, None))
    )
    return _records(hubs | first), _records(pairs | second)


def _networks(data: _Data, weights: list[GroupWeights], sd: Array) -> dict[str, GaussianNetwork]:
    return {
        name: GaussianNetwork(
            own.weights * sd / sd[:, None], noise_variance=own.noise * sd**2, names=data.regions
        )
        for name, own in zip(data.groups, weights, strict=True)
    }


def _records(columns: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    kinds = [(name, column.dtype) for name, column in columns.items()]
    table = np.empty(len(next(iter(columns.values()))), dtype=kinds)
    for name, column in columns.items():
        table[name] = column
    return table


def _problem(data: _Data, learner: SGBN, separate: bool) -> Problem:
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


def _read(
    X: Any, groups: Any, covariates: Mapping[str, Any] | None, sites: Any, pairs: Any
) -> _Data:
    if isinstance(X, Cohort):
        values, regions, lobes = X.values, X.regions, X.lobes
        groups = X.group if groups is None else groups
        covariates = X.covariates if covariates is None else covariates
        sites = X.site if sites is None else sites
    else:
        values, names = check_values(X)
        regions, lobes = tuple(names), ("unknown",) * len(names)
    if groups is None:
        raise InputError("there are no groups: give the group of each subject.")
    labels = read_labels(groups, len(values))
    found, codes = np.unique(labels, return_inverse=True)
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise InputError(
            f"region {regions[column]!r} is missing in row {row} (counted from 0). Fill it in "
            "(RegionImputer), or leave the subject out."
        )
    blocks = None
    if sites is not None:
        blocks = np.unique(read_labels(sites, len(values)), return_inverse=True)[1]
    return _Data(
        np.asarray(values, float),
        tuple(regions),
        tuple(str(name) for name in found),
        codes,
        {name: np.asarray(column) for name, column in (covariates or {}).items()},
        blocks,
        None if pairs is None else check_pairs(pairs, codes),
        tuple(lobes),
    )


def _check(n_permutations: int, alternative: str, data: _Data) -> None:
    sizes = np.bincount(data.codes)
    if len(sizes) < 2:
        raise InputError(f"there is one group, {shown(data.groups[0])}: a difference needs two.")
    if sizes.min() < FEWEST:
        raise InputError(
            f"group {shown(data.groups[sizes.argmin()])} has {sizes.min()} subjects: differences "
            f"of edges need {FEWEST} or more in each group. Merge groups, or leave this one out."
        )
    if sizes.max() > UNEQUAL * sizes.min():
        warn(
            f"group {shown(data.groups[sizes.argmin()])} has {sizes.min()} subjects and "
            f"{shown(data.groups[sizes.argmax()])} {sizes.max()}: what can be found is decided by "
            "the smaller one. More subjects there would help, more elsewhere hardly."
        )
    whole = is_number(n_permutations) and n_permutations == int(n_permutations)
    if not whole or n_permutations < FEWEST_PERMUTATIONS:
        raise InputError(
            f"n_permutations={n_permutations!r}: no p can be below 0.05 with fewer than "
            f"{FEWEST_PERMUTATIONS}. Give 999 for a report, 199 for a first look."
        )
    if alternative not in ALTERNATIVES:
        raise InputError(f"alternative={alternative!r}: give one of {list(ALTERNATIVES)}.")
    if alternative != "two-sided" and len(sizes) > 2:
        raise InputError(
            f"alternative={alternative!r} with {len(sizes)} groups: a difference has a direction "
            "between two only. Compare groups by pairs."
        )
