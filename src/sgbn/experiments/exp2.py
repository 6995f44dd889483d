"""Exp-II: how well are known networks recovered? (Section 5.2).

Nine published networks, random weights, 1000 samples; the errors of the eight methods that the
paper compares with, of OR-SGBN and H-SGBN, and of SGBN (`exp2_methods`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from sgbn.comparison.intervals import Estimate, estimate
from sgbn.datasets import load_network
from sgbn.experiments import exp2_methods as methods
from sgbn.experiments.exp2_methods import BASELINES, METHODS, PAPER, RAW, paper_sum, summed
from sgbn.experiments.experiment import Experiment, Files, Outcomes, messages, read_rows
from sgbn.experiments.markdown import table

Results = dict[str, Outcomes]  # by network

MEASURES = {  # as the paper's tables count them, in their order
    "errors": "total errors (false and missing edges)",
    "false": "false edges",
    "pdag": "falsely identified PDAG structures",
}
MAIN = (*METHODS, "H-SGBN", "SGBN")  # columns of the three tables
SHOWN = (*METHODS, f"OR-SGBN literal{RAW}", "H-SGBN", "SGBN", f"SGBN equal{RAW}")  # in figures
PANELS = 3  # side by side
GOAL = 0.1  # each sum within this share of the paper's
AIMED_AT = ("errors", "false")
CLEAR = 2.0  # standard errors of a difference: below, two methods count as alike
CLAIMS = read_rows("exp2_claims.csv")  # the paper's words, and the place that they mean


def mean(results: Results, measure: str, network: str, method: str) -> Estimate:
    """Mean over the simulations of a network that did not fail."""
    # Simulations are independent, so that no overlap is to be corrected for.
    return estimate(results[network].of(method, measure), 0.0)


def total(results: Results, measure: str, method: str) -> Estimate:
    """Sum of the means over the networks but Mildew."""
    # networks are simulated independently: squared errors of their means add up
    means = [mean(results, measure, network, method) for network in summed(results)]
    sums, errors, dfs = zip(*means, strict=True)
    # The least degrees of freedom is the cautious choice for a sum.
    return Estimate(sum(sums), float(np.linalg.norm(errors)), min(dfs))


def report(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
    """Tables beside the paper's, its goal, and which of its claims hold."""
    return {
        **{measure: _beside_paper(results, measure) for measure in MEASURES},
        "goal": _goal(results),
        "default_alpha": str(methods.Settings.alpha),
        "default_alpha_raw": str(methods.Settings.alpha_raw),
        "variants": _variants(results),
        "claims": claims_table(results),
        "remarks": messages(results, ("failure", "warning")),
    }


def _cell(ours: Estimate, paper: str = "") -> str:
    return f"{ours.mean:.1f} +- {ours.error:.1f}" + (f" ({paper})" if paper else "")


def _beside_paper(results: Results, measure: str) -> list[str]:
    """Table of one measure: networks down, methods across."""

    def cell(network: str, m: str) -> str:
        return _cell(mean(results, measure, network, m), PAPER.get((measure, network, m), ""))

    rows = [[network, *(cell(network, m) for m in MAIN)] for network in results]
    papers = {m: f"{paper_sum(measure, m, results):.2f}" for m in METHODS}
    last = [_cell(total(results, measure, m), papers.get(m, "")) for m in MAIN]
    return table(["network", *MAIN], [*rows, ["sum without mildew", *last]])


def _goal(results: Results) -> list[list[Any]]:
    """OR-SGBN's sums for every reading, beside those of the paper and of no edges at all."""
    paper = {measure: paper_sum(measure, "OR-SGBN", results) for measure in MEASURES}
    rows: list[list[Any]] = []
    for reading in methods.readings(methods.Settings()):
        sums = {measure: total(results, measure, reading) for measure in MEASURES}
        shares = {measure: sums[measure].mean / paper[measure] - 1 for measure in MEASURES}
        cells = [_cell(sums[m], f"{shares[m]:+.1%}") for m in MEASURES]
        within = all(abs(shares[measure]) <= GOAL for measure in AIMED_AT)
        rows.append([reading, *cells, "yes" if within else "no"])
    n_edges = sum(_n_edges(network) for network in summed(results))
    # Every true edge is missing and none is false: what a learner must be better than.
    rows.append(["empty graph", n_edges, 0, n_edges, "no"])
    rows.append(["paper", *(f"{value:.2f}" for value in paper.values()), ""])
    return rows


def _n_edges(network: str) -> int:
    return int(load_network(network).graph.sum())


def _methods(results: Results) -> list[str]:
    return next(iter(results.values())).methods


def _variants(results: Results) -> list[list[Any]]:
    """Sum up every way to run OR-SGBN, H-SGBN and SGBN."""
    rows = []
    # The baselines come first (`exp2_methods.learners`), and have one way each.
    for name in _methods(results)[len(BASELINES) :]:
        sums = [_cell(total(results, measure, name)) for measure in (*MEASURES, "edges")]
        alphas = np.concatenate([results[n].of(name, "alpha") for n in summed(results)])
        # Learners without a penalty have no alpha, and failed fits neither.
        known = alphas[~np.isnan(alphas)]
        rows.append([name, *sums, f"{np.median(known):.3f}" if known.size else ""])
    return rows


