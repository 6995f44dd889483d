"""Hints on how to read the columns of the tables; ``hints.toml`` has the words."""

from __future__ import annotations

from sgbn.report.assets import own_table

ANY = "any"  # section with the meaning of a column in all tables without an entry of their own
HINTS: dict[str, dict[str, str]] = own_table("hints.toml")


def hint_of(table: str, column: str) -> str:
    """Return what a column of a table means; "" if the title says enough."""
    return HINTS.get(table, {}).get(column, HINTS[ANY].get(column, ""))
