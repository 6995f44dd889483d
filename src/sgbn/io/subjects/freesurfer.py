"""The reader of the ``stats`` folders of FreeSurfer and FastSurfer subjects."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sgbn.cohort.region_names import is_total
from sgbn.core.exceptions import InputError
from sgbn.io.subjects.folders import STATS, SubjectFolder
from sgbn.io.subjects.layouts import (
    AREA,
    COLUMNS,
    ENDING,
    SIDES,
    THICKNESS,
    VOLUME,
    Names,
    Parcellation,
    choose_aseg,
    choose_parcellation,
    choose_segmentation,
    stats_names,
)
from sgbn.io.subjects.rows import Failure, SubjectRow
from sgbn.io.subjects.stats_files import VOLUME_COLUMN, Stats, read_stats

ETIV = "eTIV"
CORTEX = re.compile(r"ctx-([lr]h)-(.+)")  # the name of a cortical region in a table of voxels
# Labels of a parcellation that are not cortex. Files of Schaefer and Glasser have them.
NO_CORTEX = re.compile(r"\?\?\?|medial.?wall|^background", re.IGNORECASE)
LEFT_RIGHT = {"lh": "Left", "rh": "Right", "": ""}
# For each measure, the total of a hemisphere in the same file as its regions.
TOTALS = {THICKNESS: "MeanThickness", AREA: "WhiteSurfArea"}
MAX_LOG_BYTES = 2**28  # a limit, because recon-all.log grows with each run
EULER = re.compile(rb"orig\.nofix lheno\s*=\s*(-?\d+),\s*rheno\s*=\s*(-?\d+)")

_VERSION = re.compile(r"\d+\.\d+(\.\d+)?(-?\w+)?")
_STAMP = re.compile(r"(?:^|[-_v])(\d+\.\d+\.\d+(?:-?beta\d*)?)(?:-|$)")
_WHOLE = re.compile(r"(^|[-_ ])whole([-_ ]|$)", re.IGNORECASE)


@dataclass(frozen=True)
class Request:
    """The tables that the caller asks for, see `read_subjects`."""

    parcellation: str | None = None
    measure: str | None = None
    aseg: bool = True
    segmentations: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """The files that are read for every subject.

    Attributes
    ----------
    parcellation : Parcellation or None
        The parcellation of the cortex, or None if no cortical regions are read.
    measure : str
        The measure of the cortex.
    aseg : str or None
        The file of subcortical volumes and of totals.
    structures : bool
        Whether the structures in this file are regions. Its totals are read in any case.
    segmentations : mapping
        The files of each additional segmentation.
    """

    parcellation: Parcellation | None
    measure: str
    aseg: str | None
    structures: bool
    segmentations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def files(self) -> list[str]:
        """Return the names of the files that a subject must have, each only once."""
        cortex = self.parcellation.files if self.parcellation else ()
        aseg = (self.aseg,) if self.aseg is not None and self.structures else ()
        additional = [name for files in self.segmentations.values() for name in files]
        return list(dict.fromkeys([*cortex, *aseg, *additional]))


def make_plan(request: Request, subjects: list[Names], where: str) -> Plan:
    """Return the files to read. They depend on the request, and on what most subjects have."""
    if request.measure not in (None, *COLUMNS):
        raise InputError(
            f"measure is {request.measure!r}. Give one of {', '.join(COLUMNS)} (--measure)."
        )
    parcellation = choose_parcellation(request.parcellation, request.measure, subjects)
    aseg = choose_aseg(subjects)
    structures = request.aseg and aseg is not None
    files = {name: choose_segmentation(name, subjects) for name in request.segmentations}
    if parcellation is None and not structures and not files:
        raise InputError(
            f"{where}: no subject has a table of regions in its stats folder. Check that recon-all "
            "or FastSurfer has finished, and that this is the right folder."
        )
    # A table of voxels has no thickness.
    usual = THICKNESS if parcellation and parcellation.surface else VOLUME
    return Plan(parcellation, request.measure or usual, aseg, structures, files)


def names_of(subject: SubjectFolder) -> Names:
    """Return the names of a subject's ``.stats`` files. Links without a target do not count."""
    folder = subject.path / STATS
    return stats_names(name for name in _entries(folder) if os.path.isfile(folder / name))


