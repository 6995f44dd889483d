from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from sgbn.comparison.report import skipped_steps
from sgbn.comparison.steps import networks
from sgbn.comparison.steps.accuracy import accuracy_section
from sgbn.comparison.steps.differences import differences_section


def column(table, source):
    k = [field.source for field in table.fields].index(source)
    return [row.cells[k] for row in table.rows]


def test_nothing_tested_is_no_section(compared):
    assert differences_section(replace(compared, tests=None)) is None
    assert accuracy_section(replace(compared, accuracy=None)) is None
    assert networks.refinements_table(replace(compared, refinements={})) is None


def test_all_edges_are_there_with_their_confidence(compared):
    table = networks.edges_table(compared)
    assert table.total == len(compared.tables.edges) == len(table.rows)
    shares = [float(cell.exact) for cell in column(table, "adjacent")]
    assert all(0 <= share <= 1 for share in shares)


def test_subjects_say_whether_the_prediction_is_right(compared):
    table = networks.subjects_table(compared)
    assert len(table.rows) == len(compared.cohort)
    for group, predicted, right in zip(
        *(column(table, name) for name in ("group", "predicted", "right")), strict=True
    ):
        assert right.text == ("yes" if group.text == predicted.text else "no")


def test_refinements_say_whether_the_groups_differ(compared, nothing_differs):
    assert not networks.refinements_section(nothing_differs)["differ"]
    found = compared.tests
    some = replace(nothing_differs, tests=replace(nothing_differs.tests, global_p=0.01))
    assert networks.refinements_section(some)["differ"]
    assert not networks.groups_differ(replace(compared, tests=None))
    assert networks.groups_differ(compared) == (
        found.global_p <= 0.05 or (found.edges["q_both"] <= 0.05).any()
    )


def test_rows_of_persons_are_not_called_subjects(compared):
    person = np.array([f"{one}{k // 2}" for k, one in enumerate(compared.cohort.group)])
    cohort = replace(compared.cohort, person=person)
    known = replace(compared, review=replace(compared.review, cohort=cohort))
    titles = [field.title for field in networks.networks_table(known).fields]
    assert "rows" in titles
    assert "subjects" not in titles


def test_without_an_atlas_no_table_speaks_of_lobes(compared, three_groups):
    for one, there in ((compared, True), (three_groups, False)):
        section = differences_section(one)
        assert (section["lobes"] is not None) == there
        for table in (section["table"], networks.edges_table(one)):
            assert any("lobe" in field.title for field in table.fields) == there


@pytest.mark.parametrize("gone", ["accuracy", "deviations"])
def test_subjects_without_a_step_still_have_a_table(compared, gone):
    table = networks.subjects_table(replace(compared, **{gone: None}))
    assert len(table.rows) == len(compared.cohort)


def test_networks_say_what_is_supported_and_what_halves_find_again(compared):
    table = networks.networks_table(compared)
    names = ("edges", "supported", "halves", "edges_again")
    rows = zip(*(column(table, name) for name in names), strict=True)
    for group, (edges, supported, halves, again) in zip(compared.groups, rows, strict=True):
        assert int(edges.text) == np.count_nonzero(compared.learners[group].coef_)
        assert int(supported.text) == compared.supported[group].sum()
        assert int(halves.text) == compared.confidence[group].n_halves
        assert float(again.exact) == pytest.approx(compared.confidence[group].agreement.edges)


def test_what_no_learner_has_is_no_column(compared):
    titles = [field.source for field in networks.networks_table(compared).fields]
    assert "gamma" not in titles
    bare = networks.networks_table(replace(compared, confidence={}))
    assert "edges_again" not in [field.source for field in bare.fields]


def test_skipped_steps_have_their_words():
    few = SimpleNamespace(
        groups=("a", "b"),
        confidence={"a": None},
        skipped={"accuracy": "too few", "confidence": "few"},
    )
    assert skipped_steps(few) == [
        ("Telling the groups apart, cross-validated", "too few"),
        ("Confidence of edges, from half samples, of b", "few"),
    ]


def test_support_is_a_word_in_the_tables(compared):
    for table in (networks.edges_table(compared), differences_section(compared)["table"]):
        assert {cell.text for cell in column(table, "supported")} <= {"yes", "no"}
