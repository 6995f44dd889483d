"""Review of the cells: missing, copied and outlying values, and regions without a place."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from sgbn.cohort.cohort import Cohort
from sgbn.core.exceptions import LISTED, counted, listed
from sgbn.core.moments import moments_of
from sgbn.core.types import Array
from sgbn.core.validation import combined_columns
from sgbn.quality.findings import Finding, filled, first_true, marked, parts

# Robust standard deviations from the median; 1 in 500 million normal cells is farther away.
OUTLYING = 6.0
OUTLYING_SHARE = 0.1  # share of a subject's regions; more outlying regions suggest a failed scan
COPY = 1e-8  # 1 - |correlation| in a group; below, one region is a copy of another
PART_OF_A_SUM = 1e-4  # weight of a part of a sum, per standard deviation; less is round-off
FEWEST_FOR_SPREAD = 10  # subjects; the spread of fewer says nothing about outliers
# Factors that turn a median and a mean absolute deviation into a standard deviation, if normal
TO_SD = 1.4826, 1.2533


def check_missing(cohort: Cohort) -> Iterator[Finding]:
    """Report how many cells are missing."""
    missing = np.isnan(cohort.values)
    if missing.any():
        yield Finding(
            "note",
            f"{counted(missing.sum(), 'cell')} ({missing.mean():.1%}) of "
            f"{counted(missing.any(axis=1).sum(), 'subject')} "
            f"{'is' if missing.sum() == 1 else 'are'} missing, such as in the region "
            f"{cohort.regions[first_true(missing.any(axis=0))]!r}",
            "Such cells are imputed by the median of their region"
            + (" at their site" if cohort.site is not None else ""),
        )


def check_copies(cohort: Cohort) -> Iterator[Finding]:
    """Check whether regions are copies or linear combinations of others, within the groups."""
    values = filled(cohort.values)
    # Within groups, because a difference between the means of groups would hide a copy.
    groups = [rows for rows in parts(cohort) if rows.sum() >= FEWEST_FOR_SPREAD]
    pairs = sorted({pair for rows in groups for pair in _copies(values[rows])})
    if pairs:
        names = [f"{cohort.regions[i]!r} and {cohort.regions[j]!r}" for i, j in pairs]
        more = f"; and {len(names) - LISTED} more pairs" if len(names) > LISTED else ""
        yield Finding(
            "stop",
            f"regions are copies of each other: {'; '.join(names[:LISTED])}{more}",
            "Exclude one of each pair (--exclude): weights cannot be estimated with both",
        )
        return  # a copy is also a linear combination, and would be reported twice
    centred = np.empty_like(values)
    for rows in parts(cohort):
        centred[rows] = values[rows] - values[rows].mean(axis=0)
    combined = combined_columns(moments_of(centred, cohort.regions))
    if combined:
        what = [
            f"{cohort.regions[k]!r} is a linear combination of "
            f"{listed([cohort.regions[i] for i in _combined_of(centred, k, combined)])}"
            for k in combined[:LISTED]
        ]
        more = f"; and {len(combined) - LISTED} more" if len(combined) > LISTED else ""
        yield Finding(
            "warning",
            "; ".join(what) + more,
            "Exclude one of them (--exclude), such as a total, because their edges mean little",
        )


def _copies(values: Array) -> list[tuple[int, int]]:
    """Return the pairs of columns that are the same up to shift, scale and round-off."""
    centred = values - values.mean(axis=0)
    sizes = np.linalg.norm(centred, axis=0)
    unit = centred / np.where(sizes > 0, sizes, 1.0)
    i, j = np.nonzero(np.triu(np.abs(unit.T @ unit) > 1 - COPY, 1))
    return list(zip(i.tolist(), j.tolist(), strict=True))


def _combined_of(centred: Array, column: int, combined: list[int]) -> list[int]:
    """Return the columns that combine to `column`; no column in `combined` is one of them."""
    free = np.setdiff1d(np.arange(centred.shape[1]), combined)
    scale = centred.std(axis=0)
    # In standard deviations, so that one limit separates weights from round-off.
    weights, *_ = np.linalg.lstsq(
        centred[:, free] / scale[free], centred[:, column] / scale[column]
    )
    parts: list[int] = free[np.abs(weights) > PART_OF_A_SUM].tolist()
    return parts


def robust_z(values: ArrayLike) -> Array:
    """Return the distance of each cell from its column's median, in robust standard deviations.

    The standard deviation is estimated from the median absolute deviation. If this is 0, because
    more than half of the column is equal, it is estimated from the mean absolute deviation. A cell
    that is NaN stays NaN. A column with fewer than ten known cells is all NaN.
    """
    values = np.asarray(values, dtype=np.float64)
    z = np.full(values.shape, np.nan)
    for k, column in enumerate(values.T):
        known = np.isfinite(column)
        if known.sum() < FEWEST_FOR_SPREAD:
            continue
        from_centre = column[known] - np.median(column[known])
        sizes = np.abs(from_centre)
        # The median deviation is 0 if more than half of the cells are equal, as in counts of
        # lesions.
        scale = TO_SD[0] * np.median(sizes) or TO_SD[1] * sizes.mean() or 1.0
        z[known, k] = from_centre / scale
    return z


def check_outliers(cohort: Cohort) -> Iterator[Finding]:
    """Report cells and subjects that are far from all others."""
    z = np.nan_to_num(np.abs(robust_z(cohort.values)))
    outlying = z > OUTLYING
    if not outlying.any():
        return
    farthest = cohort.ids[int(z.max(axis=1).argmax())]
    # Without region and value, because they would identify a subject in a report without names.
    yield Finding(
        "warning",
        f"{counted(outlying.sum(), 'cell is', 'cells are')} more than {OUTLYING:g} robust "
        f"standard deviations from the median of {'its' if outlying.sum() == 1 else 'their'} "
        "region",
        f"Look at each of them. The farthest belongs to subject {farthest!r}",
    )
    odd = outlying.mean(axis=1) > OUTLYING_SHARE
    if odd.any():
        names = marked(cohort.ids, odd)
        yield Finding(
            "warning",
            f"{counted(len(names), 'subject is', 'subjects are')} outlying in more than "
            f"{OUTLYING_SHARE:.0%} of the regions: "
            f"{listed(names)}",
            "Look at the scans",
        )


def check_atlas(cohort: Cohort) -> Iterator[Finding]:
    """Report regions that have no place in the atlas."""
    if cohort.atlas is None:
        yield Finding("note", "no atlas has these regions", "Pictures do not show lobes")
        return
    places = dict(zip(cohort.regions, cohort.places, strict=True))
    unknown = [name for name, place in places.items() if place is None]
    if unknown:
        yield Finding(
            "note",
            f"{counted(len(unknown), 'region is', 'regions are')} not in the atlas "
            f"{cohort.atlas.title}: {listed(unknown)}",
            "Such regions are used, but have no lobe and no coordinates",
        )
    nowhere = [name for name, place in places.items() if place and np.isnan(place.x)]
    if nowhere:
        yield Finding(
            "note",
            f"the atlas {cohort.atlas.title} has no coordinates for "
            f"{counted(len(nowhere), 'region')}: {listed(nowhere)}",
            "Such regions are not drawn in a brain",
        )
