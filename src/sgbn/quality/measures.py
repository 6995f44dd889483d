"""Review of what the regions measure: thickness and volume should not be in one network."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from sgbn.cohort.atlas import readings
from sgbn.cohort.cohort import Cohort
from sgbn.cohort.region_names import is_total, match_columns
from sgbn.core.exceptions import listed
from sgbn.quality.findings import Finding

OTHER_SCALE = 30.0  # ratio of typical sizes; above, unnamed measures count as another measure


def check_measures(cohort: Cohort) -> Iterator[Finding]:
    """Check whether one network would mix measures, such as thickness and volume."""
    by_measure = regions_by_measure(cohort)
    if len(by_measure) < 2:
        return
    most = max(by_measure, key=lambda name: len(by_measure[name]))
    measures = [
        f"{name.replace('_', ' ') or 'an unknown measure'} ({_counted(regions)})"
        for name, regions in by_measure.items()
    ]
    excluding = "--exclude the regions of the other measures"
    remedy = f"--measure {most}, or {excluding}" if most else excluding
    head_size = any("volume" in name for name in by_measure) and not any(
        map(is_total, cohort.covariates)
    )
    yield Finding(
        "warning",
        f"one network mixes measures: {'; '.join(measures)}",
        "An edge between two measures may show head size or the quality of a scan. Compare one "
        f"measure at a time ({remedy})"
        + (", or name head size (eTIV) as a covariate" if head_size else ""),
    )


def regions_by_measure(cohort: Cohort) -> dict[str, list[str]]:
    """Return the regions of each measure; the names of the regions say what they measure.

    Regions without a measure in their name have the key "". They are returned only if their sizes
    differ much from the other regions.
    """
    measure_of = {name: _named_measure(name) for name in cohort.regions}
    if cohort.atlas is not None:  # an atlas may say more, such as that aseg structures are volumes
        matched = match_columns(cohort.regions, cohort.atlas).columns
        measure_of |= {match.column: match.measure for match in matched}
    regions: dict[str, list[str]] = defaultdict(list)
    for name, measure in measure_of.items():
        regions[measure].append(name)
    # Many names have no measure. Only another scale suggests that they have another measure.
    if "" in regions and len(regions) > 1 and not _other_scale(cohort, regions[""]):
        del regions[""]
    return dict(sorted(regions.items(), key=lambda item: -len(item[1])))


def _named_measure(name: str) -> str:
    """Return the measure that the words at either end of a name mean; "" if none."""
    return next((measure for _, measure in reversed(readings(name)) if measure), "")


def _other_scale(cohort: Cohort, unsaid: list[str]) -> bool:
    """Return whether regions of an unknown measure are much larger or smaller than the others."""
    # Thickness is about 2.5 mm, and volumes are thousands of cubic millimetres.
    sizes = np.nanmedian(np.abs(cohort.values), axis=0)
    unknown = np.isin(cohort.regions, unsaid)
    first, second = np.median(sizes[unknown]), np.median(sizes[~unknown])
    smaller, larger = sorted((float(first), float(second)))
    return smaller > 0 and larger > OTHER_SCALE * smaller


def _counted(regions: list[str]) -> str:
    return f"{len(regions)}: {listed(regions)}" if len(regions) < 4 else f"{len(regions)} regions"
