from dataclasses import replace

import numpy as np

from sgbn.report.page import render_report
from sgbn.report.regional_section import regional_section


def test_regions_are_listed_the_surest_first_with_intervals(compared):
    shown = regional_section(compared)
    table, expected = shown["table"], compared.tables.regional
    assert table.total == len(expected) == len(compared.cohort.regions)
    cohort = compared.cohort
    label = cohort.labels[cohort.regions.index(expected["region"][0])]
    assert table.rows[0].cells[0].text == label
    marked = [row.mark == "found" for row in table.rows]
    assert marked == (expected["q"] <= 0.05).tolist()
    assert f"{sum(marked)} differ in their mean" in shown["words"]


def test_more_groups_have_a_row_each(three_groups):
    table = regional_section(three_groups)["table"]
    assert table.fields[0].source == "group"
    assert table.total == 2 * len(three_groups.cohort.regions)


def test_the_page_says_that_means_are_no_edges(html):
    assert 'href="#regional"' in html
    assert "other findings than edges" in html


def test_families_have_a_reason_and_no_table(compared, no_pictures):
    block = np.repeat([f"f{k}" for k in range(60)], 2)
    cohort = replace(compared.cohort, block=block)
    found = replace(compared, review=replace(compared.review, cohort=cohort))
    assert regional_section(found)["table"] is None
    assert "not independent" in render_report(found, pictures=no_pictures)
