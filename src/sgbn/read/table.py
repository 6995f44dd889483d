"""Cohorts from tables with one row per subject, and tables from cohorts.

`read_table` reads any table, `read_freesurfer` the tables that FreeSurfer's aparcstats2table and
asegstats2table write. Tables of the same subjects are joined by id. `assemble` makes the cohort
from the cells and the roles of the columns.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sgbn.cohort.atlas import AtlasLike
from sgbn.cohort.cohort import BLOCK, ID, PERSON, SITE, Cohort
from sgbn.cohort.design import LABELS
from sgbn.cohort.region_names import is_total, match_columns
from sgbn.core.problems import InputError, Problem, did_you_mean
from sgbn.core.types import Indices
from sgbn.prepare.independence import visit_columns
from sgbn.prepare.pipeline import check_free, table_cells
from sgbn.read.cells import (
    MISSING,
    ROW_NAMES,
    Markers,
    RawTable,
    check_filled,
    check_label_sentinels,
    check_point,
    check_repeated,
    check_unique,
    covariate,
    labels,
    of_file,
    parse,
    region_values,
    repeated,
    text_labels,
)
from sgbn.read.files import INSTALL, NO_LIBRARY, PARQUET, Source, load_table
from sgbn.read.roles import (
    DROP,
    Options,
    choose_regions,
    exchanged,
    find_column,
    id_column,
    repeated_persons,
    site_columns,
    unknown_column,
    unnamed_sites,
    with_extracted,
)
from sgbn.runs.files import write_atomically

DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}

# Some programs end a cell or a line at these control characters and line separators.
_UNWRITABLE = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")


def read_table(
    source: Source,
    *,
    group: str | None = None,
    id: str | None = None,
    covariates: str | Sequence[str] = (),
    smooth: str | Sequence[str] = (),
    site: str | None = None,
    pair: str | None = None,
    subject: str | None = None,
    block: str | None = None,
    regions: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] = (),
    groups: str | Sequence[str] | None = None,
    atlas: AtlasLike | None = None,
    measure: str | Sequence[str] | None = None,
    participants: Source | None = None,
    participants_missing: str = "refuse",
    sheet: str | int | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    missing: Markers = None,
) -> Cohort:
    """Read a table with one row per subject into a cohort.

    Parameters
    ----------
    source : path or DataFrame
        A text file such as CSV or TSV (gzipped or not), an Excel file, a Parquet file, or a
        DataFrame. A DataFrame is not changed.
    group, site : str, optional
        Columns of labels. No cell may be missing. Numbers are read as labels.
    id : str, optional
        Column of subject ids. Each id may occur only once. Leading zeros are kept. If not given, a
        column whose name says that it holds ids is used (``subject_id``, ``participant_id``,
        ``ID``, ...). If there is none, the rows are numbered.
    covariates : str or list of str
        Columns of numbers or of labels. One column cannot hold both. Cells may be missing.
        ``eTIV`` also finds the other names that FreeSurfer gives this volume.
    smooth : str or list of str
        The covariates whose effects are curves, such as age over the lifespan. The effects of all
        other covariates are linear.
    pair : str, optional
        Column of persons, if the rows are visits and each person has one visit in every group. It
        may be the id column. If ids repeat, the group is added to them, as in ``"s01 (AD)"``.
        `review` leaves out persons who do not have exactly one visit in every group.
    subject : str, optional
        Column of persons, if a person has several rows in one group, such as sessions. Each row
        needs its own id. Without an id column, the rows are numbered. Permutations, half samples
        and cross-validation keep the rows of a person together.
    block : str, optional
        Column of families, or of another label that rows share if they are not independent. A
        family may have rows in several groups. As for `subject`, the rows of a family are kept
        together.
    regions : str or list of str, optional
        Names or patterns (``"lh_*"``) of columns, or ``"all"`` for every column of numbers that
        has no other role. A column with too few numbers, or with dates, is then left out with a
        warning. If its name is a region of the atlas, it is an error. If not given, the columns
        that match an atlas are the regions. Any other column of numbers is then an error, until it
        is named or excluded. Totals such as MeanThickness are never regions.
    exclude : str or list of str
        Names or patterns of columns to leave out.
    groups : list of str, optional
        Labels of the groups to keep. Rows of other groups, and rows without a group, are left out.
    atlas : str, path or Atlas, optional
        Name of an atlas of the package, or a table of your own, see `read_atlas`. If not given, the
        atlas of the package that matches the most columns is used. If ``sgbn extract`` wrote an
        ``atlas.csv`` beside the table, and that file matches more columns, it is used instead.
    measure : str or list of str, optional
        The measure to read, such as ``"thickness"`` or ``"volume"``, if a table has several. If it
        is a list, each region gets the first measure in the list that the table has for it.
    participants : path or DataFrame, optional
        A second table with group, covariates or site, such as the ``participants.tsv`` of BIDS. It
        is joined by id. An id may have ``sub-`` in only one of the two tables. The decimal mark of
        the second table is detected.
    participants_missing : {"refuse", "drop"}
        What to do if `participants` does not list a subject. ``"refuse"`` raises an error.
        ``"drop"`` leaves such subjects out, with a warning that names them.
    sheet : str or int, optional
        The sheet of an Excel file, by its name or by its place counted from 0. If not given, the
        first sheet is read. A number that is given as text counts from 1, as at the command line,
        unless a sheet has this name.
    delimiter, decimal : str, optional
        The delimiter and the decimal mark of a text file. They are detected if not given.
    missing : str, number or list, optional
        Markers of a missing cell, in addition to the usual ones (empty, NA, n/a, NaN, ".", "-",
        ...). If a number such as -999 is not a marker, and lies far from all other values, this
        is an error. An empty list, ``[]``, keeps such numbers as values.

    Returns
    -------
    Cohort
        Rows and regions in the order of the table. The provenance says how the table was read, and
        what was left out.

    Raises
    ------
    InputError
        If the table cannot be used. The message names the file, the column, the subject and the
        first bad row, and says what to do.
    """
    # At this point, the local variables are the arguments of this function.
    options = Options.of(**locals())
    table = load_cells(source, options, sheet=sheet, delimiter=delimiter, decimal=decimal)
    options = with_extracted(options, source, table.columns)
    return assemble(table, options, participants)[0]


def write_table(cohort: Cohort, path: str | PathLike[str]) -> None:
    """Write a cohort as a table: ids, group, site, pair, person, block, covariates and regions.

    `read_table` reads the table back. Give ``subject="person"`` to read the persons.

    Parameters
    ----------
    cohort : Cohort
        The cohort to write.
    path : path
        The file to write. Its name ends in .csv, .tsv, .txt (with tabs), .parquet or .xlsx.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in (*DELIMITERS, *PARQUET, ".xlsx"):
        raise InputError("table.ending", file=target).says(
            "{file} must end in .csv, .tsv, .parquet or .xlsx", "Choose one of these endings."
        )
    frame = _as_frame(cohort)
    try:
        # The file is never half written, even if this process is killed.
        write_atomically(target, lambda stream: _write(frame, stream, suffix))
    except ImportError as error:
        raise InputError("library.absent", where=of_file(target)).says(
            NO_LIBRARY, INSTALL
        ) from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise InputError("file.unwritable", file=target, cause=error).says(
            "{file} cannot be written ({cause})", "Check the folder and its permissions."
        ) from error


