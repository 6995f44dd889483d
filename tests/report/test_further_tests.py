from dataclasses import replace

import pytest

from sgbn.comparison.report import render_report
from sgbn.comparison.steps.differences import further_tests
from sgbn.inference.difference_tables import Among


@pytest.fixture(scope="module")
def asked(compared):
    """As if two edges and some regions had been named beforehand."""
    edges = compared.tests.edges[:3].copy()
    edges["p_fwer"], edges["p_both"] = [0.01, 0.01, 1.0], [0.01, 0.03, 1.0]
    edges["p_fwer_both"] = [0.02, 0.2, 1.0]  # the second differs both ways only if it stood alone
    edges["q"] = [0.01, 1.0, 1.0]
    among = Among(compared.cohort.regions[:4], 0.03, 0.01, edges)
    return replace(compared, tests=replace(compared.tests, named=edges, among=among))


def test_what_was_not_asked_for_is_no_table(compared):
    assert further_tests(compared) == {"named": None, "among": None, "pairwise": None}
    assert not any(further_tests(replace(compared, tests=None)).values())


def test_a_named_edge_stands_out_where_it_differs_both_ways(asked):
    found = further_tests(asked)
    assert [row.mark for row in found["named"].rows] == ["found", "", ""]
    assert [row.mark for row in found["among"].rows] == ["found", "", ""]
    titles = [field.title for field in found["named"].fields]
    assert titles[-4:] == ["p", "p, family-wise", "p, both ways", "p, family-wise, both ways"]


def test_the_mark_of_a_named_edge_is_what_the_sentence_says(asked):
    lines = [line for line in asked.words.edges if line.startswith("Named beforehand")]
    assert ["differs both ways" in line for line in lines] == [True, False, False]
    assert "differs this way only" in lines[1]
    alone = replace(asked.tests, named=asked.tests.named[1:2])
    alone = replace(asked, tests=alone)
    assert further_tests(alone)["named"].rows[0].mark == "found"
    assert any("differs both ways" in line for line in alone.words.edges)


def test_each_pair_of_groups_is_in_the_table(three_groups):
    table = further_tests(three_groups)["pairwise"]
    pairs = {(row.cells[0].text, row.cells[1].text) for row in table.rows}
    assert pairs == {("a", "b"), ("a", "c"), ("b", "c")}
    assert table.total == len(three_groups.tables.pairwise)
    level = three_groups.settings.level
    marked = sum(row.mark == "found" for row in table.rows)
    assert marked == (three_groups.tables.pairwise["q_both"] <= level).sum() > 0


def test_the_page_has_their_sections_only_where_there_are_any(
    compared, asked, three_groups, html, html_of_three, no_pictures
):
    heads = {
        "named": "<h3>Edges named beforehand</h3>",
        "among": "<h3>Edges between regions named beforehand</h3>",
        "pairwise": "<h3>Which groups differ</h3>",
    }
    named = render_report(asked, pictures=no_pictures)
    for comparison, page in ((compared, html), (asked, named), (three_groups, html_of_three)):
        for name, table in further_tests(comparison).items():
            assert (heads[name] in page) == (table is not None)
