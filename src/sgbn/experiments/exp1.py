"""Exp-I: does the order of the columns change the learned network? (Section 5.2).

OR-SGBN and H-SGBN learn from randomly permuted columns; the weights are put back into the first
order, averaged, and compared with those of the first order.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from sgbn.datasets import simulate_cohort
from sgbn.experiments.data import data_folder, most_different, read_neuro
from sgbn.experiments.h_sgbn_variants import h_sgbn_frozen, h_sgbn_whole
from sgbn.experiments.markdown import provenance, table
from sgbn.moments import moments_of
from sgbn.runs import Arrays, Study, read_result
from sgbn.structure import HSGBN, ORSGBN
from sgbn.types import Array

METHODS = {"OR-SGBN": ORSGBN, "H-SGBN": HSGBN}
PAPER = {  # distance and correlation of the paper's table, for Theta_1 and Theta_2
    "OR-SGBN": ((0.08, 0.9996), (0.18, 0.9981)),
    "H-SGBN": ((1.91, 0.6828), (2.06, 0.6396)),
}
BLOCK = 10  # permutations a task
WHOLE_PENALTIES = (0.05, 0.2, 1.0)  # lambda_2 / n; 1 forbids an edge
SUBJECTS = 100  # a simulated group: about the size of the paper's


@dataclass(frozen=True)
class Settings:
    """What makes one run of Exp-I differ from another."""

    permutations: int = 100
    alpha: float = 0.1
    seed: int = 0


def samples() -> dict[str, Array]:
    """Rows of each data set and group: ``"simulated.control"`` and so on."""
    cohort = simulate_cohort(SUBJECTS, random_state=0)
    result = {f"simulated.{g}": cohort.of_group(g) for g in cohort.networks}
    folder = data_folder()
    if folder is not None and (folder / "neuro" / "cobre_scz.csv").exists():
        cobre = most_different(read_neuro(folder, "cobre_scz"))
        result |= {f"cobre.{g}": cobre.of_group(g) for g in cobre.groups}
    return result


def run(study: Study, settings: Settings) -> dict[str, Arrays]:
    """Run what the study does not hold yet."""
    tasks: dict[str, dict[str, Any]] = {}
    data = samples()
    for name in data:
        for method in METHODS:
            for first in range(0, settings.permutations, BLOCK):
                tasks[f"{name}.{method}.{first:04d}"] = {
                    "name": name,
                    "method": method,
                    "alpha": settings.alpha,
                    "seed": settings.seed,
                    "permutations": range(first, min(first + BLOCK, settings.permutations)),
                }
        tasks[f"{name}.variants"] = {
            "name": name,
            "method": "variants",
            "alpha": settings.alpha,
        }
    described = asdict(settings) | {
        "experiment": "exp1",
        "samples": {name: sha256(X.tobytes()).hexdigest()[:16] for name, X in data.items()},
    }
    return study.run(_task, tasks, described, shared={"data": data})


def _task(data: Mapping[str, Array], name: str, method: str, **arguments: Any) -> dict[str, Any]:
    X = data[name]
    if method == "variants":
        return _variants(X, **arguments)
    return _permute(method, X, **arguments)


def _permute(method: str, X: Array, alpha: float, seed: int, permutations: range) -> dict[str, Any]:
    """Learn on permuted columns, put the weights back, and compare them with the unpermuted."""
    learner = METHODS[method](alpha=alpha, init="lasso")
    original = learner.fit(X).coef_std_
    learned = []
    for number in permutations:
        order = np.random.default_rng([seed, number]).permutation(X.shape[1])
        back = np.argsort(order)
        learned.append(learner.fit(X[:, order]).coef_std_[np.ix_(back, back)])
    different = [(coef != 0) != (original != 0) for coef in learned]
    return {
        "original": original,
        "total": np.sum(learned, axis=0),
        "distances": [np.linalg.norm(coef - original) for coef in learned],
        "changed_edges": [d.sum() for d in different],
    }


def _variants(X: Array, alpha: float) -> dict[str, Any]:
    R = moments_of(X, [f"x{k}" for k in range(X.shape[1])]).R
    result: dict[str, Any] = {}
    for penalty in WHOLE_PENALTIES:
        for variant, solve in (("whole", h_sgbn_whole), ("frozen", h_sgbn_frozen)):
            history = solve(R, alpha, penalty)
            for field, value in history._asdict().items():
                result[f"{variant}_{penalty}_{field}"] = value
    return result


@dataclass(frozen=True)
class Invariance:
    """How far permuting the columns moves what one method learns from one sample."""

    original: Array
    average: Array
    distances: Array
    changed_edges: Array

    @property
    def distance(self) -> float:
        """Euclidean distance of the averaged weights from the original ones, as in the paper."""
        return float(np.linalg.norm(self.average - self.original))

    @property
    def correlation(self) -> float:
        """Correlation of the averaged with the original weights, as in the paper."""
        return float(np.corrcoef(self.average.ravel(), self.original.ravel())[0, 1])


def read(folder: Path) -> tuple[dict[tuple[str, str], Invariance], dict[str, Arrays]]:
    """Results of a finished run: (sample, method) -> Invariance, and sample -> variants."""
    invariances: dict[tuple[str, str], Invariance] = {}
    blocks: dict[tuple[str, str], list[Arrays]] = {}
    variants = {}
    for path in sorted((folder / "tasks").glob("*.npz")):
        dataset, group, method, *_ = path.stem.split(".")
        result = read_result(path)
        if method == "variants":
            variants[f"{dataset}.{group}"] = result
        else:
            blocks.setdefault((f"{dataset}.{group}", method), []).append(result)
    for key, results in blocks.items():
        distances = np.concatenate([result["distances"] for result in results])
        invariances[key] = Invariance(
            results[0]["original"],
            np.sum([result["total"] for result in results], axis=0) / len(distances),
            distances,
            np.concatenate([result["changed_edges"] for result in results]),
        )
    return invariances, variants


def report(folder: Path) -> str:
    """Tables of a finished run beside the paper's, as Markdown."""
    study = json.loads((folder / "study.json").read_text())
    invariances, variants = read(folder)
    settings = study["settings"]
    lines = [
        f"Exp-I, {settings['permutations']} column permutations, alpha = {settings['alpha']}, "
        f"seed {settings['seed']}",
        "",
        *_invariance_table(invariances),
        "",
        "The paper's figures are those of its own two groups (MCI and controls, ADNI), the first "
        "beside the first.",
        "",
        "H-SGBN with one path matrix for all columns (WHOLE: searched anew after each iteration; "
        "frozen: never):",
        "",
        *_variants_table(variants),
        "",
        provenance(study),
    ]
    return "\n".join(lines) + "\n"


