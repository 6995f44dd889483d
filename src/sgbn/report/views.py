"""The data of the interactive views of the networks, in a form that JSON can write.

A table is a mapping of names to columns of equal length, so that a page with thousands of edges
stays small. A region, a lobe or a kind of edge is written as its place in its list, from 0.
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
from sgbn.write.draw.style import KIND_STYLES
from sgbn.write.page import Surface, brain_mesh

Columns = dict[str, Any]

DIGITS = 4  # decimals of numbers; more would make the page larger
KINDS = (
    {"name": "supported", "arrow": True},
    {"name": "not supported", "arrow": False},
)  # kinds of edges by their direction, and how they are drawn
# Tol's muted colours and two more, which colour-blind readers can distinguish. Red and blue are not
# among them: they show the signs of weights.
PALETTE = (
    "#44AA99", "#DDCC77", "#AA4499", "#117733", "#88CCEE",
    "#999933", "#882255", "#E69F00", "#BBBBBB", "#777777",
)  # fmt: skip
SYMBOLS = ("circle", "square", "diamond")  # with 10 colours, 30 lobes look different


def payload(comparison: Comparison) -> dict[str, Any]:
    """Collect the data that the views show.

    Returns
    -------
    dict
        - groups: names, the reference first.
        - level: largest q at which an edge differs.
        - lobes: name, colour and symbol of each lobe.
        - has_lobes: whether at least one lobe is known.
        - kinds: see `KINDS`.
        - changes: name, colour, dark, dash and symbol of each kind of change.
        - nodes: name, lobe, hemisphere, x, y and z of the regions.
        - networks: one per group, with source, target, kind, weight, adjacent and this_way.
        - differences: source, target, kind, q, q_both and p_fwer of the tested edges; `weights` and
          `adjacent` of each group; `changes` (per standard deviation) and `change` (the kind) of
          each group except the reference. None if nothing was tested.
        - mesh: surface of each hemisphere. None without the extra "brain", or if no region has
          coordinates.
    """
    cohort = comparison.cohort
    edges, tested = comparison.tables.edges, comparison.tables.differences
    # Names in the data are unique. Readable names may not be, so they are only shown.
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
    # strict=False, because a cycle has no end.
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
        # A tenth of a mm is enough. None becomes NaN in an array of floats, and None in JSON.
        columns[axis] = numbers([place[k] for place in places], 1)
    return columns


def _network(table: pd.DataFrame, regions: Mapping[str, int]) -> Columns:
    """Collect the edges of a group; without half samples their confidence is None."""
    return _ends(table, regions) | {
        "weight": numbers(table["weight_std"]),
        **{
            # The script hides the confidence if it is None.
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
    """Return Plotly's name for a pattern of dashes and gaps, in widths of the line."""
    # Scatter plots in 3-D accept only these names, not lengths of dashes.
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
    """Round numbers, and replace NaN and infinity by None, because JSON has neither."""
    floats = np.round(np.asarray(values, dtype=np.float64), digits) + 0.0  # + 0.0: no minus zero
    return [float(value) if np.isfinite(value) else None for value in floats]
