import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri

from sgbn.comparison.names import with_labels
from sgbn.comparison.steps.differences import (
    VERDICTS,
    changes_per_sd,
    components_table,
    differences_section,
    hubs_table,
    lobes_table,
)
from sgbn.comparison.steps.networks import refinements_table
from sgbn.core.graph import kinds_of_change
from sgbn.inference.permutations import Component
from sgbn.write.page import HINTS


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
    section = differences_section(with_q(compared, q, both))
    table = section["table"]
    said = [cell.text for cell in column(table, "found")]
    places = [VERDICTS.index(text) for text in said]
    assert places == sorted(places)
    assert set(places) == {0, 1, 2, 3}
    marks = [row.mark for row in table.rows]
    assert marks == [{"one way only": "one-way", "no": ""}.get(text, "found") for text in said]
    assert marks.count("found") == section["significant"] == (both <= 0.05).sum()
    assert marks.count("one-way") == 1


def test_counts_of_the_text_are_those_of_the_table(compared):
    section = differences_section(with_q(compared, 0.04))
    count = len(section["table"].rows)
    assert section["significant"] == count
    assert f"{count} of {count} tested pairs differ" in section["lines"][0]
    assert "(0 also family-wise)" in section["lines"][0]
    assert section["overall"] == compared.words.verdict[0]


def test_the_table_of_differences_has_all_that_is_asked_for(compared):
    table = differences_section(compared)["table"]
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
    table = differences_section(three_groups)["table"]
    assert not any("true" in field.source for field in table.fields)
    assert {f"weight_{g}" for g in "abc"} <= {field.source for field in table.fields}


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
    table = components_table(known)
    assert [cell.text for cell in column(table, "kinds")] == [said, said]
    assert len(column(table, "kind")) == 2


def test_sets_of_more_than_two_groups_have_no_kind(three_groups):
    found = three_groups.tests
    edge = [found.regions.index(found.edges[end][0]) for end in ("source", "target")]
    one = [(Component(0, np.array([edge]), 1.0), 0.02, 0.01)]
    changed = replace(three_groups, tests=replace(found, components=one))
    sources = [field.source for field in components_table(changed).fields]
    assert not {"kind", "kinds"} & set(sources)


def test_what_is_asked_for_first_does_not_fold(compared):
    table = differences_section(compared)["table"]
    open_columns = [field.source for field in table.fields if not field.folds]
    assert open_columns == [
        *("found", "kind_patient", "source", "target", "weight_std_control", "weight_std_patient"),
        *("change_interval", "q_both", "adjacent_control", "adjacent_patient"),
    ]


def test_a_change_has_an_interval_of_two_errors(compared):
    table = differences_section(compared)["table"]
    plain = with_labels(compared, compared.tables.differences)
    plain = plain.set_index(["source", "target"])
    ends = [tuple(cell.text for cell in row.cells[2:4]) for row in table.rows]
    wanted = plain.loc[ends, "difference_std"] - ndtri(0.975) * plain.loc[ends, "standard_error"]
    shown = [float(cell.exact) for cell in column(table, "low")]
    np.testing.assert_allclose(shown, wanted, rtol=1e-4)
    text = column(table, "change_interval")[0].text
    assert re.fullmatch(r"−?\d\.\d\d \(−?\d\.\d\d to −?\d\.\d\d\)", text)


def test_each_of_three_groups_has_its_change_from_the_reference(three_groups):
    table = differences_section(three_groups)["table"]
    titles = {field.source: field.title for field in table.fields}
    assert titles["change_b"] == "change per SD, b"
    assert not {"difference", "difference_std"} & set(titles)
    order = [tuple(cell.text for cell in row.cells[3:5]) for row in table.rows]
    plain = with_labels(three_groups, three_groups.tables.differences)
    places = [order.index(ends) for ends in zip(plain["source"], plain["target"], strict=True)]
    for group, changes in changes_per_sd(three_groups, plain).items():
        shown = np.array([float(cell.exact) for cell in column(table, f"change_{group}")])
        np.testing.assert_allclose(shown[places], changes, rtol=1e-5)


def test_only_what_is_found_to_differ_has_a_kind(compared):
    table = differences_section(compared)["table"]
    found = [cell.text for cell in column(table, "found")]
    kinds = [cell.text for cell in column(table, "kind_patient")]
    assert [kind == "–" for kind in kinds] == [one == "no" for one in found]
    assert len(set(found)) > 1


def test_a_difference_is_explained_by_the_table_that_it_is_in(compared, three_groups):
    def said(table):
        return dict(table.hints)["change" if "change" in dict(table.hints) else "range"]

    tables = [refinements_table(compared), differences_section(compared)["table"]]
    tables += [hubs_table(compared), hubs_table(three_groups)]
    assert len({said(table) for table in tables}) == 4
    for make in (hubs_table, lobes_table):
        assert said(make(compared)) == HINTS["sums"]["change"]
        assert said(make(three_groups)) == HINTS["sums"]["range"]
