"""What is read of one subject, and one table of all who were read whole."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sgbn.exceptions import InputError, counted, listed

MAX_REGIONS_NAMED = 3  # regions that a reason lists


@dataclass(frozen=True)
class SubjectRow:
    """Values of one subject or visit.

    Attributes
    ----------
    id : str
    person : str
        Who it is, where there are several visits; else the id.
    source : str
        Folder or file.
    regions, totals : mapping
        Column -> value.
    quality : mapping
        What the sheet of quality holds beside the id.
    software : str
        Tool and version; "" if no file says it.
    """

    id: str
    person: str
    source: str
    regions: Mapping[str, float]
    totals: Mapping[str, float]
    quality: Mapping[str, Any] = field(default_factory=dict)
    software: str = ""


@dataclass(frozen=True)
class Failure:
    """A subject who is left out: where, and why."""

    id: str
    source: str
    reason: str


@dataclass(frozen=True)
class WholeRows:
    """Subjects with the same regions, the others, and regions that hardly anybody has."""

    rows: tuple[SubjectRow, ...]
    regions: tuple[str, ...]
    failures: tuple[Failure, ...]
    unmeasured: tuple[str, ...] = ()


def whole_rows(rows: Sequence[SubjectRow], positive: frozenset[str] = frozenset()) -> WholeRows:
    """Keep the subjects who have the regions that most have, each with a value.

    Parameters
    ----------
    rows : sequence of SubjectRow
        All subjects that could be read.
    positive : frozenset of str
        Regions in which 0 says that nothing was measured, such as thickness.

    Notes
    -----
    A region that is 0 or not a number in more than half of the subjects is left out: the medial
    wall, a ventricle in a table of grey matter, the corpus callosum of FastSurfer without surfaces.
    If fewer subjects lack a value, these subjects are left out, unless 0 is a value.
    """
    if not rows:
        return WholeRows((), (), ())
    regions = _usual_regions(rows)
    wanted = set(regions)
    same = [row for row in rows if row.regions.keys() == wanted]
    failures = [_other_regions(row, regions) for row in rows if row.regions.keys() != wanted]
    # 0 counts as blank in every region here: a volume of 0 in most subjects was not measured.
    blank = Counter(name for row in same for name in _without_value(row, wanted))
    unmeasured = tuple(name for name in regions if 2 * blank[name] > len(same))
    kept = tuple(name for name in regions if name not in unmeasured)
    whole = []
    for row in same:
        empty = [name for name in _without_value(row, positive) if name not in unmeasured]
        if empty:
            what = counted(len(empty), "region is", "regions are")
            reason = f"{what} 0 or not a number: {listed(empty, MAX_REGIONS_NAMED)}"
            failures.append(Failure(row.id, row.source, reason))
        else:
            whole.append(row)
    return WholeRows(tuple(whole), kept, tuple(sorted(failures, key=lambda f: f.id)), unmeasured)


def _usual_regions(rows: Sequence[SubjectRow]) -> list[str]:
    """Return the regions that most subjects have, in the order of the first of these."""
    # The set of regions that most subjects have is taken as right.
    counts = Counter(frozenset(row.regions) for row in rows)
    (usual, most), *rivals = counts.most_common(2)
    rival = rivals[0][0] if rivals and rivals[0][1] == most else usual
    if rival > usual:  # the smaller set is that of files that are cut off
        usual = rival
    elif not rival <= usual:
        sizes = sorted((len(usual), len(rival)))
        raise InputError(
            f"{most} subjects have {sizes[0]} regions and as many others {sizes[1]}: it cannot be "
            "said which are right. Keep the subjects of one version of the tool in the folder."
        )
    return list(next(row.regions for row in rows if row.regions.keys() == usual))


def _other_regions(row: SubjectRow, regions: Sequence[str]) -> Failure:
    """Return the failure of a subject who has other regions than most."""
    # In the order of the table, so that messages are the same on every run.
    lacking = [name for name in regions if name not in row.regions]
    extra = [name for name in row.regions if name not in set(regions)]
    differences = []
    if lacking:
        differences.append(f"lacks {counted(len(lacking), 'region')} that most others have")
    if extra:
        differences.append(f"has {counted(len(extra), 'region')} that most others lack")
    names = listed(lacking or extra, MAX_REGIONS_NAMED)
    return Failure(row.id, row.source, f"{' and '.join(differences)}: {names}")


def _without_value(row: SubjectRow, positive: Collection[str]) -> list[str]:
    """Return the regions whose value is not finite, or not positive where it must be positive."""
    return [
        name
        for name, value in row.regions.items()
        if not math.isfinite(value) or (value <= 0 and name in positive)
    ]
