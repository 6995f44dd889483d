import numpy as np

from sgbn.prepare.findings import Finding, filled, first_true, parts


def test_a_finding_reads_as_two_sentences():
    assert str(Finding("note", "this is odd", "Look at it")) == "note: this is odd. Look at it."


def test_parts_are_the_groups_or_all_and_never_empty(make):
    assert [rows.sum() for rows in parts(make())] == [30, 30]
    assert np.sum(parts(make()), axis=0).tolist() == [1] * 60
    assert [rows.sum() for rows in parts(make(group=None))] == [60]
    assert parts(make().subset([])) == []
    assert parts(make(group=None).subset([])) == []


def test_gaps_are_filled_by_the_median_and_the_rest_is_kept():
    values = np.array([[1.0, 4.0], [np.nan, 5.0], [3.0, 9.0], [8.0, 0.0]])
    assert filled(values)[:, 0].tolist() == [1, 3, 3, 8]
    assert np.isnan(values[1, 0])
    assert filled(values[:, 1:]).tolist() == values[:, 1:].tolist()


def test_the_first_mark_is_found():
    assert first_true(np.array([False, True, True])) == 1
