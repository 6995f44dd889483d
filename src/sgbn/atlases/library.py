"""The atlases that come with the package."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from sgbn.atlases.atlas import Atlas, Region
from sgbn.atlases.tables import parse_regions
from sgbn.exceptions import InputError

ATLASES: tuple[str, ...] = ("desikan_killiany", "destrieux", "aal", "aal2", "aal3")

_TITLES = {
    "desikan_killiany": "Desikan-Killiany cortex and FreeSurfer's aseg",
    "destrieux": "Destrieux cortex (aparc.a2009s) and FreeSurfer's aseg",
    "aal": "Automated Anatomical Labeling (AAL)",
    "aal2": "Automated Anatomical Labeling 2 (AAL2)",
    "aal3": "Automated Anatomical Labeling 3 (AAL3)",
}
_TABLES = {"desikan_killiany": ("desikan_killiany", "aseg"), "destrieux": ("destrieux", "aseg")}

# Other names, in lower case, letters and digits only.
_OTHER_NAMES = {
    "desikan_killiany": (
        "desikankilliany",
        "desikankillianyaseg",
        "desikan",
        "dk",
        "dk40",
        "dk68",
        "aparc",
        "aparcaseg",
        "aparcdk40",
    ),
    "destrieux": ("destrieux", "aparca2009s", "aparca2009saseg", "a2009s"),
    "aal": ("aal", "aal1", "aal116"),
    "aal2": ("aal2", "aal120"),
    "aal3": ("aal3", "aal3v1", "aal166"),
}
_BY_NAME = {other: name for name, others in _OTHER_NAMES.items() for other in others}


def load_atlas(name: str) -> Atlas:
    """Atlas of the package by its name, tolerant of spelling ("dk", "aparc.a2009s", "AAL116").

    ``"desikan_killiany"`` and ``"destrieux"`` hold FreeSurfer's aseg structures too, as tables
    mix them. ``"aal3"`` has 166 regions: the four of its labels that own no voxel are left out.
    """
    plain = "".join(letter for letter in str(name).lower() if letter.isalnum())
    if plain not in _BY_NAME:
        raise InputError(
            f"no atlas is called {name!r}: there are {', '.join(ATLASES)}. read_atlas reads your "
            "own table."
        )
    return _load(_BY_NAME[plain])


def is_aseg(region: Region) -> bool:
    """Whether a region is a structure of FreeSurfer's aseg, which is measured by its volume."""
    return region in _aseg()


@cache
def _load(name: str) -> Atlas:
    tables = _TABLES.get(name, (name,))
    return Atlas(name, _TITLES[name], tuple(r for table in tables for r in _packaged(table)))


@cache
def _aseg() -> frozenset[Region]:
    return frozenset(_packaged("aseg"))


@cache
def _packaged(table: str) -> tuple[Region, ...]:
    file = files("sgbn.atlases") / f"{table}.csv"
    return parse_regions(file.read_text(encoding="utf-8"), file.name)
