from dataclasses import replace

import numpy as np

from sgbn.comparison.accuracy import OURS
from sgbn.report.methods import describe_methods
from sgbn.report.recognised_section import recognised_section


def test_sensitivity_and_specificity_of_each_classifier(compared):
    shown = recognised_section(compared)
    titles = [field.title for field in shown["table"].fields]
    assert titles == ["classifier", "sensitivity", "specificity", "p of the balanced accuracy"]
    methods = [row.cells[0].text for row in shown["table"].rows]
    assert sorted(methods) == sorted(compared.accuracy.probabilities)
    assert "Sensitivity is the share of patient" in shown["words"]
    assert OURS in shown["words"]


def test_more_groups_have_their_recall(three_groups):
    shown = recognised_section(three_groups)
    assert [field.source for field in shown["table"].fields[1:4]] == [
        f"recall, {group}" for group in "abc"
    ]
    assert "Sensitivity" not in shown["words"]


def test_where_p_comes_from_is_said(compared):
    assert "--accuracy-permutations 99" in recognised_section(compared)["words"]
    permuted = replace(compared.accuracy, permuted=np.linspace(0.4, 0.6, 39))
    words = recognised_section(replace(compared, accuracy=permuted))["words"]
    assert "by 39 exchanges of the labels" in words
    methods = describe_methods(replace(compared, accuracy=permuted)).text
    assert "tested by 39 exchanges of the labels" in methods


def test_nothing_is_said_where_nothing_was_tried(compared):
    assert recognised_section(replace(compared, accuracy=None)) is None


def test_the_page_has_table_and_curve(html):
    assert 'id="recognised-table"' in html
    assert "ROC curves" in html
