"""Readable names of regions: ``lh_S_oc-temp_lat`` is "L lat. occ.-temp. sulcus"."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

from sgbn.atlases.atlas import Region
from sgbn.atlases.names import stem


def label_of(region: Region) -> str:
    """Short readable name of a region, its side first; "" if none is known.

    Known are the regions of the atlases of the package, in ``labels.csv``, and those of other
    atlases that have the same name.
    """
    known = _labels().get(stem(region.name, region.hemisphere))
    return f"{region.hemisphere} {known}".lstrip() if known else ""


@cache
def _labels() -> dict[str, str]:
    """Name without its side, as `stem` writes it -> label."""
    text = (files("sgbn.atlases") / "labels.csv").read_text(encoding="utf-8")
    return {stem(row["region"], ""): row["label"] for row in csv.DictReader(text.splitlines())}
