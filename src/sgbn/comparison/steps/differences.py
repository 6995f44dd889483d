"""The results of the tests of differences in words, for the terminal and the report.

The section of the page on differences: tested edges, connected sets, regions and lobes.

Tables of the tests of edges named beforehand, and of the tests of each pair of groups.

Tables and titles of the changes of edges from the reference to another group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.series import SeriesCohort
from sgbn.comparison.names import TRUE, called, has_lobes, joined, lobe_fields, with_labels
from sgbn.comparison.step import NOT_ASKED, Job, Step
from sgbn.comparison.steps.networks import add_lobes, at_edges
from sgbn.core.graph import KINDS_OF_CHANGE, kinds_of_change
from sgbn.core.problems import counted
from sgbn.core.types import Array
from sgbn.inference.difference_tables import Differences
from sgbn.inference.differences import edge_differences
from sgbn.inference.series_differences import series_differences
from sgbn.write.draw.differences import surest_first
from sgbn.write.draw.style import KIND_STYLES
from sgbn.write.page import (
    DASH,
    ENDS,
    HINTS,
    Field,
    Table,
    folded,
    hint_of,
    in_words,
    make_table,
    mark_by,
    significant,
)
from sgbn.write.tables import frame_of, to_frame

if TYPE_CHECKING:
    import pandas as pd

    from sgbn.comparison.result import Comparison


WHETHER, WHICH = "Do the networks differ?", "Which edges differ, and how sure is that?"
MAX_NAMED_EDGES = 5  # in one sentence; the rest are counted
PRESENT = 0.01  # standardised weight; edges whose true weights differ by no more count as equal
POWER = 0.8  # the convention of power analyses


def tested_edges(
    job: Job, found: Mapping[str, Any], part: str, n_permutations: int, **options: Any
) -> Differences:
    """Test which edges differ between the groups, or which weights of subjects of time series.

    `part` names the part of the study.
    """
    # Options may replace the learner.
    options = {"learner": job.test_searcher} | options | job.test_options(part, n_permutations)
    if isinstance(job.prepared, SeriesCohort):
        return series_differences(job.prepared, **options)
    # A learner that does not look for outliers has no such setting. The tests then find them.
    trim = "trim" if job.settings.outliers is None else found["outliers"]
    return edge_differences(job.prepared, outliers=trim, **options)


class DifferencesStep(Step):
    """Test which edges differ between the groups."""

    name, title = "differences", "Tests of differences, by permutations"
    setting, off = "n_permutations", 0

    def run(self, job: Job, found: dict[str, Any]) -> None:
        """Test all edges, and those that were named before the data were seen."""
        settings = job.settings
        named = {"edges": settings.edges, "among": settings.among}
        found["tests"] = tested_edges(job, found, self.name, settings.n_permutations, **named)

    def words(self, comparison: Comparison) -> dict[str, str]:
        """Say whether the networks differ, and which edges."""
        why = comparison.skipped.get(self.name, NOT_ASKED)
        which = "\n".join(edge_lines(comparison)) or f"Differences were not tested: {why}"
        return {WHETHER: overall_words(comparison), WHICH: which}

    def tables(self, comparison: Comparison) -> dict[str, pd.DataFrame]:
        """Return the tables of all tests."""
        tested = comparison.tests
        if tested is None:
            return {}
        level = comparison.settings.level
        made = {
            "differences": _with_interval(_differences(comparison, tested), level),
            "pairwise": _with_interval(to_frame(tested.pairwise, "group", "other"), level),
            "hubs": _surest_first(tested.hubs),
            "lobes": _surest_first(tested.lobes),
            "components": _components(tested),
        }
        if tested.named is not None:
            made["named"] = _with_interval(to_frame(tested.named), level)
        if tested.among is not None:
            table = _with_interval(to_frame(tested.among.edges), level)
            made["among"] = table.sort_values(["p_fwer", "q"], kind="stable", ignore_index=True)
        return made


def _with_interval(table: pd.DataFrame, level: float) -> pd.DataFrame:
    """Add an interval for the `difference_std` of each edge, not corrected for other edges."""
    if "standard_error" not in table:
        return table  # it is empty: pairs of more than five groups are not tested
    where = list(table.columns).index("standard_error") + 1
    # The interval is from the normal distribution, but p is from permutations. They may disagree.
    half = ndtri(1 - level / 2) * table["standard_error"]
    table.insert(where, "low", table["difference_std"] - half)
    table.insert(where + 1, "high", table["difference_std"] + half)
    return table


def _differences(comparison: Comparison, tested: Differences) -> pd.DataFrame:
    table = to_frame(tested.edges)
    scale = _per_sd(comparison, table)
    # The order of the columns is: weights per SD, kinds of change, and then the difference.
    where = list(table.columns).index("difference")
    for place, group in enumerate(comparison.groups):
        table.insert(where + place, f"weight_std_{group}", table[f"weight_{group}"] * scale)
    for place, group in enumerate(comparison.groups[1:], start=where + len(comparison.groups)):
        reference = table[f"weight_std_{comparison.reference}"]
        table.insert(
            place, f"kind_{group}", kinds_of_change(reference, table[f"weight_std_{group}"])
        )
    add_lobes(table, comparison)
    table["supported"] = at_edges(
        table, comparison, np.any([*comparison.supported.values()], axis=0)
    )
    for group, confidence in comparison.confidence.items():
        # Adjacency has no direction, because this group's network may not have the tested edge.
        table[f"adjacent_{group}"] = at_edges(table, comparison, confidence.adjacency_)
    if comparison.truth:
        true = [at_edges(table, comparison, comparison.truth[group]) for group in comparison.groups]
        for group, weights in zip(comparison.groups, true, strict=True):
            table[f"{TRUE}{group}"] = weights
        table["true_change"] = np.ptp(true, axis=0) > PRESENT  # between any two groups
    return table


def _components(tested: Differences) -> pd.DataFrame:
    columns = ["component", "sign", "strength", "p_fwer", "error", "source", "target"]
    names = tested.regions
    rows = [
        (number, component.sign, component.strength, p, error, names[source], names[target])
        for number, (component, p, error) in enumerate(tested.components, start=1)
        for source, target in component.pairs.tolist()
    ]
    return frame_of(rows, columns)


def _surest_first(records: NDArray[Any]) -> pd.DataFrame:
    table = to_frame(records)
    # p values of permutations have ties. These are sorted by the size of z.
    surest = np.lexsort((-table["z"].abs(), table["p_fwer"]))
    return table.iloc[surest].reset_index(drop=True)


def _per_sd(comparison: Comparison, table: pd.DataFrame) -> Array:
    """Return the factor that turns each weight in units of the data into a weight per SD.

    The table has the difference in both units. If it is not 0, the ratio of the two is the factor.
    Otherwise the factor is the ratio of the SD within the groups of the tested subjects, which is
    nearly the same. Weights of time series are per SD already.
    """
    if comparison.of_series:
        return np.ones(len(table))
    tests, cohort = comparison.tests, comparison.cohort
    # `left_out` has the names of subjects by group.
    gone = {subject for ids in (tests.left_out.values() if tests else ()) for subject in ids}
    kept = np.array([subject not in gone for subject in cohort.ids])
    regions = comparison.regions[kept]
    means = regions.groupby(np.asarray(cohort.group)[kept]).transform("mean")
    # The SD is within the groups, because a difference of their means is not spread.
    sd = (regions - means).std()
    spread = sd[table["source"]].to_numpy() / sd[table["target"]].to_numpy()
    # If the difference is 0, the ratio would be 0 / 0. `spread` takes its place.
    change, std = (table[name].to_numpy(float) for name in ("difference", "difference_std"))
    known = np.isfinite(change) & (change != 0)
    scale: Array = np.where(known, std / np.where(known, change, 1.0), spread)
    return scale


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


KEY = "differences-table"
FAMILY_WISE, BOTH_WAYS, ONE_WAY, NOT_FOUND = VERDICTS = (
    *("both ways, family-wise", "both ways"),
    *("one way only", "no"),
)  # verdicts on an edge, the surest first


def differences_section(comparison: Comparison) -> dict[str, Any] | None:
    """Collect the tables and words of the tests; return None if nothing was tested."""
    tests, level = comparison.tests, comparison.settings.level
    if tests is None:
        return None
    table = comparison.tables.differences
    both_ways = table["q_both"] <= level
    return {
        "table": differences_table(comparison, table),
        "overall": comparison.words.verdict[0],
        "lines": comparison.words.edges,
        "significant": int(both_ways.sum()),
        "supported": int((both_ways & table["supported"]).sum()),
        **further_tests(comparison),
        "permutations": tests.n_permutations,
        # The data themselves count as one permutation, so p cannot be smaller than this.
        "smallest": f"{1 / (tests.n_permutations + 1):.2g}",
        "components": components_table(comparison),
        "hubs": hubs_table(comparison),
        "lobes": lobes_table(comparison) if has_lobes(comparison) else None,
        "reference": comparison.reference,
        "groups": len(tests.groups),
    }


def differences_table(comparison: Comparison, table: pd.DataFrame) -> Table:
    """Make a table of the tested edges, the significant edges first."""
    groups = comparison.groups
    table = _with_verdicts(comparison, table)
    table, changes = _with_changes(comparison, with_labels(comparison, table))
    fields = [
        Field("found", "differs", "name"),
        *_kind_fields(comparison),
        *ENDS,
        *_per_group(comparison, "weight_std", "weight per SD, {}", "weight"),
        *changes,
        Field("q_both", "q, both ways", "p"),
        *_per_group(comparison, "adjacent", "confidence, {}", "share"),
        *folded(_rarely_asked(comparison)),
    ]
    table = in_words(_with_symbols(comparison, table), "true_change", "supported")
    caption = f"Tested edges, {groups[0]} against {' and '.join(groups[1:])}, the surest first"
    marks = {NOT_FOUND: "", ONE_WAY: "one-way"}
    mark = mark_by("found", marks, other="found")
    return make_table(KEY, caption, table, fields, mark=mark)


def _with_verdicts(comparison: Comparison, table: pd.DataFrame) -> pd.DataFrame:
    """Add the verdict on each edge in a column `found`, and sort the table by it."""
    level = comparison.settings.level
    both_ways = table["q_both"] <= level
    # np.select takes the first condition that holds: the strictest condition is the first.
    verdicts = np.select(
        [both_ways & (table["p_fwer_both"] <= level), both_ways, table["q"] <= level],
        [FAMILY_WISE, BOTH_WAYS, ONE_WAY],
        NOT_FOUND,
    )
    table = table.assign(found=verdicts)
    # A stable sort keeps the order by p among edges with the same verdict.
    return table.iloc[np.argsort(table["found"].map(VERDICTS.index), kind="stable")].copy()


def _rarely_asked(comparison: Comparison) -> list[Field]:
    """Return the fields that the table hides until a reader asks for them."""
    groups = comparison.groups
    in_units: list[Field] = []
    if not comparison.of_series:  # weights of series are standardised and have no units
        weights = [Field(f"weight_{group}", f"weight, {group}", "number") for group in groups]
        in_units = [Field("difference", "change", "number"), *weights]
    true_weight = HINTS["any"]["true_weight_std"]
    return [
        Field("q", "q", "p"),
        Field("p_fwer_both", "p, family-wise, both ways", "p"),
        Field("p_fwer", "p, family-wise", "p"),
        Field("supported", "direction supported"),
        *in_units,
        Field("standard_error", "standard error", "number"),
        Field("statistic", "statistic", "number"),
        Field("error", "Monte-Carlo error", "number"),
        *(
            Field(f"{TRUE}{group}", f"true weight per SD, {group}", "number", true_weight)
            for group in groups
        ),
        Field("true_change", "truly differs"),
        *lobe_fields(comparison),
        Field("p", "p", "p"),
        Field("p_both", "p, both ways", "p"),
    ]


def _per_group(comparison: Comparison, column: str, title: str, kind: Any) -> list[Field]:
    """Return one field per group; the same hint explains all of them."""
    return [
        Field(f"{column}_{group}", title.format(group), kind, HINTS["any"][column])
        for group in comparison.groups
    ]


def _with_changes(comparison: Comparison, table: pd.DataFrame) -> tuple[pd.DataFrame, list[Field]]:
    """Return the table with the changes from the reference, and the fields that show them.

    With two groups, the change has an interval. With more groups, there is one change per group.
    The table then has a standard error for the last group only, so it is not shown.
    """
    if len(comparison.groups) == 2:
        ends = (table[name] for name in ("difference_std", "low", "high"))
        intervals: Any = list(zip(*ends, strict=True))
        # With tests at level 0.05, the intervals cover 95 %.
        share = f"{100 * (1 - comparison.settings.level):.3g} %"
        return table.assign(change_interval=intervals), [
            Field("change_interval", f"change per SD ({share} interval)", "interval"),
            Field("low", "change per SD, low", "number", "", folds=True),
            Field("high", "change per SD, high", "number", "", folds=True),
        ]
    changes = changes_per_sd(comparison, table)
    # `make_table` leaves out the fields of these columns.
    table = table.drop(columns=["difference", "standard_error", "low", "high"])
    columns = {f"change_{group}": change for group, change in changes.items()}
    hint = hint_of(KEY, "change")
    fields = [
        Field(f"change_{group}", f"change per SD, {group}", "weight", hint) for group in changes
    ]
    return table.assign(**columns), fields


def _kind_fields(comparison: Comparison) -> list[Field]:
    """Return one field per compared group, with the kind of change from the reference."""
    compared, hint = comparison.groups[1:], hint_of(KEY, "kind")
    return [
        Field(f"kind_{group}", "kind of change" + f", {group}" * (len(compared) > 1), hint=hint)
        for group in compared
    ]


def _with_symbols(comparison: Comparison, table: pd.DataFrame) -> pd.DataFrame:
    """Put a symbol before each kind of change, and a dash if no difference was found."""
    words = {kind: f"{style.symbol} {kind}" for kind, style in KIND_STYLES.items()}
    names = [f"kind_{group}" for group in comparison.groups[1:]]
    differs = table["found"] != NOT_FOUND
    return table.assign(**{name: table[name].map(words).where(differs, DASH) for name in names})


def components_table(comparison: Comparison) -> Table:
    """Make a table of the connected sets of changed edges."""
    table = comparison.tables.components
    if len(comparison.groups) == 2:
        # With more groups an edge has several kinds of change, one per compared group.
        table = _with_kinds(comparison, table)
    table = with_labels(comparison, table)
    fields = [
        Field("component", "set", "count"),
        Field("kinds", "changes in the set"),
        Field("strength", "strength", "number"),
        Field("p_fwer", "p, family-wise", "p"),
        *ENDS,
        Field("kind", "kind of change"),
    ]
    caption = "Connected sets of edges that change together"
    mark = significant(comparison.settings.level, "p_fwer")
    return make_table("components", caption, table, fields, mark=mark)


def _with_kinds(comparison: Comparison, table: pd.DataFrame) -> pd.DataFrame:
    """Add the kind of change of each edge, and the number of edges of each kind in its set."""
    ends, kind = ["source", "target"], f"kind_{comparison.groups[-1]}"
    kinds = comparison.tables.differences[[*ends, kind]].rename(columns={kind: "kind"})
    # A left join keeps the order of the sets.
    table = table.merge(kinds, on=ends, how="left")
    words = {
        number: ", ".join(f"{count} {kind}" for kind, count in Counter(of_set).items())
        for number, of_set in table.groupby("component")["kind"]
    }
    return table.assign(kinds=table["component"].map(words))


def hubs_table(comparison: Comparison) -> Table:
    """Make a table of the changes of the strength of each region's edges."""
    of = [Field("region", "region", "name"), Field("kind", "edges that go")]
    caption = "Regions: strength of edges in and out"
    table = with_labels(comparison, comparison.tables.hubs)
    return _sums_table(comparison, "hubs", caption, table, of)


