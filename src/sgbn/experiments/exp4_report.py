"""Exp-IV's tables: the paper's claims, its counts beside their ranges by chance, and the tests."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sgbn.experiments.exp4 import ALPHAS, BIASED, METHODS, PERMUTED, TABLE, read
from sgbn.experiments.exp4_claims import Change, Parts, agree, changes, claims, most_moved, steps
from sgbn.experiments.exp4_counts import ALL, COUNTS, CUT, present
from sgbn.experiments.markdown import provenance, table

Results = dict[str, Parts]

DESCRIPTIONS = {
    "simulated": "simulated cohort; patients have lost edges at the medial temporal lobe",
    "cobre": "COBRE, controls and schizophrenia",
    "abide": "ABIDE I, controls and autism, its largest site (NYU)",
    "ixi": "IXI, the youngest and the oldest third",
    TABLE: "the table given",
}
REAL = DESCRIPTIONS.keys() - {"simulated", TABLE}
TRUTH = ' "False in truth": the networks that the data were drawn from do not change so.'


def report(folder: Path) -> str:
    """Tables of a finished run, as Markdown."""
    study = json.loads((folder / "study.json").read_text())
    settings, results = study["settings"], read(folder)
    sections = {
        "What holds of the paper's claims": _claims(results, settings),
        "Counts of edges": _counts(results),
        "Tests of `edge_differences`": _tests(results),
        "The bias node": _biases(results),
        "Over alpha": _alphas(results),
        "How KL- and MM-SGBN move the edges": _moves(results),
    }
    lines = [
        f"# Exp-IV, alpha = {settings['alpha']:g}, {settings['permutations']} permutations, "
        f"seed {settings['seed']}",
        "",
        *_data(results, settings["regions"]),
    ]
    for heading, section in sections.items():
        lines += ["", f"## {heading}", "", *section]
    return "\n".join([*lines, "", provenance(study)]) + "\n"


def _data(results: Results, n_regions: int) -> list[str]:
    rows = []
    for name, parts in results.items():
        networks = parts["networks"]
        sizes = zip(networks["groups"].tolist(), networks["sizes"].tolist(), strict=True)
        groups = " → ".join(f"{group} ({size})" for group, size in sizes)
        beside = str(networks["covariates"]) or "none"
        regions = len(networks["regions"])
        rows.append([name, DESCRIPTIONS[name], groups, regions, beside, int(networks["sites"])])
    return [
        *table(["data", "what", "groups", "regions", "covariates", "sites"], rows),
        "",
        "Regions are imputed, harmonised and without the effects of covariates. Of more than "
        f"{n_regions} regions the hippocampi are kept, and those that differ most between the "
        "groups; ventricles are left out. The temporal lobe includes subcortical regions, as in "
        f"the paper. An edge is a standardised weight of {CUT:g} or more. A → B: in the first "
        "group, in the second. The paper speaks of controls and MCI" + _others(results),
    ]


def _others(results: Results) -> str:
    """End of the sentence on the paper's groups: those of the real tables, if there are any."""
    if not REAL & results.keys():
        return "."
    return (
        "; the real tables have other groups, so that they show what its counts are worth, not "
        "what MCI does."
    )


def _claims(results: Results, settings: dict[str, Any]) -> list[str]:
    own = {name: claims(parts) for name, parts in results.items()}
    rows = [
        [*claim, *(found[claim] for found in own.values())] for claim in next(iter(own.values()))
    ]
    known = any("truth" in parts["networks"] for parts in results.values())
    return [
        f"p: two-sided, of {settings['permutations']} exchanges of residual rows between the "
        "groups, within sites, by the same method and with the same group sizes. Upper triangle: "
        f"over {settings['orders']} random orders of the columns, each also backwards. Holds, "
        "contradicted: the change has or has not the paper's sign, at p <= 0.05; else undecided. "
        "p are of one claim in one data set; one in 20 is that small by chance."
        + (TRUTH if known else "")
        + " A change of in- or outgoing edges is one of learned directions, which the data decide "
        "in part only.",
        "",
        *table(["claim", "paper", *results], rows),
        "",
        "How much chance alone changes the number of OR-SGBN's edges (95 %; the paper's change is "
        f"-21 %): {'; '.join(_by_chance(*pair) for pair in results.items())}.",
    ]


def _by_chance(name: str, parts: Parts) -> str:
    edges = changes(parts, "OR-SGBN")[ALL]
    return f"{name} {edges.low / edges.first:+.0%} to {edges.high / edges.first:+.0%}"