def _invariance_table(invariances: dict[tuple[str, str], Invariance]) -> list[str]:
    rows = []
    for method in METHODS:
        names = [name for name, m in invariances if m == method]
        for name in names:
            seen = invariances[name, method]
            group = names.index(name) % 2
            figures = [(seen.distance, seen.correlation), PAPER[method][group]]
            compared = [text for d, r in figures for text in (f"{d:.2f}", f"{r:.4f}")]
            means = [f"{seen.distances.mean():.2f}", f"{seen.changed_edges.mean():.1f}"]
            rows.append([name, method, np.count_nonzero(seen.original), *compared, *means])
    header = ["sample", "method", "edges", "distance", "correlation", "paper's distance"]
    more = ["paper's correlation", "mean distance of one permutation", "mean edges changed by one"]
    return table(header + more, rows)


def _variants_table(variants: dict[str, Arrays]) -> list[str]:
    header = ["sample", "variant", "penalty", "edges in the last iterations", "a DAG", "period"]
    rows = []
    for name, result in variants.items():
        for penalty in WHOLE_PENALTIES:
            for variant in ("whole", "frozen"):
                key = f"{variant}_{penalty}"
                last = [_last(result[f"{key}_{field}"]) for field in ("n_edges", "is_dag")]
                rows.append([name, variant, penalty, *last, int(result[f"{key}_period"])])
    return table(header, rows)


def _last(values: NDArray[Any]) -> str:
    words = ["yes" if v else "no" for v in values[-3:]] if values.dtype == bool else values[-3:]
    return ", ".join(map(str, words))


def draw(folder: Path) -> Path:
    """Draw the files of a finished run.

    The weights before and after averaging over permutations (the paper's Fig. 2), and the
    oscillation of WHOLE.
    """
    invariances, variants = read(folder)
    names = sorted(variants)
    figure = Figure(figsize=(11, 2.3 * len(names) + 2.2), layout="constrained")
    axes = figure.subplots(len(names) + 1, 2, squeeze=False)
    for row, name in enumerate(names):
        for column, method in enumerate(METHODS):
            _draw_weights(axes[row, column], invariances[name, method], f"{method}, {name}")
    for column, name in enumerate(names[:2]):
        _draw_oscillation(axes[-1, column], variants[name], name)
    path = folder / "exp1.png"
    figure.savefig(path, dpi=150)
    return path


def _draw_weights(ax: Any, seen: Invariance, title: str) -> None:
    ax.plot(seen.original.ravel(), color="0.7", lw=2.0, label="columns as they are")
    ax.plot(seen.average.ravel(), color="tab:blue", lw=0.6, label="mean over permutations")
    ax.set_title(f"{title}: distance {seen.distance:.2f}, r = {seen.correlation:.4f}", fontsize=9)
    ax.set_xlabel("weight (Theta as a long vector)", fontsize=8)
    ax.tick_params(labelsize=7)
    ax.legend(fontsize=7, loc="lower right")


def _draw_oscillation(ax: Any, result: Arrays, name: str) -> None:
    for penalty, colour in zip(WHOLE_PENALTIES, ("tab:blue", "tab:orange", "k"), strict=True):
        edges, dag = result[f"whole_{penalty}_n_edges"], result[f"whole_{penalty}_is_dag"]
        iteration = np.arange(len(edges))
        ax.plot(iteration, edges, color=colour, lw=0.8, label=f"penalty {penalty}")
        ax.plot(iteration[dag], edges[dag], "o", color=colour, ms=4)
    ax.set_title(f"H-SGBN (WHOLE), {name}: edges (dots: a DAG)", fontsize=9)
    ax.set_xlabel("iteration", fontsize=8)
    ax.tick_params(labelsize=7)
    ax.legend(fontsize=7)
