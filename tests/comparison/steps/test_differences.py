import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri

from sgbn import Cohort
from sgbn.comparison.compare import compare
from sgbn.comparison.names import with_labels
from sgbn.comparison.report import render_report
from sgbn.comparison.settings import Settings
from sgbn.comparison.steps.differences import (
    VERDICTS,
    change_words,
    changes_per_sd,
    components_table,
    detectable_words,
    differences_of,
    differences_section,
    edge_lines,
    further_tests,
    hubs_table,
    lobes_table,
    overall_words,
    p_text,
    signed,
    verdict,
    where_words,
)
from sgbn.comparison.steps.networks import refinements_table
from sgbn.core.graph import kinds_of_change
from sgbn.inference.difference_tables import Among
from sgbn.inference.permutations import Component
from sgbn.learn.sgbn import SGBN
from sgbn.write.page import HINTS


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


def column(table, source):
    k = [field.source for field in table.fields].index(source)
    return [row.cells[k] for row in table.rows]


def with_q(comparison, q, q_both=None):
    found = comparison.tests
    edges = found.edges.copy()
    edges["q"], edges["q_both"] = q, q if q_both is None else q_both
    edges["p_fwer_both"] = np.minimum(1.0, 10 * edges["q_both"])
    return replace(comparison, tests=replace(found, edges=edges))


def test_significant_edges_come_first_and_say_so(compared):
    count = len(compared.tests.edges)
    q = np.r_[0.5, np.linspace(0.04, 0.001, count - 1)]  # the surest last
    both = np.r_[0.5, 0.5, np.linspace(0.04, 0.001, count - 2)]
    section = differences_section(with_q(compared, q, both))
    table = section["table"]
    said = [cell.text for cell in column(table, "found")]
    places = [VERDICTS.index(text) for text in said]
    assert places == sorted(places)
    assert set(places) == {0, 1, 2, 3}
    marks = [row.mark for row in table.rows]
    assert marks == [{"one way only": "one-way", "no": ""}.get(text, "found") for text in said]
    assert marks.count("found") == section["significant"] == (both <= 0.05).sum()
    assert marks.count("one-way") == 1


def test_counts_of_the_text_are_those_of_the_table(compared):
    section = differences_section(with_q(compared, 0.04))
    count = len(section["table"].rows)
    assert section["significant"] == count
    assert f"{count} of {count} tested pairs differ" in section["lines"][0]
    assert "(0 also family-wise)" in section["lines"][0]
    assert section["overall"] == compared.words.verdict[0]


def test_the_table_of_differences_has_all_that_is_asked_for(compared):
    table = differences_section(compared)["table"]
    sources = {field.source for field in table.fields}
    assert sources >= {"source", "target", "source_lobe", "target_lobe", "difference", "statistic"}
    assert sources >= {
        "p",
        "p_fwer",
        "q",
        "error",
        "q_both",
        "p_fwer_both",
        "p_both",
        "standard_error",
        "supported",
        "true_change",
        "change_interval",
    }
    for group in compared.groups:
        assert sources >= {
            f"weight_{group}",
            f"weight_std_{group}",
            f"adjacent_{group}",
            f"true_{group}",
        }


def test_without_truth_there_is_no_column_of_it(three_compared):
    table = differences_section(three_compared)["table"]
    assert not any("true" in field.source for field in table.fields)
    assert {f"weight_{g}" for g in "abc"} <= {field.source for field in table.fields}


@pytest.mark.parametrize(
    ("first", "last", "sign", "said"),
    [
        ([-0.66, -0.5], [0.0, -0.2], 1, "1 lost, 1 weaker"),
        ([0.2, 0.0], [0.5, 0.2], 1, "1 stronger, 1 gained"),
        ([0.5, -0.2], [-0.5, 0.6], -1, "2 sign changed"),
    ],
)
def test_a_set_says_what_becomes_of_its_edges(compared, first, last, sign, said):
    """The sign of a difference says nothing about it: from -0.66 to 0 an edge is lost."""
    found = compared.tests
    edges = found.edges.copy()
    places = [[found.regions.index(edges[end][k]) for end in ("source", "target")] for k in (0, 1)]
    known = replace(
        compared,
        tests=replace(
            found, edges=edges, components=[(Component(sign, np.array(places), 1.0), 0.02, 0.01)]
        ),
    )
    kinds = compared.tables.differences.copy()
    for row, (before, after) in enumerate(zip(first, last, strict=True)):
        kinds.loc[row, "kind_patient"] = str(kinds_of_change([before], [after])[0])
    vars(known)["tables"] = known.tables._replace(differences=kinds)
    table = components_table(known)
    assert [cell.text for cell in column(table, "kinds")] == [said, said]
    assert len(column(table, "kind")) == 2


def test_sets_of_more_than_two_groups_have_no_kind(three_compared):
    found = three_compared.tests
    edge = [found.regions.index(found.edges[end][0]) for end in ("source", "target")]
    one = [(Component(0, np.array([edge]), 1.0), 0.02, 0.01)]
    changed = replace(three_compared, tests=replace(found, components=one))
    sources = [field.source for field in components_table(changed).fields]
    assert not {"kind", "kinds"} & set(sources)


def test_what_is_asked_for_first_does_not_fold(compared):
    table = differences_section(compared)["table"]
    open_columns = [field.source for field in table.fields if not field.folds]
    assert open_columns == [
        *("found", "kind_patient", "source", "target", "weight_std_control", "weight_std_patient"),
        *("change_interval", "q_both", "adjacent_control", "adjacent_patient"),
    ]


