"""The section of the page on checks of the findings: tests with other choices, and residuals."""

from __future__ import annotations

from typing import Any

from sgbn.comparison import Comparison
from sgbn.comparison.residuals import residual_words
from sgbn.comparison.sensitivity import HALF, OTHER_ORDER, TWICE, sensitivity_words
from sgbn.report.cohort_section import row_word
from sgbn.report.names import with_labels
from sgbn.write.page import HINTS, Field, Table, in_words, make_table, mark_by, number_text

KEY = "residuals-table"
TITLES = {HALF: "half penalty", TWICE: "twice", OTHER_ORDER: "other order"}


def checks_section(comparison: Comparison) -> dict[str, Any]:
    """Collect the words and tables of both checks; a table is None if it would be empty."""
    return {
        "residuals": residuals_table(comparison),
        "residual_lines": residual_words(comparison).split("\n"),
        "sensitivity": sensitivity_words(comparison),
        "pairs": pairs_table(comparison),
    }


def residuals_table(comparison: Comparison) -> Table | None:
    """Make a table of residuals with one row per group; return None if all groups are too small."""
    table = comparison.tables.residuals
    if table.empty:
        return None
    rows = with_labels(comparison, table).to_dict("records")
    shown = table.assign(
        not_gaussian=[f"{row['not_gaussian']} of {row['regions']}" for row in rows],
        curved=[f"{row['curved']} of {row['edges']}" for row in rows],
        skewness=[_largest(row["skewness"], row["skewed_region"]) for row in rows],
        kurtosis=[_largest(row["kurtosis"], row["heavy_region"]) for row in rows],
        far=[f"{row['far']} ({row['expected_far']:.1f})" for row in rows],
    )
    cohort = comparison.cohort
    # The tests of residuals treat rows as independent. Rows of relatives are not independent.
    related = "" if cohort.person is None and cohort.block is None else HINTS[KEY]["of_relatives"]
    fields = [
        Field("group", "group"),
        Field("rows", row_word(comparison), "count"),
        Field("not_gaussian", "regions not Gaussian", hint=HINTS[KEY]["not_gaussian"] + related),
        Field("curved", "bent edges", hint=HINTS[KEY]["curved"] + related),
        Field("far", "far out (expected)"),
        Field("skewness", "largest skewness"),
        Field("kurtosis", "largest excess kurtosis"),
    ]
    caption = "Residuals of the networks"
    return make_table(KEY, caption, shown, fields, searched=False)


def _largest(value: float, region: str) -> str:
    return f"{number_text(value)} ({region})"


def pairs_table(comparison: Comparison) -> Table | None:
    """Make a table of the pairs that the tests or a repetition found; None if no pair was found."""
    table = comparison.tables.sensitivity
    # If the table has no rows, the words above it say that no pair was found.
    if table.empty or comparison.sensitivity is None:
        return None
    hint = HINTS["sensitivity-table"]["q_both_with_choice"]
    fields = [
        *(Field("source", "from"), Field("target", "to")),
        Field("found", "found"),
        Field("stays", "in each repetition"),
        Field("q_both", "q, both ways", "p"),
        # With prior knowledge of directions, the repetition with another order is missing.
        *(
            Field(f"q_both_{name}", f"q, {TITLES[name]}", "p", hint)
            for name in comparison.sensitivity.tests
        ),
    ]
    caption = "Pairs that differ, with other choices"
    table = in_words(with_labels(comparison, table), "found", "stays")
    mark = mark_by("stays", {"yes": "found"})
    return make_table("sensitivity-table", caption, table, fields, mark=mark, searched=False)
