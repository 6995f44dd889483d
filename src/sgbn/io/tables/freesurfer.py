"""The reader of the tables that FreeSurfer's aparcstats2table and asegstats2table write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from sgbn.cohort.atlas import AtlasLike
from sgbn.cohort.cohort import Cohort
from sgbn.cohort.region_names import is_total, match_columns
from sgbn.core.exceptions import InputError, counted, listed
from sgbn.io.tables.assembly import assemble, find_id, load_cells
from sgbn.io.tables.cells import Markers, parse
from sgbn.io.tables.files import Source
from sgbn.io.tables.joins import add_columns, check_ids, with_ids
from sgbn.io.tables.options import Options
from sgbn.io.tables.raw import ROW_NAMES, RawTable, check_unique, labels

ID = "subject_id"
MAX_ROUNDING = 1e-5  # relative difference of a total between two tables that rounding explains


def read_freesurfer(
    *tables: Source,
    group: str | None = None,
    id: str | None = None,
    covariates: str | Sequence[str] = (),
    smooth: str | Sequence[str] = (),
    site: str | None = None,
    pair: str | None = None,
    subject: str | None = None,
    block: str | None = None,
    participants: Source | None = None,
    participants_missing: str = "refuse",
    regions: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] = (),
    groups: str | Sequence[str] | None = None,
    atlas: AtlasLike | None = None,
    measure: str | Sequence[str] | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    missing: Markers = None,
) -> Cohort:
    """Read a cohort from tables of aparcstats2table and asegstats2table, joined by subject.

    Parameters
    ----------
    *tables : path or DataFrame
        One table for each hemisphere and measure (thickness, area, volume), and one for aseg. All
        must have the same subjects. Transposed tables are recognized. If an id is a path
        (``subjects/sub-01``), its last part is the id.
    participants : path or DataFrame, optional
        Table of the same subjects with group, covariates, site, pair, subject and block, such as
        ``participants.tsv``. If `id` is one of its columns, the other tables need no column of
        that name.
    participants_missing : {"refuse", "drop"}
        As in `read_table`.
    group, id, covariates, smooth, site, pair, subject, block : optional
        As in `read_table`, but each visit needs its own id.
    regions, exclude, groups, atlas, measure : optional
        As in `read_table`. Totals (``eTIV``, ``lh_MeanThickness_thickness``) may be covariates.
    delimiter, decimal, missing : optional
        As in `read_table`, and the same for all tables.

    Returns
    -------
    Cohort
        The subjects of the tables. Columns that do not match the atlas are left out with a
        warning.
    """
    options = replace(Options.of(**locals()), only_regions=True)
    if not tables:
        raise InputError("read_freesurfer needs at least one table. Give the paths of the tables.")
    has_participants = participants is not None
    cells = (load_cells(table, options, delimiter=delimiter, decimal=decimal) for table in tables)
    loaded = [_one_row_each(table, options, has_participants) for table in cells]
    joined = loaded[0]
    for other in loaded[1:]:
        joined = _join(joined, other, options)
    tables_facts = [dict(table.facts) for table in loaded]
    facts = tables_facts[0] if len(loaded) == 1 else {"tables": tables_facts}
    return assemble(replace(joined, facts=facts), options, participants, ID)[0]


def _one_row_each(table: RawTable, options: Options, has_participants: bool) -> RawTable:
    """Return a table with one row per subject, and ids that are not paths."""
    # The id may be a column of the participants only.
    if has_participants and options.id not in table.columns:
        options = replace(options, id=None)
    id_name = find_id(table, options) or table.columns[0]
    # If there is a column of ids, R's row names are not needed.
    table = replace(
        table, frame=table.frame.drop(columns={ROW_NAMES} & ({*table.columns} - {id_name}))
    )
    if _is_transposed(table, id_name):
        table, id_name = _turned(table, id_name), ID
    table = with_ids(table, id_name)
    # FreeSurfer may write the paths of the subjects' folders instead of their ids.
    ids = [name.rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1] for name in table.ids]
    rest = table.frame.drop(columns=id_name)
    if ID in rest.columns:
        raise InputError(
            f"{table.name} has two columns of ids, {id_name!r} and {ID!r}. Remove one of them."
        )
    frame = pd.concat([pd.Series(ids, name=ID, dtype=object), rest], axis=1)
    facts = {**table.facts, "ids": id_name}
    table = replace(table, frame=frame, ids=tuple(ids), facts=facts)
    check_ids(table, id_name)
    return table


def _is_transposed(table: RawTable, id_name: str) -> bool:
    """Return whether the first column names regions, and the header names subjects."""
    rows = match_columns(labels(table.frame[id_name]))
    header = match_columns(table.columns)
    return len(rows.columns) + len(rows.totals) > len(header.columns) + len(header.totals)


def _turned(table: RawTable, id_name: str) -> RawTable:
    """Return a transposed table with one row per subject. Each row is a column of the file."""
    names = labels(table.frame[id_name])
    check_unique(names, table.name)
    body = table.frame.drop(columns=id_name)
    # Transposing makes all cells Python objects. pandas turns them into numbers again.
    turned = body.T.set_axis(names, axis=1).reset_index(drop=True).infer_objects()
    frame = pd.concat([pd.Series(list(body.columns), name=ID, dtype=object), turned], axis=1)
    places = np.arange(2, len(frame) + 2, dtype=np.intp)
    origin = replace(table.origin, numbers=places, unit="column {} (transposed)")
    return replace(table, frame=frame, origin=origin)


def _join(table: RawTable, other: RawTable, options: Options) -> RawTable:
    """Return the table with the columns of another table of the same subjects.

    Totals that both tables have are kept once.
    """
    _check_same_subjects(table, other)
    place = {name: row for row, name in enumerate(other.ids)}
    rows = np.array([place[name] for name in table.ids], dtype=np.intp)
    present = set(table.columns) - {ID}
    both = [column for column in other.columns if column in present]
    for column in both:
        _check_equal(table, other, column, rows, options)
    new = [column for column in other.columns if column not in present and column != ID]
    return add_columns(table, other, new, rows)


def _check_same_subjects(table: RawTable, other: RawTable) -> None:
    """Raise InputError if a subject is in only one of the two tables."""
    for first, second in ((table, other), (other, table)):
        known = set(second.ids)
        lone = [name for name in first.ids if name not in known]
        if lone:
            raise InputError(
                f"{counted(len(lone), 'subject is', 'subjects are')} in {first.name}, but not in "
                f"{second.name}: {listed(lone)}. Make both tables from the same subjects, or "
                "remove these rows."
            )


def _check_equal(
    table: RawTable, other: RawTable, column: str, rows: np.ndarray, options: Options
) -> None:
    """Raise InputError if a column is in two tables, unless it is a total with equal values."""
    if not is_total(column):
        raise InputError(
            f"column {column!r} is in {table.source_of(column)} and in {other.name}. Give each "
            "measure of a hemisphere only once."
        )
    # Both tables hold totals such as eTIV, and each rounds them in its own way.
    first = parse(table, column, options.missing).values
    second = parse(other, column, options.missing).values[rows]
    differ = ~np.isclose(first, second, rtol=MAX_ROUNDING, atol=0, equal_nan=True)
    if differ.any():
        row = int(np.flatnonzero(differ)[0])
        raise InputError(
            f"{table.where(row, column)}: the value is {first[row]:g}, but in {other.name} it is "
            f"{second[row]:g} ({counted(differ.sum(), 'subject differs', 'subjects differ')}). The "
            "tables come from different runs of FreeSurfer. Make them again from one run."
        )
