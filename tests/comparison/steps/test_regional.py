from dataclasses import replace

import numpy as np

from sgbn.comparison.report import render_report
from sgbn.comparison.steps.regional import KEY, regional_section
from sgbn.write.page import HINTS


def test_regions_are_listed_the_surest_first_with_intervals(compared):
    shown = regional_section(compared)
    table, expected = shown["table"], compared.tables.regional
    assert table.total == len(expected) == len(compared.cohort.regions)
    cohort = compared.cohort
    label = cohort.labels[expected["region"][0]]
    assert table.rows[0].cells[0].text == label
    marked = [row.mark == "found" for row in table.rows]
    assert marked == (expected["q"] <= 0.05).tolist()
    of = f"{sum(marked)} of {len(expected)} regions"
    assert shown["words"].startswith(f"{of} {'differs' if sum(marked) == 1 else 'differ'} in the")
    assert table.fields[1].hint == HINTS[KEY]["hedges_g"]


def test_more_groups_have_a_row_each(three_compared):
    shown = regional_section(three_compared)
    table, n = shown["table"], 2 * len(three_compared.cohort.regions)
    found = sum(row.mark == "found" for row in table.rows)
    assert shown["words"].startswith(f"{found} of {n} comparisons differ")
    assert table.fields[0].source == "group"
    assert table.total == 2 * len(three_compared.cohort.regions)


def with_q(compared, q):
    """The comparison with other q of its regions."""
    found = replace(compared)
    regional = compared.tables.regional.assign(q=q)
    vars(found)["tables"] = compared.tables._replace(regional=regional)
    return found


def test_the_verb_agrees_with_the_count(compared):
    n = len(compared.cohort.regions)
    one = with_q(compared, [0.01] + [0.5] * (n - 1))
    assert regional_section(one)["words"].startswith(f"1 of {n} regions differs in the mean")
    assert regional_section(with_q(compared, 0.5))["words"].startswith(f"0 of {n} regions differ ")


def test_hints_of_pairs_speak_of_a_paired_t(compared):
    cohort = compared.cohort.subset(
        np.concatenate([np.flatnonzero(compared.cohort.group == g)[:20] for g in compared.groups])
    )
    cohort = replace(cohort, pair=np.array([f"p{k}" for k in range(20)] * 2))
    found = replace(compared, review=replace(compared.review, cohort=cohort))
    vars(found)["tables"] = compared.tables
    hints = {field.source: field.hint for field in regional_section(found)["table"].fields}
    assert "paired t" in hints["p"]
    assert "covariates" not in hints["hedges_g"] + hints["p"]


def test_the_page_says_that_means_are_no_edges(html):
    assert 'href="#regional"' in html
    assert "separate from the edges" in html


def test_families_have_a_reason_and_no_table(compared, no_pictures):
    block = np.repeat([f"f{k}" for k in range(60)], 2)
    cohort = replace(compared.cohort, block=block)
    found = replace(compared, review=replace(compared.review, cohort=cohort))
    assert regional_section(found)["table"] is None
    assert "not independent" in render_report(found, pictures=no_pictures)
