"""The default analysis and the default preparation as one Pipeline, for tables and for cohorts.

`make_analysis` and `make_preparation` make Pipelines. `prepare` prepares a cohort for learning
networks, and `cohort_table` shows a cohort as a table.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from sgbn.cohort.cohort import ID, PERSON, SITE, Cohort, check_cohort, check_has_groups
from sgbn.cohort.design import check_smooth
from sgbn.cohort.effects import learn_spline
from sgbn.cohort.rows import cohort_order
from sgbn.cohort.series import SeriesCohort
from sgbn.core.moments import constant_columns
from sgbn.core.problems import InputError
from sgbn.core.validation import NO_REGIONS, Label, is_whole
from sgbn.prepare.columns import Name, Names, as_names
from sgbn.prepare.covariates import CovariateRegressor
from sgbn.prepare.missing import RegionImputer
from sgbn.prepare.selection import RegionSelector
from sgbn.prepare.sites import SiteHarmonizer


def make_analysis(
    cohort: Cohort | None = None,
    *,
    covariates: Names = (),
    site: Name | None = None,
    smooth: Names = (),
    subject: Name | None = None,
    k: Names = None,
    select_by: str = "f",
    impute: str | None = "median",
    reference: Label | None = None,
    within_groups: bool = False,
    classifier: BaseEstimator | None = None,
) -> Pipeline:
    """Make a Pipeline that predicts the group of each subject from a table that may have gaps.

    These are its steps, in this order. Steps that are not needed are left out.

    1. ``impute``: `RegionImputer`. It is first, because no later step accepts missing cells.
    2. ``harmonise``: `SiteHarmonizer`, which preserves the covariates. It comes before the
       covariates are regressed out, so that their slopes are learned from values on one scale.
    3. ``covariates``: `CovariateRegressor`. It takes the covariates out of X.
    4. ``select``: `RegionSelector`. It comes after the covariates, so that no region is chosen
       only because it changes with age.
    5. ``standardise``: scikit-learn's ``StandardScaler``.
    6. ``classify``: the classifier.

    Give the whole Pipeline, not its output, to ``cross_validate`` or ``GridSearchCV``. Each step
    then learns from the training subjects only, and no test subject takes part in training, not
    even in the choice of regions. Each step returns a DataFrame: ``analysis[:-1].transform(X)``
    shows what reaches the classifier, and ``analysis[:2].transform(X)`` the harmonised regions.

    Parameters
    ----------
    cohort : Cohort, optional
        The cohort whose covariates, smooth covariates and column ``"site"`` (if it has sites) are
        used. Give either the cohort or `covariates`, `site` and `smooth`, not both.
    covariates : sequence of column names
        Columns whose effects are removed from the regions.
    site : column name, optional
        Column of the site of each subject.
    smooth : sequence of column names
        The names in `covariates` whose effects are curves, both when sites are harmonised and when
        covariates are regressed out.
    subject : column name, optional
        Column that names the person of each row, if some persons have several rows. Sites are then
        harmonised by longitudinal ComBat. A cohort does not set this column, because the persons
        to predict are seldom known at training.
    k : int or sequence of region names, optional
        Number of best regions to keep, or names of the regions to keep. All are kept by default.
    select_by : {"f", "correlation"}
        How the k best regions are chosen: see `RegionSelector`.
    impute : {"median", "mean", "knn", "iterative"} or None
        How gaps are filled: see `RegionImputer`. None leaves the step out, and a missing cell is
        then an error.
    reference : group label, optional
        Learn the effects of covariates from this group only.
    within_groups : bool
        Learn the effects of covariates within groups. Sites are always harmonised without the
        groups, because test rows have no labels by which they could be harmonised.
    classifier : estimator, optional
        The last step. By default, linear discriminant analysis with a shrunken covariance.

    Returns
    -------
    Pipeline
        Its X is a DataFrame with the regions, the covariates and the site.

    Examples
    --------
    >>> analysis = make_analysis(covariates=["age", "sex"], site="site", k=40)
    >>> list(analysis.named_steps)
    ['impute', 'harmonise', 'covariates', 'select', 'standardise', 'classify']
    >>> list(make_analysis(impute=None).named_steps)
    ['standardise', 'classify']
    """
    columns = _named_columns(cohort, covariates, site, smooth, subject)
    if not columns.covariates and (reference is not None or within_groups):
        raise InputError("analysis.covariates").says(
            "{reference=} and {within_groups=} are for covariates, but none is named",
            "Name one ({covariates=}), or leave them out.",
        )
    slopes = {"reference": reference, "within_groups": within_groups}
    # Sites never within groups: test rows have no label to be harmonised with.
    steps = _first_steps(columns, impute, sites_within=False, **slopes)
    if impute is None:
        del steps["impute"]
    if is_whole(k):
        steps["select"] = RegionSelector(k, by=select_by)
    elif k is not None:
        steps["select"] = RegionSelector(regions=as_names(k))
    if classifier is None:
        # The covariance is shrunken, because there are often more regions than subjects in a group.
        classifier = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    steps |= {"standardise": StandardScaler(), "classify": classifier}
    analysis = Pipeline([*steps.items()])
    # Each step finds its columns by name, even after a step that returns arrays by default.
    analysis[:-1].set_output(transform="pandas")
    return analysis


def make_preparation(
    cohort: Cohort | None = None,
    *,
    covariates: Names = (),
    site: Name | None = None,
    smooth: Names = (),
    subject: Name | None = None,
    impute: str = "median",
) -> Pipeline:
    """Make a Pipeline that prepares a table, with or without gaps, for networks of groups.

    The steps are ``impute``, ``harmonise`` and ``covariates``, if they are needed. Parameters have
    the same meaning as in `make_analysis`. Effects of sites and covariates are learned within
    groups, so that no difference between the groups is mistaken for an effect of a site or a
    covariate. Call ``fit_transform(X, y)`` with the groups as y. To predict groups, use
    `make_analysis` instead. Together with a cohort, only `subject` may be named. `cohort_table`
    does not have this column, so add it to X.

    Returns
    -------
    Pipeline
        Its `fit_transform` returns a DataFrame of regions.

    Examples
    --------
    >>> list(make_preparation(covariates=["age"]).named_steps)
    ['impute', 'covariates']
    """
    columns = _named_columns(cohort, covariates, site, smooth, subject)
    steps = _first_steps(columns, impute, sites_within=True, within_groups=True)
    return Pipeline([*steps.items()]).set_output(transform="pandas")


class _Columns(NamedTuple):
    """Names of the columns that are not regions, sorted by what they hold."""

    covariates: tuple[Hashable, ...]
    site: Name | None
    smooth: tuple[Hashable, ...]
    subject: Name | None


def has_repeated_visits(cohort: Cohort) -> bool:
    """Return whether there are two sites or more, and a person has several rows.

    If so, sites are harmonised by longitudinal ComBat.
    """
    several_sites = cohort.site is not None and len(np.unique(cohort.site)) > 1
    return several_sites and cohort.design.repeats() > 0


def _named_columns(
    cohort: Cohort | None, covariates: Names, site: Name | None, smooth: Names, subject: Name | None
) -> _Columns:
    named = _Columns(as_names(covariates), site, as_names(smooth), subject)
    if cohort is None:
        check_smooth(named.smooth, named.covariates)
        return named
    # `subject` may be given together with a cohort: `cohort_table` has no column of persons.
    if named._replace(subject=None) != _Columns((), None, (), None):
        raise InputError("analysis.cohort").says(
            "a cohort names its own covariates and site", "Leave the names out, or the cohort."
        )
    return _Columns(
        tuple(cohort.covariates), None if cohort.site is None else SITE, cohort.smooth, subject
    )


def _first_steps(
    columns: _Columns, impute: Any, *, sites_within: bool, **slopes: Any
) -> dict[str, Any]:
    """Return the steps before any selection; `slopes` says from which rows slopes are learned."""
    names, site, smooth, subject = columns
    if site is None and subject is not None:
        raise InputError("analysis.site").says(
            "{subject=} is for the harmonisation of sites, but no site is named",
            "Name the site too ({site=}), or leave subject out.",
        )
    imputer = RegionImputer(impute, covariates=names, site=site, passthrough=as_names(subject))
    steps: dict[str, Any] = {"impute": imputer}
    if site is not None:
        steps["harmonise"] = SiteHarmonizer(
            site, preserve=names, smooth=smooth, subject=subject, within_groups=sites_within
        )
    if names:
        steps["covariates"] = CovariateRegressor(names, smooth=smooth, **slopes)
    return steps


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
        raise InputError("prepare.series").says(
            "a SeriesCohort has time series, not one value per region, and cannot be prepared",
            "Give it to sgbn.compare or SeriesSGBN as it is.",
        )
    check_has_groups(cohort)
    for name in cohort.smooth:
        learn_spline(cohort.covariates[name], name)  # refuses too few values for a curve
    ready = _prepared(cohort, _steps(cohort))
    # A learner would refuse such a region as well, but without the reason.
    for group in ready.groups:
        constant = np.flatnonzero(constant_columns(ready.values[ready.group == group]))
        if len(constant):
            names = [ready.regions[k] for k in constant]
            raise InputError("regions.explained", regions=names, group=group).says(
                "sites and covariates leave nothing of {regions} in the group {group}",
                "Exclude these regions, or name fewer covariates.",
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
    # The last digits of sums must not depend on the order of the rows.
    order = cohort_order(cohort)
    table = cohort_table(cohort)
    if has_repeated_visits(cohort):
        # The column is added here, and a covariate of this name would be overwritten.
        check_free(cohort, [PERSON])
        table.insert(0, PERSON, table_cells(np.asarray(cohort.persons)))
    # `fit_transform` knows the groups, so that their means are kept. `transform` does not.
    table = step.fit_transform(table.iloc[order], np.asarray(cohort.group)[order])
    values = table[list(cohort.regions)].to_numpy()[np.argsort(order)]
    return replace(fill_covariates(cohort), values=values)


def _filled(column: NDArray[Any]) -> NDArray[Any]:
    if column.dtype.kind == "f":
        # In a linear model with centred covariates, the mean adds no effect.
        return np.where(np.isnan(column), np.nanmean(column), column)
    return np.where(column == "", "unknown", column)


def cohort_table(cohort: Cohort) -> pd.DataFrame:
    """Return covariates, site (if any) and regions as columns, with the ids as index.

    Use the table as X of `make_analysis` and of the transformers in `sgbn.prepare`, and
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
            raise InputError("names.reserved", name=name).says(
                "a covariate or region is called {name}, as another column of the table",
                "Rename it.",
            )
