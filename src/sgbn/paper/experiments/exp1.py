"""Exp-I: does the order of the columns change the learned network? (Section 5.2).

OR-SGBN and H-SGBN learn from randomly permuted columns. The weights are put back into the original
order, averaged, and compared with the weights that were learned from the original order.

The experiment also shows two ways to solve H-SGBN that fail (Section 4.1). Both solve all columns
with the same path matrix P. `sgbn.HSGBN` instead computes P again before each column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.graph import is_dag
from sgbn.core.moments import moments_of
from sgbn.core.types import Array, Indices, Mask
from sgbn.learn.lasso import lasso_gram
from sgbn.paper.experiments.experiment import (
    Experiment,
    Files,
    Tasks,
    data_folder,
    most_different,
    read_neuro,
    repeats,
)
from sgbn.paper.h_sgbn import HSGBN, descendant_prices
from sgbn.paper.or_sgbn import ORSGBN
from sgbn.runs.files import Arrays

METHODS = {"OR-SGBN": ORSGBN, "H-SGBN": HSGBN}
# Distance and correlation in the paper's table, for the weights of its two groups.
PAPER = {"OR-SGBN": ((0.08, 0.9996), (0.18, 0.9981)), "H-SGBN": ((1.91, 0.6828), (2.06, 0.6396))}
# Penalties lambda_2 / n of a path, with their colours in the figure. 1 forbids an edge.
PENALTIES = {0.05: "tab:blue", 0.2: "tab:orange", 1.0: "k"}
SUBJECTS = 100  # per simulated group, which is about the size of the paper's groups
VARIANTS = "variants"  # name of the task for the ways that fail


@dataclass(frozen=True)
class Settings:
    """The settings of one run of Exp-I."""

    permutations: int = 100
    alpha: float = 0.1
    seed: int = 0


def samples() -> dict[str, Cohort]:
    """Return each group of each data set, under names such as ``"simulated.control"``."""
    # The seed is fixed: --seed changes the permutations, not the data.
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
    """Make one task per sample, method and order of columns, and one per sample for variants."""
    # There is one order more than permutations, because the first is the original order.
    learned = repeats((f"{name}.{m}" for name in data for m in METHODS), settings.permutations + 1)
    return learned | repeats((f"{name}.{VARIANTS}" for name in data), 1)


def work(settings: Settings, data: Mapping[str, Cohort], name: str, repeat: int) -> dict[str, Any]:
    """Learn from permuted columns, and put the weights back into the original order."""
    sample, method = name.rsplit(".", 1)
    X = data[sample].values
    if method == VARIANTS:
        return _variants(X, settings.alpha)
    order = np.arange(X.shape[1])
    if repeat > 0:
        order = np.random.default_rng([settings.seed, repeat - 1]).permutation(order)
    # Both methods get the same start: by default H-SGBN starts from L1MB, OR-SGBN from the lasso.
    learner = METHODS[method](alpha=settings.alpha, init="lasso").fit(X[:, order])
    back = np.argsort(order)  # the inverse permutation
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
    """Number of edges and acyclicity after each iteration, and the period at the end.

    The period is the number of iterations after which the last graph repeats. It is 0 if the last
    graph did not appear before.
    """

    n_edges: NDArray[np.int64]
    is_dag: Mask
    period: int


def h_sgbn_whole(R: Array, alpha: float, penalty: float, n_iter: int = 40) -> History:
    """Run H-SGBN (WHOLE): solve all columns for a fixed P, compute P again, and repeat.

    Paper: Section 4.1, Section 5.2. It oscillates.
    """
    return _iterate(R, alpha, penalty, n_iter, frozen=False)


def h_sgbn_frozen(R: Array, alpha: float, penalty: float, n_iter: int = 3) -> History:
    """Run H-SGBN with the first P in all iterations.

    Paper: Section 4.1, footnote. It leads only to graphs with cycles, or to graphs without edges:
    if P is full, a strong penalty forbids every edge.
    """
    return _iterate(R, alpha, penalty, n_iter, frozen=True)


def _iterate(R: Array, alpha: float, penalty: float, n_iter: int, frozen: bool) -> History:
    """Solve all columns repeatedly.

    The prices of paths come from the last weights or, if `frozen`, from the first weights.
    """
    # R has correlations, so every variable has variance 1, and all units are 1.
    units = np.ones(len(R))
    # The start has no path prices.
    B = lasso_gram(R, np.full(R.shape, alpha)).x
    prices = descendant_prices(B, alpha, penalty, units)
    supports = [B != 0]
    for _ in range(n_iter):
        B = lasso_gram(R, prices, start=B).x
        supports.append(B != 0)
        if not frozen:
            prices = descendant_prices(B, alpha, penalty, units)
    # The same support gives the same prices, so that everything that follows repeats.
    last = supports[-1]
    earlier = [k for k in range(len(supports) - 1) if np.array_equal(supports[k], last)]
    n_edges = np.array([support.sum() for support in supports])
    dags = np.array([is_dag(support) for support in supports])
    return History(n_edges, dags, len(supports) - 1 - earlier[-1] if earlier else 0)


class Invariance(NamedTuple):
    """How much permuted columns change what one method learns from one sample.

    Attributes
    ----------
    original, average : arrays of shape (regions, regions)
        Weights of the original order, and mean weights over the permutations.
    distance, correlation : float
        Distance and correlation of `average` and `original`, as in the paper.
    distances, changed_edges : arrays of shape (permutations,)
        Distance and number of changed edges of each permutation.
    """

    original: Array
    average: Array
    distance: float
    correlation: float
    distances: Array
    changed_edges: Indices


def invariance(original: Array, permuted: Array) -> Invariance:
    """Compare the weights of all permutations with the original weights, in the same order."""
    average = permuted.mean(axis=0)
    distance = float(np.linalg.norm(average - original))
    correlation = float(np.corrcoef(average.ravel(), original.ravel())[0, 1])
    distances = np.linalg.norm(permuted - original, axis=(1, 2))
    changed = ((permuted != 0) != (original != 0)).sum(axis=(1, 2))
    return Invariance(original, average, distance, correlation, distances, changed)


Results = tuple[dict[tuple[str, str], Invariance], dict[str, Arrays]]


def read(stored: dict[str, Arrays]) -> Results:
    """Return `Invariance` by sample and method, and the results of the variants by sample."""
    variants = {}
    weights: dict[tuple[str, str], list[Array]] = {}
    for task, result in stored.items():
        # A task is named "SAMPLE.GROUP.METHOD.REPEAT".
        name, method, _ = task.rsplit(".", 2)
        if method == VARIANTS:
            variants[name] = result
        else:
            weights.setdefault((name, method), []).append(result["weights"])
    return {key: invariance(w[0], np.array(w[1:])) for key, w in weights.items()}, variants


def report(results: Results, _: Mapping[str, Any]) -> dict[str, list[list[Any]]]:
    """Return the rows of the report's tables, beside the paper's figures."""
    return {"invariances": _invariances(results[0]), "variants": _periods(results[1])}


def _invariances(invariances: Mapping[tuple[str, str], Invariance]) -> list[list[Any]]:
    rows = []
    for method in METHODS:
        names = [name for name, m in invariances if m == method]
        for place, name in enumerate(names):
            seen = invariances[name, method]
            # Each data set has two groups. They are shown beside Theta_1 and Theta_2 of the paper.
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
    """Draw the original and the mean weights (the paper's Fig. 2), and the oscillation of WHOLE."""
    invariances, variants = results
    names = sorted(variants)
    figure = Figure(figsize=(11, 2.3 * len(names) + 2.2), layout="constrained", dpi=150)
    axes = figure.subplots(len(names) + 1, 2, squeeze=False)
    for row, name in enumerate(names):
        for ax, method in zip(axes[row], METHODS, strict=True):
            _draw_weights(ax, invariances[name, method], f"{method}, {name}")
    # There are only two panels at the bottom, so only the first two samples are drawn.
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
