"""The section of the page on differences: tested edges, connected sets, regions and lobes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from sgbn.comparison import Comparison
from sgbn.comparison.changes import changes_per_sd
from sgbn.comparison.tables import TRUE
from sgbn.report.cohort_section import has_lobes, lobe_fields
from sgbn.report.further_tests import further_tests
from sgbn.report.names import with_labels
from sgbn.write.draw.style import KIND_STYLES
from sgbn.write.page import (
    DASH,
    ENDS,
    HINTS,
    Field,
    Table,
    folded,
    hint_of,
    in_words,
    make_table,
    significant,
)

KEY = "differences-table"
FAMILY_WISE, BOTH_WAYS, ONE_WAY, NOT_FOUND = VERDICTS = (
    *("both ways, family-wise", "both ways"),
    *("one way only", "no"),
)  # verdicts on an edge, the surest first


def differences_section(comparison: Comparison) -> dict[str, Any] | None:
    """Collect the tables and words of the tests; return None if nothing was tested."""
    tests, level = comparison.tests, comparison.settings.level
    if tests is None:
        return None
    table = comparison.tables.differences
    both_ways = table["q_both"] <= level
    return {
        "table": differences_table(comparison, table),
        "overall": comparison.words.verdict[0],
        "lines": comparison.words.edges,
        "significant": int(both_ways.sum()),
        "supported": int((both_ways & table["supported"]).sum()),
        **further_tests(comparison),
        "permutations": tests.n_permutations,
        # The data themselves count as one permutation, so p cannot be smaller than this.
        "smallest": f"{1 / (tests.n_permutations + 1):.2g}",
        "components": components_table(comparison),
        "hubs": hubs_table(comparison),
        "lobes": lobes_table(comparison) if has_lobes(comparison) else None,
        "reference": comparison.reference,
        "groups": len(tests.groups),
    }


def differences_table(comparison: Comparison, table: pd.DataFrame) -> Table:
    """Make a table of the tested edges, the significant edges first."""
    groups = comparison.groups
    table = _with_verdicts(comparison, table)
    table, changes = _with_changes(comparison, with_labels(comparison, table))
    fields = [
        Field("found", "differs", "name"),
        *_kind_fields(comparison),
        *ENDS,
        *_per_group(comparison, "weight_std", "weight per SD, {}", "weight"),
        *changes,
        Field("q_both", "q, both ways", "p"),
        *_per_group(comparison, "adjacent", "confidence, {}", "share"),
        *folded(_rarely_asked(comparison)),
    ]
    table = in_words(_with_symbols(comparison, table), "true_change", "supported")
    caption = f"Tested edges, {groups[0]} against {' and '.join(groups[1:])}, the surest first"
    return make_table(KEY, caption, table, fields, mark=_found_mark)


def _with_verdicts(comparison: Comparison, table: pd.DataFrame) -> pd.DataFrame:
    """Add the verdict on each edge in a column `found`, and sort the table by it."""
    level = comparison.settings.level
    both_ways = table["q_both"] <= level
    # np.select takes the first condition that holds: the strictest condition is the first.
    verdicts = np.select(
        [both_ways & (table["p_fwer_both"] <= level), both_ways, table["q"] <= level],
        [FAMILY_WISE, BOTH_WAYS, ONE_WAY],
        NOT_FOUND,
    )
    table = table.assign(found=verdicts)
    # A stable sort keeps the order by p among edges with the same verdict.
    return table.iloc[np.argsort(table["found"].map(VERDICTS.index), kind="stable")].copy()


def _rarely_asked(comparison: Comparison) -> list[Field]:
    """Return the fields that the table hides until a reader asks for them."""
    groups = comparison.groups
    in_units: list[Field] = []
    if not comparison.of_series:  # weights of series are standardised and have no units
        weights = [Field(f"weight_{group}", f"weight, {group}", "number") for group in groups]
        in_units = [Field("difference", "change", "number"), *weights]
    true_weight = HINTS["any"]["true_weight_std"]
    return [
        Field("q", "q", "p"),
        Field("p_fwer_both", "p, family-wise, both ways", "p"),
        Field("p_fwer", "p, family-wise", "p"),
        Field("supported", "direction supported"),
        *in_units,
        Field("standard_error", "standard error", "number"),
        Field("statistic", "statistic", "number"),
        Field("error", "Monte-Carlo error", "number"),
        *(
            Field(f"{TRUE}{group}", f"true weight per SD, {group}", "number", true_weight)
            for group in groups
        ),
        Field("true_change", "truly differs"),
        *lobe_fields(comparison),
        Field("p", "p", "p"),
        Field("p_both", "p, both ways", "p"),
    ]


def _per_group(comparison: Comparison, column: str, title: str, kind: Any) -> list[Field]:
    """Return one field per group; the same hint explains all of them."""
    return [
        Field(f"{column}_{group}", title.format(group), kind, HINTS["any"][column])
        for group in comparison.groups
    ]


def _with_changes(comparison: Comparison, table: pd.DataFrame) -> tuple[pd.DataFrame, list[Field]]:
    """Return the table with the changes from the reference, and the fields that show them.

    With two groups, the change has an interval. With more groups, there is one change per group.
    The table then has a standard error for the last group only, so it is not shown.
    """
    if len(comparison.groups) == 2:
        ends = (table[name] for name in ("difference_std", "low", "high"))
        interval = pd.Series(list(zip(*ends, strict=True)), index=table.index)
        # With tests at level 0.05, the intervals cover 95 %.
        share = f"{100 * (1 - comparison.settings.level):.3g} %"
        return table.assign(change_interval=interval), [
            Field("change_interval", f"change per SD ({share} interval)", "interval"),
            Field("low", "change per SD, low", "number", "", folds=True),
            Field("high", "change per SD, high", "number", "", folds=True),
        ]
    changes = changes_per_sd(comparison, table)
    # `make_table` leaves out the fields of these columns.
    table = table.drop(columns=["difference", "standard_error", "low", "high"])
    columns = {f"change_{group}": change for group, change in changes.items()}
    hint = hint_of(KEY, "change")
    fields = [
        Field(f"change_{group}", f"change per SD, {group}", "weight", hint) for group in changes
    ]
    return table.assign(**columns), fields


def _kind_fields(comparison: Comparison) -> list[Field]:
    """Return one field per compared group, with the kind of change from the reference."""
    compared, hint = comparison.groups[1:], hint_of(KEY, "kind")
    return [
        Field(f"kind_{group}", "kind of change" + f", {group}" * (len(compared) > 1), hint=hint)
        for group in compared
    ]


def _with_symbols(comparison: Comparison, table: pd.DataFrame) -> pd.DataFrame:
    """Put a symbol before each kind of change, and a dash if no difference was found."""
    words = {kind: f"{style.symbol} {kind}" for kind, style in KIND_STYLES.items()}
    names = [f"kind_{group}" for group in comparison.groups[1:]]
    differs = table["found"] != NOT_FOUND
    return table.assign(**{name: table[name].map(words).where(differs, DASH) for name in names})


def components_table(comparison: Comparison) -> Table:
    """Make a table of the connected sets of changed edges."""
    table = comparison.tables.components
    if len(comparison.groups) == 2:
        # With more groups an edge has several kinds of change, one per compared group.
        table = _with_kinds(comparison, table)
    table = with_labels(comparison, table)
    fields = [
        Field("component", "set", "count"),
        Field("kinds", "changes in the set"),
        Field("strength", "strength", "number"),
        Field("p_fwer", "p, family-wise", "p"),
        *ENDS,
        Field("kind", "kind of change"),
    ]
    caption = "Connected sets of edges that change together"
    mark = significant(comparison.settings.level, "p_fwer")
    return make_table("components", caption, table, fields, mark=mark)


def _with_kinds(comparison: Comparison, table: pd.DataFrame) -> pd.DataFrame:
    """Add the kind of change of each edge, and the number of edges of each kind in its set."""
    ends, kind = ["source", "target"], f"kind_{comparison.groups[-1]}"
    kinds = comparison.tables.differences[[*ends, kind]].rename(columns={kind: "kind"})
    # A left join keeps the order of the sets.
    table = table.merge(kinds, on=ends, how="left")
    words = {
        number: ", ".join(f"{count} {kind}" for kind, count in Counter(of_set).items())
        for number, of_set in table.groupby("component")["kind"]
    }
    return table.assign(kinds=table["component"].map(words))


def hubs_table(comparison: Comparison) -> Table:
    """Make a table of the changes of the strength of each region's edges."""
    of = [Field("region", "region", "name"), Field("kind", "edges that go")]
    caption = "Regions: strength of edges in and out"
    table = with_labels(comparison, comparison.tables.hubs)
    return _sums_table(comparison, "hubs", caption, table, of)


def lobes_table(comparison: Comparison) -> Table:
    """Make a table of the changes of the edges from lobe to lobe."""
    of = [Field("source", "from lobe"), Field("target", "to lobe"), Field("kind", "of edges")]
    caption = "Lobes: strength and number of edges"
    return _sums_table(comparison, "lobes", caption, comparison.tables.lobes, of)


def _sums_table(
    comparison: Comparison, key: str, caption: str, table: pd.DataFrame, of: list[Field]
) -> Table:
    """Make a table of tests of sums over edges; the fields `of` say which edges are summed."""
    # With more groups, the table has the largest sum minus the smallest, without a sign.
    title = "change" if len(comparison.groups) == 2 else "range"
    fields = [
        *of,
        *(Field("difference", title, "number", HINTS["sums"][title]), Field("z", "z", "number")),
        Field("p_fwer", "p, family-wise", "p"),
        Field("error", "Monte-Carlo error", "number"),
    ]
    mark = significant(comparison.settings.level, "p_fwer")
    return make_table(key, caption, table, fields, mark=mark)


def _found_mark(row: Mapping[str, Any]) -> str:
    return {NOT_FOUND: "", ONE_WAY: "one-way"}.get(row["found"], "found")
