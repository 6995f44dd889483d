"""The runs of a folder, a numpy archive (.npz) or a long table.

Each file, each array and each part of a long table is one run. The name of a file or array gives
the subject, the session and the run. A long table has columns of subjects and time, and one column
per region. JSON files beside the series give the TR, and tables of confounds the motion.
"""

from __future__ import annotations

import json
import math
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch, fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sgbn.core.problems import InputError, Problem
from sgbn.core.types import Indices
from sgbn.core.validation import is_number
from sgbn.read.cells import (
    ROW_NAMES,
    RawTable,
    check_filled,
    is_number_type,
    labels,
    of_file,
    of_subject,
    parse,
    plain_name,
)
from sgbn.read.files import read_bytes
from sgbn.read.roles import ALL, Options, find_column
from sgbn.read.series_files import (
    ARRAY,
    TEXT,
    Marks,
    ending,
    from_array,
    is_time_name,
    label_of,
    load_series,
)
from sgbn.read.table import MIN_VOLUMES_PER_SUBJECT, find_id

ENDINGS = (*TEXT, ARRAY)
EXTRACTED = "quality_subjects.csv"  # the file that `sgbn extract` writes beside the series
PARTICIPANTS = ("participants.tsv", "participants.csv")
MAX_LEVELS_ABOVE = 3  # folders above the series that are searched for participants
OTHERS = re.compile(  # names of files that do not hold series of regions
    r"(.*[-_])?(participants|motion|outliers|events|channels|scans|sessions|physio|confounds|"
    r"regressors|relmat|qc|coverage|bold|phenotypic|phenotype|labels|readme|changes|failures|"
    r"atlas|dseg|quality_subjects|quality_regions|series_quality)",
    re.IGNORECASE,
)


PARTICIPANT, SESSION_ID = "participant_id", "session_id"  # the names of these columns in BIDS


@dataclass(frozen=True)
class Run:
    """One run of a subject.

    Attributes
    ----------
    name : SeriesName
        The names of the subject, the session and the run.
    where : Problem
        How messages about it begin.
    load : callable
        A function that returns its cells, one row per volume.
    tr, mean_fd : float or None
        Seconds from one volume to the next, and mean framewise displacement in mm. None if unknown.
    """

    name: SeriesName
    where: Problem
    load: Callable[[], RawTable]
    tr: float | None = None
    mean_fd: float | None = None


@dataclass(frozen=True)
class Source:
    """All runs of a folder, an archive or a long table.

    Attributes
    ----------
    name : Problem
        How messages about the source begin.
    runs : tuple of Run
        The runs, in the order of their files, arrays or rows.
    attributes : RawTable or None
        The columns of a long table that are not regions, such as the group. One row per run.
    participant, session : str
        The names of the columns of persons and of sessions.
    excluded : tuple of str
        Columns that the user left out. They are not part of the runs.
    facts : dict
        Facts for the provenance, such as how the source was read.
    """

    name: Problem
    runs: tuple[Run, ...]
    attributes: RawTable | None = None
    participant: str = PARTICIPANT
    session: str = SESSION_ID
    excluded: tuple[str, ...] = ()
    facts: dict[str, object] = field(default_factory=dict)


def find_in_folder(
    folder: Path, files: str | None, marks: Marks, never: Iterable[Path] = ()
) -> Source:
    """Return the runs of a folder and all folders below it.

    Parameters
    ----------
    folder : Path
        The folder to search.
    files : str or None
        A pattern. The name of a file, or its path inside the folder, must match it.
    marks : Marks
        The delimiter and the decimal mark of text files.
    never : iterable of Path
        Files that do not hold series, such as the table of participants.
    """
    name = of_file(folder)
    paths = series_files(folder, files, never)
    if not paths:
        raise _no_file(folder, files)
    # All names are read together, because an ending that all share is not part of an id.
    names = read_names([_label(path, folder) for path in paths])
    known = _extracted(folder)  # these ids may hold characters that a file name cannot
    names = [
        SeriesName(known[path.name][0])
        if path.name in known and not series_name.session
        else series_name
        for path, series_name in zip(paths, names, strict=True)
    ]
    check_kinds(name, names, [str(path.relative_to(folder)) for path in paths])
    headers, motion = headers_in(folder), motion_in(folder)
    runs = [
        Run(
            series_name,
            of_subject(path, folder),
            partial(load_series, path, marks, folder),
            stored_tr(path, headers) or known.get(path.name, ("", None))[1],
            stored_motion(path, motion),
        )
        for path, series_name in zip(paths, names, strict=True)
    ]
    return Source(name, tuple(runs), facts={"source": str(folder), "files": len(paths)})


