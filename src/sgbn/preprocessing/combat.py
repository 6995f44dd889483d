"""ComBat, which estimates location and scale of each site by empirical Bayes (arrays only).

The model follows Johnson et al. (2007) and Fortin et al. (2018). For subject i of site s and
region j it is

    y_ij = mean_j + d_i' coef_j + sd_j (location_sj + scale_sj e_ij)

Here y is the measured value, d_i are the preserved covariates of the subject, coef_j their slopes,
and e_ij is noise with variance 1. Each site has a normal prior for its locations and an
inverse-gamma prior for its squared scales. The parameters of the priors come from the moments over
regions. The posterior mean of the location depends on the scale, and the other way round: the two
equations are iterated until both hold.

Some design columns may be the curved columns of a smooth effect, which are penalised (ComBat-GAM).
If persons have several rows, person k has an intercept v_kj for each region, and the model is

    y_ij = mean_j + d_i' coef_j + v_kj + sd_j (location_sj + scale_sj e_ij)

Its effects and sd come from the mixed model in `sgbn.preprocessing.mixed` (longitudinal ComBat).
The intercept of a person is kept, and only the rest is shifted and stretched.

References
----------
Johnson, Li, Rabinovic (2007), Biostatistics 8(1). Fortin et al. (2018), NeuroImage 167. Pomponio et
al. (2020), NeuroImage 208. Beer et al. (2020), NeuroImage 220.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sgbn.cohort.effects import Slopes, group_means, within_group_slopes
from sgbn.core.exceptions import warn
from sgbn.core.types import Array, Indices, Mask
from sgbn.preprocessing.mixed import fit_mixed

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


class _Moved(NamedTuple):
    """Effects that harmonisation keeps, and what is left of the values without them.

    Attributes
    ----------
    mean, sd : arrays of shape (regions,)
        Mean of each region and its spread within sites.
    slopes : Slopes
        Slopes of the preserved covariates.
    rest : array of shape (subjects, regions)
        Values minus the effects of covariates and persons.
    persons : PersonEffects or None
        Intercepts of persons, if persons were given.
    """

    mean: Array
    slopes: Slopes
    rest: Array
    sd: Array
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
    if smooth or persons is not None:
        kept = _mixed_effects(values, D, codes, smooth, persons, weights)
    else:
        kept = _linear_effects(values, D, codes)
    mean, slopes, rest, sd, person_effects = kept
    counts = np.bincount(codes)
    site_means = group_means(rest, codes)
    # The limit is relative to the values: values around 1e9 have more round-off than values near 1.
    flat = sd <= FLAT_EPS * np.abs(values).max(axis=0)
    sd = np.where(flat, 1.0, sd)
    gamma = (site_means - mean) / sd
    squares = group_means(((rest - site_means[codes]) / sd) ** 2, codes)
    # The sample variance divides by n - 1. `shrink` treats sites with one subject separately.
    variance = squares * (counts / np.maximum(counts - 1, 1))[:, None]
    location, scale = _effects(gamma, variance, counts, flat, empirical_bayes)
    # A constant region has no site effect to remove.
    unchanged = np.ptp(values, axis=0) == 0
    location[:, unchanged] = 0.0
    return Combat(mean, slopes, sd, location, scale, person_effects)


def _linear_effects(values: Array, D: Array, codes: Indices) -> _Moved:
    slopes = within_group_slopes(D, values, codes)
    rest = values - D @ slopes.coef
    sd = np.sqrt(np.mean((rest - group_means(rest, codes)[codes]) ** 2, axis=0))
    return _Moved(rest.mean(axis=0), slopes, rest, sd)


def _mixed_effects(
    values: Array,
    D: Array,
    codes: Indices,
    smooth: Sequence[Indices],
    persons: Indices | None,
    weights: Sequence[float] | None,
) -> _Moved:
    """Estimate the kept effects by `fit_mixed`.

    Without persons, the spread is computed from residuals; with persons, it is the REML estimate.
    """
    fitted = fit_mixed(D, values, codes, smooth, persons, weights)
    rest = values - D @ fitted.slopes.coef
    # Each site is weighted by its number of subjects, as in the grand mean of ComBat.
    mean = np.bincount(codes) @ fitted.intercepts / len(codes)
    if persons is None:
        sd = np.sqrt(np.mean((rest - group_means(rest, codes)[codes]) ** 2, axis=0))
        return _Moved(mean, fitted.slopes, rest, sd)
    effects = PersonEffects(fitted.persons, fitted.person_ratio, fitted.intercepts)
    rest = rest - fitted.persons[persons]
    return _Moved(mean, fitted.slopes, rest, np.sqrt(fitted.variance), effects)


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
    new = (persons < 0)[:, None]
    return np.where(new, predicted, known.intercepts[persons])


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
    single = n == 1
    # 1 is the average scale: a single subject does not show the scale of its site.
    delta_hat = np.where(single | (variance <= FLAT_EPS**2), 1.0, variance)
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
    warn(
        f"site effects still change by {change:.1e} after {MAX_ITER} rounds. Look for a site "
        "whose values are on another scale."
    )
    return location, delta


def _effects(
    gamma: Array,
    variance: Array,
    counts: Indices,
    flat: Mask,
    empirical_bayes: bool,
) -> tuple[Array, Array]:
    """Return location and scale of each site. Regions that are flat within sites keep scale 1."""
    location = gamma.copy()
    delta = np.where(flat | (variance <= FLAT_EPS**2), 1.0, variance)
    alone = counts == 1
    # Flat regions would pull the priors of all other regions towards zero.
    rough = np.flatnonzero(~flat)
    if empirical_bayes and len(rough) > 1:
        location[:, rough], delta[:, rough] = shrink(gamma[:, rough], variance[:, rough], counts)
    else:  # With one subject and no prior, the effect of the site cannot be estimated.
        location[alone], delta[alone] = 0.0, 1.0
    return location, np.sqrt(delta)
