"""The folders of subjects, and the selection of the subjects who have the same regions.

A subjects folder holds folders of subjects, sessions, templates, longitudinal bases and others.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sgbn.core.problems import InputError, Problem
from sgbn.core.validation import NONE, OneOf

STATS = "stats"
PARTS = frozenset({STATS, "mri", "surf", "scripts", "label", "touch"})  # inside a subject's folder
ROI_FILE = re.compile(r"catROIs?_.+\.xml", re.IGNORECASE)
MAX_CAT12_LEVELS = 5  # levels of folders that are searched: sub-01/ses-01/anat/label and one more
# Folders that may hold thousands of files, but no files of regions. The search skips them.
NO_ROI_FILES = frozenset({"mri", "surf", "stats", "scripts", "err", "func", "figures", "log"})
CROSS, LONG = "cross", "long"
# The name of the file that lists the visits of a longitudinal base. FastSurfer adds an ending.
BASE = "base-tps"

_TEMPLATE = re.compile(r"fsaverage\w*|([lr]h\.)?EC_average|cvs_avg\w+|V1_average", re.IGNORECASE)
_LONG = re.compile(r"(?P<visit>.+)\.long\.(?P<base>.+)")
_VISIT = re.compile(r"(?P<person>sub-[A-Za-z0-9]+)_ses-.+")


@dataclass(frozen=True)
class SubjectFolder:
    """A folder of one subject or visit.

    Attributes
    ----------
    id : str
        The name of the folder. It is ``sub-01_ses-02`` for nested folders, and the name of the
        visit for a longitudinal run.
    path : Path
        The folder.
    person : str
        The person, if the name or a longitudinal base says that this is one of several visits.
        Otherwise the id.
    long : bool
        Whether FreeSurfer's longitudinal stream made the folder.
    """

    id: str
    path: Path
    person: str
    long: bool = False


@dataclass(frozen=True)
class Folders:
    """The content of a subjects folder.

    Attributes
    ----------
    subjects : tuple of SubjectFolder
        The subjects that are read, sorted by id.
    templates, bases, others : tuple of str
        The names of template subjects, of longitudinal bases, and of folders that are not subjects.
    other_stream : tuple of str
        The ids of the folders of the other stream (cross-sectional or longitudinal). They are not
        read.
    """

    subjects: tuple[SubjectFolder, ...]
    templates: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    other_stream: tuple[str, ...] = ()


def kind_of(folder: Path) -> str | None:
    """Return the tool that wrote a folder: ``"freesurfer"`` (or FastSurfer), ``"cat12"``, or None.

    One subject with a stats folder is enough for FreeSurfer.
    """
    if any(_is_subject(path) and (path / STATS).is_dir() for path in _with_sessions(folder)):
        return "freesurfer"
    return "cat12" if roi_files(folder, first=True) else None


def roi_files(folder: Path, first: bool = False) -> list[Path]:
    """Return CAT12's files of regions in a folder and below it, sorted.

    If `first` is True, the search stops at the first folder with such files.
    """
    roi_paths: list[Path] = []
    # The depth of a folder is its number of separators minus this number.
    top = str(folder).rstrip(os.sep).count(os.sep)
    for path, folders, files in os.walk(folder):
        deep = path.count(os.sep) - top >= MAX_CAT12_LEVELS
        hidden = {name for name in folders if name.startswith(".")}
        # os.walk visits only the folders that stay in its list.
        folders[:] = [] if deep else sorted({*folders} - NO_ROI_FILES - hidden)
        roi_paths += [Path(path, name) for name in sorted(files) if ROI_FILE.fullmatch(name)]
        if first and roi_paths:
            break
    return sorted(roi_paths)


def find_folders(folder: Path, stream: str | None = None) -> Folders:
    """Return the folders in a subjects folder, sorted into kinds.

    Parameters
    ----------
    folder : Path
        The subjects folder.
    stream : {"cross", "long"}, optional
        The runs to read, if FreeSurfer's longitudinal stream was used. If not given, longitudinal
        runs are read if all visits have one, and cross-sectional runs if no visit has one.
    """
    (NONE | OneOf(CROSS, LONG)).check("stream", stream)
    if (folder / STATS).is_dir():
        raise InputError("folder.one-subject", subject_folder=folder).says(
            "the folder is that of {subject_folder}", "Give the folder above it, with all subjects."
        )
    subjects, templates, no_subjects = [], [], []
    bases: dict[str, set[str]] = {}
    for path in _folders(folder):
        inner = [
            replace(_subject(f"{path.name}_{below.name}", below), person=path.name)
            for below in _folders(path)
            if _is_session(below)
        ]
        if _TEMPLATE.fullmatch(path.name):
            templates.append(path.name)
        # A base is the mean of several visits. It has tables, but it is not a subject.
        elif lists := [name for name in names_in(path) if name.startswith(BASE)]:
            bases[path.name] = {visit for name in lists for visit in _lines(path / name)}
        # An empty folder sub-02 is a subject whose processing failed. The failures must name it.
        elif _is_subject(path) or (path.name.startswith("sub-") and not inner):
            subjects.append(_subject(path.name, path))
        elif inner:
            subjects += inner
        else:
            no_subjects.append(path.name)
    sorted_folders = Folders(tuple(subjects), tuple(templates), tuple(bases), tuple(no_subjects))
    return _of_stream(_with_persons(sorted_folders, bases), stream)


def _with_persons(folders: Folders, visits: Mapping[str, set[str]]) -> Folders:
    """Return the folders, with the person of each cross-sectional run.

    The name of a run may not say who the person is. If a longitudinal base lists the run as a
    visit, the base is the person. `visits` holds the visits of each base. The name of a
    longitudinal run, ``visit.long.base``, also contains both.
    """
    bases: dict[str, set[str]] = defaultdict(set)
    for base, names in visits.items():
        for visit in names:
            bases[visit].add(base)
    for run in folders.subjects:
        if run.long:
            bases[run.id].add(run.person)
    subjects = []
    for subject in folders.subjects:
        if not subject.long and subject.person == subject.id:
            persons = sorted(bases[subject.id])
            if len(persons) > 1:
                raise InputError("visit.bases", subject=subject.id, persons=persons).says(
                    "{subject} is a visit in the longitudinal bases of {persons}",
                    "Move all but one base, with their runs, to another folder.",
                )
            subject = replace(subject, person=persons[0] if persons else subject.id)
        subjects.append(subject)
    return replace(folders, subjects=tuple(subjects))


def _of_stream(folders: Folders, stream: str | None) -> Folders:
    """Return the folders of one stream. The two streams give different values and are not mixed."""
    runs = [subject for subject in folders.subjects if subject.long]
    bases = {*folders.bases, *(subject.person for subject in runs)}
    cross = [run for run in folders.subjects if not run.long and run.path.name not in bases]
    # If longitudinal runs were read, these visits would be lost.
    only_cross = {subject.id for subject in cross} - {subject.id for subject in runs}
    if stream is None and runs and only_cross:
        raise InputError("stream.mixed", n=len(runs), subjects=sorted(only_cross)).says(
            "FreeSurfer's longitudinal stream made {n:folder}, but none of {subjects}",
            "The two streams give different values: give {stream='long'} or {stream='cross'}.",
        )
    # Longitudinal runs are preferred if all visits have one.
    long = stream == LONG or (stream is None and bool(runs))
    taken, rest = (runs, cross) if long else (cross, runs)
    if not taken and rest:
        raise InputError("stream.absent", stream=stream).says(
            "all folders come from another stream than {stream}", "Leave out {stream=}."
        )
    for name, count in Counter(subject.id for subject in taken).items():
        if count > 1:
            raise several_of(name, count)
    return replace(
        folders,
        subjects=tuple(sorted(taken, key=lambda subject: subject.id)),
        bases=tuple(sorted(name for name in bases if name)),
        other_stream=tuple(sorted(subject.id for subject in rest)),
    )


def several_of(subject: str, n: int) -> InputError:
    """Return the error about a subject with several folders or files."""
    return InputError("subject.twice", subject=subject, n=n).says(
        "{n:folder or file belongs/folders or files belong} to {subject}", "Keep one of them."
    )


def _subject(name: str, path: Path) -> SubjectFolder:
    """Return the subject or visit that a folder is named after."""
    run = _LONG.fullmatch(name)
    if run:
        return SubjectFolder(run["visit"], path, run["base"], long=True)
    return SubjectFolder(name, path, person_of(name))


def person_of(name: str) -> str:
    """Return the id of a person, which is the id of the subject without the visit."""
    visit = _VISIT.fullmatch(name)
    return visit["person"] if visit else name


def _is_session(path: Path) -> bool:
    return path.name.startswith("ses-") and _is_subject(path)


def _is_subject(path: Path) -> bool:
    """Return whether a folder has the parts of a subject of FreeSurfer or FastSurfer."""
    parts = names_in(path)
    # Folders of CAT12 also have mri, surf and label, but only they have report.
    return bool(parts & PARTS) and "report" not in parts


def names_in(path: Path) -> set[str]:
    """Return the names in a folder, or no names if it cannot be listed."""
    try:
        return set(os.listdir(path))
    except OSError:
        return set()


def _lines(path: Path) -> list[str]:
    """Return the lines of a text file that are not blank, or no lines if it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return [line.strip() for line in text.splitlines() if line.strip()]