def _counts(results: Results) -> list[str]:
    lines = []
    for name, parts in results.items():
        methods = [m for m in (*METHODS, "truth") if m in parts["networks"]]
        own = [changes(parts, method) for method in methods]
        rows = [[count, *(_cell(found[count]) for found in own)] for count in COUNTS]
        lines += [f"{name}:", "", *table(["count", *methods], rows), ""]
    return [
        "In brackets the 95 % range of the change by chance, and p. SGBN's change has no test of "
        "its own; see the next section.",
        "",
        *lines[:-1],
    ]


def _cell(change: Change) -> str:
    if not np.isfinite(change.p):
        return str(change)
    return f"{change} ({change.low:.3g} to {change.high:.3g}, p = {change.p:.2f})"


def _tests(results: Results) -> list[str]:
    header = ["data", "networks differ", "edges tested", "of these q <= 0.05", "lowest p of edges"]
    more = ["of regions", "of hippocampi", "of lobe to lobe", "of temporal and frontal"]
    rows = []
    for name, parts in results.items():
        tests = parts["tests"]
        lowest = [
            f"{tests[part].min():.3f}" if tests[part].size else "–"
            for part in ("edges", "regions", "hippocampi", "lobes", "papers_lobes")
        ]
        sizes = [int(tests["tested"]), int(tests["significant"])]
        rows.append([name, f"p = {tests['all']:.3f}", *sizes, *lowest])
    return [
        "Of SGBNs that have one order and the same edges in both groups, so that only weights can "
        "differ. p are corrected over all edges, over in- and out-strengths of all regions, over "
        "all pairs of lobes.",
        "",
        *table([*header, *more], rows),
    ]


def _biases(results: Results) -> list[str]:
    rows = []
    for name, parts in results.items():
        weights = [present(one) for one in parts["networks"][BIASED]]
        biases = [one[-1] for one in weights]
        both = (biases[0] & biases[1]).sum()
        pairs = ([one[:-1].sum() for one in weights], [one.sum() for one in biases])
        cells = [*(" → ".join(map(str, pair)) for pair in pairs), both]
        rows.append([name, *cells, 0])
    header = ["data", "edges", "row: biases of regions", "in both groups", "column"]
    return [
        f"{BIASED}: regions are standardised over both groups, and the intercept is inside the L1 "
        "norm. The column is empty by definition: no region is a parent of the bias.",
        "",
        *table(header, rows),
    ]


def _alphas(results: Results) -> list[str]:
    edges, kept = [], []
    for name, parts in results.items():
        for method in PERMUTED:
            grid = [present(parts["networks"][f"{method} {alpha:g}"]) for alpha in ALPHAS]
            cells = (" → ".join(map(str, one.sum(axis=(1, 2)))) for one in grid)
            edges.append([name, method, *cells])
            means = steps(parts, method).mean(axis=1)
            kept.append([name, method, *(" / ".join(f"{x:.2f}" for x in step) for step in means)])
    names = [f"{alpha:g}" for alpha in ALPHAS]
    pairs = [f"{first}, {second}" for first, second in pairwise(names)]
    return [
        "Edges:",
        "",
        *table(["data", "method", *names], edges),
        "",
        "Edges at neighbouring alphas, mean of the groups: Jaccard index / share of the sparser "
        "network's edges that the denser one has / the same of pairs, whatever the direction. The "
        "claim above asks for 80 % of the edges at every step, in both groups.",
        "",
        *table(["data", "method", *pairs], kept),
    ]


def _moves(results: Results) -> list[str]:
    rows = []
    for name, parts in results.items():
        moves, groups = parts["moves"], parts["networks"]["groups"]
        same, top = agree(moves), most_moved(moves)
        others = [
            f"{moves['source'][k]} → {moves['target'][k]} ({groups[moves['group'][k]]})"
            for k in top[~same]
        ]
        cells = [f"{same.sum()} of {len(same)}", (moves["source"][top] == "bias").sum()]
        rows.append([name, *cells, "; ".join(others) or "none"])
    return [
        f"From {BIASED}; 100 edges and biases may move. Of these the 30 that either method moves "
        "most, in units of its largest change. The signs of one network are not independent, so "
        "that the p above is a rough one.",
        "",
        *table(["data", "same sign", "biases among the 30", "moved apart"], rows),
    ]
