"""What Exp-IV computes: networks of two groups, the paper's counts of their edges, and tests.

Each count is also computed after rows of residuals were exchanged between the groups, which shows
how much it changes by chance. Further functions compute what another order of the columns and
another alpha change, how KL- and MM-SGBN move the edges, and the tests of `edge_differences`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.design import choose_reference, exchange_of
from sgbn.cohort.effects import Nuisance, held_fixed, nuisance_of
from sgbn.cohort.simulate import simulate_cohort, standardised
from sgbn.core.types import Array, Indices, Mask
from sgbn.discriminative import KLSGBNClassifier, MMSGBNClassifier
from sgbn.experiments.data import most_different, one_site, real_tables, require_two_groups
from sgbn.experiments.experiment import read_rows
from sgbn.inference.differences import edge_differences
from sgbn.learn.classifier import Scale, default_learner
from sgbn.prepare.pipeline import prepare
from sgbn.prepare.review import review
from sgbn.structure import HSGBN, ORSGBN

PENALISED = {"H-SGBN": HSGBN, "OR-SGBN": ORSGBN}  # the paper's methods, which have an alpha
METHODS = (*PENALISED, "SGBN")
BIASED = "OR-SGBN, bias penalised"  # with the bias node exactly as in the paper
ALPHAS = (0.05, 0.07, 0.1, 0.14, 0.2, 0.28)
REFERENCES = {row["name"]: row["reference"] for row in read_rows("samples.csv")}
NO_BRAIN = "ventricle/CSF"
PAPERS_LOBES = {"medial temporal": "temporal", "subcortical": "temporal"}  # the paper's fourth box
BLOCK = 50  # permutations per task
MOVED = {"KL-SGBN": KLSGBNClassifier, "MM-SGBN": MMSGBNClassifier}
ENDS = ["class", "source", "target"]  # fields that identify a moved edge
CUT = 0.01  # smallest standardised weight that the paper draws


@dataclass(frozen=True)
class Settings:
    """The settings of one run of Exp-IV.

    `orders` is the number of random orders of the columns. Each is also used backwards.
    """

    alpha: float = 0.1
    permutations: int = 199
    orders: int = 10
    regions: int = 40
    seed: int = 0
    # Users do not set this. It is stored, so that results of two grids are not mixed in a folder.
    alphas: tuple[float, ...] = field(default_factory=lambda: ALPHAS, init=False)


@dataclass(frozen=True)
class Sample:
    """Two groups whose networks are compared.

    Attributes
    ----------
    cohort : Cohort
        The cohort after preparation (imputed, harmonised, covariates regressed out), with the
        paper's lobes.
    groups : tuple of str
        The reference group, and the group that may have lost edges.
    truth : mapping of group to ndarray
        True standardised weights of each group, if they are known.
    """

    cohort: Cohort
    groups: tuple[str, str]
    truth: Mapping[str, Array] = field(default_factory=dict)

    @property
    def codes(self) -> Indices:
        """Return 0 for each row of the reference group, and 1 for the other group."""
        return (np.asarray(self.cohort.group) == self.groups[1]).astype(np.intp)

    @property
    def sites(self) -> Indices | None:
        """Return the site of each subject as a number, or None if there are no sites."""
        site = self.cohort.site
        return None if site is None else np.unique(site, return_inverse=True)[1]

    @property
    def nuisance(self) -> Nuisance:
        """Return the nuisance effects: means of groups and sites, and slopes of covariates."""
        return nuisance_of(self.codes, held_fixed(self.cohort), self.sites)

    @property
    def residuals(self) -> Array:
        """Return the values without the nuisance effects."""
        return self.nuisance.residuals(self.cohort.values)

    @property
    def content(self) -> bytes:
        """Return bytes that differ between any two samples."""
        return f"{self.groups} {self.cohort.lobes}".encode() + self.cohort.content


def samples(settings: Settings) -> dict[str, Sample]:
    """Return the simulated cohort and, if they are found, the real tables."""
    # The cohort does not depend on --seed, which is for permutations and orders.
    simulated = simulate_cohort()
    cohorts = {"simulated": simulated} | real_tables()
    ready = {name: make_sample(both, settings, REFERENCES[name]) for name, both in cohorts.items()}
    truth = {group: standardised(network) for group, network in simulated.networks.items()}
    return ready | {"simulated": replace(ready["simulated"], truth=truth)}


def make_sample(cohort: Cohort, settings: Settings, reference: str | None = None) -> Sample:
    """Prepare a cohort of two groups. By default, `choose_reference` chooses the reference."""
    require_two_groups(cohort)
    first = choose_reference(cohort.groups, reference)
    usable = review(one_site(cohort)).require()
    # Covariates keep their gaps, which later steps refuse.
    ready = replace(usable, values=prepare(usable).values)
    if ready.atlas is not None:
        places = (
            place._replace(lobe=PAPERS_LOBES.get(place.lobe, place.lobe))
            for place in ready.atlas.regions
        )
        ready = replace(ready, atlas=replace(ready.atlas, regions=tuple(places)))
    [second] = set(cohort.groups) - {first}
    return Sample(choose_regions(ready, settings.regions), (first, second))


def choose_regions(cohort: Cohort, n_regions: int) -> Cohort:
    """Keep the hippocampi, which the paper examines, and the regions that differ most.

    Ventricles are left out.
    """
    lobes = zip(cohort.regions, cohort.lobes, strict=True)
    brain = [region for region, lobe in lobes if lobe != NO_BRAIN]
    if len(brain) > n_regions:
        wanted = [brain[k] for k in hippocampi(brain)][:n_regions]
        rest = cohort.subset(regions=[region for region in brain if region not in wanted])
        chosen = {*wanted, *most_different(rest, n_regions - len(wanted)).regions}
        brain = [region for region in brain if region in chosen]
    return cohort.subset(regions=brain)


def hippocampi(regions: Sequence[str]) -> list[int]:
    """Return the places of the hippocampi, without the parahippocampal regions."""
    names = [region.lower() for region in regions]
    return [k for k, name in enumerate(names) if "hippocamp" in name and "parahip" not in name]


def present(weights: Array) -> Mask:
    """Return which weights are edges: their absolute value is at least `CUT`."""
    return np.abs(weights) >= CUT


def counts(weights: Array, regions: Sequence[str], lobes: Sequence[str]) -> dict[str, float]:
    """Return the paper's counts of a network by name. A count is NaN if its regions are absent."""
    edges = present(weights)
    strengths = np.where(edges, np.abs(weights), 0.0)
    everywhere = np.ones(len(regions), bool)
    hippo = np.isin(np.arange(len(regions)), hippocampi(regions))
    frontal, temporal = (np.asarray(lobes) == lobe for lobe in ("frontal", "temporal"))
    both_ways = _total(edges, frontal, temporal) + _total(edges, temporal, frontal)
    return {
        "edges": float(edges.sum()),
        "within temporal": _total(edges, temporal, temporal),
        "frontal and temporal, both ways": both_ways,
        "hippocampi, edges in": _total(edges, everywhere, hippo),
        "hippocampi, edges out": _total(edges, hippo, everywhere),
        "hippocampi, strength in": _total(strengths, everywhere, hippo),
        "hippocampi, strength out": _total(strengths, hippo, everywhere),
    }