def series_files(folder: Path, files: str | None, never: Iterable[Path] = ()) -> list[Path]:
    """Return the files that hold series, sorted by name.

    If some names end in "timeseries", these are the files. Otherwise, they are all files that may
    hold series.
    """
    unwanted = {Path(path).resolve() for path in never}
    candidates = [
        path
        for path in sorted(folder.rglob("*"))
        if ending(path) in ENDINGS
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and path.is_file()
        and path.resolve() not in unwanted
    ]
    if files is not None:
        candidates = [
            path
            for path in candidates
            if fnmatch(path.name, files) or fnmatch(path.relative_to(folder).as_posix(), files)
        ]
    likely = [path for path in candidates if not _is_other(label_of(path))]
    # Folders of fMRIPrep and XCP-D hold many other tables too.
    named = [path for path in likely if label_of(path).lower().endswith(SUFFIX)]
    # If a pattern matches only unlikely files, such as confounds, the user wants these.
    return named or likely or (candidates if files is not None else [])


def find_participants(place: Path | None) -> Path | None:
    """Return ``participants.tsv`` in a folder, or in the nearest folder above it, or None."""
    if place is None:
        return None
    folder = place.resolve()
    for above in (folder, *folder.parents[:MAX_LEVELS_ABOVE]):
        for name in PARTICIPANTS:
            if (above / name).is_file():
                return above / name
    return None


def _is_other(label: str) -> bool:
    return bool(OTHERS.fullmatch(label)) or entities(label).get("desc") == "confounds"


def _label(path: Path, folder: Path) -> str:
    """Return the label of a file. If its name has no subject, its folders come first."""
    label = label_of(path)
    above = path.relative_to(folder).parent.parts
    if is_bids(label) or not above:
        return label
    # The label begins at the folder of the subject: sub-01/ses-1/rest.tsv is sub-01_ses-1_rest.
    start = next((k for k, part in enumerate(above) if is_bids(part)), 0)
    return "_".join((*above[start:], label))


def _extracted(folder: Path) -> dict[str, tuple[str, float | None]]:
    """Return the subject and the TR of each file, from the table that `sgbn extract` wrote."""
    path = folder / EXTRACTED
    if not path.is_file():
        return {}
    try:
        table = pd.read_csv(path, dtype={"subject_id": str, "file": str})
        # Another program may have written a file of this name.
        if not {"subject_id", "file", "step"} <= set(table.columns):
            return {}
        numbers = table["step"].astype(float)
    except (ValueError, OSError) as error:  # pandas' errors about a damaged file are ValueErrors
        raise InputError("series.list", file=path, cause=error).says(
            "{file}, the list of the extracted series, is damaged ({cause})",
            "Extract the series again, or remove this file.",
        ) from error
    steps = [step if step > 0 and math.isfinite(step) else None for step in numbers]
    return dict(zip(table["file"], zip(table["subject_id"], steps, strict=True), strict=True))


def _no_file(folder: Path, files: str | None) -> InputError:
    """Return the error about a folder without series."""
    if files is not None:
        return InputError("series.pattern", folder=folder, pattern=files).says(
            "{folder} has no series that match {pattern}", "Correct {files=}."
        )
    n = sum(path.is_file() for path in folder.rglob("*"))
    return InputError("series.none", folder=folder, n=n).says(
        "{folder} holds {n:file}, but no series",
        "Give a folder with one file per subject, such as sub-01_timeseries.tsv. If some files are "
        "series, choose them by {files='*_bold.tsv'}.",
    )


SESSION_NAMES = ("session", "sessionid", "ses")
RUN_NAMES = ("run", "runid")


def is_long(table: RawTable, options: Options) -> bool:
    """Return whether a table has many rows per subject, and a column that counts them."""
    subjects = _subject_column(table, options) if options.id in (None, *table.columns) else ""
    if not subjects:
        return False
    runs = _runs(table, subjects)
    many_rows = len(table.frame) >= MIN_VOLUMES_PER_SUBJECT * len(runs)
    return many_rows and _time(table, runs, options) != ""


