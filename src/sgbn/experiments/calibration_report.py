"""Report of the calibration: errors, coverage and bounds beside their levels, recall and goals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbn.experiments import calibration_bound, calibration_intervals
from sgbn.experiments.calibration import Scores, read
from sgbn.experiments.calibration_bound import THETAS, THRESHOLDS
from sgbn.experiments.calibration_cells import (
    false_share,
    kind_of,
    mean_shown,
    number,
    part,
    share,
    shown,
    sizes_of,
    uniform_p,
)
from sgbn.experiments.calibration_cohorts import LOBES
from sgbn.experiments.calibration_goals import (
    JOINT,
    Described,
    bound_goals,
    difference_goals,
    goals_table,
    interval_goals,
    total_counts,
)
from sgbn.experiments.calibration_intervals import KINDS
from sgbn.experiments.calibration_peers import LEVEL, N_PERMUTATIONS
from sgbn.experiments.calibration_sums import SUMS
from sgbn.experiments.markdown import provenance, table
from sgbn.runs import Arrays, read_result

Array = NDArray[np.float64]

MOST_FITS = 1500

NOTES = """\
FWER: share of cohorts in which max-T finds an edge whose weights are equal in the population, given
the order and parents learned. Any edge: in which it finds any. Unequal: mean number of edges tested
whose weights are not equal. Where only the noise differs between the groups, an arrow that was
learned the wrong way round, or lacks a parent, has weights that truly differ: tests find it, FWER
and FDR do not count it. FDR: mean share of edges with equal weights among those with q <= 5 %.
Global: share of cohorts with p <= 5 %, whatever the weights. Edge p <= 5 %: mean share of the edges
with equal weights, of all, of those that the pooled rows choose, and of those that only a group
does. KS: p of the Kolmogorov-Smirnov test for uniform p, of the global test and of one edge with
equal weights a cohort. Order known: the learner is told the true order, each region a tier."""

SUM_NOTES = f"""\
Family-wise over all regions (in and out), over all pairs of {LOBES} lobes (strength and number),
and over all components. Any find: share of cohorts. False: share of cohorts with a find all of
whose edges have equal weights. All equal: cohorts in which every edge tested has equal weights, and
the share of these with a find; where they are few, "any find" mixes errors with differences that
are there. Numbers of edges depend on noise and may differ where weights do not."""

CHANGED_NOTES = """\
Every second changed edge is missing in the second group, the others have the opposite sign. False:
mean share of discoveries at an FDR of 5 % whose weights in the population, given the order and
parents found, are equal (of correlations: which are equal in the population). Beside the truth:
mean share of discovered pairs that are no changed edge; where the order is wrong, a change shows at
neighbouring edges as well. Right way: share of the changed edges found that have their true
direction. Recall: share of the changed edges found, as pairs. FWER: as above, unchanged edges
only. There are no partial correlations with fewer subjects than regions."""

INTERVAL_NOTES = """\
On the true graph: of one that is learned from the same rows they promise nothing. Covered: share of
the 95 % intervals with the true value in them, in brackets as if all were independent; beside it
the mean over cohorts. Where networks of the equivalence class disagree about an effect, the range
of its values is given, without sampling error: it must have the truth in it where the rows have the
population's moments. In drawn rows no level is promised: the truth is one of few possible values,
and if it is the smallest or the largest, the range misses it in about half of the samples."""

BOUND_NOTES = """\
Theta: pairs that half a sample joins with at most this probability (as measured on other samples of
the network) are of low probability; "mean" is the mean of all pairs. Low: such pairs that the share
"threshold" of halves or more joins, a cohort; false: those of them that are not joined in truth.
Bound: of low, from the pairs of low probability that a half joins. Stated: the same from all pairs
that a half joins, as `EdgeConfidence.bound` gives it, which knows no more. All, all false: pairs
selected, whatever their probability; the bound does not speak of these."""


def report(folder: Path) -> str:
    """Tables of a finished run, as Markdown."""
    studies = {p.parent.name: json.loads(p.read_text()) for p in folder.glob("*/study.json")}
    cost = studies.pop("cost")["settings"]
    parts = (calibration_intervals, calibration_bound)
    intervals, bound = (studies.pop(part.STUDY)["settings"] for part in parts)
    covered, selected = (part.read(folder) for part in parts)
    described = {name: studies[name]["settings"] for name in sorted(studies)}
    described = dict(sorted(described.items(), key=lambda item: item[1]["changed"]))
    scores = {name: read(folder / name) for name in described}
    some = next(iter(described.values()))
    lines = [
        "# Inference: error rates, recall, intervals and a bound",
        "",
        f"{some['regions']} regions, 1.5 edges a region, weights +-Uniform(0.5, 1), standard "
        f"normal noise; {N_PERMUTATIONS} permutations; the order from `SGBN(n_kicks=0)`; seed "
        f"{some['seed']}. In brackets 95 % intervals, after +- standard errors.",
        *_heading("No difference"),
        *_null_table(scores, described),
        *_heading("No difference: hubs, lobes, components"),
        *_sum_table(scores, described),
        *_heading("Changed edges"),
        *_changed_table(scores, described),
        *_heading("Intervals"),
        *_interval_table(covered, intervals),
        *_heading("Bound of stability selection"),
        *_bound_table(selected, bound),
        *_heading("Goals"),
        *goals_table(
            difference_goals(scores, described) + interval_goals(covered) + bound_goals(selected)
        ),
        *_heading("Cost"),
        *_cost(read_result(folder / "cost" / "tasks" / "cost.npz"), cost),
        "",
        provenance(studies[next(iter(described))]),
    ]
    return "\n".join(lines) + "\n"


def _heading(text: str) -> list[str]:
    return ["", f"## {text}", ""]


def _null_table(scores: dict[str, Scores], described: Described) -> list[str]:
    header = ["groups", "n", "cohorts", "edges tested", "unequal", "FWER at 5 %", "any edge"]
    header += ["FDR at 5 %", "global", "KS", "edge p <= 5 %", "of the pool", "of a group", "KS"]
    rows = [
        [kind_of(own), sizes_of(own), scores[name].cohorts, *_null_row(scores[name])]
        for name, own in described.items()
        if not own["changed"]
    ]
    return [*table(header, rows), "", *NOTES.splitlines()]


def _null_row(found: Scores) -> list[str]:
    global_p, edge_p = (found.of(field, JOINT) for field in ("global_p", "edge_p"))
    return [
        f"{found.of('tested', JOINT).mean():.0f}",
        f"{found.of('unequal', JOINT).mean():.1f}",
        shown(share(found.of("family", JOINT))),
        shown(share(found.of("any_family", JOINT))),
        mean_shown(false_share(found, JOINT)),
        shown(share(global_p <= LEVEL)),
        f"{uniform_p(global_p, 1 / (N_PERMUTATIONS + 1)):.3f}",
        *(mean_shown(found.of(field, JOINT)) for field in ("low_p", "low_p_pool", "low_p_group")),
        f"{uniform_p(edge_p, 0.0):.3f}",
    ]


def _sum_table(scores: dict[str, Scores], described: Described) -> list[str]:
    header = ["groups", "n", "cohorts", "test", "any find", "false", "all equal", "find in these"]
    rows = []
    for name, own in described.items():
        if own["changed"]:
            continue
        found = scores[name]
        place = [kind_of(own), sizes_of(own), found.cohorts]
        equal = found.of("unequal", JOINT) == 0
        for field, test in SUMS.items():
            finds, false = (found.of(which, JOINT) for which in (field, f"false_{field}"))
            shares = [shown(share(finds)), shown(share(false))]
            rows.append([*place, test, *shares, equal.sum(), shown(share(finds[equal]))])
    return [*table(header, rows), "", *SUM_NOTES.splitlines()]


def _changed_table(scores: dict[str, Scores], described: Described) -> list[str]:
    header = ["n", "noise", "cohorts", "changed", "method", "tested", "found", "false"]
    header += ["beside the truth", "right way", "recall", "FWER at 5 %"]
    rows = []
    for name, own in described.items():
        if not own["changed"]:
            continue
        found = scores[name]
        place = [sizes_of(own), kind_of(own), found.cohorts, own["changed"]]
        rows += [[*place, *_changed_row(found, method, own)] for method in found.methods]
    return [*table(header, rows), "", *CHANGED_NOTES.splitlines()]


def _changed_row(scores: Scores, method: str, own: dict[str, Any]) -> list[str]:
    hits, forward = scores.of("hits", method), scores.of("forward", method)
    family = scores.of("family", method)
    right = forward.sum() / max(hits.sum(), 1)
    return [
        method,
        number(scores.of("tested", method).mean(), ".0f"),
        number(scores.of("found", method).mean(), ".1f"),
        mean_shown(false_share(scores, method)),
        mean_shown(false_share(scores, method, "beside")),
        number(right, ".2f"),
        mean_shown(hits / own["changed"]),
        "-" if np.isnan(family).all() else shown(share(family)),
    ]


def _interval_table(counts: Arrays, own: dict[str, Any]) -> list[str]:
    header = ["", "intervals", "covered", "over cohorts", "ranges", "with the truth, exact moments"]
    header.append("with the truth, drawn rows")
    rows = []
    for k, kind in enumerate(KINDS):
        total = total_counts(counts, k)
        with np.errstate(invalid="ignore"):  # a cohort may have no effect that is identified
            each = counts["covered"][:, k] / counts["intervals"][:, k]
        rows.append(
            [
                kind,
                total.intervals,
                shown(part(total.covered, total.intervals)),
                mean_shown(each),
                total.ranges,
                shown(part(total.contained_exactly, total.ranges)),
                shown(part(total.contained, total.ranges)),
            ]
        )
    first = (
        f"{len(counts['intervals'])} cohorts, n = {sizes_of(own)}, "
        f"{own['regions']} regions, {own['changed']} edges changed; all weights, and the effects "
        f"of {own['effects']} random pairs of regions that a path joins."
    )
    return [first, "", *table(header, rows), "", *INTERVAL_NOTES.splitlines()]


def _bound_table(selected: Arrays, own: dict[str, Any]) -> list[str]:
    header = ["theta", "threshold", "low", "false", "bound", "stated", "all", "all false"]
    rows = []
    for a, theta in enumerate(THETAS):
        for b, threshold in enumerate(THRESHOLDS):
            one = {field: values[:, a, b] for field, values in selected.items()}
            means = {field: f"{values.mean():.3f}" for field, values in one.items()}
            shown = [means[field] for field in ("low_false", "bound", "stated", "all", "all_false")]
            rows.append([theta, threshold, mean_shown(one["low"]), *shown])
    first = (
        f"{len(selected['low'])} networks, a cohort each, n = {own['sizes'][0]}, {own['regions']} "
        f"regions; {own['n_pairs']} pairs of halves; probabilities from {own['draws']} other "
        "samples. Means over cohorts."
    )
    return [first, "", *table(header, rows), "", *BOUND_NOTES.splitlines()]


def _cost(seconds: dict[str, Any], sizes: dict[str, Any]) -> list[str]:
    fits = float(seconds["tests"] / seconds["fit"])
    return [
        f"{sizes['permutations']} permutations of two groups, {sizes['regions']} regions, "
        f"{sizes['subjects']} subjects in all: {float(seconds['tests']):.1f} s, {fits:.0f} times "
        f"the {float(seconds['fit']):.2f} s of one `SGBN()` fit of the pooled rows (CPU, one "
        f"process; goal: at most {MOST_FITS} times).",
    ]
