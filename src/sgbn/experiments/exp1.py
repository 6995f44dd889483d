"""Exp-I: does the order of the columns change the learned network? (Section 5.2).

OR-SGBN and H-SGBN learn from randomly permuted columns; the weights are put back into the first
order, averaged, and compared with those of the first order. Beside this, two ways to solve H-SGBN
that go wrong (Section 4.1) are kept to show how: both solve all columns with one and the same path
matrix P, instead of searching P anew before each column as `sgbn.HSGBN` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from sgbn.cohort import Cohort
from sgbn.datasets import simulate_cohort
from sgbn.experiments.data import data_folder, most_different, read_neuro
from sgbn.experiments.experiment import Experiment, Files, Tasks, repeats
from sgbn.graph import is_dag
from sgbn.moments import moments_of
from sgbn.runs import Arrays
from sgbn.solvers.lasso import lasso_gram
from sgbn.structure import HSGBN, ORSGBN
from sgbn.structure.reachability import descendant_prices
from sgbn.types import Array, Indices, Mask

METHODS = {"OR-SGBN": ORSGBN, "H-SGBN": HSGBN}
PAPER = {  # distance and correlation of the paper's table, for Theta_1 and Theta_2
    "OR-SGBN": ((0.08, 0.9996), (0.18, 0.9981)),
    "H-SGBN": ((1.91, 0.6828), (2.06, 0.6396)),
}
PENALTIES = {0.05: "tab:blue", 0.2: "tab:orange", 1.0: "k"}  # lambda_2 / n; 1 forbids an edge
SUBJECTS = 100  # per simulated group: about the size of the paper's
VARIANTS = "variants"  # names the task of the ways that go wrong


@dataclass(frozen=True)
class Settings:
    """What makes one run of Exp-I differ from another."""

    permutations: int = 100
    alpha: float = 0.1
    seed: int = 0


def samples() -> dict[str, Cohort]:
    """Each data set and group: ``"simulated.control"`` and so on."""
    # A fixed seed: --seed changes the permutations, not the data that they are made of.
    cohorts: dict[str, Cohort] = {"simulated": simulate_cohort(SUBJECTS, random_state=0)}
    folder = data_folder()
    if folder is not None and (folder / "neuro" / "cobre_scz.csv").exists():
        cohorts["cobre"] = most_different(read_neuro(folder, "cobre_scz"))
    return {
        f"{name}.{g}": both.subset(groups=[g])
        for name, both in cohorts.items()
        for g in both.groups
    }


def tasks(settings: Settings, data: Mapping[str, Cohort]) -> Tasks:
    """One task per order of the columns for each sample and method, and the ways that go wrong."""
    # One more than the permutations: the first is the order of the table.
    learned = repeats((f"{name}.{m}" for name in data for m in METHODS), settings.permutations + 1)
    return learned | repeats((f"{name}.{VARIANTS}" for name in data), 1)


def work(settings: Settings, data: Mapping[str, Cohort], name: str, repeat: int) -> dict[str, Any]:
    """Learn on permuted columns, and put the weights back into the order of the table."""
    sample, method = name.rsplit(".", 1)
    X = data[sample].values
    if method == VARIANTS:
        return _variants(X, settings.alpha)
    order = np.arange(X.shape[1])
    if repeat > 0:
        order = np.random.default_rng([settings.seed, repeat - 1]).permutation(order)
    # One start for both: by default H-SGBN begins with L1MB, and OR-SGBN with the lasso.
    learner = METHODS[method](alpha=settings.alpha, init="lasso").fit(X[:, order])
    back = np.argsort(order)  # the inverse permutation: weights of the first order again
    return {"weights": learner.coef_std_[np.ix_(back, back)]}


def _variants(X: Array, alpha: float) -> dict[str, Any]:
    R = moments_of(X, [f"x{k}" for k in range(X.shape[1])]).R
    return {
        f"{variant}_{penalty}_{field}": value
        for penalty in PENALTIES
        for variant, solve in (("whole", h_sgbn_whole), ("frozen", h_sgbn_frozen))
        for field, value in solve(R, alpha, penalty)._asdict().items()
    }


class History(NamedTuple):
    """Edges and acyclicity after each iteration, and the period that it falls into (0: none)."""

    n_edges: NDArray[np.int64]
    is_dag: Mask
    period: int


def h_sgbn_whole(R: Array, alpha: float, penalty: float, n_iter: int = 40) -> History:
    """H-SGBN (WHOLE): all columns at once for a fixed P, then P anew, and so on.

    Paper: Section 4.1, Section 5.2: oscillates.
    """
    return _iterate(R, alpha, penalty, n_iter, frozen=False)


def h_sgbn_frozen(R: Array, alpha: float, penalty: float, n_iter: int = 3) -> History:
    """Columns one by one with the P of the start throughout.

    Paper: Section 4.1, footnote: leads to graphs with cycles only. (Or to none at all: where P is
    full, a strong penalty forbids every edge.)
    """
    return _iterate(R, alpha, penalty, n_iter, frozen=True)


def _iterate(R: Array, alpha: float, penalty: float, n_iter: int, frozen: bool) -> History:
    """Solve all columns again and again, at the prices of the last weights or of the first."""
    # R holds correlations: every variable has variance 1, so that prices need no other unit.
    units = np.ones(len(R))
    B = lasso_gram(R, np.full(R.shape, alpha)).x  # without a price of paths
    prices = descendant_prices(B, alpha, penalty, units)
    supports = [B != 0]
    for _ in range(n_iter):
        B = lasso_gram(R, prices, start=B).x
        supports.append(B != 0)
        if not frozen:
            prices = descendant_prices(B, alpha, penalty, units)
    # the same support gives the same prices, so that what follows repeats: a period
    last = supports[-1]
    earlier = [k for k in range(len(supports) - 1) if np.array_equal(supports[k], last)]
    return History(
        np.array([support.sum() for support in supports]),
        np.array([is_dag(support) for support in supports]),
        len(supports) - 1 - earlier[-1] if earlier else 0,
    )


class Invariance(NamedTuple):
    """How far permuting the columns moves what one method learns from one sample.

    The paper has `distance` and `correlation`: those of the weights averaged over the permutations
    and the original ones.
    """

    original: Array
    average: Array
    distance: float
    correlation: float
    distances: Array  # of each permutation
    changed_edges: Indices


def invariance(original: Array, permuted: Array) -> Invariance:
    """Compare the weights of each permutation, put back, with those of the columns as they are."""
    average = permuted.mean(axis=0)
    return Invariance(
        original,
        average,
        float(np.linalg.norm(average - original)),
        float(np.corrcoef(average.ravel(), original.ravel())[0, 1]),
        np.linalg.norm(permuted - original, axis=(1, 2)),
        ((permuted != 0) != (original != 0)).sum(axis=(1, 2)),
    )


Results = tuple[dict[tuple[str, str], Invariance], dict[str, Arrays]]


def read(stored: dict[str, Arrays]) -> Results:
    """(Sample, method) -> Invariance, and sample -> what goes wrong."""
    variants = {}
    weights: dict[tuple[str, str], list[Array]] = {}
    for task, result in stored.items():
        # "SAMPLE.GROUP.METHOD.REPEAT"
        name, method, _ = task.rsplit(".", 2)
        if method == VARIANTS:
            variants[name] = result
        else:
            weights.setdefault((name, method), []).append(result["weights"])
    return {key: invariance(w[0], np.array(w[1:])) for key, w in weights.items()}, variants


def report(results: Results, _: Mapping[str, Any]) -> dict[str, list[list[Any]]]:
    """Tables beside the paper's."""
    return {"invariances": _invariances(results[0]), "variants": _periods(results[1])}


