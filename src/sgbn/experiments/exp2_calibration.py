"""The one alpha of Exp-II, which the paper does not give: that which comes nearest to its tables.

For every reading of OR-SGBN (`sgbn.experiments.exp2.readings`) the total errors and false edges are
summed over the networks but Mildew and compared with the paper's sums, in simulations that are not
those of the evaluation. The best alpha is the one whose worse of the two relative differences is
the smallest.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sgbn.experiments.exp2 import CALIBRATION, Settings, evaluate, readings, simulate
from sgbn.experiments.exp2_paper import paper_sum, summed
from sgbn.experiments.markdown import provenance, table
from sgbn.runs import Arrays, Study, read_result
from sgbn.types import Array

FINE, COARSE = np.arange(0.20, 0.61, 0.02), np.arange(0.7, 1.61, 0.1)
ALPHAS: Array = np.round(np.concatenate([FINE, COARSE]), 2)  # raw data may need the coarse part
SIMULATIONS = 30


class Fit(NamedTuple):
    """How near a reading comes to the paper's sums at its best alpha."""

    alpha: float
    errors: float
    false: float
    distance: float


def run(study: Study, settings: Settings, alphas: Array = ALPHAS) -> dict[str, Arrays]:
    """Run what the study does not hold yet: a task is one simulation of one network."""
    networks = summed(settings.networks)
    tasks = {
        f"{network}.{simulation:04d}": {
            "network": network,
            "simulation": simulation,
            "seed": settings.seed,
            "alphas": alphas,
        }
        for simulation in range(settings.simulations)
        for network in networks
    }
    described = {
        "experiment": "exp2, calibration",
        "simulations": settings.simulations,
        "networks": networks,
        "seed": settings.seed,
        "alphas": alphas.tolist(),
    }
    return study.run(_task, tasks, described)


def _task(network: str, simulation: int, seed: int, alphas: Array) -> dict[str, Array]:
    """Total errors and false edges of every reading, a row per alpha."""
    X, graph = simulate(network, simulation, seed, CALIBRATION)
    return {
        name: np.array(
            [evaluate(learner.set_params(alpha=alpha), X, graph)[:2] for alpha in alphas]
        )
        for name, learner in readings(Settings()).items()
    }


def read(folder: Path) -> dict[str, Fit]:
    """Best alpha of every reading in a finished run."""
    settings = json.loads((folder / "study.json").read_text())["settings"]
    tasks = [read_result(path) for path in sorted((folder / "tasks").glob("*.npz"))]
    paper = np.array(_paper_sums(settings["networks"]))
    return {
        name: _best(
            sum(task[name] for task in tasks) / settings["simulations"], settings["alphas"], paper
        )
        for name in tasks[0]
    }


def _paper_sums(networks: list[str]) -> tuple[float, float]:
    return paper_sum("errors", "OR-SGBN", networks), paper_sum("false", "OR-SGBN", networks)


def _best(counts: Array, alphas: list[float], paper: Array) -> Fit:
    distance = np.abs(counts / paper - 1).max(axis=1)
    best = int(np.argmin(distance))
    errors, false = counts[best].tolist()
    return Fit(alphas[best], errors, false, float(distance[best]))


def report(folder: Path) -> str:
    """Table of a finished run, as Markdown."""
    study = json.loads((folder / "study.json").read_text())
    settings = study["settings"]
    alphas, networks = settings["alphas"], settings["networks"]
    errors, false = _paper_sums(networks)
    rows = [
        (name, fit.alpha, f"{fit.errors:.1f}", f"{fit.false:.1f}", f"{fit.distance:.1%}")
        for name, fit in read(folder).items()
    ]
    lines = [
        f"The alpha of {len(alphas)} from {alphas[0]} to {alphas[-1]} that comes nearest to the "
        f"paper's {errors:.2f} total errors and {false:.2f} false edges (sums over "
        f"{len(networks)} networks), in {settings['simulations']} simulations that are not "
        f"evaluated, seed {settings['seed']}:",
        "",
        *table(("reading", "alpha", "errors", "false", "worse of the two differences"), rows),
        "",
        provenance(study),
    ]
    return "\n".join(lines) + "\n"
