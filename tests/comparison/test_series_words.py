from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from sgbn.comparison.steps.series_data import (
    COMPARED,
    NO_MOTION,
    held_words,
    series_words,
    spread,
    volumes_words,
)
from sgbn.core.exceptions import InputError


def without(comparison, **changes):
    cohort = replace(comparison.cohort, **changes)
    return replace(comparison, review=replace(comparison.review, cohort=cohort))


def test_what_is_compared_is_said_first(compared_series):
    words = series_words(compared_series)
    assert words.startswith(COMPARED)
    assert words in " ".join(compared_series.words.statements[0].lines)
    assert "harmonised" not in str(compared_series.words)
    assert "without the effects" not in str(compared_series.words)


def test_volumes_filter_and_effective_volumes(compared_series):
    words, table = volumes_words(compared_series), compared_series.tables.series
    low, high = table["volumes"].min(), table["volumes"].max()
    assert f"A subject has {low} to {high} volumes (median " in words
    assert ", one every 2 s." in words
    assert "runs" not in words
    low, high = table["effective_volumes"].min(), table["effective_volumes"].max()
    assert f"count as {low:.0f} to {high:.0f} independent volumes" in words


def test_effects_of_the_volume_before_are_no_filter(compared_series):
    learners = {
        group: copy(one).set_params(lagged=True) for group, one in compared_series.learners.items()
    }
    words = volumes_words(replace(compared_series, learners=learners))
    assert "linear effects of all regions at the volume before are taken out" in words
    assert "autoregressive" not in words


def test_runs_are_counted_where_there_are_several(compared_series):
    runs = [(50, n - 50) for n in compared_series.cohort.n_volumes]
    assert "in up to 2 runs" in volumes_words(without(compared_series, run_lengths=runs))


def test_series_that_need_no_filter(compared_series):
    assert "order 0 to 1" in volumes_words(compared_series)
    white = {group: copy(one) for group, one in compared_series.learners.items()}
    for one in white.values():
        one.moments_ = replace(one.moments_, ar_order=np.zeros_like(one.moments_.ar_order))
    words = volumes_words(replace(compared_series, learners=white))
    assert "No series needed a filter of its autocorrelation. The series count as" in words


def test_lagged_effects_in_place_of_a_filter(compared_series):
    lagged = {group: copy(one) for group, one in compared_series.learners.items()}
    for one in lagged.values():
        one.lagged = True
    words = volumes_words(replace(compared_series, learners=lagged))
    assert "at the volume before are taken out" in words
    assert "The series that are left count as" in words
    assert "filter" not in words


def test_what_is_held_fixed(compared_series):
    words = held_words(compared_series)
    assert words.startswith("The tests hold age and mean_fd fixed. There are 2 sites")
    assert NO_MOTION not in words
    nothing = without(compared_series, covariates={}, site=None)
    assert held_words(nothing) == NO_MOTION


def test_counts_in_words():
    assert spread([3, 3]) == "3"
    assert spread([3, 3], "volumes") == "3 volumes"
    assert spread([1.2, 2, 9.6], "volumes") == "1 to 10 volumes (median 2)"
    assert spread([0.123, 0.456], digits=2) == "0.12 to 0.46 (median 0.29)"


def test_halves_of_series_are_not_measured_by_those_of_tables(compared_series):
    words = " ".join(str(compared_series.words).split())
    assert "Complementary halves of these data were compared" in words
    assert "brain tables" not in words
    assert "sure of" not in words
    assert "cannot detect inputs that all subjects share" in words
    assert "half samples of the subjects" in words


def test_there_is_no_table_of_regions(compared_series):
    with pytest.raises(InputError, match="time series"):
        _ = compared_series.regions
