"""ComBat: location and scale of each site by empirical Bayes (arrays only).

Model, for subject i of site s and region j, after Johnson et al. (2007) and Fortin et al. (2018):

    y_ij = mean_j + d_i' coef_j + sd_j (location_sj + scale_sj e_ij)

The location has a normal and the squared scale an inverse-gamma prior, one of each per site, whose
parameters come from the moments over regions. Their posterior means given each other are iterated
until both equations hold.

Some design columns may be the bends of a smooth effect, which are penalised (ComBat-GAM). Where
persons have several rows, each has an intercept v of its own, and the model is

    y_ij = mean_j + d_i' coef_j + v_kj + sd_j (location_sj + scale_sj e_ij)

whose effects and sd are those of the mixed model in `sgbn.preprocessing.mixed` (longitudinal
ComBat). The intercept of a person is kept, and only the rest is shifted and stretched.

References
----------
Johnson, Li, Rabinovic (2007), Biostatistics 8(1). Fortin et al. (2018), NeuroImage 167. Pomponio et
al. (2020), NeuroImage 208. Beer et al. (2020), NeuroImage 220.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sgbn.exceptions import warn
from sgbn.preprocessing.design import Slopes, group_means, within_group_slopes
from sgbn.preprocessing.mixed import fit_mixed
from sgbn.types import Array, Indices, Mask

TOL = 1e-12  # both posterior equations hold to this, relative to the scale
MAX_ITER = 1000  # rounds; a dozen are usual
FLAT_EPS = 1e-12  # spread within sites relative to the largest value: less is round-off


class PersonEffects(NamedTuple):
    """Intercepts of the persons in the training rows, and what predicts those of new persons.

    Attributes
    ----------
    intercepts : array of shape (persons, regions)
    ratio : array of shape (regions,)
        Variance of intercepts over that of the rest.
    site_means : array of shape (sites, regions)
        Fixed effect of each site. The intercept of a new person is predicted from what is left.
    """

    intercepts: Array
    ratio: Array
    site_means: Array


class Combat(NamedTuple):
    """What a fit stores: regions' mean, slopes and sd, and the site effects in units of sd."""

    mean: Array
    slopes: Slopes
    sd: Array
    location: Array
    scale: Array
    persons: PersonEffects | None = None


class _Moved(NamedTuple):
    """Values without the effects that are kept: their mean, slopes, rest and spread."""

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
    """Estimate site effects.

    Parameters
    ----------
    values : array of shape (subjects, regions)
    D : array of shape (subjects, design columns)
        Preserved covariates, centred.
    codes : array of shape (subjects,)
        Site of each subject, numbered from 0 without gaps.
    empirical_bayes : bool
        Shrink the estimates of a site towards what it does to all regions.
    smooth : sequence of int arrays
        Columns of D that are penalised, by covariate.
    persons : array of shape (subjects,), optional
        Person of each row, numbered from 0 without gaps.
    weights : sequence of float, optional
        Penalty of each smooth covariate; by REML without it.
    """
    if smooth or persons is not None:
        kept = _mixed_effects(values, D, codes, smooth, persons, weights)
    else:
        kept = _linear_effects(values, D, codes)
    mean, slopes, rest, sd, person_effects = kept
    counts = np.bincount(codes)
    site_means = group_means(rest, codes)
    # relative to the values: a region of 1e9 has more round-off than one of 1
    flat = sd <= FLAT_EPS * np.abs(values).max(axis=0)
    sd = np.where(flat, 1.0, sd)
    gamma = (site_means - mean) / sd
    squares = group_means(((rest - site_means[codes]) / sd) ** 2, codes)
    # sample variance, which divides by n - 1; one subject has none, and `shrink` knows it
    variance = squares * (counts / np.maximum(counts - 1, 1))[:, None]
    location, scale = _effects(gamma, variance, counts, flat, empirical_bayes)
    unchanged = np.ptp(values, axis=0) == 0  # a constant region has no site effect to remove
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
    """Effects by `fit_mixed`; the spread is that of residuals, or with persons that of REML."""
    fitted = fit_mixed(D, values, codes, smooth, persons, weights)
    rest = values - D @ fitted.slopes.coef
    # sites count by their subjects, as in the grand mean of ComBat
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
    """Values without the site effects; code -1 is an unknown site, of location 0 and scale 1.

    The intercept of a person whom training did not have (code -1) is predicted from each row by
    itself.
    """
    # a last row for code -1, which numpy reads as the last: the average site
    none = np.zeros((1, values.shape[1]))
    location = np.vstack([fitted.location, none])[codes]
    scale = np.vstack([fitted.scale, none + 1.0])[codes]
    centred = values - (fitted.mean + D @ fitted.slopes.coef)
    if fitted.persons is not None and persons is not None:
        rest = values - D @ fitted.slopes.coef
        # a person's own level is kept: only what is left is shifted and stretched
        centred = centred - _intercepts(rest, codes, persons, fitted.persons)
    # written as a correction, which is exactly zero for location 0 and scale 1
    return values + ((centred - fitted.sd * location) / scale - centred)


def _intercepts(rest: Array, codes: Indices, persons: Indices, known: PersonEffects) -> Array:
    """Intercept of the person of each row; of an unknown person at an unknown site it is zero."""
    # best linear unbiased prediction from one row: the rest, shrunken by the share of persons in it
    predicted = known.ratio / (1 + known.ratio) * (rest - known.site_means[codes])
    # without the mean of its site, a row does not tell the person from the site
    predicted[codes < 0] = 0.0
    new = (persons < 0)[:, None]
    return np.where(new, predicted, known.intercepts[persons])


def shrink(gamma: Array, variance: Array, counts: Indices) -> tuple[Array, Array]:
    """Posterior location and squared scale, from each site's mean and variance by region.

    The equations of Johnson et al. with ``s2`` multiplied through, so that they also hold when
    all regions share one variance. Sites of one subject keep squared scale 1.
    """
    n = counts[:, None].astype(float)
    single = n == 1
    # 1 is the average scale: a subject alone says nothing about its site's
    delta_hat = np.where(single | (variance <= FLAT_EPS**2), 1.0, variance)
    # moments over regions give the priors of each site: this is what shrinks towards its average
    centre, tau2 = gamma.mean(axis=1, keepdims=True), gamma.var(axis=1, ddof=1, keepdims=True)
    m, s2 = delta_hat.mean(axis=1, keepdims=True), delta_hat.var(axis=1, ddof=1, keepdims=True)
    # start at the estimates without a prior
    location, delta = gamma, delta_hat
    for _ in range(MAX_ITER):
        new = (tau2 * n * gamma + delta * centre) / (tau2 * n + delta)
        squares = (n - 1) * variance + n * (gamma - new) ** 2
        # divided by s2 this is the textbook form; multiplied through, s2 = 0 is not special
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
    """Location and scale of each site; regions that are flat within sites only move."""
    location = gamma.copy()
    delta = np.where(flat | (variance <= FLAT_EPS**2), 1.0, variance)
    alone = counts == 1
    # flat regions would pull the priors of all others towards zero
    rough = np.flatnonzero(~flat)
    if empirical_bayes and len(rough) > 1:
        location[:, rough], delta[:, rough] = shrink(gamma[:, rough], variance[:, rough], counts)
    else:  # one subject and no prior: its site cannot be told from the subject
        location[alone], delta[alone] = 0.0, 1.0
    return location, np.sqrt(delta)
