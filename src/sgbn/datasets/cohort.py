"""Simulate cohorts: groups of subjects whose networks, sites and covariates are known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sgbn.atlases import AtlasLike, as_atlas
from sgbn.cohort import Cohort, read_only
from sgbn.core.exceptions import InputError
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.types import Array, Labels
from sgbn.core.validation import PROBABILITY, Number, OneOf, Whole
from sgbn.datasets.group_networks import SPREAD, Difference, Edge, group_networks
from sgbn.datasets.nuisance import (
    COVARIATES,
    N_SITES,
    assign_sites,
    covariate_names,
    covariate_part,
    draw_covariates,
    draw_slopes,
    missing_cells,
    site_effects,
    site_names,
)
from sgbn.datasets.regions import choose_regions

DIFFER = ("both", "edges", "means", "nothing")
MAX_MEAN_SHIFT = 8.0  # standard deviations; a larger shift could make volumes negative
MAX_SITE_EFFECT = 5.0  # a stronger effect could make volumes negative at some sites
_BY_REGION = ("site_shift", "site_scale", "covariate_effects")
_TRUTH = ("networks", "changed", *_BY_REGION)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SimulatedCohort(Cohort):
    """A cohort with the truth that it was drawn from.

    `values` are grey-matter volumes in mm^3,

        ``reference + covariates + shift + scale * (biology - reference)``

    Here `reference` is the mean of the first group's network, and `covariates` is the effect of the
    covariates (see `covariate_effects`). `shift` and `scale` belong to the subject's site, as in
    ComBat's model.

    Attributes
    ----------
    biology : ndarray of shape (n, m)
        Values as drawn from the networks, without effects of sites and covariates and without
        missing cells.
    networks : mapping of group to GaussianNetwork
        True network of each group, in the order of the argument `groups`.
    changed : mapping of group to tuple of (source, target)
        For each group except the first: the edges whose standardised weight differs from the weight
        in the first group, the largest difference first. If stronger parents would explain too much
        of a region, all edges into this region become weaker. Such edges are at the end of the
        list.
    site_shift : mapping of site to array
        Shift of each region at a site, in mm^3.
    site_scale : mapping of site to array
        Factor by which the spread of each region changes at a site.
    covariate_effects : mapping of covariate to array
        Effect on each region in mm^3: per year of age above 65, of a man compared with a woman, and
        per mm^3 of eTIV above 1.5 million.

    Notes
    -----
    `subset` reduces all of this to the subjects and regions that are left, except `networks` and
    `changed`. These keep all regions, because a part of a network is in general not a network.
    """

    biology: Array
    networks: Mapping[str, GaussianNetwork]
    changed: Mapping[str, tuple[Edge, ...]] = field(default_factory=dict)
    site_shift: Mapping[str, Array] = field(default_factory=dict)
    site_scale: Mapping[str, Array] = field(default_factory=dict)
    covariate_effects: Mapping[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "biology", read_only(np.array(self.biology)))
        for name in _BY_REGION:
            given = getattr(self, name).items()
            effects = {key: read_only(np.array(effect)) for key, effect in given}
            object.__setattr__(self, name, effects)
        for name in _TRUTH:
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __reduce__(self) -> tuple[Any, ...]:
        # A read-only view of a dict cannot be pickled, but cohorts are sent to workers.
        rebuild, (kind, state) = super().__reduce__()
        return rebuild, (kind, state | {name: dict(state[name]) for name in _TRUTH})

    def subset(
        self,
        rows: ArrayLike | None = None,
        *,
        groups: Iterable[str] | None = None,
        regions: Iterable[str] | None = None,
        lobes: Iterable[str] | None = None,
    ) -> Self:
        """Return a part of the cohort, as `Cohort.subset` does. Networks keep all regions."""
        part = super().subset(rows, groups=groups, regions=regions, lobes=lobes)
        kept_rows = _places(part.ids, self.ids)
        kept = _places(part.regions, self.regions)
        effects: dict[str, Any] = {
            name: {key: effect[kept] for key, effect in getattr(self, name).items()}
            for name in _BY_REGION
        }
        return replace(part, biology=self.biology[np.ix_(kept_rows, kept)], **effects)


def simulate_cohort(
    n_per_group: int | Sequence[int] | Mapping[str, int] = 200,
    random_state: int | np.random.Generator | None = 0,
    *,
    atlas: AtlasLike = "aal",
    regions: int | Sequence[str] | None = 40,
    groups: Sequence[str] = ("control", "patient"),
    differ: str = "both",
    n_changed: int = 12,
    mean_shift: float = 0.5,
    n_sites: int = 0,
    site_effect: float = 1.0,
    covariates: Iterable[str] | bool = (),
    missing: float = 0.0,
    confounding: float = 0.0,
) -> SimulatedCohort:
    """Simulate the volumes of brain regions in groups of subjects, from known networks.

    Edges mostly join a region to its twin in the other hemisphere and to regions of its lobe. In
    the second group, edges at the medial temporal lobe are lost or weaker, some other edges are
    stronger, and the medial temporal lobe is smaller. A third group differs from the first in the
    same way at another lobe, and so on.

    Parameters
    ----------
    n_per_group : int, sequence or mapping
        Number of subjects in each group: one number for all groups, one number per group, or a
        mapping from group to number.
    random_state : int, Generator or None
        Seed or generator. Sites, covariates, missing cells and groups after the second have their
        own random streams, so that adding them changes nothing else.
    atlas : str, path or Atlas
        Name of one of `sgbn.atlases.ATLASES`, or your own atlas. A region of unknown volume, as in
        Schaefer's atlases, has 4,400 mm^3.
    regions : int, sequence of str or None
        Number of regions, or names of regions. If it is a number, regions are chosen in pairs from
        all lobes. None means all regions of the atlas except ventricles and CSF.
    groups : sequence of str
        Names of two or more groups.
    differ : {"both", "edges", "means", "nothing"}
        What differs between the groups. With "means", the weights in mm^3 and the noise are the
        same in all groups. With "both", regions with a smaller mean also vary less, in proportion.
    n_changed : int
        Number of edges that are lost, halved or strengthened in each later group. It is lower if
        the network has too few edges.
    mean_shift : float
        How much smaller the affected regions are, in standard deviations.
    n_sites : int
        Number of sites: 0, or two or more. Sites differ in size.
    site_effect : float
        Strength of the effects of sites. With 0, sites have no effect.
    covariates : iterable of {"age", "sex", "eTIV"}, or bool
        Names of the covariates. True means all three.
    missing : float
        Share of all cells that are missing, at random. Every subject and every region keeps at
        least one value.
    confounding : float
        From 0 to 1. With 1, the last group is ten years older than the first, with the other groups
        in between, and each group is measured at one site of its own. If there are more groups than
        sites, groups share sites. Values below 1 give a part of this.

    Returns
    -------
    SimulatedCohort
        The cohort and the truth that it was drawn from.

    Examples
    --------
    >>> from sgbn import simulate_cohort
    >>> cohort = simulate_cohort(60, n_sites=3, covariates=["age", "sex"], missing=0.01)
    >>> cohort
    SimulatedCohort(120 subjects x 40 regions; control 60, patient 60)
    >>> len(cohort.changed["patient"]) > 0
    True
    """
    sizes = group_sizes(n_per_group, group_names(groups))
    asked = covariate_names(covariates, COVARIATES)
    difference = _difference(differ, n_changed, mean_shift)
    Number(0, MAX_SITE_EFFECT).check("site_effect", site_effect)
    PROBABILITY.check("missing", missing)
    _check_sites_and_confounding(n_sites, confounding, asked)
    space = as_atlas(atlas)
    places = choose_regions(space, regions)
    rng = np.random.default_rng(random_state)
    # Sites, covariates and missing cells have their own streams, and do not change the networks.
    for_sites, for_covariates, for_missing = rng.spawn(3)
    networks, changed = group_networks(places, tuple(sizes), difference, rng)
    biology = np.vstack([networks[name].sample(size, rng) for name, size in sizes.items()])
    reference = next(iter(networks.values())).mean
    values, truth = biology, dict[str, Any]()
    if n_sites:
        sites = site_names(n_sites)
        shift, scale = site_effects(sites, SPREAD * reference, site_effect, for_sites)
        site = assign_sites(sizes, sites, confounding, for_sites)
        # A site shifts all values, and scales their deviations from the reference.
        values = reference + _of(site, shift) + _of(site, scale) * (biology - reference)
        truth |= {"site": site, "site_shift": shift, "site_scale": scale}
    if asked:
        # All covariates are drawn, so that asking for one more does not change the others.
        slopes = _only(asked, draw_slopes(reference, for_covariates))
        columns = _only(asked, draw_covariates([*sizes.values()], confounding, for_covariates))
        values = values + covariate_part(columns, slopes)
        truth |= {"covariates": columns, "covariate_effects": slopes}
    if missing:
        values = np.where(missing_cells(biology.shape, missing, for_missing), np.nan, values)
    return SimulatedCohort(
        values,
        tuple(place.name for place in places),
        subject_ids(len(values)),
        group=np.repeat(list(sizes), list(sizes.values())),
        atlas=space,
        provenance={"source": "simulate_cohort"},
        biology=biology,
        networks=networks,
        changed=changed,
        **truth,
    )


def group_names(groups: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the groups as text; there must be two or more, all different."""
    names = () if isinstance(groups, str) else tuple(str(name) for name in groups)
    if len(set(names)) < max(2, len(names)) or "" in names:
        raise InputError(f"groups is {groups!r}. Give two or more different names.")
    return names


