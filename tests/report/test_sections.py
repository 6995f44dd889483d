import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import ndtri

from sgbn.comparison.accuracy import OURS
from sgbn.comparison.changes import changes_per_sd
from sgbn.comparison.peers import COVARIATES_ALONE
from sgbn.inference import kinds_of_change
from sgbn.inference.difference_summaries import Component
from sgbn.report import hints, sections


def column(table, source):
    k = [field.source for field in table.fields].index(source)
    return [row.cells[k] for row in table.rows]


def with_q(comparison, q, q_both=None):
    found = comparison.tests
    edges = found.edges.copy()
    edges["q"], edges["q_both"] = q, q if q_both is None else q_both
    edges["p_fwer_both"] = np.minimum(1.0, 10 * edges["q_both"])
    return replace(comparison, tests=replace(found, edges=edges))


def test_significant_edges_come_first_and_say_so(compared):
    count = len(compared.tests.edges)
    q = np.r_[0.5, np.linspace(0.04, 0.001, count - 1)]  # the surest last
    both = np.r_[0.5, 0.5, np.linspace(0.04, 0.001, count - 2)]
    section = sections.differences_section(with_q(compared, q, both))
    table = section["table"]
    said = [cell.text for cell in column(table, "found")]
    order = [sections.FAMILY_WISE, sections.BOTH_WAYS, sections.ONE_WAY, sections.NOT_FOUND]
    places = [order.index(text) for text in said]
    assert places == sorted(places)
    assert set(places) == {0, 1, 2, 3}
    marks = [row.mark for row in table.rows]
    assert marks == [{"one way only": "one-way", "no": ""}.get(text, "found") for text in said]
    assert marks.count("found") == section["significant"] == (both <= 0.05).sum()
    assert marks.count("one-way") == section["one_way"] == 1


def test_counts_of_the_text_are_those_of_the_table(compared):
    section = sections.differences_section(with_q(compared, 0.04))
    count = len(section["table"].rows)
    assert section["significant"] == count
    assert f"{count} of {count} tested pairs differ" in section["lines"][0]
    assert "(0 also family-wise)" in section["lines"][0]
    assert section["overall"] == compared.words.verdict[0]


def test_the_table_of_differences_has_all_that_is_asked_for(compared):
    table = sections.differences_section(compared)["table"]
    sources = {field.source for field in table.fields}
    assert sources >= {"source", "target", "source_lobe", "target_lobe", "difference", "statistic"}
    assert sources >= {
        "p",
        "p_fwer",
        "q",
        "error",
        "q_both",
        "p_fwer_both",
        "p_both",
        "standard_error",
        "supported",
        "true_change",
        "change_interval",
    }
    for group in compared.groups:
        assert sources >= {
            f"weight_{group}",
            f"weight_std_{group}",
            f"adjacent_{group}",
            f"true_{group}",
        }


def test_without_truth_there_is_no_column_of_it(three_groups):
    table = sections.differences_section(three_groups)["table"]
    assert not any("true" in field.source for field in table.fields)
    assert {f"weight_{g}" for g in "abc"} <= {field.source for field in table.fields}


def test_nothing_tested_is_no_section(compared):
    assert sections.differences_section(replace(compared, tests=None)) is None
    assert sections.accuracy_section(replace(compared, accuracy=None)) is None
    assert sections.refinements_table(replace(compared, refinements={})) is None


def test_all_edges_are_there_with_their_confidence(compared):
    table = sections.edges_table(compared)
    assert table.total == len(compared.tables.edges) == len(table.rows)
    shares = [float(cell.exact) for cell in column(table, "adjacent")]
    assert all(0 <= share <= 1 for share in shares)


def test_classifiers_are_sorted_and_covariates_stand_out(compared):
    section = sections.accuracy_section(compared)
    table = section["table"]
    marks = {row.cells[0].text: row.mark for row in table.rows}
    assert marks[OURS] == "ours"
    assert marks[COVARIATES_ALONE] == "covariates"
    means = [float(cell.text.split()[0]) for cell in column(table, "balanced accuracy")]
    assert means == sorted(means, reverse=True)
    assert section["gain"]


