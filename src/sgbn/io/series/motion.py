"""Motion as a covariate: mean framewise displacement, of the files or of the participants."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from sgbn.io.series.sidecars import MEAN_FD
from sgbn.quality.group_tests import covariate_test, first_rows
from sgbn.series_cohort import SeriesCohort

UNNAMED = "unnamed_motion"  # fact of the provenance, which the review speaks about
# Names of columns in lower case, letters and digits only.
NAMES = re.compile(
    r"(func)?(mean|avg|average)?(fd|framewisedisplacement)(mean|avg|jenkinson|power)?|"
    r"(mean)?(head)?motion(mean)?"
)


def motion_column(columns: Iterable[str]) -> str | None:
    """Column that holds the mean framewise displacement, by its name."""
    found = [name for name in columns if NAMES.fullmatch(re.sub(r"[\W_]+", "", name).lower())]
    return MEAN_FD if MEAN_FD in found else next(iter(found), None)


def without_unnamed(cohort: SeriesCohort, unnamed: Sequence[str]) -> SeriesCohort:
    """Leave out covariates of motion that nobody named; the provenance says how groups differ."""
    facts = {}
    for name in unnamed:
        column = cohort.covariates[name]
        if column.dtype.kind == "f" and len(cohort.groups) > 1:
            one = first_rows(replace(cohort, covariates={}))
            rows = [cohort.ids.index(own) for own in one.ids]
            facts[name] = {
                "p": covariate_test(one, column[rows]).p,
                "means": {
                    group: float(np.nanmean(column[cohort.group == group]))
                    for group in cohort.groups
                },
            }
    kept = {name: column for name, column in cohort.covariates.items() if name not in unnamed}
    provenance = dict(cohort.provenance) | ({UNNAMED: facts} if facts else {})
    return replace(cohort, covariates=kept, provenance=provenance)
