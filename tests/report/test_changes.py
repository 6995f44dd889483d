from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from sgbn.comparison.figures import MAX_PAIRS, changes_of
from sgbn.comparison.steps.differences import change_words, differences_of, verdict


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
    assert ("faint" in second) == (n_sure == 0)


def test_each_change_is_that_of_the_table_with_its_kind(compared):
    changes, place = changes_of(compared, "patient"), compared.cohort.regions.index
    table = differences_of(compared, "patient")
    for row in table.head(MAX_PAIRS).itertuples():
        at = place(row.source), place(row.target)
        assert changes.sizes[at] == row.difference_std
        assert changes.kinds[at] == row.kind_patient
        assert changes.supported[at] == row.supported
        assert changes.sure[at] == (row.q_both <= 0.05)
    assert np.count_nonzero(changes.sizes) == min(len(table), MAX_PAIRS)


def test_at_most_forty_are_shown_and_the_title_says_so(compared, monkeypatch):
    monkeypatch.setattr(import_module("sgbn.comparison.figures"), "MAX_PAIRS", 3)
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
