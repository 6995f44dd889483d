"""What Exp-IV counts in a network: edges in all, by lobe, and at the hippocampi."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.types import Array, Mask

CUT = 0.01  # the paper draws no weight below it
LOBES = ("frontal", "parietal", "occipital", "temporal")  # the paper's four boxes
ALL = "edges"
CORNER = "temporal to frontal"  # the corner of the paper's figure
BETWEEN = "frontal and temporal, both ways"
HIPPOCAMPI = (
    *("hippocampi, edges in", "hippocampi, edges out"),
    *("hippocampi, strength in", "hippocampi, strength out"),
)
COUNTS = (ALL, *(f"within {lobe}" for lobe in LOBES), CORNER, BETWEEN, *HIPPOCAMPI)


class Layout(NamedTuple):
    """Lobe of every region, and which regions are hippocampi."""

    lobes: Sequence[str]
    hippocampi: Sequence[int]


def hippocampi(regions: Sequence[str]) -> list[int]:
    """Places of the hippocampi, not of what lies beside them."""
    names = [region.lower() for region in regions]
    return [k for k, name in enumerate(names) if "hippocamp" in name and "parahip" not in name]


def present(weights: Array) -> Mask:
    """Edges: weights that reach the cut."""
    edges: Mask = np.abs(weights) >= CUT
    return edges


def counts(weights: Array, layout: Layout) -> Array:
    """Return COUNTS of a network; NaN where it has no such region."""
    edges = present(weights)
    size = np.where(edges, np.abs(weights), 0.0)
    lobes = np.asarray(layout.lobes)
    frontal, temporal = lobes == "frontal", lobes == "temporal"
    hippo = np.isin(np.arange(len(lobes)), layout.hippocampi)
    everything = np.ones(len(lobes), bool)
    corner = _total(edges, temporal, frontal)
    return np.array(
        [
            float(edges.sum()),
            *(_total(edges, lobes == lobe, lobes == lobe) for lobe in LOBES),
            corner,
            corner + _total(edges, frontal, temporal),
            *(
                _total(values, *ends)
                for values in (edges, size)
                for ends in ((everything, hippo), (hippo, everything))
            ),
        ]
    )


def _total(values: NDArray[np.generic], tails: Mask, heads: Mask) -> float:
    """Sum from some regions to others; NaN without any."""
    if not tails.any() or not heads.any():
        return float("nan")
    return float(values[np.ix_(tails, heads)].sum())


def nested(sparse: Array, dense: Array) -> Array:
    """How far one network's edges are among another's.

    Jaccard index, share of the first's edges that the second has, and share of the pairs that the
    first joins, in whatever direction.
    """
    first, second = present(sparse), present(dense)
    both = first & second
    joined, again = (edges | edges.T for edges in (first, second))
    totals = (first | second, first, joined)
    kept = (both, both, joined & again)
    return np.array([k.sum() / max(t.sum(), 1) for k, t in zip(kept, totals, strict=True)])
