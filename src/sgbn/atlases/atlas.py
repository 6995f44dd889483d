"""An atlas: named regions with hemisphere, lobe and place, found by a column's name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from sgbn.atlases.names import alias_keys, name_keys, readings

UNKNOWN_LOBE = "unknown"


class Region(NamedTuple):
    """A region: hemisphere "L", "R" or "" on the midline; centre in MNI space, in mm.

    `lobe` is the network where the atlas has networks, and "unknown" where a table does not say it;
    centre and volume are NaN where they are not known. Columns may carry `other_names`, such as the
    abbreviations of CAT12.
    """

    name: str
    hemisphere: str
    lobe: str
    x: float
    y: float
    z: float
    volume_mm3: float
    other_names: tuple[str, ...] = ()


class AtlasFile(NamedTuple):
    """The table of a user's own atlas.

    Attributes
    ----------
    path, sha256 : str
        Path of the file, and the checksum of its content.
    label_image : str
        Name of the image whose regions these are, if ``sgbn extract`` wrote the table; else "".
    """

    path: str
    sha256: str
    label_image: str


@dataclass(frozen=True)
class Atlas:
    """Regions under one name.

    Attributes
    ----------
    name, title : str
        Name in options and files, and title for readers.
    regions : tuple of Region
        All regions, in the order of the table.
    file : AtlasFile or None
        Table that a user's own atlas was read from; None for an atlas of the package.
    """

    name: str
    title: str
    regions: tuple[Region, ...]
    file: AtlasFile | None = None

    def find(self, column: str) -> Region | None:
        """Region that a column's name means, whatever its spelling; None if it means none."""
        reading = self.read(column)
        return reading[0] if reading else None

    def read(self, column: str) -> tuple[Region, str] | None:
        """Region and measure that a column's name means; None if it means no region."""
        if column in self._by_name:
            return self._by_name[column], ""
        for key, measure in readings(column):
            if key in self._by_key:
                return self._by_key[key], measure
        return None

    @cached_property
    def _by_name(self) -> dict[str, Region]:
        """Name as written -> region; names may differ in signs alone, such as T1+ and T1-."""
        count = Counter(region.name for region in self.regions)
        # A name that both hemispheres have tells neither.
        return {region.name: region for region in self.regions if count[region.name] == 1}

    @cached_property
    def _by_key(self) -> dict[str, Region]:
        """Key -> region; what a region is called in the atlas goes before another's alias."""
        # The right side of | wins.
        return _unambiguous(self.regions, other_keys) | _unambiguous(self.regions, own_keys)


def own_keys(region: Region) -> frozenset[str]:
    """Keys of a region by its name in the atlas."""
    return name_keys(region.name, region.hemisphere)


def other_keys(region: Region) -> frozenset[str]:
    """Keys of a region by the other names that it has in all atlases, or in this one."""
    named = (name_keys(name, region.hemisphere) for name in region.other_names)
    return frozenset(alias_keys(region.name, region.hemisphere).union(*named))


def _unambiguous(
    regions: Iterable[Region], keys_of: Callable[[Region], frozenset[str]]
) -> dict[str, Region]:
    """Key -> region. A key of two regions is left out: to take one would be a guess."""
    keys = [(key, region) for region in regions for key in keys_of(region)]
    count = Counter(key for key, _ in keys)
    return {key: region for key, region in keys if count[key] == 1}
