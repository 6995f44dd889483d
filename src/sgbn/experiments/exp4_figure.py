"""Exp-IV's figures: the networks of both groups, and what KL- and MM-SGBN move (Figs. 4 and 5)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from sgbn.experiments.exp4 import BIASED, MOVED, read
from sgbn.experiments.exp4_claims import Parts, agree, most_moved
from sgbn.experiments.exp4_counts import hippocampi, present
from sgbn.viz import plot_matrix
from sgbn.viz.style import LOW, literal

PALE = 1.4  # limit of the colours: edges are not drawn in the darkest


def draw(folder: Path) -> list[Path]:
    """Draw the first data set of a finished run."""
    parts = next(iter(read(folder).values()))
    figures = {"networks": _networks(parts), "moves": _moves(parts)}
    paths = []
    for name, figure in figures.items():
        path = folder / f"exp4_{name}.png"
        figure.savefig(path, dpi=100)
        paths.append(path)
    return paths


def _networks(parts: Parts) -> Figure:
    figure = Figure(figsize=(11, 11.4), layout="constrained")
    axes = figure.subplots(2, 2)
    for row, method in enumerate(("H-SGBN", BIASED)):
        for column, group in enumerate(parts["networks"]["groups"]):
            weights = parts["networks"][method][column]
            n_edges = present(weights[: weights.shape[1]]).sum()
            _matrix(axes[row, column], weights, parts, f"{method}, {group}: {n_edges} edges")
    figure.suptitle(
        "Edges i → j, row → column: red positive, blue negative; hippocampi coloured", fontsize=11
    )
    return figure


def _matrix(ax: Any, weights: Any, parts: Parts, title: str) -> None:
    """Draw one network, regions by lobe; a row beyond the regions is the bias, as in the paper."""
    lobes, regions = (parts["networks"][name].tolist() for name in ("lobes", "regions"))
    m = len(regions)
    order = sorted(range(m), key=lambda k: lobes.index(lobes[k]))
    if len(weights) > m:
        weights = np.column_stack([weights, np.zeros(m + 1)])
        order, lobes, regions = [*order, m], [*lobes, "bias"], [*regions, "bias"]
    signs = np.where(present(weights), np.sign(weights), 0.0)[np.ix_(order, order)]
    names, boxes = ([labels[k] for k in order] for labels in (regions, lobes))
    chosen = [names[k] for k in hippocampi(names)]
    plot_matrix(ax, signs, names, boxes, limit=PALE, title=title, highlight=chosen)


def _moves(parts: Parts) -> Figure:
    moves, groups = parts["moves"], parts["networks"]["groups"]
    top = most_moved(moves)
    by_place = np.argsort(top)  # the edges of the first group come first
    top, same = top[by_place], agree(moves)[by_place]
    names = [
        f"{moves['source'][k]} → {moves['target'][k]}, {groups[moves['group'][k]]}" for k in top
    ]
    figure = Figure(figsize=(11, 6.5), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for ax, name in zip(axes, MOVED, strict=True):
        places = np.arange(len(top))
        ax.barh(places[same], moves[name][top][same], color="0.4", label="same sign in both")
        ax.barh(places[~same], moves[name][top][~same], color=LOW, label="opposite signs")
        ax.axvline(0.0, color="k", lw=0.6)
        ax.set_title(name, fontsize=10)
        ax.set_xlabel("change of the weight, in standard deviations", fontsize=8)
        ax.tick_params(labelsize=7)
    axes[0].set_yticks(places, list(map(literal, names)))
    axes[0].set_ylim(len(top) - 0.4, -0.6)
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8
    )
    figure.suptitle(
        f"Changes from {BIASED}: the {len(top)} that either method moves most", fontsize=11
    )
    return figure
