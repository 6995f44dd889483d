"""What is compared of time series, in words: said once, for the terminal and the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sgbn.comparison.support import joined
from sgbn.quality.motion import motion_column
from sgbn.series_cohort import SeriesCohort
from sgbn.structure.series import SeriesSGBN
from sgbn.structure.smooth import effect_names

if TYPE_CHECKING:
    from sgbn.comparison.result import Comparison

COMPARED = (
    "The weights of each subject are compared, from its own time series; means over volumes carry "
    "no information here and are not compared."
)
NO_MOTION = (
    "Motion is not among the covariates: groups that differ in it can differ in weights by this "
    "alone."
)


def series_words(comparison: Comparison) -> str:
    """Say what is compared, how long the series are, how they were filtered, what is held fixed."""
    return " ".join([COMPARED, volumes_words(comparison), held_words(comparison)])


def volumes_words(comparison: Comparison) -> str:
    """Say how many volumes the subjects have, and as how many independent ones these count."""
    cohort, table = cast(SeriesCohort, comparison.cohort), comparison.tables.series
    how = "" if cohort.tr is None else f", one every {cohort.tr:g} s"
    runs = int(table["runs"].max())
    how += f", in up to {runs} runs" if runs > 1 else ""
    return (
        f"A subject has {spread(table['volumes'], 'volumes')}{how}. {_filtered(comparison)} count "
        f"as {spread(table['effective_volumes'], 'independent volumes')}."
    )


def _filtered(comparison: Comparison) -> str:
    """Say how the series were filtered: words that end with their name."""
    order = comparison.tables.series["ar_order"]
    if is_lagged(comparison):
        return (
            "Linear effects of all regions one volume before are taken out of each subject; the "
            "series that are left"
        )
    if not order.any():
        return "No series needed a filter of its autocorrelation; they"
    return (
        "One autoregressive filter per subject, the same for all its regions, of order "
        f"{spread(order)}, takes out what a volume repeats of those before it; the filtered series"
    )


def is_lagged(comparison: Comparison) -> bool:
    """Whether effects of all regions one volume before are taken out, in place of a filter."""
    return any(cast(SeriesSGBN, learner).lagged for learner in comparison.learners.values())


def held_words(comparison: Comparison) -> str:
    """Say what the tests hold fixed, and whether motion is among it."""
    held = effect_names(comparison.cohort)  # curves are named as such
    parts = [f"The tests hold {joined(held)} fixed."] if held else []
    if comparison.n_sites > 1:
        parts.append(
            f"There are {comparison.n_sites} sites: the tests hold them fixed, and exchange "
            "subjects within a site only."
        )
    if motion_column(comparison.cohort.covariates) is None:
        parts.append(NO_MOTION)
    return " ".join(parts)


def spread(numbers: Any, noun: str = "", digits: int = 0) -> str:
    """Say the range of some numbers and their median; one number if all are the same.

    `noun` is what the numbers count.
    """
    values = np.round(np.asarray(numbers, float), digits)  # so that equal texts count as the same
    quantiles = np.nanquantile(values, (0, 0.5, 1))  # some may be unknown
    low, middle, high = (f"{quantile:.{digits}f}" for quantile in quantiles)
    noun = f" {noun}" if noun else ""
    return f"{low}{noun}" if low == high else f"{low} to {high}{noun} (median {middle})"
