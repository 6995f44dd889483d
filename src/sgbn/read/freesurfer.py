"""Subjects of FreeSurfer and FastSurfer, read from the files in their ``stats`` folders.

One file name is chosen for all subjects, so that tables of different kinds are never mixed. It is
the first name in order of preference that at least half of the subjects have. If there is none, it
is the name that most subjects have.

Lines of a ``.stats`` file that begin with ``#`` are the header. It holds the version
(``cvs_version``), totals (``Measure Cortex, MeanThickness, Mean Thickness, 2.39, mm``) and the
names of the columns (``ColHeaders``). Every other line holds one structure. Files of nuclei and
subfields have one comment, and then five cells per line: a number twice, 0, the volume and the
name.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from sgbn.cohort.atlas import Atlas, is_packaged, load_atlas
from sgbn.cohort.region_names import is_total
from sgbn.core.problems import InputError, Problem, did_you_mean
from sgbn.core.validation import NONE, OneOf
from sgbn.read.cells import of_file
from sgbn.read.files import read_bytes
from sgbn.read.subject_folders import STATS, Failure, SubjectFolder, SubjectRow, names_in

SIDES = ("lh", "rh")
THICKNESS, VOLUME, AREA = "thickness", "volume", "area"
# Measure -> column in the table of a parcellation.
COLUMNS = {THICKNESS: "ThickAvg", VOLUME: "GrayVol", AREA: "SurfArea"}

# Parcellations in order of preference. Surfaces come before FastSurfer's tables of voxels.
SURFACES = ("aparc", "aparc.DKTatlas", "aparc.DKTatlas.mapped", "aparc.a2009s")
VOXELS = (
    *("aseg+DKT", "aseg+DKT.VINN", "aseg+DKT.VINN.withCC"),
    "aparc.DKTatlas+aseg.deep.volume",  # written by FastSurfer 1 with --vol_segstats
)
ASEG = ("aseg", "aseg.VINN", "aseg.presurf.hypos", *VOXELS)
ALIASES = {
    "desikan": ("aparc",),
    "desikan_killiany": ("aparc",),
    "dk": ("aparc",),
    "destrieux": ("aparc.a2009s",),
    "a2009s": ("aparc.a2009s",),
    "dkt": ("aparc.DKTatlas", "aparc.DKTatlas.mapped", *VOXELS),
}
# Additional segmentations that a caller can ask for. File names include the version.
SEGMENTATIONS = {
    "thalamus": r"thalamic-nuclei\.{side}\.v\d+\.T1",
    "hippocampus": r"hipposubfields\.{side}\.T1\.v\d+",
    "amygdala": r"amygdalar-nuclei\.{side}\.T1\.v\d+",
    "brainstem": r"brainstem(Ss)?\.v\d+",
    "hypothalamus": r"hypothalamus\.HypVINN|hypothalamic_subunits_volumes\.v\d+",
    "cerebellum": r"cerebellum\.CerebNet",
}
ENDING = ".stats"

# lh.curv.stats and lh.w-g.pct.stats are also tables of a surface, but not of a parcellation.
_SURFACE = re.compile(r"[lr]h\.(?!curv$|w-g\.pct$)(.+)")
Names = frozenset[str]
Name = TypeVar("Name", str, tuple[str, str])


@dataclass(frozen=True)
class Parcellation:
    """The files of cortical regions: one per side of the surface, or one table of voxels."""

    name: str
    surface: bool

    @property
    def files(self) -> tuple[str, ...]:
        """Return the names of its files, without their ending."""
        return tuple(f"{side}.{self.name}" for side in SIDES) if self.surface else (self.name,)


def parcellation_atlas(name: str | None) -> Atlas | None:
    """Return the atlas of a parcellation, or None if the package does not have it."""
    if name is None:
        return None
    if name in VOXELS:  # FastSurfer uses the labels of DKT for voxels
        return load_atlas("dkt")
    # CAT12 writes aparc_ before the name of every atlas of surfaces.
    names = (name, name.removeprefix("aparc_"))
    return next((load_atlas(atlas) for atlas in names if is_packaged(atlas)), None)


def stats_names(files: Iterable[str]) -> Names:
    """Return the names of ``.stats`` files without their ending."""
    return frozenset(name.removesuffix(ENDING) for name in files if name.endswith(ENDING))


def parcellations(subjects: Sequence[Names]) -> dict[str, int]:
    """Return how many subjects have each parcellation, in order of preference."""
    counts: Counter[str] = Counter()
    for names in subjects:
        # One side is enough here. If the other side is missing, the subject is left out later.
        surfaces = {match[1] for name in names if (match := _SURFACE.fullmatch(name))}
        counts.update({*surfaces, *names.intersection(VOXELS)})
    first = [name for name in (*SURFACES, *VOXELS) if name in counts]
    return {name: counts[name] for name in (*first, *sorted(set(counts) - set(first)))}


def choose_parcellation(
    asked: str | None, measure: str | None, subjects: Sequence[Names]
) -> Parcellation | None:
    """Return the parcellation that the caller asks for. If none is given, return the preferred one.

    It is None if no subject has a parcellation.
    """
    counts = parcellations(subjects)
    allowed = list(counts)
    if asked is not None:
        # A name such as "dkt" stands for several files. The best comes first.
        allowed = [name for name in ALIASES.get(asked.lower(), (asked,)) if name in counts]
        if not allowed:
            raise unknown_parcellation(asked, [*counts])
    elif known := [name for name in counts if name in (*SURFACES, *VOXELS)]:
        allowed = known  # files such as lh.BA_exvivo.stats do not hold the whole cortex
    # Tables of voxels have volumes, but neither thickness nor area.
    allowed = [name for name in allowed if name not in VOXELS or measure in (None, VOLUME)]
    if not allowed:
        if counts and measure is not None:
            raise InputError("measure.absent", measure=measure, names=list(counts)).says(
                "there is no {measure:s} in {names}",
                "Give {measure='volume'}, or run the surface module of FastSurfer.",
            )
        return None
    name = preferred(counts, allowed, len(subjects))
    return Parcellation(name, name not in VOXELS)


def unknown_parcellation(asked: str, known: Sequence[str]) -> InputError:
    """Return the error about a parcellation that no subject has."""
    if not known:
        return InputError("parcellation.none").says("no subject has a parcellation")
    return InputError("parcellation.absent", asked=asked, near=did_you_mean(asked, known)).says(
        "no subject has the parcellation {asked}", "{near}"
    )


def preferred(counts: Mapping[Name, int], order: Sequence[Name], n: int) -> Name:
    """Return the first name that at least half of `n` subjects have, else the most frequent one."""
    usual = (name for name in order if 2 * counts[name] >= n)
    # If several names are equally frequent, max returns the first.
    return next(usual, None) or max(order, key=lambda name: counts[name])


def choose_aseg(subjects: Sequence[Names]) -> str | None:
    """Return the file of the subcortical volumes, or None if no subject has one."""
    # Without surfaces, FastSurfer gives this table other names.
    counts = Counter(name for names in subjects for name in names.intersection(ASEG))
    order = [name for name in ASEG if name in counts]
    return preferred(counts, order, len(subjects)) if order else None


def choose_segmentation(asked: str, subjects: Sequence[Names]) -> tuple[str, ...]:
    """Return the files of an additional segmentation: one for both sides, or one per side."""
    if asked not in SEGMENTATIONS:
        near = did_you_mean(asked, list(SEGMENTATIONS))
        raise InputError("segmentations.unknown", asked=asked, near=near).says(
            "there is no segmentation {asked}", "{near}"
        )
    pattern = SEGMENTATIONS[asked]
    sides = SIDES if "{side}" in pattern else ("",)
    files = []
    for side in sides:
        fits = re.compile(pattern.replace("{side}", side))
        counts = Counter(name for names in subjects for name in names if fits.fullmatch(name))
        if not counts:
            raise InputError("segmentations.absent", asked=asked).says(
                "no subject has a table of the {asked:s}",
                "Run the tool that makes it, or leave it out of {segmentations=}.",
            )
        # In reverse order, the latest version comes first.
        files.append(preferred(counts, sorted(counts, reverse=True), len(subjects)))
    return tuple(files)


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


def make_plan(request: Request, subjects: list[Names], folder: Path) -> Plan:
    """Return the files to read. They depend on the request, and on what most subjects have."""
    (NONE | OneOf(*COLUMNS)).check("measure", request.measure)
    parcellation = choose_parcellation(request.parcellation, request.measure, subjects)
    aseg = choose_aseg(subjects)
    structures = request.aseg and aseg is not None
    files = {name: choose_segmentation(name, subjects) for name in request.segmentations}
    if parcellation is None and not structures and not files:
        raise InputError("folder.no-tables", folder=folder).says(
            "{folder}: no subject has a table of regions in its stats folder",
            "Check that recon-all or FastSurfer has finished.",
        )
    # A table of voxels has no thickness.
    usual = THICKNESS if parcellation and parcellation.surface else VOLUME
    return Plan(parcellation, request.measure or usual, aseg, structures, files)


def names_of(subject: SubjectFolder) -> Names:
    """Return the names of a subject's ``.stats`` files. Links without a target do not count."""
    folder = subject.path / STATS
    return stats_names(name for name in names_in(folder) if os.path.isfile(folder / name))


