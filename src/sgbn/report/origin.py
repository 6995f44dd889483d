"""Where the data come from, in words: how a table was read, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MOST_NAMED = 20  # of a list of columns
TITLES = {
    "source": "source",
    "sheet": "sheet",
    "sha256": "SHA-256 of the file",
    "encoding": "encoding",
    "delimiter": "cells are separated by",
    "decimal": "decimal mark",
    "rows": "rows that were read",
    "arrays": "arrays in the file",
    "runs": "runs that were read",
    "ids": "names of subjects",
    "left_out": "rows left out",
    "regions": "regions",
    "atlas": "atlas, by its name here",
    "atlas_file": "table of the atlas",
    "atlas_sha256": "SHA-256 of that table",
    "totals": "columns left out: totals",
    "excluded": "columns left out: as asked",
    "other_measures": "columns left out: of other measures",
    "confounds": "columns left out: called like confounds",
    "constant": "columns left out: the same in all volumes of each subject",
    "ignored": "columns left out: neither named nor regions",
    "lobes": "lobes that were asked for",
    "other_lobes": "columns left out: of other lobes",
    "columns": "columns that were taken",
    "not_in_table": "rows of subjects that the table lacks",
    "subjects_without_row": "subjects without a row here",
}
MARKS = {",": "commas", ";": "semicolons", "\t": "tabs", " ": "blanks", "|": "vertical bars"}
# What the findings of the review say.
FINDINGS = ("unnamed_sites", "repeated", "unnamed_motion", "taken_motion", "censored")
DECIMALS = {".": "point", ",": "comma"}
CHOSEN = {"all": "all columns without another role", "given": "named by the user"}


def origin_words(provenance: Mapping[str, Any], table: str = "") -> list[tuple[str, str]]:
    """Say each fact of a provenance that says something.

    Parameters
    ----------
    provenance : mapping
        As a cohort has it.
    table : str
        What begins each title, where there are several tables.

    Returns
    -------
    list of (str, str)
        Title and text.
    """
    facts = []
    for key, value in provenance.items():
        if key in FINDINGS:  # the table of findings says these, with what to do about them
            continue
        if key == "participants" and isinstance(value, Mapping):
            facts += origin_words(value, "participants: ")
        elif key == "tables" and _is_list(value):
            for number, part in enumerate(value, start=1):
                facts += origin_words(part, f"table {number}: ")
        elif text := _text(key, value):
            facts.append((table + TITLES.get(key, key.replace("_", " ")), text))
    return facts


def _text(key: str, value: Any) -> str:
    """Value of a fact in words, "" if it says nothing."""
    # None, an empty list, or no rows: nothing that a reader would miss.
    if not value:
        return ""
    if key == "left_out" and isinstance(value, Mapping):
        return "; ".join(_rows_left_out(label, count) for label, count in value.items())
    if key == "ids":
        return "none: rows are numbered" if value == "row numbers" else f"column {value}"
    for name, words in {"delimiter": MARKS, "decimal": DECIMALS, "regions": CHOSEN}.items():
        if key == name:
            return words.get(str(value), str(value))
    return _plain(value)


def _rows_left_out(label: object, count: int) -> str:
    of = f"of the group {label}" if str(label) else "without a group"
    return f"1 row {of} was left out" if count == 1 else f"{count} rows {of} were left out"


def _plain(value: Any) -> str:
    """Write lists and mappings as one does in a sentence."""
    if isinstance(value, Mapping):
        value = [f"{name}: {_plain(entry)}" for name, entry in value.items()]
    if not _is_list(value):
        return str(value)
    more = len(value) - MOST_NAMED
    return ", ".join(map(_plain, value[:MOST_NAMED])) + (f" and {more} more" if more > 0 else "")


def _is_list(value: Any) -> bool:
    # To Python a text is a sequence as well.
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
