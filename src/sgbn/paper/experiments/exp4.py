"""Exp-IV: how do the networks of two groups differ? (Section 5.4).

H-SGBN, OR-SGBN and SGBN learn one network per group. The report shows the paper's counts of edges,
and how much they change by chance.

`networks` learns the networks, and `counts` counts their edges. Each count is also computed after
rows of residuals were exchanged between the groups, which shows how much it changes by chance
(`chance`). `orders` and `networks` compute what another order of the columns and another alpha
change, `moves` how KL- and MM-SGBN move the edges, and `tests` the tests of `edge_differences`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.special import bdtr

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.design import Design, choose_reference
from sgbn.cohort.simulate import simulate_cohort, standardised
from sgbn.core.types import Array, Indices, Mask
from sgbn.inference.differences import edge_differences
from sgbn.inference.intervals import estimate
from sgbn.inference.permutations import reached
from sgbn.learn.classifier import Scale, default_learner
from sgbn.paper.experiments.experiment import (
    Experiment,
    Files,
    Tasks,
    most_different,
    one_site,
    read_rows,
    real_tables,
    require_two_groups,
    table,
)
from sgbn.paper.h_sgbn import HSGBN
from sgbn.paper.kl_sgbn import KLSGBNClassifier
from sgbn.paper.mm_sgbn import MMSGBNClassifier
from sgbn.paper.or_sgbn import ORSGBN
from sgbn.prepare.pipeline import prepare, regions_table
from sgbn.prepare.review import review
from sgbn.runs.files import Arrays
from sgbn.write.draw.differences import plot_changes
from sgbn.write.draw.matrices import plot_matrix

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
    def design(self) -> Design:
        """Return the groups, the reference first, with sites and covariates."""
        alone: dict[str, Any] = dict.fromkeys(("pair", "person", "block"))
        return replace(self.cohort.design, reference=self.groups[0], **alone)

    @property
    def codes(self) -> Indices:
        """Return 0 for each row of the reference group, and 1 for the other group."""
        return self.design.group_codes

    @property
    def residuals(self) -> Array:
        """Return the values without the effects of groups, sites and covariates."""
        return self.design.nuisance().residuals(self.cohort.values)

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
        known = ready.atlas.regions
        places = tuple(r._replace(lobe=PAPERS_LOBES.get(r.lobe, r.lobe)) for r in known)
        ready = replace(ready, atlas=replace(ready.atlas, regions=places))
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
        "sites": 1 if cohort.site is None else len(np.unique(cohort.site)),
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
    design, codes, residuals = sample.design, sample.codes, sample.residuals
    nuisance, exchange = design.nuisance(), design.exchange()
    layout = sample.cohort.regions, sample.cohort.lobes
    changes: dict[str, list[float]] = {}
    # Rows of residuals are exchangeable under the null hypothesis. Exchanged rows have small
    # nuisance effects again, which are removed as in the tests of `edge_differences`.
    for _ in range(min(BLOCK, settings.permutations - int(block) * BLOCK)):
        X = nuisance.residuals(residuals[exchange.draw(rng)])
        learned = learn("OR-SGBN", X, codes, settings.alpha)
        first, second = (counts(weights, *layout) for weights in learned)
        for name in first:
            changes.setdefault(name, []).append(second[name] - first[name])
    return changes


def moves(sample: Sample, settings: Settings) -> dict[str, Any]:
    """Return the changes that KL- and MM-SGBN make to the edges of OR-SGBN."""
    table = regions_table(sample.cohort)
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


Parts = dict[str, Arrays]  # results on one sample
Results = dict[str, Parts]

DESCRIPTIONS = {row["name"]: row["exp4"] for row in read_rows("samples.csv")}
CLAIMS = read_rows("exp4_claims.csv")
LEVEL = 0.05  # largest p that decides a claim
ROUND_OFF = 1e-9  # of a mean of shares
MAJOR = 0.8  # smallest share of edges that stay if "the major structures" stay
MOST_MOVED = 30  # number of edges in the paper's figure
PALE = 1.4  # end of the colour scale, so that weights of -1 and 1 do not get the darkest colour

PARTS = {part.__name__: part for part in (tests, networks, moves, orders, chance)}


def tasks(settings: Settings, data: Mapping[str, Sample]) -> Tasks:
    """Make the tasks of each sample. A task is a function of `PARTS` and its argument."""
    blocks = range(-(-settings.permutations // BLOCK))  # the division is rounded up
    orders, chance = [f"orders.{m}" for m in METHODS], [f"chance.{block:03d}" for block in blocks]
    parts = ["tests", "networks", "moves", *orders, *chance]
    return {f"{name}.{part}": {"name": name, "part": part} for name in data for part in parts}


def work(settings: Settings, data: Mapping[str, Sample], name: str, part: str) -> Any:
    """Do one part of the work on one sample."""
    function, *argument = part.split(".")
    return PARTS[function](data[name], settings, *argument)


def read(stored: dict[str, Arrays]) -> Results:
    """Return the results of each sample, as a mapping of part to arrays."""
    results: Results = {}
    for task, arrays in stored.items():
        name, part = task.split(".", 1)
        results.setdefault(name, {})[part] = arrays
    return {name: results[name] for name in DESCRIPTIONS if name in results}


class Change(NamedTuple):
    """A count in both groups, the 95 % range of its changes by chance, and the two-sided p."""

    first: float
    second: float
    low: float = np.nan
    high: float = np.nan
    p: float = np.nan

    def __str__(self) -> str:
        return f"{self.first:.4g} → {self.second:.4g}" if np.isfinite(self.first) else "–"


def change(parts: Parts, method: str, count: str) -> Change:
    """Return one of the counts of OR-SGBN's networks, or of the true networks ("truth")."""
    networks = parts["networks"]
    layout = (networks["regions"].tolist(), networks["lobes"].tolist())
    # Strengths are sums of floats. They are rounded, so that ties with permutations are found.
    first, second = (np.round(counts(w, *layout)[count], 2) for w in networks[method])
    if method == "truth" or not np.isfinite(first):
        return Change(first, second)
    blocks = [arrays[count] for part, arrays in parts.items() if part.startswith("chance")]
    null = np.concatenate(blocks).round(2)
    # The two-sided p is twice the smaller tail, because the null may not be symmetric.
    tails = reached(second - first, null), reached(first - second, -null)
    low, high = np.percentile(null, [2.5, 97.5]).tolist()
    return Change(first, second, low, high, min(1.0, 2 * min(tails)))


