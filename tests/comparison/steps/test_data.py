from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from sgbn.cohort.cohort import Cohort
from sgbn.comparison.result import Comparison
from sgbn.comparison.steps.data import (
    MOST_NAMED,
    cohort_section,
    findings_table,
    groups_table,
    left_out_words,
    origin_words,
    table_one,
    table_one_section,
)

EACH = {"control": ("s0",), "patient": ("s1",)}


def rows_of(table):
    return {row.cells[0].text: [cell.text for cell in row.cells[1:]] for row in table.rows}


def test_groups_stand_beside_each_other_the_reference_first(compared):
    table = groups_table(compared, named=False)
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
    rows = rows_of(groups_table(persons, named=False))
    counts = [str(len({p for p in person if p.startswith(one)})) for one in compared.groups]
    assert rows["rows"] == ["60", "60"]
    assert rows["persons"] == rows["families (blocks)"] == counts


def test_every_finding_is_there_with_its_action(compared):
    shown = [[cell.text for cell in row.cells] for row in findings_table(compared).rows]
    found = compared.review.findings
    assert shown == [[one.level, one.problem.what, one.problem.remedy] for one in found]
    assert shown


def test_missing_cells_are_counted(compared):
    values = compared.cohort.values
    text = cohort_section(compared, named=False)["missing"]
    assert text.startswith(f"{np.isnan(values).sum()} of {values.size} cells")


def test_who_was_left_out_is_counted_and_other_visits_apart(compared):
    row = int(np.flatnonzero(compared.cohort.group == "patient")[0])
    far = np.arange(len(compared.cohort)) == row
    first = compared.cohort.ids[row]
    for visits, apart in (({"control": (), "patient": (first,)}, False), (EACH, True)):
        found = replace(compared.tests, left_out=visits)
        changed = replace(compared, outliers=far, tests=found)
        rows = rows_of(groups_table(changed, named=False))
        assert rows["outliers, left out"] == ["none", "1 (tables/left_out.csv names them)"]
        assert ("left out of the tests, with all their rows" in rows) == apart
    named = rows_of(groups_table(changed, named=True))
    assert named["outliers, left out"] == ["none", first]
    assert named["left out of the tests, with all their rows"] == ["s0", "s1"]


def test_facts_are_said_in_words():
    said = dict(
        origin_words(
            {
                "source": "a.csv",
                "delimiter": ";",
                "decimal": ",",
                "rows": 12,
                "ids": "sid",
                "left_out": {"": 1, "mci": 3},
                "regions": "all",
                "atlas": None,
                "totals": [],
                "ignored": ["sid", "note"],
            }
        )
    )
    assert said["rows left out"] == (
        "1 row without a group was left out; 3 rows of the group mci were left out"
    )
    assert (
        said["columns left out because they are neither regions nor named by the user"]
        == "sid, note"
    )
    assert said["cells are separated by"] == "semicolons"
    assert said["decimal mark"] == "comma"
    assert said["names of subjects"] == "column sid"
    assert said["rows that were read"] == "12"
    assert not any("atlas" in title or "totals" in title for title in said)


def test_several_tables_have_their_facts_each():
    said = origin_words(
        {
            "tables": [{"source": "lh.txt"}, {"source": "rh.txt"}],
            "participants": {"source": "people.tsv", "columns": ["age"], "not_in_table": 2},
            "ids": "row numbers",
        }
    )
    assert said == [
        ("table 1: source", "lh.txt"),
        ("table 2: source", "rh.txt"),
        ("participants: source", "people.tsv"),
        ("participants: columns that were used", "age"),
        ("participants: rows of subjects that are not in the table", "2"),
        ("names of subjects", "none: rows are numbered"),
    ]


def test_what_the_findings_say_is_not_said_again():
    facts = {"unnamed_sites": {"site": {"sites": 2, "told": 0.167}}, "repeated": ["s1"], "rows": 3}
    facts |= {"unnamed_motion": {"mean_fd": {"p": 0.1}}, "taken_motion": "mean_fd"}
    facts |= {"censored": {"volumes": 2}}
    assert origin_words(facts) == [("rows that were read", "3")]


def test_nothing_is_shown_as_python_writes_it():
    many = [f"c{k}" for k in range(MOST_NAMED + 2)]
    ((title, text), (_, counts)) = origin_words({"own_fact": many, "counts": {"a": 1, "b": [2, 3]}})
    assert title == "own fact"
    assert text.endswith("c19 and 2 more")
    assert counts == "a: 1, b: 2, 3"


def comparison(networks, tests):
    """As much of a comparison as these words need."""
    found = SimpleNamespace(
        cohort=SimpleNamespace(sizes={"CTR": 63, "SCZ": 61}),
        groups=("CTR", "SCZ"),
        left_out=networks,
        tests=None if tests is None else SimpleNamespace(left_out=tests),
    )
    found.far_out = Comparison.far_out.func(found)
    return found


NOBODY, TWO = {"CTR": (), "SCZ": ()}, {"CTR": ("s1", "s2"), "SCZ": ()}
COUNTS = "2 of 63 CTR and 0 of 61 SCZ"