def _with_sessions(folder: Path) -> Iterator[Path]:
    for path in _folders(folder):
        yield path
        yield from (below for below in _folders(path) if _is_session(below))


def _folders(folder: Path) -> list[Path]:
    """Return the folders in a folder, sorted by name, without hidden ones."""
    try:
        with os.scandir(folder) as entries:
            names = [e.name for e in entries if not e.name.startswith(".") and e.is_dir()]
    except OSError:
        return []
    return [folder / name for name in sorted(names)]


@dataclass(frozen=True)
class SubjectRow:
    """The values of one subject or visit.

    Attributes
    ----------
    id : str
        The id of the subject or visit.
    person : str
        The person, if there are several visits. Otherwise the id.
    source : str
        The path of the folder or file.
    regions, totals : mapping
        The value of each column.
    quality : mapping
        The value of each column of the quality sheet. Its ``software`` is the tool and its version,
        or "" if no file names them.
    """

    id: str
    person: str
    source: str
    regions: Mapping[str, float]
    totals: Mapping[str, float]
    quality: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Failure:
    """A subject who is left out, with the folder or file and the reason."""

    id: str
    source: str
    reason: Problem


@dataclass(frozen=True)
class WholeRows:
    """Subjects with the same regions, failures, and regions without a value in most subjects."""

    rows: tuple[SubjectRow, ...]
    regions: tuple[str, ...]
    failures: tuple[Failure, ...]
    unmeasured: tuple[str, ...] = ()


