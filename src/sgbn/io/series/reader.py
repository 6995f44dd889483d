"""Region time series from folders, archives and long tables into a cohort."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from fnmatch import fnmatchcase
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sgbn.atlases import AtlasLike, match_columns
from sgbn.cohort import LABELS
from sgbn.exceptions import InputError, counted, listed, warn
from sgbn.io.series.archives import ENDING, find_in_archive
from sgbn.io.series.cells import check_same_columns, read_volumes
from sgbn.io.series.confounds import confounds_among, warn_confounds
from sgbn.io.series.files import DOUBT, DOUBTS, Marks, time_columns
from sgbn.io.series.folders import find_in_folder, find_participants
from sgbn.io.series.long_tables import find_in_table
from sgbn.io.series.motion import settle_motion
from sgbn.io.series.rows import Joined, Row, join_runs, mean_fd_of, rows_of, tr_of
from sgbn.io.series.runs import Source
from sgbn.io.series.sidecars import MAX_TR_SECONDS
from sgbn.io.tables.assembly import assemble, load_cells, load_participants
from sgbn.io.tables.cells import Markers, covariate
from sgbn.io.tables.columns import ALL, Choice, choose_regions, find_column
from sgbn.io.tables.extracted import with_extracted
from sgbn.io.tables.files import Source as TableSource
from sgbn.io.tables.joins import absent_ids
from sgbn.io.tables.options import Options
from sgbn.io.tables.raw import Origin, RawTable, check_unique, labels
from sgbn.parameters import NONE, POSITIVE
from sgbn.quality.censoring import CENSORED
from sgbn.quality.motion import MEAN_FD, motion_column
from sgbn.series_cohort import FEWEST_VOLUMES, SeriesCohort, spread_of

ROW_ID = "series_id"  # column of the names of rows, where subjects have several


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
    """Read region time series into a cohort: one row per subject, never per volume.

    Parameters
    ----------
    source : path or DataFrame
        A folder with one file per subject, or per subject and run (TSV, CSV, TXT, NPY; one row per
        volume, one column per region, with or without names): outputs of fMRIPrep, XCP-D, nilearn,
        FSL, C-PAC or ``sgbn extract``. Or an ``.npz`` with one array per subject. Or a long table
        with columns of subject, time and regions.
    participants : path or DataFrame, optional
        Table of the subjects with group, covariates or site, joined by subject with or without
        ``sub-``. If not given, ``participants.tsv`` in the folder or above it.
    group, id, covariates, smooth, site, pair, subject, block : optional
        Columns of that table, or of a long one, as in `read_table`. Sessions (``ses-``) are rows of
        their own: ``subject="participant_id"`` where all of a person are in one group,
        ``pair="participant_id"`` with ``group="session_id"`` to compare them.
    tr : float, optional
        Seconds from volume to volume; if not given, as the JSON files beside the series say.
    files : str, optional
        Pattern of the names of the files, such as ``"*seg-Gordon*"``.
    regions, exclude : optional
        Names or patterns, as in `read_table`; all columns if not given.
    groups, atlas, participants_missing, sheet, delimiter, decimal, missing : optional
        As in `read_table`.

    Returns
    -------
    SeriesCohort
        Runs of a subject are joined, each centred and scaled region by region. Volumes that are
        missing (n/a) in all regions are censored: they are left out, and cut a run into pieces. A
        piece is a run in `run_lengths`, so that its mean is taken out and no lag crosses it; one of
        fewer than 10 volumes is left out. Regions that are missing in all volumes are empty. Mean
        framewise displacement from tables of motion beside the series is the covariate ``mean_fd``,
        if all subjects have it, unless `participants` has it or it is excluded.

    Raises
    ------
    InputError
        Names the file, subject and region, and what to do.
    """
    tr = (NONE | POSITIVE).check("tr", tr)
    if tr is not None and tr > MAX_TR_SECONDS:
        raise InputError(f"tr is {tr:g}, a time in seconds. Give {tr / 1000:g} if it is in ms.")
    marks = Marks(delimiter, decimal)
    beside = find_participants(_place(source)) if participants is None else participants
    options = Options.of(**{**locals(), "participants": beside})
    runs = _find(source, options, files, marks, sheet, beside)
    rows = rows_of(runs, options)
    # The first run shows the columns, by which the atlas is found and regions are chosen.
    first = _loaded(runs, rows[0], rows[0].runs[0])
    options = with_extracted(options, source, first.columns)
    of_subjects = _excluded_of_subjects(options, beside, runs)
    joined, choice = _load(runs, rows, first, options, of_subjects)
    table, id_name = _row_table(runs, rows, joined, choice.regions)
    # A participants.tsv that nobody named is read only if a column of it is asked for.
    people = beside if participants is not None or _needs(table, options, beside) else None
    loaded_people = None if people is None else load_participants(options, people, runs.participant)
    table, asked = _with_motion(table, options, loaded_people)
    asked = replace(asked, regions=choice.regions, exclude=of_subjects)
    cohort, numbers = assemble(table, asked, people, id_name, runs.participant)
    if loaded_people is not None:
        _name_lacking(table, loaded_people[0], options)
    # Rows without a group that is wanted are gone by now.
    kept = [joined[number - 1] for number in numbers]
    about = {name: getattr(cohort, name) for name in LABELS}
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
        **about,
    )
    return settle_motion(made, options.covariates, beside=MEAN_FD in table.columns)


def _place(source: TableSource) -> Path | None:
    """Return the source if it is a folder, else the folder that holds it; None for a DataFrame."""
    if isinstance(source, pd.DataFrame):
        return None
    if not isinstance(source, str | PathLike):
        raise InputError(
            f"series are a path or a DataFrame, not {type(source).__name__}. Give one of these; of "
            "arrays, call SeriesCohort.of."
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
    """Return the runs of whatever the source is."""
    path = None if isinstance(source, pd.DataFrame) else Path(source)
    if path is not None and path.is_dir():
        # The table of the participants may lie among the series.
        never = [] if people is None or isinstance(people, pd.DataFrame) else [Path(people)]
        return find_in_folder(path, files, marks, never)
    if path is not None and path.suffix.lower() == ENDING:
        return find_in_archive(path, files)
    if files is not None:
        raise InputError("files= (--files) chooses among the files of a folder. Leave it out.")
    return find_in_table(load_cells(source, options, sheet=sheet, **asdict(marks)), options)


def _excluded_of_subjects(
    options: Options, participants: TableSource | None, source: Source
) -> tuple[str, ...]:
    """Return patterns of `exclude` that name columns of the participants, such as a site."""
    if participants is None or not options.exclude:
        return ()
    columns = load_participants(options, participants, source.participant)[0].columns
    return tuple(
        pattern
        for pattern in options.exclude
        if any(fnmatchcase(name, pattern) for name in columns)
    )


def _load(
    source: Source,
    rows: Sequence[Row],
    first: RawTable,
    options: Options,
    of_subjects: Sequence[str],
) -> tuple[list[Joined], Choice]:
    """Return the series of all rows, with the regions that the first run shows."""
    all_columns = options.regions in (None, (ALL,))
    choice = _choose(source, first, options, of_subjects)
    confounds: dict[str, None] = {}
    doubts: dict[str, list[str]] = {}
    joined = []
    for row in rows:
        volumes = []
        for k in row.runs:
            try:
                # Each run is read when it is needed: the cells of all may not fit the memory.
                table = first if k == rows[0].runs[0] else _loaded(source, row, k)
                # Files without a doubt are under "".
                doubts.setdefault(table.facts.get(DOUBT, ""), []).append(table.name)
                if all_columns:
                    # A file may have confounds that the first one lacks.
                    confounds |= dict.fromkeys(confounds_among(table.columns))
                    check_same_columns(first, table, (*choice.facts["excluded"], *confounds))
                volumes.append(read_volumes(table, choice.regions, options.missing))
            except InputError as error:
                raise InputError(f"{error} {source.remedy}".strip()) from error
        joined.append(join_runs(volumes))
        _check_left(joined[-1], row, source)
    unsaid = [name for name in confounds if not _is_excluded(name, options)]
    warn_confounds(source.name, unsaid)
    _warn_doubts(doubts)
    ignored = [name for name in choice.facts["ignored"] if name not in confounds]
    facts = {**choice.facts, "confounds": unsaid, "ignored": ignored}
    return joined, replace(choice, facts=facts)


def _check_left(joined: Joined, row: Row, source: Source) -> None:
    """Raise InputError for a row of which censoring left nothing."""
    if not len(joined.series):
        files = source.runs[row.runs[0]].where
        raise InputError(
            f"{files} (subject {row.id!r}): {counted(joined.censored, 'volume is', 'volumes are')} "
            f"censored, and the other {joined.short} are never {FEWEST_VOLUMES} in a row. Leave "
            "this subject out."
        )


def _warn_doubts(doubts: Mapping[str, Sequence[str]]) -> None:
    """Warn once per kind of doubt about first rows, not once per file."""
    for doubt, files in doubts.items():
        if doubt:
            more = f" (and of {counted(len(files) - 1, 'other file')})" if len(files) > 1 else ""
            warn(f"the first row of {files[0]}{more} holds whole numbers. It {DOUBTS[doubt]}.")


def _is_excluded(name: str, options: Options) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in options.exclude)


def _loaded(source: Source, row: Row, k: int) -> RawTable:
    """Return the cells of one run, with the subject as the id of each volume."""
    table = source.runs[k].load()
    return replace(table, ids=(row.id,) * len(table.frame))


def _choose(
    source: Source, table: RawTable, options: Options, of_subjects: Sequence[str]
) -> Choice:
    """Choose the regions: all columns but times, confounds and totals, unless they are named."""
    times = time_columns(table)
    free = [name for name in table.columns if name not in times]
    elsewhere = (*source.excluded, MEAN_FD)
    # Patterns of columns that are elsewhere must not be missed here.
    exclude = tuple(
        pattern
        for pattern in options.exclude
        if any(fnmatchcase(name, pattern) for name in free)
        or not (pattern in of_subjects or any(fnmatchcase(name, pattern) for name in elsewhere))
    )
    options = replace(options, exclude=exclude)
    if options.regions not in (None, (ALL,)):
        return choose_regions(table, times, options)
    # Totals are sums of other columns, as in tables.
    never = {*confounds_among(free), *match_columns(free, options.atlas).totals}
    named = tuple(name for name in free if name not in never)
    choice = choose_regions(table, times, replace(options, regions=named))
    return replace(choice, facts={**choice.facts, "regions": ALL})


def _row_table(
    source: Source, rows: Sequence[Row], joined: Sequence[Joined], regions: Sequence[str]
) -> tuple[RawTable, str]:
    """Return a table with one row per subject or session, and the name of its column of ids.

    So the same code joins participants to series and to tables. A region has the spread of its
    series as a value, which is never NaN.
    """
    columns: dict[str, Any] = {source.participant: [row.subject for row in rows]}
    if any(row.session for row in rows):
        columns[source.session] = [row.session for row in rows]
    id_name = source.participant
    # Sessions need names of their own.
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
    if source.attributes is not None:
        first = [row.runs[0] for row in rows]
        frames.append(source.attributes.frame.iloc[first].reset_index(drop=True))
    spread = np.nan_to_num(np.array([spread_of(series.series) for series in joined]))
    frames.append(pd.DataFrame(spread, columns=list(regions)))
    frame = pd.concat(frames, axis=1)
    check_unique(list(frame.columns), source.name)
    facts = {**source.facts, "source": source.name.strip("'"), "runs": len(source.runs)}
    origin = Origin(source.name, 1 + np.arange(len(rows)), "series {}")
    return RawTable(frame, origin, facts=facts), id_name


def _censored(joined: Sequence[Joined]) -> dict[str, dict[str, int]]:
    """Return for the provenance how many volumes were left out, and of how many subjects."""
    facts = {
        "volumes": sum(row.censored for row in joined),
        "short": sum(row.short for row in joined),
        "subjects": sum(row.censored > 0 for row in joined),
    }
    return {CENSORED: facts} if facts["volumes"] else {}


def _needs(table: RawTable, options: Options, people: TableSource | None) -> bool:
    """Whether a column is asked for that the series lack; an error without participants."""
    named = [name for name, role in options.named.items() if role != "id"]
    absent = [name for name in named if find_column(table.columns, name) is None]
    if absent and people is None:
        raise InputError(
            f"{table.name} has no column {absent[0]!r} to be the {options.named[absent[0]]}, and "
            "there is no participants.tsv in its folder or above. Name the table of the subjects "
            "(participants=, --participants)."
        )
    return bool(absent)


def _with_motion(
    table: RawTable, options: Options, people: tuple[RawTable, str] | None
) -> tuple[RawTable, Options]:
    """Add motion to the covariates: that of the participants, else of files beside the series."""
    # What the participants say counts for more than files beside the series.
    column = None if people is None else _known_motion(*people, options)
    if (column is not None or MEAN_FD in options.exclude) and MEAN_FD in table.columns:
        table = replace(table, frame=table.frame.drop(columns=MEAN_FD))
    column = column or motion_column({*table.columns} & {MEAN_FD})
    if column is None or column in options.named or column in options.exclude:
        return table, options
    return table, replace(options, covariates=(*options.covariates, column))


def _known_motion(people: RawTable, id_name: str, options: Options) -> str | None:
    """Return the column of motion among those of the participants, if it holds numbers."""
    column = motion_column([name for name in people.columns if name != id_name])
    if column is None or column in options.named:
        return column
    try:
        return column if covariate(people, column, options.missing).dtype.kind == "f" else None
    except InputError:  # nobody asked for this column, so that it may be anything
        return None


def _name_lacking(table: RawTable, people: RawTable, options: Options) -> None:
    """Warn about participants without a series, if they are of the groups that are compared."""
    subjects = table.frame.iloc[:, 0].tolist()
    lacking = absent_ids(people.ids, subjects)
    # Nobody misses the series of a group that is not compared.
    if options.groups is not None and options.group in people.columns:
        groups = dict(zip(people.ids, labels(people.frame[options.group]), strict=True))
        lacking = [name for name in lacking if groups[name] in options.groups]
    if lacking:
        warn(
            f"{counted(len(lacking), 'subject')} of {people.name} "
            f"{'has' if len(lacking) == 1 else 'have'} no series in {table.name}: "
            f"{listed(lacking)}. Check that nobody is missing by mistake."
        )
