"""The values of one subject, and the selection of the subjects who have the same regions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sgbn.core.exceptions import InputError, counted, listed

MAX_REGIONS_NAMED = 3  # regions that the reason of a failure names


@dataclass(frozen=True)
class SubjectRow:
    """The values of one subject or visit.

    Attributes
    ----------
    id : str
        The id of the subject or visit.
    person : str
        The person, if there are several visits. Otherwise the id.
    source : str
        The path of the folder or file.
    regions, totals : mapping
        The value of each column.
    quality : mapping
        The value of each column of the quality sheet.
    software : str
        The tool and its version, or "" if no file names them.
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
    """A subject who is left out, with the folder or file and the reason."""

    id: str
    source: str
    reason: str


@dataclass(frozen=True)
class WholeRows:
    """Subjects with the same regions, failures, and regions without a value in most subjects."""

    rows: tuple[SubjectRow, ...]
    regions: tuple[str, ...]
    failures: tuple[Failure, ...]
    unmeasured: tuple[str, ...] = ()


def whole_rows(rows: Sequence[SubjectRow], positive: frozenset[str] = frozenset()) -> WholeRows:
    """Return the subjects who have the same regions as most others, with a value in each.

    Parameters
    ----------
    rows : sequence of SubjectRow
        All subjects that could be read.
    positive : frozenset of str
        The regions in which 0 means that nothing was measured, as for thickness.

    Notes
    -----
    A region is left out if it is 0 or not a number in more than half of the subjects. Examples are
    the medial wall, a ventricle in a table of grey matter, and the corpus callosum of FastSurfer
    without surfaces. If at most half of the subjects lack a value in a region, these subjects are
    left out. A volume of 0 counts as a value here, unless the region is in `positive`.
    """
    if not rows:
        return WholeRows((), (), ())
    regions = _usual_regions(rows)
    wanted = set(regions)
    same = [row for row in rows if row.regions.keys() == wanted]
    failures = [_other_regions(row, regions) for row in rows if row.regions.keys() != wanted]
    # Here 0 counts as blank in every region. If most volumes are 0, they were not measured.
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
    """Return the regions that most subjects have, in the order of the first of these subjects."""
    counts = Counter(frozenset(row.regions) for row in rows)
    (usual, most), *rivals = counts.most_common(2)
    rival = rivals[0][0] if rivals and rivals[0][1] == most else usual
    if rival > usual:  # the smaller set comes from files that are cut off
        usual = rival
    elif not rival <= usual:
        sizes = sorted((len(usual), len(rival)))
        raise InputError(
            f"the subjects have two different sets of regions, with {sizes[0]} and {sizes[1]} "
            f"regions. Each set has {counted(most, 'subject')}, so neither is the usual one. Keep "
            "only the subjects of one version of the tool in the folder."
        )
    return list(next(row.regions for row in rows if row.regions.keys() == usual))


def _other_regions(row: SubjectRow, regions: Sequence[str]) -> Failure:
    """Return the failure of a subject whose regions differ from most others."""
    # Lists keep the order of the table, so that messages are the same in every run.
    lacking = [name for name in regions if name not in row.regions]
    extra = [name for name in row.regions if name not in set(regions)]
    differences = []
    if lacking:
        differences.append(f"lacks {counted(len(lacking), 'region')} that most others have")
    if extra:
        differences.append(f"has {counted(len(extra), 'region')} that most others do not have")
    names = listed(lacking or extra, MAX_REGIONS_NAMED)
    return Failure(row.id, row.source, f"{' and '.join(differences)}: {names}")


def _without_value(row: SubjectRow, positive: Collection[str]) -> list[str]:
    """Return regions with a value that is not finite, or is 0 or less where that cannot be."""
    return [
        name
        for name, value in row.regions.items()
        if not math.isfinite(value) or (value <= 0 and name in positive)
    ]
