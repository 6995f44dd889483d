from dataclasses import replace

import numpy as np
import pytest

from sgbn.comparison.methods import describe_methods
from sgbn.comparison.report import render_report
from sgbn.comparison.steps.sensitivity import Sensitivity, checks_section
from sgbn.write.page import HINTS

RELATED = HINTS["residuals-table"]["of_relatives"]


@pytest.fixture(scope="module")
def repeated(compared):
    """As if all repetitions had found the same."""
    tests = {"half": compared.tests, "twice": compared.tests}
    return replace(compared, sensitivity=Sensitivity(tests))


def test_residuals_have_a_row_per_group(compared):
    shown = checks_section(compared)
    assert [row.cells[0].text for row in shown["residuals"].rows] == list(compared.groups)
    assert [field.title for field in shown["residuals"].fields][:2] == ["group", "subjects"]
    cohort = replace(compared.cohort, person=np.array([f"p{k}" for k in compared.cohort.ids]))
    repeats = replace(compared, review=replace(compared.review, cohort=cohort))
    vars(repeats)["tables"] = compared.tables
    fields = checks_section(repeats)["residuals"].fields
    assert fields[1].title == "rows"
    assert [RELATED in field.hint for field in fields[2:4]] == [True, True]
    assert not any(RELATED in field.hint for field in shown["residuals"].fields[2:4])
    assert shown["sensitivity"] == ""
    assert shown["pairs"] is None


def test_pairs_of_other_choices_are_marked(repeated):
    shown = checks_section(repeated)
    found = (repeated.tests.edges["q_both"] <= 0.05).sum()
    assert found > 0
    assert shown["pairs"].total == found
    assert {row.mark for row in shown["pairs"].rows} == {"found"}
    assert shown["sensitivity"]
    assert "39 permutations each" in describe_methods(repeated).text


def test_the_page_says_what_was_not_asked_for(repeated, html, no_pictures):
    assert "--sensitivity" in html
    page = render_report(repeated, pictures=no_pictures)
    assert checks_section(repeated)["sensitivity"] in page
    assert "half the penalty on edges" in page


def test_small_groups_have_no_residuals_and_the_page_says_why(compared, no_pictures):
    tables = compared.tables._replace(residuals=compared.tables.residuals.iloc[:0])
    small = replace(compared, skipped={"sensitivity": "too few <rows>"})
    vars(small)["tables"] = tables
    assert checks_section(small)["residuals"] is None
    page = render_report(small, pictures=no_pictures)
    assert "too small to look at residuals" in page
    assert "too few &lt;rows&gt;" in page
