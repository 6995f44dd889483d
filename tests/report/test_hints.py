import re

from sgbn.comparison.steps import networks
from sgbn.comparison.steps.differences import differences_section
from sgbn.write.page import ANY, HINTS, hint_of


def test_hints_belong_to_tables_and_columns_of_the_page(compared, html, html_of_series):
    pages = html, html_of_series
    keys = {key for page in pages for key in re.findall('<table id="([^"]*)"', page)}
    rarely = {ANY, "sums", "named", "among", "pairwise", "replication-table", "sensitivity-table"}
    assert set(HINTS) - rarely <= keys
    tables = [networks.edges_table(compared), differences_section(compared)["table"]]
    assert {"supported", "p_both", "q"} <= {
        field.source for table in tables for field in table.fields
    }
    assert not any(hint.endswith(".") for hints in HINTS.values() for hint in hints.values())


def test_a_table_goes_before_what_holds_for_any():
    assert hint_of("no such table", "q") == HINTS[ANY]["q"]
    assert hint_of("regional-table", "q") == HINTS["regional-table"]["q"] != HINTS[ANY]["q"]
    assert hint_of("recognised-table", "p") == ""  # hidden
    assert hint_of("edges-table", "no such column") == ""


def test_family_wise_p_is_said_as_what_it_is():
    assert "Share of the permutations" in HINTS[ANY]["p_fwer"]
    assert "are false" not in HINTS[ANY]["p_fwer"]
    assert "difference" not in HINTS[ANY]  # it means another thing in each table


def test_numbers_of_tested_edges_say_what_they_are_of(compared):
    table = differences_section(compared)["table"]
    assert [field.source for field in table.fields][-2:] == ["p", "p_both"]
    said = dict(table.hints)
    assert "without any correction" in said["p"]
    for title in ("q, both ways", "p, family-wise, both ways"):
        assert "change of variance alone rarely makes it small" in said[title]
    assert "may be a change of variance" in said["differs"]
    assert "in this graph" not in said
    assert "not a finding" in dict(networks.edges_table(compared).hints)["in this graph"]
