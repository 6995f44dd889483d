"""Simulated data whose truth is known: cohorts of brain volumes, and the paper's Exp-II.

`simulate_cohort` draws a network for the first group and networks of further groups that differ
from it, and then what is not biology: sites, covariates and missing cells.

The data of Exp-II come from the nine published networks of the Bayesian Network Repository
(`load_network`) and linear Gaussian structural equation models with random weights
(`simulate_sem`).
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import zip_longest
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgbn.cohort.atlas import Atlas, AtlasLike, Region, as_atlas, stem
from sgbn.cohort.cohort import Cohort
from sgbn.cohort.design import read_only
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.graph import adjacency, topological_order
from sgbn.core.problems import InputError, Problem
from sgbn.core.types import Array, Indices, Labels, Mask
from sgbn.core.validation import PROBABILITY, Constraint, Number, OneOf, Whole, is_whole

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

    def _part(self, rows: Indices, columns: list[int]) -> dict[str, Any]:
        part = super()._part(rows, columns) | {
            "biology": self.biology[np.ix_(rows, np.array(columns, np.intp))]
        }
        for name in _BY_REGION:
            part[name] = {key: effect[columns] for key, effect in getattr(self, name).items()}
        return part


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
        Name of one of `sgbn.cohort.ATLASES`, or your own atlas. A region of unknown volume, as in
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
    >>> from sgbn.cohort.simulate import simulate_cohort
    >>> cohort = simulate_cohort(60, n_sites=3, covariates=["age", "sex"], missing=0.01)
    >>> cohort
    SimulatedCohort(120 subjects x 40 regions; control 60, patient 60)
    >>> len(cohort.changed["patient"]) > 0
    True
    """
    sizes = group_sizes(n_per_group, groups)
    asked = covariate_names(covariates, COVARIATES)
    OneOf(*DIFFER).check("differ", differ)
    Whole(0).check("n_changed", n_changed)
    Number(-MAX_MEAN_SHIFT, MAX_MEAN_SHIFT).check("mean_shift", mean_shift)
    edges, means = differ in ("both", "edges"), differ in ("both", "means")
    Number(0, MAX_SITE_EFFECT).check("site_effect", site_effect)
    PROBABILITY.check("missing", missing)
    N_SITES.check("n_sites", n_sites)
    PROBABILITY.check("confounding", confounding)
    if confounding and not n_sites and "age" not in asked:
        raise InputError("simulate.confounding").says(
            "{confounding=} needs sites or ages in which groups can differ",
            "Give {n_sites=}, or {covariates=} with 'age'.",
        )
    space = as_atlas(atlas)
    places = choose_regions(space, regions)
    rng = np.random.default_rng(random_state)
    # Sites, covariates and missing cells have their own streams, and do not change the networks.
    for_sites, for_covariates, for_missing = rng.spawn(3)
    difference = Difference(edges, means, n_changed, mean_shift)
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


def group_sizes(
    n_per_group: int | Sequence[int] | Mapping[str, int], groups: Sequence[str]
) -> dict[str, int]:
    """Return the number of subjects of each group, by the name of the group as text."""
    names = () if isinstance(groups, str) else tuple(str(name) for name in groups)
    if len(set(names)) < max(2, len(names)) or "" in names:
        raise InputError("simulate.groups", groups=groups).says(
            "groups is {groups}", "Give two or more different names."
        )
    if isinstance(n_per_group, Mapping):
        named = {str(name): size for name, size in n_per_group.items()}
        is_whole_list = set(named) == set(names)
        given: Sequence[Any] = [named[name] for name in names] if is_whole_list else []
    elif np.isscalar(n_per_group):
        given = [n_per_group] * len(names)
    else:
        given = np.atleast_1d(np.asarray(n_per_group, dtype=object)).tolist()
    if len(given) != len(names):
        raise InputError("simulate.sizes", groups=names).says(
            "{n_per_group=} does not have a size for each of {groups}", "Give one size per group."
        )
    return {
        name: Whole(1).check(f"the size of group {name!r}", size)
        for name, size in zip(names, given, strict=True)
    }


def subject_ids(n: int) -> tuple[str, ...]:
    """Return the ids sub-0001, sub-0002, ..., with four or more digits as needed."""
    width = max(4, len(str(n)))
    return tuple(f"sub-{number:0{width}d}" for number in range(1, n + 1))


def _of(site: Labels, effects: Mapping[str, Array]) -> Array:
    """Return the effect of each subject's site, one row per subject."""
    return np.array([effects[name] for name in site.tolist()])


