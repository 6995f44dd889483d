"""Whether the tests of group differences are honest, and what they find.

Pairs of groups from known networks: without a difference, to count what is found all the same;
with changed edges, to count what is missed. A discovery is false when the weights of the
population, given the order and parents that were learned, are equal in both groups.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.cohort import Cohort
from sgbn.exceptions import DataWarning
from sgbn.experiments import calibration_bound, calibration_intervals
from sgbn.experiments.calibration_cohorts import Setting, draw, in_lobes
from sgbn.experiments.calibration_peers import (
    EQUAL,
    LEVEL,
    N_PERMUTATIONS,
    PEERS,
    Found,
    Pair,
)
from sgbn.experiments.calibration_sums import SumScore, score_sums
from sgbn.graph import topological_order
from sgbn.inference.difference_fit import problem_of
from sgbn.inference.difference_input import read_group_data
from sgbn.inference.differences import edge_differences
from sgbn.moments import one_blas_thread
from sgbn.runs import Arrays, read_result, run_study
from sgbn.solvers.regressions import regressions
from sgbn.structure import SGBN

Array = NDArray[np.float64]
Graph = NDArray[np.bool_]

TESTS = {"joint": True, "joint, pooled parents only": False}  # whether groups add parents
COHORTS = 500
KNOWN_ORDER = ("null-noise-order-60-60",)  # settings whose learner is told the true order
CHANGED_SHARE = 5  # one cohort with changed edges for so many without
COST = (68, 370, 1000)  # regions, subjects in both groups, permutations


def settings(seed: int = 0, regions: int = 40) -> dict[str, Setting]:
    """All settings by name, those without a difference first."""
    common: dict[str, Any] = {"seed": seed, "regions": regions}
    return {
        "null-60-60": Setting((60, 60), **common),
        "null-noise-60-60": Setting((60, 60), noise=2.0, **common),
        "null-noise-order-60-60": Setting((60, 60), noise=2.0, **common),
        "null-noise-100-40": Setting((100, 40), noise=2.0, **common),
        "null-noise-40-100": Setting((40, 100), noise=2.0, **common),
        "null-nuisance-60-60": Setting((60, 60), nuisance=True, **common),
        **{
            f"changed-{n:03d}": Setting((n, n), changed=regions // 4, **common)
            for n in (40, 60, 100, 200)
        },
        **{
            f"changed-noise-{a:03d}-{b:03d}": Setting(
                (a, b), changed=regions // 4, noise=2.0, **common
            )
            for a, b in ((100, 40), (40, 100))
        },
    }


class Score(NamedTuple):
    """What a method made of one cohort; NaN where a figure means nothing.

    Attributes
    ----------
    tested, found, false : float
        Edges; false by the definition of this module.
    beside, forward, hits : float
        Of those found: pairs that are no changed edge of the truth, changed edges with their true
        direction, and with any.
    unequal : float
        Edges tested whose weights differ in the population, given the order and parents learned.
    family, any_family : float
        Whether an edge with equal weights, or any edge, is found family-wise.
    global_p, edge_p, low_p : float
        p of the global test, of one edge with equal weights, and the share of these below 5 %.
    low_p_pool, low_p_group : float
        The same share of edges that the pooled rows choose, and of those that a group only does.
    sums : SumScore
        Finds of hubs, lobes and components.
    """

    tested: float = np.nan
    found: float = np.nan
    false: float = np.nan
    beside: float = np.nan
    forward: float = np.nan
    hits: float = np.nan
    unequal: float = np.nan
    family: float = np.nan
    any_family: float = np.nan
    global_p: float = np.nan
    edge_p: float = np.nan
    low_p: float = np.nan
    low_p_pool: float = np.nan
    low_p_group: float = np.nan
    sums: SumScore = SumScore()

    def figures(self) -> dict[str, float]:
        """Every figure by its name, those of the sums among the others."""
        own = self._asdict()
        found: dict[str, float] = own | own.pop("sums")._asdict()
        return found


FIGURES = tuple(Score().figures())


def score_of_tests(pair: Pair, separate: bool, learner: SGBN) -> Score:
    """Score of our tests."""
    cohort = in_lobes(pair.values)
    tests = edge_differences(
        cohort,
        **pair.options,
        learner=learner,
        separate_parents=separate,
        n_permutations=N_PERMUTATIONS,
        random_state=pair.seed,
    )
    place = {name: k for k, name in enumerate(tests.regions)}
    edges = tests.edges
    i, j = (np.array([place[name] for name in edges[end]], int) for end in ("source", "target"))
    parents = np.zeros(pair.changed.shape, bool)
    parents[i, j] = True
    same = same_weights(pair, parents)
    equal, in_pool = same[i, j], pooled_parents(cohort, pair, learner)[i, j]
    found = np.zeros_like(parents)
    found[i, j] = edges["q"] <= LEVEL
    low, family = edges["p"] <= LEVEL, edges["p_fwer"] <= LEVEL
    null_p = edges["p"][equal]
    chosen = np.random.default_rng(pair.seed).integers(max(len(null_p), 1))
    return count(pair, Found(found, True))._replace(
        tested=len(edges),
        false=int((equal & (edges["q"] <= LEVEL)).sum()),
        unequal=int((~equal).sum()),
        family=bool((equal & family).any()),
        any_family=bool(family.any()),
        global_p=tests.global_p,
        edge_p=null_p[chosen] if len(null_p) else np.nan,
        low_p=_share(low[equal]),
        low_p_pool=_share(low[equal & in_pool]),
        low_p_group=_share(low[equal & ~in_pool]),
        sums=score_sums(tests, parents & ~same, cohort.lobes),
    )


def _share(marked: Graph) -> float:
    return float(marked.mean()) if len(marked) else np.nan


def pooled_parents(cohort: Cohort, pair: Pair, learner: SGBN) -> Graph:
    """Edges that the pooled rows choose, with or without those of a group beside them."""
    options = {"covariates": None, "sites": None, "pairs": None} | dict(pair.options)
    problem = problem_of(read_group_data(cohort, **options), learner, True, "two-sided")
    return problem.fit(problem.residuals).pooled


def learner_of(pair: Pair, known_order: bool) -> SGBN:
    """Give the fast learner; where the order is known each region is a tier of its own."""
    if not known_order:
        return SGBN(n_kicks=0)
    order = topological_order(pair.networks[0].coef)
    return SGBN(n_kicks=0, tiers=[[k] for k in order.tolist()])


def same_weights(pair: Pair, parents: Graph) -> Graph:
    """Whether the population's weights given these parents are equal in both groups."""
    m, parents = len(parents), np.ascontiguousarray(parents)
    first, second = (
        regressions(np.ascontiguousarray(network.covariance), m + 1, m + 1.0, parents)[0]
        for network in pair.networks
    )
    same: Graph = np.abs(first - second) < EQUAL
    return same