def test_subjects_say_whether_the_prediction_is_right(compared):
    table = sections.subjects_table(compared)
    assert len(table.rows) == len(compared.cohort)
    for group, predicted, right in zip(
        *(column(table, name) for name in ("group", "predicted", "right")), strict=True
    ):
        assert right.text == ("yes" if group.text == predicted.text else "no")


@pytest.mark.parametrize("gone", ["accuracy", "deviations"])
def test_subjects_without_a_step_still_have_a_table(compared, gone):
    table = sections.subjects_table(replace(compared, **{gone: None}))
    assert len(table.rows) == len(compared.cohort)


def test_networks_say_what_is_supported_and_what_halves_find_again(compared):
    table = sections.networks_table(compared)
    names = ("edges", "supported", "halves", "edges_again")
    rows = zip(*(column(table, name) for name in names), strict=True)
    for group, (edges, supported, halves, again) in zip(compared.groups, rows, strict=True):
        assert int(edges.text) == np.count_nonzero(compared.learners[group].coef_)
        assert int(supported.text) == compared.supported[group].sum()
        assert int(halves.text) == compared.confidence[group].n_halves
        assert float(again.exact) == pytest.approx(compared.confidence[group].agreement.edges)


def test_what_no_learner_has_is_no_column(compared):
    titles = [field.source for field in sections.networks_table(compared).fields]
    assert "gamma" not in titles
    bare = sections.networks_table(replace(compared, confidence={}))
    assert "edges_again" not in [field.source for field in bare.fields]


def test_skipped_steps_have_their_words():
    few = SimpleNamespace(
        groups=("a", "b"),
        confidence={"a": None},
        skipped={"accuracy": "too few", "confidence": "few"},
    )
    assert sections.skipped_steps(few) == [
        ("Telling the groups apart, cross-validated", "too few"),
        ("Confidence of edges, from half samples, of b", "few"),
    ]


def test_support_is_a_word_in_the_tables(compared):
    for table in (sections.edges_table(compared), sections.differences_section(compared)["table"]):
        assert {cell.text for cell in column(table, "supported")} <= {"yes", "no"}


@pytest.mark.parametrize(
    ("first", "last", "sign", "said"),
    [
        ([-0.66, -0.5], [0.0, -0.2], 1, "1 lost, 1 weaker"),
        ([0.2, 0.0], [0.5, 0.2], 1, "1 stronger, 1 gained"),
        ([0.5, -0.2], [-0.5, 0.6], -1, "2 sign changed"),
    ],
)
def test_a_set_says_what_becomes_of_its_edges(compared, first, last, sign, said):
    """The sign of a difference says nothing about it: from -0.66 to 0 an edge is lost."""
    found = compared.tests
    edges = found.edges.copy()
    places = [[found.regions.index(edges[end][k]) for end in ("source", "target")] for k in (0, 1)]
    known = replace(
        compared,
        tests=replace(
            found, edges=edges, components=[(Component(sign, np.array(places), 1.0), 0.02, 0.01)]
        ),
    )
    kinds = compared.tables.differences.copy()
    for row, (before, after) in enumerate(zip(first, last, strict=True)):
        kinds.loc[row, "kind_patient"] = str(kinds_of_change([before], [after])[0])
    vars(known)["tables"] = known.tables._replace(differences=kinds)
    table = sections.components_table(known)
    assert [cell.text for cell in column(table, "kinds")] == [said, said]
    assert len(column(table, "kind")) == 2


def test_sets_of_more_than_two_groups_have_no_kind(three_groups):
    found = three_groups.tests
    edge = [found.regions.index(found.edges[end][0]) for end in ("source", "target")]
    one = [(Component(0, np.array([edge]), 1.0), 0.02, 0.01)]
    changed = replace(three_groups, tests=replace(found, components=one))
    sources = [field.source for field in sections.components_table(changed).fields]
    assert not {"kind", "kinds"} & set(sources)