def lobes_table(comparison: Comparison) -> Table:
    """Make a table of the changes of the edges from lobe to lobe."""
    of = [Field("source", "from lobe"), Field("target", "to lobe"), Field("kind", "of edges")]
    caption = "Lobes: strength and number of edges"
    return _sums_table(comparison, "lobes", caption, comparison.tables.lobes, of)


def _sums_table(
    comparison: Comparison, key: str, caption: str, table: pd.DataFrame, of: list[Field]
) -> Table:
    """Make a table of tests of sums over edges; the fields `of` say which edges are summed."""
    # With more groups, the table has the largest sum minus the smallest, without a sign.
    title = "change" if len(comparison.groups) == 2 else "range"
    fields = [
        *of,
        *(Field("difference", title, "number", HINTS["sums"][title]), Field("z", "z", "number")),
        Field("p_fwer", "p, family-wise", "p"),
        Field("error", "Monte-Carlo error", "number"),
    ]
    mark = significant(comparison.settings.level, "p_fwer")
    return make_table(key, caption, table, fields, mark=mark)


PLAIN_ENDS = Field("source", "from"), Field("target", "to")
CHANGE = (
    Field("difference_std", "change per SD", "number"),
    Field("low", "change, low", "number"),
    Field("high", "change, high", "number"),
    Field("standard_error", "standard error", "number"),
)
NAMED = (
    *(*PLAIN_ENDS, *CHANGE),
    Field("statistic", "statistic", "number"),
    Field("p", "p", "p"),
    Field("p_fwer", "p, family-wise", "p"),
    Field("p_both", "p, both ways", "p"),
    Field("p_fwer_both", "p, family-wise, both ways", "p"),
)
AMONG = (*PLAIN_ENDS, *CHANGE, Field("q", "q", "p"), Field("p_fwer", "p, family-wise", "p"))
PAIRWISE = (
    *(Field("group", "group"), Field("other", "other group")),
    *(*PLAIN_ENDS, *CHANGE),
    Field("q_both", "q, both ways", "p"),
    Field("q", "q", "p"),
    Field("p_fwer_both", "p, family-wise, both ways", "p"),
    Field("p_fwer", "p, family-wise", "p"),
)