def read_subject(subject: SubjectFolder, plan: Plan) -> SubjectRow | Failure:
    """Return the values of one subject, or the reason why it cannot be read."""
    try:
        _check_finished(subject, plan)
        return _row(subject, plan)
    except InputError as error:
        return Failure(subject.id, str(subject.path), error.problem)


def _check_finished(subject: SubjectFolder, plan: Plan) -> None:
    """Raise InputError if a subject is not finished. The names of its files show this."""
    if not (subject.path / STATS).is_dir():
        raise InputError("subject.no-stats").says("there is no stats folder")
    scripts = names_in(subject.path / "scripts")
    # The subject may still have complete tables of an earlier run.
    if "recon-all.error" in scripts:
        raise InputError("subject.error").says("recon-all ended with an error")
    if any(name.startswith("IsRunning") for name in scripts):
        raise InputError("subject.running").says("recon-all is still running, or was stopped")
    names = names_of(subject)
    if absent := [f"{STATS}/{name}{ENDING}" for name in plan.files if name not in names]:
        raise InputError("subject.no-table", names=absent).says("the subject lacks {names:s}")


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
        # FastSurfer's file also holds cortical regions.
        cells = aseg.values(VOLUME_COLUMN, "aseg")
        regions |= {name: value for name, value in cells.items() if not CORTEX.fullmatch(name)}
    for name, of_sides in plan.segmentations.items():
        for file in of_sides:
            regions |= _nuclei(name, file, files[file])
    read = [*([aseg] if aseg else []), *files.values()]
    totals = _totals(plan, read)
    # The mean thickness of a hemisphere may be a covariate, but never a region.
    totals |= {name: value for name, value in regions.items() if is_total(name)}
    regions = {name: value for name, value in regions.items() if name not in totals}
    quality = _quality(subject, totals, _software(subject.path, read))
    return SubjectRow(subject.id, subject.person, str(subject.path), regions, totals, quality)


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


