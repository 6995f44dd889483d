"""Differences of the means of single regions, as the page shows them."""

from __future__ import annotations

from typing import Any

from sgbn.comparison import Comparison
from sgbn.exceptions import counted
from sgbn.inference.regional import FAMILIES
from sgbn.report.cells import Field, Table, make_table, significant
from sgbn.report.hints import HINTS
from sgbn.report.names import with_labels
from sgbn.report.surface_maps import MEANS, names_of_maps, no_surface

KEY = "regional-table"


def regional_section(comparison: Comparison) -> dict[str, Any] | None:
    """Give a sentence, maps and a table, or the reason why not; None for time series."""
    if comparison.of_series:
        return None
    table = comparison.tables.regional
    # Only families keep these tests from being done.
    if not len(table):
        return {
            "words": FAMILIES[:1].upper() + FAMILIES[1:],
            "table": None,
            "maps": [],
            "no_surface": "",
        }
    level = comparison.settings.level
    # Both corrections: q bounds the share of false findings, Holm the chance of a single one.
    n_found, n_sure = ((table[name] <= level).sum() for name in ("q", "p_holm"))
    # With more groups a region has one row for each group beside the reference.
    of = counted(len(table), "region" if len(comparison.groups) == 2 else "comparison")
    words = (
        f"{n_found} of {of} {'differs' if n_found == 1 else 'differ'} in the mean from "
        f"{comparison.reference} at a false discovery rate of {level:g}, {n_sure} after Holm's "
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
    mark = significant(comparison.settings.level, "q")
    paired = "" if comparison.cohort.pair is None else "_paired"
    fields = [
        # With two groups it would be the same in all rows.
        *([Field("group", "group")] if len(comparison.groups) > 2 else []),
        Field("region", "region"),
        Field("hedges_g", "g", "number", HINTS[KEY][f"hedges_g{paired}"]),
        Field("low", "g, low", "number"),
        Field("high", "g, high", "number"),
        Field("q", "q", "p"),
        Field("p_holm", "p, Holm", "p"),
        Field("p", "p", "p", HINTS[KEY][f"p{paired}"]),
        Field("difference", "difference", "number"),
    ]
    caption = f"Means of regions against {comparison.reference}, the surest first"
    table = with_labels(comparison, comparison.tables.regional)
    return make_table(KEY, caption, table, fields, mark=mark)
