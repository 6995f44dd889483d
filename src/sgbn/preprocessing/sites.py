"""Site effects taken out of the regions (ComBat)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sgbn.exceptions import InputError, listed, shown, warn
from sgbn.parameters import ANYTHING, TRUTH, OneOf, Parameters, Whole
from sgbn.preprocessing.columns import (
    COLUMNS,
    Name,
    NamedColumnTransformer,
    Names,
    Table,
    as_names,
    check_site,
    labels_of,
    row_name,
)
from sgbn.preprocessing.combat import Combat, fit_combat, remove_sites
from sgbn.preprocessing.design import (
    Design,
    Slopes,
    check_enough_rows,
    learn_design,
    level_codes,
    sorted_levels,
)
from sgbn.structure.nuisance import indicators
from sgbn.structure.smooth import MIN_SPLINES, SMOOTH_DF
from sgbn.types import Array, Indices


class SiteHarmonizer(NamedColumnTransformer):
    """Remove what each site adds to the regions and how it stretches them (ComBat).

    Location and scale of each site are estimated by parametric empirical Bayes [1]_ [2]_, with the
    effects of the preserved covariates held aside, so that a site with older subjects is not
    "corrected" for their age. All estimates come from the training rows; `transform` applies them
    to each row by itself.

    Effects of covariates are linear, or curves if they are named in `smooth` (ComBat-GAM [3]_). A
    curve is a cubic spline f whose bends are penalised: least squares plus a weight times the
    integral of f'' squared, by region, with the weight of greatest restricted likelihood (REML).

    Where persons have several rows, `subject` names them (longitudinal ComBat [4]_). A mixed model
    then tells the intercept of each person from the effect of the site, and keeps it: only the
    rest is shifted and stretched. Persons may be seen at one site or at several.

    Rules:

    * A subject of a site that training did not have: the site effect is taken as the average
      (location 0, scale 1), so that its values stay as they are, and a `DataWarning` names the
      site. With ``unseen="error"`` an `InputError` instead.
    * A site of one training subject: its location is shrunk towards the site's average over
      regions, its scale stays 1. Without empirical Bayes it counts as unseen.
    * One site in all training rows: nothing is changed, silently; there is nothing to harmonise.
    * A region that is constant in training stays as it is.
    * A value of a smooth covariate outside of the training range has the effect at the end of that
      range, with a `DataWarning` if it lies outside by more than a tenth of the range.
    * A person whom training did not have: the intercept is predicted from each row by itself, so
      that rows that are harmonised together never inform each other. If no person has several
      rows in training, `subject` changes nothing. Labels that are numbers in training and text
      later, or the other way round, are refused: nobody would be known again.
    * A preserved covariate that does not vary within sites cannot be told from the site: its
      effect goes with the site's, and a `DataWarning` says so.

    The group cannot be preserved where something is predicted: the label of a test subject would
    shape its values. `fit` takes no notice of y, except that it refuses a preserved column that is
    y under other names. For whole groups, of which nothing is predicted, see `within_groups`.

    Parameters
    ----------
    site : column name, optional
        Column of site labels (text or numbers); taken out of X. Without it nothing is changed.
    preserve : sequence of column names
        Covariates whose effects are kept. They stay in X, for a `CovariateRegressor` to come.
    smooth : sequence of column names
        Those of `preserve` whose effects are curves.
    smooth_df : int
        B-splines of each curve, 5 or more. Where training has fewer different values of a
        covariate, its effect is linear, with a `DataWarning`.
    subject : column name, optional
        Column of the person behind each row, where some have several; taken out of X. A fitted
        harmonizer, and a file of it, holds the labels of persons.
    passthrough : sequence of column names
        Columns that are not regions and play no part here. They stay in X.
    unseen : {"average", "error"}
        What to do about sites that training did not have.
    empirical_bayes : bool
        If False, each region's own estimate is used. One region alone is never shrunk.
    within_groups : bool
        Hold the means of the groups y aside as well, so that a difference between the groups is not
        taken for one between sites with unequal shares of them. Then ``fit_transform(X, y)`` is
        not `fit` and `transform`: it knows the group of each row, `transform` does not.

    Attributes
    ----------
    sites_ : list
        Sites in training; rows of `location_` and `scale_`.
    site_counts_ : array of shape (sites,)
        Training subjects of each.
    location_, scale_ : arrays of shape (sites, regions)
        Effects of each site, in units of `region_sd_`.
    region_mean_, region_sd_ : arrays of shape (regions,)
        Mean at the training average of the covariates, and spread within sites.
    coef_ : array of shape (design columns, regions)
        Slopes of the preserved covariates, named by `design_names_`; a curve has several.
    persons_ : list
        Persons in training whose intercepts were predicted.
    person_ratio_ : array of shape (regions,)
        Variance of the persons' intercepts over that of the rest; 0 without them.
    n_features_in_, feature_names_in_
        Columns of X in `fit`.

    References
    ----------
    .. [1] Johnson, Li, Rabinovic (2007), Biostatistics 8(1).
    .. [2] Fortin et al. (2018), NeuroImage 167.
    .. [3] Pomponio et al. (2020), NeuroImage 208.
    .. [4] Beer et al. (2020), NeuroImage 220.
    """

    _consumes: ClassVar[tuple[str, ...]] = ("site", "subject")
    _parameters: ClassVar[Parameters] = {
        **dict.fromkeys(("site", "preserve", "passthrough", "subject"), COLUMNS),
        "smooth": ANYTHING,  # compared with `preserve` in fit
        "smooth_df": Whole(MIN_SPLINES),
        "unseen": OneOf("average", "error"),
        **dict.fromkeys(("empirical_bayes", "within_groups"), TRUTH),
    }

    def __init__(
        self,
        site: Name | None = None,
        *,
        preserve: Names = (),
        smooth: Names = (),
        smooth_df: int = SMOOTH_DF,
        subject: Name | None = None,
        passthrough: Names = (),
        unseen: str = "average",
        empirical_bayes: bool = True,
        within_groups: bool = False,
    ) -> None:
        self.site = site
        self.preserve = preserve
        self.smooth = smooth
        self.smooth_df = smooth_df
        self.subject = subject
        self.passthrough = passthrough
        self.unseen = unseen
        self.empirical_bayes = empirical_bayes
        self.within_groups = within_groups

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Estimate the site effects.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_columns)
            Regions, site and covariates.
        y : array-like of shape (n_samples,), optional
            Groups, required with `within_groups`. Else not used; a preserved covariate that equals
            it is refused.

        Returns
        -------
        self
        """
        table = self._open(X)
        preserved = self._preserved(table)
        design = learn_design(preserved, smooth=as_names(self.smooth), df=self.smooth_df)
        # a leak of labels is refused in fit, before any number is computed
        _refuse_group(preserved, y)
        groups = self._group_columns(y, len(preserved))
        sites = () if self._site is None else self._check_sites(self._labels(table))
        persons = self._learn_persons(table)
        # one site: location 0 and scale 1, so that `transform` needs no special case
        if len(sites) < 2:
            n_design = len(design.names) + groups.shape[1]
            fitted = _unchanged(table, n_design, max(len(sites), 1))
            codes = np.zeros(len(preserved), np.intp)
        else:
            codes = level_codes(self._labels(table), sites)
            D = np.hstack([design.rows(preserved), groups])
            fitted = self._combat(table, design, D, codes, persons)
        self._store(design, fitted, list(sites), codes)
        self.persons_ = [] if fitted.persons is None else persons
        return self

    def fit_transform(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        **fit_params: Any,  # noqa: ARG002
    ) -> Any:
        """Estimate the site effects and remove them; see `within_groups`."""
        self.fit(X, y)
        if not self.within_groups:
            return self.transform(X)
        table = self._open(X, reset=False)
        groups = self._group_columns(y, len(table.values))
        # group effects come after those of covariates among the slopes
        effects = groups @ self._fitted.slopes.coef[len(self.design_names_) :]
        apart = self._changed(replace(table, values=table.values - effects))
        return self._close(X, replace(apart, values=apart.values + effects))

    def _group_columns(self, y: Any, n_rows: int) -> Array:
        """Centred indicators of each group but the first; none without `within_groups`."""
        if not self.within_groups:
            return np.empty((n_rows, 0))
        if y is None:
            raise InputError(
                "within_groups needs the groups: call fit(X, y) with one label per row."
            )
        columns = indicators(labels_of(y, n_rows)[0])[:, 1:]
        # centred, so that the region's mean is that of all rows
        return columns - columns.mean(axis=0)

    def _combat(
        self, table: Table, design: Design, D: Any, codes: Indices, persons: list[Any]
    ) -> Combat:
        check_enough_rows(len(D), int(codes.max()) + 1, design, "training rows")
        fitted = fit_combat(
            table.values,
            D,
            codes,
            empirical_bayes=self.empirical_bayes,
            smooth=design.smooth,
            persons=level_codes(self._persons(table), persons) if persons else None,
        )
        _warn_confounded(fitted.slopes, design, self._site)
        return fitted

    def _store(self, design: Design, fitted: Combat, sites: list[Any], codes: Indices) -> None:
        self._design, self._fitted = design, fitted
        self.sites_, self.site_counts_ = sites, np.bincount(codes)
        self.location_, self.scale_ = fitted.location, fitted.scale
        self.region_mean_, self.region_sd_ = fitted.mean, fitted.sd
        self.coef_, self.design_names_ = fitted.slopes.coef[: len(design.names)], design.names
        none = np.zeros(len(fitted.mean))
        self.person_ratio_ = none if fitted.persons is None else fitted.persons.ratio

    def _changed(self, table: Table) -> Table:
        D = self._design.rows(self._preserved(table))
        unknown = len(self._fitted.slopes.coef) - D.shape[1]  # columns of groups, at their mean
        D = np.hstack([D, np.zeros((len(D), unknown))])
        # -1 is the average site: without a site column all rows stay as they are
        codes = np.full(len(table.values), -1, np.intp)
        if self._site is not None:
            labels = self._labels(table)
            codes = level_codes(labels, self.sites_)
            self._report_unseen(labels, codes)
        persons = None
        if self._fitted.persons is not None:
            labels = self._persons(table)
            _check_same_type(labels, self.persons_)
            persons = level_codes(labels, self.persons_)
        return replace(table, values=remove_sites(table.values, D, codes, self._fitted, persons))

    def _preserved(self, table: Table) -> pd.DataFrame:
        return table.named[list(as_names(self.preserve))]

    def _labels(self, table: Table) -> pd.Series[Any]:
        labels = table.named[self._site]
        check_site(labels)
        return labels

    def _persons(self, table: Table) -> pd.Series[Any]:
        """Person of each row; a row without one is refused."""
        labels = table.named[as_names(self.subject)[0]]
        gaps = labels.isna().to_numpy()
        if gaps.any():
            raise InputError(
                f"the subject {labels.name!r} is missing (NaN) in "
                f"{row_name(labels.index, int(np.argmax(gaps)))} ({int(gaps.sum())} such rows). "
                "Give each person a label, also one with a single row, or drop these rows."
            )
        return labels

    def _learn_persons(self, table: Table) -> list[Any]:
        """Persons in training, in order; none where each has one row, or none are named."""
        names = as_names(self.subject)
        if len(names) > 1:
            raise InputError(f"subject names several columns: {listed(names)}. Name one.")
        if not names:
            return []
        labels = self._persons(table)
        persons = sorted_levels(labels)
        # with one row each, a person's intercept cannot be told from noise
        return list(persons) if len(persons) < len(labels) else []

    def _check_sites(self, labels: pd.Series[Any]) -> tuple[Any, ...]:
        sites = sorted_levels(labels)
        # a column of ids given as the site is a usual slip
        if len(sites) > 1 and len(sites) == len(labels):
            raise InputError(
                f"each training subject has a different site in column {self._site!r} "
                f"({listed(sites)}), so no site effect can be estimated. Does this column hold "
                "subject ids? Name the column that holds the sites."
            )
        return sites

    def _report_unseen(self, labels: pd.Series[Any], codes: Indices) -> None:
        if (codes >= 0).all():
            return
        counts = labels[codes < 0].value_counts(sort=False)
        named = ", ".join(f"{shown(site)} ({count})" for site, count in counts.items() if count)
        if self.unseen == "error":
            raise InputError(
                f"sites that training did not have: {named}; it had {listed(self.sites_)}. Drop "
                "these subjects, or set unseen='average' to leave their values as they are."
            )
        warn(
            f"sites that training did not have, with their subjects: {named}. Their site effect "
            "is taken as the average, so that their values stay as they are."
        )