def _only(names: Iterable[str], columns: Mapping[str, Any]) -> dict[str, Any]:
    return {name: columns[name] for name in names}


Edge = tuple[str, str]

EXPLAINED = 0.75  # largest share of a region's variance that its parents explain
SPREAD = 0.12  # standard deviation of a volume, as a share of its mean
GREY_SHARE = 0.5  # grey matter as a share of a region's volume
# Number of regions. In larger lobes edges are rarer, so that a region does not get more edges.
LARGE_LOBE = 8
LARGE_BRAIN = 40  # regions; with more, edges between lobes are rarer for the same reason
WEIGHT_EPS = 1e-9  # a smaller difference of standardised weights is round-off
MEDIAL_TEMPORAL = ("hippocamp", "parahip", "amygdala", "entorhinal")  # parts of names in any atlas


class Difference(NamedTuple):
    """How the later groups differ from the first.

    Attributes
    ----------
    edges, means : bool
        Whether edges differ, and whether means differ.
    n_changed : int
        Number of edges that differ.
    mean_shift : float
        How much smaller the affected regions are, in standard deviations.
    """

    edges: bool
    means: bool
    n_changed: int
    mean_shift: float


def group_networks(
    regions: Sequence[Region],
    groups: Sequence[str],
    difference: Difference,
    rng: np.random.Generator,
) -> tuple[dict[str, GaussianNetwork], dict[str, tuple[Edge, ...]]]:
    """Return the network of each group, and the edges in which each later group differs.

    A further group does not change the networks of the first two.
    """
    names = tuple(region.name for region in regions)
    # All numbers are always drawn, in this order, so that options do not change other draws.
    weights = _weights(_graph(regions, rng), rng)
    mean = GREY_SHARE * np.array([volume_of(region) for region in regions])
    networks = {groups[0]: _in_volumes(weights, mean, SPREAD * mean, names)}
    changed: dict[str, tuple[Edge, ...]] = {}
    streams = [rng, *rng.spawn(len(groups) - 2)]
    for k, (group, stream) in enumerate(zip(groups[1:], streams, strict=True)):
        affected = _affected(regions, k)
        other = _changed_weights(weights, affected, difference.n_changed, stream)
        other = other if difference.edges else weights
        shrunk = mean * (1 - difference.mean_shift * SPREAD * affected)
        own_mean = shrunk if difference.means else mean
        # The spread is in proportion to the mean, unless only the means may differ.
        own_sd = SPREAD * (own_mean if difference.edges else mean)
        networks[group] = _in_volumes(other, own_mean, own_sd, names)
        size = np.abs(other - weights)
        differing = np.argwhere(size > WEIGHT_EPS)
        # The largest difference comes first.
        largest = differing[np.argsort(-size[*differing.T], kind="stable")]
        changed[group] = tuple((names[i], names[j]) for i, j in largest)
        if difference.edges and difference.n_changed and not changed[group]:
            Problem("simulate.unchanged", group=group).warn(
                "no edge of group {group} could be changed, because the network has too few",
                "Use more regions.",
            )
    return networks, changed


def standardised(network: GaussianNetwork) -> Array:
    """Return the weights of a network after scaling all regions to variance one."""
    sd = np.sqrt(np.diag(network.covariance))
    return network.coef * sd[:, None] / sd


def _graph(regions: Sequence[Region], rng: np.random.Generator) -> Mask:
    """Draw edges along a random order, most likely between twins and within a lobe."""
    twin = np.array([twin_key(region) for region in regions])
    lobe = np.array([region.lobe for region in regions])
    twins = twin[:, None] == twin
    same_lobe = lobe[:, None] == lobe
    # Lower probabilities in large lobes and brains keep the number of edges per region similar.
    within = 0.3 * np.minimum(1.0, LARGE_LOBE / same_lobe.sum(axis=0))
    between = 0.03 * min(1.0, LARGE_BRAIN / len(regions))
    probability = np.where(twins, 0.9, np.where(same_lobe, within, between))
    position = rng.permutation(len(regions))
    forward = position[:, None] < position
    return (rng.random(forward.shape) < probability) & forward


def _weights(graph: Mask, rng: np.random.Generator) -> Array:
    """Draw standardised weights. Most are positive, as volumes mostly covary positively."""
    size = rng.uniform(0.35, 0.8, graph.shape)
    sign = np.where(rng.random(graph.shape) < 0.85, 1.0, -1.0)
    return limited(graph * size * sign)[0]


