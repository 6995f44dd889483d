"""Columns of a table: which are regions, of which atlas, and readable names of regions.

`match_columns` finds the atlas of a table. `region_labels` makes ``lh_S_oc-temp_lat`` into "L lat.
occ.-temp. sulcus". `is_total` recognises the columns of segmentation tools that are not regions.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import takewhile

from sgbn.cohort.atlas import (
    SIDES,
    Atlas,
    AtlasLike,
    Region,
    as_atlas,
    atlases_for,
    is_aseg,
    is_schaefer,
    key,
    load_atlas,
    readings,
    stem,
    with_side,
    words,
)
from sgbn.core.problems import InputError

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
            atlases = [self.atlas.name, *self.others]
            raise InputError(
                "atlas.several", n=len(self.columns), first=self.columns[0].column, atlases=atlases
            ).says(
                "{n:column}, such as {first}, may be regions of {atlases}, which have other places",
                "Name the atlas ({atlas=}).",
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
    # The first of Schaefer's atlases with nearly complete networks is chosen. `others` names the
    # later ones. If none is nearly complete, all equal matches count.
    whole = [match for match in equal if _share(match) >= MIN_SHARE_OF_NETWORKS] or equal
    names = [match.atlas.name for match in whole if match.atlas]
    return replace(whole[0], others=tuple(names[1:]))


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
            measure = measure or ("volume" if is_aseg(region) else "")
            matched.append(ColumnMatch(column, region, measure))
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


SHARED = re.compile(r".*[\s_.:-]", re.DOTALL)  # up to the last separator
SIDE = "(?P<side>(?i:lh|rh|left|right)|L|R)"
FIRST_SIDE = re.compile(rf"{SIDE}[\s_.-]+(?P<rest>.+)", re.DOTALL)
LAST_SIDE = re.compile(rf"(?P<rest>.+?)[\s_.-]+{SIDE}", re.DOTALL)
# A parcel of Schaefer's atlases: network, letter (only with 17 networks), area, number
PARCEL = re.compile(
    r"(?:7|17)Networks_[LR]H_([A-Z][A-Za-z]*?)([A-C]?)((?:_[A-Za-z][A-Za-z0-9]*)?)_(\d+)"
)
NETWORKS = {
    "Vis": "visual",
    "VisCent": "visual central",
    "VisPeri": "visual peripheral",
    "SomMot": "somatomotor",
    "DorsAttn": "dorsal attn",
    "SalVentAttn": "salience",
    "Limbic": "limbic",
    "Cont": "control",
    "Default": "default",
    "TempPar": "temp. parietal",
}
# A name that is only a code: L_V1 of Glasser, A8m_L of Brainnetome
CODE = re.compile(r"[LR]_([^\s_]{1,12})|([^\s_]{1,12})_[LR]")


def label_of(region: Region) -> str:
    """Return a short readable name of a region, with its side first, or "" if none is known.

    The names come from ``labels.csv`` or from a rule. They cover all atlases of the package, and
    regions of other atlases with the same names.
    """
    # Look up the stem, so that one row of labels.csv covers both sides and all spellings.
    known = _labels().get(stem(region.name, region.hemisphere)) or _by_rule(region.name)
    return f"{region.hemisphere} {known}".lstrip() if known else ""


def _by_rule(name: str) -> str:
    """Return the label of a Schaefer parcel or a code, without its side, or "" for other names."""
    parcel = PARCEL.fullmatch(name)
    if parcel and parcel[1] in NETWORKS:
        parts = (NETWORKS[parcel[1]], parcel[2], parcel[3].lstrip("_"), parcel[4])
        return " ".join(filter(None, parts))
    code = CODE.fullmatch(name)
    return code[1] or code[2] if code else ""


@cache
def _labels() -> dict[str, str]:
    """Return the label of each region in labels.csv, by the `stem` of its name."""
    text = (files("sgbn.cohort") / "atlases" / "labels.csv").read_text(encoding="utf-8")
    return {stem(row["region"], ""): row["label"] for row in csv.DictReader(text.splitlines())}


def region_labels(regions: tuple[str, ...], atlas: Atlas | None) -> tuple[str, ...]:
    """Return readable names of regions for figures and pages. All names are different.

    A region of the atlas gets its short name, such as "R lat. occ.-temp. sulcus". In all other
    names, the side comes first and spaces replace underscores. Words that all these names share,
    such as a measure, are removed. If two readable names are equal, both regions keep their names
    in the data. Files always contain the names in the data.

    Parameters
    ----------
    regions : tuple of str
        Names of the regions in the data.
    atlas : Atlas or None
        Atlas of the regions, if it is known.
    """
    known = _from_atlas(regions, atlas)
    unknown = [name for name, label in zip(regions, known, strict=True) if not label]
    plain = iter(plain_names(unknown))
    made = [label or next(plain) for label in known]
    count = Counter(made)
    # Equal labels are replaced by names in the data. If such a name equals another label, no label
    # is used.
    made = [label if count[label] == 1 else name for label, name in zip(made, regions, strict=True)]
    return tuple(made) if len(set(made)) == len(made) else regions


def _from_atlas(regions: tuple[str, ...], atlas: Atlas | None) -> list[str]:
    """Return the label of each region, or "" if there is none.

    If the columns of the cortex have several measures, their labels contain the measure.
    """
    read = [None if atlas is None else atlas.read(name) for name in regions]
    cortical = {measure for region, measure in filter(None, read) if not is_aseg(region)}
    labels = []
    for reading in read:
        region, measure = reading or (None, "")
        label = "" if region is None else label_of(region)
        if region is not None and label and len(cortical) > 1 and not is_aseg(region):
            label = f"{label} ({measure.replace('_', ' ') or 'no measure'})"
        labels.append(label)
    return labels


def plain_names(names: Sequence[str]) -> list[str]:
    """Return names with their side first. Words at the ends that all names share are removed."""
    sided = []
    for name in names:
        parts = FIRST_SIDE.fullmatch(name) or LAST_SIDE.fullmatch(name)
        sided.append((parts["side"][0].upper(), parts["rest"]) if parts else ("", name))
    shortened = _without_beginning([rest for _, rest in sided])
    # The ending of a name is the beginning of the name written backwards.
    backwards = _without_beginning([name[::-1] for name in shortened])
    spaced = (rest[::-1].replace("_", " ").strip() for rest in backwards)
    return [
        f"{side} {rest}".strip() if rest else name
        for (side, _), rest, name in zip(sided, spaced, names, strict=True)
    ]


def _without_beginning(names: Sequence[str]) -> list[str]:
    """Return names without the beginning that all share, up to a separator.

    If only a number, or nothing, would be left of any name, all names stay as they are.
    """
    if len(set(names)) < 2:
        return list(names)
    pairs = zip(min(names), max(names), strict=False)  # in sorted order all others lie in between
    shared = "".join(first for first, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    whole_words = SHARED.match(shared)
    cut = [name[whole_words.end() :] if whole_words else name for name in names]
    return cut if all(cut) and not any(map(str.isdecimal, cut)) else list(names)


# Totals of FreeSurfer, ENIGMA and CAT12, in their own spelling
_TOTALS = """
BrainSegVol BrainSegVolNotVent BrainSegVolNotVentSurf BrainSegVol-to-eTIV
BrainSeg BrainSegNotVent BrainSegNotVentSurf MaskVol MaskVol-to-eTIV
SubCortGrayVol SubCortGray TotalGrayVol TotalGray
SupraTentorialVol SupraTentorialVolNotVent SupraTentorialVolNotVentVox
SupraTentorial SupraTentorialNotVent SupraTentorialNotVentVox VentricleChoroidVol
EstimatedTotalIntraCranialVol eTIV ICV IntraCranialVol TotalIntraCranialVol
WMH TotalGM TotalWM TotalCSF TotalGMV TotalWMV
"""
# Totals of CAT12 and SPM. A column CSF in the same table is the CSF of the whole head.
_WHOLE_HEAD = "TIV GM WM GMV WMV"
# Totals of a hemisphere. They also occur without a side.
_SIDED = """
MeanThickness WhiteSurfArea PialSurfArea SurfArea TotalSurfArea SurfaceHoles CortexVol
CerebralWhiteMatterVol CorticalWhiteMatterVol CerebralWhiteMatter CorticalWhiteMatter CerebralCortex
"""
# Totals of a hemisphere that need their side: without it these words do not name a total.
_WITH_SIDE = "Thickness Cortex unknown corpuscallosum vessel"
# Labels that are not regions: lesions, the medial wall, and a cavity that few brains have
_LABELS = "WM-hypointensities non-WM-hypointensities 5th-Ventricle Medial_wall medialwall"


def _with_sides(names: str) -> set[str]:
    return {k for name in names.split() for side in SIDES for k in with_side(words(name), side)}


def _keys(names: str) -> set[str]:
    return {key(words(name)) for name in names.split()}


_WHOLE_HEAD_KEYS = _keys(_WHOLE_HEAD)
_KEYS = _keys(f"{_TOTALS} {_WHOLE_HEAD} {_SIDED} {_LABELS}") | _with_sides(
    f"{_SIDED} {_WITH_SIDE} {_LABELS}"
)


def is_total(column: str) -> bool:
    """Return whether a column is a total or another value that is never a region.

    These are the totals of FreeSurfer, ENIGMA and CAT12 (MeanThickness, BrainSegVol, eTIV,
    SurfaceHoles, LSurfArea, TIV, ...), and the labels of FreeSurfer that are not regions
    (WM-hypointensities, unknown, Medial_wall, ...). ``CSF`` is not among them, because it may be a
    structure of FreeSurfer's aseg.

    Parameters
    ----------
    column : str
        Name of the column.
    """
    return any(name in _KEYS for name, _ in readings(column))


def is_csf(column: str) -> bool:
    """Return whether a column is called CSF: FreeSurfer's structure, or a total of CAT12 or SPM."""
    return any(name == "csf" for name, _ in readings(column))


def is_whole_head(column: str) -> bool:
    """Return whether a column is a total in the spelling of CAT12 and SPM, such as TIV or GM."""
    return any(name in _WHOLE_HEAD_KEYS for name, _ in readings(column))
