from sgbn.report import sections
from sgbn.report.cohort_section import findings_table, groups_table
from sgbn.report.hints import HINTS
from sgbn.report.models_section import models_table


def test_every_hint_belongs_to_a_column_and_ends_without_a_stop(compared):
    tables = [
        *(groups_table(compared), findings_table(compared)),
        *(sections.edges_table(compared), sections.subjects_table(compared)),
        *(sections.refinements_table(compared), sections.components_table(compared)),
        models_table(compared),
        *(sections.hubs_table(compared), sections.differences_section(compared)["table"]),
    ]
    columns = {field.source for table in tables for field in table.fields}
    assert set(HINTS) <= columns
    assert not any(hint.endswith(".") for hint in HINTS.values())


def test_family_wise_p_is_said_as_what_it_is():
    assert "Share of the permutations" in HINTS["p_fwer"]
    assert "are false" not in HINTS["p_fwer"]
    assert "difference" not in HINTS  # it means another thing in each table


def test_p_and_the_arrow_of_tested_edges_say_what_they_are_of(compared):
    table = sections.differences_section(compared)["table"]
    assert [field.source for field in table.fields][-2:] == ["p", "graph_direction"]
    said = dict(table.hints)
    assert "can be larger than the family-wise p" in said["p"]
    assert "can differ from the groups' networks" in said["in the tested graph"]
    edges = dict(sections.edges_table(compared).hints)
    assert "can differ" not in edges["in this graph"]
    assert "no verdict" in edges["in this graph"]