def _write(frame: pd.DataFrame, stream: Any, suffix: str) -> None:
    if suffix in PARQUET:
        frame.to_parquet(stream, index=False)
    elif suffix == ".xlsx":
        frame.to_excel(stream, index=False)
    else:
        frame.to_csv(stream, index=False, sep=DELIMITERS[suffix], lineterminator="\n")


def _as_frame(cohort: Cohort) -> pd.DataFrame:
    """Return the whole cohort as a table that `read_table` can read back."""
    # Ids stay text: as numbers, they would lose their leading zeros.
    columns: dict[str, Any] = {ID: np.array(cohort.ids, dtype=object)}
    labels = {name: getattr(cohort, name) for name in LABELS}
    columns |= {name: cells.astype(object) for name, cells in labels.items() if cells is not None}
    check_free(cohort, columns)
    columns |= {name: table_cells(column) for name, column in cohort.covariates.items()}
    # The values of regions are numbers, so only the names are checked.
    for name, column in (columns | dict.fromkeys(cohort.regions, np.empty(0))).items():
        _check_readable(name, column)
    regions = pd.DataFrame(cohort.values, columns=list(cohort.regions))
    return pd.concat([pd.DataFrame(columns), regions], axis=1)


def _check_readable(name: str, column: NDArray[Any]) -> None:
    """Raise InputError if `read_table` would change the name or a label of the column."""
    # It would strip blanks, and read NA as a missing cell.
    texts = [name, *(cell for cell in column.tolist() if isinstance(cell, str))]
    for text in texts:
        if text != text.strip() or text in MISSING or _UNWRITABLE.search(text):
            # The text is not shown, because it may be an id.
            raise InputError("cells.unwritable", column=name).says(
                "a text in column {column} would change when the table is read back",
                "Remove its outer blanks and control characters, and markers of missing cells.",
            )


