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

    The lobe is "unknown", and centre and volume are NaN, where a table does not say them.
    """

    name: str
    hemisphere: str
    lobe: str
    x: float
    y: float
    z: float
    volume_mm3: float


class AtlasFile(NamedTuple):
    """The table of a user's own atlas.

    Attributes
    ----------
    path, sha256 : str
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
    regions : tuple of Region
    file : AtlasFile or None
        Where a user's own atlas was read; None of those of the package.
    """

    name: str
    title: str
    regions: tuple[Region, ...]
    file: AtlasFile | None = None

    def find(self, column: str) -> Region | None:
        """Region that a column's name means, whatever its spelling; None if it means none."""
        found = self.read(column)
        return found[0] if found else None

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
        return {region.name: region for region in self.regions if count[region.name] == 1}

    @cached_property
    def _by_key(self) -> dict[str, Region]:
        """Key -> region; what a region is called in the atlas goes before another's alias."""
        return _unambiguous(self.regions, alias_keys) | _unambiguous(self.regions, name_keys)


def _unambiguous(
    regions: Iterable[Region], keys_of: Callable[[str, str], set[str]]
) -> dict[str, Region]:
    """Key -> region. A key of two regions is left out: to take one would be a guess."""
    keys = [(key, region) for region in regions for key in keys_of(region.name, region.hemisphere)]
    count = Counter(key for key, _ in keys)
    return {key: region for key, region in keys if count[key] == 1}
