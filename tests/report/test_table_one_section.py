import numpy as np

from sgbn.comparison.steps.data import table_one_section


def test_levels_and_groups_are_named_and_tests_said(compared):
    table = table_one_section(compared)
    titles = [field.title for field in table.fields]
    assert titles[:5] == ["characteristic", *compared.groups, "test", "p"]
    rows = {row.cells[0].text: [cell.text for cell in row.cells[1:]] for row in table.rows}
    assert rows["subjects"][:2] == ["60", "60"]
    assert rows["age"][2] == "Welch's t"
    sexes = [name for name in rows if name.startswith("sex: ")]
    assert len(sexes) == 2
    assert rows[sexes[1]][3] == "–"  # a test is said once
    known = compared.tables.table_one["p"].dropna()
    assert len(known) == np.sum([row[3] != "–" for row in rows.values()])


def test_the_page_has_it_beside_the_data(html):
    data = html[html.index('<section id="data"') : html.index('<section id="networks"')]
    assert 'id="table-one"' in data
    assert "Welch" in data
