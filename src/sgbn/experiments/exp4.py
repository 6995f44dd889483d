"""Exp-IV: how do the networks of two groups differ? (Section 5.4).

H-SGBN, OR-SGBN and SGBN learn one network per group. The report shows the paper's counts of edges,
and how much they change by chance (`exp4_methods`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from scipy.special import bdtr

from sgbn.core.types import Array, Indices, Mask
from sgbn.experiments.exp4_methods import (
    ALPHAS,
    BIASED,
    BLOCK,
    METHODS,
    MOVED,
    PENALISED,
    Sample,
    Settings,
    chance,
    counts,
    hippocampi,
    moves,
    networks,
    orders,
    present,
    tests,
)
from sgbn.experiments.experiment import Experiment, Files, Tasks, read_rows
from sgbn.experiments.markdown import table
from sgbn.inference.intervals import estimate
from sgbn.inference.permutations import reached
from sgbn.runs.files import Arrays
from sgbn.write.draw.differences import plot_changes
from sgbn.write.draw.matrices import plot_matrix

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
