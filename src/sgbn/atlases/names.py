"""Read region, hemisphere and measure from the name of a column, in many spellings.

A name is changed to lower case, and split into words at every character that is not a letter or a
digit. Words at its ends that name a measure are removed. The other words together are the *key*:
``lh_G&S_frontomargin_thickness`` becomes the key ``lhgsfrontomargin`` and the measure "thickness".
A region is found only by a whole key, never by a part of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import takewhile

SIDES = {"L": ("l", "lh", "left"), "R": ("r", "rh", "right")}
SIDE_WORDS = frozenset(side for sides in SIDES.values() for side in sides)
# A key of at most this many characters keeps its separators, because LC_R is a region, but LCR may
# mean anything.
MAX_SHORT_KEY = 4
MAX_MEASURE_WORDS = 3  # at either end of a name, as in mean_thickness_mm
# As in ctx-lh-insula, lh.aparc.insula, lh.aparc.DKTatlas.mapped.insula
IGNORED_FIRST = frozenset({"ctx", "aparc", "aseg", "dktatlas", "mapped"})
# G_and_S, G&S, G.S and G_S are the same name; so are 7Networks_LH_Vis_1 and LH_Vis_1
IGNORED = frozenset({"and", "7networks", "17networks"})
SAME = {"cerebelum": "cerebellum", "cingulum": "cingulate"}  # spellings in older and newer AAL

# Other names of structures, without their side. They come from ENIGMA, from later versions of
# FreeSurfer, and from plain English.
ALIASES = {
    "thalamusproper": ("thalamus", "thal"),
    "caudate": ("caud",),
    "putamen": ("put",),
    "pallidum": ("pal",),
    "hippocampus": ("hippo",),
    "amygdala": ("amyg",),
    "accumbensarea": ("accumbens", "accumb"),
    "lateralventricle": ("latvent",),
    "inflatvent": ("inferiorlateralventricle",),
}

# Words of measures at either end of the name of a column. The words under "" are removed too, but
# they do not say which measure it is.
_WORDS = {
    "thickness": "thickness thick thickavg ct",
    "thickness_std": "thicknessstd thickstd",
    "volume": "volume vol grayvol greyvol gmv gmvol gm vgm gray grey mm3 ml",
    "white_matter_volume": "wm wmv vwm",
    "csf_volume": "vcsf",
    "area": "area surfarea surfavg surf sa mm2",
    "curvature": "meancurv curv curvature",
    "gaussian_curvature": "gauscurv",
    "folding_index": "foldind",
    "curvature_index": "curvind",
    "gyrification": "gyrification lgi",
    "depth": "depth sulc sqrtdepth",
    "fractal_dimension": "fractaldimension",
    "vertices": "numvert",
    "voxels": "nvoxels",
    "suvr": "suvr",
    "suv": "suv",
    "intensity": "normmean intensity",
    "": "mean avg average median mm roi",
}
MEASURES = {word: measure for measure, words in _WORDS.items() for word in words.split()}

_SEPARATORS = re.compile(r"[\W_]+")
_NOT_BETWEEN_DIGITS = re.compile(r"(?<!\d)_|_(?!\d)")
_MADE_VALID = re.compile(r"^x(?=\d)")  # R writes 3rd.Ventricle as X3rd.Ventricle


def words(name: str) -> list[str]:
    """Return the words of a name in lower case, in one spelling each."""
    lower = _MADE_VALID.sub("", name.strip().lower())
    # This comes before splitting, because some names have no separators between words.
    for older, newer in SAME.items():
        lower = lower.replace(older, newer)
    parts = [word for word in _SEPARATORS.split(lower) if word and word not in IGNORED]
    first = 1 if parts and parts[0] in SIDE_WORDS else 0  # lh.aparc.insula has its side first
    while len(parts) > first and parts[first] in IGNORED_FIRST:
        del parts[first]
    return parts[1:] if _says_side_twice(parts) else parts


def _says_side_twice(parts: list[str]) -> bool:
    """Return whether the first two words name the same side, as in FreeSurfer's lh_L_V1_ROI."""
    return len(parts) > 2 and any(set(parts[:2]) <= set(sides) for sides in SIDES.values())


