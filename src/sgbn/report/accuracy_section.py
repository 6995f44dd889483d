"""The section of the page that shows how well the classifiers tell the groups apart."""

from __future__ import annotations

from typing import Any

import pandas as pd

from sgbn.comparison import Comparison
from sgbn.comparison.accuracy import METRICS, SENSITIVITY
from sgbn.learn.peers import COVARIATES_ALONE
from sgbn.write.page import Field, Table, interval_text, make_table, mark_by, p_value


def accuracy_section(comparison: Comparison) -> dict[str, Any] | None:
    """Collect the scores of the classifiers; return None if no classifier was tried."""
    accuracy = comparison.accuracy
    if accuracy is None:
        return None
    p, gain_text = accuracy.p_value(), None
    if COVARIATES_ALONE in accuracy.probabilities:
        gain = accuracy.difference(accuracy.ours, COVARIATES_ALONE)
        gain_text = interval_text(gain.mean, *gain.interval(1 - comparison.settings.level))
    return {
        "table": accuracy_table(comparison),
        "recognised": recognised_table(comparison),
        "ours": accuracy.ours,
        # Only NaN differs from itself. In a sentence "below 0.001" reads better than "< 0.001".
        "p": "unknown" if p != p else p_value(p).replace("<", "below"),
        "n_permutations": len(accuracy.permuted),
        "sensitivity_of": accuracy.recalls.get(SENSITIVITY, ""),
        "chance": f"{accuracy.chance:.2f}",
        # `folds` has one row per repeat: the number of the test fold of each subject, from 0.
        "folds": int(accuracy.folds.max()) + 1,
        "repeats": len(accuracy.folds),
        "gain": gain_text,
        "interval": f"{1 - comparison.settings.level:.0%}",
        "covariates_alone": COVARIATES_ALONE,
    }


def accuracy_table(comparison: Comparison) -> Table:
    """Make a table of all scores with intervals: one row per classifier, the best first."""
    ours = "" if comparison.accuracy is None else comparison.accuracy.ours
    marks = {ours: "ours", COVARIATES_ALONE: "covariates"}
    return make_table(
        "accuracy-table",
        "Scores in subjects that were not seen in training",
        _by_method(comparison),
        [Field("method", "classifier"), *(Field(name, name) for name in METRICS)],
        mark=mark_by("method", marks),
        searched=False,
    )


def recognised_table(comparison: Comparison) -> Table:
    """Make a table of the share of each group that each classifier recognises."""
    recalls = [] if comparison.accuracy is None else comparison.accuracy.recalls
    return make_table(
        "recognised-table",
        "Shares of the groups that are recognised",
        _by_method(comparison),
        [
            Field("method", "classifier"),
            *(Field(name, name, hint="") for name in recalls),
            Field("p", "p of the balanced accuracy"),
        ],
        searched=False,
    )


def _by_method(comparison: Comparison) -> pd.DataFrame:
    """Return the scores as text and the p: one row per classifier, the best first."""
    table = comparison.tables.accuracy
    texts = [interval_text(*row) for row in table[["mean", "low", "high"]].itertuples(index=False)]
    wide = table.assign(text=texts).pivot(index="method", columns="metric", values="text")
    balanced = table[table["metric"] == METRICS[0]].set_index("method")
    # `pivot` has sorted the classifiers by name, so p must be sorted in the same way.
    wide["p"] = [p_value(p) for p in balanced["p"].reindex(wide.index)]
    best_first = balanced["mean"].sort_values(ascending=False, kind="stable").index
    return wide.loc[best_first].reset_index()
