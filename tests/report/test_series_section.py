import re

import pytest

from sgbn.comparison.report import python_code, render_report, write_comparison
from sgbn.comparison.step import NOT_FOR_SERIES
from sgbn.comparison.steps.differences import differences_table
from sgbn.comparison.steps.networks import edges_table
from sgbn.comparison.steps.series_data import series_section


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
    assert [row.cells[0].text for row in table.rows] == [*compared_series.cohort.ids]
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
    for reason in NOT_FOR_SERIES.values():
        assert f"{reason}." in page


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
