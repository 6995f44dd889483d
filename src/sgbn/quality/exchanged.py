"""Review of series whose rows may be regions, and whose columns volumes.

Values of a region are alike from one volume to the next. Those of a volume are hardly alike from
one region to the next, once the mean over the regions is taken out. In ABIDE (60 to 200 regions,
every 2 s) the correlations are 0.2 and more in each subject, and -0.03 on average.
"""

from __future__ import annotations

import numpy as np

from sgbn.exceptions import listed
from sgbn.quality.findings import Finding, marked
from sgbn.series_cohort import SeriesCohort
from sgbn.types import Array

MIN_CORRELATION = 0.1  # of neighbours, above which they are alike
MIN_SHARE_OF_SUBJECTS = 0.5  # whose series look exchanged, for a warning
MIN_REGIONS = 3  # two have one pair of neighbours, which says nothing


def find_exchanged(cohort: SeriesCohort) -> tuple[SeriesCohort, list[Finding]]:
    """Warn where columns follow each other as volumes do, and rows do not; nothing is changed."""
    if len(cohort) == 0 or len(cohort.regions) < MIN_REGIONS:
        return cohort, []
    volumes, regions = np.array([_neighbours(series) for series in cohort.series]).T
    # Fewer rows than columns is the shape of a table that lies on its side.
    short = np.array(cohort.n_volumes) < len(cohort.regions)
    exchanged = (volumes < MIN_CORRELATION) | (short & (volumes <= regions))
    odd = (regions > MIN_CORRELATION) & exchanged
    if odd.mean() < MIN_SHARE_OF_SUBJECTS:
        return cohort, []
    names = marked(cohort.ids, odd)
    who = f" ({listed(names)})" if len(names) < len(cohort) else ""
    alike, not_alike = np.median(regions[odd]), np.median(volumes[odd])
    what = (
        f"rows and columns seem to be exchanged in {len(names)} of {len(cohort)} subjects{who}: "
        f"values are alike from column to column (correlation {alike:.2f}) as they should be from "
        f"row to row ({not_alike:.2f})"
    )
    action = "If the rows are regions, transpose the series: one row per volume, one column per"
    return cohort, [Finding("warning", what, f"{action} region")]


def _neighbours(series: Array) -> tuple[float, float]:
    """Mean correlation of neighbouring rows, and of neighbouring columns."""
    centred = series - series.mean(axis=0)
    spread = np.sqrt(np.square(centred).mean(axis=0))
    scaled = np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 0)
    # The global signal makes all regions alike, in any order.
    scaled -= scaled.mean(axis=1, keepdims=True)
    return _lag_one(scaled), _lag_one(scaled.T)


def _lag_one(values: Array) -> float:
    products = (values[1:] * values[:-1]).sum(axis=0)
    squares = np.maximum(np.square(values).sum(axis=0), np.finfo(float).tiny)
    return float((products / squares).mean())
