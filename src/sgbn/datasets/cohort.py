"""A two-group cohort of named brain regions whose networks are known."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from sgbn.exceptions import InputError
from sgbn.gaussian import GaussianNetwork
from sgbn.graph.acyclicity import topological_order

Array = NDArray[np.float64]

EXPLAINED = 0.75  # largest share of a region's variance that its parents explain
SPREAD = 0.12  # standard deviation of a volume, as a share of its mean
GREY_SHARE = 0.5  # of a region's volume
ATROPHY = 0.5  # loss of volume in the patients' medial temporal lobe, in standard deviations
N_CHANGED = 12  # edges that differ between the groups


@dataclass(frozen=True)
class SimulatedCohort:
    """Subjects of two groups and the networks that they were drawn from.

    Attributes
    ----------
    values : ndarray of shape (n, m)
        Grey-matter volumes in mm^3, one row a subject.
    group : ndarray of str
        ``"control"`` or ``"patient"``.
    regions, lobes : tuple of str
        Name and lobe of each column.
    networks : dict
        Group -> the true `GaussianNetwork`.
    """

    values: Array
    group: NDArray[np.str_]
    regions: tuple[str, ...]
    lobes: tuple[str, ...]
    networks: dict[str, GaussianNetwork]

    def of_group(self, group: str) -> Array:
        """Rows of one group."""
        if group not in self.networks:
            raise InputError(f"no group is called {group!r}: there are {list(self.networks)}.")
        return self.values[self.group == group]


def load_regions() -> list[dict[str, str]]:
    """Twenty regions of each hemisphere: name, lobe, MNI coordinates and volume (AAL atlas)."""
    text = (files("sgbn.datasets") / "regions40.csv").read_text()
    return list(csv.DictReader(text.splitlines()))


def simulate_cohort(
    n_per_group: int = 200, random_state: int | np.random.Generator | None = 0
) -> SimulatedCohort:
    """Simulate controls and patients, 40 regions each, whose networks differ in a few edges.

    Regions are joined mostly to their other-hemisphere twin and within their lobe. In patients,
    edges at the medial temporal lobe are lost or weakened, some elsewhere are stronger, and the
    medial temporal lobe has shrunk.

    Parameters
    ----------
    n_per_group : int
    random_state : int, Generator or None
    """
    rng = np.random.default_rng(random_state)
    regions = load_regions()
    lobes = tuple(region["lobe"] for region in regions)
    weights = _weights(_graph(regions, rng), rng)
    mean = GREY_SHARE * np.array([float(region["volume_mm3"]) for region in regions])
    names = tuple(region["region"] for region in regions)
    affected = np.array([lobe == "medial temporal" for lobe in lobes])
    changed = _changed_weights(weights, affected, rng)
    shrunk = mean * (1 - ATROPHY * SPREAD * affected)
    networks = {
        "control": _in_volumes(weights, mean, names),
        "patient": _in_volumes(changed, shrunk, names),
    }
    values = np.vstack([net.sample(n_per_group, rng) for net in networks.values()])
    group = np.repeat(list(networks), n_per_group)
    return SimulatedCohort(values, group, names, lobes, networks)


def _graph(regions: list[dict[str, str]], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Edges along a random order; twins and neighbours of a lobe are the likeliest."""
    stem = np.array([region["region"][:-2] for region in regions])
    lobe = np.array([region["lobe"] for region in regions])
    twins = stem[:, None] == stem
    same_lobe = lobe[:, None] == lobe
    probability = np.where(twins, 0.9, np.where(same_lobe, 0.3, 0.03))
    position = rng.permutation(len(regions))
    forward = position[:, None] < position
    return (rng.random(forward.shape) < probability) & forward


def _weights(graph: NDArray[np.bool_], rng: np.random.Generator) -> Array:
    """Standardised weights, mostly positive, as in the covariation of volumes."""
    size = rng.uniform(0.35, 0.8, graph.shape)
    sign = np.where(rng.random(graph.shape) < 0.85, 1.0, -1.0)
    weights: Array = graph * size * sign
    return _limit_explained(weights)


def _limit_explained(weights: Array) -> Array:
    """Scale the weights into a region down where they would explain more than EXPLAINED of it."""
    weights = weights.copy()
    for j in topological_order(weights):
        explained = _explained(weights)[j]
        if explained > EXPLAINED:
            weights[:, j] *= np.sqrt(EXPLAINED / explained)
    return weights


def _explained(weights: Array) -> Array:
    """Variance of each region that its parents explain, all regions having variance one."""
    covariance = np.eye(len(weights))
    explained = np.zeros(len(weights))
    done: list[int] = []
    for j in topological_order(weights):
        across = covariance[np.ix_(done, done)] @ weights[done, j]
        explained[j] = weights[done, j] @ across
        covariance[done, j] = covariance[j, done] = across
        done.append(j)
    return explained


def _changed_weights(
    weights: Array, affected: NDArray[np.bool_], rng: np.random.Generator
) -> Array:
    """Lose or halve edges at the affected regions, strengthen some others."""
    changed = weights.copy()
    at_affected = affected[:, None] | affected
    lost = _choose(np.argwhere((weights != 0) & at_affected), N_CHANGED // 2, rng)
    stronger = _choose(np.argwhere((weights != 0) & ~at_affected), N_CHANGED - len(lost), rng)
    for k, (i, j) in enumerate(lost):
        changed[i, j] *= 0.5 * (k % 2)
    for i, j in stronger:
        changed[i, j] *= 1.6
    return _limit_explained(changed)


def _choose(edges: NDArray[np.intp], count: int, rng: np.random.Generator) -> NDArray[np.intp]:
    return edges[rng.permutation(len(edges))[:count]]


def _in_volumes(weights: Array, mean: Array, names: tuple[str, ...]) -> GaussianNetwork:
    """Network in mm^3 from standardised weights: every region has variance (SPREAD mean)^2."""
    sd = SPREAD * mean
    coef = weights * sd / sd[:, None]
    noise = (1.0 - _explained(weights)) * sd**2
    return GaussianNetwork(coef, mean - mean @ coef, noise, names)
