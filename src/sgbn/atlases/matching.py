"""Which columns of a table are regions, and of which atlas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sgbn.atlases.atlas import Atlas, Region
from sgbn.atlases.library import ATLASES, is_aseg, load_atlas
from sgbn.atlases.sources import AtlasLike, as_atlas
from sgbn.atlases.totals import is_csf, is_total, is_whole_head

FEWEST = 2  # columns that an atlas must match to be taken for the table's own


@dataclass(frozen=True)
class ColumnMatch:
    """A column that is a region.

    Attributes
    ----------
    column : str
        As given.
    region : Region
    measure : str
        ``"thickness"``, ``"volume"``, ``"area"``, ``"curvature"``, ... or ``""`` if the name
        does not say it.
    """

    column: str
    region: Region
    measure: str


@dataclass(frozen=True)
class AtlasMatch:
    """Columns of a table, sorted into regions, totals and the rest.

    Attributes
    ----------
    atlas : Atlas or None
    columns : tuple of ColumnMatch
        In the order given. Two columns may be the same region and measure.
    totals : tuple of str
        Values that are never regions, see `is_total`.
    unmatched : tuple of str
        All the rest.
    """

    atlas: Atlas | None
    columns: tuple[ColumnMatch, ...]
    totals: tuple[str, ...]
    unmatched: tuple[str, ...]


def match_columns(columns: Sequence[str], atlas: AtlasLike | None = None) -> AtlasMatch:
    """Find the columns that are regions of an atlas.

    Parameters
    ----------
    columns : sequence of str
    atlas : Atlas, str, path or None
        None takes the atlas that matches most columns; of equal ones that whose names are
        written as in the atlas most often, then the first of `ATLASES`. With fewer than two
        columns matched there is none.
    """
    if atlas is None:
        found = max(
            (_regions(columns, load_atlas(name)) for name in ATLASES),
            key=lambda regions: (len(regions.columns), _as_written(regions)),
        )
        return found if len(found.columns) >= FEWEST else _no_atlas(columns)
    return _regions(columns, as_atlas(atlas))


def _regions(columns: Sequence[str], atlas: Atlas) -> AtlasMatch:
    matched, totals, unmatched = [], [], []
    for column in columns:
        found = atlas.read(column)
        if found is not None:
            region, measure = found
            matched.append(ColumnMatch(column, region, measure or _usual_measure(region)))
        elif is_total(column) or is_csf(column):
            totals.append(column)
        else:
            unmatched.append(column)
    match = AtlasMatch(atlas, tuple(matched), tuple(totals), tuple(unmatched))
    return _without_total_csf(match, columns)


def _without_total_csf(match: AtlasMatch, columns: Sequence[str]) -> AtlasMatch:
    """CSF is a structure of aseg beside others; alone, or beside TIV, the total of CAT12 or SPM."""
    structures = {found.column for found in match.columns if is_aseg(found.region)}
    csf = {column for column in structures if is_csf(column)}
    if structures - csf and not any(map(is_whole_head, columns)):
        return match
    regions = tuple(found for found in match.columns if found.column not in csf)
    totals = tuple(column for column in columns if column in csf.union(match.totals))
    return replace(match, columns=regions, totals=totals)


def _no_atlas(columns: Sequence[str]) -> AtlasMatch:
    totals = tuple(column for column in columns if is_total(column) or is_csf(column))
    unmatched = tuple(column for column in columns if column not in totals)
    return AtlasMatch(None, (), totals, unmatched)


def _as_written(match: AtlasMatch) -> int:
    return sum(found.region.name in found.column for found in match.columns)


def _usual_measure(region: Region) -> str:
    return "volume" if is_aseg(region) else ""
