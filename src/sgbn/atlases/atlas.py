"""The class of an atlas, which finds the region that the name of a column means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from sgbn.atlases.names import alias_keys, name_keys, readings

UNKNOWN_LOBE = "unknown"


class Region(NamedTuple):
    """A region of an atlas.

    Attributes
    ----------
    name : str
        Name in the atlas.
    hemisphere : str
        "L", "R", or "" on the midline.
    lobe : str
        Lobe, or network if the atlas has networks. "unknown" if the table does not contain it.
    x, y, z : float
        Centre in MNI space, in mm. NaN if unknown.
    volume_mm3 : float
        Volume. NaN if unknown.
    other_names : tuple of str
        Other names that columns may have, such as the abbreviations of CAT12.
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
        Name of the label image, if ``sgbn extract`` wrote the table. Otherwise "".
    """

    path: str
    sha256: str
    label_image: str


@dataclass(frozen=True)
class Atlas:
    """An atlas and its regions.

    Attributes
    ----------
    name, title : str
        Name in options and files, and title for readers.
    regions : tuple of Region
        All regions, in the order of the table.
    file : AtlasFile or None
        Table from which a user's own atlas was read. None for an atlas of the package.
    """

    name: str
    title: str
    regions: tuple[Region, ...]
    file: AtlasFile | None = None

    def find(self, column: str) -> Region | None:
        """Return the region that a column name means, or None. Many spellings are known."""
        reading = self.read(column)
        return reading[0] if reading else None

    def read(self, column: str) -> tuple[Region, str] | None:
        """Return the region and the measure that a column name means, or None."""
        if column in self._by_name:
            return self._by_name[column], ""
        for key, measure in readings(column):
            if key in self._by_key:
                return self._by_key[key], measure
        return None

    @cached_property
    def _by_name(self) -> dict[str, Region]:
        """Return the regions by their exact name."""
        # Exact names are needed because some differ only in a sign, such as T1+ and T1-.
        count = Counter(region.name for region in self.regions)
        # A name that both hemispheres share is left out, because it does not contain the side.
        return {region.name: region for region in self.regions if count[region.name] == 1}

    @cached_property
    def _by_key(self) -> dict[str, Region]:
        """Return the regions by key (see `sgbn.atlases.names.key`)."""
        # The right side of | wins: a name in the atlas counts before an alias of another region.
        return _unambiguous(self.regions, other_keys) | _unambiguous(self.regions, own_keys)


def own_keys(region: Region) -> frozenset[str]:
    """Return the keys of a region's name in the atlas."""
    return name_keys(region.name, region.hemisphere)


def other_keys(region: Region) -> frozenset[str]:
    """Return the keys of a region's other names: general aliases, and other names in the atlas."""
    named = (name_keys(name, region.hemisphere) for name in region.other_names)
    return frozenset(alias_keys(region.name, region.hemisphere).union(*named))


def _unambiguous(
    regions: Iterable[Region], keys_of: Callable[[Region], frozenset[str]]
) -> dict[str, Region]:
    """Return the regions by key, without keys that several regions share."""
    # Choosing one of several regions would be a guess.
    keys = [(key, region) for region in regions for key in keys_of(region)]
    count = Counter(key for key, _ in keys)
    return {key: region for key, region in keys if count[key] == 1}