def further_tests(comparison: Comparison) -> dict[str, Table | None]:
    """Return the tables by the names that the page uses; None if nothing was tested."""
    tables, table_of = comparison.tables, partial(_table_of, comparison)
    pairwise = tables.pairwise
    if len(pairwise):
        # Many pairs have the same q. Among these, p gives the order.
        pairwise = pairwise.sort_values(["q_both", "p_both"], kind="stable")
    # Both tests must be significant: a change of variance alone can make an edge differ one way.
    both_ways = "p_fwer", both_ways_column(len(tables.named))
    among = "Edges between regions named beforehand"
    closed = "Closed tests of each pair of groups, the surest first"
    return {
        "named": table_of("named", "Edges named beforehand", tables.named, NAMED, *both_ways),
        "among": table_of("among", among, tables.among, AMONG, "q"),
        # Closed tests already correct for the number of pairs of groups.
        "pairwise": table_of("pairwise", closed, pairwise, PAIRWISE, "q_both"),
    }


def _table_of(
    comparison: Comparison,
    key: str,
    caption: str,
    table: pd.DataFrame,
    fields: Sequence[Field],
    *tests: str,
) -> Table | None:
    """Make a table of tested edges that marks rows in which all `tests` are significant."""
    if table.empty:
        return None
    mark = significant(comparison.settings.level, *tests)
    return make_table(key, caption, with_labels(comparison, table), fields, mark=mark)