def claims(parts: Parts) -> dict[tuple[str, str], str]:
    """Return claim and figure of the paper -> our figure and the verdict."""
    decided = {}
    for claim in CLAIMS:
        decide = DECIDED_BY[claim["decided_by"]]
        decided[claim["claim"], claim["paper"]] = decide(parts, claim["of"], claim["expected"])
    return decided


def _by_chance(parts: Parts, count: str, sign: str) -> str:
    """Decide a claim by the permutations, and by the true networks if they are known."""
    ours = change(parts, "OR-SGBN", count)
    if not np.isfinite(ours.p):
        return "–"
    towards = int(sign) * (ours.second - ours.first)
    verdict, beside = "undecided", ""
    if ours.p <= LEVEL and towards != 0:
        verdict = "holds" if towards > 0 else "contradicted"
    if "truth" in parts["networks"]:
        truth = change(parts, "truth", count)
        beside = f" (truth {truth})"
        if verdict == "holds" and int(sign) * (truth.second - truth.first) <= 0:
            verdict = "seen, but false in truth"
    share = f" ({ours.second / ours.first - 1:+.0%})" if ours.first else ""
    return f"{ours}{share}, p = {ours.p:.3f}: **{verdict}**{beside}"


def _by_orders(parts: Parts, method: str, expected: str) -> str:
    """Decide a claim by the share of edges in the upper triangle, with a 95 % interval.

    One observation is the mean over both groups, and over an order and its reverse. If edges do
    not depend on the order, this mean is exactly one half.
    """
    # The shares have the shape (groups, orders, directions).
    shares = parts[f"orders.{method}"]["shares"].mean(axis=(0, 2))
    low, high = estimate(shares, 0.0).interval()
    # Edges that do not depend on the order give 0.5 up to round-off, and an interval of width 0.
    alike = low <= 0.5 + ROUND_OFF and high >= 0.5 - ROUND_OFF
    verdict = "holds" if alike == (expected == "as many") else "does not hold"
    if expected == "more" and high < 0.5:
        verdict = "contradicted"
    return f"share {shares.mean():.3f} ({low:.3f} to {high:.3f}): **{verdict}**"


