"""Which columns of a table are regions, and of which atlas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sgbn.atlases.atlas import Atlas, Region
from sgbn.atlases.library import atlases_for, is_aseg, is_schaefer, load_atlas
from sgbn.atlases.names import stem
from sgbn.atlases.sources import AtlasLike, as_atlas
from sgbn.atlases.totals import is_csf, is_total, is_whole_head
from sgbn.exceptions import InputError

MIN_COLUMNS = 2  # that an atlas must match to be taken for the table's own
MIN_TELLING_LETTERS = 3  # letters and digits of a name: L_2 may be anything
FLUID = "ventricle/CSF"
# A table of one of Schaefer's atlases has at least this share of the regions of its networks. The
# next larger atlas has at least a third more regions: a smaller table has no such share of those.
MIN_SHARE_OF_NETWORKS = 0.9


@dataclass(frozen=True)
class ColumnMatch:
    """A column that is a region.

    Attributes
    ----------
    column : str
        Name of the column, as given.
    region : Region
        Region that the column is.
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
        Atlas that the regions belong to; None if no atlas knows the columns.
    columns : tuple of ColumnMatch
        In the order given. Two columns may be the same region and measure.
    totals : tuple of str
        Values that are never regions, see `is_total`.
    unmatched : tuple of str
        All the rest.
    others : tuple of str
        Atlases that know the same columns, at other places, so that `atlas` is a mere guess.
    """

    atlas: Atlas | None
    columns: tuple[ColumnMatch, ...]
    totals: tuple[str, ...]
    unmatched: tuple[str, ...]
    others: tuple[str, ...] = ()

    def certain_atlas(self) -> Atlas | None:
        """Atlas of the columns, None without any. Raise InputError if others know them as well."""
        if self.atlas is None or not self.columns:
            return None
        if self.others:
            raise InputError(
                f"{len(self.columns)} columns, such as {self.columns[0].column!r}, are regions of "
                f"{self.atlas.name}, but of {' and '.join(self.others)} too, which have them at "
                f"other places. Say which atlas it is (atlas={self.atlas.name!r}, "
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
        None takes the atlas that matches most columns. Of equal ones it takes that whose regions
        are all there, then that whose names are written so most often, then the first of
        `ATLASES`. With fewer than two columns matched there is none. Schaefer's atlases share
        names: `AtlasMatch.others` lists those that fit as well.
    excluded : sequence of str
        Further columns of the table. They are not matched, but help to tell atlases apart that know
        the others equally well: a table of DKT is one of DKT without its entorhinal cortex too.
    """
    if atlas is not None:
        return _regions(columns, as_atlas(atlas))
    best = _best(columns)
    whole = _best([*columns, *excluded]) if excluded else best
    if best.atlas is None or whole.atlas is None or whole.others:
        return best
    of_whole = _regions(columns, whole.atlas)
    # The whole table decides only if it knows as many of the columns that were asked for.
    return of_whole if len(of_whole.columns) >= len(best.columns) else best


def _best(columns: Sequence[str]) -> AtlasMatch:
    named = [column for column in columns if not is_csf(column)]
    # CSF is left out above: it may be a structure or a total, and so tells nothing of the atlas.
    known = {name: _evidence(named, load_atlas(name)) for name in atlases_for(named)}
    most = max(known.values())
    if most[0] < MIN_COLUMNS:
        return _regions(columns, None)
    equal = [_regions(columns, load_atlas(name)) for name in known if known[name] == most]
    # max keeps the first of equal ones, which is the order of ATLASES.
    best = max(equal, key=lambda match: (_is_complete(match), _as_written(match)))
    if best.atlas is None or not is_schaefer(best.atlas) or len(equal) == 1:
        return best
    return _of_schaefer(equal)


def _evidence(columns: Sequence[str], atlas: Atlas) -> tuple[int, int]:
    """How many columns have a telling name of a region of the atlas, and any name of one."""
    regions = [region for region in map(atlas.find, columns) if region is not None]
    return sum(map(_is_telling, regions)), len(regions)


def _is_telling(region: Region) -> bool:
    name = stem(region.name, region.hemisphere)
    return len(name) >= MIN_TELLING_LETTERS and not name.isdecimal()


def _is_complete(match: AtlasMatch) -> bool:
    """Whether the columns have every region of the atlas; aseg is a further atlas."""
    regions = match.atlas.regions if match.atlas else ()
    matched = {column.region for column in match.columns}
    return matched.issuperset(region for region in regions if not is_aseg(region))


def _of_schaefer(equal: Sequence[AtlasMatch]) -> AtlasMatch:
    """Match whose networks are nearly whole; `others` are those that fit as well."""
    # Where no atlas is nearly whole, all that fit equally well are named.
    whole = [match for match in equal if _share(match) >= MIN_SHARE_OF_NETWORKS] or list(equal)
    names = [match.atlas.name for match in whole if match.atlas]
    return replace(whole[0], others=tuple(names[1:]))


def _share(match: AtlasMatch) -> float:
    """Share of the regions of those networks and sides that the columns have."""
    matched = {column.region for column in match.columns}
    parts = {(region.lobe, region.hemisphere) for region in matched}
    regions = match.atlas.regions if match.atlas else ()
    # At least two columns were matched, so that the sum is not 0.
    return len(matched) / sum((region.lobe, region.hemisphere) in parts for region in regions)


def _regions(columns: Sequence[str], atlas: Atlas | None) -> AtlasMatch:
    """Sort columns into regions of the atlas, totals and the rest; without it none is a region."""
    matched, totals, unmatched = [], [], []
    for column in columns:
        # The region goes before a total: CSF may be either, and is looked at again below.
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
    """CSF is a structure beside others; alone, or beside TIV, the total of CAT12 or SPM."""
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
    """Count the columns that hold a name of their region letter by letter."""
    return sum(
        any(name in matched.column for name in (matched.region.name, *matched.region.other_names))
        for matched in match.columns
    )


def _usual_measure(region: Region) -> str:
    return "volume" if is_aseg(region) else ""
