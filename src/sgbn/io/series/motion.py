"""Motion that the user did not name. It becomes a covariate if all subjects have a table of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sgbn.cohort.series import SeriesCohort
from sgbn.core.exceptions import counted, listed, warn
from sgbn.prepare.balance import covariate_test, first_rows
from sgbn.prepare.series_review import MEAN_FD, TAKEN, UNNAMED


def settle_motion(cohort: SeriesCohort, named: Sequence[str], beside: bool) -> SeriesCohort:
    """Decide whether motion that the user did not name is a covariate, and return the cohort.

    It is a covariate if it comes from tables beside the series, and every subject has such a table.

    Parameters
    ----------
    cohort : SeriesCohort
        The cohort. Its covariates include all motion that is known.
    named : sequence of str
        The covariates that the user named.
    beside : bool
        Whether `mean_fd` comes from tables beside the series, and not from the participants.
    """
    unnamed = [name for name in cohort.covariates if name not in named]
    if beside and MEAN_FD in unnamed:
        # As a covariate, it would remove the subjects without a value from the analysis.
        lacking = np.flatnonzero(np.isnan(cohort.covariates[MEAN_FD])).tolist()
        if not lacking:
            unnamed.remove(MEAN_FD)
            cohort = replace(cohort, provenance={**cohort.provenance, TAKEN: MEAN_FD})
        else:
            _warn_incomplete([cohort.ids[row] for row in lacking], len(cohort))
    return _without(cohort, unnamed) if unnamed else cohort


def _warn_incomplete(lacking: Sequence[str], n: int) -> None:
    warn(
        f"no table of motion was found for the series of {len(lacking)} of "
        f"{counted(n, 'subject')}: {listed(lacking)}. So motion ({MEAN_FD}) is not a covariate. "
        f"Add these tables, or leave these subjects out. You can also write {MEAN_FD} of all "
        f"subjects into the table of participants, and name it (covariates={MEAN_FD!r}, "
        f"--covariates {MEAN_FD})."
    )


def _without(cohort: SeriesCohort, unnamed: Sequence[str]) -> SeriesCohort:
    """Return the cohort without some covariates. The provenance says how groups differ in them."""
    facts = {
        name: _fact(cohort, name) for name in unnamed if cohort.covariates[name].dtype.kind == "f"
    }
    kept = {name: column for name, column in cohort.covariates.items() if name not in unnamed}
    # The report says whether the groups differ in a covariate that was left out.
    provenance = dict(cohort.provenance) | ({UNNAMED: facts} if facts else {})
    return replace(cohort, covariates=kept, provenance=provenance)


def _fact(cohort: SeriesCohort, name: str) -> dict[str, Any]:
    """Return the mean of a covariate in each group, and the p value of their difference."""
    column, p = cohort.covariates[name], np.nan
    if len(cohort.groups) > 1:
        persons = first_rows(cohort)  # sessions of one person are not independent
        p = covariate_test(persons, persons.covariates[name]).p
    parts = {group: column[cohort.group == group] for group in cohort.groups} or {"mean": column}
    known = {group: values[~np.isnan(values)] for group, values in parts.items()}
    return {
        "p": None if np.isnan(p) else p,
        "means": {group: float(values.mean()) for group, values in known.items() if len(values)},
        "missing": int(np.isnan(column).sum()),
    }