def _by_alphas(parts: Parts, method: str, _: str) -> str:
    """Decide a claim by the share of edges that stay from one alpha to the next."""
    least = steps(parts, method)[..., 1].min()
    return f"at least {least:.0%} stay: **{'holds' if least >= MAJOR else 'does not hold'}**"


def _by_moves(parts: Parts, *_: str) -> str:
    """Decide a claim by an exact two-sided sign test of the edges that are moved most."""
    same = agree(parts["moves"])
    # By chance, two changes have the same sign with probability one half.
    p = min(1.0, 2 * bdtr(float(min(same.sum(), (~same).sum())), len(same), 0.5))
    verdict = "undecided" if p > LEVEL else "holds" if same.mean() > 0.5 else "contradicted"
    return f"{same.sum()} of {len(same)}, p = {p:.2g}: **{verdict}**"


DECIDED_BY: dict[str, Callable[[Parts, str, str], str]] = {
    "chance": _by_chance,
    "orders": _by_orders,
    "alphas": _by_alphas,
    "moves": _by_moves,
}


def nested(sparse: Array, dense: Array) -> Array:
    """Return three measures of how many edges of the first network are in the second.

    They are the Jaccard index, the share of the first network's edges that the second has, and the
    share of the pairs joined in the first network that the second joins in any direction.
    """
    first, second = present(sparse), present(dense)
    joined, again = (edges | edges.T for edges in (first, second))
    pairs = ((first & second, first | second), (first & second, first), (joined & again, joined))
    return np.array([kept.sum() / max(total.sum(), 1) for kept, total in pairs])


def steps(parts: Parts, method: str) -> Array:
    """Return `nested` of the networks at neighbouring alphas, of shape (alphas - 1, groups, 3)."""
    learned = [parts["networks"][f"{method} {alpha:g}"] for alpha in ALPHAS]
    # Alphas increase, so that the first network of each pair is the denser one.
    return np.array([[*map(nested, sparse, dense)] for dense, sparse in pairwise(learned)])


def most_moved(moves: Arrays) -> Indices:
    """Return the places of the edges that KL or MM moves most.

    The changes of each method are divided by its largest change.
    """
    sizes = [np.abs(moves[name]) for name in MOVED]
    # If a method moves nothing, its largest change is 0 and must not be a divisor.
    scaled = [size / (size.max(initial=0.0) or 1.0) for size in sizes]
    return np.argsort(-np.maximum(*scaled), kind="stable")[:MOST_MOVED]


def agree(moves: Arrays) -> Mask:
    """Return for each of the most moved edges whether KL and MM change it in the same direction."""
    first, second = (np.sign(moves[name][most_moved(moves)]) for name in MOVED)
    return first == second


