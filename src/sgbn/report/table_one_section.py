"""Table 1 of a paper, as the page shows it."""

from __future__ import annotations

import numpy as np

from sgbn.comparison import Comparison
from sgbn.report.cells import DASH, Field, Table, make_table, p_value

CELL = (
    "Mean (standard deviation) of numbers; number (share) of subjects with a level. Levels of a "
    "covariate that was coded as 0 and 1 are named 0 and 1"
)
TEST = (
    "Whether the groups differ: Welch's t or one-way ANOVA of numbers, chi-square of counts, "
    "Fisher's exact test or random tables where counts are small. Not corrected for the number of "
    "rows. Paired visits are tested within persons; families are not tested"
)


def table_one_section(comparison: Comparison) -> Table:
    """One row per covariate or level, one column per group."""
    table = comparison.tables.table_one
    names = np.where(table["level"] == "", table["characteristic"], table["characteristic"] + ": ")
    shown = table.assign(
        what=names + table["level"],
        p=[DASH if np.isnan(p) else p_value(p) for p in table["p"]],
    )
    fields = [
        Field("what", "characteristic"),
        *(Field(f"in_{group}", group, hint=CELL) for group in comparison.groups),
        Field("test", "test", hint=TEST),
        Field("p", "p", hint=""),
    ]
    if table["missing"].any():
        fields.append(Field("missing", "not known", "count", hint=""))
    caption = "Table 1: the groups before anything was learned"
    return make_table("table-one", caption, shown, fields, searched=False)
