"""The results of the tests of differences in words, for the terminal and the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sgbn.cohort.cohort import Cohort
from sgbn.comparison.support import called, joined
from sgbn.core.exceptions import counted
from sgbn.core.graph import KINDS_OF_CHANGE
from sgbn.inference.difference_tables import Differences
from sgbn.write.tables import to_frame

if TYPE_CHECKING:
    from sgbn.comparison.result import Comparison

MAX_NAMED_EDGES = 5  # in one sentence; the rest are counted
POWER = 0.8  # the convention of power analyses


def p_text(p: float) -> str:
    """Return p as a paper writes it in a sentence."""
    return f"p = {p:.3f}" if p >= 0.001 else f"p = {p:.1g}"


def overall_words(comparison: Comparison) -> str:
    """Say whether the networks differ at all; return "" if nothing was tested."""
    tests, level = comparison.tests, comparison.settings.level
    if tests is None:
        return ""
    groups = joined([*map(called, tests.groups)])
    together = f"test of all edges together ({p_text(tests.global_p)})"
    allowed = f"{p_text(tests.global_p_both)} when such changes are allowed for"
    n_pairs = np.count_nonzero(tests.edges["q_both"] <= level)
    where = "one pair" if n_pairs == 1 else "single pairs"
    at_pairs = f"The networks of {groups} differ at {where} of regions"
    # The test of all edges and the tests of single pairs may disagree. Each case has its sentence.
    if tests.global_p > level:
        if n_pairs:
            return (
                f"{at_pairs}. The {together} does not show a difference: it can miss a few changed "
                "edges among many unchanged ones."
            )
        return (
            f"The {together} found no difference between the networks of {groups}. This is no "
            "proof of equality."
        )
    if tests.global_p_both > level:
        doubt = f"changes of variance alone could explain it ({allowed})"
        if n_pairs:
            return f"{at_pairs}. The {together} finds a difference too, but {doubt}."
        return f"The {together} finds that the weights of {groups} differ, but {doubt}."
    return (
        f"The networks of {groups} differ in a {together}. They also differ when changes of "
        f"variance are allowed for ({p_text(tests.global_p_both)})."
    )


def where_words(comparison: Comparison) -> str:
    """Say in one sentence how many pairs differ, and how; return "" if nothing was tested."""
    tests, level = comparison.tests, comparison.settings.level
    if tests is None:
        return ""
    if not len(tests.edges):
        return "No single pair was tested: no group has an edge."
    both = _both_ways(comparison)
    tested = counted(len(tests.edges), "tested pair")
    read = f"whichever way the arrow is read, at a false discovery rate of {level:.0%}"
    if both.empty:
        other = "; some differ one way only" if (tests.edges["q"] <= level).any() else ""
        return f"None of {tested} differs {read}{other}."
    surest = int((both["p_fwer_both"] <= level).sum())
    kinds = f": {_kinds(comparison, both)}" if len(comparison.groups) == 2 else ""
    return (
        f"{len(both)} of {tested} {_differ(len(both))} {read} ({surest} also family-wise){kinds}."
    )


def _both_ways(comparison: Comparison) -> pd.DataFrame:
    """Return the rows of the pairs that differ both ways, the smallest q first."""
    table = comparison.tables.differences
    both = table[table["q_both"] <= comparison.settings.level]
    return both.sort_values("q_both", kind="stable")


def _kinds(comparison: Comparison, edges: pd.DataFrame) -> str:
    """Count the kinds of change of two groups, the most frequent first."""
    group = comparison.groups[1]
    # Ties are in the order of KINDS_OF_CHANGE. The order of appearance would depend on the data.
    counts = edges[f"kind_{group}"].value_counts(sort=False).reindex(KINDS_OF_CHANGE).dropna()
    counts = counts.sort_values(ascending=False, kind="stable")
    return f"{joined([f'{n:.0f} {kind}' for kind, n in counts.items()])} in {called(group)}"


def edge_lines(comparison: Comparison) -> list[str]:
    """Say which edges differ, line by line; return no line if nothing was tested."""
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
    """Name the pairs that differ both ways; if there are none, say what could have been found."""
    both = _both_ways(comparison)
    if len(both):
        yield (
            "The surest, with weights per standard deviation: "
            f"{_names(both, comparison, 'q_both')}."
        )
    else:
        # `detectable_words` returns "" if no change could have been found.
        yield from filter(None, [detectable_words(tests, comparison.settings.level)])


def _one_way(comparison: Comparison) -> Iterator[str]:
    level, table = comparison.settings.level, comparison.tables.differences
    both = table["q_both"] <= level
    one_way = table[(table["q"] <= level) & ~both]
    if len(one_way):
        more = " more" if both.any() else ""
        yield (
            f"{len(one_way)}{more} {_differ(len(one_way))} one way only, which a change of "
            f"variance can cause: {_names(one_way, comparison, 'q')}."
        )


def _pairwise(tests: Differences, level: float, cohort: Cohort) -> Iterator[str]:
    """Name the edges in which each pair of groups differs, one line per pair.

    There are no lines for only two groups.
    """
    if len(tests.groups) < 3:
        return
    if not tests.pairwise:
        yield (
            "Groups are compared two at a time only if there are at most 5 groups. Here there are "
            f"{len(tests.groups)}."
        )
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
    """Say what was found at each edge that was named beforehand, one line per edge."""
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
            change = ""  # the test compares all groups, but the table has the change of one group
        family = f", family-wise over {len(tests.named)} named edges {p_text(row['p_fwer'])}"
        yield (
            f"Named beforehand, {row['source']} to {row['target']}: {verdict} ("
            f"{p_text(row['p'])}{family if len(tests.named) > 1 else ''}, both ways "
            f"{p_text(row['p_both'])}{change})."
        )


def both_ways_column(n_named: int) -> str:
    """Return the name of the column with the p of both ways, for edges named beforehand.

    A single edge needs no family-wise correction.
    """
    return "p_both" if n_named == 1 else "p_fwer_both"


def _among(tests: Differences, level: float, cohort: Cohort) -> Iterator[str]:
    """Say in one line what was found among the regions that were named beforehand."""
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
    """Say how large a change would have been found; return "" if none could have been found."""
    # With too few permutations no family-wise p can reach the level: nothing is detectable.
    # A product of exactly 1, such as 0.05 * 20, must pass in spite of round-off.
    if not len(tests.edges) or level * (tests.n_permutations + 1) < 1 - 1e-9:
        return ""
    low, middle, high = np.quantile(tests.detectable(POWER, level), (0.1, 0.5, 0.9))
    return (
        f"With these subjects, a change of {middle:.2f} (standard deviations of the target per "
        "standard deviation of the source) would have been found family-wise, one way, with "
        f"{POWER:.0%} probability at half of the edges. At the easiest tenth of the edges "
        f"{low:.2f} is enough. At the hardest tenth it takes {high:.2f} or more. Smaller "
        "changes may exist that these tests cannot see."
    )


def signed(weight: float) -> str:
    """Return a number with two decimals and a typographic minus sign; zero has no sign."""
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
    """Name an edge with its weight per SD in each group; a supported direction is an arrow."""
    weights = ", ".join(
        f"{called(group)} {signed(row[f'weight_std_{group}'])}" for group in comparison.groups
    )
    sign = "→" if row["supported"] else "–"
    kind = f" {row[f'kind_{comparison.groups[1]}']}" if len(comparison.groups) == 2 else ""
    label = comparison.cohort.labels
    ends = f"{label[row['source']]} {sign} {label[row['target']]}"
    q = "q" if by == "q_both" else "q one way"
    return f"{ends}{kind} ({weights}; {q} = {row[by]:.2g})"
