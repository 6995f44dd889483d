"""XML files of CAT12: regions (``catROI_*.xml``, ``catROIs_*.xml``) and reports (``cat_*.xml``).

A file of regions has one element per atlas, and in it ``names``, ``ids`` and ``data`` with one list
of numbers per measure, written as MATLAB does: ``[3.4;2.1;NaN]``. ``catROI`` holds volumes in ml
(``Vgm``, ``Vwm``, ``Vcsf``), ``catROIs`` means over surfaces (``thickness``, ``gyrification``).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from sgbn.exceptions import InputError
from sgbn.io.subjects.stats_files import read_small
from sgbn.io.xml import xml_tree

MAX_BYTES = 2**26  # a file of all atlases has about 1 MB
AGAIN = "Estimate the regions of this subject again in CAT12."

# Columns of the sheet of quality -> where a report has them.
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
TISSUES = ("CSF", "GM", "WM")  # order of vol_abs_CGW, which goes on with lesions

_BETWEEN = re.compile(r"[;,\s]+")


@dataclass(frozen=True)
class AtlasRegions:
    """Regions of one atlas: their names, and per measure one value for each."""

    names: tuple[str, ...]
    data: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True)
class Report:
    """The content of one image's report: numbers by name, and the version of CAT12."""

    numbers: Mapping[str, float]
    software: str = ""


def read_regions(path: Path) -> dict[str, AtlasRegions]:
    """Return atlas -> its regions."""
    root = xml_tree(read_small(path, MAX_BYTES), path.name, AGAIN)
    if root.find("ROI") is not None or root.find("*/tr") is not None:
        raise InputError(
            f"{path.name} was written by CAT12 before 2017, in another layout. {AGAIN}"
        )
    atlases = {
        atlas.tag: _regions(atlas, f"{path.name}, {atlas.tag}")
        # Elements without names and data say how the file was made.
        for atlas in root
        if atlas.find("names") is not None and atlas.find("data") is not None
    }
    if not atlases:
        raise InputError(f"{path.name} holds no atlas with names and data. {AGAIN}")
    return atlases


def read_report(path: Path) -> Report:
    """Return TIV, quality and version, as a report has them."""
    root = xml_tree(read_small(path, MAX_BYTES), path.name, AGAIN)
    numbers = {}
    for name, place in QUALITY.items():
        values = _numbers(root.findtext(place, ""), f"{path.name}, {place}")
        if values and math.isfinite(values[0]):
            numbers[name] = values[0]
    tissue = _numbers(root.findtext("subjectmeasures/vol_abs_CGW", ""), f"{path.name}, CGW")
    # Further volumes, of lesions, are in no column.
    numbers |= dict(zip(TISSUES, tissue, strict=False))
    version = root.findtext("software/version_cat", "").strip()
    revision = root.findtext("software/revision_cat", "").strip()
    words = [version and f"CAT12 {version}", revision and f"r{revision}"]
    return Report(numbers, " ".join(filter(None, words)))


def _regions(atlas: ElementTree.Element, where: str) -> AtlasRegions:
    names = _texts(atlas.find("names"))
    measures = atlas.findall("data/*")
    data = {
        measure.tag: tuple(_measure(measure, f"{where}, {measure.tag}")) for measure in measures
    }
    for measure, values in data.items():
        if len(values) != len(names):
            raise InputError(
                f"{where}: {len(names)} names, but {len(values)} values of {measure}. {AGAIN}"
            )
    return AtlasRegions(_unique(names, _texts(atlas.find("ids")), where), data)


def _texts(element: ElementTree.Element | None) -> list[str]:
    """Return the items of a list; one that MATLAB wrote as text is cut at its separators."""
    if element is None:
        return []
    if len(element):
        return [(item.text or "").strip() for item in element]
    return _words(element.text or "")


def _words(text: str) -> list[str]:
    """Return what stands between separators in text such as ``[1;NaN;3]`` or ``1 2``."""
    return [word for word in _BETWEEN.split(text.strip(" \t\r\n[]")) if word]


def _measure(element: ElementTree.Element, where: str) -> list[float]:
    if len(element):
        return [value for item in element for value in _numbers(item.text or "NaN", where)]
    return _numbers(element.text or "", where)


def _numbers(text: str, where: str) -> list[float]:
    """Return numbers that MATLAB wrote."""
    try:
        if "_" in text:  # Python reads 1_0 as 10
            raise ValueError
        return [float(word) for word in _words(text)]
    except ValueError:
        raise InputError(
            f"{where}: {text.strip()[:40]!r} is not a list of numbers. {AGAIN}"
        ) from None


def _unique(names: list[str], ids: list[str], where: str) -> tuple[str, ...]:
    """Return the names, with the id behind those that two regions have."""
    counts = Counter(names)
    if "" in counts:
        raise InputError(f"{where}: a region has no name. {AGAIN}")
    if counts and max(counts.values()) > 1:
        # Left and right of some atlases have one name, and ids that differ.
        if len(ids) != len(names):
            raise InputError(f"{where}: regions share a name, and have no ids. {AGAIN}")
        pairs = zip(names, ids, strict=True)
        names = [f"{name}_{number}" if counts[name] > 1 else name for name, number in pairs]
        if len(set(names)) < len(names):
            raise InputError(f"{where}: regions share both name and id. {AGAIN}")
    return tuple(names)
