"""Exp-III: does discriminative learning help to classify subjects by group? (Section 5.3).

Real tables are split many times at random into a training and a test part. Simulated cohorts are
drawn again for each split. Everything is learned from the training part only, including the choice
of 40 regions (`protocol`). Then all methods (`exp3_methods`) and their peers
(`sgbn.learn.peers`) classify the same test rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from sgbn.core.types import Array
from sgbn.experiments.canary import CANARY
from sgbn.experiments.exp3_methods import (
    BIASES,
    DESCRIPTIONS,
    LIKELIHOOD,
    MOVED,
    N_EDGES,
    NETWORKS,
    RECOMMENDED,
    SLACK,
    SMALLER,
    SVM,
    SVM_100,
    VARIED,
    Method,
    defaults,
    grid,
    methods,
    read,
    tasks,
    work,
)
from sgbn.experiments.experiment import Experiment, Files, Outcomes, messages, read_rows
from sgbn.experiments.markdown import table
from sgbn.inference.intervals import Estimate, average
from sgbn.learn.peers import COVARIATES_ALONE, peers
from sgbn.runs.files import Arrays
from sgbn.write.draw.style import literal, method_styles

Results = dict[str, Outcomes]  # by sample

CLAIMS = read_rows("exp3_claims.csv")
POINTS = 100.0  # points per unit of accuracy
MIN_SPLITS = 10  # with fewer, a few lucky splits can give an interval that decides
GAIN = 10.0  # points: the lower end of the paper's "10 % to 20 %"
PAPERS = ("KL-SGBN", "MM-SGBN")  # moved networks in the paper
NEGLIGIBLE = 1e-6  # relative increase of fitting error that is only round-off
ROWS = (  # rows of the figure: title, rule, what is varied, networks
    ("SGBN classifier", LIKELIHOOD, "alpha", NETWORKS),
    ("SGBN classifier", LIKELIHOOD, "edges moved", MOVED),
    ("SVM, full length", SVM, "alpha", NETWORKS),
    ("SVM, 100 components", SVM_100, "alpha", NETWORKS),
    ("SGBN classifier", LIKELIHOOD, "slack", MOVED),
)
STYLES = method_styles(NETWORKS)


def simulated(results: Results) -> list[str]:
    """Return the names of the simulated samples."""
    # Simulated cohorts are independent and do not overlap; splits of one table always overlap.
    return [name for name, outcomes in results.items() if outcomes.noted["overlap"] == 0]


def real(results: Results) -> list[str]:
    """Return the names of the real tables in the larger split sizes. Means are taken over these."""
    # The smaller splits have the same subjects, so a mean over both would count a table twice.
    larger = [name for name in results if not name.endswith(SMALLER)]
    return [name for name in larger if name not in simulated(results)]


def report(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
    """Return the slots of the report: our methods, the peers, and the paper's claims."""
    return {
        "data": _data(results),
        "claims": claims_table(results),
        "growth": _growth(results),
        "occasions": occasions_table(results),
        "accuracies": _ranked(results, "balanced"),
        "losses": _ranked(results, "log_loss"),
        "failures": messages(results, ["failure"]),
    }


def _data(results: Results) -> list[str]:
    """Return a table of the samples."""
    rows = [
        [name, _what(name, data.noted), *data.noted["sizes"], data.of(RECOMMENDED, "balanced").size]
        for name, data in results.items()
    ]
    return table(["data", "what", "training", "test", "splits or cohorts"], rows)


def _what(name: str, noted: Arrays) -> str:
    """Return a description of a sample, with the number of regions that were kept."""
    in_table, kept = noted["regions"].tolist()
    n_regions = f"{in_table}" if kept == in_table else f"{kept} of {in_table}"
    return f"{DESCRIPTIONS[name]}; {n_regions} regions"


