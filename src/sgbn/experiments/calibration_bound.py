"""Whether the bound of stability selection holds.

Of a known network the probability that half a sample joins a pair is measured on samples of that
size. The pairs of low probability are then those that the bound is about: it must exceed the mean
number of them that stability selection chooses in other samples.
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
from sgbn.gaussian import GaussianNetwork
from sgbn.graph.equivalence import skeleton
from sgbn.inference import EdgeConfidence, edge_confidence, selection_bound
from sgbn.moments import one_blas_thread
from sgbn.runs import Arrays, run_study
from sgbn.structure import SGBN

Array = NDArray[np.float64]
Graph = NDArray[np.bool_]

STUDY = "bound"  # its folder
SUBJECTS = 100
N_PAIRS = 50  # of halves a cohort
DRAWS = 200  # samples that measure probabilities
THRESHOLDS = (0.6, 0.75, 0.9)
MEAN = "mean"  # of all pairs, the default of `EdgeConfidence.bound`
THETAS = (MEAN, 0.1, 0.3)
ROUND_OFF = 1e-9  # of a share of halves


class Selected(NamedTuple):
    """Pairs that stability selection chooses at one threshold, and the bound.

    Attributes
    ----------
    low, low_false : float
        Pairs of low probability; those of them that are not joined in truth.
    all, all_false : float
        Pairs of any probability.
    bound, stated : float
        The bound from what halves join of the pairs of low probability, and from all they join,
        which is what a user has (`EdgeConfidence.bound`).
    """

    low: float
    low_false: float
    all: float
    all_false: float
    bound: float
    stated: float


def run(
    folder: Path, cohorts: int, seed: int, regions: int, n_jobs: int | None, progress: bool
) -> None:
    """Run what `folder` does not hold yet, a task a cohort with a network of its own."""
    setting = Setting((SUBJECTS, SUBJECTS), regions=regions, seed=seed)
    sizes = {"n_pairs": N_PAIRS, "draws": DRAWS, "thresholds": THRESHOLDS, "thetas": THETAS}
    described = asdict(setting) | sizes | {"experiment": "calibration"}
    sample = {"setting": setting, "n_pairs": N_PAIRS, "draws": DRAWS}
    tasks = {f"{k:04d}": sample | {"cohort": k} for k in range(cohorts)}
    run_study(folder / STUDY, select, tasks, described, n_jobs=n_jobs, progress=progress)


def select(setting: Setting, cohort: int, n_pairs: int, draws: int) -> dict[str, Any]:
    """Give each field of `Selected`, with axes theta and threshold, on one cohort."""
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore", DataWarning)
        pair = draw(setting, cohort)
        network, rows = pair.networks[0], pair.rows[0]
        rng = np.random.default_rng([setting.seed, cohort, 1])  # other numbers than the rows'
        probability = joined_share(network, len(rows) // 2, draws, rng)
        confidence = edge_confidence(rows, SGBN(n_kicks=0), n_pairs=n_pairs, random_state=cohort)
    joined = skeleton(network.coef)
    found = [
        [count(confidence, probability, joined, theta, threshold) for threshold in THRESHOLDS]
        for theta in THETAS
    ]
    return dict(zip(Selected._fields, np.moveaxis(np.array(found, float), -1, 0), strict=True))


def joined_share(network: GaussianNetwork, n: int, draws: int, rng: np.random.Generator) -> Array:
    """Share of samples of n rows whose networks join each pair."""
    learner = SGBN(n_kicks=0)
    found = [skeleton(learner.fit(network.sample(n, rng)).coef_) for _ in range(draws)]
    share: Array = np.mean(found, axis=0)
    return share


def count(
    confidence: EdgeConfidence,
    probability: Array,
    joined: Graph,
    theta: float | str,
    threshold: float,
) -> Selected:
    """Count the pairs that are selected at one threshold; `joined` is the truth."""
    pairs = np.triu(np.ones_like(joined), 1)
    own = None if isinstance(theta, str) else theta
    highest = float(probability[pairs].mean()) if own is None else own
    low = pairs & (probability <= highest)
    chosen = pairs & (confidence.adjacency_ >= threshold - ROUND_OFF)
    return Selected(
        int((chosen & low).sum()),
        int((chosen & low & ~joined).sum()),
        int(chosen.sum()),
        int((chosen & ~joined).sum()),
        selection_bound(threshold, highest, float(confidence.adjacency_[low].sum())),
        confidence.bound(threshold, own),
    )


def read(folder: Path) -> Arrays:
    """Fields of `Selected` of all cohorts, with axes cohort, theta and threshold."""
    return read_fields(folder / STUDY, Selected._fields)
