from dataclasses import replace

import numpy as np
import pytest

from sgbn import simulate_cohort
from sgbn.comparison import Settings, compare
from sgbn.comparison.sensitivity import (
    Sensitivity,
    repeat_tests,
    sensitivity_table,
    sensitivity_words,
)
from sgbn.runs import Study
from sgbn.structure import SGBN


@pytest.fixture(scope="module")
def compared():
    cohort = simulate_cohort(80, regions=8)
    more = {"n_permutations": 39, "n_pairs": 0, "n_repeats": 0, "refinements": (), "models": False}
    return compare(cohort, Settings.quick(sensitivity=True, **more), learner=SGBN(n_kicks=0))


def test_the_tests_are_repeated_with_other_sparsity_and_order(compared):
    tests = compared.sensitivity.tests
    assert list(tests) == ["half", "twice", "other_order"]
    assert {one.n_permutations for one in tests.values()} == {39}
    assert len(tests["half"].edges) >= len(compared.tests.edges) >= len(tests["twice"].edges)
    assert len(tests["half"].edges) > len(tests["twice"].edges)
    assert "sensitivity" in compared.seconds
    assert [one.left_out for one in tests.values()] == [compared.tests.left_out] * 3


def test_finished_repetitions_are_not_done_again(compared, tmp_path, monkeypatch):
    arguments = compared.prepared, compared.settings, SGBN(outliers="keep"), "keep"
    first = repeat_tests(*arguments, Study(tmp_path, 1))
    kept = {path.name for path in tmp_path.iterdir()}
    assert {"sensitivity-half", "sensitivity-twice", "sensitivity-other_order"} <= kept
    monkeypatch.setattr(
        "sgbn.inference.permuted_statistics.permute", lambda **_: pytest.fail("done again")
    )
    second = repeat_tests(*arguments, Study(tmp_path, 1))
    for name, one in first.tests.items():
        np.testing.assert_array_equal(one.edges, second.tests[name].edges)


def test_prior_knowledge_leaves_the_other_order_out(compared):
    first, second = compared.cohort.regions[:2]
    searcher = SGBN(outliers="keep", forbidden=[(first, second)])
    found = repeat_tests(compared.prepared, compared.settings, searcher, "keep", Study(None, 1))
    assert list(found.tests) == ["half", "twice"]


def changed(comparison, q_of):
    """Give each test of pairs these q, by the number of the pair; all others 1."""
    edges = comparison.tests.edges

    def with_q(given):
        table = edges.copy()
        table["q_both"] = 1.0
        for place, q in given.items():
            table["q_both"][place] = q
        return replace(comparison.tests, edges=table)

    tests = {name: with_q(given) for name, given in q_of.items() if name}
    return replace(comparison, tests=with_q(q_of[""]), sensitivity=Sensitivity(tests))


def test_pairs_that_stay_are_told_from_those_that_do_not(compared):
    found = changed(
        compared, {"": {0: 0.01, 1: 0.02}, "half": {0: 0.01, 2: 0.03}, "twice": {0: 0.04, 1: 0.02}}
    )
    table = sensitivity_table(found)
    assert table["found"].tolist() == [True, True, False]
    assert table["stays"].tolist() == [True, False, False]
    assert table["q_both_half"].tolist() == [0.01, 1.0, 0.03]
    assert sensitivity_words(found).startswith("1 of the 2 pairs that differ are found in each")
    assert "1 with half the penalty on edges and 2 with twice" in sensitivity_words(found)


def test_an_arrow_that_is_written_the_other_way_is_the_same_pair(compared):
    found = changed(compared, {"": {0: 0.01}, "half": {0: 0.01}})
    half = found.sensitivity.tests["half"]
    turned = half.edges.copy()
    turned["source"], turned["target"] = half.edges["target"], half.edges["source"]
    found = replace(found, sensitivity=Sensitivity({"half": replace(half, edges=turned)}))
    (row,) = sensitivity_table(found).to_dict("records")
    assert row["stays"]
    assert row["source"] == compared.tests.edges["source"][0]


def test_one_pair_none_and_nothing_tried_have_words(compared):
    one = changed(compared, {"": {0: 0.01}, "half": {}})
    assert sensitivity_words(one).startswith("The pair that differs is not found")
    none = changed(compared, {"": {}, "half": {}})
    assert "none is found then either" in sensitivity_words(none)
    other = changed(compared, {"": {}, "half": {1: 0.01}})
    assert "no finding by itself" in sensitivity_words(other)
    assert sensitivity_words(replace(compared, sensitivity=None)) == ""
    assert sensitivity_table(replace(compared, sensitivity=None)).empty