def _total(values: NDArray[np.generic], tails: Mask, heads: Mask) -> float:
    """Return the sum of the values from `tails` to `heads`, or NaN if one of them is empty."""
    if not tails.any() or not heads.any():
        return float("nan")
    return float(values[np.ix_(tails, heads)].sum())


def learn(method: str, X: Array, codes: Indices, alpha: float) -> list[Array]:
    """Return the standardised weights of both groups."""
    learner = PENALISED[method](alpha=alpha) if method in PENALISED else default_learner(codes)
    with warnings.catch_warnings():
        # Learners warn of pairs without a direction, which is too much detail for so many fits.
        warnings.simplefilter("ignore")
        return [learner.fit(X[codes == c]).coef_std_ for c in (0, 1)]


def networks(sample: Sample, settings: Settings) -> dict[str, Any]:
    """Return the weights by method, group and alpha, and the facts needed to interpret them."""
    cohort, codes, X = sample.cohort, sample.codes, sample.residuals
    # The paper's bias is about the means of the groups, which residuals do not have any more.
    # Therefore the values themselves are standardised over both groups.
    Z = Scale.of(cohort.values).standardise(cohort.values)
    learner = _biased(settings)
    fits = [learner.fit(Z[codes == c]).network_ for c in (0, 1)]
    truth = {"truth": [sample.truth[group] for group in sample.groups]} if sample.truth else {}
    return truth | {
        "groups": sample.groups,
        "sizes": np.bincount(codes),
        "regions": cohort.regions,
        "lobes": cohort.lobes,
        "covariates": ", ".join(cohort.covariates) or "none",
        "sites": 1 if sample.sites is None else int(sample.sites.max()) + 1,
        BIASED: [np.vstack([fit.coef, fit.intercept]) for fit in fits],
        **{method: learn(method, X, codes, settings.alpha) for method in METHODS},
        **{f"{m} {alpha:g}": learn(m, X, codes, alpha) for m in PENALISED for alpha in ALPHAS},
    }


