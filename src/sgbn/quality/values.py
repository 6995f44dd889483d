"""Review of the cells: missing, copied and outlying ones, and regions without a place."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgbn.cohort import Cohort
from sgbn.exceptions import listed
from sgbn.moments import moments_of
from sgbn.quality.findings import Finding, filled, first_true
from sgbn.validation import combined_columns, copied_columns

OUTLYING = 6.0  # robust standard deviations from the median: 1 normal cell in 500 million
OUTLYING_SHARE = 0.1  # of a subject's regions: more look like a failed scan
FEWEST_FOR_SPREAD = 10  # subjects: the spread of fewer says nothing about outliers
TO_SD = 1.4826, 1.2533  # median and mean absolute deviation to standard deviation, if normal


def check_missing(cohort: Cohort) -> Iterator[Finding]:
    """How many cells are missing."""
    missing = np.isnan(cohort.values)
    if missing.any():
        yield Finding(
            "note",
            f"{missing.sum()} cells ({missing.mean():.1%}) of {missing.any(axis=1).sum()} subjects "
            f"are missing, first {cohort.regions[first_true(missing.any(axis=0))]!r}",
            "They are imputed by the median of their region at their site",
        )


def check_copies(cohort: Cohort) -> Iterator[Finding]:
    """Whether regions are copies or sums of others."""
    values = filled(cohort.values)
    moments = moments_of(values, cohort.regions)
    pairs = [(cohort.regions[i], cohort.regions[j]) for i, j in copied_columns(moments)]
    combined = sorted(cohort.regions[k] for k in combined_columns(moments))
    if pairs:
        yield Finding(
            "warning",
            f"regions {pairs[0][0]!r} and {pairs[0][1]!r} are copies of each other "
            f"({len(pairs)} such pairs)",
            "Exclude one of them: their edges cannot be told apart",
        )
    if combined and not pairs:  # a copy is a combination too
        yield Finding(
            "warning",
            f"{listed(combined)} is a linear combination of other regions",
            "Exclude it if it is a total: its edges mean little",
        )


def robust_z(values: ArrayLike) -> NDArray[np.float64]:
    """Distance of each row from the column's median, in robust standard deviations.

    The median absolute deviation, or the mean one where more than half of a column are equal.
    NaN where a cell is NaN, and everywhere with fewer than ten rows.
    """
    values = np.asarray(values, dtype=np.float64)
    z = np.full(values.shape, np.nan)
    for k, column in enumerate(values.T):
        known = np.isfinite(column)
        if known.sum() < FEWEST_FOR_SPREAD:
            continue
        from_centre = column[known] - np.median(column[known])
        sizes = np.abs(from_centre)
        scale = TO_SD[0] * np.median(sizes) or TO_SD[1] * sizes.mean() or 1.0
        z[known, k] = from_centre / scale
    return z


def check_outliers(cohort: Cohort) -> Iterator[Finding]:
    """Which cells and subjects lie far from all others."""
    z = np.nan_to_num(np.abs(robust_z(cohort.values)))
    outlying = z > OUTLYING
    if not outlying.any():
        return
    row, column = np.unravel_index(np.argmax(z), z.shape)
    yield Finding(
        "warning",
        f"{outlying.sum()} cells lie more than {OUTLYING:g} robust standard deviations from their "
        f"region's median; the farthest is {cohort.regions[column]!r} of subject "
        f"{cohort.ids[row]!r} ({cohort.values[row, column]:.4g})",
        "Look at them; subjects that lie far out as a whole are named by themselves",
    )
    odd = outlying.mean(axis=1) > OUTLYING_SHARE
    if odd.any():
        names = [name for name, bad in zip(cohort.ids, odd, strict=True) if bad]
        yield Finding(
            "warning",
            f"{len(names)} subjects are outlying in more than {OUTLYING_SHARE:.0%} of the regions: "
            f"{listed(names)}",
            "Look at their scans",
        )


def check_atlas(cohort: Cohort) -> Iterator[Finding]:
    """Which regions have no place in an atlas."""
    if cohort.atlas is None:
        yield Finding("note", "no atlas knows the regions", "Pictures come without lobes")
        return
    places = zip(cohort.regions, cohort.places, strict=True)
    unknown = [name for name, place in places if place is None]
    if unknown:
        yield Finding(
            "note",
            f"{len(unknown)} regions are not in the atlas {cohort.atlas.title}: {listed(unknown)}",
            "They are used, but have no lobe and no place",
        )