def _quality(subject: SubjectFolder, totals: Mapping[str, float], software: str) -> dict[str, Any]:
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
        logged = [] if log.stat().st_size > MAX_LOG_BYTES else EULER.findall(log.read_bytes())
    except OSError:
        logged = []
    if not logged:
        return None, None, ""
    left, right = logged[-1]  # the last run counts
    return int(left), int(right), "recon-all.log"


def _software(folder: Path, files: list[Stats]) -> str:
    """Return the tools and their versions, as the files name them.

    Both tools may be named, because FastSurfer makes surfaces with tools of FreeSurfer.
    """
    headers = [stats.header for stats in files]
    key = "FastSurfer_version"
    fast = next((header[key] for header in headers if key in header), "")
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


NAME, VOLUME_COLUMN = "StructName", "Volume_mm3"
NUCLEI = ("Index", "SegId", "NVoxels", VOLUME_COLUMN, NAME)  # of files that name no columns
MAX_BYTES = 2**23  # FreeSurfer's largest file has 200 KB, so a larger file is something else
MEASURE_CELLS = 5  # key, name, description, value, unit
AGAIN = "Run the tool again for this subject."


@dataclass(frozen=True)
class Stats:
    """The content of a ``.stats`` file.

    Attributes
    ----------
    header : mapping
        The first word of each comment, with the rest of its line.
    totals : mapping
        The short name of each ``Measure``, with its value. Values that are not finite are left out.
    columns : tuple of str
        The names of the columns.
    rows : mapping
        The cells of each structure, in the order of the file.
    """

    header: Mapping[str, str]
    totals: Mapping[str, float]
    columns: tuple[str, ...]
    rows: Mapping[str, tuple[str, ...]]

    def values(self, column: str, name: str) -> dict[str, float]:
        """Return the value of each structure in a column. `name` is the file's name in errors."""
        if column not in self.columns:
            raise InputError("stats.column", file=name, name=column).says(
                "{file} has no column {name}", AGAIN
            )
        place = self.columns.index(column)
        return {region: _number(cells[place], name, region) for region, cells in self.rows.items()}


