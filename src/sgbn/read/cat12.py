"""Subjects of CAT12: the choice of an atlas and a measure, and the values of each subject.

CAT12 writes XML files of regions (``catROI[s]_*.xml``) and reports (``cat_*.xml``). A file of
regions has one element per atlas, with the elements ``names``, ``ids`` and ``data``. The data are
one list of numbers per measure, in the notation of MATLAB: ``[3.4;2.1;NaN]``. ``catROI`` holds
volumes in ml (``Vgm``, ``Vwm``, ``Vcsf``). ``catROIs`` holds means over surfaces (``thickness``,
``gyrification``).
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from sgbn.cohort.region_names import is_total
from sgbn.core.problems import InputError, Problem, did_you_mean
from sgbn.read.cells import of_subject
from sgbn.read.freesurfer import THICKNESS, VOLUME, preferred, read_small, unknown_parcellation
from sgbn.read.subject_folders import Failure, SubjectRow, person_of, several_of
from sgbn.read.text import xml_tree
from sgbn.read.volumes import subject_id

MAX_BYTES = 2**26  # a file with all atlases has only about 1 MB
AGAIN = "Estimate the regions of this subject again in CAT12."

# Column of the quality sheet -> its place in a report.
QUALITY = {
    "TIV": "subjectmeasures/vol_TIV",
    "IQR": "qualityratings/IQR",
    "SIQR": "qualityratings/SIQR",
    "NCR": "qualityratings/NCR",
    "ICR": "qualityratings/ICR",
    "res_RMS": "qualityratings/res_RMS",
    "EC_abs": "subjectmeasures/EC_abs",
    "defect_size": "subjectmeasures/defect_size",
}
TISSUES = ("CSF", "GM", "WM")  # the order in vol_abs_CGW, where lesions may follow

_BETWEEN = re.compile(r"[;,\s]+")


@dataclass(frozen=True)
class AtlasRegions:
    """The regions of one atlas: their names, and for each measure one value per region."""

    names: tuple[str, ...]
    data: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True)
class Report:
    """The content of the report of one image: numbers by name, and the version of CAT12."""

    numbers: Mapping[str, float]
    software: str = ""


def read_regions(path: Path) -> dict[str, AtlasRegions]:
    """Return the regions of each atlas in a file."""
    where = of_subject(path.name)
    root = xml_tree(read_small(path, MAX_BYTES, where), where)
    if root.find("ROI") is not None or root.find("*/tr") is not None:
        raise InputError("cat12.old", where=where).says(
            "{where} the file was written by CAT12 before 2017, in another layout", AGAIN
        )
    atlases = {
        atlas.tag: _regions(atlas, where)
        # Other elements say how the file was made.
        for atlas in root
        if atlas.find("names") is not None and atlas.find("data") is not None
    }
    if not atlases:
        raise InputError("cat12.no-atlas", where=where).says(
            "{where} there is no atlas with names and data", AGAIN
        )
    return atlases


def read_report(path: Path) -> Report:
    """Return the TIV, the quality ratings and the version in a report."""
    where = of_subject(path.name)
    root = xml_tree(read_small(path, MAX_BYTES, where), where)
    numbers = {}
    for name, place in QUALITY.items():
        values = _numbers(root.findtext(place, ""), where)
        if values and math.isfinite(values[0]):
            numbers[name] = values[0]
    tissue = _numbers(root.findtext("subjectmeasures/vol_abs_CGW", ""), where)
    # Volumes of lesions, which may follow, are not used.
    numbers |= dict(zip(TISSUES, tissue, strict=False))
    version = root.findtext("software/version_cat", "").strip()
    revision = root.findtext("software/revision_cat", "").strip()
    words = [version and f"CAT12 {version}", revision and f"r{revision}"]
    return Report(numbers, " ".join(filter(None, words)))


def _regions(atlas: ElementTree.Element, where: Problem) -> AtlasRegions:
    names = _texts(atlas.find("names"))
    data = {m.tag: tuple(_measure(m, where)) for m in atlas.findall("data/*")}
    for values in data.values():
        if len(values) != len(names):
            raise InputError("cat12.count", where=where, n=len(names), values=len(values)).says(
                "{where} an atlas has {n:name}, but {values:value}", AGAIN
            )
    return AtlasRegions(_unique(names, _texts(atlas.find("ids")), where), data)


def _texts(element: ElementTree.Element | None) -> list[str]:
    """Return the items of a list, which is either one element per item or one text."""
    if element is None:
        return []
    if len(element):
        return [(item.text or "").strip() for item in element]
    return _words(element.text or "")


def _words(text: str) -> list[str]:
    """Return the words in a text such as ``[1;NaN;3]`` or ``1 2``."""
    return [word for word in _BETWEEN.split(text.strip(" \t\r\n[]")) if word]


def _measure(element: ElementTree.Element, where: Problem) -> list[float]:
    if len(element):
        return [value for item in element for value in _numbers(item.text or "NaN", where)]
    return _numbers(element.text or "", where)


def _numbers(text: str, where: Problem) -> list[float]:
    """Return the numbers in a text that MATLAB wrote."""
    try:
        if "_" in text:  # Python reads 1_0 as 10
            raise ValueError
        return [float(word) for word in _words(text)]
    except ValueError:
        raise InputError("cat12.numbers", where=where, text=text.strip()[:40]).says(
            "{where} {text} is not a list of numbers", AGAIN
        ) from None


def _unique(names: list[str], ids: list[str], where: Problem) -> tuple[str, ...]:
    """Return the names. If several regions have the same name, their ids are added to it."""
    counts = Counter(names)
    unique = names
    if len(counts) < len(names) == len(ids):
        # In some atlases, the left and the right region have the same name and different ids.
        pairs = zip(names, ids, strict=True)
        unique = [f"{name}_{number}" if counts[name] > 1 else name for name, number in pairs]
    if "" in counts or len(set(unique)) < len(names):
        raise InputError("cat12.names", where=where).says(
            "{where} a region has no name, or the name and id of another region", AGAIN
        )
    return tuple(unique)


TIV = "TIV"
SURFACE = "catROIs_"
VOLUMES = "catROI_"
# The name of a measure in this package -> its name in CAT12.
MEASURES = {VOLUME: "Vgm"}  # grey matter, which "volume" usually means
# Atlases in order of preference. Surfaces come before volumes.
SURFACES = ("aparc_DK40", "aparc_a2009s", "aparc_HCP_MMP1")
VOXELS = ("neuromorphometrics", "lpba40", "cobra", "hammers", "aal3")

_PREFIX = re.compile(r"catROIs?_", re.IGNORECASE)
# The longitudinal pipeline also writes a file for the mean image of a person.
_AVERAGE = re.compile(r"catROIs?_avg_.+", re.IGNORECASE)


@dataclass(frozen=True)
class CatSubject:
    """The files of one image: regions of volumes, or regions of surfaces, or both."""

    id: str
    files: Mapping[str, Path]  # `VOLUMES` or `SURFACE` -> file


Atlases = dict[str, AtlasRegions]


def cat12_subjects(paths: Sequence[Path]) -> list[CatSubject]:
    """Return the subjects to which the files of regions belong, sorted by id."""
    files: dict[str, dict[str, Path]] = defaultdict(dict)
    for path in paths:
        # A subject may have one file of each kind, and both are read.
        kind = SURFACE if path.name.lower().startswith(SURFACE.lower()) else VOLUMES
        # The name of the file is catROI_ followed by the name of the image, which has the subject.
        image = path.with_name(_PREFIX.sub("", path.name, count=1))
        name = subject_id(image)
        if kind in files[name]:
            raise several_of(name, 2)
        files[name][kind] = path
    return [CatSubject(name, files[name]) for name in sorted(files)]


def is_average(path: Path) -> bool:
    """Return whether a file belongs to the mean image of a person's visits, and not to a visit."""
    return _AVERAGE.fullmatch(path.name) is not None