def read_subject(subject: SubjectFolder, plan: Plan) -> SubjectRow | Failure:
    """Return the values of one subject, or the reason why it cannot be read."""
    reason = _unfinished(subject, plan)
    if reason:
        return Failure(subject.id, str(subject.path), reason)
    try:
        return _row(subject, plan)
    except InputError as error:
        return Failure(subject.id, str(subject.path), str(error))


def _unfinished(subject: SubjectFolder, plan: Plan) -> str:
    """Return why a subject is not finished, or "" if it is finished. File names show this."""
    if not (subject.path / STATS).is_dir():
        return "there is no stats folder"
    scripts = _entries(subject.path / "scripts")
    # The subject may still have complete tables of an earlier run.
    if "recon-all.error" in scripts:
        return "recon-all ended with an error (scripts/recon-all.error)"
    running = [name for name in scripts if name.startswith("IsRunning")]
    if running:
        return f"recon-all is still running, or was stopped (scripts/{running[0]})"
    names = names_of(subject)
    absent = [f"{STATS}/{name}{ENDING}" for name in plan.files if name not in names]
    return f"missing: {', '.join(absent)}" if absent else ""


def _entries(path: Path) -> list[str]:
    try:
        return sorted(os.listdir(path))
    except OSError:
        return []


def _row(subject: SubjectFolder, plan: Plan) -> SubjectRow:
    """Return the regions, totals and quality of one subject."""
    folder = subject.path / STATS
    files = {name: read_stats(folder / f"{name}{ENDING}") for name in plan.files}
    aseg = files.get(plan.aseg) if plan.aseg is not None else None
    # Totals such as eTIV are read even if the structures are not.
    if aseg is None and plan.aseg is not None and plan.aseg in names_of(subject):
        aseg = read_stats(folder / f"{plan.aseg}{ENDING}")
    regions = _cortex(plan, files)
    if plan.structures and aseg is not None:
        regions |= _structures(aseg)
    for name, of_sides in plan.segmentations.items():
        for file in of_sides:
            regions |= _nuclei(name, file, files[file])
    read = [*([aseg] if aseg else []), *files.values()]
    totals = _totals(plan, read)
    # The mean thickness of a hemisphere may be a covariate, but never a region.
    totals |= {name: value for name, value in regions.items() if is_total(name)}
    regions = {name: value for name, value in regions.items() if name not in totals}
    software = _software(subject.path, read)
    quality = _quality(subject, totals, software)
    return SubjectRow(
        subject.id, subject.person, str(subject.path), regions, totals, quality, software
    )


def _cortex(plan: Plan, files: Mapping[str, Stats]) -> dict[str, float]:
    """Return the cortical regions and the total of each side, named as by aparcstats2table."""
    if plan.parcellation is None:
        return {}
    measure = plan.measure
    if not plan.parcellation.surface:
        name = plan.parcellation.name
        cells = files[name].values(VOLUME_COLUMN, name)
        return {
            f"{side_and_name[1]}_{side_and_name[2]}_{measure}": value
            for region, value in cells.items()
            if (side_and_name := CORTEX.fullmatch(region))
        }
    values: dict[str, float] = {}
    for side, file in zip(SIDES, plan.parcellation.files, strict=True):
        for region, value in files[file].values(COLUMNS[measure], file).items():
            if not NO_CORTEX.search(region):
                values[f"{side}_{region}_{measure}"] = value
        # aparcstats2table also writes the total of a side, as its last column.
        total = TOTALS.get(measure, "")
        if total in files[file].totals:
            values[f"{side}_{total}_{measure}"] = files[file].totals[total]
    return values


