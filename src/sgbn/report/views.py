"""What the interactive views of the networks are drawn from, as JSON can write it.

Tables are columns of equal length, so that a page with thousands of edges stays small. Regions,
lobes and kinds of edge are numbers that count from 0 in their lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sgbn.comparison import Comparison
from sgbn.comparison.changes import changes_per_sd
from sgbn.report.cohort_section import has_lobes
from sgbn.report.mesh import Surface, brain_mesh
from sgbn.viz.kind_styles import KIND_STYLES

Columns = dict[str, Any]

DIGITS = 4  # decimals of numbers: a page with thousands of edges stays small
KINDS = (
    {"name": "supported", "arrow": True},
    {"name": "not supported", "arrow": False},
)  # of edges: how they are drawn
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
        groups (the reference first), level, lobes (name, colour and symbol), has_lobes (whether
        any is known), kinds (of edges: an `arrow` has a direction that is supported, the others are
        lines), changes (kinds of change: name, colour, dark, dash, symbol), nodes, networks (one
        per group: source, target, weight, kind, adjacent, this_way), differences (None if not
        tested: source, target, kind, q, q_both, p_fwer, `weights` of each group and its `changes`
        from the reference, per standard deviation, `change` (kind of each) and `adjacent` of each
        group) and mesh (None without the extra "brain" or where no region has a place).
    """
    cohort = comparison.cohort
    edges, tested = comparison.tables.edges, comparison.tables.differences
    # By the names in the data, which are unique; readable ones are only shown.
    code = {name: k for k, name in enumerate(cohort.regions)}
    lobes = list(dict.fromkeys(cohort.lobes))
    nodes = _nodes(comparison, lobes)
    has_places = any(place is not None for place in nodes["x"])
    return {
        "groups": list(comparison.groups),
        "level": comparison.settings.level,
        "lobes": _lobes(lobes),
        "has_lobes": has_lobes(comparison),
        "kinds": list(KINDS),
        "changes": [
            {"name": name, "colour": style.colour, "dark": style.dark, "symbol": style.symbol}
            | {"dash": plotly_dash(style.dash)}
            for name, style in KIND_STYLES.items()
        ],
        "nodes": nodes,
        "networks": [_network(edges[edges["group"] == group], code) for group in comparison.groups],
        "differences": _differences(comparison, tested, code) if len(tested) else None,
        "mesh": _mesh(brain_mesh()) if has_places else None,
    }


def _lobes(names: Sequence[str]) -> list[dict[str, str]]:
    # strict=False: cycles have no end.
    looks = zip(names, cycle(PALETTE), cycle(SYMBOLS), strict=False)
    return [{"name": name, "colour": colour, "symbol": symbol} for name, colour, symbol in looks]


def _nodes(comparison: Comparison, lobes: Sequence[str]) -> Columns:
    cohort = comparison.cohort
    # A place is a record of an atlas; its fields 3 to 5 are x, y and z.
    places = [(None,) * 3 if place is None else place[3:6] for place in cohort.places]
    hemispheres = ["" if place is None else place.hemisphere for place in cohort.places]
    columns: Columns = {
        "name": list(cohort.labels.values()),
        "lobe": [lobes.index(lobe) for lobe in cohort.lobes],
        "hemisphere": hemispheres,
    }
    for k, axis in enumerate("xyz"):
        # In mm, a tenth of which is enough. None becomes NaN as a float, and None again for JSON.
        columns[axis] = numbers([place[k] for place in places], 1)
    return columns


def _network(table: pd.DataFrame, regions: Mapping[str, int]) -> Columns:
    """Edges of a group; without half samples their confidence is None."""
    return _ends(table, regions) | {
        "weight": numbers(table["weight_std"]),
        **{
            # None tells the script that there are no half samples.
            name: numbers(table[name]) if name in table else None
            for name in ("adjacent", "this_way")
        },
    }


def _differences(
    comparison: Comparison,
    table: pd.DataFrame,
    regions: Mapping[str, int],
) -> Columns:
    """Collect the tested edges, with weights and changes per standard deviation of residuals."""
    return _ends(table, regions) | {
        "weights": [numbers(table[f"weight_std_{group}"]) for group in comparison.groups],
        "changes": [numbers(change) for change in changes_per_sd(comparison, table).values()],
        "change": [
            [*map([*KIND_STYLES].index, table[f"kind_{group}"])] for group in comparison.groups[1:]
        ],
        "adjacent": [
            numbers(table[f"adjacent_{group}"]) if f"adjacent_{group}" in table else None
            for group in comparison.groups
        ],
        "q": numbers(table["q"]),
        "q_both": numbers(table["q_both"]),
        "p_fwer": numbers(table["p_fwer"]),
    }


def plotly_dash(dash: Sequence[float]) -> str:
    """Name that Plotly has for a pattern of dashes and gaps."""
    # Plotly has six patterns by name. Dashes and gaps are in widths of the line, as in matplotlib.
    if len(dash) < 2:
        return "solid"
    if len(dash) > 2:
        return "dashdot"
    return "dot" if dash[0] < 2 else "dash" if dash[0] < 5 else "longdash"


def _ends(table: pd.DataFrame, regions: Mapping[str, int]) -> Columns:
    return {
        "source": [regions[name] for name in table["source"]],
        "target": [regions[name] for name in table["target"]],
        "kind": [0 if supported else 1 for supported in table["supported"]],  # places in KINDS
    }


def _mesh(surfaces: Mapping[str, Surface] | None) -> list[Columns] | None:
    if surfaces is None:
        return None
    return [
        dict(zip("xyz", (numbers(axis, 1) for axis in surface.vertices.T), strict=True))
        | dict(zip("ijk", surface.faces.T.tolist(), strict=True))
        for surface in surfaces.values()
    ]


def numbers(values: ArrayLike | Sequence[Any], digits: int = DIGITS) -> list[float | None]:
    """Round numbers, and put None where there is none: JSON knows no NaN."""
    floats = np.round(np.asarray(values, dtype=np.float64), digits) + 0.0  # + 0.0: no minus zero
    return [float(value) if np.isfinite(value) else None for value in floats]
