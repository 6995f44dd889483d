"""Table 1 of a paper, as the page shows it."""

from __future__ import annotations

import numpy as np

from sgbn.comparison import Comparison
from sgbn.report.cells import DASH, Field, Table, make_table, p_value
from sgbn.report.hints import HINTS

KEY = "table-one"


def table_one_section(comparison: Comparison) -> Table:
    """One row per covariate or level, one column per group."""
    table = comparison.tables.table_one
    # What is counted has one row per level, and a mean is one row without any.
    names = np.where(table["level"] == "", table["characteristic"], table["characteristic"] + ": ")
    shown = table.assign(
        what=names + table["level"],
        p=[DASH if np.isnan(p) else p_value(p) for p in table["p"]],
    )
    fields = [
        Field("what", "characteristic"),
        # "in_": a group may be called like one of the other columns.
        *(Field(f"in_{group}", group, hint=HINTS[KEY]["cell"]) for group in comparison.groups),
        Field("test", "test"),
        Field("p", "p"),
    ]
    if table["missing"].any():
        fields.append(Field("missing", "not known", "count"))
    caption = "Table 1: the groups before anything was learned"
    return make_table(KEY, caption, shown, fields, searched=False)