def _structures(aseg: Stats) -> dict[str, float]:
    """Return the volumes below the cortex. FastSurfer's file also holds cortical regions."""
    cells = aseg.values(VOLUME_COLUMN, "aseg")
    return {name: value for name, value in cells.items() if not CORTEX.fullmatch(name)}


def _nuclei(segmentation: str, file: str, stats: Stats) -> dict[str, float]:
    """Return the parts of a structure, without sums such as "Whole_thalamus"."""
    # Some segmentations have one file per side, others one file for both sides.
    side = next((side for side in SIDES if f".{side}." in file), "")
    prefix = f"{LEFT_RIGHT[side]}-" if side else ""
    return {
        f"{segmentation}_{prefix}{name}": value
        for name, value in stats.values(VOLUME_COLUMN, file).items()
        if not _WHOLE.search(name)
    }


def _totals(plan: Plan, files: list[Stats]) -> dict[str, float]:
    """Return the totals of the whole head, each from the first file that has it."""
    # MeanThickness in lh.aparc.stats is the total of one side only.
    of_side = {*TOTALS.values(), "NumVert"} if plan.parcellation else set[str]()
    totals: dict[str, float] = {}
    for stats in files:
        for name, value in stats.totals.items():
            if name not in of_side and is_total(name):
                totals.setdefault(name, value)
    return totals


def _quality(
    subject: SubjectFolder,
    totals: Mapping[str, float],
    software: str,
) -> dict[str, Any]:
    left, right, source = _euler(subject.path, totals)
    absent = [ETIV] if ETIV not in totals else []
    absent += ["Euler number"] if left is None else []
    return {
        "software": software,
        ETIV: totals.get(ETIV),
        "lh_euler": left,
        "rh_euler": right,
        "mean_euler": None if left is None or right is None else (left + right) / 2,
        "euler_from": source,
        "missing": "; ".join(absent),
    }


def _euler(folder: Path, totals: Mapping[str, float]) -> tuple[int | None, int | None, str]:
    """Return the Euler numbers of both surfaces before holes were closed, and where they are from.

    A surface with h holes has the Euler number 2 - 2 h.
    """
    holes = [totals.get(f"{side}SurfaceHoles") for side in SIDES]
    if holes[0] is not None and holes[1] is not None:
        return 2 - 2 * int(holes[0]), 2 - 2 * int(holes[1]), "aseg.stats"
    log = folder / "scripts" / "recon-all.log"
    try:
        # A log that is too long is not read. The quality sheet then names the number as missing.
        if log.stat().st_size > MAX_LOG_BYTES:
            return None, None, ""
        logged = EULER.findall(log.read_bytes())
    except OSError:
        return None, None, ""
    if not logged:
        return None, None, ""
    left, right = logged[-1]  # the last run counts
    return int(left), int(right), "recon-all.log"


def _software(folder: Path, files: list[Stats]) -> str:
    """Return the tools and their versions, as the files name them.

    Both tools may be named, because FastSurfer makes surfaces with tools of FreeSurfer.
    """
    headers = [stats.header for stats in files]
    fast = next(
        (header["FastSurfer_version"] for header in headers if "FastSurfer_version" in header), ""
    )
    scripts = folder / "scripts"
    # If no table has the version of FastSurfer, this log still shows that it ran.
    if not fast and (scripts / "deep-seg.log").exists():
        fast = "(version not said)"
    # The stamp is the version of the whole run. A table may have the version of one program.
    free = _stamp(scripts / "build-stamp.txt")
    if not free:
        versions = [header.get("cvs_version", "") for header in headers]
        free = next((version for version in versions if _VERSION.fullmatch(version)), "")
    named = (("FastSurfer", fast), ("FreeSurfer", free))
    return ", ".join(f"{tool} {version}" for tool, version in named if version)


def _stamp(path: Path) -> str:
    """Return the version in a build stamp, such as freesurfer-linux-centos7_x86_64-7.4.1-2023."""
    try:
        with path.open("rb") as stream:
            match = _STAMP.search(stream.read(1000).decode("latin-1").strip())
    except OSError:
        return ""
    return match[1] if match else ""
