"""The time series of the subjects, as the page shows them."""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd

from sgbn.comparison import Comparison
from sgbn.comparison.series_steps import NOT_FOR_SERIES
from sgbn.comparison.series_words import spread
from sgbn.comparison.steps import STEPS
from sgbn.report.cells import Field, Kind, Table, in_words, make_table

EFFECTIVE = (
    "As how many independent volumes the filtered series count: what is left of autocorrelation "
    "makes a volume worth less than one"
)
LAG_ONE = "From one volume to the next, before the filter; mean over the regions"
ORDER = "Volumes before it that the autoregressive filter of the subject looks at"
SLOW_AND_FAST = "Share of the variance below 0.01 Hz, and above 0.1 Hz (where TR is known)"
SEEN = "Whether the spectrum looks as if the series had been filtered before"
MEAN_FD = "Mean framewise displacement, in millimetres"


class Measure(NamedTuple):
    """A number of each subject, as the page shows it."""

    source: str
    title: str
    hint: str
    kind: Kind = "count"
    digits: int = 0


MEASURES = (
    Measure("volumes", "volumes", ""),
    Measure("runs", "runs", ""),
    Measure("effective_volumes", "effective volumes", EFFECTIVE),
    Measure("ar_order", "order of the filter", ORDER),
    Measure("autocorrelation", "autocorrelation", LAG_ONE, "number", 2),
    Measure("mean_fd", "mean FD", MEAN_FD, "number", 3),
)
FURTHER = (
    Field("slow_power", "slow", "share", SLOW_AND_FAST),
    Field("fast_power", "fast", "share", SLOW_AND_FAST),
    Field("high_pass_filter", "high-pass filter seen", hint=SEEN),
    Field("low_pass_filter", "low-pass filter seen", hint=SEEN),
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
    shown = [one for one in MEASURES if one.source in table]
    rows = [
        {"what": one.title}
        | {group: spread(own[one.source], digits=one.digits) for group, own in of.items()}
        for one in shown
    ]
    hints = [f"{one.title}: {one.hint[0].lower()}{one.hint[1:]}" for one in shown if one.hint]
    fields = [Field("what", "of a subject", hint="; ".join(hints))]
    fields += [Field(group, group, hint="") for group in comparison.groups]
    caption = "Time series of the groups"
    return make_table("series-groups", caption, pd.DataFrame(rows), fields, searched=False)


def subjects_table(comparison: Comparison) -> Table:
    """Numbers of each subject."""
    fields = [
        *(Field("subject", "subject"), Field("group", "group")),
        *(Field(one.source, one.title, one.kind, one.hint) for one in MEASURES),
        *FURTHER,
    ]
    table = in_words(comparison.tables.series, "high_pass_filter", "low_pass_filter")
    return make_table("series-table", "Time series of the subjects", table, fields)
