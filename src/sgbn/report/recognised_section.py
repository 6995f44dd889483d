"""Which share of each group is recognised, and the p of the accuracy, as the page shows it."""

from __future__ import annotations

from typing import Any

from sgbn.comparison import Comparison
from sgbn.comparison.accuracy import METRICS, SENSITIVITY
from sgbn.report.cells import DASH, Field, Table, interval_text, make_table, p_value


def recognised_section(comparison: Comparison) -> dict[str, Any] | None:
    """Give words on p and a table; None if no classifier was tried."""
    found = comparison.accuracy
    if found is None:
        return None
    p = found.p_value()
    said = "is unknown" if p != p else f"is {p_value(p)}".replace("is <", "is below")
    how = _how(len(found.permuted))
    words = f"The p of the balanced accuracy of {found.ours}, against a guess, {said}: {how}"
    if SENSITIVITY in found.recalls:
        words += (
            f" Sensitivity is the share of {found.recalls[SENSITIVITY]} that is recognised, "
            f"specificity that of {comparison.reference}."
        )
    return {"words": words, "table": recognised_table(comparison, list(found.recalls))}


def _how(n_permutations: int) -> str:
    """Say where the p of our classifier comes from."""
    if n_permutations:
        return (
            f"by {n_permutations} exchanges of the labels, for each of which it was "
            "cross-validated anew. The other classifiers have p by the corrected resampled t over "
            "the folds."
        )
    return (
        "by the corrected resampled t over the folds, one-sided. It is an approximation; "
        "--accuracy-permutations 99 tests it by exchanges of the labels, which takes long."
    )


def recognised_table(comparison: Comparison, recalls: list[str]) -> Table:
    """One row per classifier, the most accurate first."""
    table = comparison.tables.accuracy
    texts = [interval_text(*row) for row in table[["mean", "low", "high"]].itertuples(index=False)]
    wide = table.assign(text=texts).pivot(index="method", columns="metric", values="text")
    own = table[table["metric"] == METRICS[0]].set_index("method")
    wide["p"] = [DASH if p != p else p_value(p) for p in own["p"].reindex(wide.index)]
    best_first = own["mean"].sort_values(ascending=False, kind="stable").index
    fields = [
        Field("method", "classifier"),
        *(Field(name, name, hint="") for name in recalls),
        Field("p", "p of the balanced accuracy", hint=""),
    ]
    caption = "Shares of the groups that are recognised"
    return make_table(
        "recognised-table", caption, wide.loc[best_first].reset_index(), fields, searched=False
    )
