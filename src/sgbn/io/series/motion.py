"""Motion that is known and that nobody named as a covariate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sgbn.quality.group_tests import covariate_test, first_rows
from sgbn.quality.motion import UNNAMED
from sgbn.series_cohort import SeriesCohort


def without_unnamed(cohort: SeriesCohort, unnamed: Sequence[str]) -> SeriesCohort:
    """Leave out covariates of motion that nobody named; the provenance says how groups differ."""
    facts = {}
    for name in unnamed:
        column = cohort.covariates[name]
        if column.dtype.kind == "f" and len(cohort.groups) > 1:
            one = first_rows(cohort)
            p = covariate_test(one, one.covariates[name]).p
            parts = {group: column[cohort.group == group] for group in cohort.groups}
            facts[name] = {
                "p": None if np.isnan(p) else p,
                "means": {
                    group: float(np.nanmean(own))
                    for group, own in parts.items()
                    if not np.isnan(own).all()
                },
            }
    kept = {name: column for name, column in cohort.covariates.items() if name not in unnamed}
    provenance = dict(cohort.provenance) | ({UNNAMED: facts} if facts else {})
    return replace(cohort, covariates=kept, provenance=provenance)
