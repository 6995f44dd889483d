"""Exp-III's figures: the four rows of the paper's, and one for its last claim."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from PIL import Image  # comes with matplotlib

from sgbn.experiments.exp3 import SMALLER, Data, Results, read
from sgbn.experiments.exp3_methods import (
    ALPHAS,
    BIASES,
    EDGES,
    MOVED,
    NETWORKS,
    RECOMMENDED,
    SLACKS,
    SVM,
    SVM_100,
    Method,
)
from sgbn.viz.style import literal, method_styles

STYLES = method_styles(NETWORKS)
COLOURS, DPI = 64, 90


class Row(NamedTuple):
    """One row of panels: what is varied, and the method at each value."""

    title: str
    axis: str
    values: Sequence[Any]
    networks: Sequence[str]
    method: Callable[[str, str, Any], Method]


ROWS = (
    Row("SGBN classifier", "alpha", ALPHAS, NETWORKS, lambda n, b, x: Method(n, b, alpha=x)),
    Row("SGBN classifier", "edges moved", EDGES, [*MOVED], lambda n, b, x: Method(n, b, edges=x)),
    Row("SVM, full length", "alpha", ALPHAS, NETWORKS, lambda n, b, x: Method(n, b, SVM, x)),
    Row("SVM, 100 components", "alpha", ALPHAS, NETWORKS, lambda n, b, x: Method(n, b, SVM_100, x)),
    Row("SGBN classifier", "slack", SLACKS, [*MOVED], lambda n, b, x: Method(n, b, slack=x)),
)


def draw(folder: Path) -> list[Path]:
    """Draw the files of a finished run: one figure for each reading of the bias."""
    results = read(folder)
    paths = []
    for bias in BIASES:
        path = folder / f"exp3_{bias}.png"
        _save(_figure(results, bias), path)
        paths.append(path)
    return paths


def _save(figure: Figure, path: Path) -> None:
    """Save in few colours: lines need no more, and the file is a quarter of the size."""
    drawn = BytesIO()
    figure.savefig(drawn, dpi=DPI)
    few = Image.open(drawn).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def _figure(results: Results, bias: str) -> Figure:
    shape = (len(ROWS), len(results.data))
    figure = Figure(figsize=(1.9 * shape[1] + 1.6, 2.0 * shape[0] + 1.2), layout="constrained")
    axes = figure.subplots(*shape, squeeze=False, sharey="col")
    for row, panels in zip(ROWS, axes, strict=True):
        for ax, (name, data) in zip(panels, results.data.items(), strict=True):
            _panel(ax, data, row, bias)
            if row is ROWS[0]:
                sizes = f"{data.sizes[0]}/{data.sizes[1]}"
                ax.set_title(literal(f"{name.removesuffix(SMALLER)} {sizes}"), fontsize=9)
        panels[0].set_ylabel(f"{row.title}\nbalanced accuracy", fontsize=8)
    figure.suptitle(f"Exp-III, {bias} bias: means over the splits", fontsize=11)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, fontsize=9)
    return figure


def _panel(ax: Any, data: Data, row: Row, bias: str) -> None:
    places = np.arange(len(row.values))
    for network in row.networks:
        labels = [row.method(network, bias, value).label for value in row.values]
        means = [data.mean(label) for label in labels]
        ax.plot(places, means, lw=1.2, ms=3.5, label=network, **STYLES[network])
    ax.axhline(data.mean(RECOMMENDED), color="0.5", lw=1.0, label=RECOMMENDED)
    ax.axhline(0.5, color="0.8", lw=0.8, zorder=0)
    ax.set_xticks(places, [str(value) for value in row.values], fontsize=6)
    ax.set_xlabel(row.axis, fontsize=7)
    ax.tick_params(axis="y", labelsize=6)
