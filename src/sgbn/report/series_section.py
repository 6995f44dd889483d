"""The time series of the subjects, as the page shows them."""

from __future__ import annotations

from typing import Any

import pandas as pd

from sgbn.comparison import Comparison
from sgbn.comparison.series_steps import NOT_FOR_SERIES
from sgbn.comparison.series_words import spread
from sgbn.comparison.steps import STEPS
from sgbn.report.cells import Field, Table, make_table

EFFECTIVE = (
    "As how many independent volumes the filtered series count: what is left of autocorrelation "
    "makes a volume worth less than one"
)
ORDER = "Volumes before it that the autoregressive filter of the subject looks at"
MEASURES = {
    "volumes": ("volumes", ""),
    "runs": ("runs", ""),
    "effective_volumes": ("effective volumes", EFFECTIVE),
    "ar_order": ("order of the filter", ORDER),
}


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
    rows = [
        {"what": title}
        | {group: spread(table.loc[table["group"] == group, name]) for group in comparison.groups}
        for name, (title, _) in MEASURES.items()
    ]
    fields = [Field("what", "of a subject", hint=f"{EFFECTIVE}. {ORDER}")]
    fields += [Field(group, group, hint="") for group in comparison.groups]
    caption = "Time series of the groups"
    return make_table("series-groups", caption, pd.DataFrame(rows), fields, searched=False)


def subjects_table(comparison: Comparison) -> Table:
    """Numbers of each subject."""
    fields = [
        *(Field("subject", "subject"), Field("group", "group")),
        *(Field(name, title, "count", hint) for name, (title, hint) in MEASURES.items()),
    ]
    return make_table(
        "series-table", "Time series of the subjects", comparison.tables.series, fields
    )
