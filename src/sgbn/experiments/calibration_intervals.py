"""Whether intervals cover the truth where it is identified, and ranges contain it where not.

The graph is the true one, as the intervals ask for: not learned from the same rows. Effects are
those of regions on others that a directed path leads to.

A range has no sampling error: it is sure to contain the truth only where the rows have the moments
of the population. So it is judged on such rows, and on drawn ones beside.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.exceptions import DataWarning
from sgbn.experiments.calibration_cohorts import Setting, draw, read_fields
from sgbn.experiments.calibration_peers import EQUAL, Pair
from sgbn.gaussian import GaussianNetwork
from sgbn.graph.acyclicity import reachable
from sgbn.inference import Effect, effect_difference, total_effects, weight_intervals
from sgbn.moments import one_blas_thread
from sgbn.runs import Arrays, run_study

Array = NDArray[np.float64]
Graph = NDArray[np.bool_]

STUDY = "intervals"  # its folder
KINDS = ("weight of an edge", "total effect", "difference of total effects")
EFFECTS = 3  # pairs of regions a cohort
SUBJECTS = 100  # a group
COVERAGE = 0.95
GROUPS = ("first", "second")


class Counts(NamedTuple):
    """How many intervals and ranges there are, and what became of the truth.

    Attributes
    ----------
    intervals, covered : int
        Of what is identified.
    ranges, contained, contained_exactly : int
        Of what is not; in rows as they were drawn, and in rows with the population's moments.
    """

    intervals: int = 0
    covered: int = 0
    ranges: int = 0
    contained: int = 0
    contained_exactly: int = 0


def setting_of(seed: int, regions: int) -> Setting:
    """Two groups, a quarter as many changed edges as regions."""
    return Setting((SUBJECTS, SUBJECTS), changed=regions // 4, regions=regions, seed=seed)


def run(
    folder: Path, cohorts: int, seed: int, regions: int, n_jobs: int | None, progress: bool
) -> None:
    """Run what `folder` does not hold yet, a task a cohort."""
    setting = setting_of(seed, regions)
    described = asdict(setting) | {"experiment": "calibration", "effects": EFFECTS}
    tasks = {f"{k:04d}": {"setting": setting, "cohort": k} for k in range(cohorts)}
    run_study(folder / STUDY, count_cohort, tasks, described, n_jobs=n_jobs, progress=progress)


def count_cohort(setting: Setting, cohort: int) -> dict[str, Any]:
    """Count intervals and ranges of each kind on one cohort."""
    rng = np.random.default_rng([setting.seed, cohort, 1])  # other numbers than those of the rows
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore", DataWarning)
        pair = draw(setting, cohort)
        graph = pair.networks[0].coef != 0  # the second group's edges are among them
        counts = [count_weights(pair, graph), *count_effects(pair, graph, rng)]
    columns = zip(Counts._fields, np.array(counts).T, strict=True)
    return {"kinds": KINDS, **dict(columns)}


def count_weights(pair: Pair, graph: Graph) -> Counts:
    """Count the weights of both groups that their intervals cover."""
    covered = 0
    for rows, network in zip(pair.rows, pair.networks, strict=True):
        found = weight_intervals(rows, graph, level=COVERAGE, random_state=pair.seed)
        truth = network.coef[graph]
        covered += int(((found.low <= truth) & (truth <= found.high)).sum())
    return Counts(2 * int(graph.sum()), covered)


def count_effects(pair: Pair, graph: Graph, rng: np.random.Generator) -> tuple[Counts, Counts]:
    """Count total effects in the groups, and their differences."""
    chosen = rng.permutation(np.argwhere(reachable(graph)))[:EFFECTS]
    truths = [total_effects(network) for network in pair.networks]
    drawn = dict(zip(GROUPS, pair.rows, strict=True))
    exact = {
        name: rows_with_moments(network, len(rows), rng)
        for (name, rows), network in zip(drawn.items(), pair.networks, strict=True)
    }
    own, differences = [], []
    for s, t in chosen.tolist():
        ends = graph, f"x{s}", f"x{t}"
        found = effect_difference(drawn, *ends, level=COVERAGE, random_state=pair.seed)
        ideal = effect_difference(exact, *ends, n_resamples=2)  # of which no interval is used
        first, second = (float(truth[s, t]) for truth in truths)
        for name, truth in zip(GROUPS, (first, second), strict=True):
            own.append(judge(found.effects[name], ideal.effects[name], truth))
        between = found.differences[GROUPS], ideal.differences[GROUPS]
        differences.append(judge(*between, second - first))
    return _sum(own), _sum(differences)


def judge(found: Effect, ideal: Effect, truth: float) -> Counts:
    """Judge one effect; `ideal` is found in rows with the population's moments."""
    inside = found.low <= truth <= found.high
    if found.identified:
        return Counts(intervals=1, covered=inside)
    # Not low and high: what drawn rows tell apart may be equal in the population.
    exactly = ideal.possible[0] - EQUAL <= truth <= ideal.possible[-1] + EQUAL
    return Counts(ranges=1, contained=inside, contained_exactly=exactly)


def rows_with_moments(network: GaussianNetwork, n: int, rng: np.random.Generator) -> Array:
    """Rows whose mean and covariance are those of the network, to round-off; n above m."""
    Z = rng.standard_normal((n, network.m))
    Z -= Z.mean(axis=0)
    orthonormal = np.linalg.qr(Z)[0] * np.sqrt(n)
    rows: Array = network.mean + orthonormal @ np.linalg.cholesky(network.covariance).T
    return rows


def _sum(counts: list[Counts]) -> Counts:
    return Counts(*(int(sum(column)) for column in zip(*counts, strict=True)))


def read(folder: Path) -> Arrays:
    """Fields of `Counts` of all cohorts, with axes cohort and kind."""
    return read_fields(folder / STUDY, Counts._fields)
