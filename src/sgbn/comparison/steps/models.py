"""The section of the page that compares networks with other models of the same data."""

from __future__ import annotations

from functools import partial
from typing import Any

from sgbn.comparison.result import Comparison
from sgbn.inference.models import NETWORK
from sgbn.write.page import Field, Table, fixed, make_table, mark_by


def models_section(comparison: Comparison) -> dict[str, Any] | None:
    """Collect a verdict per group and a table; return None if models were not compared."""
    if not comparison.models:
        return None
    lines = [f"{group}: {compared.verdict}" for group, compared in comparison.models.items()]
    return {"lines": lines, "table": models_table(comparison)}


def models_table(comparison: Comparison) -> Table:
    """Make a table with one row per group and model."""
    table = comparison.tables.models
    # Models often differ only in the second or third decimal.
    three_places = partial(fixed, places=3)
    columns = ("log_likelihood", "difference", "standard_error")
    table = table.assign(**{name: table[name].map(three_places) for name in columns})
    fields = [
        *(Field("group", "group"), Field("model", "model")),
        Field("factors", "hidden factors", "count"),
        Field("log_likelihood", "log-likelihood"),
        Field("difference", "difference from the network"),
        Field("standard_error", "standard error"),
    ]
    caption = "Prediction of unseen subjects, per region"
    mark = mark_by("model", {NETWORK: "ours"})
    return make_table("models-table", caption, table, fields, mark=mark, searched=False)
