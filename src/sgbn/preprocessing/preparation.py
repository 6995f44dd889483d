"""From a cohort to the regions that networks are learned from, and a cohort as a table."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from sgbn.cohort import ID, PERSON, SITE, Cohort, check_cohort
from sgbn.exceptions import InputError, listed
from sgbn.moments import constant_columns
from sgbn.preprocessing.analysis import has_repeated_visits, make_preparation
from sgbn.series_cohort import SeriesCohort
from sgbn.structure.smooth import check_curves
from sgbn.validation import NO_REGIONS


def prepare(cohort: Cohort) -> Cohort:
    """Impute, harmonise sites and regress covariates out, within the groups.

    This is what `compare` learns networks from; see `make_preparation`. Effects of smooth
    covariates are curves, and where persons have several rows, sites are harmonised by longitudinal
    ComBat. The cohort that is returned keeps its sites and covariates, the latter without gaps, so
    that tests can hold their effects fixed once more: a number that is missing becomes the mean, a
    missing label one of its own.

    Parameters
    ----------
    cohort : Cohort
        As reviewed: ``review(cohort).require()``.

    Raises
    ------
    InputError
        If there are no groups, nothing is left of a region, a smooth covariate has too few
        different values, or there are time series.
    """
    check_cohort(cohort)
    if isinstance(cohort, SeriesCohort):
        raise InputError(
            "a SeriesCohort has time series, and no measures to prepare. Give it to sgbn.compare "
            "or SeriesSGBN as it is."
        )
    if cohort.group is None:
        raise InputError("the cohort has no groups. Name the group column when you read it.")
    check_curves(cohort)
    ready = _prepared(cohort, _steps(cohort))
    # a learner would refuse such a region as well, but without the reason
    for group in ready.groups:
        constant = np.flatnonzero(constant_columns(ready.values[ready.group == group]))
        if len(constant):
            names = listed([ready.regions[k] for k in constant])
            raise InputError(
                f"nothing is left of {names} in the group {group!r} once sites and covariates are "
                "taken out. Exclude these regions, or name fewer covariates."
            )
    return ready


def impute(cohort: Cohort) -> Cohort:
    """Fill gaps in as `prepare` does, and leave the effects of sites and covariates."""
    return _prepared(cohort, _steps(cohort).named_steps["impute"])


def fill_covariates(cohort: Cohort) -> Cohort:
    """Fill in gaps of covariates: numbers by the mean, labels by an extra label for gaps."""
    filled = {name: _filled(column) for name, column in cohort.covariates.items()}
    same = all(np.array_equal(column, cohort.covariates[name]) for name, column in filled.items())
    return cohort if same else replace(cohort, covariates=filled)


def _steps(cohort: Cohort) -> Pipeline:
    """Make the steps, with longitudinal ComBat where persons have several rows."""
    return make_preparation(cohort, subject=PERSON if has_repeated_visits(cohort) else None)


def _prepared(cohort: Cohort, step: Any) -> Cohort:
    """Cohort after a step of its preparation, or all of them."""
    table = cohort_table(cohort)
    if has_repeated_visits(cohort):
        # the column is added here: a covariate of this name would be overwritten
        check_free(cohort, [PERSON])
        table.insert(0, PERSON, table_cells(np.asarray(cohort.persons)))
    # `fit_transform`, which knows the groups; `transform` alone does not hold their means aside
    regions = step.fit_transform(table, cohort.group)[list(cohort.regions)]
    return replace(fill_covariates(cohort), values=regions.to_numpy())


def _filled(column: NDArray[Any]) -> NDArray[Any]:
    if column.dtype.kind == "f":
        # the mean has no effect of its own in a linear model
        return np.where(np.isnan(column), np.nanmean(column), column)
    return np.where(column == "", "unknown", column)


def cohort_table(cohort: Cohort) -> pd.DataFrame:
    """Return covariates, site (if any) and regions as columns, with the ids as index.

    The table is the X of the transformers in `sgbn.preprocessing` and of `make_analysis`; y is
    ``cohort.group``. Group and pair are not columns of it, because these take every column that is
    not named as a covariate or site for a region. Learners of networks refuse a table with
    covariates or a site: use `sgbn.group_network` for the network of one group.
    Cross-validation keeps the rows of a person or family together with ``groups=cohort.units`` and
    scikit-learn's ``GroupKFold``.
    """
    columns: dict[str, Any] = dict(cohort.covariates)
    if cohort.site is not None:
        check_free(cohort, [SITE])
        columns[SITE] = cohort.site
    regions = regions_table(cohort)
    cells = {name: table_cells(column) for name, column in columns.items()}
    table = pd.concat([pd.DataFrame(cells, index=regions.index), regions], axis=1)
    # learners refuse a table with this mark: covariates would become regions
    table.attrs[NO_REGIONS] = tuple(columns)
    return table


def regions_table(cohort: Cohort) -> pd.DataFrame:
    """Regions alone as columns, ids as index."""
    index = pd.Index(cohort.ids, name=ID, dtype=object)
    return pd.DataFrame(cohort.values.copy(), index=index, columns=list(cohort.regions))


def table_cells(column: NDArray[Any]) -> NDArray[Any]:
    """Text as objects, None where it is missing; numbers as they are."""
    if column.dtype.kind == "f":
        return column.copy()
    cells = column.astype(object)
    cells[column == ""] = None
    return cells


def check_free(cohort: Cohort, reserved: Collection[str]) -> None:
    """Raise InputError if a covariate or region has the name of another column."""
    for name in (*cohort.covariates, *cohort.regions):
        if name in reserved:
            raise InputError(
                f"a covariate or region is called {name!r}, like another column. Rename it."
            )
