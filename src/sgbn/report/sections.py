"""What each section of the page shows of a comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from sgbn.comparison import Comparison
from sgbn.comparison.accuracy import METRICS
from sgbn.comparison.changes import changes_per_sd
from sgbn.comparison.peers import COVARIATES_ALONE
from sgbn.comparison.steps import STEPS
from sgbn.comparison.summary import of_groups
from sgbn.comparison.tables import TRUE
from sgbn.report import hints
from sgbn.report.cells import DASH, Field, Table, in_words, interval_text, make_table
from sgbn.report.cohort_section import has_lobes, row_word
from sgbn.report.further_tests import further_tests
from sgbn.report.methods import prepared_in_folds
from sgbn.report.names import with_labels
from sgbn.viz.kind_styles import KIND_STYLES

FAMILY_WISE, BOTH_WAYS, ONE_WAY, NOT_FOUND = (
    *("both ways, family-wise", "both ways"),
    *("one way only", "no"),
)

TESTED = (
    "The tested edges are those of one graph for all groups: the order of the regions is that of "
    "all subjects together, and the parents of a region are those that all or any group chose. "
    "They can differ from the networks shown above."
)
TESTED_OF_SERIES = (
    "Tested are the weights of each subject, from its own time series, on one graph that was "
    "learned from all subjects without their groups, with a lower price of an edge than above. It "
    "can differ from the networks shown above. Whether an edge is there at all is not tested: the "
    "same subjects chose the graph."
)


def differences_section(comparison: Comparison) -> dict[str, Any] | None:
    """Collect tested edges and what they add up to; None if nothing was tested."""
    found, level = comparison.tests, comparison.settings.level
    if found is None:
        return None
    table = comparison.tables.differences
    return {
        "table": differences_table(comparison, table),
        "overall": comparison.words.verdict[0],
        "lines": comparison.words.edges,
        "tested": TESTED_OF_SERIES if comparison.of_series else TESTED,
        "significant": int((table["q_both"] <= level).sum()),
        "one_way": int(((table["q"] <= level) & (table["q_both"] > level)).sum()),
        "supported": int(((table["q_both"] <= level) & table["supported"]).sum()),
        **further_tests(comparison),
        "permutations": found.n_permutations,
        "smallest": f"{1 / (found.n_permutations + 1):.2g}",
        "components": components_table(comparison),
        "hubs": hubs_table(comparison),
        "lobes": lobes_table(comparison) if has_lobes(comparison) else None,
        "reference": comparison.reference,
        "groups": len(found.groups),
    }


def differences_table(comparison: Comparison, table: pd.DataFrame) -> Table:
    """List tested edges, the significant first."""
    level = comparison.settings.level
    both = table["q_both"] <= level
    found = np.select(
        [both & (table["p_fwer_both"] <= level), both, table["q"] <= level],
        [FAMILY_WISE, BOTH_WAYS, ONE_WAY],
        NOT_FOUND,
    )
    table = table.assign(found=found)
    order = [FAMILY_WISE, BOTH_WAYS, ONE_WAY, NOT_FOUND]
    table = table.iloc[np.argsort(table["found"].map(order.index), kind="stable")].copy()
    groups = comparison.groups
    table, changes = _with_changes(comparison, with_labels(comparison, table))
    rest = [
        Field("q", "q", "p"),
        Field("p_fwer_both", "p, family-wise, both ways", "p"),
        Field("p_fwer", "p, family-wise", "p"),
        Field("supported", "direction supported", hint=hints.SUPPORTED_IN_A_GROUP),
        *_in_units(comparison),
        Field("standard_error", "standard error", "number", hints.ERROR_OF_CHANGE),
        Field("statistic", "statistic", "number"),
        Field("error", "Monte-Carlo error", "number"),
        *(_true_weight(group) for group in groups),
        Field("true_change", "truly differs"),
        *_lobe_fields(comparison),
        Field("p", "p", "p"),
        Field("p_both", "p, both ways", "p"),
    ]
    fields = [
        Field("found", "differs", "name"),
        *_kind_fields(comparison),
        *(Field("source", "from", "name"), Field("target", "to", "name")),
        *(_weight_std(group) for group in groups),
        *changes,
        Field("q_both", "q, both ways", "p"),
        *(_confidence(group) for group in groups),
        *folded(rest),
    ]
    table = in_words(_with_symbols(comparison, table), "true_change", "supported")
    caption = f"Tested edges, {groups[0]} against {' and '.join(groups[1:])}, the surest first"
    return make_table("differences-table", caption, table, fields, mark=_found_mark)


def _with_changes(comparison: Comparison, table: pd.DataFrame) -> tuple[pd.DataFrame, list[Field]]:
    """Table with the change of each group from the reference, and the fields that show it.

    Of two groups it has an interval. Of more the table knows an error for the last group only, and
    the columns of that one group are left out.
    """
    if len(comparison.groups) == 2:
        ends = (table[name] for name in ("difference_std", "low", "high"))
        interval = pd.Series(list(zip(*ends, strict=True)), index=table.index)
        share = f"{100 * (1 - comparison.settings.level):.3g} %"
        return table.assign(change_interval=interval), [
            Field("change_interval", f"change per SD ({share} interval)", "interval"),
            Field("low", "change per SD, low", "number", "", folds=True),
            Field("high", "change per SD, high", "number", "", folds=True),
        ]
    changes = changes_per_sd(comparison, table)
    table = table.drop(columns=["difference", "standard_error", "low", "high"])
    return table.assign(**{f"change_{group}": own for group, own in changes.items()}), [
        Field(f"change_{group}", f"change per SD, {group}", "weight", hints.CHANGE_FROM_REFERENCE)
        for group in changes
    ]


def _in_units(comparison: Comparison) -> list[Field]:
    """Fields of weights in the units of the data; those of time series have none."""
    if comparison.of_series:
        return []
    return [
        Field("difference", "change", "number", hints.CHANGE),
        *(Field(f"weight_{one}", f"weight, {one}", "number") for one in comparison.groups),
    ]


def _kind_fields(comparison: Comparison) -> list[Field]:
    others = comparison.groups[1:]
    return [
        Field(f"kind_{group}", "kind of change" + f", {group}" * (len(others) > 1), hint=hints.KIND)
        for group in others
    ]


def _with_symbols(comparison: Comparison, table: pd.DataFrame) -> pd.DataFrame:
    """Table with the symbol of each kind of change before its name, where a difference is found."""
    words = {kind: f"{style.symbol} {kind}" for kind, style in KIND_STYLES.items()}
    names = [f"kind_{group}" for group in comparison.groups[1:]]
    differs = table["found"] != NOT_FOUND
    return table.assign(**{name: table[name].map(words).where(differs, DASH) for name in names})


def folded(fields: Iterable[Field]) -> list[Field]:
    """Fields that a reader has to ask for."""
    return [field._replace(folds=True) for field in fields]


def components_table(comparison: Comparison) -> Table:
    """List connected sets of changed edges."""
    table = comparison.tables.components
    if len(comparison.groups) == 2:
        table = _with_kinds(comparison, table)
    table = with_labels(comparison, table)
    fields = [
        Field("component", "set", "count"),
        Field("kinds", "changes in the set", hint=hints.KINDS_OF_SET),
        Field("strength", "strength", "number"),
        Field("p_fwer", "p, family-wise", "p"),
        *(Field("source", "from", "name"), Field("target", "to", "name")),
        Field("kind", "kind of change", hint=hints.KIND),
    ]
    caption = "Connected sets of edges that change together"
    return make_table("components", caption, table, fields, mark=_by_p(comparison))


def _with_kinds(comparison: Comparison, table: pd.DataFrame) -> pd.DataFrame:
    """Table of sets with the kind of change of each edge, and how many of each kind a set has."""
    ends, own = ["source", "target"], f"kind_{comparison.groups[-1]}"
    kinds = comparison.tables.differences[[*ends, own]].rename(columns={own: "kind"})
    table = table.merge(kinds, on=ends, how="left")
    words = {
        number: ", ".join(f"{count} {kind}" for kind, count in Counter(of_set).items())
        for number, of_set in table.groupby("component")["kind"]
    }
    return table.assign(kinds=table["component"].map(words))


def hubs_table(comparison: Comparison) -> Table:
    """List changes of the strength of regions."""
    of = [Field("region", "region", "name"), Field("kind", "edges that go")]
    caption = "Regions: strength of edges in and out"
    table = with_labels(comparison, comparison.tables.hubs)
    return _sums_table(comparison, "hubs", caption, table, of)


def lobes_table(comparison: Comparison) -> Table:
    """List changes from lobe to lobe."""
    of = [Field("source", "from lobe"), Field("target", "to lobe"), Field("kind", "of edges")]
    caption = "Lobes: strength and number of edges"
    return _sums_table(comparison, "lobes", caption, comparison.tables.lobes, of)


def _sums_table(
    comparison: Comparison, key: str, caption: str, table: pd.DataFrame, of: list[Field]
) -> Table:
    """List tests of sums over edges; `of` are the fields that say over which."""
    change = ("change", hints.CHANGE_OF_SUM)
    if len(comparison.groups) > 2:
        change = ("range", hints.RANGE_OF_SUM)
    title, hint = change
    fields = [
        *of,
        *(Field("difference", title, "number", hint), Field("z", "z", "number")),
        Field("p_fwer", "p, family-wise", "p"),
        Field("error", "Monte-Carlo error", "number"),
    ]
    return make_table(key, caption, table, fields, mark=_by_p(comparison))


def edges_table(comparison: Comparison) -> Table:
    """All edges of the networks."""
    limits = hints.LIMITS_OF_SERIES if comparison.of_series else hints.HINTS["low"]
    fields = [
        Field("group", "group"),
        *(Field("source", "from", "name"), Field("target", "to", "name")),
        Field("weight_std", "weight per SD", "weight"),
        Field("supported", "direction supported"),
        Field("adjacent", "confidence", "share"),
        Field("this_way", "this way", "share"),
        Field("support_share", "subjects that support it", "share"),
        Field("survives", "stays without a tenth"),
        *folded(
            [
                *([] if comparison.of_series else [Field("weight", "weight", "number")]),
                Field("low", "weight, low", "number", limits),
                Field("high", "weight, high", "number", limits),
                *_lobe_fields(comparison),
                Field("beside_factors", "beside factors"),
                Field("graph_direction", "in this graph"),
                Field("true_weight_std", "true weight per SD", "number"),
            ]
        ),
    ]
    caption = "Edges of all networks, the strongest of each group first"
    table = in_words(with_labels(comparison, comparison.tables.edges), "supported", "survives")
    return make_table("edges-table", caption, table, fields)


def accuracy_section(comparison: Comparison) -> dict[str, Any] | None:
    """Scores of the classifiers; None if none was tried."""
    found = comparison.accuracy
    if found is None:
        return None
    n_folds, n_repeats = int(found.folds.max()) + 1, len(found.folds)
    beside = None
    if COVARIATES_ALONE in found.probabilities:
        gain = found.difference(found.ours, COVARIATES_ALONE)
        beside = interval_text(gain.mean, *gain.interval(1 - comparison.settings.level))
    return {
        "table": accuracy_table(comparison),
        "chance": f"{found.chance:.2f}",
        "folds": n_folds,
        "repeats": n_repeats,
        "gain": beside,
        "prepared": prepared_in_folds(comparison),
        "interval": f"{1 - comparison.settings.level:.0%}",
        "covariates_alone": COVARIATES_ALONE,
    }


def accuracy_table(comparison: Comparison) -> Table:
    """One row per classifier, one column per score, with intervals; the best first."""
    table = comparison.tables.accuracy
    texts = [interval_text(*row) for row in table[["mean", "low", "high"]].itertuples(index=False)]
    table = table.assign(text=texts)
    wide = table.pivot_table(index="method", columns="metric", values="text", aggfunc="first")
    means = table[table["metric"] == METRICS[0]].set_index("method")["mean"]
    wide = wide.loc[means.sort_values(ascending=False, kind="stable").index].reset_index()
    fields = [Field("method", "classifier"), *(Field(name, name) for name in METRICS)]
    return make_table(
        "accuracy-table",
        "Scores in subjects that were not seen in training",
        wide,
        fields,
        mark=_method_mark(comparison),
        searched=False,
    )


def refinements_section(comparison: Comparison) -> dict[str, Any] | None:
    """Collect what the refinements moved, and whether the groups differ; None without any."""
    table = refinements_table(comparison)
    return None if table is None else {"table": table, "differ": groups_differ(comparison)}


def groups_differ(comparison: Comparison) -> bool:
    """Whether all edges together or any single pair differ; False if that was not tested."""
    found, level = comparison.tests, comparison.settings.level
    if found is None:
        return False
    return bool(found.global_p <= level or (found.edges["q_both"] <= level).any())


def refinements_table(comparison: Comparison) -> Table | None:
    """How the refinements move the weights; None without any."""
    table = with_labels(comparison, comparison.tables.refinements)
    if table.empty:
        return None
    fields = [
        *(Field("method", "method"), Field("class", "group")),
        *(Field("source", "from", "name"), Field("target", "to", "name")),
        Field("before", "before", "number"),
        Field("after", "after", "number"),
        Field("difference", "change", "number", hints.CHANGE_BY_REFINEMENT),
        Field("rank", "rank", "count"),
    ]
    return make_table("refinements-table", "Weights before and after", table, fields)


def subjects_table(comparison: Comparison) -> Table:
    """Subjects, as they come."""
    table = comparison.tables.subjects
    if "predicted" in table:
        right = table["predicted"] == table["group"]
        table = table.assign(right=np.where(right, "yes", "no"))
    groups = () if comparison.accuracy is None else comparison.accuracy.groups
    because = hints.BECAUSE_OF_SERIES if comparison.of_series else hints.HINTS["because"]
    fields = [
        *(Field("subject", "subject"), Field("group", "group")),
        Field("predicted", "predicted"),
        Field("right", "as it is"),
        *(Field(f"probability_{group}", f"probability, {group}", "share") for group in groups),
        Field("because", "what spoke for it", "prose", because),
        Field("deviation_p", "p of deviation", "p"),
        Field("farthest_region", "farthest region"),
        Field("farthest_z", "its z", "number"),
    ]
    return make_table("subjects-table", "Subjects", table, fields)


def networks_table(comparison: Comparison) -> Table:
    """How the network of each group was learned."""
    rows = []
    for group, learner in comparison.learners.items():
        confidence = comparison.confidence.get(group)
        rows.append(
            {
                "group": group,
                "rows": comparison.cohort.sizes[group] - len(comparison.left_out[group]),
                "edges": np.count_nonzero(learner.coef_),
                "supported": int(comparison.supported[group].sum()),
                "halves": 0 if confidence is None else confidence.n_halves,
                "edges_again": np.nan if confidence is None else confidence.agreement.edges,
                "arrows_again": np.nan if confidence is None else confidence.agreement.arrows,
                "gamma": getattr(learner, "gamma_", np.nan),
                "score": getattr(learner, "score_", np.nan),
            }
        )
    fields = [
        *(Field("group", "group"), Field("rows", row_word(comparison), "count")),
        Field("edges", "edges", "count"),
        Field("supported", "directions supported", "count", hints.HINTS["supported"]),
        Field("halves", "half samples", "count"),
        Field("edges_again", "edges found again", "share", hints.EDGES_AGAIN),
        Field("arrows_again", "arrows found again", "share", hints.ARROWS_AGAIN),
        *(Field("gamma", "sparsity (gamma)", "number"), Field("score", "criterion", "number")),
    ]
    known = pd.DataFrame(rows).dropna(axis="columns", how="all")
    return make_table("learned", "Networks", known, fields, searched=False)


def time_table(comparison: Comparison) -> Table:
    """Seconds of each step."""
    rows = [(STEPS.get(step, step), took) for step, took in comparison.seconds.items()]
    frame = pd.DataFrame(rows, columns=["step", "seconds"])
    fields = [Field("step", "step"), Field("seconds", "seconds", "number")]
    return make_table("seconds", "Time that the steps took", frame, fields, searched=False)


def skipped_steps(comparison: Comparison) -> list[tuple[str, str]]:
    """List steps that could not be done, with their reasons."""
    return [
        (", ".join(filter(None, (STEPS.get(step, step), of_groups(comparison, step)))), reason)
        for step, reason in comparison.skipped.items()
    ]


def _lobe_fields(comparison: Comparison) -> tuple[Field, ...]:
    if not has_lobes(comparison):
        return ()
    return Field("source_lobe", "from lobe"), Field("target_lobe", "to lobe")


def _true_weight(group: str) -> Field:
    title, hint = f"true weight per SD, {group}", hints.HINTS["true_weight_std"]
    return Field(f"{TRUE}{group}", title, "number", hint)


def _weight_std(group: str) -> Field:
    return Field(
        f"weight_std_{group}", f"weight per SD, {group}", "weight", hints.HINTS["weight_std"]
    )


def _confidence(group: str) -> Field:
    return Field(f"adjacent_{group}", f"confidence, {group}", "share", hints.HINTS["adjacent"])


def _found_mark(row: Mapping[str, Any]) -> str:
    return {NOT_FOUND: "", ONE_WAY: "one-way"}.get(row["found"], "found")


def _by_p(comparison: Comparison) -> Any:
    """Mark of rows that are significant family-wise."""
    return lambda row: "found" if row["p_fwer"] <= comparison.settings.level else ""


def _method_mark(comparison: Comparison) -> Any:
    """Mark of our classifier, and of the one that sees no region."""
    ours = "" if comparison.accuracy is None else comparison.accuracy.ours
    return lambda row: {ours: "ours", COVARIATES_ALONE: "covariates"}.get(row["method"], "")
