"""Whether a network is the right picture, as the page shows it."""

from __future__ import annotations

from typing import Any

import numpy as np

from sgbn.comparison import Comparison
from sgbn.inference.held_out import NETWORK
from sgbn.report.cells import DASH, MINUS, Field, Table, make_table, mark_by


def models_section(comparison: Comparison) -> dict[str, Any] | None:
    """Verdict on the network of each group, and a table; None if models were not compared."""
    if not comparison.models:
        return None
    lines = [f"{group}: {compared.verdict}" for group, compared in comparison.models.items()]
    return {"lines": lines, "table": models_table(comparison)}


def models_table(comparison: Comparison) -> Table:
    """One row per group and model."""
    table = comparison.tables.models
    columns = ("log_likelihood", "difference", "standard_error")
    table = table.assign(**{name: table[name].map(_three_places) for name in columns})
    fields = [
        *(Field("group", "group"), Field("model", "model")),
        Field("factors", "hidden factors", "count"),
        Field("log_likelihood", "log-likelihood"),
        Field("difference", "less the network's"),
        Field("standard_error", "standard error"),
    ]
    caption = "Prediction of unseen subjects, per region"
    mark = mark_by("model", {NETWORK: "ours"})
    return make_table("models-table", caption, table, fields, mark=mark, searched=False)


def _three_places(value: float) -> str:
    """Write a likelihood: models differ in the second or third place."""
    # "+ 0.0" makes a minus zero a zero.
    return DASH if np.isnan(value) else f"{value + 0.0:.3f}".replace("-", MINUS)