def limited(weights: Array, most: float = EXPLAINED) -> tuple[Array, Array]:
    """Return weights that explain at most the share `most` of each variance, and the shares.

    All regions have variance one. If the weights into a region would explain more, they are scaled
    down.
    """
    weights = weights.copy()
    covariance = np.eye(len(weights))
    explained = np.zeros(len(weights))
    done: list[int] = []
    # In topological order, the covariances of the parents of j are known before j comes.
    for j in topological_order(weights):
        among = covariance[np.ix_(done, done)]
        across = among @ weights[done, j]
        explained[j] = weights[done, j] @ across
        if explained[j] > most:
            weights[:, j] *= np.sqrt(most / explained[j])
            across = among @ weights[done, j]
            explained[j] = weights[done, j] @ across
        covariance[done, j] = covariance[j, done] = across
        done.append(j)
    return weights, explained


def _affected(regions: Sequence[Region], k: int) -> Mask:
    """Return the regions where the k-th later group differs.

    They are the medial temporal regions for the first later group, then one lobe after another.
    """
    # Not every atlas has this lobe, so the regions are found by parts of their names.
    medial = np.array([any(p in r.name.lower() for p in MEDIAL_TEMPORAL) for r in regions])
    lobe = np.array([region.lobe for region in regions])
    lobes = [(lobe == name) & ~medial for name in dict.fromkeys(lobe.tolist())]
    places = [place for place in [medial, *lobes] if place.any()]
    return places[k % len(places)]


