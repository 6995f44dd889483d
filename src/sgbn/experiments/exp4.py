"""Exp-IV: how do the networks of two groups differ? (Section 5.4).

One network per group by H-SGBN, OR-SGBN and SGBN, the paper's counts of edges (`exp4_counts`),
and beside each count what it is by chance: the same count after rows of residuals were exchanged
between the groups. Further what columns in another order and another alpha change, how KL- and
MM-SGBN move the edges, and the tests of `edge_differences`.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sgbn.cohort import Cohort
from sgbn.datasets import simulate_cohort
from sgbn.datasets.group_networks import standardised
from sgbn.discriminative import KLSGBNClassifier, MMSGBNClassifier
from sgbn.discriminative.class_networks import Scale, default_learner
from sgbn.exceptions import InputError
from sgbn.experiments import exp3
from sgbn.experiments.data import most_different
from sgbn.experiments.exp4_counts import Layout, counts, hippocampi, present
from sgbn.inference import edge_differences
from sgbn.inference.exchange import exchange_of
from sgbn.preprocessing import prepare
from sgbn.quality import review
from sgbn.reference import choose_reference
from sgbn.runs import Arrays, Study, read_result
from sgbn.structure import HSGBN, ORSGBN
from sgbn.structure.nuisance import Nuisance, nuisance_of
from sgbn.structure.smooth import held_fixed
from sgbn.types import Array, Indices

METHODS = ("H-SGBN", "OR-SGBN", "SGBN")
PERMUTED = METHODS[:2]  # the paper's; SGBN has the tests of `edge_differences`
BIASED = "OR-SGBN, bias penalised"  # the paper's bias node, literally
ALPHAS = (0.05, 0.07, 0.1, 0.14, 0.2, 0.28)
REFERENCES = {"simulated": "control", "cobre": "CTR", "abide": "CTR", "ixi": "YOUNG"}
TABLE = "table"  # name of a user's own
NO_BRAIN = "ventricle/CSF"
PAPERS_LOBES = {"medial temporal": "temporal", "subcortical": "temporal"}  # its fourth box
BLOCK = 50  # permutations a task
MOVED = {"KL-SGBN": KLSGBNClassifier, "MM-SGBN": MMSGBNClassifier}


@dataclass(frozen=True)
class Settings:
    """What makes one run of Exp-IV differ from another.

    `orders` are random orders of the columns; each is taken backwards as well.
    """

    alpha: float = 0.1
    permutations: int = 199
    orders: int = 10
    regions: int = 40
    seed: int = 0


@dataclass(frozen=True)
class Sample:
    """Two groups whose networks are compared.

    Attributes
    ----------
    cohort : Cohort
        Imputed, harmonised, covariates regressed out; with the paper's lobes.
    groups : tuple of str
        The reference, and the group that may have lost edges.
    truth : mapping of group to ndarray
        True standardised weights, where they are known.
    """

    cohort: Cohort
    groups: tuple[str, str]
    truth: Mapping[str, Array] = field(default_factory=dict)

    @property
    def codes(self) -> Indices:
        """0 for the reference, 1 for the other group."""
        return (np.asarray(self.cohort.group) == self.groups[1]).astype(np.intp)

    @property
    def sites(self) -> Indices | None:
        """Number of each subject's site."""
        site = self.cohort.site
        return None if site is None else np.unique(site, return_inverse=True)[1]

    @property
    def nuisance(self) -> Nuisance:
        """Means of groups and sites, and slopes of covariates."""
        return nuisance_of(self.codes, held_fixed(self.cohort), self.sites)

    @property
    def residuals(self) -> Array:
        """Rows without nuisance effects."""
        return self.nuisance.residuals(self.cohort.values)

    @property
    def layout(self) -> Layout:
        """Where the regions lie."""
        return Layout(self.cohort.lobes, hippocampi(self.cohort.regions))

    @property
    def digest(self) -> str:
        """Short name of what is in it, to tell two tables apart."""
        beside = json.dumps([self.groups, self.cohort.lobes]).encode()
        return sha256(self.cohort.content + beside).hexdigest()[:16]


def samples(settings: Settings) -> dict[str, Sample]:
    """Return the simulated cohort and, where they are found, the real tables of Exp-III."""
    simulated = simulate_cohort()
    truth = {group: standardised(net) for group, net in simulated.networks.items()}
    found = {"simulated": replace(make_sample(simulated, settings, "control"), truth=truth)}
    for name, sample in exp3.samples(exp3.Settings()).items():
        if sample.cohort is not None and name in REFERENCES:
            found[name] = make_sample(sample.cohort, settings, REFERENCES[name])
    return found


