"""The reader of series in one long table: subject, time, and one column per region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial

import numpy as np
import pandas as pd

from sgbn.core.exceptions import InputError, counted, listed, warn
from sgbn.core.types import Indices
from sgbn.io.series.files import is_time_name
from sgbn.io.series.names import SeriesName
from sgbn.io.series.runs import SESSION, Run, Source
from sgbn.io.tables.assembly import find_id
from sgbn.io.tables.cells import check_filled, parse
from sgbn.io.tables.columns import ALL, find_column
from sgbn.io.tables.joins import MIN_VOLUMES_PER_SUBJECT
from sgbn.io.tables.options import Options
from sgbn.io.tables.raw import ROW_NAMES, RawTable, is_number_type, labels, plain_name

SESSION_NAMES = ("session", "sessionid", "ses")
RUN_NAMES = ("run", "runid")


def is_long(table: RawTable, options: Options) -> bool:
    """Return whether a table has many rows per subject, and a column that counts them."""
    subjects = _subject_column(table, options) if options.id in (None, *table.columns) else ""
    if not subjects:
        return False
    runs = _runs(table, subjects)
    return (
        len(table.frame) >= MIN_VOLUMES_PER_SUBJECT * len(runs)
        and _time(table, runs, options) != ""
    )


def find_in_table(table: RawTable, options: Options) -> Source:
    """Return the runs of a long table. Columns that are not regions are attributes of the runs."""
    subjects = _subject_column(table, options)
    if not subjects:
        raise InputError(
            f"{table.name}: no column was recognized as the column of subjects. Name this "
            "column (id=, --id), or give a folder with one file per subject."
        )
    runs = _runs(table, subjects)
    time = _time(table, runs, options)
    if not time:
        raise _no_time(table, subjects, runs, options)
    keys = [name for name in (subjects, time, *_keys(table)) if name]
    named = [find_column(table.columns, name) for name in options.named]
    unnamed = [name for name in table.columns if name not in (*keys, *named)]
    excluded = [
        name for name in unnamed if any(fnmatchcase(name, pattern) for pattern in options.exclude)
    ]
    rest = [name for name in table.columns if name not in (*keys, *excluded, ROW_NAMES)]
    # Columns with a role, and columns of labels, are attributes of a run, not regions.
    about = [name for name in rest if name in named or _is_text(table, name)]
    attributes = _attributes(table, runs, about)
    regions = [name for name in rest if name not in attributes.columns]
    # If the user names the regions, even a constant column may be one.
    constant = _constant(table, runs, regions) if options.regions in (None, (ALL,)) else []
    _warn_constant(table, constant)
    regions = [name for name in regions if name not in constant]
    when = parse(table, time, options.missing).values
    parts = [
        Run(
            name,
            f"{table.name}, {_called(name)}",
            partial(_part, table, rows[np.argsort(when[rows], kind="stable")], regions),
        )
        for name, rows in runs.items()
    ]
    facts = {**table.facts, "time": time, "constant": constant}
    session = _keys(table)[0] or SESSION
    return Source(
        table.name,
        tuple(parts),
        attributes,
        participant=subjects,
        session=session,
        excluded=tuple(excluded),
        facts=facts,
    )


def _subject_column(table: RawTable, options: Options) -> str:
    """Return the column of subjects, or "" if there is none."""
    # The user may have named this column as the person or the pair. It still holds the subjects.
    column = find_id(table, replace(options, subject=None, pair=None))
    return "" if column is None or column == ROW_NAMES else column


def _runs(table: RawTable, subjects: str) -> dict[SeriesName, Indices]:
    """Return the rows of each run. Runs are in the order of their first rows."""
    session, run = _keys(table)
    columns = [
        labels(table.frame[name]) if name else [""] * len(table.frame)
        for name in (subjects, session, run)
    ]
    check_filled(table, subjects, columns[0], "id", "Fill it in, or remove the row.")
    rows_of: dict[SeriesName, list[int]] = {}
    for row, (subject, visit, number) in enumerate(zip(*columns, strict=True)):
        rows_of.setdefault(SeriesName(subject, visit, number), []).append(row)
    return {name: np.array(rows, dtype=np.intp) for name, rows in rows_of.items()}


def _keys(table: RawTable) -> tuple[str, str]:
    """Return the columns of sessions and of runs, or "" for a column that does not exist."""
    plain = {plain_name(name): name for name in reversed(table.columns)}
    session, run = (
        next((plain[name] for name in names if name in plain), "")
        for names in (SESSION_NAMES, RUN_NAMES)
    )
    return session, run


def _time(table: RawTable, runs: dict[SeriesName, Indices], options: Options) -> str:
    """Return the column that is named like time and has distinct numbers within each run, or ""."""
    for name in table.columns:
        # A column with a role, such as a covariate, does not count the volumes.
        if not is_time_name(name) or name in options.named:
            continue
        when = parse(table, name, options.missing).values
        if not np.isnan(when).any() and all(
            len(np.unique(when[rows])) == len(rows) for rows in runs.values()
        ):
            return name
    return ""


def _no_time(
    table: RawTable, subjects: str, runs: dict[SeriesName, Indices], options: Options
) -> InputError:
    called = [name for name in table.columns if is_time_name(name) and name not in options.named]
    if not called:
        return InputError(
            f"{table.name} has no column that counts the volumes of a subject. Add a column with "
            "the name 'volume' or 'time', or give a folder with one file per subject."
        )
    # The cells are compared as text, because some may not be numbers.
    times = labels(table.frame[called[0]])
    repeated = [name for name, rows in runs.items() if len({times[k] for k in rows}) < len(rows)]
    whose = f" in the rows of {_called(repeated[0])}" if repeated else ""
    return InputError(
        f"{table.name}, column {called[0]!r} does not count the volumes{whose} "
        f"(subjects are in column {subjects!r}). Each volume of a run needs its own "
        "number. If subjects have several runs or sessions, add columns 'run' and 'session'."
    )


def _called(name: SeriesName) -> str:
    beside = [f"session {name.session!r}"] if name.session else []
    beside += [f"run {name.run!r}"] if name.run else []
    return f"subject {name.subject!r}" + (f" ({', '.join(beside)})" if beside else "")


def _is_text(table: RawTable, name: str) -> bool:
    """Return whether a column holds labels and no numbers."""
    cells = table.frame[name]
    if is_number_type(cells.dtype):
        return False
    numbers = pd.to_numeric(cells, errors="coerce").notna()
    return not numbers.any() and bool(cells.notna().any())


def _attributes(
    table: RawTable, runs: dict[SeriesName, Indices], columns: Sequence[str]
) -> RawTable:
    """Return the columns with one row per run. All rows of a session must have the same label."""
    visits: dict[tuple[str, str], list[int]] = {}
    for name, rows in runs.items():
        # All runs of a session have the same group and age.
        visits.setdefault(name[:2], []).extend(rows.tolist())
    for column in columns:
        for rows_of in visits.values():
            cells = labels(table.frame[column].iloc[rows_of])
            other = next((k for k, cell in enumerate(cells) if cell != cells[0]), None)
            if other is not None:
                subject = next(name for name, rows in runs.items() if rows_of[0] in rows)
                raise InputError(
                    f"{table.where(rows_of[other], column)}: the label is {cells[other]!r}, but "
                    f"other rows of {_called(subject)} have {cells[0]!r}. All volumes of a session "
                    "must have the same label. Correct it, add a column 'session' if there are "
                    f"several sessions, or leave the column out (exclude={column!r}, --exclude "
                    f"{column})."
                )
    # The labels are the same in all rows of a run, so the first row is enough.
    first = np.array([rows[0] for rows in runs.values()], dtype=np.intp)
    frame = table.frame[list(columns)].iloc[first].reset_index(drop=True)
    origin = replace(table.origin, numbers=table.origin.numbers[first])
    return replace(table, frame=frame, origin=origin)


def _constant(
    table: RawTable, runs: dict[SeriesName, Indices], columns: Sequence[str]
) -> list[str]:
    """Return the columns that have the same number in all volumes of a run, such as an age."""
    left = list(columns)
    for rows in runs.values():  # after the first run, few columns are left
        part = table.frame[left].iloc[rows]
        left = [name for name in left if part[name].nunique(dropna=False) == 1]
    return [name for name in left if table.frame[name].notna().any()]


def _warn_constant(table: RawTable, columns: Sequence[str]) -> None:
    if columns:
        warn(
            f"{table.name}: {counted(len(columns), 'column is', 'columns are')} the same in all "
            f"volumes of each subject, unlike a region: {listed(columns)}. "
            f"{'It is' if len(columns) == 1 else 'They are'} left out. To use "
            f"{'it' if len(columns) == 1 else 'them'}, name "
            f"{'it' if len(columns) == 1 else 'them'} (covariates=, site=; --covariates, --site)."
        )


def _part(table: RawTable, rows: Indices, regions: list[str]) -> RawTable:
    """Return the cells of one run, sorted by time."""
    frame = table.frame[regions].iloc[rows].reset_index(drop=True)
    origin = replace(table.origin, numbers=table.origin.numbers[rows])
    return replace(table, frame=frame, origin=origin)