def difference(claim: Mapping[str, str], bias: str, outcomes: Outcomes) -> Array:
    """Return the difference that a claim is about, in points, with one value per split."""
    more, less = (
        # Each side is averaged per split, so that the splits stay paired.
        np.mean([outcomes.of(method.label, "balanced") for method in side], axis=0)
        for side in sides(claim, bias)
    )
    return POINTS * more - POINTS * less


def sides(claim: Mapping[str, str], bias: str) -> list[list[Method]]:
    """Return the methods that a claim calls more accurate, and the methods compared with them."""
    return [
        methods(claim[side].split(), bias, claim[f"{side}_rule"], claim[f"{side}_at"])
        for side in ("more", "less")
    ]


def verdict(claim: Mapping[str, str], difference: Estimate) -> str:
    """Return in words whether the interval, or only the mean, agrees with the claim."""
    if np.isnan(difference.mean):
        return "not measured"
    if difference.df + 1 < MIN_SPLITS:
        return "too few splits"
    low, high = difference.interval()
    least, most = float(claim["least"]), float(claim["most"])
    if least <= low and high <= most:
        return "holds"
    if high < least or low > most:
        return "contradicted"
    return "likely" if least <= difference.mean <= most else "unlikely"


def cell(difference: Estimate) -> str:
    """Return the mean with its interval, as text.

    The interval is left out if there is a single split. Without a mean, the text is empty.
    """
    if np.isnan(difference.mean):
        return ""
    if np.isnan(difference.error):
        return f"{difference.mean:+.1f}"
    low, high = difference.interval()
    return f"{difference.mean:+.1f} ({low:+.1f} to {high:+.1f})"


def claims_table(results: Results) -> list[str]:
    """Return a table of the verdicts on all real tables together, and on each simulation."""
    rows = []
    tables, cohorts = real(results), simulated(results)
    for claim, bias in product(CLAIMS, BIASES):
        of = {n: data.estimate(difference(claim, bias, data)) for n, data in results.items()}
        # The tables have no subject in common, so that their errors are independent.
        shown = [average([of[name] for name in tables])] if tables else []
        shown += [of[name] for name in cohorts]
        cells = (f"{cell(d)} {verdict(claim, d)}".lstrip() for d in shown)
        rows.append([claim["claim"], claim["words"], bias, *cells])
    first = tables if len(tables) < 2 else ["real tables"]
    return table(["claim", "in words", "bias", *first, *cohorts], rows)


def _gains(outcomes: Outcomes, bias: str, network: str) -> Array:
    """Return the mean gain of a network over OR-SGBN at each sparsity, in points."""
    compared = methods([network, "OR-SGBN"], bias, varied="alpha")
    means = np.array([outcomes.mean(method.label, "balanced") for method in compared])
    moved, learned = POINTS * means.reshape(2, -1)
    return moved - learned


def occasions_table(results: Results) -> list[str]:
    """Return a table that counts the sparsities at which moves gain at least `GAIN` points."""
    rows = []
    for bias, network in product(BIASES, PAPERS):
        gains = np.array([_gains(outcomes, bias, network) for outcomes in results.values()])
        counts = [f"{(of_data >= GAIN).sum()} of {len(of_data)}" for of_data in gains]
        rows.append([network, bias, *counts, f"{(gains >= GAIN).mean():.0%}"])
    return table(["network", "bias", *results, "of all"], rows)


def most_growth(results: Results) -> float:
    """Return the largest relative increase of fitting error by moves with the paper's limit, 1 %.

    The result is NaN if all moves failed.
    """
    base = (N_EDGES, SLACK)
    moves = [m for m in grid() if m.network in MOVED and (m.edges, m.slack) == base]
    growth = [data.of(m.label, "growth") for data in results.values() for m in moves]
    # Unlike max, fmax ignores the NaN of moves that failed.
    return float(np.fmax.reduce(np.concatenate(growth)))


def _growth(results: Results) -> str:
    growth = most_growth(results)
    if np.isnan(growth):
        return "not measured, because every move failed"
    kept = "within" if growth <= SLACK + NEGLIGIBLE else "above"
    return f"these moves added at most {growth:.4%}, {kept} the limit of 1 %"


