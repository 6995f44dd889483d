"""The one alpha of Exp-II, which the paper does not give: that which comes nearest to its tables.

For every reading of OR-SGBN (`sgbn.experiments.exp2_methods.readings`) the total errors and false
edges are summed over the networks but Mildew and compared with the paper's sums, in simulations
that are not those of the evaluation. The best alpha is the one whose worse of the two relative
differences is the smallest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sgbn.datasets import NETWORKS
from sgbn.experiments import exp2_methods
from sgbn.experiments.exp2_methods import evaluate, paper_sum, readings, simulate, summed
from sgbn.experiments.experiment import Experiment, Tasks, repeats
from sgbn.runs import Arrays
from sgbn.types import Array

FINE, COARSE = np.arange(0.20, 0.61, 0.02), np.arange(0.7, 1.61, 0.1)  # raw data may need coarse
ALPHAS = tuple(np.round(np.concatenate([FINE, COARSE]), 2).tolist())


@dataclass(frozen=True)
class Settings:
    """What makes one calibration differ from another."""

    simulations: int = 30
    # Without Mildew, whose row of the paper is broken: a sum with it has nothing to be compared
    # with.
    networks: tuple[str, ...] = tuple(summed(NETWORKS))
    seed: int = 0
    alphas: tuple[float, ...] = ALPHAS


class Fit(NamedTuple):
    """How near a reading comes to the paper's sums at its best alpha."""

    alpha: float
    errors: float
    false: float
    distance: float


def tasks(settings: Settings, _: None) -> Tasks:
    """One task per simulation of each network."""
    return repeats(settings.networks, settings.simulations)


def work(settings: Settings, name: str, repeat: int) -> dict[str, Array]:
    """Total errors and false edges of every reading, one row per alpha."""
    # The stream CALIBRATION: an alpha chosen on the simulations it is judged on would look too
    # good.
    data = simulate(name, repeat, settings.seed, exp2_methods.CALIBRATION)
    return {
        name: np.array([evaluate(learner.set_params(alpha=a), *data)[:2] for a in settings.alphas])
        # Fixed alphas of the settings do not matter: each is replaced by those of the grid.
        for name, learner in readings(exp2_methods.Settings()).items()
    }


def read(stored: dict[str, Arrays]) -> dict[str, Array]:
    """Sum the counts of every reading over all simulations of all networks: one row per alpha."""
    results = list(stored.values())
    return {name: np.sum([task[name] for task in results], axis=0) for name in results[0]}


def best_fit(counts: Array, settings: Mapping[str, Any]) -> Fit:
    """Best alpha of a reading; counts are sums over all simulations."""
    means = counts / settings["simulations"]
    # The worse of the two measures: an alpha must not buy few false edges with many missing ones.
    distance = np.abs(means / _paper_sums(settings["networks"]) - 1).max(axis=1)
    best = int(np.argmin(distance))
    errors, false = means[best].tolist()
    return Fit(settings["alphas"][best], errors, false, float(distance[best]))


def _paper_sums(networks: list[str]) -> Array:
    return np.array([paper_sum(measure, "OR-SGBN", networks) for measure in ("errors", "false")])


def report(counts: dict[str, Array], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Best alpha of every reading."""
    fits = {name: best_fit(sums, settings) for name, sums in counts.items()}
    rows = [
        (name, fit.alpha, f"{fit.errors:.1f}", f"{fit.false:.1f}", f"{fit.distance:.1%}")
        for name, fit in fits.items()
    ]
    errors, false = (f"{total:.2f}" for total in _paper_sums(settings["networks"]))
    return {
        "readings": rows,
        "errors": errors,
        "false": false,
        "n_alphas": str(len(settings["alphas"])),
        "last_alpha": str(settings["alphas"][-1]),
        "n_networks": str(len(settings["networks"])),
    }


CALIBRATION = Experiment(
    "calibration",
    tasks,
    work,
    read,
    report,
    described=lambda _: {"experiment": "exp2, calibration"},
    option="--calibrate",
)
