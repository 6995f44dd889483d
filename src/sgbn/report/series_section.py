"""The section of the page on the time series of the subjects."""

from __future__ import annotations

from typing import Any

import pandas as pd

from sgbn.comparison import Comparison
from sgbn.comparison.series_steps import NOT_FOR_SERIES
from sgbn.comparison.series_words import spread
from sgbn.comparison.steps import STEPS
from sgbn.write.page import Field, Table, hint_of, in_words, make_table

KEY = "series-table"
# Numbers of each subject; `groups_table` summarises them by group
MEASURES = (
    Field("volumes", "volumes", "count"),
    Field("runs", "runs", "count"),
    Field("effective_volumes", "effective volumes", "count"),
    Field("ar_order", "order of the filter", "count"),
    Field("autocorrelation", "autocorrelation", "number"),
    Field("mean_fd", "mean FD", "number"),
)
DIGITS = {"autocorrelation": 2, "mean_fd": 3}  # decimals in the summary; other numbers are counts
# Columns that only the table of subjects has
FURTHER = (
    Field("slow_power", "slow", "share"),
    Field("fast_power", "fast", "share"),
    Field("high_pass_filter", "high-pass filter seen"),
    Field("low_pass_filter", "low-pass filter seen"),
)


def series_section(comparison: Comparison, *, named: bool) -> dict[str, Any] | None:
    """Collect tables and the steps that were not done; return None for data without time series.

    Single subjects are listed only if `named`.
    """
    if not comparison.of_series:
        return None
    return {
        "groups": groups_table(comparison),
        "subjects": subjects_table(comparison) if named else None,
        "not_done": [(STEPS[step], f"{why}.") for step, why in NOT_FOR_SERIES.items()],
    }


def groups_table(comparison: Comparison) -> Table:
    """Make a table with the median and range of each number, one column per group."""
    table = comparison.tables.series
    of = {group: table[table["group"] == group] for group in comparison.groups}
    # A number that no subject has, such as motion, has no column in the table.
    shown = [measure for measure in MEASURES if measure.source in table]
    rows = []
    for name, title, *_ in shown:
        digits = DIGITS.get(name, 0)
        cells = {group: spread(rows_of[name], digits=digits) for group, rows_of in of.items()}
        rows.append({"what": title} | cells)
    known = [(measure.title, hint_of(KEY, measure.source)) for measure in shown]
    # In lower case, because each hint follows its title in one sentence.
    hints = [f"{title}: {hint[0].lower()}{hint[1:]}" for title, hint in known if hint]
    fields = [Field("what", "of a subject", hint="; ".join(hints))]
    fields += [Field(group, group, hint="") for group in comparison.groups]
    caption = "Time series of the groups"
    return make_table("series-groups", caption, pd.DataFrame(rows), fields, searched=False)


def subjects_table(comparison: Comparison) -> Table:
    """Make a table with one row per subject."""
    fields = [
        *(Field("subject", "subject"), Field("group", "group")),
        *(*MEASURES, *FURTHER),
    ]
    table = in_words(comparison.tables.series, "high_pass_filter", "low_pass_filter")
    return make_table(KEY, "Time series of the subjects", table, fields)
