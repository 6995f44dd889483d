"""Words about the origin of the data: how a table was read, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MOST_NAMED = 20  # entries of a list, such as columns; the words count the others
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
    "atlas": "name of the atlas",
    "atlas_file": "table of the atlas",
    "atlas_sha256": "SHA-256 of that table",
    "totals": "columns left out because they are totals",
    "excluded": "columns left out as asked",
    "other_measures": "columns left out because they have other measures",
    "confounds": "columns left out because they have names of confounds",
    "constant": "columns left out because they are constant in each subject",
    "ignored": "columns left out because they are neither regions nor named by the user",
    "lobes": "lobes that were asked for",
    "other_lobes": "columns left out because they are in other lobes",
    "columns": "columns that were used",
    "not_in_table": "rows of subjects that are not in the table",
    "subjects_without_row": "subjects without a row in this table",
}
MARKS = {",": "commas", ";": "semicolons", "\t": "tabs", " ": "spaces", "|": "vertical bars"}
# Facts that the findings of the review report
FINDINGS = ("unnamed_sites", "repeated", "unnamed_motion", "taken_motion", "censored")
DECIMALS = {".": "point", ",": "comma"}
CHOSEN = {"all": "all columns without another role", "given": "named by the user"}


def origin_words(provenance: Mapping[str, Any], table: str = "") -> list[tuple[str, str]]:
    """Return the facts of a provenance in words; facts without content are left out.

    Parameters
    ----------
    provenance : mapping
        `Cohort.provenance`, or a part of it.
    table : str
        First words of each title, if there are several tables.

    Returns
    -------
    list of (str, str)
        Title and text of each fact.
    """
    facts = []
    for key, value in provenance.items():
        if key in FINDINGS:  # the table of findings has these facts, and says what to do
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
    """Return the value of a fact in words; "" if it has no content."""
    # None, an empty list or 0 tells a reader nothing.
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
    """Write a value for a sentence; long lists are cut."""
    if isinstance(value, Mapping):
        value = [f"{name}: {_plain(entry)}" for name, entry in value.items()]
    if not _is_list(value):
        return str(value)
    more = len(value) - MOST_NAMED
    return ", ".join(map(_plain, value[:MOST_NAMED])) + (f" and {more} more" if more > 0 else "")


def _is_list(value: Any) -> bool:
    # In Python a text is a sequence as well.
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
