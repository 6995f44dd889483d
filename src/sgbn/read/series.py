"""Cohorts of region time series, from folders, archives and long tables.

The runs of each subject, or of each subject and session, become one row of the cohort. Motion that
the user did not name becomes a covariate if all subjects have a table of it. `is_series` decides
whether a source holds time series, or one row per subject.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from fnmatch import fnmatchcase
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sgbn.cohort.atlas import AtlasLike
from sgbn.cohort.cohort import Cohort
from sgbn.cohort.design import LABELS
from sgbn.cohort.region_names import match_columns
from sgbn.cohort.series import FEWEST_VOLUMES, SeriesCohort, spread_of
from sgbn.core.problems import InputError, Problem
from sgbn.core.types import Array, Mask
from sgbn.core.validation import NONE, Number
from sgbn.prepare.balance import covariate_test, first_rows
from sgbn.prepare.series_review import CENSORED, MEAN_FD, TAKEN, UNNAMED, motion_column
from sgbn.read.cells import Markers, Origin, RawTable, check_unique, covariate, labels
from sgbn.read.files import EXCEL, PARQUET
from sgbn.read.files import Source as TableSource
from sgbn.read.roles import ALL, Choice, Options, choose_regions, find_column, with_extracted
from sgbn.read.series_files import (
    DOUBT,
    NAMES_UNSURE,
    VOLUME_UNSURE,
    Marks,
    Volumes,
    check_same_columns,
    confounds_among,
    is_time_name,
    read_volumes,
    time_columns,
)
from sgbn.read.series_sources import (
    ENDING,
    MAX_TR_SECONDS,
    Run,
    Source,
    find_in_archive,
    find_in_folder,
    find_in_table,
    find_participants,
    is_long,
    run_order,
)
from sgbn.read.table import absent_ids, assemble, load_cells, load_participants, read_table

ROW_ID = "series_id"  # the id column, if a subject has several rows
FOR_SERIES = ("tr", "files")  # keywords that only `read_series` has
FOR_TABLES = ("measure",)  # keywords that only `read_table` has
MAX_HEADER_BYTES = 2**20  # bytes that are searched for the header of a text file


def read_series(
    source: TableSource,
    participants: TableSource | None = None,
    *,
    group: str | None = None,
    id: str | None = None,
    covariates: str | Sequence[str] = (),
    smooth: str | Sequence[str] = (),
    site: str | None = None,
    pair: str | None = None,
    subject: str | None = None,
    block: str | None = None,
    tr: float | None = None,
    files: str | None = None,
    regions: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] = (),
    groups: str | Sequence[str] | None = None,
    atlas: AtlasLike | None = None,
    participants_missing: str = "refuse",
    sheet: str | int | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    missing: Markers = None,
) -> SeriesCohort:
    """Read region time series into a cohort with one row per subject or session.

    Parameters
    ----------
    source : path or DataFrame
        A folder with one file per subject, or per subject and run. Files are TSV, CSV, TXT or NPY,
        with one row per volume and one column per region. The names of the regions may be missing.
        fMRIPrep, XCP-D, nilearn, FSL, C-PAC and ``sgbn extract`` write such files. Instead of a
        folder, it may be an ``.npz`` with one array per subject, or a long table with columns of
        subject, time and regions.
    participants : path or DataFrame, optional
        Table of the subjects with group, covariates or site. It is joined by subject. An id
        may have ``sub-`` in only one of the tables. If not given, ``participants.tsv`` in the
        folder or above it is used.
    group, id, covariates, smooth, site, pair, subject, block : optional
        Columns of the participants, or of a long table, as in `read_table`. Each session (``ses-``)
        is a row. If all sessions of a person are in one group, give ``subject="participant_id"``.
        To compare sessions, give ``pair="participant_id"`` and ``group="session_id"``.
    tr : float, optional
        Seconds from one volume to the next. If not given, it is read from the JSON files beside the
        series.
    files : str, optional
        Pattern of the names of the files to read, such as ``"*seg-Gordon*"``.
    regions, exclude : optional
        Names or patterns of columns, as in `read_table`. If `regions` is not given, all columns
        except times, confounds and totals are regions.
    groups, atlas, participants_missing, sheet, delimiter, decimal, missing : optional
        As in `read_table`.

    Returns
    -------
    SeriesCohort
        The runs of a subject are joined. If there are several, each is centred and scaled region by
        region. Volumes that are missing (n/a) in all regions are censored: they are left out, and
        cut a run into pieces. Each piece counts as a run in `run_lengths`, so its own mean is
        removed and no lag reaches across pieces. Pieces of fewer than 10 volumes are left out.
        Regions that are missing in all volumes are empty. If all subjects have tables of motion
        beside their series, the mean framewise displacement is the covariate ``mean_fd``, unless
        `participants` has a column of motion, or `exclude` contains ``"mean_fd"``.

    Raises
    ------
    InputError
        If the series cannot be used. The message names the file, the subject and the region, and
        says what to do.
    """
    tr = (NONE | Number(above=0, most=MAX_TR_SECONDS)).check("tr", tr)
    marks = Marks(delimiter, decimal)
    beside = find_participants(_place(source)) if participants is None else participants
    options = Options.of(**{**locals(), "participants": beside})
    runs = _find(source, options, files, marks, sheet, beside)
    rows = rows_of(runs, options)
    # The columns of the first run decide which atlas is used, and which regions.
    first = _loaded(runs, rows[0], rows[0].runs[0])
    options = with_extracted(options, source, first.columns)
    of_subjects = _excluded_of_subjects(options, beside, runs)
    joined, choice = _load(runs, rows, first, options, of_subjects)
    table, id_name = _row_table(runs, rows, joined, choice.regions)
    # A participants.tsv that the user did not name is read only if the series lack a named column.
    people = beside if participants is not None or _needs(table, options, beside) else None
    loaded_people = None if people is None else load_participants(options, people, runs.participant)
    table, asked = _with_motion(table, options, loaded_people)
    asked = replace(asked, regions=choice.regions, exclude=of_subjects)
    cohort, numbers = assemble(table, asked, people, id_name, runs.participant)
    if loaded_people is not None:
        _warn_without_series(table, loaded_people[0], options)
    # The cohort has only rows of the wanted groups.
    kept = [joined[number - 1] for number in numbers]
    made = SeriesCohort.of(
        [row.series for row in kept],
        cohort.regions,
        cohort.ids,
        run_lengths=[row.lengths for row in kept],
        tr=tr_of(runs.runs, tr),
        covariates=cohort.covariates,
        smooth=cohort.smooth,
        atlas=cohort.atlas,
        provenance={**cohort.provenance, **choice.facts, **_censored(kept)},
        **{name: getattr(cohort, name) for name in LABELS},
    )
    return settle_motion(made, options.covariates, beside=MEAN_FD in table.columns)


def is_series(source: Any, **reading: Any) -> bool:
    """Return whether `read_series` reads this source: a folder, an ``.npz``, or a long table.

    A long table has many rows per subject and a column that counts them (``time``, ``volume``).

    Parameters
    ----------
    source : path, DataFrame or anything else
        The source that may hold series.
    **reading
        Keywords of `read_table`, with which a table is read.
    """
    if not isinstance(source, str | PathLike | pd.DataFrame):
        return False
    if not isinstance(source, pd.DataFrame):
        path = Path(source)
        # If there are no series inside, `read_series` raises the error.
        if path.is_dir() or path.suffix.lower() == ENDING:
            return True
        if not _may_be_long(path):
            return False
    elif not any(is_time_name(str(name)) for name in source.columns):
        return False
    try:
        # `read_series` or `read_table` checks `participants_missing` later.
        options = Options.of(**{**reading, "participants_missing": None})
        marks = {key: reading.get(key) for key in ("sheet", "delimiter", "decimal")}
        return is_long(load_cells(source, options, **marks), options)
    except InputError:  # `read_table` raises the same error
        return False


def read_any(source: Any, **reading: Any) -> Cohort:
    """Read time series with `read_series`, and any other table with `read_table`.

    Parameters
    ----------
    source : path or DataFrame
        The series or the table to read.
    **reading
        Keywords of both readers. If the reader of this source does not have a keyword, the keyword
        must be None.
    """
    series = is_series(source, **reading)
    # A keyword that would be ignored is an error.
    for name in FOR_TABLES if series else FOR_SERIES:
        if reading.pop(name, None) is not None:
            if series:
                raise InputError("series.keyword", argument=name).says(
                    "{argument} is for tables, but these are time series", "Leave it out."
                )
            raise InputError("table.keyword", argument=name).says(
                "{argument} is for time series, but this is a table with one row per subject",
                "Leave it out. Time series in a table need a column 'time' or 'volume'.",
            )
    return read_series(source, **reading) if series else read_table(source, **reading)


def _may_be_long(path: Path) -> bool:
    """Return whether the first line of a text file has a word for time.

    This is much faster than reading the whole file.
    """
    if path.suffix.lower() in (*EXCEL, *PARQUET):
        return True
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
            first = stream.read(MAX_HEADER_BYTES).lstrip().split(b"\n", 1)[0]
    except (OSError, EOFError, ValueError):  # ValueError: a NUL in the path
        return False
    # The delimiter is not known yet. It may be any of these, or blanks.
    words = re.split(r"[\t,;|]", first.decode("utf-8", errors="replace"))
    return any(is_time_name(word) for cell in words for word in (cell, *cell.split()))


def _place(source: TableSource) -> Path | None:
    """Return the folder that is the source or that holds it, or None for a DataFrame."""
    if isinstance(source, pd.DataFrame):
        return None
    if not isinstance(source, str | PathLike):
        raise InputError("series.type", name=type(source).__name__).says(
            "series are read from a path or a DataFrame, not from {name:s}",
            "If you have arrays, call SeriesCohort.of.",
        )
    path = Path(source)
    return path if path.is_dir() else path.parent


def _find(
    source: TableSource,
    options: Options,
    files: str | None,
    marks: Marks,
    sheet: str | int | None,
    people: TableSource | None,
) -> Source:
    """Return the runs of a folder, an archive or a long table."""
    path = None if isinstance(source, pd.DataFrame) else Path(source)
    if path is not None and path.is_dir():
        # The table of participants may be in the folder of the series.
        never = [] if people is None or isinstance(people, pd.DataFrame) else [Path(people)]
        return find_in_folder(path, files, marks, never)
    if files is not None:
        raise InputError("series.files").says(
            "{files=} chooses among the files of a folder, but this is one file", "Leave it out."
        )
    if path is not None and path.suffix.lower() == ENDING:
        return find_in_archive(path)
    return find_in_table(load_cells(source, options, sheet=sheet, **asdict(marks)), options)


def _excluded_of_subjects(
    options: Options, participants: TableSource | None, source: Source
) -> tuple[str, ...]:
    """Return the patterns in `exclude` that match columns of the participants, such as a site."""
    if participants is None or not options.exclude:
        return ()
    columns = load_participants(options, participants, source.participant)[0].columns
    return tuple(pattern for pattern in options.exclude if _matches(pattern, columns))


def _matches(pattern: str, names: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for name in names)


def _load(
    source: Source,
    rows: Sequence[Row],
    first: RawTable,
    options: Options,
    of_subjects: Sequence[str],
) -> tuple[list[Joined], Choice]:
    """Return the series of all rows, with the regions that are chosen from the first run."""
    all_columns = options.regions in (None, (ALL,))
    choice = _choose(source, first, options, of_subjects)
    confounds: dict[str, None] = {}
    doubts: dict[str, list[Problem]] = {}
    joined = []
    for row in rows:
        volumes = []
        for k in row.runs:
            # Each run is read only now, because all together may not fit into the memory.
            table = first if k == rows[0].runs[0] else _loaded(source, row, k)
            # The key "" collects the files without a doubt.
            doubts.setdefault(table.facts.get(DOUBT, ""), []).append(table.source)
            if all_columns:
                # A file may have confounds that the first file does not have.
                confounds |= dict.fromkeys(confounds_among(table.columns))
                check_same_columns(first, table, (*choice.facts["excluded"], *confounds))
            with _of_file(source):
                volumes.append(read_volumes(table, choice.regions, options.missing))
        joined.append(join_runs(volumes))
        _check_enough_left(joined[-1], row, source)
    # If the user excluded a confound by name, no warning is needed.
    not_excluded = [name for name in confounds if not _is_excluded(name, options)]
    if not_excluded:
        Problem("series.confounds", where=source.name, names=not_excluded).warn(
            "{where} {names:column is/columns are} left out as confounds: {names}",
            "If some are regions, list the {regions=}.",
        )
    _warn_doubts(doubts)
    ignored = [name for name in choice.facts["ignored"] if name not in confounds]
    facts = {**choice.facts, "confounds": not_excluded, "ignored": ignored}
    return joined, replace(choice, facts=facts)


def _check_enough_left(joined: Joined, row: Row, source: Source) -> None:
    """Raise InputError if censoring left no volumes of a row."""
    if not len(joined.series):
        about = {"where": source.runs[row.runs[0]].where, "n": joined.censored}
        raise InputError("series.censored", **about, least=FEWEST_VOLUMES).says(
            "{where} {n:volume is/volumes are} censored, and fewer than {least} in a row are left",
            "Leave this subject out.",
        )


def _warn_doubts(doubts: Mapping[str, Sequence[Problem]]) -> None:
    """Warn about first rows that may be names or a volume, once for each kind of doubt."""
    if files := doubts.get(NAMES_UNSURE):
        Problem("series.row-names", where=files[0], n=len(files)).warn(
            "{where} the first row of {n:file} was read as names of regions, not as a volume",
            "If it is a volume, write names (r1, r2, ...) above it.",
        )
    if files := doubts.get(VOLUME_UNSURE):
        Problem("series.row-volume", where=files[0], n=len(files)).warn(
            "{where} the first row of {n:file} was read as a volume, not as names of regions",
            "If it holds names, write a letter before each number.",
        )


def _is_excluded(name: str, options: Options) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in options.exclude)


@contextmanager
def _of_file(source: Source) -> Iterator[None]:
    """Add to an error about a file of a folder that the file may hold something else."""
    try:
        yield
    except InputError as error:
        # Other regions are an error of all files, and its remedy names this argument already.
        if "files" not in source.facts or error.problem.code == "series.regions":
            raise
        raise InputError(error.problem.code, cause=error).says(
            "{cause}", "If this file holds no series, choose others by {files=}."
        ) from error


def _loaded(source: Source, row: Row, k: int) -> RawTable:
    """Return the cells of one run. The id of each volume is the id of the row."""
    with _of_file(source):
        table = source.runs[k].load()
    return replace(table, ids=(row.id,) * len(table.frame))


def _choose(
    source: Source, table: RawTable, options: Options, of_subjects: Sequence[str]
) -> Choice:
    """Return the regions: the named columns, or all columns except times, confounds and totals."""
    times = time_columns(table)
    free = [name for name in table.columns if name not in times]
    elsewhere = (*source.excluded, MEAN_FD)
    # A pattern may match only columns of another table. Then it need not match a column here.
    exclude = tuple(
        pattern
        for pattern in options.exclude
        if _matches(pattern, free) or not (pattern in of_subjects or _matches(pattern, elsewhere))
    )
    options = replace(options, exclude=exclude)
    if options.regions not in (None, (ALL,)):
        return choose_regions(table, times, options)
    # As in tables, totals are not regions, because they are sums of other columns.
    never = {*confounds_among(free), *match_columns(free, options.atlas).totals}
    named = tuple(name for name in free if name not in never)
    choice = choose_regions(table, times, replace(options, regions=named))
    return replace(choice, facts={**choice.facts, "regions": ALL})


def _row_table(
    source: Source, rows: Sequence[Row], joined: Sequence[Joined], regions: Sequence[str]
) -> tuple[RawTable, str]:
    """Return a table with one row per subject or session, and the name of its id column.

    With this table, the same code joins participants to series and to tables. The value of a region
    is the spread of its series, or 0 if the region is empty. It is never NaN.
    """
    columns: dict[str, Any] = {source.participant: [row.subject for row in rows]}
    if any(row.session for row in rows):
        columns[source.session] = [row.session for row in rows]
    id_name = source.participant
    # If a subject has several sessions, each session needs its own id.
    if len({row.subject for row in rows}) < len(rows):
        id_name = ROW_ID
        columns[id_name] = [row.id for row in rows]
    motion = [
        mean_fd_of([source.runs[k] for k in row.runs], series.run_volumes)
        for row, series in zip(rows, joined, strict=True)
    ]
    if not np.isnan(motion).all():
        columns[MEAN_FD] = motion
    frames = [pd.DataFrame(columns)]
    origin = Origin(source.name, 1 + np.arange(len(rows)), "series")
    if source.attributes is not None:
        first = [row.runs[0] for row in rows]
        frames.append(source.attributes.frame.iloc[first].reset_index(drop=True))
        marks = source.attributes.origin
        origin = replace(origin, decimal=marks.decimal, unsure=marks.unsure)
    spread = np.nan_to_num(np.array([spread_of(series.series) for series in joined]))
    frames.append(pd.DataFrame(spread, columns=list(regions)))
    frame = pd.concat(frames, axis=1)
    check_unique(list(frame.columns), source.name)
    facts = {**source.facts, "runs": len(source.runs)}
    return RawTable(frame, origin, facts=facts), id_name


def _censored(joined: Sequence[Joined]) -> dict[str, dict[str, int]]:
    """Return how many volumes were left out, and from how many subjects, for the provenance."""
    facts = {
        "volumes": sum(row.censored for row in joined),
        "short": sum(row.short for row in joined),
        "subjects": sum(row.censored > 0 for row in joined),
    }
    return {CENSORED: facts} if facts["volumes"] else {}


def _needs(table: RawTable, options: Options, people: TableSource | None) -> bool:
    """Return whether the participants are needed, because the series lack a named column.

    Raise InputError if they are needed, but there is no table of participants.
    """
    named = [name for name, role in options.named.items() if role != "id"]
    absent = [name for name in named if find_column(table.columns, name) is None]
    if absent and people is None:
        raise InputError("series.participants", where=table.source, name=absent[0]).says(
            "{where} there is no column {name}, and no participants.tsv beside or above it",
            "Give the table of the subjects ({participants=}).",
        )
    return bool(absent)


def _with_motion(
    table: RawTable, options: Options, people: tuple[RawTable, str] | None
) -> tuple[RawTable, Options]:
    """Return the table and the options with motion as a covariate, if it is known."""
    # Motion in the table of participants comes before motion in files beside the series.
    column = None if people is None else _known_motion(*people, options)
    if (column is not None or MEAN_FD in options.exclude) and MEAN_FD in table.columns:
        table = replace(table, frame=table.frame.drop(columns=MEAN_FD))
    column = column or motion_column({*table.columns} & {MEAN_FD})
    if column is None or column in options.named or column in options.exclude:
        return table, options
    return table, replace(options, covariates=(*options.covariates, column))


def _known_motion(people: RawTable, id_name: str, options: Options) -> str | None:
    """Return the column of motion in the table of participants, if it holds numbers."""
    column = motion_column([name for name in people.columns if name != id_name])
    if column is None or column in options.named:
        return column
    try:
        return column if covariate(people, column, options.missing).dtype.kind == "f" else None
    except InputError:  # the user did not name this column, so any cells are allowed
        return None


def _warn_without_series(table: RawTable, people: RawTable, options: Options) -> None:
    """Warn about participants without a series, if they are in a group that is compared."""
    lacking = absent_ids(people.ids, table.frame.iloc[:, 0].tolist())
    # Series of groups that are not compared are not needed.
    if options.groups is not None and options.group in people.columns:
        groups = dict(zip(people.ids, labels(people.frame[options.group]), strict=True))
        lacking = [name for name in lacking if groups[name] in options.groups]
    if lacking:
        Problem("series.absent", where=table.source, subjects=lacking).warn(
            "{where} there is no series of {subjects}", "Check that nobody is missing by mistake."
        )


MAX_TR_DIFFERENCE = 0.01  # relative difference that is allowed between the TRs of two files


class Row(NamedTuple):
    """One subject, or one session of a subject.

    Attributes
    ----------
    id, subject, session : str
        The names of the row, of the subject and of the session ("" if there is none).
    runs : list of int
        The indices of its runs in the source, in the order of the runs.
    """

    id: str
    subject: str
    session: str
    runs: list[int]


class Joined(NamedTuple):
    """The runs of a row, one after the other.

    Attributes
    ----------
    series : ndarray of shape (volumes, m)
        The values of the m regions. A region that is empty in one run is 0 in all volumes.
    lengths : tuple of int
        The number of volumes in each run, or in each piece if censored volumes cut the run.
    run_volumes : tuple of int
        The number of volumes in each run.
    censored, short : int
        The numbers of volumes that were left out because they have no value, and because they are
        in a piece that is too short.
    """

    series: Array
    lengths: tuple[int, ...]
    run_volumes: tuple[int, ...]
    censored: int
    short: int


def rows_of(source: Source, options: Options) -> list[Row]:
    """Return the rows in the order of the runs.

    If a subject has several sessions, the user must say what they are.
    """
    visits: dict[tuple[str, str], list[int]] = {}
    for k, run in enumerate(source.runs):
        # All runs of a subject in one session make one row.
        visits.setdefault(run.name[:2], []).append(k)
    several = len({subject for subject, _ in visits}) < len(visits)
    if several and options.pair is None and options.subject is None and options.block is None:
        raise _several_sessions(source, [*visits])
    rows = []
    for (subject, session), runs in visits.items():
        runs.sort(key=lambda k: run_order(source.runs[k].name.run))
        # If each subject has only one session, the subject is a sufficient name.
        name = f"{subject}_{session}" if several and session else subject
        rows.append(Row(name, subject, session, runs))
    return rows


def _several_sessions(source: Source, visits: Sequence[tuple[str, str]]) -> InputError:
    """Return the error that asks the user what several sessions of a subject are."""
    subjects = [subject for subject, _ in visits]
    repeated = [name for name in dict.fromkeys(subjects) if subjects.count(name) > 1]
    names = {"column": source.participant, "session": source.session}
    return InputError("series.sessions", where=source.name, subjects=repeated, **names).says(
        "{where} there are several sessions of {subjects}",
        "To compare them, give {session} as {group=} and {column} as {pair=}. Else give {column} "
        "as {subject=}, or choose one session by {files=}.",
    )


def join_runs(runs: Sequence[Volumes]) -> Joined:
    """Return the runs one after the other. If there are several, each is centred and scaled.

    Centring and scaling are done region by region. The means and scales of a run depend on the
    scanner on that day. Without this step, their differences between runs would look like
    correlations between regions. Runs without any volume left do not count.
    """
    # If no run has a volume left, the first one gives the number of regions.
    left = [run for run in runs if len(run.values)] or [runs[0]]
    # A region that is empty in one run counts as empty in the whole row.
    empty = np.any([run.empty for run in left], axis=0)
    parts = [run.values if len(left) == 1 else _standardised(run.values, empty) for run in left]
    series = np.concatenate(parts)
    series[:, empty] = 0.0
    return Joined(
        series,
        tuple(length for run in runs for length in run.lengths),
        tuple(len(run.values) for run in runs),
        sum(run.censored for run in runs),
        sum(run.short for run in runs),
    )


def _standardised(values: Array, empty: Mask) -> Array:
    spread = np.where(empty, 1.0, values.std(axis=0))
    return np.asarray((values - values.mean(axis=0)) / spread)


def tr_of(runs: Sequence[Run], asked: float | None) -> float | None:
    """Return the TR that the user gave. If there is none, return the TR of the series.

    It is None if the series have no TR, or different TRs.
    """
    # The warnings name one file for each TR.
    known = {run.tr: run.where for run in runs if run.tr is not None}
    if not known:
        return asked
    low, high = min(known), max(known)
    if asked is not None:
        if max(abs(low - asked), abs(high - asked)) > MAX_TR_DIFFERENCE * asked:
            other = low if abs(low - asked) > abs(high - asked) else high
            Problem("tr.differs", where=known[other], stored=other, given=asked).warn(
                "{where} the stored TR is {stored:g} s, but {tr=} is {given:g} s and is used",
                "Check it.",
            )
        return asked
    if high - low > MAX_TR_DIFFERENCE * low:
        Problem("tr.several", low=low, high=high).warn(
            "the TR is {low:g} s in some series and {high:g} s in others, and so unknown",
            "If one is wrong, give the right one ({tr=}). If not, compare groups with the same TR.",
        )
        return None
    return low


def mean_fd_of(runs: Sequence[Run], lengths: Sequence[int]) -> float:
    """Return the mean framewise displacement over all volumes of a row; NaN if a run has none."""
    known = [np.nan if run.mean_fd is None else run.mean_fd for run in runs]
    # Each run is weighted by its number of volumes. One NaN makes the mean NaN.
    return float(np.average(known, weights=lengths))


def settle_motion(cohort: SeriesCohort, named: Sequence[str], beside: bool) -> SeriesCohort:
    """Decide whether motion that the user did not name is a covariate, and return the cohort.

    It is a covariate if it comes from tables beside the series, and every subject has such a table.

    Parameters
    ----------
    cohort : SeriesCohort
        The cohort. Its covariates include all motion that is known.
    named : sequence of str
        The covariates that the user named.
    beside : bool
        Whether `mean_fd` comes from tables beside the series, and not from the participants.
    """
    unnamed = [name for name in cohort.covariates if name not in named]
    if beside and MEAN_FD in unnamed:
        # As a covariate, it would remove the subjects without a value from the analysis.
        lacking = np.flatnonzero(np.isnan(cohort.covariates[MEAN_FD])).tolist()
        if not lacking:
            unnamed.remove(MEAN_FD)
            cohort = replace(cohort, provenance={**cohort.provenance, TAKEN: MEAN_FD})
        else:
            Problem("motion.absent", subjects=[cohort.ids[k] for k in lacking]).warn(
                "there is no table of motion for {subjects}, so motion is not a covariate",
                "Add it, or name mean_fd of the participants ({covariates='mean_fd'}).",
            )
    return _without(cohort, unnamed) if unnamed else cohort


def _without(cohort: SeriesCohort, unnamed: Sequence[str]) -> SeriesCohort:
    """Return the cohort without some covariates. The provenance says how groups differ in them."""
    numbers = [name for name in unnamed if cohort.covariates[name].dtype.kind == "f"]
    facts = {name: _fact(cohort, name) for name in numbers}
    kept = {name: column for name, column in cohort.covariates.items() if name not in unnamed}
    # The report says whether the groups differ in a covariate that was left out.
    provenance = dict(cohort.provenance) | ({UNNAMED: facts} if facts else {})
    return replace(cohort, covariates=kept, provenance=provenance)


def _fact(cohort: SeriesCohort, name: str) -> dict[str, Any]:
    """Return the mean of a covariate in each group, and the p value of their difference."""
    column, p = cohort.covariates[name], np.nan
    if len(cohort.groups) > 1:
        persons = first_rows(cohort)  # sessions of one person are not independent
        p = covariate_test(persons, persons.covariates[name]).p
    parts = {group: column[cohort.group == group] for group in cohort.groups} or {"mean": column}
    known = {group: values[~np.isnan(values)] for group, values in parts.items()}
    return {
        "p": None if np.isnan(p) else p,
        "means": {group: float(values.mean()) for group, values in known.items() if len(values)},
        "missing": int(np.isnan(column).sum()),
    }