def group_sizes(
    n_per_group: int | Sequence[int] | Mapping[str, int], groups: tuple[str, ...]
) -> dict[str, int]:
    """Return the number of subjects of each group, in the order of the groups."""
    if isinstance(n_per_group, Mapping):
        named = {str(name): size for name, size in n_per_group.items()}
        if set(named) != set(groups):
            raise InputError(
                f"n_per_group has the groups {list(named)}, but the groups are {list(groups)}. "
                "Give one size for each of these."
            )
        given: Sequence[Any] = [named[name] for name in groups]
    elif np.isscalar(n_per_group):
        given = [n_per_group] * len(groups)
    else:
        given = np.atleast_1d(np.asarray(n_per_group, dtype=object)).tolist()
    if len(given) != len(groups):
        raise InputError(
            f"n_per_group has {len(given)} sizes for {len(groups)} groups. Give one size per group."
        )
    return {
        name: Whole(1).check(f"the size of group {name!r}", size)
        for name, size in zip(groups, given, strict=True)
    }


def _difference(differ: str, n_changed: int, mean_shift: float) -> Difference:
    OneOf(*DIFFER).check("differ", differ)
    Whole(0).check("n_changed", n_changed)
    Number(-MAX_MEAN_SHIFT, MAX_MEAN_SHIFT).check("mean_shift", mean_shift)
    edges, means = differ in ("both", "edges"), differ in ("both", "means")
    return Difference(edges, means, n_changed, mean_shift)


def _check_sites_and_confounding(n_sites: int, confounding: float, asked: tuple[str, ...]) -> None:
    N_SITES.check("n_sites", n_sites)
    PROBABILITY.check("confounding", confounding)
    if confounding and not n_sites and "age" not in asked:
        raise InputError(
            f"confounding is {confounding:g}, but there are no sites and no ages in which groups "
            "can differ. Ask for sites (n_sites) or for the covariate 'age'."
        )


def subject_ids(n: int) -> tuple[str, ...]:
    """Return the ids sub-0001, sub-0002, ..., with four or more digits as needed."""
    width = max(4, len(str(n)))
    return tuple(f"sub-{number:0{width}d}" for number in range(1, n + 1))


def _of(site: Labels, effects: Mapping[str, Array]) -> Array:
    """Return the effect of each subject's site, one row per subject."""
    return np.array([effects[name] for name in site.tolist()])


def _only(names: Iterable[str], columns: Mapping[str, Any]) -> dict[str, Any]:
    return {name: columns[name] for name in names}


def _places(names: Sequence[str], among: Sequence[str]) -> list[int]:
    place = {name: number for number, name in enumerate(among)}
    return [place[name] for name in names]