def _changed_weights(
    weights: Array, affected: Mask, n_changed: int, rng: np.random.Generator
) -> Array:
    """Return weights with some edges at affected regions lost or halved, and others stronger."""
    changed = weights.copy()
    at_affected = affected[:, None] | affected
    lost = _choose(np.argwhere((weights != 0) & at_affected), n_changed // 2, rng)
    stronger = _choose(np.argwhere((weights != 0) & ~at_affected), n_changed - len(lost), rng)
    for k, (i, j) in enumerate(lost):
        changed[i, j] *= 0.5 * (k % 2)  # alternately lost and halved
    for i, j in stronger:
        changed[i, j] *= 1.6
    # Limited again, because stronger weights may explain more of a region than EXPLAINED.
    return limited(changed)[0]


def _choose(edges: Indices, count: int, rng: np.random.Generator) -> Indices:
    return edges[rng.permutation(len(edges))[:count]]


def _in_volumes(weights: Array, mean: Array, sd: Array, names: tuple[str, ...]) -> GaussianNetwork:
    """Return the network in mm^3 that has these standardised weights."""
    # A standardised weight i -> j is in standard deviations of j per standard deviation of i.
    coef = weights * sd / sd[:, None]
    _, explained = limited(weights, most=np.inf)
    # The noise is the share of the variance that parents do not explain.
    return GaussianNetwork(coef, mean - mean @ coef, (1.0 - explained) * sd**2, names)


COVARIATES = ("age", "sex", "eTIV")
# One site would be the same as no site.
N_SITES = Constraint(["0"], lambda value: is_whole(value) and value == 0) | Whole(2)
REFERENCE_AGE = 65.0  # years; for women of this age and the reference eTIV, covariates add 0
REFERENCE_ETIV = 1.5e6  # mm^3
AGE_SD = 8.0  # years
AGE_GAP = 10.0  # years by which the last group is older than the first under full confounding
SEX_GAP_ETIV = 1.6e5  # mm^3 by which the mean of men is above the mean of women
ETIV_SD = 1.1e5  # mm^3, within a sex
LARGEST_SITE = 2.0  # size of the largest site, as a multiple of the smallest


# Sites ------------------------------------------------------------------------------------------


def site_names(n_sites: int) -> list[str]:
    """Return the names site1, site2, ..., with leading zeros if needed."""
    width = len(str(n_sites))
    return [f"site{k + 1:0{width}d}" for k in range(n_sites)]


def assign_sites(
    sizes: Mapping[str, int], sites: Sequence[str], confounding: float, rng: np.random.Generator
) -> Labels:
    """Return the site of each subject, group after group.

    Sites differ in size. Without confounding, every group has subjects at every site. `confounding`
    is the share of each group that is measured at the group's own site.
    """
    common = np.linspace(LARGEST_SITE, 1.0, len(sites))
    common /= common.sum()
    assigned = []
    for number, (group, size) in enumerate(sizes.items()):
        if size < len(sites):
            raise InputError("simulate.sites", group=group, n=size, sites=len(sites)).says(
                "group {group} has {n:subject} for {sites:site}",
                "Use fewer sites, or more subjects.",
            )
        own_site = np.eye(len(sites))[number % len(sites)]
        # With full confounding, all subjects of a group are at one site.
        least = 0 if confounding else 1  # fewest subjects of this group at a site
        shares = (1 - confounding) * common + confounding * own_site
        counts = least + _whole_parts(size - least * len(sites), shares)
        assigned.append(rng.permutation(np.repeat(sites, counts)))
    return np.concatenate(assigned)


def _whole_parts(total: int, shares: Array) -> Indices:
    """Return integers with the sum `total` that are as close to the shares as possible."""
    # Largest remainder method: round down, then add 1 where rounding took the most.
    exact = total * shares
    parts = np.floor(exact).astype(np.intp)
    parts[np.argsort(parts - exact, kind="stable")[: total - parts.sum()]] += 1
    return parts


def site_effects(
    sites: Sequence[str], sd: Array, strength: float, rng: np.random.Generator
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Draw the shift and scale of each region at each site, as in ComBat's model.

    Each site has its own shift and scale, and its regions vary around them.
    """
    shift, scale = {}, {}
    for name in sites:
        of_site = rng.standard_normal(2)
        of_region = rng.standard_normal((2, len(sd)))
        shift[name] = strength * sd * (0.4 * of_site[0] + 0.3 * of_region[0])
        scale[name] = np.exp(strength * (0.15 * of_site[1] + 0.1 * of_region[1]))
    return shift, scale


# Covariates -------------------------------------------------------------------------------------


def covariate_names(covariates: Iterable[str] | bool, known: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the covariates in the order of `known`; True means all of them."""
    if isinstance(covariates, bool):
        return tuple(known) if covariates else ()
    asked = {covariates} if isinstance(covariates, str) else set(covariates)
    unknown = sorted(map(str, asked - set(known)))
    if unknown:
        raise InputError("simulate.covariate", name=unknown[0], known=known).says(
            "no covariate is called {name}", "Choose from {known}."
        )
    return tuple(name for name in known if name in asked)


def draw_covariates(
    sizes: Sequence[int], confounding: float, rng: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Draw age, sex and eTIV of each subject, group after group.

    With confounding, later groups are older.
    """
    n = sum(sizes)
    # From 0 in the first group to 1 in the last.
    later = np.repeat(np.linspace(0.0, 1.0, len(sizes)), sizes)
    age = REFERENCE_AGE + AGE_SD * rng.standard_normal(n) + confounding * AGE_GAP * later
    male = rng.random(n) < 0.5
    etiv = REFERENCE_ETIV + SEX_GAP_ETIV * (male - 0.5) + ETIV_SD * rng.standard_normal(n)
    # Rounded as in the table of a study
    return {"age": np.round(age, 1), "sex": np.where(male, "M", "F"), "eTIV": np.round(etiv)}


def draw_slopes(mean: Array, rng: np.random.Generator) -> dict[str, Array]:
    """Draw the effects on each region, in mm^3 per year of age, for men, and per mm^3 of eTIV."""
    loss, sex, share = rng.random((3, len(mean)))
    return {
        "age": -mean * (0.002 + 0.004 * loss),
        "sex": mean * (0.04 * sex - 0.02),
        "eTIV": mean / REFERENCE_ETIV * (0.6 + 0.4 * share),
    }


def covariate_part(
    covariates: Mapping[str, NDArray[Any]], slopes: Mapping[str, Array]
) -> Array | float:
    """Return the summed effects of the covariates on each region of each subject."""
    return sum((np.outer(_centred(name, covariates[name]), slopes[name]) for name in slopes), 0.0)


def _centred(name: str, column: NDArray[Any]) -> Array:
    if name == "sex":  # women are the reference
        return (column == "M").astype(np.float64)
    return column - {"age": REFERENCE_AGE, "eTIV": REFERENCE_ETIV}[name]


# Missing cells ----------------------------------------------------------------------------------


def missing_cells(shape: tuple[int, int], share: float, rng: np.random.Generator) -> Mask:
    """Draw the given share of cells at random, but not all cells of any row or column."""
    n, m = shape
    # Keep one cell per row, then one in each column that has none yet. All others may be missing.
    kept = np.zeros(shape, dtype=bool)
    kept[np.arange(n), rng.integers(m, size=n)] = True
    bare = np.flatnonzero(~kept.any(axis=0))
    kept[rng.integers(n, size=len(bare)), bare] = True
    free = np.flatnonzero(~kept)
    count = round(share * n * m)
    if count > len(free):
        # The limit is rounded down, so that it is accepted.
        most = np.floor(1000 * len(free) / (n * m)) / 1000
        raise InputError("simulate.missing", share=share, most=most).says(
            "{missing=} {share} would leave subjects or regions without any value",
            "Give at most {most:g}.",
        )
    cells = np.zeros(n * m, dtype=bool)
    cells[rng.permutation(free)[:count]] = True
    return cells.reshape(shape)


USUAL_VOLUME = 4400.0  # mm^3, if the atlas has no volume: about the median of all known volumes
FLUID = "ventricle/CSF"  # not tissue, so chosen only by name
_FORTY_NAMES = """
Frontal_Sup Frontal_Mid Frontal_Inf_Tri Rectus Cingulum_Ant Cingulum_Post Insula Hippocampus
ParaHippocampal Amygdala Fusiform Temporal_Sup Temporal_Mid Temporal_Pole_Sup Parietal_Sup
Precuneus Angular Lingual Thalamus Caudate
"""
# The default of AAL: twenty regions of each hemisphere, from the whole brain
FORTY = tuple(f"{name}_{side}" for name in _FORTY_NAMES.split() for side in "LR")


def choose_regions(atlas: Atlas, wanted: int | Sequence[str] | None) -> tuple[Region, ...]:
    """Return regions of an atlas: all tissue (None), a number of regions, or regions by name.

    A number of regions is chosen in pairs of both hemispheres, from each lobe in turn. If 40
    regions of AAL are wanted, they are always the regions in `FORTY`.
    """
    if wanted is None:
        chosen = _tissue(atlas)
    elif is_whole(wanted):
        chosen = _so_many(atlas, int(wanted))
    elif isinstance(wanted, Iterable) and not isinstance(wanted, str):
        chosen = _named(atlas, list(wanted))
    else:
        raise InputError("simulate.regions", regions=wanted).says(
            "regions is {regions}", "Give a number, a list of names, or None for all."
        )
    if len(chosen) < 2:
        raise InputError("simulate.few-regions").says(
            "a network needs two or more regions", "Give more."
        )
    return chosen


def twin_key(region: Region) -> str:
    """Return the name of a region without its side. Both twins (left and right) have this name."""
    return stem(region.name, region.hemisphere)


def volume_of(region: Region) -> float:
    """Return the volume of a region in mm^3, or `USUAL_VOLUME` if it is unknown."""
    return float(region.volume_mm3) if region.volume_mm3 > 0 else USUAL_VOLUME


def _tissue(atlas: Atlas) -> tuple[Region, ...]:
    return tuple(region for region in atlas.regions if region.lobe != FLUID)


def _so_many(atlas: Atlas, count: int) -> tuple[Region, ...]:
    if atlas.name == "aal" and count == len(FORTY):
        return _named(atlas, FORTY)
    tissue = _tissue(atlas)
    if not 2 <= count <= len(tissue):
        raise InputError("simulate.count", atlas=atlas.name, n=count, most=len(tissue)).says(
            "the atlas {atlas} cannot give {n:region}", "Give 2 to {most}, or None for all."
        )
    return tuple(sorted(_in_turns(tissue)[:count], key=tissue.index))


def _in_turns(regions: Sequence[Region]) -> list[Region]:
    """Return the regions in turns: the first pair of each lobe, then the second pair, and so on."""
    lobes: dict[str, dict[str, list[Region]]] = {}
    for region in regions:
        lobes.setdefault(region.lobe, {}).setdefault(twin_key(region), []).append(region)
    turns = zip_longest(*(list(pairs.values()) for pairs in lobes.values()), fillvalue=[])
    return [region for turn in turns for pair in turn for region in pair]


def _named(atlas: Atlas, names: Sequence[str]) -> tuple[Region, ...]:
    matched = {str(name): atlas.find(str(name)) for name in names}
    unknown = [name for name, region in matched.items() if region is None]
    if unknown:
        first = atlas.regions[0].name
        raise InputError("simulate.unknown", atlas=atlas.name, names=unknown, first=first).says(
            "the atlas {atlas} has no region {names}", "Use names such as {first}."
        )
    chosen = [region for region in matched.values() if region is not None]
    if len(set(chosen)) < len(names):
        raise InputError("simulate.twice").says(
            "a region is named twice in {regions=}", "Name each region once."
        )
    return tuple(chosen)


NETWORKS = (
    *("factors", "alarm", "barley", "carpo", "chain"),
    *("hailfinder", "insurance", "mildew", "water"),
)


class BenchmarkNetwork(NamedTuple):
    """A published DAG.

    Attributes
    ----------
    graph : ndarray of shape (m, m), bool
        ``graph[i, j]`` is True if there is an arc from ``names[i]`` to ``names[j]``.
    names : tuple of str
        Names of the nodes.
    """

    graph: Mask
    names: tuple[str, ...]

    @classmethod
    def from_arcs(cls, names: tuple[str, ...], arcs: Iterable[tuple[str, str]]) -> BenchmarkNetwork:
        """Return the network with these nodes and these arcs (source, target)."""
        place = {name: k for k, name in enumerate(names)}
        graph = np.zeros((len(names), len(names)), dtype=bool)
        for source, target in arcs:
            graph[place[source], place[target]] = True
        return cls(graph, names)


def load_network(name: str) -> BenchmarkNetwork:
    """Return the structure of one of the nine networks of Exp-II.

    In five of them the published order of the nodes is already topological. Shuffle the columns of
    simulated data before learning. Otherwise methods that depend on the order have an advantage.

    Parameters
    ----------
    name : str
        One of `NETWORKS`. Upper and lower case are the same.

    Returns
    -------
    BenchmarkNetwork
        The graph and the names of its nodes.

    Examples
    --------
    >>> from sgbn.cohort.simulate import load_network
    >>> graph, names = load_network("alarm")
    >>> graph.shape, int(graph.sum())
    ((37, 37), 46)
    """
    if name.lower() not in NETWORKS:
        raise InputError("simulate.network", name=name, known=NETWORKS).says(
            "no network is called {name}", "Use one of {known:s}."
        )
    names = tuple(row["node"] for row in _rows(f"{name.lower()}_nodes.csv"))
    arcs = ((row["source"], row["target"]) for row in _rows(f"{name.lower()}.csv"))
    return BenchmarkNetwork.from_arcs(names, arcs)


def _rows(file: str) -> list[dict[str, str]]:
    text = (files("sgbn.cohort") / "networks" / file).read_text()
    return list(csv.DictReader(text.splitlines()))


UNEQUAL_SD = (0.5, 1.5)  # range of the standard deviations of unequal noise


def random_weights(
    graph: ArrayLike, rng: np.random.Generator, low: float = 0.5, high: float = 1.0
) -> Array:
    """Draw weights for the edges of a graph, of random sign and uniform absolute value.

    Parameters
    ----------
    graph : array-like of shape (m, m), or network
        ``graph[i, j] != 0`` is the edge i -> j.
    rng : Generator
        Random generator of the weights.
    low, high : float
        Range of the absolute values.

    Returns
    -------
    ndarray of shape (m, m)
        Weight of each edge i -> j, and 0 for all other pairs.
    """
    support = adjacency(graph)
    size = rng.uniform(low, high, support.shape)
    sign = rng.choice([-1.0, 1.0], support.shape)
    return support * size * sign


def simulate_sem(
    graph: ArrayLike,
    n_samples: int,
    *,
    low: float = 0.5,
    high: float = 1.0,
    noise: str = "equal",
    random_state: int | np.random.Generator | None = None,
) -> tuple[Array, GaussianNetwork]:
    """Sample from a linear Gaussian model with random weights on a DAG (the data of Exp-II).

    Parameters
    ----------
    graph : array-like of shape (m, m), or network
        ``graph[i, j] != 0`` is the edge i -> j. The result of `load_network` is accepted.
    n_samples : int
        Number of rows to draw.
    low, high : float
        Range of the absolute values of the weights. Their signs are random.
    noise : {"equal", "unequal"}
        Standard deviations of the noise: all 1, or one per variable, uniform on [0.5, 1.5].
    random_state : int, Generator or None
        Seed or generator of weights, noise and rows.

    Returns
    -------
    X : ndarray of shape (n_samples, m)
        One row per sample.
    network : GaussianNetwork
        The true network.
    """
    OneOf("equal", "unequal").check("noise", noise)
    rng = np.random.default_rng(random_state)
    coef = random_weights(graph, rng, low, high)
    sd = rng.uniform(*UNEQUAL_SD, len(coef)) if noise == "unequal" else np.ones(len(coef))
    network = GaussianNetwork(coef, noise_variance=sd**2)
    return network.sample(n_samples, rng), network