def _ranked(results: Results, field: str) -> list[str]:
    """Return a table of the pipelines, best first, by their mean over the real tables.

    If there are no real tables, the mean is over all data. A pipeline without the field in one of
    these tables is left out.
    """
    rows = []
    for name in (*defaults(), *peers(0), COVARIATES_ALONE):
        means = {data: outcomes.mean(name, field) for data, outcomes in results.items()}
        # A mean over fewer tables would mislead: NaN in one table makes this mean NaN.
        over = float(np.mean([means[data] for data in real(results) or results]))
        ahead = [_ahead(results, name)] if field == "balanced" else []
        shown = f"**{name}**" if name in defaults() else name
        cells = ["" if np.isnan(mean) else f"{mean:.3f}" for mean in means.values()]
        rows.append((over, [shown, f"{over:.3f}", *ahead, *cells]))
    best_first = sorted(rows, key=lambda row: -row[0] if field == "balanced" else row[0])
    gap = [f"{RECOMMENDED} ahead by"] if field == "balanced" else []
    header = ["pipeline", "mean", *gap, *results]
    return table(header, [row for over, row in best_first if not np.isnan(over)])


def _ahead(results: Results, name: str) -> str:
    """Return by how many points `RECOMMENDED` is ahead of a pipeline on the real tables."""
    # Both classify the same test rows. "Covariates alone" is missing if a table has no covariates.
    tables = [results[n] for n in real(results) if name in results[n].methods]
    if name == RECOMMENDED or not tables:
        return ""
    gaps = [
        data.estimate(POINTS * (data.of(RECOMMENDED, "balanced") - data.of(name, "balanced")))
        for data in tables
    ]
    return cell(average(gaps))


def files(results: Results) -> Files:
    """Draw one figure for each reading of the bias."""
    return {f"exp3_{bias}.png": _figure(results, bias) for bias in BIASES}


def _figure(results: Results, bias: str) -> Figure:
    shape = (len(ROWS), len(results))
    size = (1.9 * shape[1] + 1.6, 2.0 * shape[0] + 1.2)
    figure = Figure(figsize=size, layout="constrained", dpi=90)
    axes = figure.subplots(*shape, squeeze=False, sharey="col")
    for (title, rule, varied, networks), panels in zip(ROWS, axes, strict=True):
        for ax, outcomes in zip(panels, results.values(), strict=True):
            _panel(ax, outcomes, bias, rule, varied, networks)
        panels[0].set_ylabel(f"{title}\nbalanced accuracy", fontsize=8)
    for ax, (name, outcomes) in zip(axes[0], results.items(), strict=True):
        sizes = "/".join(map(str, outcomes.noted["sizes"]))
        ax.set_title(literal(f"{name.removesuffix(SMALLER)} {sizes}"), fontsize=9)
    figure.suptitle(f"Exp-III, {bias} bias: means over the splits", fontsize=11)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, fontsize=9)
    return figure


def _panel(
    ax: Any, outcomes: Outcomes, bias: str, rule: str, varied: str, networks: Iterable[str]
) -> None:
    values = [str(*settings.values()) for settings in VARIED[varied]]
    for network in networks:
        labels = [method.label for method in methods([network], bias, rule, varied)]
        means = [outcomes.mean(label, "balanced") for label in labels]
        ax.plot(means, lw=1.2, ms=3.5, label=network, **STYLES[network])
    recommended = outcomes.mean(RECOMMENDED, "balanced")
    ax.axhline(recommended, color="0.5", lw=1.0, label=RECOMMENDED)
    ax.axhline(0.5, color="0.8", lw=0.8, zorder=0)
    ax.set_xticks(range(len(values)), values, fontsize=6)
    ax.set_xlabel(varied, fontsize=7)
    ax.tick_params(axis="y", labelsize=6)


EXPERIMENT = Experiment("exp3", tasks, work, read, report, files, CANARY)
