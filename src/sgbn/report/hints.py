"""How to read the columns of the tables; ``hints.toml`` beside this file has the words."""

from __future__ import annotations

import tomllib
from importlib.resources import files

ANY = "any"  # section of what a column means in every table that does not say otherwise


def _read() -> dict[str, dict[str, str]]:
    text = files("sgbn.report").joinpath("hints.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


HINTS = _read()


def hint_of(table: str, column: str) -> str:
    """Return what a column of a table means, "" if that needs no words."""
    return HINTS.get(table, {}).get(column, HINTS[ANY].get(column, ""))