def place(results: Results, method: str, measure: str, network: str) -> str:
    """Where a method stands among the eight baselines: "fewest", "most" or "between".

    The differences are those on the same data, and must exceed two standard errors.
    """
    of = partial(results[network].of, field=measure)
    return _place(estimate(of(method) - of(baseline), 0.0) for baseline in BASELINES)


def place_in_paper(measure: str, network: str) -> str:
    """`place` of OR-SGBN by the paper's own means; it gives no standard errors."""
    of = partial(methods.paper_figure, measure, network)
    # Error 0: any difference of the printed means counts.
    return _place(Estimate(of("OR-SGBN") - of(baseline), 0.0, 0) for baseline in BASELINES)


def _place(differences: Iterable[Estimate]) -> str:
    # A difference within its error has the sign 0, which is neither "fewest" nor "most".
    signs = {np.sign(gap) * (abs(gap) > CLEAR * error) for gap, error, _ in differences}
    return "fewest" if signs == {-1} else "most" if signs == {1} else "between"


def claims_table(results: Results) -> list[str]:
    """Table of the networks on which each claim holds, one row per reading of OR-SGBN."""
    header = [f"{claim['words']} ({claim['place']}, {claim['measure']})" for claim in CLAIMS]
    rows = [
        [name, *_upheld(results, partial(place, results, name)), _bic(results, name)]
        for name in methods.readings(methods.Settings())
    ]
    return table(
        ["reading", *header, "BIC did not behave well (errors, BIC : fixed alpha)"],
        [*rows, ["the paper's own figures", *_upheld(results, place_in_paper), ""]],
    )


def _upheld(results: Results, place_of: Callable[[str, str], str]) -> list[str]:
    cells = []
    for claim in CLAIMS:
        networks = [network for network in claim["networks"].split() if network in results]
        upheld = [n for n in networks if place_of(claim["measure"], n) == claim["place"]]
        cells.append(f"{len(upheld)} of {len(networks)} {', '.join(upheld)}".rstrip())
    return cells


def _bic(results: Results, reading: str) -> str:
    name, raw, _ = reading.partition(RAW)
    with_bic = f"{name}{methods.BIC}{raw}"
    if with_bic not in _methods(results):
        return ""
    fixed, chosen = (total(results, "errors", name).mean for name in (reading, with_bic))
    return f"{'holds' if chosen > fixed else 'does not hold'}, {chosen / fixed:.2f}"


def files(results: Results) -> Files:
    """Draw our means beside the paper's: one figure per measure, one panel per network."""
    return {f"exp2_{measure}.png": _figure(results, measure) for measure in MEASURES}


def _figure(results: Results, measure: str) -> Figure:
    n_rows = -(-len(results) // PANELS)
    figure = Figure(figsize=(11, 3.1 * n_rows + 0.8), layout="constrained", dpi=150)
    axes = figure.subplots(n_rows, PANELS, squeeze=False, sharey=True).ravel()
    for ax, network in zip(axes, results, strict=False):
        _panel(ax, results, measure, network)
    for ax in axes[len(results) :]:
        ax.remove()
    figure.suptitle(f"Exp-II: {MEASURES[measure]}, mean and two standard errors")
    shown = axes[0].get_legend_handles_labels()
    figure.legend(*shown, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _panel(ax: Any, results: Results, measure: str, network: str) -> None:
    places = np.arange(len(SHOWN))
    ours, errors, _ = np.transpose([mean(results, measure, network, m) for m in SHOWN])
    ax.errorbar(ours, places, xerr=CLEAR * errors, fmt="o", ms=5, color="tab:blue", label="ours")
    for label, doubted, style in (
        ("paper", False, {"marker": "D", "facecolors": "none", "edgecolors": "tab:red"}),
        ("paper, in doubt", True, {"marker": "x", "color": "0.6"}),
    ):
        cells = {k: (measure, network, method) for k, method in enumerate(METHODS)}
        kept = [k for k, cell in cells.items() if methods.in_doubt(*cell) == doubted]
        figures = [methods.paper_figure(*cells[k]) for k in kept]
        ax.scatter(figures, kept, s=26, label=label, zorder=3, **style)
    # False edges of the empty graph are none: a line at 0 would say nothing.
    if measure != "false":
        ax.axvline(_n_edges(network), ls=":", lw=1, color="0.4", label="empty graph")
    ax.set_yticks(places, SHOWN, fontsize=8)
    # Upside down, so that the first method stands on top.
    ax.set_ylim(len(SHOWN) - 0.5, -0.5)
    ax.set_xlim(left=-0.03 * ax.get_xlim()[1])
    ax.grid(axis="x", color="0.9")
    ax.set_axisbelow(True)
    ax.set_title(network, fontsize=10)
    ax.tick_params(labelsize=8)


EXPERIMENT = Experiment("exp2", methods.tasks, methods.work, methods.read, report, files)
