"""Find the columns of a table that are regions, and the atlas that has these regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sgbn.atlases.atlas import Atlas, Region
from sgbn.atlases.library import atlases_for, is_aseg, is_schaefer, load_atlas
from sgbn.atlases.names import stem
from sgbn.atlases.sources import AtlasLike, as_atlas
from sgbn.atlases.totals import is_csf, is_total, is_whole_head
from sgbn.core.exceptions import InputError

MIN_COLUMNS = 2  # an atlas must match at least this many columns
MIN_TELLING_LETTERS = 3  # letters and digits; a shorter name, such as L_2, may mean anything
FLUID = "ventricle/CSF"
# One of Schaefer's atlases fits if a table has at least this share of the regions of its networks.
# The next larger atlas has at least a third more regions. So a table with all regions of one atlas
# does not fit the next larger atlas.
MIN_SHARE_OF_NETWORKS = 0.9


@dataclass(frozen=True)
class ColumnMatch:
    """A column that is a region.

    Attributes
    ----------
    column : str
        Name of the column, as given.
    region : Region
        The region of the column.
    measure : str
        ``"thickness"``, ``"volume"``, ``"area"``, ``"curvature"``, ... or ``""`` if the name does
        not contain it.
    """

    column: str
    region: Region
    measure: str


@dataclass(frozen=True)
class AtlasMatch:
    """The columns of a table, divided into regions, totals and all others.

    Attributes
    ----------
    atlas : Atlas or None
        Atlas of the regions. None if no atlas matches the columns.
    columns : tuple of ColumnMatch
        Columns that are regions, in the order of the table. Two columns may have the same region
        and measure.
    totals : tuple of str
        Columns that are never regions, such as totals (see `is_total`).
    unmatched : tuple of str
        All other columns.
    others : tuple of str
        Names of other atlases that match the same columns, but whose regions are at other places.
        If there are any, `atlas` is only a guess.
    """

    atlas: Atlas | None
    columns: tuple[ColumnMatch, ...]
    totals: tuple[str, ...]
    unmatched: tuple[str, ...]
    others: tuple[str, ...] = ()

    def certain_atlas(self) -> Atlas | None:
        """Return the atlas, or None if no column is a region. Raise InputError if it is a guess."""
        if self.atlas is None or not self.columns:
            return None
        if self.others:
            raise InputError(
                f"{len(self.columns)} columns, such as {self.columns[0].column!r}, are regions of "
                f"{self.atlas.name}, but also of {' and '.join(self.others)}. The places of the "
                "regions differ between these atlases. "
                f"Name the atlas of the table (for example atlas={self.atlas.name!r}, "
                f"--atlas {self.atlas.name})."
            )
        return self.atlas


def match_columns(
    columns: Sequence[str], atlas: AtlasLike | None = None, excluded: Sequence[str] = ()
) -> AtlasMatch:
    """Find the columns that are regions of an atlas.

    Parameters
    ----------
    columns : sequence of str
        Names of the columns of a table.
    atlas : Atlas, str, path or None
        The atlas. None means the atlas that matches the most columns. If several atlases match
        equally many columns, an atlas whose regions are all in the table (apart from aseg
        structures) is preferred. If this does not decide, the atlas with the most exactly spelled
        names is chosen, and then the first in `ATLASES`. If fewer than two columns match, there is
        no atlas. Schaefer's atlases share names. `AtlasMatch.others` lists the other atlases of
        Schaefer that fit equally well.
    excluded : sequence of str
        Further columns of the table. They are not matched, but help to choose between atlases that
        match equally many of `columns`. For example, a table of DKT is recognised even if its
        entorhinal cortex is excluded.

    Returns
    -------
    AtlasMatch
        The atlas, and the columns divided into regions, totals and all others.
    """
    if atlas is not None:
        return _regions(columns, as_atlas(atlas))
    best = _best(columns)
    whole = _best([*columns, *excluded]) if excluded else best
    if best.atlas is None or whole.atlas is None or whole.others:
        return best
    of_whole = _regions(columns, whole.atlas)
    # The atlas of the whole table is used only if it matches at least as many of `columns`.
    return of_whole if len(of_whole.columns) >= len(best.columns) else best


def _best(columns: Sequence[str]) -> AtlasMatch:
    # CSF may be a structure or a total, so that it says nothing about the atlas.
    named = [column for column in columns if not is_csf(column)]
    known = {name: _evidence(named, load_atlas(name)) for name in atlases_for(named)}
    most = max(known.values())
    if most[0] < MIN_COLUMNS:
        return _regions(columns, None)
    equal = [_regions(columns, load_atlas(name)) for name in known if known[name] == most]
    # Of equal matches max returns the first, in the order of ATLASES.
    best = max(equal, key=lambda match: (_is_complete(match), _as_written(match)))
    if best.atlas is None or not is_schaefer(best.atlas) or len(equal) == 1:
        return best
    return _of_schaefer(equal)


def _evidence(columns: Sequence[str], atlas: Atlas) -> tuple[int, int]:
    """Return how many columns are regions with a telling name, and how many are regions at all."""
    regions = [region for region in map(atlas.find, columns) if region is not None]
    return sum(map(_is_telling, regions)), len(regions)


def _is_telling(region: Region) -> bool:
    name = stem(region.name, region.hemisphere)
    return len(name) >= MIN_TELLING_LETTERS and not name.isdecimal()


def _is_complete(match: AtlasMatch) -> bool:
    """Return whether the columns contain every region of the atlas except aseg structures."""
    regions = match.atlas.regions if match.atlas else ()
    matched = {column.region for column in match.columns}
    return matched.issuperset(region for region in regions if not is_aseg(region))


def _of_schaefer(equal: Sequence[AtlasMatch]) -> AtlasMatch:
    """Return the first match whose networks are nearly complete. `others` names the later ones."""
    # If no atlas is nearly complete, all equal matches count.
    whole = [match for match in equal if _share(match) >= MIN_SHARE_OF_NETWORKS] or list(equal)
    names = [match.atlas.name for match in whole if match.atlas]
    return replace(whole[0], others=tuple(names[1:]))


def _share(match: AtlasMatch) -> float:
    """Return the share of regions that are columns, among the networks and sides with a column."""
    matched = {column.region for column in match.columns}
    parts = {(region.lobe, region.hemisphere) for region in matched}
    regions = match.atlas.regions if match.atlas else ()
    # At least two columns match, so that the sum is not 0.
    return len(matched) / sum((region.lobe, region.hemisphere) in parts for region in regions)


def _regions(columns: Sequence[str], atlas: Atlas | None) -> AtlasMatch:
    """Divide columns into regions, totals and all others. Without an atlas there are no regions."""
    matched, totals, unmatched = [], [], []
    for column in columns:
        # Regions are tried before totals. CSF may be either, and is examined again below.
        reading = None if atlas is None else atlas.read(column)
        if reading is not None:
            region, measure = reading
            matched.append(ColumnMatch(column, region, measure or _usual_measure(region)))
        elif is_total(column) or is_csf(column):
            totals.append(column)
        else:
            unmatched.append(column)
    match = AtlasMatch(atlas, tuple(matched), tuple(totals), tuple(unmatched))
    return _without_total_csf(match, columns)


def _without_total_csf(match: AtlasMatch, columns: Sequence[str]) -> AtlasMatch:
    """Return the match with CSF among the totals if it is a total of CAT12 or SPM.

    CSF is a structure if there are other structures, and no totals of the whole head such as TIV.
    In all other tables it is a total.
    """
    structures = {
        matched.column
        for matched in match.columns
        if is_aseg(matched.region) or matched.region.lobe == FLUID
    }
    csf = {column for column in structures if is_csf(column)}
    if structures - csf and not any(map(is_whole_head, columns)):
        return match
    regions = tuple(matched for matched in match.columns if matched.column not in csf)
    never = csf.union(match.totals)
    totals = tuple(column for column in columns if column in never)
    return replace(match, columns=regions, totals=totals)


def _as_written(match: AtlasMatch) -> int:
    """Return the number of columns that contain a name of their region in its exact spelling."""
    return sum(
        any(name in matched.column for name in (matched.region.name, *matched.region.other_names))
        for matched in match.columns
    )


def _usual_measure(region: Region) -> str:
    return "volume" if is_aseg(region) else ""