def read_stats(path: Path) -> Stats:
    """Return the content of one file. A file that is cut off or damaged is an error."""
    return parse_stats(read_small(path, MAX_BYTES, of_file(path.name)), path.name)


def read_small(path: Path, most: int, where: Problem) -> bytes:
    """Return the bytes of a file. It is an error if it is absent, or larger than `most` bytes."""
    content = read_bytes(path, most + 1, where)
    if len(content) > most:
        raise InputError("file.large", where=where, most=most >> 20).says(
            "{where} more than {most} MB, so it is not a file of this tool", AGAIN
        )
    return content


def parse_stats(content: bytes, name: str) -> Stats:
    """Return the content of a ``.stats`` file. `name` is the name of the file in errors."""
    # Without its last line end, a number may be cut in the middle and still be a number.
    if b"\0" in content or not content.endswith(b"\n"):
        raise InputError("stats.damaged", file=name).says("{file} is cut off or is not text", AGAIN)
    header: dict[str, str] = {}
    totals: dict[str, float] = {}
    table: list[tuple[int, list[str]]] = []
    # Decoding as latin-1 never fails. Only comments (user, folder) hold more than ASCII.
    for number, line in enumerate(content.decode("latin-1").split("\n"), start=1):
        if line.startswith("#"):
            key, _, rest = line[1:].strip().partition(" ")
            if key == "Measure":
                _add_total(totals, rest, name, number)
            else:
                header.setdefault(key, rest.strip())
        elif line.strip():
            table.append((number, line.split()))
    # Tables of nuclei and subfields do not name their columns.
    columns = tuple(header["ColHeaders"].split()) if "ColHeaders" in header else NUCLEI
    rows = _rows(table, columns, name)
    stated = header.get("NRows", "")
    if stated.isdigit() and int(stated) != len(rows):
        raise InputError("stats.count", file=name, n=len(rows), stated=stated).says(
            "{file} has {n:structure}, but its header says {stated:s}", AGAIN
        )
    return Stats(header, totals, columns, rows)


def _add_total(totals: dict[str, float], text: str, name: str, line: int) -> None:
    cells = [cell.strip() for cell in text.split(",")]
    if len(cells) < MEASURE_CELLS:
        raise _wrong_length(name, line, len(cells))
    # Counted from the end, as the description may hold commas.
    value = _number(cells[-2], name, line)
    if math.isfinite(value):
        totals[cells[1]] = value


def _rows(
    table: Sequence[tuple[int, list[str]]], columns: tuple[str, ...], name: str
) -> dict[str, tuple[str, ...]]:
    if NAME not in columns or not table:
        raise InputError("stats.no-table", file=name).says(
            "{file} holds no table of structures", AGAIN
        )
    place = columns.index(NAME)
    rows: dict[str, tuple[str, ...]] = {}
    for number, cells in table:
        # In a line of the wrong length, cells could be in the wrong columns.
        if len(cells) != len(columns):
            raise _wrong_length(name, number, len(cells))
        if cells[place] in rows:
            raise InputError("stats.twice", file=name, line=number, name=cells[place]).says(
                "{file}, line {line}: {name} is in the file twice", AGAIN
            )
        rows[cells[place]] = tuple(cells)
    return rows


def _wrong_length(name: str, line: int, n: int) -> InputError:
    return InputError("stats.cells", file=name, line=line, n=n).says(
        "{file}, line {line} has {n:cell}, more or fewer than it should have", AGAIN
    )


def _number(text: str, name: str, place: str | int) -> float:
    try:
        if "_" in text:  # Python reads 1_0 as 10
            raise ValueError
        return float(text)
    except ValueError:
        raise InputError("stats.number", file=name, place=place, text=text).says(
            "{file}, {place}: {text} is not a number", AGAIN
        ) from None
