"""How to read the columns of the tables; ``hints.toml`` beside this file has the words."""

from __future__ import annotations

from sgbn.report.assets import own_table

ANY = "any"  # section of what a column means in every table that does not say otherwise
HINTS: dict[str, dict[str, str]] = own_table("hints.toml")


def hint_of(table: str, column: str) -> str:
    """Return what a column of a table means, "" if that needs no words."""
    return HINTS.get(table, {}).get(column, HINTS[ANY].get(column, ""))