def make_sample(cohort: Cohort, settings: Settings, reference: str | None = None) -> Sample:
    """Prepare two groups; the reference is the usual one unless it is given."""
    if len(cohort.groups) != 2:
        raise InputError(
            f"the table has {len(cohort.groups)} groups, {list(cohort.groups)}: the experiment "
            "compares two. Name the column of the groups (--group), or two of them (--groups)."
        )
    first = choose_reference(cohort.groups, reference)
    usable = review(exp3.one_site(cohort)).require()
    ready = replace(usable, values=prepare(usable).values)  # gaps in covariates are refused below
    if ready.atlas is not None:
        places = (
            place._replace(lobe=PAPERS_LOBES.get(place.lobe, place.lobe))
            for place in ready.atlas.regions
        )
        ready = replace(ready, atlas=replace(ready.atlas, regions=tuple(places)))
    [second] = set(cohort.groups) - {first}
    return Sample(choose_regions(ready, settings.regions), (first, second))


def choose_regions(cohort: Cohort, n_regions: int) -> Cohort:
    """Keep the hippocampi, which the paper looks at, and the regions that differ most.

    Ventricles are left out.
    """
    lobes = zip(cohort.regions, cohort.lobes, strict=True)
    brain = [region for region, lobe in lobes if lobe != NO_BRAIN]
    if len(brain) > n_regions:
        wanted = [brain[k] for k in hippocampi(brain)][:n_regions]
        others = cohort.subset(regions=[region for region in brain if region not in wanted])
        chosen = {*wanted, *most_different(others, n_regions - len(wanted)).regions}
        brain = [region for region in brain if region in chosen]
    return cohort.subset(regions=brain)