def whole_rows(rows: Sequence[SubjectRow], positive: frozenset[str] = frozenset()) -> WholeRows:
    """Return the subjects who have the same regions as most others, with a value in each.

    Parameters
    ----------
    rows : sequence of SubjectRow
        All subjects that could be read.
    positive : frozenset of str
        The regions in which 0 means that nothing was measured, as for thickness.

    Notes
    -----
    A region is left out if it is 0 or not a number in more than half of the subjects. Examples are
    the medial wall, a ventricle in a table of grey matter, and the corpus callosum of FastSurfer
    without surfaces. If at most half of the subjects lack a value in a region, these subjects are
    left out. A volume of 0 counts as a value here, unless the region is in `positive`.
    """
    if not rows:
        return WholeRows((), (), ())
    regions = _usual_regions(rows)
    wanted = set(regions)
    same = [row for row in rows if row.regions.keys() == wanted]
    failures = [_other_regions(row, regions) for row in rows if row.regions.keys() != wanted]
    # Here 0 counts as blank in every region. If most volumes are 0, they were not measured.
    blank = Counter(name for row in same for name in _without_value(row, wanted))
    unmeasured = tuple(name for name in regions if 2 * blank[name] > len(same))
    kept = tuple(name for name in regions if name not in unmeasured)
    whole = []
    for row in same:
        empty = [name for name in _without_value(row, positive) if name not in unmeasured]
        if empty:
            reason = Problem("subject.no-values", names=empty).says(
                "{names:region is/regions are} 0 or not a number: {names}"
            )
            failures.append(Failure(row.id, row.source, reason))
        else:
            whole.append(row)
    return WholeRows(tuple(whole), kept, tuple(sorted(failures, key=lambda f: f.id)), unmeasured)


def _usual_regions(rows: Sequence[SubjectRow]) -> list[str]:
    """Return the regions that most subjects have, in the order of the first of these subjects."""
    counts = Counter(frozenset(row.regions) for row in rows)
    (usual, most), *rivals = counts.most_common(2)
    rival = rivals[0][0] if rivals and rivals[0][1] == most else usual
    if rival > usual:  # the smaller set comes from files that are cut off
        usual = rival
    elif not rival <= usual:
        few, many = sorted((len(usual), len(rival)))
        raise InputError("regions.two-sets", few=few, many=many, n=most).says(
            "the subjects have two sets of regions, of {few} and {many}, each in {n:subject}",
            "Keep only the subjects of one version of the tool in the folder.",
        )
    return list(next(row.regions for row in rows if row.regions.keys() == usual))


def _other_regions(row: SubjectRow, regions: Sequence[str]) -> Failure:
    """Return the failure of a subject whose regions differ from most others."""
    # Lists keep the order of the table, so that messages are the same in every run.
    lacking = [name for name in regions if name not in row.regions]
    extra = [name for name in row.regions if name not in set(regions)]
    reason = Problem("subject.other-regions", names=lacking or extra, m=len(lacking), k=len(extra))
    reason.says("it lacks {m:region} of most others and has {k:region} that they lack: {names}")
    return Failure(row.id, row.source, reason)


def _without_value(row: SubjectRow, positive: Collection[str]) -> list[str]:
    """Return regions with a value that is not finite, or is 0 or less where that cannot be."""
    return [
        name
        for name, value in row.regions.items()
        if not math.isfinite(value) or (value <= 0 and name in positive)
    ]
