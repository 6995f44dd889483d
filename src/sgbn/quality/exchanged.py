"""Review of series whose rows may be regions, and whose columns volumes.

Values of a region are alike from one volume to the next. Those of a volume are hardly alike from
one region to the next, once the mean over the regions is taken out. In ABIDE (60 to 200 regions,
every 2 s) the correlations are 0.2 and more in each subject, and -0.03 on average.
"""

from __future__ import annotations

import numpy as np

from sgbn.exceptions import listed
from sgbn.quality.findings import Finding
from sgbn.series_cohort import SeriesCohort
from sgbn.types import Array

ALIKE = 0.1  # correlation of neighbours, above which they are alike
MANY = 0.5  # share of the subjects from which on exchanged series are spoken of
FEWEST = 3  # rows and columns


def find_exchanged(cohort: SeriesCohort) -> tuple[SeriesCohort, list[Finding]]:
    """Warn where columns follow each other as volumes do, and rows do not; nothing is changed."""
    if len(cohort) == 0 or len(cohort.regions) < FEWEST:
        return cohort, []
    volumes, regions = np.array([_neighbours(one) for one in cohort.series]).T
    short = np.array(cohort.n_volumes) < len(cohort.regions)
    odd = (regions > ALIKE) & ((volumes < ALIKE) | (short & (volumes <= regions)))
    if odd.mean() < MANY:
        return cohort, []
    names = [name for name, bad in zip(cohort.ids, odd, strict=True) if bad]
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
    scaled -= scaled.mean(axis=1, keepdims=True)
    return _lag_one(scaled), _lag_one(scaled.T)


def _lag_one(values: Array) -> float:
    products = (values[1:] * values[:-1]).sum(axis=0)
    squares = np.maximum(np.square(values).sum(axis=0), np.finfo(float).tiny)
    return float((products / squares).mean())