def find_in_table(table: RawTable, options: Options) -> Source:
    """Return the runs of a long table. Columns that are not regions are attributes of the runs."""
    subjects = _subject_column(table, options)
    if not subjects:
        raise InputError("series.no-subjects", where=table.source).says(
            "{where} no column was recognized as that of the subjects",
            "Name it ({id=}), or give a folder with one file per subject.",
        )
    runs = _runs(table, subjects)
    time = _time(table, runs, options)
    if not time:
        raise InputError("series.no-time", where=table.source).says(
            "{where} no column counts the volumes of each subject",
            "Add a column 'time' or 'volume', and 'run' and 'session' if a subject has several: "
            "each volume of a run needs its own number.",
        )
    keys = [name for name in (subjects, time, *_keys(table)) if name]
    named = [find_column(table.columns, name) for name in options.named]
    unnamed = [name for name in table.columns if name not in (*keys, *named)]
    excluded = [n for n in unnamed if any(fnmatchcase(n, pattern) for pattern in options.exclude)]
    rest = [name for name in table.columns if name not in (*keys, *excluded, ROW_NAMES)]
    # Columns with a role, and columns of labels, are attributes of a run, not regions.
    about = [name for name in rest if name in named or _is_text(table, name)]
    attributes = _attributes(table, runs, about)
    regions = [name for name in rest if name not in attributes.columns]
    # If the user names the regions, even a constant column may be one.
    constant = _constant(table, runs, regions) if options.regions in (None, (ALL,)) else []
    if constant:
        Problem("series.constant", where=table.source, names=constant).warn(
            "{where} {names:column is/columns are} the same in all volumes of each subject, and so "
            "left out: {names}",
            "To use them, name them ({covariates=}, {site=}).",
        )
    regions = [name for name in regions if name not in constant]
    when = parse(table, time, options.missing).values
    parts = [
        Run(
            name,
            Problem("run", where=table.source, subject=_called(name)).says("{where} {subject}:"),
            # The volumes of a run are sorted by time.
            partial(_part, table, rows[np.argsort(when[rows], kind="stable")], regions),
        )
        for name, rows in runs.items()
    ]
    return Source(
        table.source,
        tuple(parts),
        attributes,
        participant=subjects,
        session=_keys(table)[0] or SESSION_ID,
        excluded=tuple(excluded),
        facts={**table.facts, "time": time, "constant": constant},
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
    check_filled(table, subjects, columns[0])
    rows_of: dict[SeriesName, list[int]] = {}
    for row, (subject, visit, number) in enumerate(zip(*columns, strict=True)):
        rows_of.setdefault(SeriesName(subject, visit, number), []).append(row)
    return {name: np.array(rows, dtype=np.intp) for name, rows in rows_of.items()}


def _keys(table: RawTable) -> tuple[str, str]:
    """Return the columns of sessions and of runs, or "" for a column that does not exist."""
    plain = {plain_name(name): name for name in reversed(table.columns)}
    session = next((plain[name] for name in SESSION_NAMES if name in plain), "")
    return session, next((plain[name] for name in RUN_NAMES if name in plain), "")


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


def _called(name: SeriesName) -> str:
    return "_".join(filter(None, name[:3]))


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
                told = {"value": cells[other], "other": cells[0]}
                where = table.where(rows_of[other], column)
                raise InputError("series.label", where=where, **told).says(
                    "{where} the label is {value}, but {other} in other volumes of the session",
                    "Correct it, add a column 'session', or leave the column out ({exclude=}).",
                )
    # The labels are the same in all rows of a run, so the first row is enough.
    first = np.array([rows[0] for rows in runs.values()], dtype=np.intp)
    return _part(table, first, list(columns))


def _constant(
    table: RawTable, runs: dict[SeriesName, Indices], columns: Sequence[str]
) -> list[str]:
    """Return the columns that have the same number in all volumes of a run, such as an age."""
    left = list(columns)
    for rows in runs.values():  # after the first run, few columns are left
        part = table.frame[left].iloc[rows]
        left = [name for name in left if part[name].nunique(dropna=False) == 1]
    return [name for name in left if table.frame[name].notna().any()]


def _part(table: RawTable, rows: Indices, columns: list[str]) -> RawTable:
    """Return some rows and columns, in the given order."""
    frame = table.frame[columns].iloc[rows].reset_index(drop=True)
    origin = replace(table.origin, numbers=table.origin.numbers[rows])
    return replace(table, frame=frame, origin=origin)


ENDING = ".npz"
# Names of arrays that are not series.
REGIONS = ("regions", "region_names", "labels", "names")  # the names of the columns, as text
TR = ("tr", "TR", "repetition_time")  # one number: the seconds from one volume to the next


def find_in_archive(path: Path) -> Source:
    """Return the runs of an archive. Arrays are named like files, such as ``sub-01_run-1``."""
    name = of_file(path)
    read_bytes(path)  # raises an error if the file is absent, or if it is a folder
    with _opened(path, name) as archive:
        keys = list(archive.files)
    # All other arrays are series, whatever they are called.
    subjects = [key for key in keys if key not in (*REGIONS, *TR)]
    if not subjects:
        raise InputError("series.no-arrays", where=name).says(
            "{where} there is no array of a subject", "Add one array per subject."
        )
    names = read_names(subjects)
    # Two arrays of the same run would be joined silently.
    check_kinds(name, names, subjects)
    regions, tr = _regions(path, name, keys), _tr(path, name, keys)
    runs = [
        Run(series_name, _of_array(path, key), partial(_load, path, key, regions), tr)
        for key, series_name in zip(subjects, names, strict=True)
    ]
    return Source(name, tuple(runs), facts={"source": str(path), "arrays": len(runs)})


def _load(path: Path, key: str, regions: list[str] | None) -> RawTable:
    return from_array(_array(path, of_file(path), key), _of_array(path, key), regions)


def _of_array(path: Path, key: str) -> Problem:
    return Problem("array", file=path, subject_array=key).says("{file}, array of {subject_array}:")


@contextmanager
def _opened(path: Path, name: Problem) -> Iterator[Any]:
    """Open an archive. If it cannot be read, the error names the archive."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            yield archive
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError("series.archive", where=name, cause=error).says(
            "{where} the archive cannot be read ({cause})",
            "Write it with numpy.savez, one plain array of numbers per subject.",
        ) from error


def _array(path: Path, name: Problem, key: str) -> Any:
    """Return one array of an archive.

    The archive is opened again for each array, because all together may not fit into the memory.
    """
    with _opened(path, name) as archive:
        return archive[key]


def _regions(path: Path, name: Problem, keys: list[str]) -> list[str] | None:
    """Return the names of the regions, if the archive has them."""
    key = next((key for key in REGIONS if key in keys), None)
    if key is None:
        return None
    array = _array(path, name, key)
    # The array may be the series of a subject called "labels". Then it holds numbers.
    if array.ndim != 1 or array.dtype.kind not in "US":
        raise InputError("series.names", where=name, name=key).says(
            "{where} array {name} must hold the names of the regions", "Correct or rename it."
        )
    return array.astype(str).tolist()


def _tr(path: Path, name: Problem, keys: list[str]) -> float | None:
    """Return the TR in seconds, if the archive has it."""
    key = next((key for key in TR if key in keys), None)
    if key is None:
        return None
    array = _array(path, name, key)
    if array.size != 1 or array.dtype.kind not in "fiu" or not 0 < float(array.item()) < np.inf:
        raise InputError("series.tr", where=name, name=key).says(
            "{where} array {name} must be one positive number of seconds", "Correct or rename it."
        )
    return float(array.item())


SUBJECT, SESSION = "sub", "ses"
RUNS = ("run", "dir")  # entities of BIDS that tell the runs of a session apart
SUFFIX = "timeseries"  # the last word of the name of a series in BIDS

_ENTITY = re.compile(r"([A-Za-z]+)-([A-Za-z0-9+.]+)")
_PLAIN_RUN = re.compile(r"(?:^|[-_. ])(run[-_]?\d{1,3})(?=$|[-_. ])", re.IGNORECASE)
_PLAIN_SESSION = re.compile(r"(?:^|[-_. ])(ses(?:sion)?[-_]?[^\W_]+)(?=$|[-_. ])", re.IGNORECASE)
_SUFFIX = re.compile(rf"[-_. ]{SUFFIX}$", re.IGNORECASE)
_SEPARATORS = "-_. "


class SeriesName(NamedTuple):
    """The parts of the name of a series.

    Attributes
    ----------
    subject, session, run : str
        The parts as written, such as ``sub-01``, ``ses-1`` and ``run-2``. A part that the name does
        not have is "".
    kind : str
        All other entities of BIDS, such as ``task-rest_seg-Gordon``.
    """

    subject: str
    session: str = ""
    run: str = ""
    kind: str = ""


def read_names(labels: Sequence[str]) -> list[SeriesName]:
    """Return the subject, session, run and kind of each label.

    A label is the name of a file without folder and ending. Labels that begin with ``sub-`` are
    read as names of BIDS. Other labels are searched for the words for session and run. If all these
    labels share an ending after a separator, such as ``_rois_cc200``, it is not part of the
    subject's name.
    """
    plain = [k for k, label in enumerate(labels) if not is_bids(label)]
    by_place = dict(zip(plain, _plain([labels[k] for k in plain]), strict=True))
    return [by_place[k] if k in by_place else _bids(label) for k, label in enumerate(labels)]


def is_bids(label: str) -> bool:
    """Return whether a label begins with the subject, as in BIDS."""
    return label.startswith(f"{SUBJECT}-")


def entities(label: str) -> dict[str, str]:
    """Return the entities of a BIDS name, such as ``{"sub": "01", "task": "rest"}``."""
    return {pair[1]: pair[2] for part in label.split("_") if (pair := _ENTITY.fullmatch(part))}


def run_order(run: str) -> tuple[object, ...]:
    """Return a key that sorts run-2 before run-10."""
    parts = re.split(r"(\d+)", run)
    # Numbers come before words. Both have three parts, so that they can be compared.
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts if part)


def _bids(label: str) -> SeriesName:
    parts = {key: f"{key}-{value}" for key, value in entities(label).items()}
    subject, session = parts.pop(SUBJECT, label), parts.pop(SESSION, "")
    # Runs may differ in their number, in their phase encoding direction (dir), or in both.
    run = "_".join(parts.pop(key) for key in RUNS if key in parts)
    return SeriesName(subject, session, run, "_".join(parts.values()))


def _plain(labels: Sequence[str]) -> list[SeriesName]:
    cut = [_without_session_and_run(_SUFFIX.sub("", label)) for label in labels]
    # A shared ending such as "_rois_cc200" says nothing about the subject.
    tail = _common_tail([stem for stem, _, _ in cut])
    return [
        SeriesName(stem.removesuffix(tail), session.lower(), run.lower())
        for stem, session, run in cut
    ]


def _without_session_and_run(label: str) -> tuple[str, str, str]:
    """Return a label without the words for session and run, and these two words."""
    words = []
    for pattern in (_PLAIN_SESSION, _PLAIN_RUN):
        match = pattern.search(label)
        rest = label[: match.start()] + label[match.end() :] if match else label
        if match and rest.strip(_SEPARATORS):  # if "run1" is the whole label, it is the subject
            label = rest
            words.append(match[1])
        else:
            words.append("")
    return label.strip(_SEPARATORS), words[0], words[1]


def _common_tail(stems: Sequence[str]) -> str:
    """Return the longest ending that all labels share and that begins with a separator, or ""."""
    different = sorted(set(stems))
    if len(different) < 2:
        return ""
    first = different[0]
    for start, letter in enumerate(first):  # the first match is the longest ending
        if start and letter in _SEPARATORS and all(s.endswith(first[start:]) for s in different):
            return first[start:]
    return ""


def check_kinds(source: Problem, names: Sequence[SeriesName], files: Sequence[str]) -> None:
    """Raise InputError for several series of one run. Warn if kinds differ between subjects."""
    kinds: dict[tuple[str, str], set[str]] = {}
    first: dict[tuple[str, str, str], str] = {}
    for name, file in zip(names, files, strict=True):
        of_visit = kinds.setdefault((name.subject, name.session), set())
        # Without this check, runs of two tasks or two atlases would be joined.
        of_visit.add(name.kind)
        if len(of_visit) > 1:
            raise _several_kinds(source, names, name)
        other = first.setdefault((name.subject, name.session, name.run), file)
        if other != file:
            raise InputError("series.twice", where=source, subject=name.subject).says(
                "{where} two series of {subject} have the same session and run by their names",
                "Keep one, choose by {files='*.tsv'}, or add _run-1 and _run-2 to the names.",
            )
    counts = Counter(name.kind or "no kind" for name in names)
    if len(counts) > 1:
        Problem("series.kinds", where=source, names=list(counts)).warn(
            "{where} the files of the subjects differ in kind, and are read together: {names}",
            "If they cannot be compared, choose one kind ({files=}).",
        )


def _several_kinds(source: Problem, names: Sequence[SeriesName], name: SeriesName) -> InputError:
    """Return the error for a subject with several kinds of series; it names what differs."""
    of_visit = [other.kind for other in names if (other.subject, other.session) == name[:2]]
    words = [kind.split("_") for kind in dict.fromkeys(of_visit)]
    shared = set(words[0]).intersection(*words[1:])
    differing = list(dict.fromkeys(word for kind in words for word in kind if word not in shared))
    differing = [word for word in differing if word]
    return InputError("series.mixed", where=source, subject=name.subject, names=differing).says(
        "{where} {subject} has series that differ in {names}",
        "Choose one kind by a pattern, such as {files='*task-rest*'}.",
    )


DISPLACEMENT = "framewise_displacement"  # column of fMRIPrep and XCP-D, in mm
MAX_TR_SECONDS = 60  # a larger number is probably in milliseconds, and is not used
SCAN = ("sub", "ses", "task", "acq", "dir", "run")  # the BIDS entities that identify a scan


def headers_in(folder: Path) -> dict[tuple[str, ...], list[Path]]:
    """Return the JSON files of each scan in a folder and below it."""
    headers: dict[tuple[str, ...], list[Path]] = defaultdict(list)
    for path in sorted(folder.rglob("*_bold.json")):
        headers[_scan(label_of(path))].append(path)
    return headers


def motion_in(folder: Path) -> dict[tuple[str, ...], Path]:
    """Return the table of motion of each scan in a folder and below it."""
    tables = ("desc-confounds_regressors", "desc-confounds_timeseries", "motion")
    paths = [path for name in tables for path in folder.rglob(f"*_{name}.tsv")]
    return {_scan(label_of(path)): path for path in sorted(paths)}


def stored_tr(path: Path, headers: Mapping[tuple[str, ...], list[Path]]) -> float | None:
    """Return the TR in seconds from the JSON file of a series or of its scan, or None."""
    scan = _scan(label_of(path))
    # In BIDS, a file task-rest_bold.json in the top folder holds for all subjects.
    task = tuple(value if key == "task" else "" for key, value in zip(SCAN, scan, strict=True))
    beside = path.parent / f"{label_of(path)}.json"
    found = map(_tr_of_header, (beside, *headers.get(scan, ()), *headers.get(task, ())))
    return next((seconds for seconds in found if seconds is not None), None)


def stored_motion(path: Path, motion: Mapping[tuple[str, ...], Path]) -> float | None:
    """Return the mean framewise displacement of a scan in mm, or None if it is not known."""
    table = motion.get(_scan(label_of(path)))
    if table is None:
        return None
    try:
        # The first volume has no displacement (n/a).
        cells = pd.read_csv(table, sep="\t", na_values="n/a")[DISPLACEMENT]
        mean = float(pd.to_numeric(cells, errors="coerce").mean())
    except (OSError, ValueError, KeyError):  # the table holds something else
        return None
    return mean if math.isfinite(mean) else None


def _scan(label: str) -> tuple[str, ...]:
    parts = entities(label)
    return tuple(parts.get(key, "") for key in SCAN)


def _tr_of_header(path: Path) -> float | None:
    """Return the TR in seconds from a JSON file, or None if it has none."""
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(header, dict):
        return None
    # Some tools write the sampling frequency instead of the TR.
    tr, frequency = header.get("RepetitionTime"), header.get("SamplingFrequency")
    if not is_number(tr) and is_number(frequency) and frequency > 0:
        tr = 1 / frequency
    return float(tr) if is_number(tr) and 0 < tr <= MAX_TR_SECONDS else None
