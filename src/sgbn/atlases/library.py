"""The atlases that come with the package."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from sgbn.atlases.atlas import Atlas, Region
from sgbn.atlases.tables import parse_regions
from sgbn.core.exceptions import InputError

_TITLES = {
    "desikan_killiany": "Desikan-Killiany cortex and FreeSurfer's aseg",
    "destrieux": "Destrieux cortex (aparc.a2009s) and FreeSurfer's aseg",
    "aal": "Automated Anatomical Labeling (AAL)",
    "aal2": "Automated Anatomical Labeling 2 (AAL2)",
    "aal3": "Automated Anatomical Labeling 3 (AAL3)",
    "dkt": "Desikan-Killiany-Tourville cortex (aparc.DKTatlas) and FreeSurfer's aseg",
    "harvard_oxford": "Harvard-Oxford cortex, left and right, and subcortical structures",
    "brainnetome": "Human Brainnetome Atlas",
    "glasser": "HCP multi-modal parcellation (HCP-MMP1, Glasser)",
    "neuromorphometrics": "Neuromorphometrics, as CAT12 and SPM have it",
    "lpba40": "LONI Probabilistic Brain Atlas (LPBA40)",
}
_SCHAEFER = {
    f"schaefer_{size}_{networks}": f"Schaefer 2018, {size} parcels of {networks} networks"
    for networks in (7, 17)
    for size in (100, 200, 300, 400)
}
ATLASES: tuple[str, ...] = (*_TITLES, *_SCHAEFER)
ATLAS_NAMES = (
    f"{', '.join(_TITLES)}, schaefer_N_7 and schaefer_N_17, where N is 100, 200, 300 or 400"
)

_TABLES = {
    "desikan_killiany": ("desikan_killiany", "aseg"),
    "destrieux": ("destrieux", "aseg"),
    "dkt": ("dkt", "aseg"),
}

# Other names of the atlases, in lower case, with letters and digits only
_OTHER_NAMES = {
    "desikan_killiany": "dk dk40 dk68 desikan aparc aparcaseg aparcdk40 desikankillianyaseg",
    "destrieux": "aparca2009s aparca2009saseg a2009s",
    "aal": "aal1 aal116",
    "aal2": "aal120",
    "aal3": "aal3v1 aal166",
    "dkt": (
        "dkt31 dkt40 dkt62 dktatlas aparcdkt aparcdkt40 aparcdktaseg aparcdktatlas aparcdktatlas40 "
        "aparcdktatlasaseg aparcdktatlasmapped desikankillianytourville"
    ),
    "harvard_oxford": "ho hoa hoa111 harvardoxfordlateralized",
    "brainnetome": "bna bna246 bn246 bnatlas bnatlas246 brainnetome246 brainnetomeatlas",
    "glasser": "hcpmmp hcpmmp1 hcpmmp10 hcpmmp360 mmp mmp1 mmp10 glasser360 glasser2016",
    "neuromorphometrics": "neuromorpho nmm",
    "lpba40": "lpba lpba56",
}
_BY_NAME = {
    other.replace("_", ""): name
    for name in _TITLES
    for other in (name, *_OTHER_NAMES[name].split())
}
# schaefer200, Schaefer2018_200Parcels_7Networks_order, schaefer_200_17, schaefer400x7
_SCHAEFER_NAME = re.compile(
    r"schaefer(2018)?(desc)?(?P<size>[1-4]00)(parcels?|parcellation|regions|rois)?x?"
    r"(?P<networks>7|17)?(networks?|nets?|n)?(order)?"
)
# Networks in the names of Schaefer's parcels. If no column contains one of them, Schaefer's eight
# tables are not loaded.
_OF_SCHAEFER = re.compile("vis|sommot|attn|limbic|cont|default|temppar", re.IGNORECASE)


def load_atlas(name: str) -> Atlas:
    """Return an atlas of the package by its name, in many spellings.

    ``"desikan_killiany"``, ``"destrieux"`` and ``"dkt"`` also contain FreeSurfer's aseg structures,
    because one table may have both. ``"aal3"`` has 166 regions, because its four labels without
    voxels are left out. ``"schaefer200"`` is Schaefer's atlas with 200 parcels and 7 networks, and
    ``"schaefer_200_17"`` with 17 networks. ``sgbn.atlases.ATLASES`` lists all names.

    Parameters
    ----------
    name : str
        Name of the atlas, such as "dk", "aparc.a2009s" or "AAL116".
    """
    # "AAL 3", "aal-3" and "AAL3" are the same name.
    plain = "".join(letter for letter in str(name).lower() if letter.isalnum())
    schaefer = _SCHAEFER_NAME.fullmatch(plain)
    if schaefer:
        return _load(f"schaefer_{schaefer['size']}_{schaefer['networks'] or 7}")
    if plain not in _BY_NAME:
        raise InputError(
            f"no atlas is called {name!r}. Use one of {ATLAS_NAMES}, or read your own table with "
            "read_atlas."
        )
    return _load(_BY_NAME[plain])


def atlases_for(columns: Iterable[str]) -> list[str]:
    """Return the names of the atlases that may match some columns, in the order of `ATLASES`."""
    # Some networks have ordinary names, such as "default". Then tables may be loaded needlessly.
    schaefer = any(map(_OF_SCHAEFER.search, columns))
    return [name for name in ATLASES if schaefer or name not in _SCHAEFER]


def is_schaefer(atlas: Atlas) -> bool:
    """Return whether an atlas is one of Schaefer's atlases, which share names of parcels."""
    return atlas.name in _SCHAEFER


def is_aseg(region: Region) -> bool:
    """Return whether a region is a structure of FreeSurfer's aseg, which is measured by volume."""
    return region in _aseg()


@cache  # atlases cannot be changed, so that all callers can share them
def _load(name: str) -> Atlas:
    tables = _TABLES.get(name, (name,))
    title = _TITLES.get(name) or _SCHAEFER[name]
    return Atlas(name, title, tuple(r for table in tables for r in _packaged(table)))


@cache
def _aseg() -> frozenset[Region]:
    return frozenset(_packaged("aseg"))


@cache
def _packaged(table: str) -> tuple[Region, ...]:
    file = files("sgbn.atlases") / f"{table}.csv"
    return parse_regions(file.read_text(encoding="utf-8"), file.name)
