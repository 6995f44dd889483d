from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from sgbn.comparison.report import Veil
from sgbn.comparison.steps.data import cohort_section, findings_table, groups_table

EACH = {"control": ("s0",), "patient": ("s1",)}


def rows_of(table):
    return {row.cells[0].text: [cell.text for cell in row.cells[1:]] for row in table.rows}


def test_groups_stand_beside_each_other_the_reference_first(compared):
    table = groups_table(compared, Veil(compared))
    assert all(field.title for field in table.fields)  # a heading without text says nothing
    assert [field.title for field in table.fields[1:]] == list(compared.groups)
    rows = rows_of(table)
    assert rows["subjects"] == ["60", "60"]
    gaps = np.isnan(compared.cohort.values)
    own = [np.asarray(compared.cohort.group) == group for group in compared.groups]
    assert rows["missing cells of regions"] == [f"{gaps[rows].mean():.1%}" for rows in own]


def test_persons_and_families_are_counted(compared):
    person = np.array([f"{one}{k // 2}" for k, one in enumerate(compared.cohort.group)])
    cohort = replace(compared.cohort, person=person, block=person)
    persons = replace(compared, review=replace(compared.review, cohort=cohort))
    rows = rows_of(groups_table(persons, Veil(persons)))
    counts = [str(len({p for p in person if p.startswith(one)})) for one in compared.groups]
    assert rows["rows"] == ["60", "60"]
    assert rows["persons"] == rows["families (blocks)"] == counts


def test_every_finding_is_there_with_its_action(compared):
    findings = Veil(compared, lifted=True).findings(compared)
    shown = [[cell.text for cell in row.cells] for row in findings_table(findings).rows]
    assert shown == [list(finding[:3]) for finding in compared.review.findings]
    assert shown


def test_missing_cells_are_counted(compared):
    values = compared.cohort.values
    text = cohort_section(compared, Veil(compared))["missing"]
    assert text.startswith(f"{np.isnan(values).sum()} of {values.size} cells")


def test_who_was_left_out_is_counted_and_other_visits_apart(compared):
    far = {group: np.zeros(60, bool) for group in compared.groups}
    far["patient"][0] = True
    learners = {group: SimpleNamespace(outliers_=own) for group, own in far.items()}
    first = compared.cohort.ids[60]
    for visits, apart in (({"control": (), "patient": (first,)}, False), (EACH, True)):
        found = replace(compared.tests, left_out=visits)
        changed = replace(compared, learners=learners, tests=found)
        rows = rows_of(groups_table(changed, Veil(changed)))
        assert rows["outliers, left out"] == ["none", "1 (tables/left_out.csv names them)"]
        assert ("left out of the tests, with all their rows" in rows) == apart
    named = rows_of(groups_table(changed, Veil(changed, lifted=True)))
    assert named["outliers, left out"] == ["none", first]
    assert named["left out of the tests, with all their rows"] == ["s0", "s1"]
