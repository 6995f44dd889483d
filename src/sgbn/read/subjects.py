"""Readers of a whole folder of FreeSurfer, FastSurfer or CAT12 subjects.

`read_subjects` returns a cohort. `collect_subjects` returns tables of the regions, of the quality,
and of the subjects who are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sgbn.cohort.atlas import AtlasLike
from sgbn.cohort.cohort import Cohort
from sgbn.cohort.region_names import match_columns
from sgbn.core.problems import DataWarning, InputError, Problem
from sgbn.core.validation import OneOf
from sgbn.read.cat12 import cat12_subjects, choose_atlas, is_average, read_atlases, read_cat_subject
from sgbn.read.cells import Markers, Origin, RawTable, of_file, tells_subject
from sgbn.read.files import Source
from sgbn.read.freesurfer import (
    THICKNESS,
    Request,
    make_plan,
    names_of,
    parcellation_atlas,
    parcellations,
    read_subject,
)
from sgbn.read.roles import Options
from sgbn.read.subject_folders import (
    Failure,
    SubjectRow,
    WholeRows,
    find_folders,
    kind_of,
    roi_files,
    whole_rows,
)
from sgbn.read.table import absent_ids, assemble, join_participants, load_participants, with_ids

ID, PERSON = "subject_id", "person"
CAT12 = "CAT12"
SKIP, RAISE = "skip", "raise"
# Keys of facts that list names of folders or files.
FOLDERS = ("templates", "bases", "averages", "other_folders", "other_stream")


class LeftOutWarning(DataWarning):
    """Subjects are left out, because their files cannot be read or differ from those of others."""


def read_subjects(
    folder: str | PathLike[str],
    *,
    parcellation: str | None = None,
    measure: str | None = None,
    aseg: bool = True,
    segmentations: str | Sequence[str] = (),
    stream: str | None = None,
    on_error: str = "skip",
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
    missing: Markers = None,
) -> Cohort:
    """Read a folder of FreeSurfer, FastSurfer or CAT12 subjects into a cohort.

    Parameters
    ----------
    folder : path
        A folder with one folder per subject (``SUBJECTS_DIR``). Each session of a subject may be a
        folder inside the subject's folder. For CAT12, it is a folder with files ``catROI_*.xml`` or
        ``catROIs_*.xml``. They may be up to five levels of folders below it.
    parcellation : str, optional
        ``"aparc"``, ``"aparc.a2009s"``, ``"aparc.DKTatlas"``, ``"aparc.DKTatlas.mapped"``,
        ``"aseg+DKT"``, or any other parcellation with files ``stats/lh.NAME.stats``. For CAT12, it
        is the name of an atlas. If not given, it is the first in order of preference that at least
        half of the subjects have: aparc, then DKT, then a2009s, then tables of voxels. For CAT12,
        atlases of surfaces come first (aparc_DK40 before the others), then atlases of volumes
        (neuromorphometrics before the others).
    measure : str, optional
        The measure of the cortex: ``"thickness"``, ``"volume"`` or ``"area"``. For CAT12, it may
        also be one of its own names, such as ``"Vwm"``. If not given, it is thickness if there are
        surfaces, and volume otherwise.
    aseg : bool
        Whether subcortical volumes are regions too.
    segmentations : str or list of str
        Additional tables of volumes: ``"thalamus"``, ``"hypothalamus"``, ``"hippocampus"``,
        ``"amygdala"``, ``"brainstem"``, ``"cerebellum"``.
    stream : {"cross", "long"}, optional
        The runs to read, if FreeSurfer's longitudinal stream was used. If not given, longitudinal
        runs are read if all visits have one, and cross-sectional runs if no visit has one. If only
        some visits have one, there is an error.
    on_error : {"skip", "raise"}
        What to do about subjects who cannot be read, or whose regions differ from most others.
        ``"skip"`` leaves them out, with a warning that names them. ``"raise"`` raises an error.
    group, id, covariates, smooth, site, pair, subject, block : optional
        As in `read_table`. They name columns of `participants`, or totals such as ``eTIV`` and
        ``SurfaceHoles``. If a person has several visits, there is also the column ``"person"``.
    participants, participants_missing : optional
        As in `read_table`. If there are several visits, participants may be listed by person or
        by visit.
    regions, exclude, groups, atlas, missing : optional
        As in `read_table`. If no atlas is given, the atlas of the parcellation is used, if the
        package has it.

    Returns
    -------
    Cohort
        The subjects. Regions have the names that aparcstats2table, asegstats2table or CAT12 give
        them. The provenance says what was read, and how many subjects were left out.

    See Also
    --------
    sgbn.read.collect_subjects : Returns the tables and the quality sheet.
    """
    # Here `measure` chooses among files. In `Options` it would choose among columns.
    options = Options.of(**{**locals(), "measure": None})
    collected = collect_subjects(
        folder,
        parcellation=parcellation,
        measure=measure,
        aseg=aseg,
        segmentations=segmentations,
        stream=stream,
        on_error=on_error,
    )
    if options.atlas is None:
        options = replace(options, atlas=parcellation_atlas(collected.facts["parcellation"]))
    match = match_columns(list(collected.table.columns), options.atlas)
    known = not set(collected.regions).intersection(match.unmatched)
    # If the atlas matched only some regions, the others would be left out.
    if options.regions is None and not known:
        named = tuple(name for name in collected.regions if name not in set(match.totals))
        options = replace(options, regions=named)
    raw = _raw(collected)
    person = _joined_by_person(raw, options, participants)
    cohort, _ = assemble(raw, options, participants, ID, person)
    if collected.facts["tool"] != CAT12 or options.atlas is not None or known:
        return cohort
    # Some names in CAT12's atlases are also in other atlases, which need not be the right ones.
    return replace(cohort, atlas=None, provenance={**cohort.provenance, "atlas": None})


@dataclass(frozen=True)
class SubjectsTable:
    """The tables that were read from a subjects folder.

    Attributes
    ----------
    table : DataFrame
        One row per subject, with the columns ``subject_id``, totals (such as eTIV) and regions. If
        a person has several visits, it also has the column ``person``.
    regions : tuple of str
        The columns of `table` that are regions.
    quality : DataFrame
        One row per subject, with the software, eTIV or TIV, Euler numbers or ratings, and what is
        missing.
    failed : DataFrame
        One row per subject who is left out, with ``subject_id``, ``source`` and ``reason``.
    facts : dict
        The tool, parcellation, measure, files, versions, and the folders that are not read.
    """

    table: pd.DataFrame
    regions: tuple[str, ...]
    quality: pd.DataFrame
    failed: pd.DataFrame
    facts: dict[str, Any]

    @property
    def provenance(self) -> dict[str, Any]:
        """Return the facts with counts of folders instead of names, which may identify persons."""
        counts = {key: len(self.facts[key]) for key in FOLDERS if self.facts.get(key)}
        rest = {key: value for key, value in self.facts.items() if key not in FOLDERS}
        return {**rest, **counts, "subjects_left_out": len(self.failed)}


@dataclass(frozen=True)
class _Read:
    """The rows and failures of one tool, before the subjects are compared with each other."""

    rows: Sequence[SubjectRow]
    failures: Sequence[Failure]
    facts: dict[str, Any]
    positive: frozenset[str] = frozenset()  # regions in which 0 means that nothing was measured


def collect_subjects(
    folder: str | PathLike[str],
    *,
    parcellation: str | None = None,
    measure: str | None = None,
    aseg: bool = True,
    segmentations: str | Sequence[str] = (),
    stream: str | None = None,
    on_error: str = SKIP,
) -> SubjectsTable:
    """Read a folder of FreeSurfer, FastSurfer or CAT12 subjects into tables.

    Parameters
    ----------
    folder, parcellation, measure, aseg, segmentations, stream, on_error
        As in `read_subjects`.

    Returns
    -------
    SubjectsTable
        DataFrames of the regions, of the quality, and of the subjects who are left out.
    """
    OneOf(SKIP, RAISE).check("on_error", on_error)
    top = _checked(folder)
    asked = (segmentations,) if isinstance(segmentations, str) else tuple(segmentations)
    if kind_of(top) == "cat12":
        _check_for_cat12(aseg, asked, stream)
        read = _read_cat12(top, parcellation, measure)
    else:
        read = _read_freesurfer(top, Request(parcellation, measure, aseg, asked), stream)
    return _tables(top, read, on_error)


def is_subjects_folder(folder: str | PathLike[str]) -> bool:
    """Return whether a path is a folder that `read_subjects` can read."""
    path = Path(folder)
    return path.is_dir() and kind_of(path) is not None


def _checked(folder: str | PathLike[str]) -> Path:
    if not isinstance(folder, str | PathLike):
        raise InputError("folder.type", name=type(folder).__name__).says(
            "{folder=} must be a path, not {name:s}"
        )
    path = Path(folder)
    if not path.is_dir():
        raise InputError("folder.absent", folder=path).says(
            "{folder} does not exist, or is not a folder", "Give a folder of subjects."
        )
    return path


def _check_for_cat12(aseg: bool, segmentations: Sequence[str], stream: str | None) -> None:
    for name, given in (("aseg", not aseg), ("segmentations", segmentations), ("stream", stream)):
        if given:
            raise InputError("subjects.cat12", argument=name).says(
                "these are subjects of CAT12, and {argument} is for FreeSurfer", "Leave it out."
            )


def _read_freesurfer(top: Path, request: Request, stream: str | None) -> _Read:
    """Return the rows and failures of all subjects of FreeSurfer or FastSurfer."""
    folders = find_folders(top, stream)
    if not folders.subjects:
        raise InputError("folder.no-subjects", folder=top).says(
            "{folder} holds no subject of FreeSurfer, FastSurfer or CAT12",
            "Give SUBJECTS_DIR (in fMRIPrep sourcedata/freesurfer), or a folder of catROI_*.xml.",
        )
    # The number of subjects who have a parcellation decides. Subjects without tables do not count.
    file_names = [stats for subject in folders.subjects if (stats := names_of(subject))]
    plan = make_plan(request, file_names, top)
    read = [read_subject(subject, plan) for subject in folders.subjects]
    chosen = plan.parcellation
    facts = {
        "tool": "FreeSurfer or FastSurfer",
        "parcellation": chosen.name if chosen else None,
        "other_parcellations": [
            name for name in parcellations(file_names) if chosen is None or name != chosen.name
        ],
        "measure": plan.measure if chosen else None,
        "files": [f"{name}.stats" for name in plan.files],
        "stream": "longitudinal" if folders.subjects[0].long else "cross-sectional",
        "templates": list(folders.templates),
        "bases": list(folders.bases),
        "other_folders": list(folders.others),
        "other_stream": list(folders.other_stream),
    }
    rows, failures = _parted(read)
    # Only cortical regions must be positive. A volume of 0 below the cortex, such as a ventricle,
    # is rare but possible.
    ending = f"_{plan.measure}"
    cortical = frozenset(name for row in rows for name in row.regions if name.endswith(ending))
    return _Read(rows, failures, facts, cortical)


def _read_cat12(top: Path, parcellation: str | None, measure: str | None) -> _Read:
    """Return the rows and failures of all subjects of CAT12."""
    paths = roi_files(top)
    # With the mean image of all visits, a person would be counted once more.
    averages = [path.name for path in paths if is_average(path)]
    if len(averages) == len(paths):
        raise InputError("folder.averages", folder=top).says(
            "{folder} holds only averages of longitudinal runs", "Give the folder of the visits."
        )
    subjects = cat12_subjects([path for path in paths if not is_average(path)])
    read, damaged = read_atlases(subjects)
    if not read:
        raise InputError("folder.damaged", folder=top, cause=damaged[0].reason).says(
            "no file of CAT12 in {folder} can be read; the first: {cause}"
        )
    atlas, column = choose_atlas(parcellation, measure, read)
    outcomes = [read_cat_subject(s, read[s.id], atlas, column) for s in subjects if s.id in read]
    rows, unread = _parted(outcomes)
    facts = {
        "tool": CAT12,
        "parcellation": atlas,
        "other_parcellations": sorted({*chain.from_iterable(read.values())} - {atlas}),
        "measure": column,
        "averages": averages,
    }
    names = {name for row in rows for name in row.regions} if column == THICKNESS else set[str]()
    with_row = {row.id for row in rows}
    # If a subject has a row, damaged files of other atlases do not matter. If not, a damaged file
    # is a better reason than a missing atlas, because it explains more.
    by_damage = {failure.id: failure for failure in damaged if failure.id not in with_row}
    others = [failure for failure in unread if failure.id not in by_damage]
    return _Read(rows, [*by_damage.values(), *others], facts, frozenset(names))


def _parted(read: Sequence[SubjectRow | Failure]) -> tuple[list[SubjectRow], list[Failure]]:
    rows = [outcome for outcome in read if isinstance(outcome, SubjectRow)]
    return rows, [outcome for outcome in read if isinstance(outcome, Failure)]


def _tables(top: Path, read: _Read, on_error: str) -> SubjectsTable:
    """Return the tables of the subjects with the same regions, after a warning about the others."""
    whole = whole_rows(read.rows, read.positive)
    failures = sorted([*read.failures, *whole.failures], key=lambda failure: failure.id)
    # This comes before other warnings, because it is an error if nobody is left.
    _report_failures(top, failures, len(whole.rows), on_error)
    # Subjects who are left out may come from any version.
    versions = Counter(row.quality["software"] or "unknown" for row in whole.rows)
    _warn(top, whole, versions)
    facts = {
        "source": str(top),
        **read.facts,
        "unmeasured": list(whole.unmeasured),
        "versions": dict(sorted(versions.items())),
    }
    cells = [(failure.id, failure.source, str(failure.reason)) for failure in failures]
    failed = pd.DataFrame(cells, columns=[ID, "source", "reason"])
    return SubjectsTable(_table(whole), whole.regions, _quality(whole), failed, facts)


def _report_failures(top: Path, failures: Sequence[Failure], n_read: int, on_error: str) -> None:
    """Warn about subjects who are left out.

    Raise InputError if `on_error` is "raise", or if nobody is left.
    """
    if not failures:
        return
    first = failures[0].reason
    if not tells_subject(first):
        first = Problem("subject", subject=failures[0].id, cause=first).says("{subject}: {cause}")
    about = {"folder": top, "subjects": [left.id for left in failures], "first": first}
    if not n_read:
        raise InputError("subjects.nobody", **about).says(
            "no subject of {folder} can be read; the first: {first}",
            "Check the folder, {parcellation=} and {measure=}.",
        )
    if on_error == RAISE:
        raise InputError("subjects.unread", **about).says(
            "files of {subjects} in {folder} cannot be read; the first: {first}",
            "Repair or remove them, or give {on_error='skip'}.",
        )
    Problem("subjects.left-out", **about, n=n_read).warn(
        "{folder} is read without {subjects}; the first: {first}",
        "{n:subject is/subjects are} left. Check that nobody is missing by mistake.",
        LeftOutWarning,
    )


def _warn(top: Path, whole: WholeRows, versions: Mapping[str, int]) -> None:
    """Warn about different versions of the tool, and about regions that are left out."""
    if len(versions) > 1:
        Problem("subjects.software", folder=top, names=sorted(versions)).warn(
            "{folder}: the subjects were processed with different software: {names:s}",
            "This may make their values differ: use one version, or name the version as a site.",
        )
    if whole.unmeasured:
        Problem("regions.unmeasured", folder=top, names=whole.unmeasured).warn(
            "{folder}: {names:region is/regions are} left out, with no value in most subjects: "
            "{names}"
        )


def _table(whole: WholeRows) -> pd.DataFrame:
    """Return the ids, persons, totals and regions, one row per subject."""
    columns: dict[str, Any] = {ID: [row.id for row in whole.rows]}
    # If nobody has several rows, a column of persons would only repeat the ids.
    persons = [row.person for row in whole.rows]
    if len(set(persons)) < len(persons):
        columns[PERSON] = persons
    totals = dict.fromkeys(name for row in whole.rows for name in row.totals)
    columns |= {name: [row.totals.get(name) for row in whole.rows] for name in totals}
    columns |= {name: [row.regions[name] for row in whole.rows] for name in whole.regions}
    frame = pd.DataFrame(columns)
    # Without this, a total without any value would be a column of Python objects.
    frame[list(totals)] = frame[list(totals)].astype(float)
    return frame


def _quality(whole: WholeRows) -> pd.DataFrame:
    """Return the quality sheet, one row per subject."""
    rows = []
    for row in whole.rows:
        zero = "; ".join(name for name in whole.regions if row.regions[name] == 0)
        rows.append({ID: row.id, "source": row.source, **row.quality, "zero_volumes": zero})
    return pd.DataFrame(rows)


PARTICIPANT = "participant_id"  # the name in BIDS of the id column of participants


def participants_by_visit(
    collected: SubjectsTable, participants: Source
) -> tuple[RawTable, pd.DataFrame | None]:
    """Return the participants with their ids, and a table with one row per visit.

    The second table is None if the participants are already listed by visit. It has no rows for
    visits of persons who are not listed.
    """
    raw = _raw(collected)
    people, id_name = load_participants(Options(), participants)
    if _joined_by_person(raw, Options(), participants) is None:
        return people, None
    visits = with_ids(replace(raw, frame=raw.frame[[ID, PERSON]]), PERSON)
    absent = set(absent_ids(visits.ids, people.ids))
    visits = visits.keep(np.array([name not in absent for name in visits.ids], dtype=bool))
    # The ids of the visits replace these columns.
    columns = [name for name in people.columns if name not in (id_name, ID, PERSON, PARTICIPANT)]
    joined = join_participants(visits, people, columns, may_lack=False)
    return people, joined.frame.drop(columns=PERSON).rename(columns={ID: PARTICIPANT})


def _joined_by_person(raw: RawTable, options: Options, participants: Source | None) -> str | None:
    """Return the column of persons if participants are listed by person, else None."""
    if participants is None or PERSON not in raw.columns:
        return None
    people, _ = load_participants(options, participants, PERSON)
    # The right column is the column with fewer labels that the participants do not list.
    by_visit, by_person = (absent_ids(list(raw.frame[name]), people.ids) for name in (ID, PERSON))
    return PERSON if len(by_person) < len(by_visit) else None


def _raw(collected: SubjectsTable) -> RawTable:
    places = np.arange(1, len(collected.table) + 1, dtype=np.intp)
    origin = Origin(of_file(collected.facts["source"]), places, unit="subject")
    return RawTable(collected.table, origin, facts=collected.provenance)