def report(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
    """Return the slots of the report: claims, counts with their ranges by chance, and tests."""
    verdicts = [claims(parts) for parts in results.values()]
    rows = [[*claim, *(of_sample[claim] for of_sample in verdicts)] for claim in verdicts[0]]
    return {
        "data": [_data(*pair) for pair in results.items()],
        "claims": table(["claim", "paper", *results], rows),
        "by_chance": "; ".join(_range_by_chance(*pair) for pair in results.items()),
        "tests": [_tests(*pair) for pair in results.items()],
        **_alphas(results),
        "moves": [_moves(*pair) for pair in results.items()],
    }


def _data(name: str, parts: Parts) -> list[Any]:
    networks = parts["networks"]
    sizes = zip(networks["groups"].tolist(), networks["sizes"].tolist(), strict=True)
    groups = " → ".join(f"{group} ({size})" for group, size in sizes)
    columns = [len(networks["regions"]), str(networks["covariates"]), int(networks["sites"])]
    return [name, DESCRIPTIONS[name], groups, *columns]


def _range_by_chance(name: str, parts: Parts) -> str:
    edges = change(parts, "OR-SGBN", "edges")
    return f"{name} {edges.low / edges.first:+.0%} to {edges.high / edges.first:+.0%}"


def _tests(name: str, parts: Parts) -> list[Any]:
    tests = parts["tests"]
    families = [tests[f] for f in ("edges", "regions", "hippocampi", "lobes", "papers_lobes")]
    lowest = [f"{family.min():.3f}" if family.size else "–" for family in families]
    sizes = [int(tests["tested"]), int(tests["significant"])]
    return [name, f"p = {tests['all']:.3f}", *sizes, *lowest]


def _alphas(results: Results) -> dict[str, list[str]]:
    edges, kept = [], []
    for name, parts in results.items():
        for method in PENALISED:
            grid = [present(parts["networks"][f"{method} {alpha:g}"]) for alpha in ALPHAS]
            n_edges = [map(str, pair.sum(axis=(1, 2))) for pair in grid]
            edges.append([name, method, *map(" → ".join, n_edges)])
            means = steps(parts, method).mean(axis=1)
            kept.append([name, method, *(" / ".join(f"{x:.2f}" for x in step) for step in means)])
    names = [f"{alpha:g}" for alpha in ALPHAS]
    return {
        "edges_by_alpha": table(["data", "method", *names], edges),
        "kept_by_alpha": table(["data", "method", *map(", ".join, pairwise(names))], kept),
    }


def _moves(name: str, parts: Parts) -> list[Any]:
    moves, groups = parts["moves"], parts["networks"]["groups"]
    same, top = agree(moves), most_moved(moves)
    apart = [
        f"{moves['source'][k]} → {moves['target'][k]} ({groups[moves['class'][k]]})"
        for k in top[~same]
    ]
    n_biases = (moves["source"][top] == "bias").sum()
    return [name, f"{same.sum()} of {len(same)}", n_biases, "; ".join(apart) or "none"]


def files(results: Results) -> Files:
    """Draw the networks of the first sample, and the moves of KL- and MM-SGBN (Figs. 4 and 5)."""
    parts = next(iter(results.values()))
    return {"exp4_networks.png": _draw_networks(parts), "exp4_moves.png": _draw_moves(parts)}


def _draw_networks(parts: Parts) -> Figure:
    figure = Figure(figsize=(11, 11.4), layout="constrained", dpi=100)
    axes = figure.subplots(2, 2)
    for row, method in enumerate(("H-SGBN", BIASED)):
        for column, group in enumerate(parts["networks"]["groups"]):
            weights = parts["networks"][method][column]
            # The last row may be the bias, which is not an edge between regions.
            n_edges = present(weights[: weights.shape[1]]).sum()
            _draw_matrix(axes[row, column], weights, parts, f"{method}, {group}: {n_edges} edges")
    figure.suptitle(
        "Edges i → j, row → column: red positive, blue negative; hippocampi coloured", fontsize=11
    )
    return figure


def _draw_matrix(ax: Any, weights: Any, parts: Parts, title: str) -> None:
    """Draw one network with its regions sorted by lobe. An extra row of weights is the bias."""
    lobes, regions = (parts["networks"][name].tolist() for name in ("lobes", "regions"))
    m = len(regions)
    order = sorted(range(m), key=lambda k: lobes.index(lobes[k]))
    if len(weights) > m:
        # The drawing needs a square. The added column is empty, because the bias has no parents.
        weights = np.column_stack([weights, np.zeros(m + 1)])
        order, lobes, regions = [*order, m], [*lobes, "bias"], [*regions, "bias"]
    signs = np.where(present(weights), np.sign(weights), 0.0)[np.ix_(order, order)]
    names, boxes = ([labels[k] for k in order] for labels in (regions, lobes))
    chosen = [names[k] for k in hippocampi(names)]
    plot_matrix(ax, signs, names, boxes, limit=PALE, title=title, highlight=chosen)


def _draw_moves(parts: Parts) -> Figure:
    moves, top = parts["moves"], most_moved(parts["moves"])
    groups = parts["networks"]["groups"][moves["class"][top]]
    edges = {"class": groups, "source": moves["source"][top], "target": moves["target"][top]}
    figure = Figure(figsize=(11, 6.5), layout="constrained", dpi=100)
    drawn = {name: edges | {"difference": moves[name][top]} for name in MOVED}
    directed = list(zip(*edges.values(), strict=True))
    plot_changes(figure.subplots(), drawn, top=MOST_MOVED, supported=directed)
    figure.suptitle(f"Changes from {BIASED}: the {len(top)} that either method moves most", size=11)
    return figure


EXPERIMENT = Experiment("exp4", tasks, work, read, report, files)
