"""Tables of the same subjects, joined by id."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from sgbn.exceptions import InputError, counted, listed, warn
from sgbn.io.tables.cells import check_filled
from sgbn.io.tables.raw import RawTable, labels

PREFIX = "sub-"  # of ids in BIDS
MIN_VOLUMES_PER_SUBJECT = 10  # rows of a subject from which upwards they are volumes, not visits
ONE_ROW = "Keep one row per subject, or name the right column (id=, --id)."


def with_ids(table: RawTable, column: str | None) -> RawTable:
    """Name the subjects by that column, or by row numbers if there is none."""
    if column is None:
        ids = [f"row {number}" for number in table.origin.numbers]
    else:
        ids = labels(table.frame[column])
        check_filled(table, column, ids, "id", "Fill it in, or remove the row.")
    return replace(table, ids=tuple(ids))


def check_ids(table: RawTable, column: str | None, remedy: str = ONE_ROW) -> None:
    """Raise InputError if two rows have one id."""
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
                f"({counted(repeated, 'such row')}). {_stacked(table.ids)}{remedy}"
            )


def _stacked(ids: Sequence[str]) -> str:
    """Return a sentence if ids repeat so often that the rows must be volumes, else ""."""
    n_subjects = len(set(ids))
    if len(ids) < MIN_VOLUMES_PER_SUBJECT * n_subjects:
        return ""
    return (
        f"{len(ids)} rows of {counted(n_subjects, 'subject')} look like volumes of time series. To "
        "have them read as such, add a column 'volume' that counts the volumes of each subject, or "
        "give a folder with one file per subject (read_series, or the same command). Otherwise: "
    )


def name_visits(table: RawTable, groups: Sequence[str]) -> RawTable:
    """Tell rows of one id apart by their groups, if that is enough."""
    if len(set(table.ids)) == len(table.ids):
        return table
    # If ids still repeat within a group, `check_ids` names them as they were.
    visits = [f"{name} ({group})" for name, group in zip(table.ids, groups, strict=True)]
    return replace(table, ids=tuple(visits)) if len(set(visits)) == len(visits) else table


def join_participants(
    table: RawTable,
    people: RawTable,
    columns: Sequence[str],
    may_lack: bool,
    drop: bool = False,
) -> RawTable:
    """Add columns of a table of participants, found by id with or without "sub-".

    Parameters
    ----------
    table, people : RawTable
        The table that is added to, and the participants.
    columns : sequence of str
        Columns of `people` to add.
    may_lack : bool
        Whether subjects whom `people` does not list get empty cells; else they are an error.
    drop : bool
        Whether such subjects are left out instead, with a warning that names them.
    """
    place = {_bare(name): row for row, name in enumerate(people.ids)}
    if len(place) < len(people.ids):
        # "sub-01" and "01" in one table would both be joined to one subject.
        twice = next(n for n in people.ids if n.startswith(PREFIX) and _bare(n) in people.ids)
        raise InputError(
            f"{people.name}: {twice!r} and {_bare(twice)!r} are one id. Keep one row per subject."
        )
    rows = np.array([place.get(_bare(name), -1) for name in table.ids], dtype=np.intp)
    _check_one_each(table, people, rows)
    lacking = [name for name, row in zip(table.ids, rows, strict=True) if row < 0]
    # If nobody has a row, the ids are written otherwise, and dropping all helps nobody.
    if lacking and not ((may_lack or drop) and len(lacking) < len(rows)):
        raise InputError(
            f"{people.name} has no row for {len(lacking)} of {len(rows)} subjects in "
            f"{table.name}: {listed(lacking)}; it has {listed(people.ids, 3)}. "
            f"{_likely_cause(lacking, people.ids)}Add them there, remove them here, "
            "or leave such subjects out (participants_missing='drop', --participants-missing drop)."
        )
    if lacking and drop:
        table, rows = table.keep(rows >= 0), rows[rows >= 0]
        warn(
            f"{people.name} has no row for {counted(len(lacking), 'subject')} in {table.name}, who "
            f"are left out as you asked: {listed(lacking, len(lacking))}. Check that nobody is "
            "missing by mistake."
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
    """Return those of the ids that are not among the known, with or without "sub-"."""
    known = {_bare(name) for name in known_ids}
    return [name for name in ids if _bare(name) not in known]


def _bare(name: str) -> str:
    return name.removeprefix(PREFIX)


def _check_one_each(table: RawTable, people: RawTable, rows: np.ndarray) -> None:
    """Raise InputError if two ids of the table are one participant, as "01" and "sub-01" are."""
    first: dict[int, str] = {}
    for name, row in zip(table.ids, rows.tolist(), strict=True):
        if row >= 0 and first.setdefault(row, name) != name:
            raise InputError(
                f"{table.name}: the ids {first[row]!r} and {name!r} are one subject, "
                f"{people.ids[row]!r} in {people.name}. Keep one row per subject."
            )


def _likely_cause(lacking: Sequence[str], ids: Sequence[str]) -> str:
    """Return a sentence about ids that would match but for leading zeros, session or case."""
    # What remains of an id without all that people write differently.
    core = {_core(name): name for name in ids}
    near = [name for name in lacking if _core(name) in core]
    if not near:
        return _longer_names(lacking, core)
    return (
        f"{len(near)} would match but for leading zeros, the session, or upper and lower case "
        f"({near[0]!r} and {core[_core(near[0])]!r}): write the ids alike. "
    )


def _longer_names(lacking: Sequence[str], core: Mapping[str, str]) -> str:
    """Return a sentence about ids of which one word is an id of the participants."""
    longer = {
        name: core[_core(word)]
        for name in lacking
        for word in re.split(r"[-_. ]", name)
        # A word without digits, such as "baseline", is in many ids.
        if any(map(str.isdigit, word)) and _core(word) in core
    }
    if not longer:
        return ""
    first = next(iter(longer))
    return (
        f"{len(longer)} are longer ({first!r}, and {longer[first]!r} there): write the ids alike. "
    )


def _core(name: str) -> str:
    """Return an id in lower case without "sub-", session and leading zeros."""
    # "sub-01_ses-02", "01/session2" and "1" are all 1.
    subject = re.sub(r"[_./-]*ses(sion)?[-_]?[^\W_]+.*$", "", _bare(name.lower()))
    return re.sub(r"(?<!\d)0+(?=\d)", "", subject)


def add_columns(
    table: RawTable, other: RawTable, columns: Sequence[str], rows: np.ndarray
) -> RawTable:
    """Add columns of another table, whose row `rows[k]` goes to row k; -1 leaves cells empty."""
    if not columns:
        return table
    cells = other.frame[list(columns)].iloc[rows].reset_index(drop=True)
    if (rows < 0).any():
        has_row = np.broadcast_to((rows >= 0)[:, None], cells.shape)
        # -1 took the last row: its cells are emptied. Object holds both text and NaN.
        cells = cells.astype(object).where(has_row)
    origin = replace(other.origin, numbers=other.origin.numbers[rows])
    return replace(
        table,
        frame=pd.concat([table.frame, cells], axis=1),
        others={**table.others, **dict.fromkeys(columns, origin)},
    )
