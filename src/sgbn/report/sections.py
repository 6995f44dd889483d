"""The sections of the page on edges, refinements, subjects and diagnostics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sgbn.comparison import Comparison
from sgbn.comparison.steps import STEPS
from sgbn.comparison.summary import of_groups
from sgbn.report.cohort_section import lobe_fields, row_word
from sgbn.report.names import with_labels
from sgbn.write.page import ENDS, HINTS, Field, Table, folded, in_words, make_table


def edges_table(comparison: Comparison) -> Table:
    """Make a table of all edges of the networks."""
    limits = HINTS["edges-table"]["limits_of_series"] if comparison.of_series else None
    fields = [
        Field("group", "group"),
        *ENDS,
        Field("weight_std", "weight per SD", "weight"),
        Field("supported", "direction supported"),
        Field("adjacent", "confidence", "share"),
        Field("this_way", "this way", "share"),
        Field("support_share", "subjects that support it", "share"),
        Field("survives", "stays without a tenth"),
        *folded(
            [
                # Weights of time series are standardised, so this column would repeat another.
                *([] if comparison.of_series else [Field("weight", "weight", "number")]),
                Field("low", "weight, low", "number", limits),
                Field("high", "weight, high", "number", limits),
                *lobe_fields(comparison),
                Field("beside_factors", "beside factors"),
                Field("graph_direction", "in this graph"),
                Field("true_weight_std", "true weight per SD", "number"),
            ]
        ),
    ]
    caption = "Edges of all networks, the strongest of each group first"
    table = in_words(with_labels(comparison, comparison.tables.edges), "supported", "survives")
    return make_table("edges-table", caption, table, fields)


def refinements_section(comparison: Comparison) -> dict[str, Any] | None:
    """Collect the table of refined weights, and whether the groups differ; None without a table."""
    table = refinements_table(comparison)
    return None if table is None else {"table": table, "differ": groups_differ(comparison)}


def groups_differ(comparison: Comparison) -> bool:
    """Return whether all edges together or any pair differ; False if that was not tested."""
    tests, level = comparison.tests, comparison.settings.level
    if tests is None:
        return False
    return bool(tests.global_p <= level or (tests.edges["q_both"] <= level).any())


def refinements_table(comparison: Comparison) -> Table | None:
    """Make a table of the weights before and after refinement; return None if none was moved."""
    table = with_labels(comparison, comparison.tables.refinements)
    if table.empty:
        return None
    fields = [
        *(Field("method", "method"), Field("class", "group")),
        *ENDS,
        Field("before", "before", "number"),
        Field("after", "after", "number"),
        Field("difference", "change", "number"),
        Field("rank", "rank", "count"),
    ]
    return make_table("refinements-table", "Weights before and after", table, fields)


def subjects_table(comparison: Comparison) -> Table:
    """Make a table of the subjects, in the order of the data."""
    table = comparison.tables.subjects
    # The table has this column only if classifiers were tried.
    if "predicted" in table:
        right = table["predicted"] == table["group"]
        table = table.assign(right=np.where(right, "yes", "no"))
    groups = () if comparison.accuracy is None else comparison.accuracy.groups
    because = HINTS["subjects-table"]["because_of_series"] if comparison.of_series else None
    fields = [
        *(Field("subject", "subject"), Field("group", "group")),
        Field("predicted", "predicted"),
        Field("right", "correct"),
        *(Field(f"probability_{group}", f"probability, {group}", "share") for group in groups),
        Field("because", "reasons", "prose", because),
        Field("deviation_p", "p of deviation", "p"),
        Field("farthest_region", "most deviating region"),
        Field("farthest_z", "z of that region", "number"),
    ]
    return make_table("subjects-table", "Subjects", table, fields)


def networks_table(comparison: Comparison) -> Table:
    """Make a table of how the network of each group was learned."""
    rows = []
    for group, learner in comparison.learners.items():
        confidence = comparison.confidence.get(group)
        rows.append(
            {
                "group": group,
                # Only the rows that the network was learned from
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
        Field("supported", "directions supported", "count"),
        Field("halves", "half samples", "count"),
        Field("edges_again", "edges found again", "share"),
        Field("arrows_again", "arrows found again", "share"),
        *(Field("gamma", "sparsity (gamma)", "number"), Field("score", "criterion", "number")),
    ]
    # Some learners have no gamma or no score. Without half samples, two more columns are empty.
    known = pd.DataFrame(rows).dropna(axis="columns", how="all")
    return make_table("learned", "Networks", known, fields, searched=False)


def time_table(comparison: Comparison) -> Table:
    """Make a table of the seconds that each step took."""
    # A step without a title is shown by its name.
    rows = [(STEPS.get(step, step), took) for step, took in comparison.seconds.items()]
    frame = pd.DataFrame(rows, columns=["step", "seconds"])
    fields = [Field("step", "step"), Field("seconds", "seconds", "number")]
    return make_table("seconds", "Time that the steps took", frame, fields, searched=False)


def skipped_steps(comparison: Comparison) -> list[tuple[str, str]]:
    """Return the steps that could not be done, with the reasons."""
    return [
        (", ".join(filter(None, (STEPS.get(step, step), of_groups(comparison, step)))), reason)
        for step, reason in comparison.skipped.items()
    ]
