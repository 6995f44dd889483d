"""The section of the page on differences of the means of regions."""

from __future__ import annotations

from typing import Any

from sgbn.comparison.figures import MEANS, names_of_maps, no_surface
from sgbn.comparison.names import with_labels
from sgbn.comparison.result import Comparison
from sgbn.core.problems import counted
from sgbn.inference.regional import FAMILIES
from sgbn.write.page import HINTS, Field, Table, make_table, significant

KEY = "regional-table"


def regional_section(comparison: Comparison) -> dict[str, Any] | None:
    """Collect a sentence, maps and a table; return None for time series.

    If the means were not tested, the sentence says why.
    """
    if comparison.of_series:
        return None
    table = comparison.tables.regional
    # Means are not tested if the cohort has families. There is no other reason.
    if not len(table):
        return {
            "words": f"{FAMILIES[:1].upper()}{FAMILIES[1:]}.",
            "table": None,
            "maps": [],
            "no_surface": "",
        }
    level = comparison.settings.level
    # q bounds the share of false findings. Holm's p bounds the chance of a single false finding.
    n_found, n_sure = ((table[name] <= level).sum() for name in ("q", "p_holm"))
    # With more groups, a region has one row per group other than the reference.
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
    """Make a table with one row per region and compared group, the surest first."""
    mark = significant(comparison.settings.level, "q")
    paired = "" if comparison.cohort.pair is None else "_paired"
    fields = [
        # With two groups, this column would be the same in all rows.
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