@pytest.mark.parametrize(
    ("networks", "tests", "said"),
    [
        (TWO, TWO, "The networks and the tests of differences leave them out."),
        (TWO, None, "The networks leave them out."),
        (NOBODY, TWO, "The tests of differences leave them out; the networks have all subjects."),
        (
            TWO,
            {"CTR": ("s1", "s2"), "SCZ": ("s1b", "s2b")},
            "The networks and the tests of differences leave them out. The tests leave out "
            "all rows of these persons: 2 of 63 CTR and 2 of 61 SCZ.",
        ),
    ],
)
def test_who_is_left_out_of_what_is_said_with_counts(networks, tests, said):
    found = left_out_words(comparison(networks, tests))
    assert found == f"{COUNTS} lie far from their group (tables/left_out.csv names them). {said}"


def test_one_subject_lies_far():
    one = {"CTR": ("s1",), "SCZ": ()}
    assert left_out_words(comparison(one, one)).startswith("1 of 63 CTR and 0 of 61 SCZ lies far")


def test_nobody_is_no_sentence():
    assert left_out_words(comparison(NOBODY, NOBODY)) == ""
    assert comparison(NOBODY, None).far_out == NOBODY


@pytest.fixture
def cohort():
    rng = np.random.default_rng(0)
    n = 60
    group = np.repeat(["control", "patient"], n // 2)
    return Cohort(
        rng.normal(size=(n, 3)),
        ["a", "b", "c"],
        [f"s{k}" for k in range(n)],
        group=group,
        site=rng.choice(["NYU", "UCLA"], n),
        covariates={
            "age": rng.normal(40, 10, n) + 5 * (group == "patient"),
            "sex": rng.integers(0, 2, n).astype(float),
            "hand": np.array([*"rrl" * (n // 3)]),
        },
    )


def table_one_rows_of(table, name):
    return table[table["characteristic"] == name]


def test_numbers_have_mean_and_sd_and_a_test(cohort):
    table = table_one(cohort, ["patient", "control"])
    (row,) = table_one_rows_of(table, "age").to_dict("records")
    age = cohort.covariates["age"]
    own, other = (age[cohort.group == name] for name in ("patient", "control"))
    mean, spread = row["in_patient"].rstrip(")").split(" (")
    assert float(mean) == pytest.approx(own.mean(), abs=0.51)
    assert float(spread) == pytest.approx(own.std(ddof=1), abs=0.51)
    assert row["test"] == "Welch's t"
    assert row["p"] == pytest.approx(stats.ttest_ind(own, other, equal_var=False).pvalue)
    assert [name for name in table if name.startswith("in_")] == ["in_patient", "in_control"]
    assert table["in_patient"][0] == table["in_control"][0] == "30"


def test_a_sex_of_0_and_1_is_counted_by_level_and_tested_once(cohort):
    sex = table_one_rows_of(table_one(cohort, ["control", "patient"]), "sex")
    assert sex["level"].tolist() == ["0", "1"]
    ones = int(cohort.covariates["sex"][:30].sum())
    assert sex["in_control"].tolist()[1] == f"{ones} ({ones / 30:.0%})"
    assert sex["p"].notna().tolist() == [True, False]
    assert not sex.astype(str).apply(lambda one: one.str.contains("1.0")).any(axis=None)


def test_sites_are_counted_and_gaps_said(cohort):
    hand = cohort.covariates["hand"].copy()
    hand[:4] = ""
    gaps = replace(cohort, covariates={**cohort.covariates, "hand": hand})
    table = table_one(gaps, ["control", "patient"])
    assert table_one_rows_of(table, "site")["level"].tolist() == ["NYU", "UCLA"]
    assert table_one_rows_of(table, "hand")["missing"].tolist() == [4, 0]
    assert (
        sum(int(cell.split()[0]) for cell in table_one_rows_of(table, "hand")["in_control"]) == 26
    )


def test_persons_count_once(cohort):
    person = np.array([f"{name}{k // 2}" for k, name in enumerate(cohort.group)])
    table = table_one(replace(cohort, person=person), ["control", "patient"])
    assert table_one_rows_of(table, "subjects")["in_control"].tolist() == ["15"]
    assert table_one_rows_of(table, "rows")["in_control"].tolist() == ["30"]


def test_pairs_are_compared_within_persons_and_families_not_at_all(cohort):
    pair = np.array([f"p{k}" for k in range(30)] * 2)
    table = table_one(replace(cohort, pair=pair), ["control", "patient"])
    age = cohort.covariates["age"]
    assert table_one_rows_of(table, "age")["p"].tolist() == [
        pytest.approx(stats.ttest_rel(age[:30], age[30:]).pvalue)
    ]
    assert table_one_rows_of(table, "sex")["p"].isna().all()
    block = np.array([f"f{k // 3}" for k in range(60)])
    assert table_one(replace(cohort, block=block), ["control", "patient"])["p"].isna().all()


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