def changes_per_sd(comparison: Comparison, table: pd.DataFrame) -> dict[str, Array]:
    """Return the change of each tested edge from the reference to each other group.

    Parameters
    ----------
    comparison : Comparison
        The comparison that tested the edges.
    table : DataFrame
        Rows of `comparison.tables.differences`, in any order.

    Returns
    -------
    dict of group to ndarray
        The change of the weight of each edge, per standard deviation. The reference is not a key.
    """
    reference, *compared = (f"weight_std_{group}" for group in comparison.groups)
    changes = [(table[column] - table[reference]).to_numpy(float) for column in compared]
    return dict(zip(comparison.groups[1:], changes, strict=True))


def verdict(comparison: Comparison, group: str) -> str:
    """Return a phrase that says how many pairs differ between the reference and a group."""
    table, level = differences_of(comparison, group), comparison.settings.level
    n_sure = int((table["q_both"] <= level).sum())
    # Without tests of two groups at a time, q is for all groups, and the phrase must say so.
    pairs = {0: "No pair differs", 1: "1 pair differs"}.get(n_sure, f"{n_sure} pairs differ")
    if len(comparison.groups) > 2 and comparison.tables.pairwise.empty:
        return f"{pairs} both ways in any group (q of all groups ≤ {level:g})"
    return f"{pairs} both ways (q ≤ {level:g})"