def _unchanged(table: Table, n_design: int, n_sites: int) -> Combat:
    shape = (n_sites, table.values.shape[1])
    none = np.empty(0, np.intp)
    slopes = Slopes(np.zeros((n_design, shape[1])), none, none)
    sd = table.values.std(axis=0)
    return Combat(table.values.mean(axis=0), slopes, sd, np.zeros(shape), np.ones(shape))


def _check_same_type(labels: pd.Series[Any], known: Sequence[Any]) -> None:
    """Raise InputError if labels are text and those of training were numbers, or vice versa."""
    text_in_training = {isinstance(label, str) for label in known}
    for row, label in enumerate(labels.tolist()):
        if isinstance(label, str) not in text_in_training:
            # compared by value, the label 7 and the text "7" are two persons
            kinds = ("text", "numbers") if isinstance(label, str) else ("no text", "text")
            raise InputError(
                f"the subject {labels.name!r} is {kinds[0]} ({shown(label)}) in "
                f"{row_name(labels.index, row)}, but training had {kinds[1]} "
                f"({shown(known[0])}). So persons cannot be recognised: give this column the "
                "type that it had in training."
            )


def _refuse_group(preserved: pd.DataFrame, y: Any) -> None:
    """Raise InputError if a preserved covariate is y under other labels."""
    if y is None:
        return
    groups, names = labels_of(y, len(preserved))
    for name in preserved.columns:
        cells = preserved[name]
        # y relabelled: as many pairs of labels as labels on either side
        codes, levels = pd.factorize(np.asarray(cells, object))
        pairs = len(set(zip(codes.tolist(), groups.tolist(), strict=True)))
        # where no value occurs twice, any two columns are relabellings of each other
        tells = len(names) < len(groups) or cells.tolist() == np.asarray(y).tolist()
        if tells and len(names) > 1 and pairs == len(levels) == len(names):
            raise InputError(
                f"preserve names {name!r}, which is the group with other labels. The values of "
                "test subjects would then depend on their true groups, which a classifier must not "
                "know. Take this column out of preserve."
            )


def _warn_confounded(slopes: Slopes, design: Design, site: Any) -> None:
    lost = np.union1d(slopes.constant, slopes.collinear)
    lost = lost[lost < len(design.names)]  # the columns after those are groups
    if len(lost):
        warn(
            f"the preserved covariate {listed(design.covariates_of(lost))} cannot be separated "
            f"from {site!r} or from another covariate: within sites it does not vary by itself. "
            "What is confounded with the site is removed with it. Compare sites that overlap in "
            "it, or do not preserve it."
        )
