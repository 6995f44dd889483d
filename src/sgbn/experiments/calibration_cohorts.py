"""Pairs of groups from known networks, on which inference is calibrated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sgbn.atlases import Atlas, Region
from sgbn.cohort import Cohort
from sgbn.datasets import random_weights, simulate_cohort
from sgbn.experiments.calibration_peers import Pair
from sgbn.gaussian import GaussianNetwork
from sgbn.runs import Arrays, read_result

Graph = NDArray[np.bool_]

EDGES_A_REGION = 1.5
LOBES = 4


@dataclass(frozen=True)
class Setting:
    """What cohorts are drawn from.

    Attributes
    ----------
    sizes : pair of int
        Subjects of the groups.
    changed : int
        Edges that the second group lacks or has with the opposite sign, in turn.
    noise : float
        Factor of the noise's standard deviation in half the regions of the second group.
    nuisance : bool
        Three sites and three covariates that are confounded with the groups (`simulate_cohort`).
    """

    sizes: tuple[int, int]
    changed: int = 0
    noise: float = 1.0
    nuisance: bool = False
    regions: int = 40
    seed: int = 0


def draw(setting: Setting, cohort: int) -> Pair:
    """Draw one cohort of a setting; settings of one seed share their networks."""
    if setting.nuisance:
        return _with_nuisance(setting, cohort)
    rng = np.random.default_rng([setting.seed, cohort])
    m = setting.regions
    graph = _random_graph(m, rng)
    first = random_weights(graph, rng)
    second = first.copy()
    edges = rng.permutation(np.argwhere(graph))[: setting.changed]
    for k, (i, j) in enumerate(edges):
        second[i, j] = 0.0 if k % 2 == 0 else -first[i, j]
    variances = np.ones(m)
    variances[rng.permutation(m)[: m // 2]] = setting.noise**2
    networks = (GaussianNetwork(first), GaussianNetwork(second, noise_variance=variances))
    rows = [network.sample(n, rng) for network, n in zip(networks, setting.sizes, strict=True)]
    codes = np.repeat([0, 1], setting.sizes)
    return Pair(np.vstack(rows), codes, networks, first != second, {"groups": codes}, cohort)


def _random_graph(m: int, rng: np.random.Generator) -> Graph:
    """DAG with a fixed number of edges along a random order."""
    i, j = np.triu_indices(m, 1)
    chosen = rng.permutation(len(i))[: int(EDGES_A_REGION * m)]
    position = rng.permutation(m)
    graph = np.zeros((m, m), bool)
    graph[position[i[chosen]], position[j[chosen]]] = True
    return graph


def _with_nuisance(setting: Setting, cohort: int) -> Pair:
    drawn = simulate_cohort(
        setting.sizes,
        np.random.default_rng([setting.seed, cohort]),
        regions=setting.regions,
        differ="nothing",
        n_sites=3,
        covariates=True,
        confounding=0.5,
    )
    first, second = drawn.networks.values()
    options = {
        "groups": drawn.group,
        "covariates": dict(drawn.covariates),
        "sites": drawn.site,
    }
    codes = np.repeat([0, 1], setting.sizes)
    return Pair(drawn.values, codes, (first, second), first.coef != second.coef, options, cohort)


def in_lobes(values: NDArray[np.float64]) -> Cohort:
    """Rows as a cohort whose regions lie in lobes, in turn; edges know nothing of these."""
    n, m = values.shape
    names = tuple(f"x{k}" for k in range(m))
    places = [Region(name, "", f"lobe {k % LOBES}", *[0.0] * 4) for k, name in enumerate(names)]
    atlas = Atlas("turns", "Lobes in turn", tuple(places))
    return Cohort(values, names, tuple(f"subject {k}" for k in range(n)), atlas=atlas)


def read_fields(folder: Path, fields: Iterable[str]) -> Arrays:
    """Fields of the results of a study, with an axis for the cohorts before those of a result."""
    stored = [read_result(path) for path in sorted((folder / "tasks").glob("*.npz"))]
    return {field: np.array([task[field] for task in stored]) for field in fields}