def read_atlases(subjects: Sequence[CatSubject]) -> tuple[dict[str, Atlases], list[Failure]]:
    """Return the atlases of each subject, and a failure for each file that cannot be read."""
    read: dict[str, Atlases] = defaultdict(dict)
    damaged = []
    for subject in subjects:
        for path in subject.files.values():
            try:
                read[subject.id] |= read_regions(path)
            except InputError as error:
                damaged.append(Failure(subject.id, str(path), error.problem))
    return {name: atlases for name, atlases in read.items() if atlases}, damaged


def choose_atlas(
    asked: str | None, measure: str | None, read: Mapping[str, Atlases]
) -> tuple[str, str]:
    """Return CAT12's names of the atlas and the measure that are read for every subject."""
    # The caller may also give CAT12's own names, such as Vwm.
    wanted = None if measure is None else MEASURES.get(measure, measure)
    counts = Counter(
        (name, column)
        for of_subject in read.values()
        for name, regions in of_subject.items()
        for column in regions.data
    )
    atlases = sorted({name for name, _ in counts})
    columns = sorted({column for _, column in counts})
    if asked is not None and asked not in atlases:
        raise unknown_parcellation(asked, atlases)
    fitting = [pair for pair in counts if asked in (None, pair[0]) and wanted in (None, pair[1])]
    if not fitting:
        near = did_you_mean(measure, columns)
        raise InputError("measure.unknown", measure=measure, near=near).says(
            "no subject has the measure {measure}", "{near}"
        )
    return preferred(counts, sorted(fitting, key=_preference), len(read))


