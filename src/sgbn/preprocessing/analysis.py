"""The default analysis as one Pipeline."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from sgbn.cohort import SITE, Cohort
from sgbn.exceptions import InputError
from sgbn.parameters import is_whole
from sgbn.preprocessing.columns import Name, Names, as_names
from sgbn.preprocessing.covariates import CovariateRegressor
from sgbn.preprocessing.design import check_smooth
from sgbn.preprocessing.missing import RegionImputer
from sgbn.preprocessing.selection import RegionSelector
from sgbn.preprocessing.sites import SiteHarmonizer
from sgbn.validation import Label


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
    """Make the default analysis: a Pipeline from a table with gaps to a group for each subject.

    Its steps, in this order; those that are not needed are left out:

    1. ``impute``: `RegionImputer`. First, since nothing after it takes missing cells.
    2. ``harmonise``: `SiteHarmonizer`, which preserves the covariates. Before they are regressed
       out: their slopes are then learned from values on one scale.
    3. ``covariates``: `CovariateRegressor`. Takes the covariates out of X.
    4. ``select``: `RegionSelector`. After the covariates, so that no region is chosen for its age.
    5. ``standardise``: scikit-learn's ``StandardScaler``.
    6. ``classify``: the classifier.

    Each step is fitted in the training part alone. Give the whole Pipeline, not its output, to
    ``cross_validate`` or ``GridSearchCV``: then no test subject plays a part in training, not even
    in the choice of regions. Each step gives a DataFrame, so that ``analysis[:-1].transform(X)``
    shows what reaches the classifier, and ``analysis[:2].transform(X)`` the harmonised regions.

    Parameters
    ----------
    cohort : Cohort, optional
        Names all its covariates, those that are smooth, and the column ``"site"`` if it has sites.
        Instead of the next four.
    covariates : sequence of column names
    site : column name, optional
    smooth : sequence of column names
        Those of `covariates` whose effects are curves, in harmonisation and when they are regressed
        out.
    subject : column name, optional
        Column of the person behind each row, where some have several: sites are harmonised by
        longitudinal ComBat. A cohort names none, for whom one predicts is seldom known before.
    k : int or sequence of region names, optional
        Keep the k best regions, or these. All are kept by default.
    select_by : {"f", "correlation"}
        How the k best are chosen.
    impute : {"median", "mean", "knn", "iterative"} or None
        None leaves the step out; missing cells are then an error.
    reference : group label, optional
        Learn the effects of covariates from this group only.
    within_groups : bool
        Learn the effects of covariates within groups. Sites are harmonised without the groups in
        any case: training rows would else be changed with labels that test rows lack.
    classifier : estimator, optional
        The last step; by default linear discriminant analysis with a shrunken covariance.

    Returns
    -------
    Pipeline
        X for it is a DataFrame of regions, covariates and site.

    Examples
    --------
    >>> analysis = make_analysis(covariates=["age", "sex"], site="site", k=40)
    >>> list(analysis.named_steps)
    ['impute', 'harmonise', 'covariates', 'select', 'standardise', 'classify']
    >>> list(make_analysis(impute=None).named_steps)
    ['standardise', 'classify']
    """
    columns = _named_columns(cohort, covariates, site, smooth, subject)
    names = columns.covariates
    if not names and (reference is not None or within_groups):
        raise InputError(
            "reference and within_groups say how effects of covariates are learned, and no "
            "covariate is named: name one in covariates, or leave them out."
        )
    regressor = CovariateRegressor(
        names, smooth=columns.smooth, reference=reference, within_groups=within_groups
    )
    steps = {
        "impute": None if impute is None else _imputer(impute, columns),
        # never within groups: test rows have no label to be harmonised with
        "harmonise": _harmonizer(columns),
        "covariates": regressor if names else None,
        "select": None if k is None else _selector(k, select_by),
        "standardise": StandardScaler(),
        "classify": _default_classifier() if classifier is None else classifier,
    }
    analysis = _pipeline(steps)
    # each step finds its columns by name, also behind steps that give arrays by default
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
    """Make a Pipeline that prepares a table with gaps for learning networks of groups.

    The steps are ``impute``, ``harmonise`` and ``covariates``, if they are needed, with the
    parameters of `make_analysis`. Effects of sites and covariates are learned within groups, so
    that no difference between the groups is taken for one of them. Call ``fit_transform(X, y)``
    with the groups as y; where something is predicted, take `make_analysis`. Beside a cohort only
    `subject` may be named: `cohort_table` has no such column, so that X needs it in addition.

    Returns
    -------
    Pipeline
        Its `fit_transform` gives a DataFrame of regions.

    Examples
    --------
    >>> list(make_preparation(covariates=["age"]).named_steps)
    ['impute', 'covariates']
    """
    columns = _named_columns(cohort, covariates, site, smooth, subject)
    regressor = CovariateRegressor(columns.covariates, smooth=columns.smooth, within_groups=True)
    steps = {
        "impute": _imputer(impute, columns),
        "harmonise": _harmonizer(columns, within_groups=True),
        "covariates": regressor if columns.covariates else None,
    }
    return _pipeline(steps).set_output(transform="pandas")


def _pipeline(steps: Mapping[str, Any]) -> Pipeline:
    return Pipeline([(name, step) for name, step in steps.items() if step is not None])


@dataclass(frozen=True)
class _Columns:
    """Columns that are not regions, by their parts."""

    covariates: tuple[Hashable, ...]
    site: Name | None
    smooth: tuple[Hashable, ...]
    subject: Name | None


def has_repeated_visits(cohort: Cohort) -> bool:
    """Whether longitudinal ComBat applies: there are sites, and a person has several rows."""
    persons = cohort.persons
    return (
        cohort.site is not None
        and len(np.unique(cohort.site)) > 1
        and persons is not None
        and len(np.unique(persons)) < len(persons)
    )


def _named_columns(
    cohort: Cohort | None, covariates: Names, site: Name | None, smooth: Names, subject: Name | None
) -> _Columns:
    named = _Columns(as_names(covariates), site, as_names(smooth), subject)
    if cohort is None:
        check_smooth(named.smooth, named.covariates)
        return named
    # `subject` may stand beside a cohort: `cohort_table` has no column of persons
    if replace(named, subject=None) != _Columns((), None, (), None):
        raise InputError("give the cohort or the names of covariates and site, not both.")
    return _Columns(
        tuple(cohort.covariates), None if cohort.site is None else SITE, cohort.smooth, subject
    )


def _imputer(strategy: str, columns: _Columns) -> RegionImputer:
    return RegionImputer(
        strategy,
        covariates=columns.covariates,
        site=columns.site,
        passthrough=as_names(columns.subject),
    )


def _harmonizer(columns: _Columns, *, within_groups: bool = False) -> SiteHarmonizer | None:
    if columns.site is None:
        if columns.subject is not None:
            raise InputError(
                "subject says whose rows are harmonised together, and no site is named: name the "
                "site too, or leave subject out."
            )
        return None
    return SiteHarmonizer(
        columns.site,
        preserve=columns.covariates,
        smooth=columns.smooth,
        subject=columns.subject,
        within_groups=within_groups,
    )


def _selector(k: Names, select_by: str) -> RegionSelector:
    if is_whole(k):
        return RegionSelector(k, by=select_by)
    return RegionSelector(regions=as_names(k))


def _default_classifier() -> LinearDiscriminantAnalysis:
    # shrunken, because there are often more regions than subjects of a group
    return LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
