from dataclasses import replace

from sgbn.comparison.steps.sensitivity import (
    Sensitivity,
    other_choices,
    sensitivity_table,
    sensitivity_words,
)
from sgbn.learn.sgbn import SGBN


def test_the_tests_are_repeated_with_other_sparsity_and_order(whole):
    tests = whole.sensitivity.tests
    assert list(tests) == ["half", "twice", "other_order"]
    assert {one.n_permutations for one in tests.values()} == {20}
    assert len(tests["half"].edges) >= len(whole.tests.edges) >= len(tests["twice"].edges)
    assert len(tests["half"].edges) > len(tests["twice"].edges)
    assert "sensitivity" in whole.seconds
    assert [one.left_out for one in tests.values()] == [whole.tests.left_out] * 3


def test_prior_knowledge_leaves_the_other_order_out(whole):
    first, second = whole.cohort.regions[:2]
    searcher = SGBN(outliers="keep", forbidden=[(first, second)])
    assert list(other_choices(whole.prepared, searcher)) == ["half", "twice"]


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


def test_pairs_that_stay_are_told_from_those_that_do_not(whole):
    found = changed(
        whole, {"": {0: 0.01, 1: 0.02}, "half": {0: 0.01, 2: 0.03}, "twice": {0: 0.04, 1: 0.02}}
    )
    table = sensitivity_table(found)
    assert table["found"].tolist() == [True, True, False]
    assert table["stays"].tolist() == [True, False, False]
    assert table["q_both_half"].tolist() == [0.01, 1.0, 0.03]
    assert sensitivity_words(found).startswith("1 of the 2 pairs that differ are found in each")
    assert "1 with half the penalty on edges and 2 with twice" in sensitivity_words(found)


def test_an_arrow_that_is_written_the_other_way_is_the_same_pair(whole):
    found = changed(whole, {"": {0: 0.01}, "half": {0: 0.01}})
    half = found.sensitivity.tests["half"]
    turned = half.edges.copy()
    turned["source"], turned["target"] = half.edges["target"], half.edges["source"]
    found = replace(found, sensitivity=Sensitivity({"half": replace(half, edges=turned)}))
    (row,) = sensitivity_table(found).to_dict("records")
    assert row["stays"]
    assert row["source"] == whole.tests.edges["source"][0]


def test_one_pair_none_and_nothing_tried_have_words(whole):
    one = changed(whole, {"": {0: 0.01}, "half": {}})
    assert sensitivity_words(one).startswith("The pair that differs is not found")
    none = changed(whole, {"": {}, "half": {}})
    assert "no pair is found in these either" in sensitivity_words(none)
    other = changed(whole, {"": {}, "half": {1: 0.01}})
    assert "not a finding by itself" in sensitivity_words(other)
    assert sensitivity_words(replace(whole, sensitivity=None)) == ""
    assert sensitivity_table(replace(whole, sensitivity=None)).empty