def change_words(comparison: Comparison, group: str) -> str:
    """Return the title of a change, which names the two groups."""
    return f"Change from {comparison.reference} to {group}"


def differences_of(comparison: Comparison, group: str) -> pd.DataFrame:
    """Return the tested edges of a group against the reference, the surest differences first.

    With more than two groups, `difference_std`, `standard_error` and `q_both` come from the test of
    these two groups. With more than five groups, two groups at a time are not tested: `q_both` is
    then the result of the test of all groups, and the table has no `standard_error`.
    """
    table = comparison.tables.differences
    if len(comparison.groups) > 2:
        # The table has the change of the last group from the first. For other groups, only the
        # tests of two groups at a time have a standard error.
        table = table.assign(difference_std=changes_per_sd(comparison, table)[group])
        table = table.drop(columns="standard_error")
        if not comparison.tables.pairwise.empty:
            table = _of_pair(comparison, table, group)
    order, _ = surest_first(table["q_both"].to_numpy(), comparison.settings.level)
    return table.iloc[order].reset_index(drop=True)


def _of_pair(comparison: Comparison, table: pd.DataFrame, group: str) -> pd.DataFrame:
    """Add the results of the test of one group against the reference, the surest first."""
    pairwise, ends = comparison.tables.pairwise, ["source", "target"]
    of_pair = pairwise["group"].eq(comparison.reference) & pairwise["other"].eq(group)
    tested = pairwise.loc[of_pair, [*ends, "difference_std", "standard_error", "q_both", "p"]]
    rest = table.drop(columns=["difference_std", "q_both", "p"])
    # An inner join, because the tests of two groups have the same edges as the test of all groups.
    return tested.merge(rest, on=ends, validate="1:1").sort_values("p", kind="stable")
