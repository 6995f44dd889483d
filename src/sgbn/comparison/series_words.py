"""What a comparison of time series compares, in words, for the terminal and the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sgbn.cohort.effects import effect_names
from sgbn.cohort.series import SeriesCohort
from sgbn.comparison.support import joined
from sgbn.learn.series import SeriesSGBN
from sgbn.prepare.series_review import motion_column

if TYPE_CHECKING:
    from sgbn.comparison.result import Comparison

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
    held = effect_names(comparison.cohort)  # curves are named as such
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
