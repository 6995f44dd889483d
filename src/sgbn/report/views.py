"""What the interactive views of the networks are drawn from, as JSON can write it.

Tables are columns of equal length, so that a page with thousands of edges stays small. Regions,
lobes and kinds of arrow are numbers that count from 0 in their lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from sgbn.comparison import Comparison, tables
from sgbn.report.mesh import Surface, brain_mesh

Array = NDArray[np.float64]
Columns = dict[str, Any]

DIGITS = 4
KINDS = ("compelled", "prior knowledge", "equal variances", "reversible", "order only")
DIRECTED = KINDS[:3]  # something decides their direction: drawn as solid lines
# Tol's muted colours and two more: neither the red nor the blue of signs, for colour-blind readers
PALETTE = (
    "#44AA99", "#DDCC77", "#AA4499", "#117733", "#88CCEE",
    "#999933", "#882255", "#E69F00", "#BBBBBB", "#777777",
)  # fmt: skip
SYMBOLS = ("circle", "square", "diamond")  # 3 do not divide 10: thirty looks


def payload(comparison: Comparison) -> dict[str, Any]:
    """Collect what the views show.

    Returns
    -------
    dict
        groups (the reference first), level, lobes (name, colour and symbol), kinds (of arrows that
        occur; `solid` marks those that something decides), nodes, networks (one a group: source,
        target, weight, kind, adjacent, this_way), differences (None if not tested: source, target,
        kind, q, p_fwer, `weights` of each group and its `changes` from the reference, per standard
        deviation, and `adjacent` of each group) and mesh (None without the extra "brain" or where
        no region has a place).
    """
    cohort = comparison.cohort
    edges, tested = tables.edges(comparison), tables.differences(comparison)
    present = {*edges["direction"], *(tested["direction"] if len(tested) else ())}
    kinds = sorted(present, key=lambda kind: (KINDS.index(kind) if kind in KINDS else 99, kind))
    code = {name: k for k, name in enumerate(cohort.regions)}, {k: n for n, k in enumerate(kinds)}
    lobes = list(dict.fromkeys(cohort.lobes))
    nodes = _nodes(comparison, lobes)
    has_places = any(place is not None for place in nodes["x"])
    return {
        "groups": list(comparison.groups),
        "level": comparison.settings.level,
        "lobes": _lobes(lobes),
        "kinds": [{"name": kind, "solid": kind in DIRECTED} for kind in kinds],
        "nodes": nodes,
        "networks": [
            _network(edges[edges["group"] == group], *code) for group in comparison.groups
        ],
        "differences": _differences(comparison, tested, *code) if len(tested) else None,
        "mesh": _mesh(brain_mesh()) if has_places else None,
    }


def _lobes(names: Sequence[str]) -> list[dict[str, str]]:
    looks = zip(names, cycle(PALETTE), cycle(SYMBOLS), strict=False)
    return [{"name": name, "colour": colour, "symbol": symbol} for name, colour, symbol in looks]


def _nodes(comparison: Comparison, lobes: Sequence[str]) -> Columns:
    cohort = comparison.cohort
    places = [(None,) * 3 if place is None else place[3:6] for place in cohort.places]
    hemispheres = ["" if place is None else place.hemisphere for place in cohort.places]
    columns: Columns = {
        "name": list(cohort.regions),
        "lobe": [lobes.index(lobe) for lobe in cohort.lobes],
        "hemisphere": hemispheres,
    }
    for k, axis in enumerate("xyz"):
        columns[axis] = numbers([place[k] for place in places], 1)
    return columns


def _network(table: pd.DataFrame, regions: Mapping[str, int], kinds: Mapping[str, int]) -> Columns:
    """Edges of a group; without half samples their confidence is None."""
    return _ends(table, regions, kinds) | {
        "weight": numbers(table["weight_std"]),
        **{
            name: numbers(table[name]) if name in table else None
            for name in ("adjacent", "this_way")
        },
    }


def _differences(
    comparison: Comparison,
    table: pd.DataFrame,
    regions: Mapping[str, int],
    kinds: Mapping[str, int],
) -> Columns:
    """Collect the tested edges, with weights and changes per standard deviation of residuals."""
    scale = _scale(comparison, table)
    weights = [table[f"weight_{group}"].to_numpy(float) * scale for group in comparison.groups]
    return _ends(table, regions, kinds) | {
        "weights": [numbers(own) for own in weights],
        "changes": [numbers(own - weights[0]) for own in weights[1:]],
        "adjacent": [
            numbers(table[f"adjacent_{group}"]) if f"adjacent_{group}" in table else None
            for group in comparison.groups
        ],
        "q": numbers(table["q"]),
        "p_fwer": numbers(table["p_fwer"]),
    }


def _scale(comparison: Comparison, table: pd.DataFrame) -> Array:
    """Find what turns a weight in the units of the data into one per standard deviation.

    It is in the table wherever the last group differs from the first. Elsewhere it comes from the
    spread within the groups, which is nearly the same.
    """
    own = comparison.regions.groupby(np.asarray(comparison.cohort.group)).transform("mean")
    sd = (comparison.regions - own).std()
    spread = sd[table["source"]].to_numpy() / sd[table["target"]].to_numpy()
    change, std = (table[name].to_numpy(float) for name in ("difference", "difference_std"))
    known = np.isfinite(change) & (change != 0)
    scale: Array = np.where(known, std / np.where(known, change, 1.0), spread)
    return scale


def _ends(table: pd.DataFrame, regions: Mapping[str, int], kinds: Mapping[str, int]) -> Columns:
    return {
        "source": [regions[name] for name in table["source"]],
        "target": [regions[name] for name in table["target"]],
        "kind": [kinds[name] for name in table["direction"]],
    }


def _mesh(surfaces: Mapping[str, Surface] | None) -> list[Columns] | None:
    if surfaces is None:
        return None
    return [
        dict(zip("xyz", (numbers(one, 1) for one in surface.vertices.T), strict=True))
        | dict(zip("ijk", surface.faces.T.tolist(), strict=True))
        for surface in surfaces.values()
    ]


def numbers(values: ArrayLike | Sequence[Any], digits: int = DIGITS) -> list[float | None]:
    """Round numbers, and put None where there is none: JSON knows no NaN."""
    floats = np.round(np.asarray(values, dtype=np.float64), digits) + 0.0  # + 0.0: no minus zero
    return [float(value) if np.isfinite(value) else None for value in floats]
