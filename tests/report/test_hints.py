from sgbn.report import sections
from sgbn.report.cohort_section import findings_table, groups_table
from sgbn.report.hints import HINTS


def test_every_hint_belongs_to_a_column_and_ends_without_a_stop(compared):
    tables = [
        *(groups_table(compared), findings_table(compared)),
        *(sections.edges_table(compared), sections.subjects_table(compared)),
        *(sections.refinements_table(compared), sections.components_table(compared)),
        *(sections.hubs_table(compared), sections.differences_section(compared)["table"]),
    ]
    columns = {field.source for table in tables for field in table.fields}
    assert set(HINTS) <= columns
    assert not any(hint.endswith(".") for hint in HINTS.values())
