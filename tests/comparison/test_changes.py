from dataclasses import replace

import numpy as np
import pytest

from sgbn.comparison.steps.differences import change_words, changes_per_sd, differences_of, verdict


def test_changes_per_sd_are_those_of_the_last_group_in_the_table(odd_names, three_groups):
    for comparison in (odd_names, three_groups):
        changes = changes_per_sd(comparison, comparison.differences)
        assert tuple(changes) == comparison.groups[1:]
        expected = comparison.differences["difference_std"]
        np.testing.assert_allclose(changes[comparison.groups[-1]], expected, atol=1e-9)


def test_pairs_that_differ_both_ways_come_first(odd_names):
    edges = odd_names.tests.edges.copy()
    edges["q_both"] = 1.0
    edges["q_both"][-2:] = 0.01
    known = replace(odd_names, tests=replace(odd_names.tests, edges=edges))
    table, before = differences_of(known, "well"), known.differences
    ends = ["source", "target"]
    assert table[ends].values.tolist()[:2] == before[ends].values.tolist()[-2:]
    assert table[ends].values.tolist()[2:] == before[ends].values.tolist()[:-2]
    assert verdict(known, "well") == "2 pairs differ both ways (q ≤ 0.05)"
    assert change_words(known, "well") == "Change from <b>ill to well"


def test_of_three_each_has_its_own_changes_errors_and_q(three_groups):
    for group in ("b", "c"):
        table, pairs = differences_of(three_groups, group), three_groups.tests.pairwise["a", group]
        tested = {(row["source"], row["target"]): row for row in pairs}
        assert len(table) == len(tested)
        for row in table.itertuples():
            expected = tested[row.source, row.target]
            assert row.difference_std == expected["difference_std"]
            assert row.standard_error == expected["standard_error"]
            assert row.q_both == expected["q_both"]
            before, after = row.weight_std_a, getattr(row, f"weight_std_{group}")
            assert row.difference_std == pytest.approx(after - before)


def test_without_tests_of_pairs_the_q_of_all_groups_is_said(three_groups):
    known = replace(three_groups, tests=replace(three_groups.tests, pairwise={}))
    assert "in any group (q of all groups" in verdict(known, "b")
    table = differences_of(known, "b")
    assert "standard_error" not in table
    np.testing.assert_allclose(
        table["difference_std"], table["weight_std_b"] - table["weight_std_a"]
    )
    assert "q of all groups" not in verdict(three_groups, "b")
