from dataclasses import replace

import numpy as np
import pytest

from sgbn import Cohort
from sgbn.comparison.compare import compare
from sgbn.comparison.settings import Settings
from sgbn.comparison.steps.differences import (
    detectable_words,
    edge_lines,
    overall_words,
    p_text,
    signed,
    where_words,
)
from sgbn.learn.sgbn import SGBN


@pytest.fixture(scope="module")
def two():
    """Two groups; the second region follows the first with another sign."""
    values = np.random.default_rng(0).normal(size=(120, 5))
    values[:, 1] += np.repeat([-1.0, 1.0], 60) * values[:, 0]
    values[:, 2] += values[:, 1]
    cohort = Cohort(values, list("vwxyz"), range(120), group=np.repeat(["ill", "well"], 60))
    settings = Settings.networks_only(
        n_permutations=39, edges=(("v", "w"), ("y", "z")), among=("v", "w", "x")
    )
    return compare(cohort, settings, learner=SGBN(1.0))


def with_edges(comparison, q, q_both, p_fwer_both=1.0, **more):
    """Comparison whose tests gave these numbers, edge by edge."""
    edges = comparison.tests.edges.copy()
    edges["q"], edges["q_both"], edges["p_fwer_both"] = q, q_both, p_fwer_both
    return replace(comparison, tests=replace(comparison.tests, edges=edges, **more))


def first(comparison, value):
    """One value for the first edge, and 1 for the others."""
    return np.where(np.arange(len(comparison.tests.edges)) == 0, value, 1.0)


def test_p_is_written_as_one_writes_it():
    assert p_text(0.04) == "p = 0.040"
    assert p_text(0.0002) == "p = 0.0002"


def test_a_weight_of_minus_zero_has_no_sign():
    assert signed(-0.001) == "0.00"
    assert signed(-0.5) == "−0.50"


def test_differences_that_hold_both_ways_are_counted_and_others_shown_apart(two):
    count = len(two.tests.edges)
    assert count > 2
    q = np.r_[0.01, 0.02, np.ones(count - 2)]
    found = with_edges(two, q, first(two, 0.03), first(two, 0.04))
    headline, surest, apart, *_ = edge_lines(found)
    kind = found.differences["kind_well"][0]
    assert headline == (
        f"1 of {count} tested pairs differs whichever way the arrow is read, at a false discovery "
        f"rate of 5% (1 also family-wise): 1 {kind} in well."
    )
    edges = found.tests.edges
    assert f"{edges['source'][0]} – {edges['target'][0]} {kind} (" in surest
    assert "q = 0.03)" in surest
    assert apart.startswith("1 more differs one way only, which a change of variance can cause: ")
    assert (
        f"{edges['source'][1]} – {edges['target'][1]} {found.differences['kind_well'][1]} ("
        in apart
    )
    assert "q one way = 0.02)" in apart


def test_what_holds_one_way_only_is_no_headline(two):
    headline, detectable, apart, *_ = edge_lines(with_edges(two, first(two, 0.01), 1.0))
    assert headline.startswith("None of ")
    assert headline.endswith("; some differ one way only.")
    assert detectable == detectable_words(two.tests, two.settings.level)
    assert apart.startswith("1 differs one way only")


def test_family_wise_finds_are_counted_among_those_that_hold_both_ways(two):
    found = with_edges(two, 0.01, 0.01, first(two, 0.04))
    assert "(1 also family-wise)" in edge_lines(found)[0]
    assert "one way only" not in " ".join(edge_lines(found))


@pytest.mark.parametrize(
    ("p", "p_both", "q", "q_both", "said"),
    [
        (0.01, 0.02, 0.01, 0.01, "differ in a test of all edges together (p = 0.010). They also"),
        (0.01, 0.02, 1.0, 1.0, "changes of variance are allowed for (p = 0.020)."),
        (0.01, 0.3, 0.01, 1.0, "(p = 0.010) finds that the weights of ill and well differ, but"),
        (0.01, 0.3, 0.01, 0.01, "(p = 0.010) finds a difference too, but changes of variance"),
        (0.3, 0.3, 0.01, 0.01, "together (p = 0.300) does not show a difference"),
        (0.3, 0.3, 0.01, 1.0, "(p = 0.300) found no difference"),
    ],
)
def test_all_edges_together_and_single_ones_do_not_contradict(two, p, p_both, q, q_both, said):
    found = with_edges(two, q, q_both, global_p=p, global_p_both=p_both)
    assert said in overall_words(found)
    assert found.words.verdict == [overall_words(found), edge_lines(found)[0]]
    assert found.words.verdict[1].startswith("None of") == (q_both > 0.05)


