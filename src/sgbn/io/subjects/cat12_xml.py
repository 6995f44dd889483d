"""The reader of CAT12's XML files: regions (``catROI[s]_*.xml``) and reports (``cat_*.xml``).

A file of regions has one element per atlas, with the elements ``names``, ``ids`` and ``data``. The
data are one list of numbers per measure, in the notation of MATLAB: ``[3.4;2.1;NaN]``. ``catROI``
holds volumes in ml (``Vgm``, ``Vwm``, ``Vcsf``). ``catROIs`` holds means over surfaces
(``thickness``, ``gyrification``).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from sgbn.core.exceptions import InputError
from sgbn.io.subjects.stats_files import read_small
from sgbn.io.xml import xml_tree

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
    root = xml_tree(read_small(path, MAX_BYTES), path.name, AGAIN)
    if root.find("ROI") is not None or root.find("*/tr") is not None:
        raise InputError(
            f"{path.name} was written by CAT12 before 2017, in another layout. {AGAIN}"
        )
    atlases = {
        atlas.tag: _regions(atlas, f"{path.name}, {atlas.tag}")
        # Other elements say how the file was made.
        for atlas in root
        if atlas.find("names") is not None and atlas.find("data") is not None
    }
    if not atlases:
        raise InputError(f"{path.name} holds no atlas with names and data. {AGAIN}")
    return atlases


def read_report(path: Path) -> Report:
    """Return the TIV, the quality ratings and the version in a report."""
    root = xml_tree(read_small(path, MAX_BYTES), path.name, AGAIN)
    numbers = {}
    for name, place in QUALITY.items():
        values = _numbers(root.findtext(place, ""), f"{path.name}, {place}")
        if values and math.isfinite(values[0]):
            numbers[name] = values[0]
    tissue = _numbers(root.findtext("subjectmeasures/vol_abs_CGW", ""), f"{path.name}, CGW")
    # Volumes of lesions, which may follow, are not used.
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
                f"{where} has {len(names)} names, but {len(values)} values of {measure}. {AGAIN}"
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


def _measure(element: ElementTree.Element, where: str) -> list[float]:
    if len(element):
        return [value for item in element for value in _numbers(item.text or "NaN", where)]
    return _numbers(element.text or "", where)


def _numbers(text: str, where: str) -> list[float]:
    """Return the numbers in a text that MATLAB wrote."""
    try:
        if "_" in text:  # Python reads 1_0 as 10
            raise ValueError
        return [float(word) for word in _words(text)]
    except ValueError:
        raise InputError(
            f"{where}: {text.strip()[:40]!r} is not a list of numbers. {AGAIN}"
        ) from None


def _unique(names: list[str], ids: list[str], where: str) -> tuple[str, ...]:
    """Return the names. If several regions have the same name, their ids are added to it."""
    counts = Counter(names)
    if "" in counts:
        raise InputError(f"{where}: a region has no name. {AGAIN}")
    if counts and max(counts.values()) > 1:
        # In some atlases, the left and the right region have the same name and different ids.
        if len(ids) != len(names):
            raise InputError(
                f"{where}: several regions have the same name, but there are {len(ids)} ids for "
                f"{len(names)} regions. {AGAIN}"
            )
        pairs = zip(names, ids, strict=True)
        names = [f"{name}_{number}" if counts[name] > 1 else name for name, number in pairs]
        if len(set(names)) < len(names):
            raise InputError(
                f"{where}: several regions have the same name and the same id. {AGAIN}"
            )
    return tuple(names)