def run(study: Study, settings: Settings, data: Mapping[str, Sample]) -> dict[str, Arrays]:
    """Run what the study does not hold yet."""
    tasks: dict[str, dict[str, Any]] = {}
    for name in data:
        common = {"name": name}
        for work in (_tests, _networks, _moves):
            tasks[f"{name}.{work.__name__[1:]}"] = common | {"work": work}
        for method in METHODS:
            tasks[f"{name}.orders.{method}"] = common | {"work": _orders, "method": method}
        for block in range(-(-settings.permutations // BLOCK)):
            tasks[f"{name}.chance.{block:03d}"] = common | {"work": _permute, "block": block}
    described = asdict(settings) | {
        "experiment": "exp4",
        "alphas": ALPHAS,
        "samples": {name: sample.digest for name, sample in data.items()},
    }
    shared = {"data": dict(data), "settings": settings}
    return study.run(_task, tasks, described, shared=shared)


def read(folder: Path) -> dict[str, dict[str, Arrays]]:
    """Results of a finished run: data -> part -> arrays; "chance" has all permutations."""
    found: dict[str, dict[str, Arrays]] = {}
    blocks: dict[str, list[Arrays]] = {}
    for path in sorted((folder / "tasks").glob("*.npz")):
        name, part, *rest = path.stem.split(".", 2)
        if part == "chance":
            blocks.setdefault(name, []).append(read_result(path))
        else:
            found.setdefault(name, {})[".".join([part, *rest])] = read_result(path)
    for name, own in blocks.items():
        found[name]["chance"] = {key: np.concatenate([one[key] for one in own]) for key in own[0]}
    known = [name for name in REFERENCES if name in found]
    return {name: found[name] for name in [*known, *sorted(set(found) - set(known))]}


def _task(
    data: Mapping[str, Sample], name: str, work: Callable[..., dict[str, Any]], **arguments: Any
) -> dict[str, Any]:
    return work(sample=data[name], **arguments)


def _learn(method: str, X: Array, codes: Indices, alpha: float) -> list[Array]:
    """Standardised weights of both groups."""
    penalised = {"H-SGBN": HSGBN, "OR-SGBN": ORSGBN}
    learner = penalised[method](alpha=alpha) if method in penalised else default_learner(codes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pairs without a direction, in one of many fits
        return [learner.fit(X[codes == c]).coef_std_ for c in (0, 1)]


def _networks(sample: Sample, settings: Settings) -> dict[str, Any]:
    """Weights by every method, group and alpha, and what is needed to read them."""
    cohort, codes = sample.cohort, sample.codes
    X = sample.residuals
    Z = Scale.of(cohort.values).standardise(cohort.values)
    learner = _biased(settings)
    fits = [learner.fit(Z[codes == c]).network_ for c in (0, 1)]
    result = {
        "groups": sample.groups,
        "sizes": np.bincount(codes),
        "regions": cohort.regions,
        "lobes": cohort.lobes,
        "covariates": ", ".join(cohort.covariates),
        "sites": 1 if sample.sites is None else int(sample.sites.max()) + 1,
        BIASED: [np.vstack([fit.coef, fit.intercept]) for fit in fits],
        **{method: _learn(method, X, codes, settings.alpha) for method in METHODS},
        **{
            f"{method} {alpha:g}": _learn(method, X, codes, alpha)
            for method in PERMUTED
            for alpha in ALPHAS
        },
    }
    if sample.truth:
        result["truth"] = [sample.truth[group] for group in sample.groups]
    return result


def _biased(settings: Settings) -> ORSGBN:
    return ORSGBN(alpha=settings.alpha, standardize=False, penalize_intercept=True)


def _orders(sample: Sample, settings: Settings, method: str) -> dict[str, Any]:
    """Share of the edges in the upper triangle: of groups, orders, each order backwards too."""
    X = sample.residuals
    shares = np.empty((2, settings.orders, 2))
    for number in range(settings.orders):
        order = np.random.default_rng([settings.seed, number]).permutation(X.shape[1])
        for way, columns in enumerate((order, order[::-1])):
            learned = _learn(method, X[:, columns], sample.codes, settings.alpha)
            for group, weights in enumerate(learned):
                edges = present(weights)
                shares[group, number, way] = np.triu(edges).sum() / max(edges.sum(), 1)
    return {"shares": shares}


def _permute(sample: Sample, settings: Settings, block: int) -> dict[str, Any]:
    """Return changes of the counts after rows were exchanged between the groups."""
    rng = np.random.default_rng([settings.seed, block])
    nuisance, codes, residuals = sample.nuisance, sample.codes, sample.residuals
    exchange = exchange_of(codes, sample.sites)
    found: dict[str, list[Array]] = {method: [] for method in PERMUTED}
    for _ in range(min(BLOCK, settings.permutations - block * BLOCK)):
        X = nuisance.residuals(residuals[exchange.draw(rng)])
        for method, changes in found.items():
            first, second = _learn(method, X, codes, settings.alpha)
            changes.append(counts(second, sample.layout) - counts(first, sample.layout))
    return dict(found)


def _moves(sample: Sample, settings: Settings) -> dict[str, Any]:
    """How KL- and MM-SGBN change the edges of OR-SGBN; both move the same ones."""
    cohort = sample.cohort
    table = pd.DataFrame(cohort.values, columns=list(cohort.regions))
    changes = {}
    for name, classifier in MOVED.items():
        fitted = classifier(_biased(settings), temperature=1.0).fit(table, sample.codes)
        rows = fitted.edge_changes()[["class", "source", "target", "difference"]].tolist()
        changes[name] = {(own, source, target): float(d) for own, source, target, d in rows}
    edges = sorted(changes["KL-SGBN"])
    group, source, target = zip(*edges, strict=True)
    names = {"group": group, "source": source, "target": target}
    return names | {name: [own[edge] for edge in edges] for name, own in changes.items()}


def _tests(sample: Sample, settings: Settings) -> dict[str, Any]:
    """Return p of the tests of `edge_differences`: overall, of edges, regions and lobes."""
    found = edge_differences(
        sample.cohort,
        sample.codes.astype(str),  # sorted, so that the reference comes first
        n_permutations=settings.permutations,
        random_state=settings.seed,
    )
    hubs, lobes = found.hubs, found.lobes
    ends = [{source, target} for source, target in lobes[["source", "target"]].tolist()]
    papers = [pair <= {"frontal", "temporal"} and "temporal" in pair for pair in ends]
    return {
        "all": found.global_p,
        "tested": len(found.edges),
        "significant": len(found.significant()),
        "edges": found.edges["p_fwer"],
        "regions": hubs["p_fwer"],
        "hippocampi": hubs["p_fwer"][hippocampi(hubs["region"].tolist())],
        "lobes": lobes["p_fwer"],
        "papers_lobes": lobes["p_fwer"][papers],
    }
