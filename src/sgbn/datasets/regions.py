"""Which regions of an atlas a simulated cohort has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from sgbn.atlases import Atlas, Region
from sgbn.atlases.names import stem
from sgbn.exceptions import InputError
from sgbn.parameters import is_whole

USUAL_VOLUME = 4400.0  # mm^3 where the atlas gives none: about the median of all that are given
FLUID = "ventricle/CSF"  # no tissue: taken only when named
_FORTY_NAMES = """
Frontal_Sup Frontal_Mid Frontal_Inf_Tri Rectus Cingulum_Ant Cingulum_Post Insula Hippocampus
ParaHippocampal Amygdala Fusiform Temporal_Sup Temporal_Mid Temporal_Pole_Sup Parietal_Sup
Precuneus Angular Lingual Thalamus Caudate
"""
FORTY = tuple(  # twenty regions of each hemisphere, over the whole brain: AAL's default
    f"{name}_{side}" for name in _FORTY_NAMES.split() for side in "LR"
)


def choose_regions(atlas: Atlas, wanted: int | Sequence[str] | None) -> tuple[Region, ...]:
    """Regions of an atlas: all of its tissue (None), so many, or those named.

    A number of regions is taken in pairs of both hemispheres, and the lobes take turns. The 40
    regions of AAL are a list that never changes.
    """
    if wanted is None:
        chosen = _tissue(atlas)
    elif is_whole(wanted):
        chosen = _so_many(atlas, int(wanted))
    elif isinstance(wanted, Iterable) and not isinstance(wanted, str):
        chosen = _named(atlas, list(wanted))
    else:
        raise InputError(f"regions is {wanted!r}: give a number, a list of names, or None for all.")
    if len(chosen) < 2:
        raise InputError(f"regions holds {len(chosen)}: a network needs two or more.")
    return chosen


def twin_key(region: Region) -> str:
    """Name of a region without its side: the same for its twin of the other hemisphere."""
    return stem(region.name, region.hemisphere)


def volume_of(region: Region) -> float:
    """Volume of a region in mm^3; `USUAL_VOLUME` where the atlas gives none."""
    return float(region.volume_mm3) if region.volume_mm3 > 0 else USUAL_VOLUME


def _tissue(atlas: Atlas) -> tuple[Region, ...]:
    return tuple(region for region in atlas.regions if region.lobe != FLUID)


def _so_many(atlas: Atlas, count: int) -> tuple[Region, ...]:
    if atlas.name == "aal" and count == len(FORTY):
        return _named(atlas, FORTY)
    tissue = _tissue(atlas)
    if not 2 <= count <= len(tissue):
        raise InputError(
            f"{count} regions of the atlas {atlas.name!r}: give 2 to {len(tissue)}, or None for "
            "all."
        )
    return tuple(sorted(_in_turns(tissue)[:count], key=tissue.index))


def _in_turns(regions: Sequence[Region]) -> list[Region]:
    """Regions, the first pair of each lobe before the second pair of any."""
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
            f"the atlas {atlas.name!r} has no region {unknown[0]!r} ({len(unknown)} unknown). Its "
            f"names are like {atlas.regions[0].name!r}."
        )
    chosen = [region for region in matched.values() if region is not None]
    if len(set(chosen)) < len(names):
        raise InputError("a region is named twice in `regions`. Name each once.")
    return tuple(chosen)
