from dataclasses import replace

import numpy as np
import pytest

from sgbn import SGBN, Cohort, Settings, compare
from sgbn.comparison.changes import change_words, changes_per_sd, differences_of, verdict

TESTS = Settings.networks_only(n_permutations=39)


def compared(*groups):
    """Groups of a chain; the first edge is there in the first group only."""
    values = np.random.default_rng(0).normal(size=(60 * len(groups), 4))
    values[:60, 1] += 2 * values[:60, 0]
    for j in (2, 3):
        values[:, j] += values[:, j - 1]
    cohort = Cohort(values, list("wxyz"), range(len(values)), group=np.repeat(groups, 60))
    return compare(cohort, replace(TESTS, reference="a"), learner=SGBN())


@pytest.fixture(scope="module")
def two():
    return compared("a", "b")


@pytest.fixture(scope="module")
def three():
    return compared("a", "b", "c")


def test_changes_per_sd_are_those_of_the_last_group_in_the_table(two, three):
    for one in (two, three):
        changes = changes_per_sd(one, one.differences)
        assert tuple(changes) == one.groups[1:]
        expected = one.differences["difference_std"]
        np.testing.assert_allclose(changes[one.groups[-1]], expected, atol=1e-9)


def test_pairs_that_differ_both_ways_come_first(two):
    edges = two.tests.edges.copy()
    edges["q_both"] = 1.0
    edges["q_both"][-2:] = 0.01
    known = replace(two, tests=replace(two.tests, edges=edges))
    table, before = differences_of(known, "b"), known.differences
    ends = ["source", "target"]
    assert table[ends].values.tolist()[:2] == before[ends].values.tolist()[-2:]
    assert table[ends].values.tolist()[2:] == before[ends].values.tolist()[:-2]
    assert verdict(known, "b") == "2 pairs differ both ways (q ≤ 0.05)"
    assert change_words(known, "b") == "Change from a to b"


def test_of_three_each_has_its_own_changes_errors_and_q(three):
    for group in ("b", "c"):
        table, pairs = differences_of(three, group), three.tests.pairwise["a", group]
        own = {(row["source"], row["target"]): row for row in pairs}
        assert len(table) == len(own)
        for row in table.itertuples():
            found = own[row.source, row.target]
            assert row.difference_std == found["difference_std"]
            assert row.standard_error == found["standard_error"]
            assert row.q_both == found["q_both"]
            before, after = row.weight_std_a, getattr(row, f"weight_std_{group}")
            assert row.difference_std == pytest.approx(after - before)


def test_without_tests_of_pairs_the_q_of_all_groups_is_said(three):
    known = replace(three, tests=replace(three.tests, pairwise={}))
    assert "in any group (q of all groups" in verdict(known, "b")
    table = differences_of(known, "b")
    assert "standard_error" not in table
    np.testing.assert_allclose(
        table["difference_std"], table["weight_std_b"] - table["weight_std_a"]
    )
    assert "q of all groups" not in verdict(three, "b")