@lru_cache(maxsize=10_000)  # every column is looked up in every atlas
def readings(column: str) -> tuple[tuple[str, str], ...]:
    """Return each possible key of a column, with the measure that its other words name.

    The longest key is first, so that ``Left-Accumbens-area`` comes before ``Left-Accumbens``. The
    last keys are for names in which a measure is between region and side (``insula_thickness_lh``).
    """
    parts = words(column)
    return tuple(reading for order in _orders(parts) for reading in _readings(order))


def _orders(parts: list[str]) -> Iterator[list[str]]:
    """Yield the words. If a measure is between side and region, yield them with moved side too."""
    yield parts
    if len(parts) > 1 and parts[-1] in SIDE_WORDS and parts[-2] in MEASURES:
        yield [parts[-1], *parts[:-1]]
    if len(parts) > 1 and parts[0] in SIDE_WORDS and parts[1] in MEASURES:
        yield [*parts[1:], parts[0]]


def _readings(parts: list[str]) -> Iterator[tuple[str, str]]:
    lead = _leading(parts)
    trail = _leading(parts[::-1])
    for taken in range(lead + trail + 1):
        for first in range(min(taken, lead) + 1):
            last = len(parts) - (taken - first)
            if taken - first > trail or first >= last:
                continue
            yield key(parts[first:last]), _measure(parts[:first] + parts[last:])


def key(parts: list[str]) -> str:
    """Return the key of words: the words without separators.

    Separators stay between digits (V1_2 is not V12) and in keys of at most `MAX_SHORT_KEY`
    characters.
    """
    joined = "".join(parts)
    if len(joined) <= MAX_SHORT_KEY:
        return "_".join(parts)
    return joined if joined.isalpha() else _NOT_BETWEEN_DIGITS.sub("", "_".join(parts))


@lru_cache(maxsize=10_000)  # atlases share regions
def name_keys(name: str, hemisphere: str) -> frozenset[str]:
    """Return the keys of a region: of its name, and of its name with every spelling of its side."""
    parts = words(name)
    return frozenset({key(parts)} | with_side(_without_side(parts, hemisphere), hemisphere))


def alias_keys(name: str, hemisphere: str) -> set[str]:
    """Return the keys of a region's aliases, including the spelling of ENIGMA (Lput)."""
    aliases = ALIASES.get(stem(name, hemisphere), ())
    joined = {key([hemisphere.lower() + alias]) for alias in aliases}
    return joined.union(*(with_side([alias], hemisphere) for alias in aliases))


def stem(name: str, hemisphere: str) -> str:
    """Return the words of a region's name without side and separators: the same for L and R."""
    return "".join(_without_side(words(name), hemisphere))


def with_side(parts: list[str], hemisphere: str) -> set[str]:
    """Return the keys of these words with every spelling of the side at either end."""
    sides = SIDES.get(hemisphere)
    if sides is None:
        return {key(parts)}
    return {key([side, *parts]) for side in sides} | {key([*parts, side]) for side in sides}


def _without_side(parts: list[str], hemisphere: str) -> list[str]:
    sides = SIDES.get(hemisphere, ())
    if len(parts) > 1 and parts[0] in sides:
        return parts[1:]
    if len(parts) > 1 and parts[-1] in sides:
        return parts[:-1]
    return parts


def _leading(parts: list[str]) -> int:
    """Return how many of the first words name a measure."""
    known = (word in MEASURES for word in parts[:MAX_MEASURE_WORDS])
    return sum(1 for _ in takewhile(bool, known))


def _measure(parts: list[str]) -> str:
    """Return the measure that these words name, or "" if they name none."""
    return next((MEASURES[word] for word in parts if MEASURES[word]), "")