def count(pair: Pair, result: Found | None) -> Score:
    """Compare discoveries with the edges that were changed; pairs count once."""
    if result is None:
        return Score()
    found = result.edges
    either = np.triu(found | found.T, 1)
    changed = np.triu(pair.changed | pair.changed.T, 1)
    return Score(
        found=int(either.sum()),
        false=np.nan if result.equal is None else int((either & result.equal).sum()),
        beside=int((either & ~changed).sum()),
        forward=int((found & pair.changed).sum()) if result.directed else np.nan,
        hits=int((either & changed).sum()),
    )


def score_cohort(setting: Setting, cohort: int, known_order: bool = False) -> dict[str, Any]:
    """Scores of all methods on one cohort; without a difference of our test only."""
    scores = {}
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore", DataWarning)
        pair = draw(setting, cohort)
        learner = learner_of(pair, known_order)
        for name, separate in TESTS.items():
            if separate or setting.changed:
                scores[name] = score_of_tests(pair, separate, learner)
        if setting.changed and setting.noise == 1.0:
            for name, peer in PEERS.items():
                scores[name] = count(pair, peer(pair))
    rows = [score.figures() for score in scores.values()]
    columns = {name: np.array([row[name] for row in rows], float) for name in FIGURES}
    return {"methods": list(scores), **columns}


def run(
    folder: Path,
    cohorts: int = COHORTS,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: bool = True,
    *,
    regions: int = 40,
    cost: tuple[int, int, int] | None = None,
) -> None:
    """Run what `folder` does not hold yet: a folder a setting, a task a cohort.

    Intervals and the bound of stability selection get two fifths of the cohorts.
    """
    for name, setting in settings(seed, regions).items():
        few = max(2, cohorts // CHANGED_SHARE)
        tasks = {
            f"{k:04d}": {"setting": setting, "cohort": k, "known_order": name in KNOWN_ORDER}
            for k in range(few if setting.changed else cohorts)
        }
        described = asdict(setting) | {"experiment": "calibration", "setting": name}
        described |= {"known_order": name in KNOWN_ORDER, "figures": FIGURES}
        run_study(folder / name, score_cohort, tasks, described, n_jobs=n_jobs, progress=progress)
    for part in (calibration_intervals, calibration_bound):
        part.run(folder, max(2, cohorts * 2 // 5), seed, regions, n_jobs, progress)
    names = ("regions", "subjects", "permutations", "seed")
    design = dict(zip(names, (*(cost or COST), seed), strict=True))
    run_study(folder / "cost", measure_cost, {"cost": design}, design, progress=progress)


def measure_cost(regions: int, subjects: int, permutations: int, seed: int) -> dict[str, Any]:
    """CPU seconds of one fit on the pooled rows, and of the tests, in one process."""
    pair = draw(Setting((subjects // 2, subjects - subjects // 2), 10, regions=regions), seed)
    SGBN().fit(pair.values)  # compiles
    edge_differences(pair.values, pair.codes, n_permutations=19)
    fits = list(_seconds(lambda: SGBN().fit(pair.values), 5))
    tests = list(
        _seconds(lambda: edge_differences(pair.values, pair.codes, n_permutations=permutations), 1)
    )
    return {"fit": np.median(fits), "tests": tests[0]}


def _seconds(function: Any, times: int) -> Iterator[float]:
    for _ in range(times):
        begun = time.process_time()
        function()
        yield time.process_time() - begun


@dataclass(frozen=True)
class Scores:
    """Scores of the cohorts of one setting: ``values[field]`` has axes cohort and method."""

    methods: Sequence[str]
    values: Arrays

    def of(self, field: str, method: str) -> Array:
        """One field of a method, a cohort each."""
        found: Array = self.values[field][:, self.methods.index(method)]
        return found

    @property
    def cohorts(self) -> int:
        """Cohorts drawn."""
        return len(self.values["found"])


def read(folder: Path) -> Scores:
    """Scores of one setting."""
    stored = [read_result(path) for path in sorted((folder / "tasks").glob("*.npz"))]
    values = {field: np.array([task[field] for task in stored]) for field in FIGURES}
    return Scores(stored[0]["methods"].tolist(), values)