def _preference(pair: tuple[str, str]) -> tuple[int, int, str]:
    """Return a key that sorts known atlases and usual measures first."""
    known = (*SURFACES, *VOXELS)
    atlas, measure = pair
    place = known.index(atlas) if atlas in known else len(known)
    return place, 0 if measure in (THICKNESS, *MEASURES.values()) else 1, f"{atlas} {measure}"


def read_cat_subject(
    subject: CatSubject, atlases: Atlases, atlas: str, measure: str
) -> SubjectRow | Failure:
    """Return the values of one subject, or the reason why there are none."""
    source = str(_first_file(subject))
    regions = atlases.get(atlas)
    if regions is None or measure not in regions.data:
        reason = Problem("subject.no-measure", measure=measure, atlas=atlas)
        reason.says("there is no {measure:s} of {atlas:s}")
        return Failure(subject.id, source, reason)
    try:
        report = _report_of(subject)
    except InputError as error:
        return Failure(subject.id, source, error.problem)
    values = dict(zip(regions.names, regions.data[measure], strict=True))
    # Without a report there is no TIV, but the regions can still be used.
    totals = {TIV: report.numbers[TIV]} if TIV in report.numbers else {}
    missing = "" if totals else TIV
    totals |= {name: value for name, value in values.items() if is_total(name)}
    values = {name: value for name, value in values.items() if name not in totals}
    quality: dict[str, Any] = {
        "software": report.software,
        **{name: report.numbers.get(name) for name in (*QUALITY, "GM", "WM", "CSF")},
        "missing": missing,
    }
    return SubjectRow(subject.id, person_of(subject.id), source, values, totals, quality)


def _first_file(subject: CatSubject) -> Path:
    return next(iter(subject.files.values()))


def _report_of(subject: CatSubject) -> Report:
    """Return the report of the same image, or an empty report if there is none."""
    path = _first_file(subject)
    name = f"cat_{_PREFIX.sub('', path.name, count=1)}"
    # CAT12 writes reports into a folder beside "label", unless the user turns this off.
    for place in (path.parent.parent / "report" / name, path.parent / name):
        if place.is_file():
            return read_report(place)
    return Report({})
