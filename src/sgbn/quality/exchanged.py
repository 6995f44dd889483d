"""Review of series in which rows and columns may be exchanged.

The values of a region are similar from one volume to the next. The values of a volume are hardly
similar from one region to the next, after the mean over the regions is removed. In ABIDE (60 to 200
regions, one volume every 2 s) the correlation from volume to volume is at least 0.2 in each
subject, and the correlation from region to region is -0.03 on average.
"""

from __future__ import annotations

import numpy as np

from sgbn.cohort.series import SeriesCohort
from sgbn.core.exceptions import listed
from sgbn.core.types import Array
from sgbn.quality.findings import Finding, marked

MIN_CORRELATION = 0.1  # neighbours with a larger correlation are similar
MIN_SHARE_OF_SUBJECTS = 0.5  # smallest share of subjects with exchanged series for a warning
MIN_REGIONS = 3  # two regions have only one pair of neighbours, which is not enough


def find_exchanged(cohort: SeriesCohort) -> tuple[SeriesCohort, list[Finding]]:
    """Warn if neighbouring columns are similar, but neighbouring rows are not.

    In correct series the rows are volumes, and neighbouring volumes are similar. The cohort is
    returned unchanged.
    """
    if len(cohort) == 0 or len(cohort.regions) < MIN_REGIONS:
        return cohort, []
    volumes, regions = np.array([_neighbours(series) for series in cohort.series]).T
    # A table with fewer rows than columns may be transposed.
    short = np.array(cohort.n_volumes) < len(cohort.regions)
    exchanged = (volumes < MIN_CORRELATION) | (short & (volumes <= regions))
    odd = (regions > MIN_CORRELATION) & exchanged
    if odd.mean() < MIN_SHARE_OF_SUBJECTS:
        return cohort, []
    names = marked(cohort.ids, odd)
    who = f" ({listed(names)})" if len(names) < len(cohort) else ""
    of_columns, of_rows = np.median(regions[odd]), np.median(volumes[odd])
    what = (
        f"rows and columns seem to be exchanged in {len(names)} of {len(cohort)} subjects{who}: "
        f"neighbouring rows should be similar, but their correlation is {of_rows:.2f}, and the "
        f"correlation of neighbouring columns is {of_columns:.2f}"
    )
    action = (
        "If the rows are regions, transpose the series: one row per volume and one column per "
        "region"
    )
    return cohort, [Finding("warning", what, action)]


def _neighbours(series: Array) -> tuple[float, float]:
    """Return the mean correlation of neighbouring rows, and of neighbouring columns."""
    centred = series - series.mean(axis=0)
    spread = np.sqrt(np.square(centred).mean(axis=0))
    scaled = np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 0)
    # The global signal is removed, because it makes all regions similar, in any order.
    scaled -= scaled.mean(axis=1, keepdims=True)
    return _lag_one(scaled), _lag_one(scaled.T)


def _lag_one(values: Array) -> float:
    products = (values[1:] * values[:-1]).sum(axis=0)
    squares = np.maximum(np.square(values).sum(axis=0), np.finfo(float).tiny)
    return float((products / squares).mean())
