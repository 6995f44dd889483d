"""Tables of the tests of edges named beforehand, and of the tests of each pair of groups."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd

from sgbn.comparison import Comparison
from sgbn.comparison.difference_words import both_ways_column
from sgbn.report.names import with_labels
from sgbn.write.page import Field, Table, make_table, significant

ENDS = Field("source", "from"), Field("target", "to")
CHANGE = (
    Field("difference_std", "change per SD", "number"),
    Field("low", "change, low", "number"),
    Field("high", "change, high", "number"),
    Field("standard_error", "standard error", "number"),
)
NAMED = (
    *(*ENDS, *CHANGE),
    Field("statistic", "statistic", "number"),
    Field("p", "p", "p"),
    Field("p_fwer", "p, family-wise", "p"),
    Field("p_both", "p, both ways", "p"),
    Field("p_fwer_both", "p, family-wise, both ways", "p"),
)
AMONG = (*ENDS, *CHANGE, Field("q", "q", "p"), Field("p_fwer", "p, family-wise", "p"))
PAIRWISE = (
    *(Field("group", "group"), Field("other", "other group")),
    *(*ENDS, *CHANGE),
    Field("q_both", "q, both ways", "p"),
    Field("q", "q", "p"),
    Field("p_fwer_both", "p, family-wise, both ways", "p"),
    Field("p_fwer", "p, family-wise", "p"),
)


def further_tests(comparison: Comparison) -> dict[str, Table | None]:
    """Return the tables by the names that the page uses; None if nothing was tested."""
    tables, table_of = comparison.tables, partial(_table_of, comparison)
    pairwise = tables.pairwise
    if len(pairwise):
        # Many pairs have the same q. Among these, p gives the order.
        pairwise = pairwise.sort_values(["q_both", "p_both"], kind="stable")
    # Both tests must be significant: a change of variance alone can make an edge differ one way.
    both_ways = "p_fwer", both_ways_column(len(tables.named))
    among = "Edges between regions named beforehand"
    closed = "Closed tests of each pair of groups, the surest first"
    return {
        "named": table_of("named", "Edges named beforehand", tables.named, NAMED, *both_ways),
        "among": table_of("among", among, tables.among, AMONG, "q"),
        # Closed tests already correct for the number of pairs of groups.
        "pairwise": table_of("pairwise", closed, pairwise, PAIRWISE, "q_both"),
    }


def _table_of(
    comparison: Comparison,
    key: str,
    caption: str,
    table: pd.DataFrame,
    fields: Sequence[Field],
    *tests: str,
) -> Table | None:
    """Make a table of tested edges that marks rows in which all `tests` are significant."""
    if table.empty:
        return None
    mark = significant(comparison.settings.level, *tests)
    return make_table(key, caption, with_labels(comparison, table), fields, mark=mark)
