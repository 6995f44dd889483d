"""Exp-II's figures: our means beside the paper's, a panel per network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from sgbn.datasets import load_network
from sgbn.experiments.exp2 import RAW, Results, read
from sgbn.experiments.exp2_paper import FIGURES, MEASURES, METHODS, doubt

SHOWN = (*METHODS, f"OR-SGBN literal{RAW}", "H-SGBN", "SGBN", f"SGBN equal{RAW}")
COLUMNS = 3


def draw(folder: Path) -> list[Path]:
    """Draw the files of a finished run: one figure a measure."""
    results = read(folder)
    paths = []
    for measure in MEASURES:
        path = folder / f"exp2_{measure}.png"
        _figure(results, measure).savefig(path, dpi=150)
        paths.append(path)
    return paths


def _figure(results: Results, measure: str) -> Figure:
    n_rows = -(-len(results.networks) // COLUMNS)
    figure = Figure(figsize=(11, 3.1 * n_rows + 0.8), layout="constrained")
    axes = figure.subplots(n_rows, COLUMNS, squeeze=False, sharey=True).ravel()
    for ax, network in zip(axes, results.networks, strict=False):
        _panel(ax, results, measure, network)
    for ax in axes[len(results.networks) :]:
        ax.remove()
    figure.suptitle(f"Exp-II: {MEASURES[measure]}, mean and two standard errors")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _panel(ax: Any, results: Results, measure: str, network: str) -> None:
    places = np.arange(len(SHOWN))
    means, errors = np.transpose([results.mean(measure, network, method) for method in SHOWN])
    ax.errorbar(means, places, xerr=2 * errors, fmt="o", ms=5, color="tab:blue", label="ours")
    for label, doubted, style in (
        ("paper", False, {"marker": "D", "facecolors": "none", "edgecolors": "tab:red"}),
        ("paper, in doubt", True, {"marker": "x", "color": "0.6"}),
    ):
        kept = [k for k, m in enumerate(METHODS) if bool(doubt(measure, network, m)) == doubted]
        values = [FIGURES[measure, network, METHODS[k]] for k in kept]
        ax.scatter(values, kept, s=26, label=label, zorder=3, **style)
    if measure != "false":
        empty = load_network(network).graph.sum()
        ax.axvline(empty, ls=":", lw=1, color="0.4", label="empty graph")
    ax.set_yticks(places, SHOWN, fontsize=8)
    ax.set_ylim(len(SHOWN) - 0.5, -0.5)
    ax.set_xlim(left=-0.03 * ax.get_xlim()[1])
    ax.grid(axis="x", color="0.9")
    ax.set_axisbelow(True)
    ax.set_title(network, fontsize=10)
    ax.tick_params(labelsize=8)
