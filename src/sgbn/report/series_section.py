"""The time series of the subjects, as the page shows them."""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd

from sgbn.comparison import Comparison
from sgbn.comparison.series_steps import NOT_FOR_SERIES
from sgbn.comparison.series_words import spread
from sgbn.comparison.steps import STEPS
from sgbn.report.cells import Field, Kind, Table, in_words, make_table
from sgbn.report.hints import hint_of

KEY = "series-table"


class Measure(NamedTuple):
    """A number of each subject, as the page shows it."""

    source: str
    title: str
    kind: Kind = "count"
    digits: int = 0


MEASURES = (
    Measure("volumes", "volumes"),
    Measure("runs", "runs"),
    Measure("effective_volumes", "effective volumes"),
    Measure("ar_order", "order of the filter"),
    Measure("autocorrelation", "autocorrelation", "number", 2),
    Measure("mean_fd", "mean FD", "number", 3),
)
FURTHER = (
    Field("slow_power", "slow", "share"),
    Field("fast_power", "fast", "share"),
    Field("high_pass_filter", "high-pass filter seen"),
    Field("low_pass_filter", "low-pass filter seen"),
)


def series_section(comparison: Comparison, *, named: bool) -> dict[str, Any] | None:
    """Tables, and what was not done; None of a cohort without series.

    Subjects are listed only if `named`.
    """
    if not comparison.of_series:
        return None
    return {
        "groups": groups_table(comparison),
        "subjects": subjects_table(comparison) if named else None,
        "not_done": [(STEPS[step], f"{why}.") for step, why in NOT_FOR_SERIES.items()],
    }


def groups_table(comparison: Comparison) -> Table:
    """Median and range of each number, one column per group."""
    table = comparison.tables.series
    of = {group: table[table["group"] == group] for group in comparison.groups}
    # What is known of nobody, such as motion, has no column.
    shown = [measure for measure in MEASURES if measure.source in table]
    rows = [
        {"what": title} | {group: spread(of[group][name], digits=digits) for group in of}
        for name, title, _, digits in shown
    ]
    known = [(measure.title, hint_of(KEY, measure.source)) for measure in shown]
    # In lower case, as each follows its title in one sentence.
    hints = [f"{title}: {hint[0].lower()}{hint[1:]}" for title, hint in known if hint]
    fields = [Field("what", "of a subject", hint="; ".join(hints))]
    fields += [Field(group, group, hint="") for group in comparison.groups]
    caption = "Time series of the groups"
    return make_table("series-groups", caption, pd.DataFrame(rows), fields, searched=False)


def subjects_table(comparison: Comparison) -> Table:
    """Numbers of each subject."""
    fields = [
        *(Field("subject", "subject"), Field("group", "group")),
        *(Field(measure.source, measure.title, measure.kind) for measure in MEASURES),
        *FURTHER,
    ]
    table = in_words(comparison.tables.series, "high_pass_filter", "low_pass_filter")
    return make_table(KEY, "Time series of the subjects", table, fields)
