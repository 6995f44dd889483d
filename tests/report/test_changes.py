from dataclasses import replace

import numpy as np
import pytest

from sgbn.report.changes import MOST, change_words, changes_of, differences_of, verdict


def with_q(comparison, n_sure):
    """The same comparison, in which the last so many tested pairs differ both ways."""
    edges = comparison.tests.edges.copy()
    edges["q_both"] = 1.0
    if n_sure:
        edges["q_both"][-n_sure:] = 0.01
    return replace(comparison, tests=replace(comparison.tests, edges=edges))


@pytest.mark.parametrize(
    ("n_sure", "said"),
    [
        (0, "No pair differs both ways (q ≤ 0.05)"),
        (1, "1 pair differs both ways (q ≤ 0.05)"),
        (3, "3 pairs differ both ways (q ≤ 0.05)"),
    ],
)
def test_the_verdict_comes_first_in_the_title(compared, n_sure, said):
    known = with_q(compared, n_sure)
    assert verdict(known, "patient") == said
    first, second = changes_of(known, "patient").title.split("\n")
    assert first == said
    assert second.startswith(change_words(known, "patient"))
    assert second.startswith("Change from control to patient")
    assert second.endswith("faintly") == (n_sure == 0)


def test_pairs_that_differ_both_ways_come_first(compared):
    known = with_q(compared, 2)
    table, before = differences_of(known, "patient"), known.tables.differences
    ends = ["source", "target"]
    assert table[ends].values.tolist()[:2] == before[ends].values.tolist()[-2:]
    assert table[ends].values.tolist()[2:] == before[ends].values.tolist()[:-2]


def test_each_change_is_that_of_the_table_with_its_kind(compared):
    changes, place = changes_of(compared, "patient"), compared.cohort.regions.index
    table = differences_of(compared, "patient")
    for row in table.head(MOST).itertuples():
        at = place(row.source), place(row.target)
        assert changes.sizes[at] == row.difference_std
        assert changes.kinds[at] == row.kind_patient
        assert changes.supported[at] == row.supported
        assert changes.sure[at] == (row.q_both <= 0.05)
    assert np.count_nonzero(changes.sizes) == min(len(table), MOST)


def test_at_most_forty_are_shown_and_the_title_says_so(compared, monkeypatch):
    monkeypatch.setattr("sgbn.report.changes.MOST", 3)
    changes = changes_of(with_q(compared, 4), "patient")
    assert np.count_nonzero(changes.sizes) == 3
    assert changes.sure.sum() == 3
    assert changes.title.startswith("4 pairs differ both ways")
    assert changes.title.endswith("the surest 3")
    assert "surest" not in changes_of(with_q(compared, 2), "patient").title


def test_what_is_not_significant_is_left_out_unless_nothing_is(compared):
    some, none = (changes_of(with_q(compared, n), "patient") for n in (2, 0))
    assert np.count_nonzero(some.only_sure().sizes) == 2
    assert np.count_nonzero(none.only_sure().sizes) == np.count_nonzero(none.sizes) > 2
    assert some.any_sure
    assert not none.any_sure


def test_of_three_groups_each_has_its_own_changes_errors_and_q(three_groups):
    for group in ("b", "c"):
        table, pairs = differences_of(three_groups, group), three_groups.tests.pairwise["a", group]
        own = {(row["source"], row["target"]): row for row in pairs}
        assert len(table) == len(own)
        for row in table.itertuples():
            found = own[row.source, row.target]
            assert row.difference_std == found["difference_std"]
            assert row.standard_error == found["standard_error"]
            assert row.q_both == found["q_both"]
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