PREFIX = "sub-"  # ids in BIDS begin with it
REPEATED = "{where} {subject} is in {unit:s}s {other} and {row} of column {column}"
MIN_VOLUMES_PER_SUBJECT = 10  # from 10 rows per subject upwards, rows are volumes, not visits


def with_ids(table: RawTable, column: str | None) -> RawTable:
    """Return the table with ids from the given column, or with row numbers if it is None."""
    if column is None:
        ids = [f"row {number}" for number in table.origin.numbers]
    else:
        ids = labels(table.frame[column])
        check_filled(table, column, ids)
    return replace(table, ids=tuple(ids))


def check_ids(table: RawTable, column: str | None, options: Options) -> None:
    """Raise InputError if two rows have the same id."""
    twice = repeated(table.ids)
    if twice is None:
        return
    told = {"where": table.source, "unit": table.origin.unit, "column": column}
    if len(table.ids) >= MIN_VOLUMES_PER_SUBJECT * len(set(table.ids)):
        raise InputError("ids.volumes", **told).says(
            "{where} ids repeat in {column} as in time series",
            "Add a column 'volume' that counts the volumes of each subject, or give a "
            "folder with one file per subject.",
        )
    other, row = table.origin.numbers[list(twice)]
    told |= {"row": row, "other": other, "subject": table.ids[twice[1]]}
    if options.group is None:  # visits are compared only between groups
        raise InputError("ids.repeat", **told).says(
            REPEATED, "Name the right {id=}, or keep one row per subject."
        )
    if options.pair is not None:
        raise InputError("ids.repeat", **told).says(REPEATED, "Keep one row per subject and group.")
    raise InputError("ids.repeat", **told).says(
        REPEATED,
        "Name the right {id=}. For visits, name the column of persons in {pair=} (one visit per "
        "group) or {subject=} (several).",
    )


def name_visits(table: RawTable, groups: Sequence[str]) -> RawTable:
    """Return the table with the group added to each id, if this makes repeated ids unique."""
    if len(set(table.ids)) == len(table.ids):
        return table
    # If an id repeats within a group, the ids stay as they are, and `check_ids` names this id.
    visits = [f"{name} ({group})" for name, group in zip(table.ids, groups, strict=True)]
    return replace(table, ids=tuple(visits)) if len(set(visits)) == len(visits) else table


