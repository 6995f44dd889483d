"""What the tests of differences found, in words: said once, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sgbn.cohort import Cohort
from sgbn.comparison.support import called, joined
from sgbn.exceptions import counted
from sgbn.inference import KINDS_OF_CHANGE, Differences
from sgbn.io import to_frame

if TYPE_CHECKING:
    from sgbn.comparison.result import Comparison

MAX_NAMED_EDGES = 5  # in one sentence; the rest are counted
POWER = 0.8  # the convention of power analyses


def p_text(p: float) -> str:
    """Return p as a paper writes it in a sentence."""
    return f"p = {p:.3f}" if p >= 0.001 else f"p = {p:.1g}"


def overall_words(comparison: Comparison) -> str:
    """Say in one sentence whether the networks differ at all; "" if it was not tested."""
    tests, level = comparison.tests, comparison.settings.level
    if tests is None:
        return ""
    groups, p = joined([*map(called, tests.groups)]), p_text(tests.global_p)
    together = f"a test of all edges together ({p})"
    allowed = f"{p_text(tests.global_p_both)} with these allowed for"
    n_pairs = np.count_nonzero(tests.edges["q_both"] <= level)
    where = "one pair" if n_pairs == 1 else "single pairs"
    at_pairs = f"The networks of {groups} differ at {where} of regions"
    # The global test and those of single pairs can disagree either way; each case has its sentence.
    if tests.global_p > level:
        if n_pairs:
            return f"{at_pairs}; {together} does not show it: a few changes are lost among all."
        return (
            f"No difference between the networks of {groups} was found by {together}, which is no "
            "proof of equality."
        )
    if tests.global_p_both > level:
        doubt = f"changes of variance alone could explain it ({allowed})"
        if n_pairs:
            return f"{at_pairs}. What {together} finds beyond that is less sure: {doubt}."
        return f"The weights of {groups} differ by {together}, but {doubt}."
    return (
        f"The networks of {groups} differ by {together}, also once changes of variance are allowed "
        f"for ({p_text(tests.global_p_both)})."
    )


def where_words(comparison: Comparison) -> str:
    """Say in one sentence how many pairs differ, and of which kinds; "" if it was not tested."""
    tests, level = comparison.tests, comparison.settings.level
    if tests is None:
        return ""
    if not len(tests.edges):
        return "No single pair was tested: no group has an edge."
    both = _both_ways(comparison)
    tested = counted(len(tests.edges), "tested pair")
    read = f"whichever way the arrow is read, at a false discovery rate of {level:.0%}"
    if both.empty:
        other = "; some do one way only" if (tests.edges["q"] <= level).any() else ""
        return f"None of {tested} differs {read}{other}."
    surest = int((both["p_fwer_both"] <= level).sum())
    kinds = f": {_kinds(comparison, both)}" if len(comparison.groups) == 2 else ""
    return (
        f"{len(both)} of {tested} {_differ(len(both))} {read} ({surest} also family-wise){kinds}."
    )


def _both_ways(comparison: Comparison) -> pd.DataFrame:
    """Find the pairs that differ both ways, the surest first."""
    table = comparison.tables.differences
    both = table[table["q_both"] <= comparison.settings.level]
    return both.sort_values("q_both", kind="stable")


def _kinds(comparison: Comparison, edges: pd.DataFrame) -> str:
    """Count the kinds of change of two groups, the most frequent first."""
    group = comparison.groups[1]
    # The order of KINDS_OF_CHANGE decides ties: that of first appearance would depend on the data.
    counts = edges[f"kind_{group}"].value_counts(sort=False).reindex(KINDS_OF_CHANGE).dropna()
    counts = counts.sort_values(ascending=False, kind="stable")
    return f"{joined([f'{n:.0f} {kind}' for kind, n in counts.items()])} in {called(group)}"


def edge_lines(comparison: Comparison) -> list[str]:
    """Say which edges differ, line by line; none if they were not tested."""
    tests, level = comparison.tests, comparison.settings.level
    if tests is None:
        return []
    return [
        where_words(comparison),
        *_surest(comparison, tests),
        *_one_way(comparison),
        *_pairwise(tests, level, comparison.cohort),
        *_named(tests, level),
        *_among(tests, level, comparison.cohort),
    ]


def _surest(comparison: Comparison, tests: Differences) -> Iterator[str]:
    """Name pairs that differ both ways; if there is none, say what would have been found."""
    both = _both_ways(comparison)
    if len(both):
        yield (
            "The surest, with weights per standard deviation: "
            f"{_names(both, comparison, 'q_both')}."
        )
    else:
        # It has no words where no change could have been found.
        yield from filter(None, [detectable_words(tests, comparison.settings.level)])


def _one_way(comparison: Comparison) -> Iterator[str]:
    level, table = comparison.settings.level, comparison.tables.differences
    both = table["q_both"] <= level
    one_way = table[(table["q"] <= level) & ~both]
    if len(one_way):
        more = " more" if both.any() else ""
        yield (
            f"{len(one_way)}{more} {_differ(len(one_way))} one way only; a change of variance can "
            f"do this: {_names(one_way, comparison, 'q')}."
        )


def _pairwise(tests: Differences, level: float, cohort: Cohort) -> Iterator[str]:
    """One line per pair of groups with finds, of more than two groups."""
    if len(tests.groups) < 3:
        return
    if not tests.pairwise:
        yield f"Which of the {len(tests.groups)} groups differ is tested for up to 5 groups only."
        return
    lines = []
    for (first, second), edges in tests.pairwise.items():
        both = edges[edges["q_both"] <= level]
        if len(both):
            surest = int((both["p_fwer_both"] <= level).sum())
            lines.append(
                f"{first} and {second}: {len(both)} of {len(edges)} pairs of regions "
                f"{_differ(len(both))} both ways in closed tests, at a false discovery rate of "
                f"{level:.0%} ({surest} also family-wise): {_plain_names(both, cohort)}."
            )
    yield from lines or ["No two groups differ both ways at a single edge in closed tests."]


def _named(tests: Differences, level: float) -> Iterator[str]:
    """One line per edge that was named beforehand."""
    if tests.named is None:
        return
    for row in to_frame(tests.named).to_dict("records"):
        verdict = "no difference is found"
        if row["p_fwer"] <= level:
            # The other direction needs the same correction as this one.
            holds = row[both_ways_column(len(tests.named))] <= level
            verdict = "differs both ways" if holds else "differs this way only"
        change = f"; change {signed(row['difference_std'])} per standard deviation"
        if len(tests.groups) > 2:
            change = ""  # the test is of all groups, and the table has the change of one of them
        family = f", family-wise over {len(tests.named)} named edges {p_text(row['p_fwer'])}"
        yield (
            f"Named beforehand, {row['source']} to {row['target']}: {verdict} ("
            f"{p_text(row['p'])}{family if len(tests.named) > 1 else ''}, both ways "
            f"{p_text(row['p_both'])}{change})."
        )


def both_ways_column(n_named: int) -> str:
    """Name the column with p both ways of edges named beforehand: a single one has no family."""
    return "p_both" if n_named == 1 else "p_fwer_both"


def _among(tests: Differences, level: float, cohort: Cohort) -> Iterator[str]:
    """One line for the regions that were named beforehand."""
    if tests.among is None:
        return
    edges = tests.among.edges
    if not len(edges):
        yield f"Among the {len(tests.among.regions)} regions named beforehand no edge was tested."
        return
    different = edges[edges["q"] <= level]
    names = f": {_plain_names(different, cohort)}" if len(different) else ""
    any_found = len(different) or tests.among.p <= level
    doubt = " This test does not allow for changes of variance." if any_found else ""
    yield (
        f"Among the {len(tests.among.regions)} regions named beforehand, all edges together have "
        f"{p_text(tests.among.p)}; {len(different)} of {len(edges)} {_differ(len(different))} at a "
        f"false discovery rate of {level:.0%}{names}.{doubt}"
    )


def detectable_words(tests: Differences, level: float) -> str:
    """Say which change would have been found."""
    # With too few permutations no family-wise p can reach the level: nothing is detectable.
    # A product of exactly 1, such as 0.05 * 20, must pass in spite of round-off.
    if not len(tests.edges) or level * (tests.n_permutations + 1) < 1 - 1e-9:
        return ""
    low, middle, high = np.quantile(tests.detectable(POWER, level), (0.1, 0.5, 0.9))
    return (
        f"With these subjects, a change of {middle:.2f} standard deviations (of the target, per "
        f"one of the source) would have been found family-wise, one way, with {POWER:.0%} "
        f"probability at half of the edges; it takes {low:.2f} at the easiest tenth of them and "
        f"{high:.2f} at the hardest. Smaller changes may be there, unseen."
    )


def signed(weight: float) -> str:
    """Return a number to two places, with a typographic minus sign, and none before zero."""
    return f"{round(weight, 2) + 0.0:.2f}".replace("-", "−")  # adding 0.0 turns -0.0 into 0.0


def _differ(count: int) -> str:
    return "differs" if count == 1 else "differ"


def _names(table: pd.DataFrame, comparison: Comparison, by: str) -> str:
    """Name the first edges of a table, with weights, and count the others."""
    first = table.head(MAX_NAMED_EDGES).to_dict("records")
    return _and_more([_edge_text(row, comparison, by) for row in first], len(table))


def _plain_names(edges: NDArray[Any], cohort: Cohort) -> str:
    label = cohort.labels
    first = edges[:MAX_NAMED_EDGES]
    named = [f"{label[row['source']]} – {label[row['target']]}" for row in first]
    return _and_more(named, len(edges))


def _and_more(named: Sequence[str], count: int) -> str:
    more = count - len(named)
    return "; ".join(named) + (f"; and {more} more" if more else "")


def _edge_text(row: Mapping[Any, Any], comparison: Comparison, by: str) -> str:
    """Name an edge, by an arrow if one is supported, with its weight per SD in each group."""
    weights = ", ".join(
        f"{called(group)} {signed(row[f'weight_std_{group}'])}" for group in comparison.groups
    )
    sign = "→" if row["supported"] else "–"
    kind = f" {row[f'kind_{comparison.groups[1]}']}" if len(comparison.groups) == 2 else ""
    label = comparison.cohort.labels
    ends = f"{label[row['source']]} {sign} {label[row['target']]}"
    return f"{ends}{kind} ({weights}; q = {row[by]:.2g})"
