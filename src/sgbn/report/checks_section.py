"""Whether findings depend on choices, and whether residuals fit, as the page shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sgbn.comparison import Comparison
from sgbn.comparison.residuals import residual_words
from sgbn.comparison.sensitivity import HALF, OTHER_ORDER, SAID, TWICE, sensitivity_words
from sgbn.comparison.support import joined
from sgbn.report.cells import Field, Table, in_words, make_table, number_text
from sgbn.report.cohort_section import row_word
from sgbn.report.names import with_labels
from sgbn.structure.smooth import effect_names

NOT_GAUSSIAN = (
    "Regions whose residual is not Gaussian by D'Agostino and Pearson's test, after Holm's "
    "correction over the regions"
)
CURVED = (
    "Edges with a quadratic term of the parent, after Holm's correction over the edges: a straight "
    "line does not tell all of the relation"
)
RELATED = ". Rows of one person or family are taken as independent"
FAR = "Residuals more than 4 robust standard deviations out, and how many Gaussian data have"
SKEWNESS = "Of the residual where it is largest in size, and of which region; 0 if Gaussian"
STAYS = "Whether the tests themselves and each repetition found the pair"
TITLES = {HALF: "half penalty", TWICE: "twice", OTHER_ORDER: "other order"}
Q = "q, both ways, with this choice; a dash where the pair was not tested"


def checks_section(comparison: Comparison) -> dict[str, Any]:
    """Give words and tables of both; None where there is nothing to show."""
    return {
        "residuals": residuals_table(comparison),
        "residual_lines": residual_words(comparison).split("\n"),
        "sensitivity": sensitivity_words(comparison),
        "pairs": pairs_table(comparison),
    }


def residuals_table(comparison: Comparison) -> Table | None:
    """One row per group; None if all are too small."""
    table = comparison.tables.residuals
    if table.empty:
        return None
    rows = with_labels(comparison, table).to_dict("records")
    shown = table.assign(
        not_gaussian=[f"{row['not_gaussian']} of {row['regions']}" for row in rows],
        curved=[f"{row['curved']} of {row['edges']}" for row in rows],
        skewness=[_largest(row["skewness"], row["skewed_region"]) for row in rows],
        kurtosis=[_largest(row["kurtosis"], row["heavy_region"]) for row in rows],
        far=[f"{row['far']} ({row['expected_far']:.1f})" for row in rows],
    )
    cohort = comparison.cohort
    related = "" if cohort.person is None and cohort.block is None else RELATED
    fields = [
        Field("group", "group"),
        Field("rows", row_word(comparison), "count", ""),
        Field("not_gaussian", "regions not Gaussian", hint=NOT_GAUSSIAN + related),
        Field("curved", "bent edges", hint=CURVED + related),
        Field("far", "far out (expected)", hint=FAR),
        Field("skewness", "largest skewness", hint=SKEWNESS),
        Field("kurtosis", "largest excess kurtosis", hint=SKEWNESS),
    ]
    caption = "Residuals of the networks"
    return make_table("residuals-table", caption, shown, fields, searched=False)


def _largest(value: float, region: str) -> str:
    return f"{number_text(value)} ({region})"


def pairs_table(comparison: Comparison) -> Table | None:
    """One row per pair that was found by the tests or by one of the repetitions; None of none."""
    table = comparison.tables.sensitivity
    if table.empty or comparison.sensitivity is None:
        return None
    fields = [
        *(Field("source", "from"), Field("target", "to")),
        Field("found", "found"),
        Field("stays", "in each repetition", hint=STAYS),
        Field("q_both", "q, both ways", "p"),
        *(
            Field(f"q_both_{name}", f"q, {TITLES[name]}", "p", Q)
            for name in comparison.sensitivity.tests
        ),
    ]
    caption = "Pairs that differ, with other choices"
    table = in_words(with_labels(comparison, table), "found", "stays")
    return make_table("sensitivity-table", caption, table, fields, mark=_mark, searched=False)


def _mark(row: Mapping[str, Any]) -> str:
    return "found" if row["stays"] == "yes" else ""


def checks_methods(comparison: Comparison, cite: object) -> str:  # noqa: ARG001
    """Say, for the methods, what was done beside the tests of edges."""
    steps = []
    if comparison.sensitivity is not None:
        ways = joined([SAID[name] for name in comparison.sensitivity.tests])
        count = next(iter(comparison.sensitivity.tests.values())).n_permutations
        steps.append(f"The tests were repeated with {ways}, by {count} permutations each.")
    if len(comparison.tables.regional):
        held = [*effect_names(comparison.cohort), *(["sites"] * (comparison.n_sites > 1))]
        within = " of differences within persons" if comparison.cohort.pair is not None else ""
        beside = f" with {joined(held)} held fixed" if held and not within else ""
        steps.append(
            f"The mean of each region was compared with that of {comparison.reference} by t tests"
            f"{within or ' with unequal variances (Welch)'}{beside}; we report Hedges' g, p "
            "corrected by Holm's method and the false discovery rate."
        )
    return " ".join(steps)