def join_participants(
    table: RawTable, people: RawTable, columns: Sequence[str], may_lack: bool, drop: bool = False
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
        raise InputError("ids.prefix", where=people.source, subjects=[twice, _bare(twice)]).says(
            "{where} the same id with and without sub-: {subjects}", "Keep one row per subject."
        )
    rows = np.array([place.get(_bare(name), -1) for name in table.ids], dtype=np.intp)
    _check_one_each(table, rows)
    lacking = [name for name, row in zip(table.ids, rows, strict=True) if row < 0]
    # If no subject has a row, the ids are written in different ways, and nobody would be left.
    if lacking and not ((may_lack or drop) and len(lacking) < len(rows)):
        near = list(dict.fromkeys([*_alike(lacking, people.ids), *people.ids]))
        told = {"where": people.source, "subjects": lacking, "subjects_near": near}
        raise InputError("ids.absent", **told).says(
            "{where} no row for {subjects}, but rows for {subjects_near}",
            "Write the ids in the same way, add rows, or leave subjects out by "
            "{participants_missing='drop'}.",
        )
    if lacking and drop:
        table, rows = table.keep(rows >= 0), rows[rows >= 0]
        Problem("ids.dropped", where=people.source, subjects=lacking).warn(
            "{where} no row for {subjects}. They are left out, as you asked",
            "Check that nobody is missing by mistake.",
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


def _check_one_each(table: RawTable, rows: np.ndarray) -> None:
    """Raise InputError if two ids, such as "01" and "sub-01", are the same participant."""
    first: dict[int, str] = {}
    for name, row in zip(table.ids, rows.tolist(), strict=True):
        if row >= 0 and first.setdefault(row, name) != name:
            raise InputError("ids.prefix", where=table.source, subjects=[first[row], name]).says(
                "{where} the same id with and without sub-: {subjects}", "Keep one row per subject."
            )


def _alike(lacking: Sequence[str], ids: Sequence[str]) -> list[str]:
    """Return the ids that differ from lacking ids only in zeros, session, case or other words."""
    core = {_core(name): name for name in ids}
    near = [core[_core(name)] for name in lacking if _core(name) in core]
    return near or [
        core[_core(word)]
        for name in lacking
        for word in re.split(r"[-_. ]", name)
        # A word without digits, such as "baseline", may be in many ids.
        if any(map(str.isdigit, word)) and _core(word) in core
    ]


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


def read_as_text(options: Options, columns: list[str]) -> set[str]:
    """Return the columns of a header whose cells must be read as text.

    If they were read as numbers, 007 and 7 would become the same id.
    """
    named = {find_column(columns, name) for name in options.named}
    id_name = options.id or _called_id(columns, options)
    return {name for name in (*named, id_name) if name is not None}


def load_cells(source: Source, options: Options, **marks: Any) -> RawTable:
    """Return the cells of a table. `marks` are sheet, delimiter and decimal, see `load_table`."""
    return load_table(source, partial(read_as_text, options), **marks)


def find_id(table: RawTable, options: Options) -> str | None:
    """Return the name of the id column, or None if there is no id column.

    If the caller names no id column, it is a column whose name says that it holds ids.
    """
    if options.id is not None and options.id not in table.columns:
        raise unknown_column(table, options.id, "id")
    return options.id if options.id is not None else _called_id(table.columns, options)


def _called_id(columns: Sequence[str], options: Options) -> str | None:
    """Return the column whose name says that it holds ids, or None.

    The column of the pair is taken only if no other column holds ids.
    """
    id_name = id_column(columns, options.named)
    if options.pair is None or id_name not in (None, ROW_NAMES):
        return id_name
    other_roles = [name for name, role in options.named.items() if role != "pair"]
    return id_column(columns, other_roles)


def assemble(
    table: RawTable,
    options: Options,
    participants: Source | None = None,
    id_name: str | None = None,
    person: str | None = None,
) -> tuple[Cohort, Indices]:
    """Check every column that the caller asks for, and return the cohort.

    Parameters
    ----------
    table : RawTable
        The cells, one row per subject.
    options : Options
        What the caller asks for.
    participants : path or DataFrame, optional
        A second table. It is joined by id, or by `person` if that is given.
    id_name : str, optional
        The id column of the table, if it is already known. `options.id` is then the id column of
        the participants.
    person : str, optional
        Column by which the participants are joined, if this is not the id column.

    Returns
    -------
    cohort : Cohort
        The cohort in the table, with one subject per row that was kept.
    numbers : ndarray of int
        The numbers of the rows that are in the cohort, counted as in the file of the table.
    """
    if error := exchanged(table, options.named, options.atlas):
        raise error
    id_name = find_id(table, options) if id_name is None else id_name
    # Rows without ids are joined by their persons, whom the participants may list.
    if person is None and id_name is None and options.subject in table.columns:
        person = options.subject
    # If one column holds both the persons and the ids, the group is added to the id of each visit.
    if options.id is None and id_name is not None and id_name == options.pair:
        options = replace(options, id=id_name)
    table = with_ids(table, id_name)
    if participants is not None:
        table = _with_participants(table, options, participants, person)
    columns = _columns(table, options)
    table, group, left_out = _groups(table, columns, options)
    by_id = options.pair is not None and options.pair == options.id
    pair = list(table.ids) if by_id else _labels(table, columns, options, "pair")
    if pair is not None and group is not None:
        # The visits of a person have the same id, until the group is added to it.
        table = name_visits(table, group)
    # Ids are checked only now, because rows of groups that are left out may repeat an id.
    check_ids(table, id_name, options)
    roles = {PERSON: "subject", BLOCK: "block", SITE: "site"}
    made = {name: _labels(table, columns, options, role) for name, role in roles.items()}
    given: dict[str, Any] = {"group": group, "pair": pair, **made}
    covariates = {n: covariate(table, columns[n], options.missing) for n in options.covariates}
    taken = [*columns.values(), *([id_name] if id_name is not None else [])]
    # Site columns of the participants are joined only to ask the user about them.
    joined_sites = [name for name in site_columns(table.others) if name not in taken]
    choice = choose_regions(table, taken, options, id_name is not None, never=joined_sites)
    facts = {
        **table.facts,
        "ids": "row numbers" if id_name is None else id_name,
        "left_out": left_out,
        **({} if options.site is None else {"site_column": columns[options.site]}),
        **choice.facts,
        **_questions(table, [*taken, *choice.regions], choice.facts["excluded"], group, options),
        **_visits(table, [*taken, *choice.regions], made[PERSON]),
    }
    cohort = Cohort(
        region_values(table, choice.regions, options.missing, options.regions != choice.regions),
        choice.regions,
        table.ids,
        **given,
        covariates=covariates,
        smooth=options.smooth,
        atlas=choice.atlas,
        provenance=facts,
    )
    return cohort, table.origin.numbers


def _questions(
    table: RawTable,
    used: Sequence[str],
    excluded: Sequence[str],
    group: Sequence[str] | None,
    options: Options,
) -> dict[str, Any]:
    """Return columns without a role that may hold persons or sites. A review asks about them."""
    has_units = any(name is not None for name in (options.pair, options.subject, options.block))
    persons = {} if has_units else repeated_persons(table, used, group)
    sites = {}
    if options.site is None:
        # If the user excluded a site column by name, the user knows it, and no question is needed.
        named = {*used, *excluded}
        free = [name for name in table.columns if name not in named]
        sites = unnamed_sites(table, free, group)
    questions = {"repeated": persons, "unnamed_sites": sites}
    return {name: columns for name, columns in questions.items() if columns}


def _visits(
    table: RawTable, used: Sequence[str], persons: Sequence[str] | None
) -> dict[str, dict[str, list[str]]]:
    """Return the columns without a role that tell visits of named persons, for a review."""
    if persons is None:
        return {}
    free = {name: labels(table.frame[name]) for name in table.columns if name not in used}
    visits = visit_columns(free, persons)
    return {"repeated": {"visits": visits}} if visits else {}


def load_participants(
    options: Options, participants: Source, person: str | None = None
) -> tuple[RawTable, str]:
    """Return the table of participants and its id column. Each id may occur only once.

    `person` is the column of the other table by which the participants are joined.
    """
    if person is not None:  # among the participants it may be the id column, with no other role
        roles = (options.subject, options.pair)
        subject, pair = (None if name == person else name for name in roles)
        options = replace(options, subject=subject, pair=pair)
    people = load_cells(participants, options)
    if options.id not in people.columns:
        options = replace(options, id=None)
    id_name = find_id(people, options)
    if id_name is None:
        raise InputError("ids.no-column", where=people.source).says(
            "{where} no column of ids, by which to join",
            "Call the column 'participant_id', or name it in {id=}.",
        )
    people = with_ids(people, id_name)
    check_ids(people, id_name, options)
    return people, id_name


def _with_participants(
    table: RawTable, options: Options, participants: Source, person: str | None
) -> RawTable:
    """Return the table with the named columns that only the participants have.

    They are joined by id or by person.
    """
    keyed = with_ids(table, person) if person is not None else table
    people, id_name = load_participants(options, participants, person)
    # FreeSurfer tables were joined before this step. The facts of each name its id column.
    id_columns = {facts.get("ids") for facts in table.facts.get("tables", [table.facts])}
    if options.id not in {None, *id_columns, *table.columns, *people.columns}:
        raise unknown_column(table, str(options.id), "id", people)
    named = [name for name, role in options.named.items() if role != "id" and name != person]
    # If both tables have a column, its cells could differ between them.
    shared = set(table.columns) & set(people.columns)
    if both := [name for name in named if name in shared]:
        raise InputError("columns.both", where=people.source, columns=both).says(
            "{where} the other table has the same columns: {columns}",
            "Remove or rename each of them in one table.",
        )
    absent = [name for name in named if find_column(table.columns, name) is None]
    wanted = []
    for name in absent:
        column = find_column(people.columns, name)
        if column is None:
            raise unknown_column(table, name, options.named[name], people)
        wanted.append(column)
    if options.site is None:  # to ask the user about site columns, see `unnamed_sites`
        wanted += [name for name in site_columns(people.columns) if name not in table.columns]
    wanted = [name for name in dict.fromkeys(wanted) if name != id_name]
    ignored = [column for column in people.columns if column not in (id_name, *wanted)]
    people = replace(people, facts={**people.facts, "ignored": ignored})
    # A subject who is not listed has no group. If `groups` is given, this subject is left out.
    may_lack = options.groups is not None and options.group in wanted
    drop = options.participants_missing == DROP
    joined = join_participants(keyed, people, wanted, may_lack, drop)
    # The join may have dropped subjects who are not listed. All other rows keep their ids.
    kept = np.isin(table.origin.numbers, joined.origin.numbers)
    return replace(joined, ids=table.keep(kept).ids)


def _columns(table: RawTable, options: Options) -> dict[str, str]:
    """Return the column of each name to which the caller gave a role, except for the id."""
    columns: dict[str, str] = {}
    for name, role in options.named.items():
        if role == "id":
            continue
        column = find_column(table.columns, name)
        if column is None:
            raise unknown_column(table, name, role)
        other = next((asked for asked, taken in columns.items() if taken == column), None)
        if other is not None:
            told = {"where": table.source_of(column), "names": [other, name]}
            raise InputError("columns.aliases", **told).says(
                "{where} two names mean this column: {names}", "Name it only once."
            )
        columns[name] = column
    return columns


def _groups(
    table: RawTable, columns: dict[str, str], options: Options
) -> tuple[RawTable, list[str] | None, dict[str, int]]:
    """Return the rows of the wanted groups, the group of each row, and sizes of other groups."""
    if options.group is None:
        return table, None, {}
    column = columns[options.group]
    group = text_labels(table, column, options.missing)
    left_out: dict[str, int] = {}
    if options.groups is not None:
        present = sorted({label for label in group if label})
        if unknown := [name for name in options.groups if name not in present]:
            near = did_you_mean(unknown[0], present)
            told = {"where": table.source_of(column), "group": unknown[0], "near": near}
            raise InputError("groups.unknown", **told).says("{where} no group {group}", "{near}")
        # A label such as -999 is not an error if its rows are left out.
        kept = np.array([label in options.groups for label in group], dtype=bool)
        left_out = dict(Counter(label for label, k in zip(group, kept, strict=True) if not k))
        table = table.keep(kept)
        group = [label for label in group if label in options.groups]
    else:
        check_label_sentinels(table, column, group, options.missing)
    check_filled(table, column, group, of_groups=True)
    check_repeated(table, column, group)
    return table, group, left_out


def _labels(
    table: RawTable, columns: dict[str, str], options: Options, role: str
) -> list[str] | None:
    """Return the labels of the column with this role, or None if no column has it.

    A missing label is an error.
    """
    name = getattr(options, role)
    if name is None:
        return None
    column = columns[name]
    cells = text_labels(table, column, options.missing)
    if role == "site":  # persons and families may well be called 999
        check_label_sentinels(table, column, cells, options.missing)
    check_filled(table, column, cells)
    return cells


SUBJECT_ID = "subject_id"
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
        raise InputError("tables.none").says(
            "read_freesurfer needs at least one table", "Give the paths of the tables."
        )
    has_participants = participants is not None
    cells = (load_cells(table, options, delimiter=delimiter, decimal=decimal) for table in tables)
    loaded = [_one_row_each(table, options, has_participants) for table in cells]
    joined = loaded[0]
    for other in loaded[1:]:
        joined = _join(joined, other, options)
    tables_facts = [dict(table.facts) for table in loaded]
    facts = tables_facts[0] if len(loaded) == 1 else {"tables": tables_facts}
    return assemble(replace(joined, facts=facts), options, participants, SUBJECT_ID)[0]


def _one_row_each(table: RawTable, options: Options, has_participants: bool) -> RawTable:
    """Return a table with one row per subject, and ids that are not paths."""
    # The id may be a column of the participants only.
    if has_participants and options.id not in table.columns:
        options = replace(options, id=None)
    id_name = find_id(table, options) or table.columns[0]
    # If there is a column of ids, R's row names are not needed.
    not_needed = {ROW_NAMES} & ({*table.columns} - {id_name})
    table = replace(table, frame=table.frame.drop(columns=not_needed))
    # In a transposed table, the first column names regions, and the header names subjects.
    rows, header = match_columns(labels(table.frame[id_name])), match_columns(table.columns)
    if len(rows.columns) + len(rows.totals) > len(header.columns) + len(header.totals):
        table, id_name = _turned(table, id_name), SUBJECT_ID
    table = with_ids(table, id_name)
    # FreeSurfer may write the paths of the subjects' folders instead of their ids.
    ids = [name.rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1] for name in table.ids]
    rest = table.frame.drop(columns=id_name)
    if SUBJECT_ID in rest.columns:
        raise InputError("ids.columns", where=table.source, columns=[id_name, SUBJECT_ID]).says(
            "{where} two columns of ids: {columns}", "Remove one of them."
        )
    frame = pd.concat([pd.Series(ids, name=SUBJECT_ID, dtype=object), rest], axis=1)
    table = replace(table, frame=frame, ids=tuple(ids), facts={**table.facts, "ids": id_name})
    check_ids(table, id_name, options)
    return table


def _turned(table: RawTable, id_name: str) -> RawTable:
    """Return a transposed table with one row per subject. Each row is a column of the file."""
    names = labels(table.frame[id_name])
    check_unique(names, table.source)
    body = table.frame.drop(columns=id_name)
    if table.origin.unsure:  # the columns of the file tell whether points separate thousands
        for subject in body:
            check_point(body[subject], table.source)
    # Transposing makes all cells Python objects. pandas turns them into numbers again.
    turned = body.T.set_axis(names, axis=1).reset_index(drop=True).infer_objects()
    ids = pd.Series(list(body.columns), name=SUBJECT_ID, dtype=object)
    frame = pd.concat([ids, turned], axis=1)
    places = np.arange(2, len(frame) + 2, dtype=np.intp)
    origin = replace(table.origin, numbers=places, unit="transposed column")
    return replace(table, frame=frame, origin=origin)


def _join(table: RawTable, other: RawTable, options: Options) -> RawTable:
    """Return the table with the columns of another table of the same subjects.

    Totals that both tables have are kept once.
    """
    _check_same_subjects(table, other)
    place = {name: row for row, name in enumerate(other.ids)}
    rows = np.array([place[name] for name in table.ids], dtype=np.intp)
    present = set(table.columns) - {SUBJECT_ID}
    both = [column for column in other.columns if column in present]
    for column in both:
        _check_equal(table, other, column, rows, options)
    new = [column for column in other.columns if column not in present and column != SUBJECT_ID]
    return add_columns(table, other, new, rows)


def _check_same_subjects(table: RawTable, other: RawTable) -> None:
    """Raise InputError if a subject is in only one of the two tables."""
    for first, second in ((table, other), (other, table)):
        known = set(second.ids)
        if lone := [name for name in first.ids if name not in known]:
            raise InputError("ids.absent", where=second.source, subjects=lone).says(
                "{where} no row for {subjects}, but other tables have one",
                "Make all tables from the same subjects, or remove these rows.",
            )


def _check_equal(
    table: RawTable, other: RawTable, column: str, rows: np.ndarray, options: Options
) -> None:
    """Raise InputError if a column is in two tables, unless it is a total with equal values."""
    if not is_total(column):
        raise InputError("columns.both", where=other.source, columns=[column]).says(
            "{where} the other table has the same columns: {columns}",
            "Give each measure of a hemisphere only once.",
        )
    # Both tables hold totals such as eTIV, and each rounds them in its own way.
    first = parse(table, column, options.missing).values
    second = parse(other, column, options.missing).values[rows]
    differ = ~np.isclose(first, second, rtol=MAX_ROUNDING, atol=0, equal_nan=True)
    if differ.any():
        row = int(np.flatnonzero(differ)[0])
        told = {"where": table.where(row, column), "value": first[row], "other": second[row]}
        raise InputError("totals.differ", **told, n=int(differ.sum())).says(
            "{where} the value is {value:g}, but {other:g} in another table ({n:such subject})",
            "Make the tables again, from one run of FreeSurfer.",
        )
