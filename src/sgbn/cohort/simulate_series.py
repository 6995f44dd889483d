"""Simulate time series of brain regions, as in resting-state fMRI, with known networks.

Each subject has its own weights, drawn around the weights of its group. The response of the blood
to neural activity is a linear filter of each region.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from scipy.signal import fftconvolve, lfilter  # type: ignore[attr-defined]
from scipy.stats import gamma  # type: ignore[attr-defined]

from sgbn.cohort.atlas import AtlasLike, Region, as_atlas
from sgbn.cohort.design import read_only
from sgbn.cohort.series import SeriesCohort
from sgbn.cohort.simulate import (
    N_SITES,
    Difference,
    Edge,
    assign_sites,
    choose_regions,
    covariate_names,
    draw_covariates,
    group_networks,
    group_sizes,
    limited,
    site_names,
    standardised,
    subject_ids,
)
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.graph import kinds_of_change
from sgbn.core.problems import InputError
from sgbn.core.types import Array, Indices, Labels
from sgbn.core.validation import NOT_NEGATIVE, PROBABILITY, Number, Whole, is_whole

MOST_TR = 5.0  # seconds; slower volumes would miss the response
MOST_AUTOREGRESSION = 0.9
MOTION = "mean_fd"
COVARIATES = (MOTION, "age", "sex")
# Mean and SD of the logarithm of the mean framewise displacement (mm) of ABIDE's NYU subjects
LOG_MOTION, LOG_MOTION_SD = -2.85, 0.57
# Factor on the weights of `simulate_cohort`, so that weights of single subjects can be larger.
FAINTER = 0.8
MIN_VOLUMES = 20  # per subject
SITE_NOISE = 0.5  # relative change of the noise share at the first (less) and last (more) site
_TRUTH = ("networks", "changed", "delays")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SimulatedSeries(SeriesCohort):
    """Simulated series with the truth that they were drawn from (see `simulate_series`).

    Attributes
    ----------
    networks : mapping of group to GaussianNetwork
        Mean network of each group. All regions have variance one, so the weights are standardised.
    changed : mapping of group to tuple of (source, target)
        For each group except the first: the edges whose weight differs from the weight in the first
        group. All other weights are the same.
    subject_weights : ndarray of shape (n, m, m)
        Standardised weights of each subject; ``[s, i, j]`` is i -> j.
    delays : mapping of region to float
        Seconds by which the response of each region is later than the canonical response.
    hidden : tuple of tuple of str
        Regions that each unmeasured input drives.

    Notes
    -----
    `subset` reduces `subject_weights` to the subjects that are left. `networks`, `changed`,
    `hidden`, `delays` and the regions of `subject_weights` stay, because a part of a network is in
    general not a network.
    """

    networks: Mapping[str, GaussianNetwork]
    subject_weights: Array
    changed: Mapping[str, tuple[Edge, ...]] = field(default_factory=dict)
    delays: Mapping[str, float] = field(default_factory=dict)
    hidden: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "subject_weights", read_only(np.array(self.subject_weights)))
        for name in _TRUTH:
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def _part(self, rows: Indices, columns: list[int]) -> dict[str, Any]:
        return super()._part(rows, columns) | {"subject_weights": self.subject_weights[rows]}

    def kinds(self, group: str) -> dict[Edge, str]:
        """Return how each changed edge of a group differs: lost, weaker, stronger, ..."""
        first = next(iter(self.networks.values()))
        edges = self.changed[group]
        at = _places_of(edges, first.names)
        words = kinds_of_change(first.coef[at], self.networks[group].coef[at])
        return dict(zip(edges, words.tolist(), strict=True))


def simulate_series(
    n_per_group: int | Sequence[int] | Mapping[str, int] = 40,
    random_state: int | np.random.Generator | None = 0,
    *,
    atlas: AtlasLike = "aal",
    regions: int | Sequence[str] | None = 40,
    groups: Sequence[str] = ("control", "patient"),
    n_volumes: int | tuple[int, int] = 200,
    tr: float = 2.0,
    n_changed: int = 10,
    heterogeneity: float = 0.1,
    autoregression: float = 0.15,
    smoothed: float = 0.3,
    delay_sd: float = 0.0,
    noise: float = 0.1,
    n_hidden: int = 0,
    motion_effect: float = 0.0,
    motion_gap: float = 0.0,
    covariates: Iterable[str] = (MOTION,),
    n_sites: int = 0,
) -> SimulatedSeries:
    """Simulate time series of brain regions in groups of subjects, from known networks.

    The networks are like the networks of `simulate_cohort`: in the second group, edges at the
    medial temporal lobe are lost or weaker, and some other edges are stronger. Each subject has its
    own weights W, which vary around the weights of its group. Its neural activity is a vector
    autoregression with effects within a volume, ``x_t = a x_(t-1) + W' (x_t - a x_(t-1)) + e_t``. A
    part of it is smoothed by the canonical double-gamma response of the blood. White measurement
    noise is added.

    If all regions have the same linear filter, the directed network within a volume stays the same:
    conditional independences and standardised weights do not change. So autoregression and
    smoothing alone do not hide the true network. Responses that differ between regions
    (`delay_sd`), measurement noise and unmeasured inputs do hide it: with them, even infinite data
    would show other edges.

    Parameters
    ----------
    n_per_group : int, sequence or mapping
        Number of subjects in each group: one number for all groups, one number per group, or a
        mapping from group to number.
    random_state : int, Generator or None
        Seed or generator. Every subject has its own random stream.
    atlas, regions, groups
        Atlas, regions and names of the groups, as in `simulate_cohort`.
    n_volumes : int or (int, int)
        Number of volumes of each subject, or the range from which it is drawn for each subject.
    tr : float
        Seconds from volume to volume, at most 5.
    n_changed : int
        Number of edges that are lost, halved or strengthened in each later group. It is lower if
        the network has too few edges.
    heterogeneity : float
        Standard deviation of each standardised weight between subjects.
    autoregression : float
        The coefficient a above, from -0.9 to 0.9. It is the same in all regions.
    smoothed : float
        Share of the variance of neural activity that the response of the blood smooths.
    delay_sd : float
        Standard deviation of the delay of this response between regions, in seconds. A later
        response is also wider. The delay of a region is the same in all subjects.
    noise : float
        Share of the variance of each region that is measurement noise. The noise is white and
        independent between regions. If there are sites, its share differs between them.
    n_hidden : int
        Number of unmeasured inputs. Each input drives four regions. The inputs of a region make up
        0.4 of the variance that its parents do not explain.
    motion_effect : float
        Relative change of the weights if log mean_fd is one standard deviation higher. Edges within
        a lobe become stronger and edges between lobes weaker.
    motion_gap : float
        Standard deviations of log mean_fd by which the last group moves more than the first.
    covariates : iterable of {"mean_fd", "age", "sex"}
        Covariates in the cohort. Age and sex have no effect. Motion has its effect even if mean_fd
        is not among the covariates.
    n_sites : int
        Number of sites: 0, or two or more. Sites differ in size and noise.

    Returns
    -------
    SimulatedSeries
        The series and the truth that they were drawn from.

    Notes
    -----
    Regions of ABIDE's 175 NYU subjects (CC200, C-PAC, no filter, TR 2 s, 176 volumes) have
    autocorrelations of 0.32, 0.10, 0.02, 0.00 and -0.02 at lags 1 to 5 (means over regions and
    subjects). The autocorrelations of simulated series are 0.31, 0.13, 0.03, -0.01 and -0.03 by
    default.

    Examples
    --------
    >>> from sgbn.cohort.simulate_series import simulate_series
    >>> cohort = simulate_series(5, regions=10, n_volumes=(100, 120))
    >>> cohort
    SimulatedSeries(10 subjects x 10 regions; control 5, patient 5)
    >>> cohort.series[0].shape[1]
    10
    """
    sizes = group_sizes(n_per_group, groups)
    Number(above=0, most=MOST_TR).check("tr", tr)
    Whole(0).check("n_changed", n_changed)
    NOT_NEGATIVE.check("heterogeneity", heterogeneity)
    Number(-MOST_AUTOREGRESSION, MOST_AUTOREGRESSION).check("autoregression", autoregression)
    PROBABILITY.check("smoothed", smoothed)
    NOT_NEGATIVE.check("delay_sd", delay_sd)
    PROBABILITY.check("noise", noise)
    Whole(0).check("n_hidden", n_hidden)
    NOT_NEGATIVE.check("motion_effect", motion_effect)
    Number().check("motion_gap", motion_gap)
    N_SITES.check("n_sites", n_sites)
    asked = covariate_names(covariates, COVARIATES)
    space = as_atlas(atlas)
    places = choose_regions(space, regions)
    names = tuple(place.name for place in places)
    n, m = sum(sizes.values()), len(places)
    rng = np.random.default_rng(random_state)
    # One stream per purpose, so that an option does not change the draws of another.
    for_design, for_motion, for_others, for_sites, *for_subjects = rng.spawn(4 + n)
    networks, changed = _standard_networks(places, tuple(sizes), n_changed, rng)
    loadings = hidden_loadings(n_hidden, m, for_design)
    delays = delay_sd * for_design.standard_normal(m)
    signal = Signal(
        smoothed, smoothing_filters(tr, delays, autoregression), autoregression, loadings
    )
    lengths = _lengths(n_volumes, n, for_design)
    # Log mean_fd in standard deviations. The last group is higher by `motion_gap`.
    later = np.repeat(np.linspace(0.0, motion_gap, len(sizes)), list(sizes.values()))
    motion = for_motion.standard_normal(n) + later
    factors = _changes_by_motion(places, motion_effect * motion)
    site = assign_sites(sizes, site_names(n_sites), 0.0, for_sites) if n_sites else None
    noises = _noises(noise, site, n)
    group = np.repeat(list(sizes), list(sizes.values()))
    weights = [
        own_weights(networks[label].coef, heterogeneity, factor, stream)
        for label, factor, stream in zip(group.tolist(), factors, for_subjects, strict=True)
    ]
    # All covariates are drawn, so that asking for one more does not change the others.
    drawn = draw_covariates([*sizes.values()], 0.0, for_others)
    drawn[MOTION] = np.round(np.exp(LOG_MOTION + LOG_MOTION_SD * motion), 4)
    parts = zip(weights, lengths, noises, for_subjects, strict=True)
    return SimulatedSeries.of(
        [own_series(coef, signal, length, share, stream) for coef, length, share, stream in parts],
        names,
        subject_ids(n),
        tr=tr,
        group=group,
        covariates={name: drawn[name] for name in asked},
        site=site,
        atlas=space,
        provenance={"source": "simulate_series"},
        networks=networks,
        changed=changed,
        subject_weights=np.array(weights),
        delays=dict(zip(names, delays.tolist(), strict=True)),
        hidden=tuple(tuple(np.array(names)[row != 0].tolist()) for row in loadings),
    )


def _standard_networks(
    places: Sequence[Region], groups: Sequence[str], n_changed: int, rng: np.random.Generator
) -> tuple[dict[str, GaussianNetwork], dict[str, tuple[Edge, ...]]]:
    """Return the standardised network of each group, and the edges in which later groups differ."""
    difference = Difference(edges=True, means=False, n_changed=n_changed, mean_shift=0.0)
    in_volumes, changed = group_networks(places, groups, difference, rng)
    names = in_volumes[groups[0]].names
    first = FAINTER * standardised(in_volumes[groups[0]])
    weights = {groups[0]: first}
    for group, edges in changed.items():
        # Further edges only became weaker because of the limit on explained variance.
        changed[group] = edges[:n_changed]
        rows, columns = _places_of(changed[group], names)
        other = first.copy()
        other[rows, columns] = FAINTER * standardised(in_volumes[group])[rows, columns]
        weights[group] = other
    networks = {
        group: GaussianNetwork(coef, np.zeros(len(coef)), 1 - limited(coef, np.inf)[1], names)
        for group, coef in weights.items()
    }
    return networks, changed


def _places_of(edges: Sequence[Edge], names: Sequence[str]) -> tuple[Indices, Indices]:
    """Return the rows and columns of edges in a matrix of weights."""
    place = {name: number for number, name in enumerate(names)}
    pairs = np.array([[place[name] for name in edge] for edge in edges], np.intp).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _lengths(n_volumes: int | tuple[int, int], n: int, rng: np.random.Generator) -> list[int]:
    """Draw the number of volumes of each subject."""
    ends: Any = (n_volumes, n_volumes) if is_whole(n_volumes) else n_volumes
    is_range = isinstance(ends, tuple | list) and len(ends) == 2
    limits = [Whole(MIN_VOLUMES).check("n_volumes", end) for end in ends] if is_range else []
    if not limits or limits[1] < limits[0]:
        raise InputError("simulate.volumes", given=n_volumes).says(
            "{n_volumes=} does not take {given}",
            "Give a number, or (fewest, most), of which the second is not smaller.",
        )
    return rng.integers(limits[0], limits[1] + 1, n).tolist()


def _changes_by_motion(places: Sequence[Region], effects: Array) -> Array:
    """Return the factors of the weights: 1 + effect within a lobe, 1 - effect between lobes."""
    lobe = np.array([place.lobe for place in places])
    sign = np.where(lobe[:, None] == lobe, 1.0, -1.0)
    # With a factor of 0 an edge is gone. A negative factor would change its sign.
    return np.maximum(1 + effects[:, None, None] * sign, 0.0)


def _noises(noise: float, site: Labels | None, n: int) -> list[float]:
    """Return the share of noise in the series of each subject, which grows from site to site."""
    if site is None:
        return [noise] * n
    place = np.searchsorted(np.unique(site), site)
    around = 2 * place / place.max() - 1  # from -1 to 1
    return np.minimum(noise * (1 + SITE_NOISE * around), 1.0).tolist()


PEAK, UNDERSHOOT = 6.0, 16.0  # seconds; shapes of the two gammas of the canonical response
RATIO = 6.0  # the undershoot is a sixth of the response
DURATION = 32.0  # seconds; afterwards the response is zero
LEAST_PEAK = 2.0  # seconds; the blood does not respond earlier
MEMORY = 64  # volumes; afterwards an autoregression of MOST_AUTOREGRESSION has faded


def canonical_response(tr: float, delay: float = 0.0) -> Array:
    """Return the double-gamma response to an impulse, one value per volume.

    Parameters
    ----------
    tr : float
        Seconds from volume to volume.
    delay : float
        Seconds by which the response is later than the canonical response. A later response is
        also wider.

    Returns
    -------
    ndarray of shape (volumes,)
        The response. Its sum of squares is one, so that white noise keeps its variance.
    """
    t = np.arange(0.0, DURATION, tr)
    # The variance of a gamma grows with its shape, so that a later peak is wider.
    peak = max(PEAK + delay, LEAST_PEAK)
    response: Array = gamma.pdf(t, peak) - gamma.pdf(t, peak + UNDERSHOOT - PEAK) / RATIO
    return response / np.linalg.norm(response)


def smoothing_filters(tr: float, delays: Array, autoregression: float) -> Array:
    """Return one filter per region: autoregression, and then the response of the blood.

    Parameters
    ----------
    tr : float
        Seconds from volume to volume.
    delays : ndarray of shape (regions,)
        Seconds by which the response of each region is later than the canonical response.
    autoregression : float
        Coefficient of the autoregression of order one.

    Returns
    -------
    ndarray of shape (volumes, regions)
        The filters. Each column has a sum of squares of one.
    """
    responses = np.column_stack([canonical_response(tr, delay) for delay in delays])
    # The autoregression continues after the end of the response.
    padded = np.vstack([responses, np.zeros((MEMORY, len(delays)))])
    filters: Array = lfilter([1.0], [1.0, -autoregression], padded, axis=0)
    return filters / np.linalg.norm(filters, axis=0)


def fading_filter(autoregression: float, n_regions: int) -> Array:
    """Return the filter of an autoregression alone, with the same column for each region."""
    column = np.float64(autoregression) ** np.arange(MEMORY)
    return np.tile((column / np.linalg.norm(column))[:, None], n_regions)


def filtered(activity: Array, filters: Array) -> Array:
    """Return the filtered activity, without the first volumes, whose past is incomplete.

    Parameters
    ----------
    activity, filters : ndarray of shape (volumes, regions)
        Activity of each region, and its filter.

    Returns
    -------
    ndarray of shape (len(activity) - len(filters) + 1, regions)
        The filtered activity.
    """
    return fftconvolve(activity, filters, mode="valid", axes=0)


MOST_EXPLAINED = 0.9  # largest share of a region's variance that its parents explain in a subject
# Unmeasured inputs make up this share of a region's variance that its parents do not explain.
HIDDEN_SHARE = 0.4
HIDDEN_TARGETS = 4  # regions that each unmeasured input drives


class Signal(NamedTuple):
    """The settings that turn weights into series. They are the same for all subjects.

    Attributes
    ----------
    smoothed : float
        Share of the variance of neural activity that is smoothed.
    smoothing : ndarray of shape (volumes, regions)
        Filters of the smoothed part.
    autoregression : float
        Autoregression of the part that is not smoothed.
    loadings : ndarray of shape (inputs, regions)
        Loadings of the noise of each region on the unmeasured inputs.
    """

    smoothed: float
    smoothing: Array
    autoregression: float
    loadings: Array


def hidden_loadings(n_hidden: int, m: int, rng: np.random.Generator) -> Array:
    """Draw the loadings of m regions on unmeasured inputs, each of which drives some regions.

    The sum of squares of a region's loadings is HIDDEN_SHARE, or zero if no input drives it.
    """
    loadings = np.zeros((n_hidden, m))
    for row in loadings:
        targets = rng.permutation(m)[:HIDDEN_TARGETS]
        row[targets] = rng.uniform(0.5, 1.0, len(targets))
    size = np.linalg.norm(loadings, axis=0)
    return loadings * np.sqrt(HIDDEN_SHARE) / np.where(size > 0, size, 1.0)


def own_weights(
    weights: Array, heterogeneity: float, factor: Array, rng: np.random.Generator
) -> Array:
    """Draw the standardised weights of a subject, on the edges of its group.

    Parameters
    ----------
    weights : ndarray of shape (m, m)
        Weights of the group.
    heterogeneity : float
        Standard deviation of each weight between subjects.
    factor : ndarray of shape (m, m)
        Factor by which each drawn weight is multiplied.
    rng : Generator
        Random generator of the weights.
    """
    spread = heterogeneity * rng.standard_normal(weights.shape)
    return limited((weights + spread) * (weights != 0) * factor, MOST_EXPLAINED)[0]


def own_series(
    weights: Array, signal: Signal, n_volumes: int, noise: float, rng: np.random.Generator
) -> Array:
    """Draw the series of a subject, in which every region has variance one.

    Smoothed and unsmoothed activity are drawn from the same network.
    """
    fading = fading_filter(signal.autoregression, len(weights))
    # The filters need some volumes before the first one, and cut them off.
    slow = _activity(weights, signal.loadings, n_volumes + len(signal.smoothing) - 1, rng)
    fast = _activity(weights, signal.loadings, n_volumes + len(fading) - 1, rng)
    # Square roots, because shares are shares of the variance.
    neural = np.sqrt(signal.smoothed) * filtered(slow, signal.smoothing)
    neural += np.sqrt(1 - signal.smoothed) * filtered(fast, fading)
    measured = rng.standard_normal(neural.shape)
    return np.sqrt(1 - noise) * neural + np.sqrt(noise) * measured


def _activity(weights: Array, loadings: Array, length: int, rng: np.random.Generator) -> Array:
    """Draw independent volumes from a network."""
    m = len(weights)
    _, explained = limited(weights, most=np.inf)
    noise = np.sqrt(1 - (loadings**2).sum(axis=0)) * rng.standard_normal((length, m))
    noise += rng.standard_normal((length, len(loadings))) @ loadings
    # x = W' x + e for each volume, so that x = (I - W')^-1 e.
    return np.linalg.solve((np.eye(m) - weights).T, (np.sqrt(1 - explained) * noise).T).T
