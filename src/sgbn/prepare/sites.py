"""The transformer that removes site effects from the regions (ComBat), and its arithmetic.

ComBat estimates location and scale of each site by empirical Bayes. The model follows Johnson et
al. (2007) and Fortin et al. (2018). For subject i of site s and region j it is

    y_ij = mean_j + d_i' coef_j + sd_j (location_sj + scale_sj e_ij)

Here y is the measured value, d_i are the preserved covariates of the subject, coef_j their slopes,
and e_ij is noise with variance 1. Each site has a normal prior for its locations and an
inverse-gamma prior for its squared scales. The parameters of the priors come from the moments over
regions. The posterior mean of the location depends on the scale, and the other way round: the two
equations are iterated until both hold.

Some design columns may be the curved columns of a smooth effect, which are penalised (ComBat-GAM).
If persons have several rows, person k has an intercept v_kj for each region, and the model is

    y_ij = mean_j + d_i' coef_j + v_kj + sd_j (location_sj + scale_sj e_ij)

Its effects and sd come from the mixed model in `sgbn.prepare.mixed` (longitudinal ComBat).
The intercept of a person is kept, and only the rest is shifted and stretched.

References
----------
Johnson, Li, Rabinovic (2007), Biostatistics 8(1). Fortin et al. (2018), NeuroImage 167. Pomponio et
al. (2020), NeuroImage 208. Beer et al. (2020), NeuroImage 220.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sgbn.cohort.cohort import labels_shown
from sgbn.cohort.effects import MIN_SPLINES, SMOOTH_DF, indicators
from sgbn.core.problems import InputError, Problem
from sgbn.core.types import Array, Indices, Mask
from sgbn.core.validation import ANYTHING, TRUTH, OneOf, Parameters, Whole
from sgbn.prepare.columns import (
    COLUMNS,
    Name,
    NamedColumnTransformer,
    Names,
    Table,
    as_names,
    filled_labels,
    labels_of,
)
from sgbn.prepare.covariates import (
    CovariateColumns,
    check_enough_rows,
    learn_design,
    level_codes,
    sorted_levels,
)
from sgbn.prepare.mixed import Slopes, fit_mixed, group_means, within_group_slopes


class SiteHarmonizer(NamedColumnTransformer):
    """Remove the shift and the stretch that each site gives to the regions (ComBat).

    Location and scale of each site are estimated by parametric empirical Bayes [1]_ [2]_. The
    effects of the preserved covariates are kept, so that a site with older subjects is not
    "corrected" for their age. All estimates come from the training rows. `transform` applies them
    to each row separately.

    Effects of covariates are linear, or curves if the covariates are named in `smooth` (ComBat-GAM
    [3]_). A curve is a cubic spline f that minimises the sum of squares plus a weight times the
    integral of f'' squared. For each region, the weight is the one with the largest restricted
    likelihood (REML).

    If persons have several rows, `subject` names the column of persons (longitudinal ComBat [4]_).
    A mixed model then separates the intercept of each person from the effect of the site. The
    intercept is kept, and only the rest is shifted and stretched. Persons may have been measured at
    one site or at several sites.

    Special cases:

    * A subject's site did not occur in training: the site effect is taken as the average
      (location 0, scale 1), so that the values stay as they are, and a `DataWarning` names the
      site. With ``unseen="error"`` this is an `InputError` instead.
    * A site has one training subject: its location is shrunk towards the site's average over
      regions, and its scale stays 1. Without empirical Bayes, the site counts as unseen.
    * All training rows have the same site: nothing is changed, without a warning.
    * A region is constant in training: it stays as it is.
    * A value of a smooth covariate lies outside the training range: its effect is the effect at the
      end of the range. A `DataWarning` says so if the value lies outside by more than a tenth of
      the range.
    * A person did not occur in training: the intercept is predicted from each row separately, so
      that rows that are harmonised together never affect each other.
    * No person has several rows in training: `subject` changes nothing.
    * Labels of persons are numbers in training and text later, or the other way round: this is an
      `InputError`, because no person could be recognised.
    * A preserved covariate does not vary within sites: its effect cannot be separated from the
      site effect, and both are removed together. A `DataWarning` says so.

    Do not preserve the group if groups are predicted, because the label of a test subject would
    then change its values. Without `within_groups`, `fit` uses y only to refuse a preserved column
    that is the same as y, or y under other labels. To prepare whole groups, without prediction, see
    `within_groups`.

    Parameters
    ----------
    site : column name, optional
        Column of site labels (text or numbers), which is taken out of X. Without it, nothing is
        changed.
    preserve : sequence of column names
        Covariates whose effects are kept. They stay in X, so that a later `CovariateRegressor` can
        use them.
    smooth : sequence of column names
        The names in `preserve` whose effects are curves.
    smooth_df : int
        Number of B-splines of each curve, at least 5. If a covariate has fewer different values in
        training, its effect is linear, with a `DataWarning`.
    subject : column name, optional
        Column that names the person of each row, if some persons have several rows. It is taken out
        of X. A fitted harmonizer contains the labels of persons, and so does a file of it.
    passthrough : sequence of column names
        Columns that are not regions and that this step does not use. They stay in X.
    unseen : {"average", "error"}
        What to do if a site did not occur in training.
    empirical_bayes : bool
        Whether the estimates of a site are shrunk towards its average over regions. If False, each
        region has its own estimate. A single region is never shrunk.
    within_groups : bool
        Keep the differences between the groups y as well. If sites have unequal shares of the
        groups, a difference between groups is then not mistaken for a difference between sites.
        With this option, ``fit_transform(X, y)`` differs from `fit` and then `transform`, because
        `transform` does not know the group of each row.

    Attributes
    ----------
    sites_ : list
        Sites in training, in the order of the rows of `location_` and `scale_`.
    site_counts_ : array of shape (sites,)
        Number of training subjects of each site.
    location_, scale_ : arrays of shape (sites, regions)
        Effects of each site, in units of `region_sd_`.
    region_mean_, region_sd_ : arrays of shape (regions,)
        Mean at the training average of the covariates, and spread within sites.
    coef_ : array of shape (design columns, regions)
        Slopes of the preserved covariates. A curve has several design columns.
    design_names_ : list of str
        Names of the design columns, such as ``age`` or ``sex=M``.
    persons_ : list
        Persons in training whose intercepts were predicted.
    person_ratio_ : array of shape (regions,)
        Variance of the persons' intercepts, divided by the variance of the rest; 0 if there are
        no such intercepts.
    n_features_in_, feature_names_in_
        Number and names of the columns of X in `fit`.

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
            A table with the regions, the site and the covariates.
        y : array-like of shape (n_samples,), optional
            Group of each row. Required with `within_groups`. Otherwise it is only used to refuse a
            preserved covariate that equals it.

        Returns
        -------
        self
        """
        table = self._open(X)
        preserved = self._preserved(table)
        design = learn_design(preserved, smooth=as_names(self.smooth), df=self.smooth_df)
        # A leak of labels is refused in fit, before any number is computed.
        _refuse_group(preserved, y)
        groups = self._group_columns(y, len(preserved))
        sites = () if self._site is None else self._check_sites(self._labels(table))
        persons = self._learn_persons(table)
        # A single site has location 0 and scale 1, so that `transform` needs no special case.
        if len(sites) < 2:
            n_design = len(design.names) + groups.shape[1]
            fitted = _unchanged(table, n_design, max(len(sites), 1))
            codes = np.zeros(len(preserved), np.intp)
        else:
            codes = level_codes(self._labels(table), sites)
            check_enough_rows(len(codes), len(sites), design)
            fitted = fit_combat(
                table.values,
                np.hstack([design.rows(preserved), groups]),
                codes,
                empirical_bayes=self.empirical_bayes,
                smooth=design.smooth,
                persons=level_codes(self._persons(table), persons) if persons else None,
            )
            _warn_confounded(fitted.slopes, design, self._site)
        self._design, self._fitted = design, fitted
        self.sites_, self.site_counts_ = list(sites), np.bincount(codes)
        self.location_, self.scale_ = fitted.location, fitted.scale
        self.region_mean_, self.region_sd_ = fitted.mean, fitted.sd
        self.coef_, self.design_names_ = fitted.slopes.coef[: len(design.names)], design.names
        effects = fitted.persons
        self.persons_ = [] if effects is None else persons
        self.person_ratio_ = np.zeros(len(fitted.mean)) if effects is None else effects.ratio
        return self

    def fit_transform(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        **fit_params: Any,  # noqa: ARG002
    ) -> Any:
        """Estimate the site effects and remove them. With `within_groups`, y is required."""
        self.fit(X, y)
        if not self.within_groups:
            return self.transform(X)
        table = self._open(X, reset=False)
        groups = self._group_columns(y, len(table.values))
        # The slopes of the groups come after the slopes of the covariates.
        effects = groups @ self._fitted.slopes.coef[len(self.design_names_) :]
        apart = self._changed(replace(table, values=table.values - effects))
        return self._close(X, replace(apart, values=apart.values + effects))

    def _group_columns(self, y: Any, n_rows: int) -> Array:
        """Return centred indicators of each group except the first, if `within_groups` is set."""
        if not self.within_groups:
            return np.empty((n_rows, 0))
        if y is None:
            raise InputError("harmonizer.groups").says(
                "{within_groups=True} needs the groups", "Call fit(X, y) with one label per row."
            )
        columns = indicators(labels_of(y, n_rows)[0])[:, 1:]
        # With centred columns, the mean of a region is the mean over all rows.
        return columns - columns.mean(axis=0)

    def _changed(self, table: Table) -> Table:
        D = self._design.rows(self._preserved(table))
        # The columns of groups come last. Groups are unknown here: each cell is the mean, 0.
        n_groups = len(self._fitted.slopes.coef) - D.shape[1]
        D = np.hstack([D, np.zeros((len(D), n_groups))])
        # -1 is the average site: without a site column all rows stay as they are.
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
        return filled_labels(table.named[self._site])

    def _persons(self, table: Table) -> pd.Series[Any]:
        """Return the person of each row, or raise InputError for a row without a person."""
        return filled_labels(table.named[as_names(self.subject)[0]])

    def _learn_persons(self, table: Table) -> list[Any]:
        """Return the persons in training, sorted. The list is empty if each has a single row."""
        if not as_names(self.subject):
            return []
        labels = self._persons(table)
        persons = sorted_levels(labels)
        # If each person has one row, intercepts cannot be separated from noise.
        return list(persons) if len(persons) < len(labels) else []

    def _check_sites(self, labels: pd.Series[Any]) -> tuple[Any, ...]:
        sites = sorted_levels(labels)
        # Users sometimes give the column of ids as the site.
        if len(sites) > 1 and len(sites) == len(labels):
            # The labels are not shown, because they may be ids.
            raise InputError("sites.ids", name=self._site).says(
                "each training subject has a different site in column {name}",
                "Does it hold subject ids? Name the column that holds the sites.",
            )
        return sites

    def _report_unseen(self, labels: pd.Series[Any], codes: Indices) -> None:
        if (codes >= 0).all():
            return
        unseen = labels[codes < 0]
        shown = labels_shown(unseen.unique().tolist(), unseen.to_numpy(str))
        values = {"sites": shown, "n": len(unseen)}
        if self.unseen == "error":
            raise InputError("sites.unseen", **values).says(
                UNSEEN_SITES,
                "Drop these subjects, or keep their values ({unseen='average'}).",
            )
        Problem("sites.unseen", **values).warn(
            UNSEEN_SITES,
            "The site effect of these subjects is taken as the average: their values stay.",
        )


def _unchanged(table: Table, n_design: int, n_sites: int) -> Combat:
    shape = (n_sites, table.values.shape[1])
    none = np.empty(0, np.intp)
    slopes = Slopes(np.zeros((n_design, shape[1])), none, none)
    sd = table.values.std(axis=0)
    return Combat(table.values.mean(axis=0), slopes, sd, np.zeros(shape), np.ones(shape))


def _check_same_type(labels: pd.Series[Any], known: Sequence[Any]) -> None:
    """Raise InputError if labels are text now and were numbers in training, or vice versa."""
    text_in_training = {isinstance(label, str) for label in known}
    for row, label in enumerate(labels.tolist()):
        if isinstance(label, str) not in text_in_training:
            # The number 7 and the text "7" are not equal, so that they would be two persons.
            persons = {"person": label, "person_known": known[0], "subject": labels.index[row]}
            raise InputError("persons.type", name=labels.name, **persons).says(
                "column {name} of {subject} is {person}, but training had labels of another type, "
                "such as {person_known}",
                "Give this column the type that it had in training.",
            )


def _refuse_group(preserved: pd.DataFrame, y: Any) -> None:
    """Raise InputError if a preserved covariate is y under other labels."""
    if y is None:
        return
    groups, names = labels_of(y, len(preserved))
    for name in preserved.columns:
        cells = preserved[name]
        # A column is y relabelled if there are as many pairs of labels as labels on each side.
        codes, levels = pd.factorize(np.asarray(cells, object))
        pairs = len(set(zip(codes.tolist(), groups.tolist(), strict=True)))
        # If no value occurs twice, any two columns are relabellings of each other.
        tells = len(names) < len(groups) or cells.tolist() == np.asarray(y).tolist()
        if tells and len(names) > 1 and pairs == len(levels) == len(names):
            raise InputError("preserve.group", name=name).says(
                "{preserve=} has {name}, which is the group with other labels: the values of test "
                "subjects would depend on their true groups",
                "Take this column out.",
            )


def _warn_confounded(slopes: Slopes, design: CovariateColumns, site: Any) -> None:
    lost = np.union1d(slopes.constant, slopes.collinear)
    lost = lost[lost < len(design.names)]  # the columns after these are groups
    if len(lost):
        names = design.covariates_of(lost)
        Problem("preserve.confounded", names=names, site=site).warn(
            "preserved covariates cannot be separated from {site} or from each other: {names}",
            "The part confounded with the site is removed with the site effect. Use sites that "
            "overlap in these covariates, or do not preserve them.",
        )


UNSEEN_SITES = "training did not have these sites, of {n:subject}: {sites}"
TOL = 1e-12  # change in a round, relative to the largest location: below it, iteration stops
MAX_ITER = 1000  # rounds of the posterior equations; a dozen are usual
FLAT_EPS = 1e-12  # spread within sites relative to the largest value: a smaller one is round-off


class PersonEffects(NamedTuple):
    """Intercepts of the training persons, and numbers to predict the intercepts of new persons.

    Attributes
    ----------
    intercepts : array of shape (persons, regions)
        Predicted intercepts of the persons in training.
    ratio : array of shape (regions,)
        Variance of the persons' intercepts, divided by the variance of the noise.
    site_means : array of shape (sites, regions)
        Fixed effect of each site. It is subtracted before a new person's intercept is predicted.
    """

    intercepts: Array
    ratio: Array
    site_means: Array


class Combat(NamedTuple):
    """The result of a fit.

    Attributes
    ----------
    mean, sd : arrays of shape (regions,)
        Mean of each region and its spread within sites.
    slopes : Slopes
        Slopes of the preserved covariates.
    location, scale : arrays of shape (sites, regions)
        Effects of each site, in units of `sd`.
    persons : PersonEffects or None
        Intercepts of persons, if persons were given.
    """

    mean: Array
    slopes: Slopes
    sd: Array
    location: Array
    scale: Array
    persons: PersonEffects | None = None


def fit_combat(
    values: Array,
    D: Array,
    codes: Indices,
    *,
    empirical_bayes: bool = True,
    smooth: Sequence[Indices] = (),
    persons: Indices | None = None,
    weights: Sequence[float] | None = None,
) -> Combat:
    """Estimate location and scale of each site.

    Parameters
    ----------
    values : array of shape (subjects, regions)
        The values to be harmonised.
    D : array of shape (subjects, design columns)
        Design columns of the preserved covariates, centred.
    codes : array of shape (subjects,)
        Site of each subject, numbered from 0 without gaps.
    empirical_bayes : bool
        Whether the estimates of a site are shrunk towards its average effect on all regions.
    smooth : sequence of int arrays
        The penalised columns of D, one array per smooth covariate.
    persons : array of shape (subjects,), optional
        Person of each row, numbered from 0 without gaps.
    weights : sequence of float, optional
        Penalty of each smooth covariate. By default, REML chooses the penalties.
    """
    counts, person_effects = np.bincount(codes), None
    if smooth or persons is not None:
        mixed = fit_mixed(D, values, codes, smooth, persons, weights)
        slopes, rest = mixed.slopes, values - D @ mixed.slopes.coef
        # Each site is weighted by its number of subjects, as in the grand mean of ComBat.
        mean = counts @ mixed.intercepts / len(codes)
    else:
        slopes = within_group_slopes(D, values, codes)
        rest = values - D @ slopes.coef
        mean = rest.mean(axis=0)
    if persons is not None:
        person_effects = PersonEffects(mixed.persons, mixed.person_ratio, mixed.intercepts)
        rest, sd = rest - mixed.persons[persons], np.sqrt(mixed.variance)
    site_means = group_means(rest, codes)
    if persons is None:
        sd = np.sqrt(np.mean((rest - site_means[codes]) ** 2, axis=0))
    # The limit is relative to the values: values around 1e9 have more round-off than values near 1.
    flat = sd <= FLAT_EPS * np.abs(values).max(axis=0)
    sd = np.where(flat, 1.0, sd)
    gamma = (site_means - mean) / sd
    squares = group_means(((rest - site_means[codes]) / sd) ** 2, codes)
    # The sample variance divides by n - 1. `shrink` treats sites with one subject separately.
    variance = squares * (counts / np.maximum(counts - 1, 1))[:, None]
    location, scale = _effects(gamma, variance, counts, flat, empirical_bayes)
    # A constant region has no site effect to remove.
    location[:, np.ptp(values, axis=0) == 0] = 0.0
    return Combat(mean, slopes, sd, location, scale, person_effects)


def remove_sites(
    values: Array, D: Array, codes: Indices, fitted: Combat, persons: Indices | None = None
) -> Array:
    """Return the values without the site effects.

    A site with code -1 is unknown: its location is 0 and its scale 1. A person with code -1 was
    not in training: the intercept is predicted from each row separately.
    """
    # The row that is added at the end is the average site: numpy reads code -1 as the last row.
    none = np.zeros((1, values.shape[1]))
    location = np.vstack([fitted.location, none])[codes]
    scale = np.vstack([fitted.scale, none + 1.0])[codes]
    centred = values - (fitted.mean + D @ fitted.slopes.coef)
    if fitted.persons is not None and persons is not None:
        rest = values - D @ fitted.slopes.coef
        # The level of a person is kept: only what is left is shifted and stretched.
        centred = centred - _intercepts(rest, codes, persons, fitted.persons)
    # In this form the correction is exactly zero for location 0 and scale 1.
    return values + ((centred - fitted.sd * location) / scale - centred)


def _intercepts(rest: Array, codes: Indices, persons: Indices, known: PersonEffects) -> Array:
    """Return the intercept of the person of each row: 0 if person and site are both unknown."""
    # Best linear unbiased prediction from one row: the rest times the persons' share of variance.
    predicted = known.ratio / (1 + known.ratio) * (rest - known.site_means[codes])
    # If the mean of its site is unknown, a row cannot separate the person from the site.
    predicted[codes < 0] = 0.0
    return np.where((persons < 0)[:, None], predicted, known.intercepts[persons])


def shrink(gamma: Array, variance: Array, counts: Indices) -> tuple[Array, Array]:
    """Return the posterior location and the posterior squared scale of each site and region.

    These are the equations of Johnson et al., multiplied by ``s2``, which is the variance of a
    site's squared scales over the regions. So they also hold when all regions have the same squared
    scale. Sites with one subject keep the squared scale 1.

    Parameters
    ----------
    gamma, variance : arrays of shape (sites, regions)
        Mean and variance of each site, by region, in units of the region's spread.
    counts : array of shape (sites,)
        Number of subjects of each site.
    """
    n = counts[:, None].astype(float)
    # 1 is the average scale: a single subject does not show the scale of its site.
    delta_hat = np.where((n == 1) | (variance <= FLAT_EPS**2), 1.0, variance)
    # Moments over regions give the priors of each site, which shrink it towards its own average.
    centre, tau2 = gamma.mean(axis=1, keepdims=True), gamma.var(axis=1, ddof=1, keepdims=True)
    m, s2 = delta_hat.mean(axis=1, keepdims=True), delta_hat.var(axis=1, ddof=1, keepdims=True)
    # The iteration starts at the estimates without a prior.
    location, delta = gamma, delta_hat
    for _ in range(MAX_ITER):
        new = (tau2 * n * gamma + delta * centre) / (tau2 * n + delta)
        squares = (n - 1) * variance + n * (gamma - new) ** 2
        # The usual form divides all terms by s2. In this form s2 may be 0.
        new_delta = (0.5 * squares * s2 + m * s2 + m**3) / ((n / 2 + 1) * s2 + m**2)
        change = max(np.abs(new - location).max(), np.abs(new_delta / delta - 1).max())
        location, delta = new, new_delta
        if change <= TOL * max(1.0, np.abs(gamma).max()):
            return location, delta
    Problem("sites.rounds", change=change, n=MAX_ITER).warn(
        "site effects still change by {change:.1e} after {n:round}",
        "Look for a site whose values are on another scale.",
    )
    return location, delta


def _effects(
    gamma: Array, variance: Array, counts: Indices, flat: Mask, empirical_bayes: bool
) -> tuple[Array, Array]:
    """Return location and scale of each site. Regions that are flat within sites keep scale 1."""
    location = gamma.copy()
    delta = np.where(flat | (variance <= FLAT_EPS**2), 1.0, variance)
    # Flat regions would pull the priors of all other regions towards zero.
    rough = np.flatnonzero(~flat)
    if empirical_bayes and len(rough) > 1:
        location[:, rough], delta[:, rough] = shrink(gamma[:, rough], variance[:, rough], counts)
    else:  # With one subject and no prior, the effect of the site cannot be estimated.
        alone = counts == 1
        location[alone], delta[alone] = 0.0, 1.0
    return location, np.sqrt(delta)