def _invariances(invariances: Mapping[tuple[str, str], Invariance]) -> list[list[Any]]:
    rows = []
    for method in METHODS:
        names = [name for name, m in invariances if m == method]
        for place, name in enumerate(names):
            seen = invariances[name, method]
            # Groups come in pairs, and the paper has two: the first stands beside its Theta_1.
            figures = [(seen.distance, seen.correlation), PAPER[method][place % 2]]
            compared = [text for d, r in figures for text in (f"{d:.2f}", f"{r:.4f}")]
            means = [f"{seen.distances.mean():.2f}", f"{seen.changed_edges.mean():.1f}"]
            rows.append([name, method, np.count_nonzero(seen.original), *compared, *means])
    return rows


def _periods(variants: Mapping[str, Arrays]) -> list[list[Any]]:
    rows = []
    for name, result in variants.items():
        for penalty, variant in product(PENALTIES, ("whole", "frozen")):
            edges, dag, period = (result[f"{variant}_{penalty}_{f}"] for f in History._fields)
            last_edges = ", ".join(map(str, edges[-3:]))
            last_dag = ", ".join(np.where(dag[-3:], "yes", "no"))
            rows.append([name, variant, penalty, last_edges, last_dag, int(period)])
    return rows


def files(results: Results) -> Files:
    """Draw the weights before and after averaging (the paper's Fig. 2), and WHOLE's oscillation."""
    invariances, variants = results
    names = sorted(variants)
    figure = Figure(figsize=(11, 2.3 * len(names) + 2.2), layout="constrained", dpi=150)
    axes = figure.subplots(len(names) + 1, 2, squeeze=False)
    for row, name in enumerate(names):
        for ax, method in zip(axes[row], METHODS, strict=True):
            _draw_weights(ax, invariances[name, method], f"{method}, {name}")
    # Two panels at the bottom, and perhaps more samples: the first two are drawn.
    for ax, name in zip(axes[-1], names, strict=False):
        _draw_oscillation(ax, variants[name], name)
    return {"exp1.png": figure}


def _draw_weights(ax: Any, seen: Invariance, title: str) -> None:
    ax.plot(seen.original.ravel(), color="0.7", lw=2.0, label="columns as they are")
    ax.plot(seen.average.ravel(), color="tab:blue", lw=0.6, label="mean over permutations")
    ax.legend(fontsize=7, loc="lower right")
    figures = f"distance {seen.distance:.2f}, r = {seen.correlation:.4f}"
    _label(ax, f"{title}: {figures}", "weight (Theta as a long vector)")


def _draw_oscillation(ax: Any, result: Arrays, name: str) -> None:
    for penalty, colour in PENALTIES.items():
        edges, dag = result[f"whole_{penalty}_n_edges"], result[f"whole_{penalty}_is_dag"]
        iteration = np.arange(len(edges))
        ax.plot(iteration, edges, color=colour, lw=0.8, label=f"penalty {penalty}")
        ax.plot(iteration[dag], edges[dag], "o", color=colour, ms=4)
    ax.legend(fontsize=7)
    _label(ax, f"H-SGBN (WHOLE), {name}: edges (dots: a DAG)", "iteration")


def _label(ax: Any, title: str, along: str) -> None:
    ax.set_title(title, fontsize=9)
    ax.set_xlabel(along, fontsize=8)
    ax.tick_params(labelsize=7)


EXPERIMENT = Experiment("exp1", tasks, work, read, report, files)