def _biased(settings: Settings) -> ORSGBN:
    return ORSGBN(alpha=settings.alpha, standardize=False, penalize_intercept=True)


def orders(sample: Sample, settings: Settings, method: str) -> dict[str, Any]:
    """Return the share of edges in the upper triangle, for each group and order of the columns.

    The shares have the shape (groups, orders, 2), because each order is used in both directions.
    """
    X = sample.residuals
    shares = np.empty((2, settings.orders, 2))
    for number in range(settings.orders):
        order = np.random.default_rng([settings.seed, number]).permutation(X.shape[1])
        # An edge that does not depend on the order is in the upper triangle in one of the two
        # directions. The mean share of such edges is one half.
        for way, columns in enumerate((order, order[::-1])):
            learned = learn(method, X[:, columns], sample.codes, settings.alpha)
            for group, weights in enumerate(learned):
                edges = present(weights)
                shares[group, number, way] = np.triu(edges).sum() / max(edges.sum(), 1)
    return {"shares": shares}


def chance(sample: Sample, settings: Settings, block: str) -> dict[str, Any]:
    """Return differences of OR-SGBN's counts between the groups after rows were exchanged."""
    # Each block has its own random numbers, so that results do not depend on the workers.
    rng = np.random.default_rng([settings.seed, int(block)])
    nuisance, codes, residuals = sample.nuisance, sample.codes, sample.residuals
    exchange = exchange_of(codes, sample.sites)
    changes: dict[str, list[float]] = {}
    # Rows of residuals are exchangeable under the null hypothesis. Exchanged rows have small
    # nuisance effects again, which are removed as in the tests of `edge_differences`.
    for _ in range(min(BLOCK, settings.permutations - int(block) * BLOCK)):
        X = nuisance.residuals(residuals[exchange.draw(rng)])
        first, second = (
            counts(weights, sample.cohort.regions, sample.cohort.lobes)
            for weights in learn("OR-SGBN", X, codes, settings.alpha)
        )
        for name in first:
            changes.setdefault(name, []).append(second[name] - first[name])
    return changes


def moves(sample: Sample, settings: Settings) -> dict[str, Any]:
    """Return the changes that KL- and MM-SGBN make to the edges of OR-SGBN."""
    table = pd.DataFrame(sample.cohort.values, columns=list(sample.cohort.regions))
    changes = {
        # Both methods move edges of the same OR-SGBN. So both tables list the same edges when they
        # are sorted by the ends.
        name: np.sort(
            classifier(_biased(settings), temperature=1.0).fit(table, sample.codes).edge_changes(),
            order=ENDS,
        )
        for name, classifier in MOVED.items()
    }
    # Lists become arrays of text in the file, which cannot store objects.
    ends, other_ends = ({end: by[end].tolist() for end in ENDS} for by in changes.values())
    if ends != other_ends:
        raise ValueError(f"{' and '.join(MOVED)} moved different edges, which cannot be compared.")
    return ends | {name: by["difference"] for name, by in changes.items()}


def tests(sample: Sample, settings: Settings) -> dict[str, Any]:
    """Return the p values of `edge_differences`: overall, of edges, of regions and of lobes."""
    result = edge_differences(
        sample.cohort,
        sample.codes.astype(str),  # the reference is "0", which is the first label in sorted order
        n_permutations=settings.permutations,
        random_state=settings.seed,
    )
    hubs, lobes = result.hubs, result.lobes
    ends = [{source, target} for source, target in lobes[["source", "target"]].tolist()]
    papers = [pair <= {"frontal", "temporal"} and "temporal" in pair for pair in ends]
    return {
        "all": result.global_p,
        "tested": len(result.edges),
        "significant": len(result.significant()),
        "edges": result.edges["p_fwer"],
        "regions": hubs["p_fwer"],
        "hippocampi": hubs["p_fwer"][hippocampi(hubs["region"].tolist())],
        "lobes": lobes["p_fwer"],
        "papers_lobes": lobes["p_fwer"][papers],
    }
