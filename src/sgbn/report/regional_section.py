"""Differences of the means of single regions, as the page shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sgbn.comparison import Comparison
from sgbn.exceptions import counted
from sgbn.inference.regional import FAMILIES
from sgbn.report.cells import Field, Table, make_table
from sgbn.report.names import with_labels
from sgbn.report.surface_maps import MEANS, names_of_maps, no_surface

G = (
    "Hedges' g: mean of the group less that of the reference, per standard deviation within these "
    "groups, corrected for small samples, with covariates and sites held fixed. 0.2 is called "
    "small, 0.5 medium, 0.8 large"
)
G_PAIRED = (
    "Hedges' g: mean change within persons from the reference, per standard deviation of one "
    "visit, corrected for small samples. 0.2 is called small, 0.5 medium, 0.8 large"
)
INTERVAL = "Ends of an interval of g, of this region by itself"
P = "Of this region alone: Welch's t, or its like with covariates and sites"
P_PAIRED = "Of this region alone: paired t of the changes within persons"
HOLM = "Corrected family-wise over all rows of this table by Holm's method"
Q = "Share of false findings to expect among this row and all that are surer"


def regional_section(comparison: Comparison) -> dict[str, Any] | None:
    """Give a sentence, maps and a table; a reason where nothing was tested; None of time series."""
    if comparison.of_series:
        return None
    table = comparison.tables.regional
    if not len(table):
        return {
            "words": FAMILIES[:1].upper() + FAMILIES[1:],
            "table": None,
            "maps": [],
            "no_surface": "",
        }
    level = comparison.settings.level
    found, sure = ((table[name] <= level).sum() for name in ("q", "p_holm"))
    of = counted(len(table), "region" if len(comparison.groups) == 2 else "comparison")
    words = (
        f"{found} of {of} {'differs' if found == 1 else 'differ'} in the mean from "
        f"{comparison.reference} at a false discovery rate of {level:g}, {sure} after Holm's "
        "correction."
    )
    return {
        "words": words,
        "table": regional_table(comparison),
        "maps": names_of_maps(comparison, MEANS),
        "no_surface": no_surface(comparison),
    }


def regional_table(comparison: Comparison) -> Table:
    """One row per region and group beside the reference, the surest first."""
    level = comparison.settings.level
    hint_g, hint_p = (G, P) if comparison.cohort.pair is None else (G_PAIRED, P_PAIRED)
    fields = [
        *([Field("group", "group")] if len(comparison.groups) > 2 else []),
        Field("region", "region"),
        Field("hedges_g", "g", "number", hint_g),
        Field("low", "g, low", "number", INTERVAL),
        Field("high", "g, high", "number", INTERVAL),
        Field("q", "q", "p", Q),
        Field("p_holm", "p, Holm", "p", HOLM),
        Field("p", "p", "p", hint_p),
        Field("difference", "difference", "number", "In the units of the data"),
    ]

    def mark(row: Mapping[str, Any]) -> str:
        return "found" if row["q"] <= level else ""

    caption = f"Means of regions against {comparison.reference}, the surest first"
    table = with_labels(comparison, comparison.tables.regional)
    return make_table("regional-table", caption, table, fields, mark=mark)
