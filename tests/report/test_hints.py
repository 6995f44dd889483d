from sgbn.report import hints, sections
from sgbn.report.cohort_section import findings_table, groups_table
from sgbn.report.hints import HINTS
from sgbn.report.models_section import models_table
from sgbn.report.privacy import Veil


def test_every_hint_belongs_to_a_column_and_ends_without_a_stop(compared, compared_series):
    veil = Veil(compared)
    tables = [
        *(groups_table(compared, veil), findings_table(veil.findings(compared))),
        *(sections.edges_table(compared), sections.subjects_table(compared)),
        *(sections.refinements_table(compared), sections.components_table(compared)),
        *(models_table(compared), sections.edges_table(compared_series)),
        *(sections.hubs_table(compared), sections.differences_section(compared)["table"]),
    ]
    columns = {field.source for table in tables for field in table.fields}
    assert set(HINTS) <= columns
    assert not any(hint.endswith(".") for hint in HINTS.values())


def test_family_wise_p_is_said_as_what_it_is():
    assert "Share of the permutations" in HINTS["p_fwer"]
    assert "are false" not in HINTS["p_fwer"]
    assert "difference" not in HINTS  # it means another thing in each table


def test_numbers_of_tested_edges_say_what_they_are_of(compared):
    table = sections.differences_section(compared)["table"]
    assert [field.source for field in table.fields][-2:] == ["p", "p_both"]
    said = dict(table.hints)
    assert "corrected for nothing" in said["p"]
    for title in ("q, both ways", "p, family-wise, both ways"):
        assert "change of variance alone rarely makes it small" in said[title]
    assert "may be a change of variance" in said["differs"]
    assert "in this graph" not in said
    assert "no verdict" in dict(sections.edges_table(compared).hints)["in this graph"]
    own = [value for name, value in vars(hints).items() if name.isupper() and name != "HINTS"]
    assert not any(value.endswith(".") for value in own)
