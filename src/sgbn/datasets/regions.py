"""Choose the regions of an atlas for a simulated cohort."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from sgbn.atlases import Atlas, Region
from sgbn.atlases.names import stem
from sgbn.core.exceptions import InputError
from sgbn.core.validation import is_whole

USUAL_VOLUME = 4400.0  # mm^3, if the atlas has no volume: about the median of all known volumes
FLUID = "ventricle/CSF"  # not tissue, so chosen only by name
_FORTY_NAMES = """
Frontal_Sup Frontal_Mid Frontal_Inf_Tri Rectus Cingulum_Ant Cingulum_Post Insula Hippocampus
ParaHippocampal Amygdala Fusiform Temporal_Sup Temporal_Mid Temporal_Pole_Sup Parietal_Sup
Precuneus Angular Lingual Thalamus Caudate
"""
FORTY = tuple(  # the default of AAL: twenty regions of each hemisphere, from the whole brain
    f"{name}_{side}" for name in _FORTY_NAMES.split() for side in "LR"
)


def choose_regions(atlas: Atlas, wanted: int | Sequence[str] | None) -> tuple[Region, ...]:
    """Return regions of an atlas: all tissue (None), a number of regions, or regions by name.

    A number of regions is chosen in pairs of both hemispheres, from each lobe in turn. If 40
    regions of AAL are wanted, they are always the regions in `FORTY`.
    """
    if wanted is None:
        chosen = _tissue(atlas)
    elif is_whole(wanted):
        chosen = _so_many(atlas, int(wanted))
    elif isinstance(wanted, Iterable) and not isinstance(wanted, str):
        chosen = _named(atlas, list(wanted))
    else:
        raise InputError(f"regions is {wanted!r}. Give a number, a list of names, or None for all.")
    if len(chosen) < 2:
        raise InputError(f"regions has length {len(chosen)}. Give two or more for a network.")
    return chosen


def twin_key(region: Region) -> str:
    """Return the name of a region without its side. Both twins (left and right) have this name."""
    return stem(region.name, region.hemisphere)


def volume_of(region: Region) -> float:
    """Return the volume of a region in mm^3, or `USUAL_VOLUME` if it is unknown."""
    return float(region.volume_mm3) if region.volume_mm3 > 0 else USUAL_VOLUME


def _tissue(atlas: Atlas) -> tuple[Region, ...]:
    return tuple(region for region in atlas.regions if region.lobe != FLUID)


def _so_many(atlas: Atlas, count: int) -> tuple[Region, ...]:
    if atlas.name == "aal" and count == len(FORTY):
        return _named(atlas, FORTY)
    tissue = _tissue(atlas)
    if not 2 <= count <= len(tissue):
        raise InputError(
            f"the atlas {atlas.name!r} cannot give {count} regions. Give 2 to {len(tissue)}, or "
            "None for all."
        )
    return tuple(sorted(_in_turns(tissue)[:count], key=tissue.index))


def _in_turns(regions: Sequence[Region]) -> list[Region]:
    """Return the regions in turns: the first pair of each lobe, then the second pair, and so on."""
    lobes: dict[str, dict[str, list[Region]]] = {}
    for region in regions:
        lobes.setdefault(region.lobe, {}).setdefault(twin_key(region), []).append(region)
    turns = zip_longest(*(list(pairs.values()) for pairs in lobes.values()), fillvalue=[])
    return [region for turn in turns for pair in turn for region in pair]


def _named(atlas: Atlas, names: Sequence[str]) -> tuple[Region, ...]:
    matched = {str(name): atlas.find(str(name)) for name in names}
    unknown = [name for name, region in matched.items() if region is None]
    if unknown:
        raise InputError(
            f"the atlas {atlas.name!r} has no region {unknown[0]!r} ({len(unknown)} unknown). Use "
            f"names such as {atlas.regions[0].name!r}."
        )
    chosen = [region for region in matched.values() if region is not None]
    if len(set(chosen)) < len(names):
        raise InputError("a region is named twice in `regions`. Name each region once.")
    return tuple(chosen)
