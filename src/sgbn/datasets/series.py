"""Simulated region time series: subjects whose networks are known, as resting-state fMRI is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbn.atlases import AtlasLike, Region, as_atlas
from sgbn.cohort import read_only
from sgbn.datasets.cohort import group_names, group_sizes, subject_ids
from sgbn.datasets.group_networks import Difference, Edge, group_networks, limited, standardised
from sgbn.datasets.haemodynamics import MOST_AUTOREGRESSION, MOST_TR, smoothing_filters
from sgbn.datasets.nuisance import assign_sites, covariate_names, draw_covariates, site_names
from sgbn.datasets.regions import choose_regions
from sgbn.datasets.subject_series import Signal, hidden_loadings, own_series, own_weights
from sgbn.exceptions import InputError
from sgbn.gaussian import GaussianNetwork
from sgbn.inference.kinds_of_change import kinds_of_change
from sgbn.parameters import NOT_NEGATIVE, PROBABILITY, Number, Parameters, Whole, is_whole
from sgbn.series_cohort import SeriesCohort
from sgbn.types import Array, Indices, Labels

MOTION = "mean_fd"
COVARIATES = (MOTION, "age", "sex")
# mean framewise displacement of ABIDE's NYU subjects in mm: mean and SD of its logarithm
LOG_MOTION, LOG_MOTION_SD = -2.85, 0.57
FAINTER = 0.8  # times the weights of volumes: leaves room for edges that are stronger in a subject
MIN_VOLUMES = 20  # per subject
SITE_NOISE = 0.5  # the noise share differs by this part of itself between the extreme sites
_TRUTH = ("networks", "changed", "delays")
_ALLOWED: Parameters = {
    "tr": Number(above=0, most=MOST_TR),
    **dict.fromkeys(("n_changed", "n_hidden"), Whole(0)),
    **dict.fromkeys(("heterogeneity", "delay_sd", "motion_effect"), NOT_NEGATIVE),
    **dict.fromkeys(("smoothed", "noise"), PROBABILITY),
    "autoregression": Number(-MOST_AUTOREGRESSION, MOST_AUTOREGRESSION),
    "motion_gap": Number(),
    "n_sites": Whole(0, 0) | Whole(2),
}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SimulatedSeries(SeriesCohort):
    """Series with the truth that they were drawn from, see `simulate_series`.

    Attributes
    ----------
    networks : mapping of group to GaussianNetwork
        Mean network of each group, all regions having variance one: its weights are standardised.
    changed : mapping of group to tuple of (source, target)
        For each group but the first: the edges whose weight differs from the first group's. No
        other weight differs.
    subject_weights : ndarray of shape (n, m, m)
        Standardised weights of each subject; ``[s, i, j]`` is i -> j.
    delays : mapping of region to float
        Seconds by which the response of each region is later than the canonical one.
    hidden : tuple of tuple of str
        Regions that each unmeasured input drives.

    Notes
    -----
    `subset` cuts down the subjects' part. `networks`, `changed`, the regions of `subject_weights`
    and `hidden` stay those of all regions: a part of a network is in general no network.
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

    def __reduce__(self) -> tuple[Any, ...]:
        rebuild, (kind, state) = super().__reduce__()
        return rebuild, (kind, state | {name: dict(state[name]) for name in _TRUTH})

    def _part(self, rows: Indices, columns: list[int]) -> dict[str, Any]:
        weights = self.subject_weights[rows]
        return super()._part(rows, columns) | {"subject_weights": weights}

    def kinds(self, group: str) -> dict[Edge, str]:
        """Say how each changed edge of a group differs: lost, weaker, stronger, ..."""
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
    """Simulate groups of subjects, time series of brain regions, from networks that are known.

    The networks are those of `simulate_cohort`: the second group has lost or weakened edges at the
    medial temporal lobe, and stronger ones elsewhere. Each subject has weights W of its own around
    those of its group. Its neural activity is a vector autoregression with effects within a volume,
    ``x_t = a x_(t-1) + W' (x_t - a x_(t-1)) + e_t``. A part of it is smoothed by the canonical
    double-gamma response of the blood, and white noise of the measurement is added.

    The same linear filter on all regions preserves the directed network of a volume: conditional
    independences and standardised weights stay as they are. So autoregression and smoothing alone
    leave the truth what it was. Responses that differ between regions (`delay_sd`), noise of the
    measurement and unmeasured inputs do not: then even endless data would show other edges.

    Parameters
    ----------
    n_per_group : int, sequence or mapping
        Subjects in each group: one number for all, one per group, or group -> number.
    random_state : int, Generator or None
        Every subject has a random stream of its own.
    atlas, regions, groups
        As in `simulate_cohort`.
    n_volumes : int or (int, int)
        Volumes of each subject: a number, or the fewest and the most of which each is drawn.
    tr : float
        Seconds from volume to volume, at most 5.
    n_changed : int
        Edges that are lost, halved or strengthened in each later group; fewer if there are fewer.
    heterogeneity : float
        Standard deviation between subjects of each standardised weight.
    autoregression : float
        a above, the same in all regions; from -0.9 to 0.9.
    smoothed : float
        Share of the variance of neural activity that the response of the blood smooths.
    delay_sd : float
        Standard deviation between regions of the delay of this response in seconds. A later
        response is wider too. The delay of a region is the same in all subjects.
    noise : float
        Share of the variance of each region that is noise of the measurement, white and of this
        region alone. With sites it differs between them.
    n_hidden : int
        Unmeasured inputs. Each drives four regions, by 0.4 of the variance that parents leave.
    motion_effect : float
        Share of a weight by which a standard deviation more of log mean_fd strengthens edges within
        a lobe and weakens those between lobes.
    motion_gap : float
        Standard deviations of log mean_fd by which the last group moves more than the first.
    covariates : iterable of {"mean_fd", "age", "sex"}
        Which of them the cohort has. Age and sex have no effect; motion has it in any case.
    n_sites : int
        None (0), or two or more, which differ in size and noise.

    Returns
    -------
    SimulatedSeries

    Notes
    -----
    Regions of ABIDE's 175 NYU subjects (CC200, C-PAC, no filter, TR 2 s, 176 volumes) have
    autocorrelations of 0.32, 0.10, 0.02, 0.00 and -0.02 at lags 1 to 5, means over regions and
    subjects. By default, those of simulated series are 0.31, 0.13, 0.03, -0.01 and -0.03.

    Examples
    --------
    >>> from sgbn import simulate_series
    >>> cohort = simulate_series(5, regions=10, n_volumes=(100, 120))
    >>> cohort
    SimulatedSeries(10 subjects x 10 regions; control 5, patient 5)
    >>> cohort.series[0].shape[1]
    10
    """
    sizes = group_sizes(n_per_group, group_names(groups))
    given = {
        "tr": tr,
        "n_changed": n_changed,
        "heterogeneity": heterogeneity,
        "autoregression": autoregression,
        "smoothed": smoothed,
        "delay_sd": delay_sd,
        "noise": noise,
        "n_hidden": n_hidden,
        "motion_effect": motion_effect,
        "motion_gap": motion_gap,
        "n_sites": n_sites,
    }
    for name, value in given.items():
        _ALLOWED[name].check(name, value)
    asked = covariate_names(covariates, COVARIATES)
    space = as_atlas(atlas)
    places = choose_regions(space, regions)
    names = tuple(place.name for place in places)
    n, m = sum(sizes.values()), len(places)
    rng = np.random.default_rng(random_state)
    # One stream per use, so that options do not move each other's draws.
    for_design, for_motion, for_others, for_sites, *for_subjects = rng.spawn(4 + n)
    networks, changed = _standard_networks(places, tuple(sizes), n_changed, rng)
    loadings = hidden_loadings(n_hidden, m, for_design)
    delays = delay_sd * for_design.standard_normal(m)
    signal = Signal(
        smoothed, smoothing_filters(tr, delays, autoregression), autoregression, loadings
    )
    lengths = _lengths(n_volumes, n, for_design)
    motion = _motion([*sizes.values()], motion_gap, for_motion)
    factors = _changes_by_motion(places, motion_effect * motion)
    site = assign_sites(sizes, site_names(n_sites), 0.0, for_sites) if n_sites else None
    noises = _noises(noise, site, n)
    group = np.repeat(list(sizes), list(sizes.values()))
    weights = [
        own_weights(networks[label].coef, heterogeneity, factor, stream)
        for label, factor, stream in zip(group.tolist(), factors, for_subjects, strict=True)
    ]
    parts = zip(weights, lengths, noises, for_subjects, strict=True)
    return SimulatedSeries.of(
        [own_series(coef, signal, length, share, stream) for coef, length, share, stream in parts],
        names,
        subject_ids(n),
        tr=tr,
        group=group,
        covariates=_covariates(asked, motion, [*sizes.values()], for_others),
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
    """Networks of the groups, in units of the standard deviation of each region."""
    difference = Difference(edges=True, means=False, n_changed=n_changed, mean_shift=0.0)
    in_volumes, changed = group_networks(places, groups, difference, rng)
    names = in_volumes[groups[0]].names
    first = FAINTER * standardised(in_volumes[groups[0]])
    weights = {groups[0]: first}
    for group, edges in changed.items():
        changed[group] = edges[:n_changed]  # the rest only gave way in networks of volumes
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
    """Rows and columns of edges in a matrix of weights."""
    place = {name: number for number, name in enumerate(names)}
    pairs = np.array([[place[name] for name in edge] for edge in edges], np.intp).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _lengths(n_volumes: int | tuple[int, int], n: int, rng: np.random.Generator) -> list[int]:
    """Volumes of each subject."""
    ends = (n_volumes, n_volumes) if is_whole(n_volumes) else n_volumes
    if not isinstance(ends, tuple | list) or len(ends) != 2:
        raise InputError(f"n_volumes is {n_volumes!r}: give a number, or (fewest, most).")
    fewest, most = (Whole(MIN_VOLUMES).check("n_volumes", end) for end in ends)
    if most < fewest:
        raise InputError(f"n_volumes is {n_volumes!r}: the second must not be smaller.")
    lengths: list[int] = rng.integers(fewest, most + 1, n).tolist()
    return lengths


def _motion(sizes: Sequence[int], gap: float, rng: np.random.Generator) -> Array:
    """Log mean_fd of each subject in standard deviations; later groups move more by the gap."""
    later = np.repeat(np.linspace(0.0, gap, len(sizes)), sizes)
    motion: Array = rng.standard_normal(len(later)) + later
    return motion


def _changes_by_motion(places: Sequence[Region], effects: Array) -> Array:
    """Factor of every weight of each subject: edges within a lobe gain what others lose."""
    lobe = np.array([place.lobe for place in places])
    sign = np.where(lobe[:, None] == lobe, 1.0, -1.0)
    # At 0 an edge is gone; a negative factor would turn its sign.
    factors: Array = np.maximum(1 + effects[:, None, None] * sign, 0.0)
    return factors


def _noises(noise: float, site: Labels | None, n: int) -> list[float]:
    """Share of noise in each subject's series; it grows from site to site."""
    if site is None:
        return [noise] * n
    _, place = np.unique(site, return_inverse=True)
    around = 2 * place / place.max() - 1  # from -1 to 1
    noises: list[float] = np.minimum(noise * (1 + SITE_NOISE * around), 1.0).tolist()
    return noises


def _covariates(
    asked: Sequence[str], motion: Array, sizes: Sequence[int], rng: np.random.Generator
) -> dict[str, NDArray[Any]]:
    drawn = draw_covariates(sizes, 0.0, rng)
    drawn[MOTION] = np.round(np.exp(LOG_MOTION + LOG_MOTION_SD * motion), 4)
    return {name: drawn[name] for name in asked}
