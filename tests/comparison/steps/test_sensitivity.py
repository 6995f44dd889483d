from dataclasses import replace

import numpy as np
import pytest

from sgbn.comparison.methods import describe_methods
from sgbn.comparison.report import render_report
from sgbn.comparison.steps.sensitivity import (
    Sensitivity,
    checks_section,
    other_choices,
    sensitivity_table,
    sensitivity_words,
)
from sgbn.learn.sgbn import SGBN
from sgbn.write.page import HINTS


def test_the_tests_are_repeated_with_other_sparsity_and_order(whole):
    tests = whole.sensitivity.tests
    assert list(tests) == ["half", "twice", "other_order"]
    assert {one.n_permutations for one in tests.values()} == {20}
    assert len(tests["half"].edges) >= len(whole.tests.edges) >= len(tests["twice"].edges)
    assert len(tests["half"].edges) > len(tests["twice"].edges)
    assert "sensitivity" in whole.seconds
    assert [one.left_out for one in tests.values()] == [whole.tests.left_out] * 3


def test_prior_knowledge_leaves_the_other_order_out(whole):
    first, second = whole.cohort.regions[:2]
    searcher = SGBN(outliers="keep", forbidden=[(first, second)])
    assert list(other_choices(whole.prepared, searcher)) == ["half", "twice"]


def changed(comparison, q_of):
    """Give each test of pairs these q, by the number of the pair; all others 1."""
    edges = comparison.tests.edges

    def with_q(given):
        table = edges.copy()
        table["q_both"] = 1.0
        for place, q in given.items():
            table["q_both"][place] = q
        return replace(comparison.tests, edges=table)

    tests = {name: with_q(given) for name, given in q_of.items() if name}
    return replace(comparison, tests=with_q(q_of[""]), sensitivity=Sensitivity(tests))


def test_pairs_that_stay_are_told_from_those_that_do_not(whole):
    found = changed(
        whole, {"": {0: 0.01, 1: 0.02}, "half": {0: 0.01, 2: 0.03}, "twice": {0: 0.04, 1: 0.02}}
    )
    table = sensitivity_table(found)
    assert table["found"].tolist() == [True, True, False]
    assert table["stays"].tolist() == [True, False, False]
    assert table["q_both_half"].tolist() == [0.01, 1.0, 0.03]
    assert sensitivity_words(found).startswith("1 of the 2 pairs that differ are found in each")
    assert "1 with half the penalty on edges and 2 with twice" in sensitivity_words(found)


def test_an_arrow_that_is_written_the_other_way_is_the_same_pair(whole):
    found = changed(whole, {"": {0: 0.01}, "half": {0: 0.01}})
    half = found.sensitivity.tests["half"]
    turned = half.edges.copy()
    turned["source"], turned["target"] = half.edges["target"], half.edges["source"]
    found = replace(found, sensitivity=Sensitivity({"half": replace(half, edges=turned)}))
    (row,) = sensitivity_table(found).to_dict("records")
    assert row["stays"]
    assert row["source"] == whole.tests.edges["source"][0]


def test_one_pair_none_and_nothing_tried_have_words(whole):
    one = changed(whole, {"": {0: 0.01}, "half": {}})
    assert sensitivity_words(one).startswith("The pair that differs is not found")
    none = changed(whole, {"": {}, "half": {}})
    assert "no pair is found in these either" in sensitivity_words(none)
    other = changed(whole, {"": {}, "half": {1: 0.01}})
    assert "not a finding by itself" in sensitivity_words(other)
    assert sensitivity_words(replace(whole, sensitivity=None)) == ""
    assert sensitivity_table(replace(whole, sensitivity=None)).empty


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
