"""Tables of what was named beforehand, and of which groups differ."""

from __future__ import annotations

from sgbn.comparison import Comparison
from sgbn.comparison.difference_words import both_ways_column
from sgbn.report.cells import Field, Table, make_table, significant
from sgbn.report.names import with_labels

ENDS = Field("source", "from"), Field("target", "to")
CHANGE = (
    Field("difference_std", "change per SD", "number"),
    Field("low", "change, low", "number"),
    Field("high", "change, high", "number"),
    Field("standard_error", "standard error", "number"),
)


def further_tests(comparison: Comparison) -> dict[str, Table | None]:
    """Collect the tables by the name that the page has for them; None where nothing was tested."""
    return {
        "named": named_table(comparison),
        "among": among_table(comparison),
        "pairwise": pairwise_table(comparison),
    }


def named_table(comparison: Comparison) -> Table | None:
    """List edges that were named beforehand."""
    table = comparison.tables.named
    if table.empty:
        return None
    fields = [
        *ENDS,
        *CHANGE,
        Field("statistic", "statistic", "number"),
        Field("p", "p", "p"),
        Field("p_fwer", "p, family-wise", "p"),
        Field("p_both", "p, both ways", "p"),
        Field("p_fwer_both", "p, family-wise, both ways", "p"),
    ]
    caption = "Edges named beforehand"
    both = both_ways_column(len(table))
    table = with_labels(comparison, table)
    # Both ways: a change of variance alone can make an edge differ one way.
    mark = significant(comparison.settings.level, "p_fwer", both)
    return make_table("named", caption, table, fields, mark=mark)


def among_table(comparison: Comparison) -> Table | None:
    """List edges between regions that were named beforehand."""
    table = comparison.tables.among
    if table.empty:
        return None
    fields = [
        *ENDS,
        *CHANGE,
        Field("q", "q", "p"),
        Field("p_fwer", "p, family-wise", "p"),
    ]
    caption = "Edges between regions named beforehand"
    table = with_labels(comparison, table)
    mark = significant(comparison.settings.level, "q")
    return make_table("among", caption, table, fields, mark=mark)


def pairwise_table(comparison: Comparison) -> Table | None:
    """List the closed tests of pairs of groups, the surest first."""
    table = comparison.tables.pairwise
    if table.empty:
        return None
    # Many pairs share a q, which never falls as p rises: p orders those.
    table = with_labels(comparison, table.sort_values(["q_both", "p_both"], kind="stable"))
    fields = [
        *(Field("group", "group"), Field("other", "other group")),
        *ENDS,
        *CHANGE,
        Field("q_both", "q, both ways", "p"),
        Field("q", "q", "p"),
        Field("p_fwer_both", "p, family-wise, both ways", "p"),
        Field("p_fwer", "p, family-wise", "p"),
    ]
    caption = "Closed tests of each pair of groups, the surest first"
    # Closed tests allow for all pairs of groups: no further correction is due.
    mark = significant(comparison.settings.level, "q_both")
    return make_table("pairwise", caption, table, fields, mark=mark)
