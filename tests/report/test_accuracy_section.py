from dataclasses import replace

import numpy as np
import pytest

from sgbn.comparison.methods import describe_methods
from sgbn.comparison.report import render_report
from sgbn.comparison.steps.accuracy import OURS, accuracy_section
from sgbn.learn.peers import COVARIATES_ALONE


def column(table, source):
    k = [field.source for field in table.fields].index(source)
    return [row.cells[k] for row in table.rows]


def test_classifiers_are_sorted_and_covariates_stand_out(compared):
    section = accuracy_section(compared)
    table = section["table"]
    marks = {row.cells[0].text: row.mark for row in table.rows}
    assert marks[OURS] == "ours"
    assert marks[COVARIATES_ALONE] == "covariates"
    means = [float(cell.text.split()[0]) for cell in column(table, "balanced accuracy")]
    assert means == sorted(means, reverse=True)
    assert section["gain"]


def test_sensitivity_and_specificity_of_each_classifier(compared):
    shown = accuracy_section(compared)
    titles = [field.title for field in shown["recognised"].fields]
    assert titles == ["classifier", "sensitivity", "specificity", "p of the balanced accuracy"]
    methods = [row.cells[0].text for row in shown["recognised"].rows]
    assert sorted(methods) == sorted(compared.accuracy.probabilities)
    assert shown["sensitivity_of"] == "patient"
    assert shown["ours"] == OURS


def test_more_groups_have_their_recall(three_groups):
    shown = accuracy_section(three_groups)
    assert [field.source for field in shown["recognised"].fields[1:4]] == [
        f"recall, {group}" for group in "abc"
    ]
    assert shown["sensitivity_of"] == ""


def test_where_p_comes_from_is_said(compared, html, no_pictures):
    assert "Sensitivity is the share of patient" in html
    assert "--accuracy-permutations 99" in html
    permuted = replace(compared.accuracy, permuted=np.linspace(0.4, 0.6, 39))
    tested = replace(compared, accuracy=permuted)
    assert "by 39 permutations of the labels" in render_report(tested, pictures=no_pictures)
    assert "tested by 39 permutations of the labels" in describe_methods(tested).text


@pytest.mark.parametrize(
    ("p", "said"), [(np.nan, "unknown"), (1e-9, "below 0.001"), (0.5, "0.500")]
)
def test_p_is_a_number_a_bound_or_unknown(compared, monkeypatch, p, said):
    monkeypatch.setattr(type(compared.accuracy), "p_value", lambda *_: p)
    assert accuracy_section(compared)["p"] == said


def test_nothing_is_said_where_nothing_was_tried(compared):
    assert accuracy_section(replace(compared, accuracy=None)) is None


def test_the_page_has_table_and_curve(html):
    assert 'id="recognised-table"' in html
    assert "ROC curves" in html
