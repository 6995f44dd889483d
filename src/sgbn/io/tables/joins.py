"""Joins of tables of the same subjects by id."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from sgbn.core.exceptions import InputError, counted, listed, warn
from sgbn.io.tables.cells import check_filled
from sgbn.io.tables.raw import RawTable, labels

PREFIX = "sub-"  # ids in BIDS begin with it
MIN_VOLUMES_PER_SUBJECT = 10  # from 10 rows per subject upwards, rows are volumes, not visits
ONE_ROW = "Keep one row per subject, or name the right column (id=, --id)."


def with_ids(table: RawTable, column: str | None) -> RawTable:
    """Return the table with ids from the given column, or with row numbers if it is None."""
    if column is None:
        ids = [f"row {number}" for number in table.origin.numbers]
    else:
        ids = labels(table.frame[column])
        check_filled(table, column, ids, "id", "Fill it in, or remove the row.")
    return replace(table, ids=tuple(ids))


def check_ids(table: RawTable, column: str | None, remedy: str = ONE_ROW) -> None:
    """Raise InputError if two rows have the same id."""
    first: dict[str, int] = {}
    for row, name in enumerate(table.ids):
        other = first.setdefault(name, row)
        if other != row:
            rows = " and ".join(
                table.origin.unit.format(table.origin.numbers[r]) for r in (other, row)
            )
            repeated = len(table.ids) - len(set(table.ids))
            raise InputError(
                f"{table.name}: the id {name!r} is in {rows} of column {column!r} "
                f"({counted(repeated, 'row repeats', 'rows repeat')} an id). "
                f"{_stacked(table.ids)}{remedy}"
            )


def _stacked(ids: Sequence[str]) -> str:
    """Return a sentence if ids repeat so often that the rows look like volumes, else ""."""
    n_subjects = len(set(ids))
    if len(ids) < MIN_VOLUMES_PER_SUBJECT * n_subjects:
        return ""
    return (
        f"{len(ids)} rows of {counted(n_subjects, 'subject')} look like volumes of time series. If "
        "they are, add a column 'volume' that counts the volumes of each subject, or give a folder "
        "with one file per subject (read_series, or the same command). If they are not volumes: "
    )


def name_visits(table: RawTable, groups: Sequence[str]) -> RawTable:
    """Return the table with the group added to each id, if this makes repeated ids unique."""
    if len(set(table.ids)) == len(table.ids):
        return table
    # If an id repeats within a group, the ids stay as they are, and `check_ids` names this id.
    visits = [f"{name} ({group})" for name, group in zip(table.ids, groups, strict=True)]
    return replace(table, ids=tuple(visits)) if len(set(visits)) == len(visits) else table


def join_participants(
    table: RawTable,
    people: RawTable,
    columns: Sequence[str],
    may_lack: bool,
    drop: bool = False,
) -> RawTable:
    """Return the table with columns of the participants, joined by id. A "sub-" is ignored.

    Parameters
    ----------
    table, people : RawTable
        The table that gets the columns, and the table of participants.
    columns : sequence of str
        Columns of `people` to add.
    may_lack : bool
        Whether subjects whom `people` does not list get empty cells. If not, they are an error.
    drop : bool
        Whether subjects whom `people` does not list are left out, with a warning that names them.
    """
    place = {_bare(name): row for row, name in enumerate(people.ids)}
    if len(place) < len(people.ids):
        # Both "sub-01" and "01" would be joined to the same subject.
        twice = next(n for n in people.ids if n.startswith(PREFIX) and _bare(n) in people.ids)
        raise InputError(
            f"{people.name}: {twice!r} and {_bare(twice)!r} are the same id. Keep one row per "
            "subject."
        )
    rows = np.array([place.get(_bare(name), -1) for name in table.ids], dtype=np.intp)
    _check_one_each(table, people, rows)
    lacking = [name for name, row in zip(table.ids, rows, strict=True) if row < 0]
    # If no subject has a row, the ids are written in different ways, and nobody would be left.
    if lacking and not ((may_lack or drop) and len(lacking) < len(rows)):
        raise InputError(
            f"{people.name} has no row for {len(lacking)} of {len(rows)} subjects in "
            f"{table.name}: {listed(lacking)}. It has rows for {listed(people.ids, 3)}. "
            f"{_likely_cause(lacking, people.ids)}Add the missing rows, remove these subjects from "
            f"{table.name}, or leave them out (participants_missing='drop', "
            "--participants-missing drop)."
        )
    if lacking and drop:
        table, rows = table.keep(rows >= 0), rows[rows >= 0]
        warn(
            f"{people.name} has no row for {counted(len(lacking), 'subject')} in {table.name}: "
            f"{listed(lacking, len(lacking))}. They are left out, as you asked. Check that nobody "
            "is missing by mistake."
        )
    joined = add_columns(table, people, columns, rows)
    facts = {
        **people.facts,
        "columns": list(columns),
        "not_in_table": len(people.ids) - len(set(rows[rows >= 0])),
        "subjects_without_row": len(lacking),
    }
    return replace(joined, facts={**table.facts, "participants": facts})


def absent_ids(ids: Sequence[str], known_ids: Sequence[str]) -> list[str]:
    """Return the ids that are not among the known ids. A "sub-" before an id is ignored."""
    known = {_bare(name) for name in known_ids}
    return [name for name in ids if _bare(name) not in known]


def _bare(name: str) -> str:
    return name.removeprefix(PREFIX)


def _check_one_each(table: RawTable, people: RawTable, rows: np.ndarray) -> None:
    """Raise InputError if two ids, such as "01" and "sub-01", are the same participant."""
    first: dict[int, str] = {}
    for name, row in zip(table.ids, rows.tolist(), strict=True):
        if row >= 0 and first.setdefault(row, name) != name:
            raise InputError(
                f"{table.name}: the ids {first[row]!r} and {name!r} are the same subject, "
                f"{people.ids[row]!r} in {people.name}. Keep one row per subject."
            )


def _likely_cause(lacking: Sequence[str], ids: Sequence[str]) -> str:
    """Return a sentence about ids that differ only in leading zeros, session, case or length."""
    core = {_core(name): name for name in ids}
    near = [name for name in lacking if _core(name) in core]
    if not near:
        return _longer_names(lacking, core)
    return (
        f"Only leading zeros, the session, or upper and lower case differ in {len(near)} of these "
        f"ids ({near[0]!r} and {core[_core(near[0])]!r}). Write the ids in the same way. "
    )


def _longer_names(lacking: Sequence[str], core: Mapping[str, str]) -> str:
    """Return a sentence about ids that contain an id of the participants as one word."""
    longer = {
        name: core[_core(word)]
        for name in lacking
        for word in re.split(r"[-_. ]", name)
        # A word without digits, such as "baseline", may be in many ids.
        if any(map(str.isdigit, word)) and _core(word) in core
    }
    if not longer:
        return ""
    first = next(iter(longer))
    return (
        f"In {len(longer)} of these ids, one word is an id of the participants "
        f"({longer[first]!r} in {first!r}). Write the ids in the same way. "
    )


def _core(name: str) -> str:
    """Return an id in lower case without "sub-", session and leading zeros.

    For "sub-01_ses-02", "01/session2" and "1" it is "1".
    """
    subject = re.sub(r"[_./-]*ses(sion)?[-_]?[^\W_]+.*$", "", _bare(name.lower()))
    return re.sub(r"(?<!\d)0+(?=\d)", "", subject)


def add_columns(
    table: RawTable, other: RawTable, columns: Sequence[str], rows: np.ndarray
) -> RawTable:
    """Return the table with columns of another table.

    Row k gets the cells of row `rows[k]` of the other table, or empty cells if `rows[k]` is -1.
    """
    if not columns:
        return table
    cells = other.frame[list(columns)].iloc[rows].reset_index(drop=True)
    if (rows < 0).any():
        has_row = np.broadcast_to((rows >= 0)[:, None], cells.shape)
        # `iloc` took the last row for -1, so these cells are emptied. Objects can be text or NaN.
        cells = cells.astype(object).where(has_row)
    origin = replace(other.origin, numbers=other.origin.numbers[rows])
    return replace(
        table,
        frame=pd.concat([table.frame, cells], axis=1),
        others={**table.others, **dict.fromkeys(columns, origin)},
    )