def test_kinds_are_counted_the_most_frequent_first(two):
    found = with_edges(two, 0.01, 0.01)
    counts = found.differences["kind_well"].value_counts()
    said = where_words(found)
    assert all(f"{count} {kind}" in said for kind, count in counts.items())
    assert said.endswith(" in well.")


def test_of_three_groups_no_kind_is_said(three_groups):
    said = where_words(with_edges(three_groups, 0.01, 0.01))
    assert said.endswith("family-wise).")


def test_no_tested_pair_is_said(two):
    none = replace(two, tests=replace(two.tests, edges=two.tests.edges[:0]))
    assert where_words(none) == "No single pair was tested: no group has an edge."


def test_the_detectable_change_is_the_median(two):
    effect = np.median(two.tests.detectable(0.8, 0.05))
    assert f"a change of {effect:.2f} (standard deviations of the target" in detectable_words(
        two.tests, 0.05
    )
    none = replace(two.tests, edges=two.tests.edges[:0])
    assert detectable_words(none, 0.05) == ""


def test_each_edge_that_was_named_has_its_line(two):
    lines = [line for line in edge_lines(two) if line.startswith("Named beforehand")]
    for row, line in zip(two.tests.named, lines, strict=True):
        assert f"{row['source']} to {row['target']}: " in line
        family = f"family-wise over 2 named edges {p_text(row['p_fwer'])}"
        assert f"({p_text(row['p'])}, {family}, both ways" in line
        assert f"both ways {p_text(row['p_both'])}; change {signed(row['difference_std'])}" in line
    assert "differs both ways" in lines[0]


@pytest.mark.parametrize(
    ("p_fwer", "p_both", "said"),
    [
        (0.01, 0.01, "differs both ways"),
        (0.01, 0.5, "differs this way only"),
        (0.5, 0.5, "no difference is found"),
        (0.5, 0.01, "no difference is found"),
    ],
)
def test_a_named_edge_gets_its_verdict(two, p_fwer, p_both, said):
    named = two.tests.named.copy()
    named["p_fwer"], named["p_both"], named["p_fwer_both"] = p_fwer, p_both, p_both
    found = replace(two, tests=replace(two.tests, named=named))
    assert f"v to w: {said} (" in " ".join(edge_lines(found))


def test_regions_that_were_named_have_one_line(two):
    lines = [line for line in edge_lines(two) if line.startswith("Among the 3 regions")]
    assert len(lines) == 1
    among = two.tests.among
    assert p_text(among.p) in lines[0]
    edges = among.edges.copy()
    assert len(edges) > 1
    edges["q"] = 0.01
    sure = replace(two, tests=replace(two.tests, among=among._replace(edges=edges)))
    line = edge_lines(sure)[-1]
    assert f"{len(edges)} of {len(edges)} differ" in line
    assert f"{edges['source'][0]} – {edges['target'][0]}" in line
    assert "does not allow for changes of variance" in line
    none = replace(two.tests, among=among._replace(edges=edges[:0]))
    assert "no edge was tested" in edge_lines(replace(two, tests=none))[-1]


def test_pairs_of_groups_with_finds_have_a_line_each(three_groups, two):
    lines = [line for line in edge_lines(three_groups) if "closed tests" in line]
    assert [line.partition(":")[0] for line in lines] == ["a and c", "b and c"]
    assert "v – w" in lines[0] or "w – v" in lines[0]
    assert not any("closed" in line for line in edge_lines(two))
    none = {pair: edges.copy() for pair, edges in three_groups.tests.pairwise.items()}
    for edges in none.values():
        edges["q_both"] = 1.0
    alike = replace(three_groups, tests=replace(three_groups.tests, pairwise=none))
    assert "No two groups differ both ways" in edge_lines(alike)[-1]


def test_that_pairs_of_many_groups_are_not_tested_is_said(three_groups):
    untested = replace(three_groups, tests=replace(three_groups.tests, pairwise={}))
    said = edge_lines(untested)[-1]
    assert "two at a time" in said
    assert "at most 5 groups" in said
    assert "there are 3." in said


def test_a_named_edge_of_three_groups_has_no_single_change(three_groups, two):
    named = two.tests.named
    found = replace(three_groups, tests=replace(three_groups.tests, named=named))
    lines = [line for line in edge_lines(found) if line.startswith("Named beforehand")]
    assert len(lines) == len(named) == 2
    for row, line in zip(named, lines, strict=True):
        assert line.endswith(f", both ways {p_text(row['p_both'])}).")


def test_nothing_tested_is_nothing_said(two):
    bare = replace(two, tests=None)
    assert edge_lines(bare) == []
    assert overall_words(bare) == ""