def test_what_is_asked_for_first_does_not_fold(compared):
    table = sections.differences_section(compared)["table"]
    open_columns = [field.source for field in table.fields if not field.folds]
    assert open_columns == [
        *("found", "kind_patient", "source", "target", "weight_std_control", "weight_std_patient"),
        *("change_interval", "q_both", "adjacent_control", "adjacent_patient"),
    ]


def test_a_change_has_an_interval_of_two_errors(compared):
    table = sections.differences_section(compared)["table"]
    plain = sections.with_labels(compared, compared.tables.differences)
    plain = plain.set_index(["source", "target"])
    ends = [tuple(cell.text for cell in row.cells[2:4]) for row in table.rows]
    wanted = plain.loc[ends, "difference_std"] - ndtri(0.975) * plain.loc[ends, "standard_error"]
    shown = [float(cell.exact) for cell in column(table, "low")]
    np.testing.assert_allclose(shown, wanted, rtol=1e-4)
    text = column(table, "change_interval")[0].text
    assert re.fullmatch(r"−?\d\.\d\d \(−?\d\.\d\d to −?\d\.\d\d\)", text)


def test_refinements_say_whether_the_groups_differ(compared, nothing_differs):
    assert not sections.refinements_section(nothing_differs)["differ"]
    found = compared.tests
    some = replace(nothing_differs, tests=replace(nothing_differs.tests, global_p=0.01))
    assert sections.refinements_section(some)["differ"]
    assert not sections.groups_differ(replace(compared, tests=None))
    assert sections.groups_differ(compared) == (
        found.global_p <= 0.05 or (found.edges["q_both"] <= 0.05).any()
    )


def test_rows_of_persons_are_not_called_subjects(compared):
    person = np.array([f"{one}{k // 2}" for k, one in enumerate(compared.cohort.group)])
    cohort = replace(compared.cohort, person=person)
    known = replace(compared, review=replace(compared.review, cohort=cohort))
    titles = [field.title for field in sections.networks_table(known).fields]
    assert "rows" in titles
    assert "subjects" not in titles


def test_each_of_three_groups_has_its_change_from_the_reference(three_groups):
    table = sections.differences_section(three_groups)["table"]
    titles = {field.source: field.title for field in table.fields}
    assert titles["change_b"] == "change per SD, b"
    assert not {"difference", "difference_std"} & set(titles)
    order = [tuple(cell.text for cell in row.cells[3:5]) for row in table.rows]
    plain = sections.with_labels(three_groups, three_groups.tables.differences)
    places = [order.index(ends) for ends in zip(plain["source"], plain["target"], strict=True)]
    for group, changes in changes_per_sd(three_groups, plain).items():
        shown = np.array([float(cell.exact) for cell in column(table, f"change_{group}")])
        np.testing.assert_allclose(shown[places], changes, rtol=1e-5)


def test_a_difference_is_explained_by_the_table_that_it_is_in(compared, three_groups):
    def said(table):
        return {field.hint for field in table.fields if field.source == "difference"}

    assert said(sections.refinements_table(compared)) == {hints.CHANGE_BY_REFINEMENT}
    assert said(sections.differences_section(compared)["table"]) == {hints.CHANGE}
    for make in (sections.hubs_table, sections.lobes_table):
        assert said(make(compared)) == {hints.CHANGE_OF_SUM}
        assert said(make(three_groups)) == {hints.RANGE_OF_SUM}


def test_without_an_atlas_no_table_speaks_of_lobes(compared, three_groups):
    for one, there in ((compared, True), (three_groups, False)):
        section = sections.differences_section(one)
        assert (section["lobes"] is not None) == there
        for table in (section["table"], sections.edges_table(one)):
            assert any("lobe" in field.title for field in table.fields) == there


def test_only_what_is_found_to_differ_has_a_kind(compared):
    table = sections.differences_section(compared)["table"]
    found = [cell.text for cell in column(table, "found")]
    kinds = [cell.text for cell in column(table, "kind_patient")]
    assert [kind == "–" for kind in kinds] == [one == "no" for one in found]
    assert len(set(found)) > 1