def test_a_change_has_an_interval_of_two_errors(compared):
    table = differences_section(compared)["table"]
    plain = with_labels(compared, compared.tables.differences)
    plain = plain.set_index(["source", "target"])
    ends = [tuple(cell.text for cell in row.cells[2:4]) for row in table.rows]
    wanted = plain.loc[ends, "difference_std"] - ndtri(0.975) * plain.loc[ends, "standard_error"]
    shown = [float(cell.exact) for cell in column(table, "low")]
    np.testing.assert_allclose(shown, wanted, rtol=1e-4)
    text = column(table, "change_interval")[0].text
    assert re.fullmatch(r"−?\d\.\d\d \(−?\d\.\d\d to −?\d\.\d\d\)", text)


def test_each_of_three_groups_has_its_change_from_the_reference(three_compared):
    table = differences_section(three_compared)["table"]
    titles = {field.source: field.title for field in table.fields}
    assert titles["change_b"] == "change per SD, b"
    assert not {"difference", "difference_std"} & set(titles)
    order = [tuple(cell.text for cell in row.cells[3:5]) for row in table.rows]
    plain = with_labels(three_compared, three_compared.tables.differences)
    places = [order.index(ends) for ends in zip(plain["source"], plain["target"], strict=True)]
    for group, changes in changes_per_sd(three_compared, plain).items():
        shown = np.array([float(cell.exact) for cell in column(table, f"change_{group}")])
        np.testing.assert_allclose(shown[places], changes, rtol=1e-5)


def test_only_what_is_found_to_differ_has_a_kind(compared):
    table = differences_section(compared)["table"]
    found = [cell.text for cell in column(table, "found")]
    kinds = [cell.text for cell in column(table, "kind_patient")]
    assert [kind == "–" for kind in kinds] == [one == "no" for one in found]
    assert len(set(found)) > 1


def test_a_difference_is_explained_by_the_table_that_it_is_in(compared, three_compared):
    def said(table):
        return dict(table.hints)["change" if "change" in dict(table.hints) else "range"]

    tables = [refinements_table(compared), differences_section(compared)["table"]]
    tables += [hubs_table(compared), hubs_table(three_compared)]
    assert len({said(table) for table in tables}) == 4
    for make in (hubs_table, lobes_table):
        assert said(make(compared)) == HINTS["sums"]["change"]
        assert said(make(three_compared)) == HINTS["sums"]["range"]


@pytest.fixture(scope="module")
def asked(compared):
    """As if two edges and some regions had been named beforehand."""
    edges = compared.tests.edges[:3].copy()
    edges["p_fwer"], edges["p_both"] = [0.01, 0.01, 1.0], [0.01, 0.03, 1.0]
    edges["p_fwer_both"] = [0.02, 0.2, 1.0]  # the second differs both ways only if it stood alone
    edges["q"] = [0.01, 1.0, 1.0]
    among = Among(compared.cohort.regions[:4], 0.03, 0.01, edges)
    return replace(compared, tests=replace(compared.tests, named=edges, among=among))


def test_what_was_not_asked_for_is_no_table(compared):
    assert further_tests(compared) == {"named": None, "among": None, "pairwise": None}
    assert not any(further_tests(replace(compared, tests=None)).values())


def test_a_named_edge_stands_out_where_it_differs_both_ways(asked):
    found = further_tests(asked)
    assert [row.mark for row in found["named"].rows] == ["found", "", ""]
    assert [row.mark for row in found["among"].rows] == ["found", "", ""]
    titles = [field.title for field in found["named"].fields]
    assert titles[-4:] == ["p", "p, family-wise", "p, both ways", "p, family-wise, both ways"]


def test_the_mark_of_a_named_edge_is_what_the_sentence_says(asked):
    lines = [line for line in asked.words.edges if line.startswith("Named beforehand")]
    assert ["differs both ways" in line for line in lines] == [True, False, False]
    assert "differs this way only" in lines[1]
    alone = replace(asked.tests, named=asked.tests.named[1:2])
    alone = replace(asked, tests=alone)
    assert further_tests(alone)["named"].rows[0].mark == "found"
    assert any("differs both ways" in line for line in alone.words.edges)


def test_each_pair_of_groups_is_in_the_table(three_compared):
    table = further_tests(three_compared)["pairwise"]
    pairs = {(row.cells[0].text, row.cells[1].text) for row in table.rows}
    assert pairs == {("a", "b"), ("a", "c"), ("b", "c")}
    assert table.total == len(three_compared.tables.pairwise)
    level = three_compared.settings.level
    marked = sum(row.mark == "found" for row in table.rows)
    assert marked == (three_compared.tables.pairwise["q_both"] <= level).sum() > 0


def test_the_page_has_their_sections_only_where_there_are_any(
    compared, asked, three_compared, html, html_of_three, no_pictures
):
    heads = {
        "named": "<h3>Edges named beforehand</h3>",
        "among": "<h3>Edges between regions named beforehand</h3>",
        "pairwise": "<h3>Which groups differ</h3>",
    }
    named = render_report(asked, pictures=no_pictures)
    for comparison, page in ((compared, html), (asked, named), (three_compared, html_of_three)):
        for name, table in further_tests(comparison).items():
            assert (heads[name] in page) == (table is not None)


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
