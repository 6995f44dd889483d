"""Make readable names of regions: ``lh_S_oc-temp_lat`` becomes "L lat. occ.-temp. sulcus"."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import takewhile

from sgbn.atlases.atlas import Atlas, Region
from sgbn.atlases.library import is_aseg
from sgbn.atlases.names import stem

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
    text = (files("sgbn.atlases") / "labels.csv").read_text(encoding="utf-8")
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
    sided = [_side_first(name) for name in names]
    shortened = _without_shared([rest for _, rest in sided])
    spaced = (rest.replace("_", " ").strip() for rest in shortened)
    return [
        f"{side} {rest}".strip() if rest else name
        for (side, _), rest, name in zip(sided, spaced, names, strict=True)
    ]


def _side_first(name: str) -> tuple[str, str]:
    """Return the side in the first or last word of a name ("L", "R" or ""), and the rest."""
    parts = FIRST_SIDE.fullmatch(name) or LAST_SIDE.fullmatch(name)
    return (parts["side"][0].upper(), parts["rest"]) if parts else ("", name)


def _without_shared(names: Sequence[str]) -> list[str]:
    # The ending of a name is the beginning of the name written backwards.
    backwards = [name[::-1] for name in _without_beginning(names)]
    return [name[::-1] for name in _without_beginning(backwards)]


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
