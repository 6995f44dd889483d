"""Tables of what was named beforehand, and of which groups differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sgbn.comparison import Comparison
from sgbn.comparison.difference_words import both_ways_column
from sgbn.report import hints
from sgbn.report.cells import Field, Table, make_table
from sgbn.report.names import with_labels


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
        *(Field("source", "from"), Field("target", "to")),
        Field("difference_std", "change per SD", "number", hints.CHANGE_PER_SD),
        Field("low", "change, low", "number", hints.INTERVAL_OF_CHANGE),
        Field("high", "change, high", "number", hints.INTERVAL_OF_CHANGE),
        Field("standard_error", "standard error", "number", hints.ERROR_OF_CHANGE),
        Field("statistic", "statistic", "number"),
        Field("p", "p", "p", hints.P_OF_NAMED),
        Field("p_fwer", "p, family-wise", "p", hints.FAMILY_OF_NAMED),
        Field("p_both", "p, both ways", "p"),
        Field("p_fwer_both", "p, family-wise, both ways", "p"),
    ]
    caption = "Edges named beforehand"
    both = both_ways_column(len(table))
    table = with_labels(comparison, table)
    return make_table("named", caption, table, fields, mark=_mark(comparison, "p_fwer", both))


def among_table(comparison: Comparison) -> Table | None:
    """List edges between regions that were named beforehand."""
    table = comparison.tables.among
    if table.empty:
        return None
    fields = [
        *(Field("source", "from"), Field("target", "to")),
        Field("difference_std", "change per SD", "number", hints.CHANGE_PER_SD),
        Field("low", "change, low", "number", hints.INTERVAL_OF_CHANGE),
        Field("high", "change, high", "number", hints.INTERVAL_OF_CHANGE),
        Field("standard_error", "standard error", "number", hints.ERROR_OF_CHANGE),
        Field("q", "q", "p"),
        Field("p_fwer", "p, family-wise", "p", hints.FAMILY_OF_AMONG),
    ]
    caption = "Edges between regions named beforehand"
    table = with_labels(comparison, table)
    return make_table("among", caption, table, fields, mark=_mark(comparison, "q"))


def pairwise_table(comparison: Comparison) -> Table | None:
    """List the closed tests of pairs of groups, the surest first."""
    table = comparison.tables.pairwise
    if table.empty:
        return None
    table = with_labels(comparison, table.sort_values(["q_both", "p_both"], kind="stable"))
    fields = [
        *(Field("group", "group"), Field("other", "other group")),
        *(Field("source", "from"), Field("target", "to")),
        Field("difference_std", "change per SD", "number", hints.CHANGE_OF_OTHER),
        Field("low", "change, low", "number", hints.INTERVAL_OF_CHANGE),
        Field("high", "change, high", "number", hints.INTERVAL_OF_CHANGE),
        Field("standard_error", "standard error", "number", hints.ERROR_OF_CHANGE),
        Field("q_both", "q, both ways", "p"),
        Field("q", "q", "p"),
        Field("p_fwer_both", "p, family-wise, both ways", "p"),
        Field("p_fwer", "p, family-wise", "p"),
    ]
    caption = "Closed tests of each pair of groups, the surest first"
    return make_table("pairwise", caption, table, fields, mark=_mark(comparison, "q_both"))


def _mark(comparison: Comparison, *names: str) -> Callable[[Mapping[str, Any]], str]:
    """Mark rows in which all of these columns are at most the level."""
    level = comparison.settings.level
    return lambda row: "found" if all(row[name] <= level for name in names) else ""
