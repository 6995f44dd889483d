"""Functions that prepare a cohort for learning networks, and that show a cohort as a table."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from sgbn.cohort.cohort import ID, PERSON, SITE, Cohort, check_cohort
from sgbn.cohort.effects import check_curves
from sgbn.cohort.series import SeriesCohort
from sgbn.core.exceptions import InputError, listed
from sgbn.core.moments import constant_columns
from sgbn.core.validation import NO_REGIONS
from sgbn.preprocessing.analysis import has_repeated_visits, make_preparation


def prepare(cohort: Cohort) -> Cohort:
    """Fill gaps, harmonise sites and regress covariates out, all within the groups.

    `compare` learns networks from the result; see `make_preparation`. Effects of smooth covariates
    are curves. If persons have several rows, sites are harmonised by longitudinal ComBat. The
    returned cohort keeps its sites and covariates, so that tests can hold their effects fixed
    again. Gaps of covariates are filled: a missing number becomes the mean, and a missing label
    becomes the label "unknown".

    Parameters
    ----------
    cohort : Cohort
        The cohort after review: ``review(cohort).require()``.

    Returns
    -------
    Cohort
        A copy with the prepared values of the regions.

    Raises
    ------
    InputError
        If there are no groups, nothing is left of a region, a smooth covariate has too few
        different values, or the cohort has time series.
    """
    check_cohort(cohort)
    if isinstance(cohort, SeriesCohort):
        raise InputError(
            "a SeriesCohort has time series, not one value per region, so it cannot be prepared. "
            "Give it to sgbn.compare or SeriesSGBN as it is."
        )
    if cohort.group is None:
        raise InputError("the cohort has no groups. Name the group column when you read it.")
    check_curves(cohort)
    ready = _prepared(cohort, _steps(cohort))
    # A learner would refuse such a region as well, but without the reason.
    for group in ready.groups:
        constant = np.flatnonzero(constant_columns(ready.values[ready.group == group]))
        if len(constant):
            names = listed([ready.regions[k] for k in constant])
            raise InputError(
                f"nothing is left of {names} in the group {group!r} after the effects of sites and "
                "covariates are removed. Exclude these regions, or name fewer covariates."
            )
    return ready


def impute(cohort: Cohort) -> Cohort:
    """Fill gaps as `prepare` does, but do not remove the effects of sites and covariates."""
    return _prepared(cohort, _steps(cohort).named_steps["impute"])


def fill_covariates(cohort: Cohort) -> Cohort:
    """Fill gaps of covariates: numbers by the mean, labels by the label "unknown"."""
    filled = {name: _filled(column) for name, column in cohort.covariates.items()}
    same = all(np.array_equal(column, cohort.covariates[name]) for name, column in filled.items())
    return cohort if same else replace(cohort, covariates=filled)


def _steps(cohort: Cohort) -> Pipeline:
    """Make the Pipeline of `prepare`, with longitudinal ComBat if persons have several rows."""
    return make_preparation(cohort, subject=PERSON if has_repeated_visits(cohort) else None)


def _prepared(cohort: Cohort, step: Any) -> Cohort:
    """Return the cohort after `step`, which is one step of its preparation or all of them."""
    table = cohort_table(cohort)
    if has_repeated_visits(cohort):
        # The column is added here, and a covariate of this name would be overwritten.
        check_free(cohort, [PERSON])
        table.insert(0, PERSON, table_cells(np.asarray(cohort.persons)))
    # `fit_transform` knows the groups, so that their means are kept. `transform` does not.
    regions = step.fit_transform(table, cohort.group)[list(cohort.regions)]
    return replace(fill_covariates(cohort), values=regions.to_numpy())


def _filled(column: NDArray[Any]) -> NDArray[Any]:
    if column.dtype.kind == "f":
        # In a linear model with centred covariates, the mean adds no effect.
        return np.where(np.isnan(column), np.nanmean(column), column)
    return np.where(column == "", "unknown", column)


def cohort_table(cohort: Cohort) -> pd.DataFrame:
    """Return covariates, site (if any) and regions as columns, with the ids as index.

    Use the table as X of `make_analysis` and of the transformers in `sgbn.preprocessing`, and
    ``cohort.group`` as y. For the transformers, every column is a region, unless a parameter names
    it as a covariate or as the site. Therefore the table has no column of groups or pairs. Learners
    of networks refuse a table with covariates or a site: use `sgbn.group_network` for the network
    of one group. In a cross-validation, ``groups=cohort.units`` and scikit-learn's ``GroupKFold``
    keep the rows of a person or family together.
    """
    columns: dict[str, Any] = dict(cohort.covariates)
    if cohort.site is not None:
        check_free(cohort, [SITE])
        columns[SITE] = cohort.site
    regions = regions_table(cohort)
    cells = {name: table_cells(column) for name, column in columns.items()}
    table = pd.concat([pd.DataFrame(cells, index=regions.index), regions], axis=1)
    # Learners refuse a table with this mark, because covariates would become regions.
    table.attrs[NO_REGIONS] = tuple(columns)
    return table


def regions_table(cohort: Cohort) -> pd.DataFrame:
    """Return a table that has only the regions as columns, with the ids as index."""
    index = pd.Index(cohort.ids, name=ID, dtype=object)
    return pd.DataFrame(cohort.values.copy(), index=index, columns=list(cohort.regions))


def table_cells(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column for a table: text as objects, with None for empty text; numbers unchanged."""
    if column.dtype.kind == "f":
        return column.copy()
    cells = column.astype(object)
    cells[column == ""] = None
    return cells


def check_free(cohort: Cohort, reserved: Collection[str]) -> None:
    """Raise InputError if a covariate or region has a name that another column needs."""
    for name in (*cohort.covariates, *cohort.regions):
        if name in reserved:
            raise InputError(
                f"a covariate or region has the name {name!r}, which another column of the table "
                "needs. Rename it."
            )
