"""Table 1: the characteristics of the groups, as a paper shows them."""

from __future__ import annotations

import numpy as np

from sgbn.comparison import Comparison
from sgbn.write.page import HINTS, Field, Table, make_table, p_value

KEY = "table-one"


def table_one_section(comparison: Comparison) -> Table:
    """Make Table 1: one row per covariate or per level of a covariate, one column per group."""
    table = comparison.tables.table_one
    # A covariate with levels has one row per level. A numeric one has one row, with level "".
    names = np.where(table["level"] == "", table["characteristic"], table["characteristic"] + ": ")
    shown = table.assign(
        what=names + table["level"],
        p=[p_value(p) for p in table["p"]],
    )
    fields = [
        Field("what", "characteristic"),
        # "in_", because a group could have the name of another column.
        *(Field(f"in_{group}", group, hint=HINTS[KEY]["cell"]) for group in comparison.groups),
        Field("test", "test"),
        Field("p", "p"),
    ]
    if table["missing"].any():
        fields.append(Field("missing", "not known", "count"))
    caption = "Table 1: the groups before anything was learned"
    return make_table(KEY, caption, shown, fields, searched=False)
