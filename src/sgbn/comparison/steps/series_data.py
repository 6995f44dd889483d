"""The section of the page on the time series of the subjects.

What a comparison of time series compares, in words, for the terminal and the report.

Tables about the time series of the subjects.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.series import SeriesCohort
from sgbn.comparison.names import joined
from sgbn.core.types import Array
from sgbn.learn.base import LearnedNetwork
from sgbn.learn.series import SeriesSGBN
from sgbn.prepare.series_review import motion_column, series_quality
from sgbn.write.page import Field, Table, hint_of, in_words, make_table
from sgbn.write.tables import frame_of, to_frame

if TYPE_CHECKING:
    import pandas as pd

    from sgbn.comparison.result import Comparison


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
    """Collect tables; return None for data without time series.

    Single subjects are listed only if `named`.
    """
    if not comparison.of_series:
        return None
    return {
        "groups": groups_table(comparison),
        "subjects": subjects_table(comparison) if named else None,
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
    return make_table("series-groups", caption, frame_of(rows), fields, searched=False)


def subjects_table(comparison: Comparison) -> Table:
    """Make a table with one row per subject."""
    fields = [
        *(Field("subject", "subject"), Field("group", "group")),
        *(*MEASURES, *FURTHER),
    ]
    table = in_words(comparison.tables.series, "high_pass_filter", "low_pass_filter")
    return make_table(KEY, "Time series of the subjects", table, fields)


COMPARED = (
    "The weights of each subject are estimated from its own time series and then compared. Means "
    "over volumes carry no information here and are not compared."
)
NO_MOTION = (
    "Motion is not among the covariates: a difference in motion alone can make the weights of the "
    "groups differ."
)


def series_words(comparison: Comparison) -> str:
    """Say what is compared, how long and how filtered the series are, and what is held fixed."""
    return " ".join([COMPARED, volumes_words(comparison), held_words(comparison)])


def volumes_words(comparison: Comparison) -> str:
    """Say how many volumes the subjects have, and how many independent volumes these are worth."""
    cohort, table = cast(SeriesCohort, comparison.cohort), comparison.tables.series
    how = "" if cohort.tr is None else f", one every {cohort.tr:g} s"
    runs = int(table["runs"].max())
    how += f", in up to {runs} runs" if runs > 1 else ""
    return (
        f"A subject has {spread(table['volumes'], 'volumes')}{how}. {_filtered(comparison)} count "
        f"as {spread(table['effective_volumes'], 'independent volumes')}."
    )


def _filtered(comparison: Comparison) -> str:
    """Say how the series were filtered. The text ends with a noun, and the caller adds a verb."""
    order = comparison.tables.series["ar_order"]
    if is_lagged(comparison):
        return (
            "The linear effects of all regions at the volume before are taken out of the series of "
            "each subject. The series that are left"
        )
    if not order.any():
        return "No series needed a filter of its autocorrelation. The series"
    return (
        "One autoregressive filter per subject, the same for all its regions, removes what a "
        f"volume repeats of the volumes before it. The filters have order {spread(order)}. The "
        "filtered series"
    )


def is_lagged(comparison: Comparison) -> bool:
    """Return whether lagged effects of all regions are taken out, and no filter is used."""
    return any(cast(SeriesSGBN, learner).lagged for learner in comparison.learners.values())


def held_words(comparison: Comparison) -> str:
    """Say what the tests hold fixed, and warn if motion is not held fixed."""
    held = comparison.cohort.design.effect_names  # curves are named as such
    parts = [f"The tests hold {joined(held)} fixed."] if held else []
    if comparison.n_sites > 1:
        parts.append(
            f"There are {comparison.n_sites} sites. The tests hold them fixed and exchange "
            "subjects within a site only."
        )
    if motion_column(comparison.cohort.covariates) is None:
        parts.append(NO_MOTION)
    return " ".join(parts)


def spread(numbers: Any, noun: str = "", digits: int = 0) -> str:
    """Return the range and the median as text, or one number if all numbers are the same.

    `noun` says what the numbers count, and `digits` is the number of decimals.
    """
    values = np.round(np.asarray(numbers, float), digits)  # so that equal texts count as the same
    quantiles = np.nanquantile(values, (0, 0.5, 1))  # some may be unknown
    low, middle, high = (f"{quantile:.{digits}f}" for quantile in quantiles)
    noun = f" {noun}" if noun else ""
    return f"{low}{noun}" if low == high else f"{low} to {high}{noun} (median {middle})"


DESCRIBED = {"volumes": "volumes", "effective_volumes": "effective volumes"}  # titles in Table 1


def series_table(comparison: Comparison) -> pd.DataFrame:
    """Return one row per subject, in the order of the cohort.

    The columns are subject, group, the numbers of `sgbn.prepare.series_quality`, and ar_order (the
    order of the autoregressive filter). The effective volumes come from the learned networks.
    """
    cohort = cast(SeriesCohort, comparison.cohort)
    table = to_frame(series_quality(cohort)).rename(columns={"subject_id": "subject"})
    table.insert(1, "group", np.asarray(cohort.group))
    table["effective_volumes"] = _of_moments(comparison, "n")
    table["ar_order"] = _of_moments(comparison, "ar_order").astype(int)
    # Columns without numbers are dropped, such as motion if it is not known.
    return table.drop(columns="empty_regions").dropna(axis="columns", how="all")


def with_volumes(comparison: Comparison, table: pd.DataFrame) -> Cohort:
    """Return the cohort with the numbers of volumes as covariates, for Table 1.

    The numbers come from a `series_table`. They do not replace a covariate of the same name.
    Numbers that are the same in all subjects are left out.
    """
    volumes = {
        title: table[name].to_numpy(float)
        for name, title in DESCRIBED.items()
        # If all numbers are equal, a test of the groups would divide 0 by 0.
        if table[name].nunique() > 1
    }
    cohort = comparison.cohort
    return replace(cohort, covariates={**volumes, **cohort.covariates})


def with_subjects_support(table: pd.DataFrame, learner: LearnedNetwork) -> pd.DataFrame:
    """Return a table of edges with their support by subjects, the largest weights first.

    The new columns are weight_std, support_share (the share of subjects that support the edge) and
    survives (whether the edge stays without the subjects that support it most). Weights of series
    are per standard deviation already, so weight_std is the weight.
    """
    fitted = cast(SeriesSGBN, learner)
    place = {name: k for k, name in enumerate(fitted.network_.names)}
    ends = [place[i] for i in table["source"]], [place[j] for j in table["target"]]
    supported = table.assign(
        weight_std=table["weight"],
        support_share=fitted.support_share_[ends],
        survives=fitted.survives_[ends],
    )
    by_size = supported["weight"].abs().sort_values(ascending=False, kind="stable")
    return supported.loc[by_size.index].reset_index(drop=True)


def _of_moments(comparison: Comparison, name: str) -> Array:
    """Return one number per subject from the moments of the learned networks."""
    labels = np.asarray(comparison.cohort.group)
    numbers = np.empty(len(labels))
    for group, learner in comparison.learners.items():
        # The subjects of a learner have the order of the cohort.
        numbers[labels == group] = getattr(cast(SeriesSGBN, learner).moments_, name)
    return numbers
