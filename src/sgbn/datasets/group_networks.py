"""Draw a network for the first group, and networks of further groups that differ from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sgbn.atlases import Region
from sgbn.core.exceptions import warn
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.graph import topological_order
from sgbn.core.types import Array, Indices, Mask
from sgbn.datasets.regions import twin_key, volume_of

Edge = tuple[str, str]

EXPLAINED = 0.75  # largest share of a region's variance that its parents explain
SPREAD = 0.12  # standard deviation of a volume, as a share of its mean
GREY_SHARE = 0.5  # grey matter as a share of a region's volume
# Number of regions. In larger lobes edges are rarer, so that a region does not get more edges.
LARGE_LOBE = 8
LARGE_BRAIN = 40  # regions; with more, edges between lobes are rarer for the same reason
WEIGHT_EPS = 1e-9  # a smaller difference of standardised weights is round-off
MEDIAL_TEMPORAL = ("hippocamp", "parahip", "amygdala", "entorhinal")  # parts of names in any atlas


class Difference(NamedTuple):
    """How the later groups differ from the first.

    Attributes
    ----------
    edges, means : bool
        Whether edges differ, and whether means differ.
    n_changed : int
        Number of edges that differ.
    mean_shift : float
        How much smaller the affected regions are, in standard deviations.
    """

    edges: bool
    means: bool
    n_changed: int
    mean_shift: float


def group_networks(
    regions: Sequence[Region],
    groups: Sequence[str],
    difference: Difference,
    rng: np.random.Generator,
) -> tuple[dict[str, GaussianNetwork], dict[str, tuple[Edge, ...]]]:
    """Return the network of each group, and the edges in which each later group differs.

    A further group does not change the networks of the first two.
    """
    names = tuple(region.name for region in regions)
    # All numbers are always drawn, in this order, so that options do not change other draws.
    weights = _weights(_graph(regions, rng), rng)
    mean = GREY_SHARE * np.array([volume_of(region) for region in regions])
    networks = {groups[0]: _in_volumes(weights, mean, SPREAD * mean, names)}
    changed: dict[str, tuple[Edge, ...]] = {}
    streams = [rng, *rng.spawn(len(groups) - 2)]
    for k, (group, stream) in enumerate(zip(groups[1:], streams, strict=True)):
        affected = _affected(regions, k)
        other = _changed_weights(weights, affected, difference.n_changed, stream)
        other = other if difference.edges else weights
        shrunk = mean * (1 - difference.mean_shift * SPREAD * affected)
        own_mean = shrunk if difference.means else mean
        # The spread is in proportion to the mean, unless only the means may differ.
        own_sd = SPREAD * (own_mean if difference.edges else mean)
        networks[group] = _in_volumes(other, own_mean, own_sd, names)
        changed[group] = tuple((names[i], names[j]) for i, j in _differing(weights, other))
        if difference.edges and difference.n_changed and not changed[group]:
            warn(
                f"no edge of group {group!r} could be changed, because the network has too few "
                "edges. Use more regions."
            )
    return networks, changed


def standardised(network: GaussianNetwork) -> Array:
    """Return the weights of a network after scaling all regions to variance one."""
    sd = np.sqrt(np.diag(network.covariance))
    weights: Array = network.coef * sd[:, None] / sd
    return weights


def _graph(regions: Sequence[Region], rng: np.random.Generator) -> Mask:
    """Draw edges along a random order, most likely between twins and within a lobe."""
    twin = np.array([twin_key(region) for region in regions])
    lobe = np.array([region.lobe for region in regions])
    twins = twin[:, None] == twin
    same_lobe = lobe[:, None] == lobe
    # Lower probabilities in large lobes and brains keep the number of edges per region similar.
    within = 0.3 * np.minimum(1.0, LARGE_LOBE / same_lobe.sum(axis=0))
    between = 0.03 * min(1.0, LARGE_BRAIN / len(regions))
    probability = np.where(twins, 0.9, np.where(same_lobe, within, between))
    position = rng.permutation(len(regions))
    forward = position[:, None] < position
    return (rng.random(forward.shape) < probability) & forward


def _weights(graph: Mask, rng: np.random.Generator) -> Array:
    """Draw standardised weights. Most are positive, as volumes mostly covary positively."""
    size = rng.uniform(0.35, 0.8, graph.shape)
    sign = np.where(rng.random(graph.shape) < 0.85, 1.0, -1.0)
    weights: Array = graph * size * sign
    return limited(weights)[0]


def limited(weights: Array, most: float = EXPLAINED) -> tuple[Array, Array]:
    """Return weights that explain at most the share `most` of each variance, and the shares.

    All regions have variance one. If the weights into a region would explain more, they are scaled
    down.
    """
    weights = weights.copy()
    covariance = np.eye(len(weights))
    explained = np.zeros(len(weights))
    done: list[int] = []
    # In topological order, the covariances of the parents of j are known before j comes.
    for j in topological_order(weights):
        among = covariance[np.ix_(done, done)]
        across = among @ weights[done, j]
        explained[j] = weights[done, j] @ across
        if explained[j] > most:
            weights[:, j] *= np.sqrt(most / explained[j])
            across = among @ weights[done, j]
            explained[j] = weights[done, j] @ across
        covariance[done, j] = covariance[j, done] = across
        done.append(j)
    return weights, explained


def _affected(regions: Sequence[Region], k: int) -> Mask:
    """Return the regions where the k-th later group differs.

    They are the medial temporal regions for the first later group, then one lobe after another.
    """
    # Not every atlas has this lobe, so the regions are found by parts of their names.
    medial = np.array([any(p in r.name.lower() for p in MEDIAL_TEMPORAL) for r in regions])
    lobe = np.array([region.lobe for region in regions])
    lobes = [(lobe == name) & ~medial for name in dict.fromkeys(lobe.tolist())]
    places = [place for place in [medial, *lobes] if place.any()]
    return places[k % len(places)]


def _changed_weights(
    weights: Array, affected: Mask, n_changed: int, rng: np.random.Generator
) -> Array:
    """Return weights with some edges at affected regions lost or halved, and others stronger."""
    changed = weights.copy()
    at_affected = affected[:, None] | affected
    lost = _choose(np.argwhere((weights != 0) & at_affected), n_changed // 2, rng)
    stronger = _choose(np.argwhere((weights != 0) & ~at_affected), n_changed - len(lost), rng)
    for k, (i, j) in enumerate(lost):
        changed[i, j] *= 0.5 * (k % 2)  # alternately lost and halved
    for i, j in stronger:
        changed[i, j] *= 1.6
    # Limited again, because stronger weights may explain more of a region than EXPLAINED.
    return limited(changed)[0]


def _differing(first: Array, other: Array) -> Indices:
    """Return the edges whose weights differ, the largest difference first."""
    size = np.abs(other - first)
    edges = np.argwhere(size > WEIGHT_EPS)
    return edges[np.argsort(-size[edges[:, 0], edges[:, 1]], kind="stable")]


def _choose(edges: Indices, count: int, rng: np.random.Generator) -> Indices:
    return edges[rng.permutation(len(edges))[:count]]


def _in_volumes(weights: Array, mean: Array, sd: Array, names: tuple[str, ...]) -> GaussianNetwork:
    """Return the network in mm^3 that has these standardised weights."""
    # A standardised weight i -> j is in standard deviations of j per standard deviation of i.
    coef = weights * sd / sd[:, None]
    _, explained = limited(weights, most=np.inf)
    # The noise is the share of the variance that parents do not explain.
    noise = (1.0 - explained) * sd**2
    return GaussianNetwork(coef, mean - mean @ coef, noise, names)
