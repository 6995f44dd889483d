import re
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from tests.codes import refused

from sgbn.comparison.report import python_code, render_report, write_comparison
from sgbn.comparison.steps import STEPS
from sgbn.comparison.steps.differences import differences_table
from sgbn.comparison.steps.networks import edges_table
from sgbn.comparison.steps.series_data import (
    COMPARED,
    NO_MOTION,
    held_words,
    series_section,
    series_words,
    spread,
    volumes_words,
)
from sgbn.prepare.series_review import series_quality


@pytest.fixture(scope="module")
def page(compared_series):
    return render_report(compared_series, pictures={})


def test_of_tables_there_is_no_such_section(compared):
    assert series_section(compared, named=True) is None


def test_groups_beside_each_other(compared_series):
    shown = series_section(compared_series, named=False)
    assert [field.title for field in shown["groups"].fields] == [
        "of a subject",
        "control",
        "patient",
    ]
    assert [row.cells[0].text for row in shown["groups"].rows] == [
        *("volumes", "runs", "effective volumes", "order of the filter"),
        *("autocorrelation", "mean FD"),
    ]
    assert re.fullmatch(r"\d+ to \d+ \(median \d+\)", shown["groups"].rows[0].cells[1].text)
    assert shown["subjects"] is None


def test_subjects_are_listed_only_if_asked_for(compared_series, page, html_of_series):
    table = series_section(compared_series, named=True)["subjects"]
    assert [row.cells[0].text for row in table.rows] == [*compared_series.given]
    assert "sub-000" not in page
    assert "sub-000" in html_of_series


def test_the_page_has_no_section_that_reads_series_as_measures(page):
    for key in ("regional", "refinement"):
        assert f'id="{key}"' not in page
        assert f'href="#{key}"' not in page
    assert "residuals fit" not in page
    assert "Means of regions" not in page
    assert "Missing:" not in page
    assert "missing cells" not in page


def test_the_page_says_what_is_compared_and_what_is_not_done(page):
    assert "each from its own time series" in page
    assert "over volumes carry no information" in page
    reasons = [step.not_for_series for step in STEPS if step.not_for_series]
    assert all(f"{reason}." in page for reason in reasons)


def test_the_paper_to_cite_is_that_of_the_idea(page):
    assert "Please cite the paper that proposed this idea" in page
    cited = page.split("How to cite")[1].split("</ul>")[0]
    assert "Six problems for causal inference from fMRI" in cited


def test_the_first_screen_counts_volumes(page):
    assert re.search(r"<li><strong>\d+ to \d+</strong> volumes per subject</li>", page)


def test_edges_show_support_and_no_other_units(compared_series, compared):
    titles = [field.title for field in edges_table(compared_series).fields]
    assert {"subjects that support it", "stays without a tenth"} <= {*titles}
    assert "weight" not in titles
    of_rows = [field.title for field in edges_table(compared).fields]
    assert "subjects that support it" not in of_rows
    assert "weight" in of_rows
    tested = differences_table(compared_series, compared_series.differences)
    assert "weight, control" not in [field.title for field in tested.fields]


def test_code_that_repeats_it_reads_series(compared_series):
    code = python_code(compared_series)
    assert "sgbn.read_series(...)" in code
    assert "learner=sgbn.SeriesSGBN(n_pairs=4)" in code


def test_the_folder_has_the_series_and_no_table_without_meaning(
    compared_series, tmp_path, no_figures
):
    names = {
        path.relative_to(tmp_path).as_posix()
        for path in write_comparison(compared_series, tmp_path)
    }
    assert "tables/series.csv" in names
    assert not names & {"tables/regional.csv", "tables/residuals.csv", "model.sgbn"}
    assert "weights of each subject" in (tmp_path / "summary.txt").read_text()


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
    with refused("result.series"):
        _ = compared_series.regions


def test_one_row_per_subject(compared_series, chains_of_series):
    table = compared_series.tables.series
    assert table["subject"].tolist() == [*chains_of_series.ids]
    assert table["group"].tolist() == chains_of_series.group.tolist()
    assert table["volumes"].tolist() == [*chains_of_series.n_volumes]
    assert (table["runs"] == 1).all()
    quality = series_quality(chains_of_series)
    for name in ("autocorrelation", "slow_power", "fast_power", "mean_fd"):
        assert np.array_equal(table[name], quality[name])
    patients = [*compared_series.cohort.subset(groups="patient").ids]
    moments, table = compared_series.learners["patient"].moments_, table.set_index("subject")
    assert np.array_equal(table.loc[patients, "effective_volumes"], moments.n)
    assert np.array_equal(table.loc[patients, "ar_order"], moments.ar_order)


def test_table_one_describes_volumes_and_covariates(compared_series):
    table = compared_series.tables.table_one
    names = ["subjects", "volumes", "effective volumes", "age", "mean_fd", "site", "site"]
    assert table["characteristic"].tolist() == names
    assert table.loc[1, "test"] == "Welch's t"
    assert [*compared_series.cohort.covariates] == ["age", "mean_fd"]


def test_edges_say_how_many_subjects_support_them(compared_series):
    table = compared_series.tables.edges
    regions = compared_series.cohort.regions
    for row in table.to_dict("records"):
        learner = compared_series.learners[row["group"]]
        place = regions.index(row["source"]), regions.index(row["target"])
        assert row["support_share"] == learner.support_share_[place]
        assert row["survives"] == learner.survives_[place]
        assert row["weight"] == learner.coef_[place] == row["weight_std"]
        assert learner.coef_low_[place] == row["low"] <= row["weight"] <= row["high"]


def test_tables_without_meaning_for_series_are_empty(compared_series):
    tables = compared_series.tables
    assert tables.regional.empty
    assert tables.residuals.empty
    assert tables.models.empty


def test_weights_have_no_other_units(compared_series):
    table = compared_series.differences
    for group in compared_series.groups:
        assert np.array_equal(table[f"weight_std_{group}"], table[f"weight_{group}"])


def test_of_rows_there_is_no_such_table(networks_alone):
    assert networks_alone.tables.series.empty
    assert "support_share" not in networks_alone.tables.edges
