"""Report of the calibration: error rates beside their levels, recall beside its goals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kstest

from sgbn.experiments.calibration import TESTS, Scores, read
from sgbn.experiments.calibration_peers import LEVEL, N_PERMUTATIONS
from sgbn.experiments.exp2 import mean_and_error
from sgbn.experiments.markdown import provenance, table
from sgbn.inference.power import wilson
from sgbn.runs import read_result

Array = NDArray[np.float64]
Described = dict[str, dict[str, Any]]  # settings by the name of their study

JOINT = next(iter(TESTS))
MOST_FALSE = 0.07
LEAST_RECALL = {60: 0.6, 100: 0.85, 200: 0.95}
MOST_FITS = 1500

NOTES = """\
FWER: share of cohorts in which max-T finds an edge whose weights are equal. FDR: mean share of
such edges among those with q <= 5 %. Where the noise differs between the groups, a wrong direction
makes weights differ in earnest: these edges do not count, and the global test may see them. Global:
share of cohorts with p <= 5 %. KS: p of the Kolmogorov-Smirnov test for uniform p, of the global
test and of one edge a cohort."""

CHANGED_NOTES = """\
Every second changed edge is missing in the second group, the others have the opposite sign. False:
mean share of discoveries at an FDR of 5 % whose weights in the population, given the order and
parents found, are equal (of correlations: which are equal in the population). Beside the truth:
mean share of discovered pairs that are no changed edge; where the order is wrong, a change shows at
neighbouring edges as well. Right way: share of the changed edges found that have their true
direction. Recall: share of the changed edges found, as pairs. FWER: as above, unchanged edges
only. There are no partial correlations with fewer subjects than regions."""


def report(folder: Path) -> str:
    """Tables of a finished run, as Markdown."""
    studies = {p.parent.name: json.loads(p.read_text()) for p in folder.glob("*/study.json")}
    cost = studies.pop("cost")["settings"]
    described = {name: studies[name]["settings"] for name in sorted(studies)}
    described = dict(sorted(described.items(), key=lambda item: item[1]["changed"]))
    scores = {name: read(folder / name) for name in described}
    some = next(iter(described.values()))
    lines = [
        "# Tests of group differences: error rates and recall",
        "",
        f"{some['regions']} regions, 1.5 edges a region, weights +-Uniform(0.5, 1), standard "
        f"normal noise; {N_PERMUTATIONS} permutations; the order from `SGBN(n_kicks=0)`; seed "
        f"{some['seed']}. In brackets 95 % intervals, after +- standard errors.",
        *_heading("No difference"),
        *_null_table(scores, described),
        *_heading("Changed edges"),
        *_changed_table(scores, described),
        *_heading("Goals"),
        *_goals(scores, described),
        *_heading("Cost"),
        *_cost(read_result(folder / "cost" / "tasks" / "cost.npz"), cost),
        "",
        provenance(studies[next(iter(described))]),
    ]
    return "\n".join(lines) + "\n"


def _heading(text: str) -> list[str]:
    return ["", f"## {text}", ""]


def _null_table(scores: dict[str, Scores], described: Described) -> list[str]:
    header = ["groups", "n", "cohorts", "edges tested", "FWER at 5 %", "FDR at 5 %"]
    header += ["global", "KS", "edge p <= 5 %", "KS"]
    rows = []
    for name, own in described.items():
        if own["changed"]:
            continue
        found = scores[name]
        global_p, edge_p = (found.of(field, JOINT) for field in ("global_p", "edge_p"))
        rows.append(
            [
                _kind(own),
                "/".join(map(str, own["sizes"])),
                found.cohorts,
                f"{found.of('tested', JOINT).mean():.0f}",
                _share(found.of("family", JOINT)),
                _mean(_false_share(found, JOINT)),
                _share(global_p <= LEVEL),
                _uniform(global_p, 1 / (N_PERMUTATIONS + 1)),
                _mean(found.of("low_p", JOINT)),
                _uniform(edge_p, 0.0),
            ]
        )
    return [*table(header, rows), "", *NOTES.splitlines()]


def _kind(own: dict[str, Any]) -> str:
    if own["nuisance"]:
        return "three sites and covariates, confounded"
    return "noise doubled in half the regions" if own["noise"] != 1.0 else "equal noise"


def _changed_table(scores: dict[str, Scores], described: Described) -> list[str]:
    header = ["n", "noise", "cohorts", "changed", "method", "tested", "found", "false"]
    header += ["beside the truth", "right way", "recall", "FWER at 5 %"]
    rows = []
    for name, own in described.items():
        if not own["changed"]:
            continue
        found = scores[name]
        place = ["/".join(map(str, own["sizes"])), _kind(own), found.cohorts, own["changed"]]
        rows += [[*place, *_changed_row(found, method, own)] for method in found.methods]
    return [*table(header, rows), "", *CHANGED_NOTES.splitlines()]


def _changed_row(scores: Scores, method: str, own: dict[str, Any]) -> list[str]:
    hits, forward = scores.of("hits", method), scores.of("forward", method)
    family = scores.of("family", method)
    right = forward.sum() / max(hits.sum(), 1)
    return [
        method,
        _number(scores.of("tested", method).mean(), ".0f"),
        _number(scores.of("found", method).mean(), ".1f"),
        _mean(_false_share(scores, method)),
        _mean(_false_share(scores, method, "beside")),
        _number(right, ".2f"),
        _mean(hits / own["changed"]),
        "-" if np.isnan(family).all() else _share(family),
    ]


def _goals(scores: dict[str, Scores], described: Described) -> list[str]:
    rows = []
    for name, own in described.items():
        found, n = scores[name], "/".join(map(str, own["sizes"]))
        what = f"{'changed' if own['changed'] else 'null'}, {_kind(own)}, n = {n}"
        false = mean_and_error(_false_share(found, JOINT))[0]
        family = found.of("family", JOINT)
        low, _ = wilson(family.mean(), len(family))
        rows.append(
            [what, "FWER at most 5 %, by its interval", f"{family.mean():.3f}", low <= LEVEL]
        )
        if own["changed"]:
            rows.append([what, f"false share at most {MOST_FALSE}", f"{false:.3f}"])
            rows[-1].append(false <= MOST_FALSE)
        wanted = LEAST_RECALL.get(own["sizes"][0])
        if own["changed"] and own["noise"] == 1.0 and wanted:
            recall = float(found.of("hits", JOINT).mean()) / own["changed"]
            rows.append([what, f"recall at least {wanted}", f"{recall:.3f}", recall >= wanted])
    shown = [[*row[:3], "yes" if row[3] else "no"] for row in rows]
    return table(["setting", "goal", "measured", "met"], shown)


def _cost(seconds: dict[str, Any], sizes: dict[str, Any]) -> list[str]:
    fits = float(seconds["tests"] / seconds["fit"])
    return [
        f"{sizes['permutations']} permutations of two groups, {sizes['regions']} regions, "
        f"{sizes['subjects']} subjects in all: {float(seconds['tests']):.1f} s, {fits:.0f} times "
        f"the {float(seconds['fit']):.2f} s of one `SGBN()` fit of the pooled rows (CPU, one "
        f"process; goal: at most {MOST_FITS} times).",
    ]


def _share(hits: NDArray[Any]) -> str:
    """Share of cohorts with its binomial interval."""
    low, high = wilson(float(hits.mean()), len(hits))
    return f"{hits.mean():.3f} [{low:.3f}, {high:.3f}]"


def _mean(values: Array) -> str:
    mean, error = mean_and_error(values)
    return "-" if np.isnan(mean) else f"{mean:.3f} +- {error:.3f}"


def _number(value: float, form: str) -> str:
    return "-" if np.isnan(value) else format(value, form)


def _false_share(scores: Scores, method: str, field: str = "false") -> Array:
    return scores.of(field, method) / np.maximum(scores.of("found", method), 1)


def _uniform(p: Array, step: float) -> str:
    """Give p of the Kolmogorov-Smirnov test; p-values on a grid are spread over its steps."""
    spread = p - step * np.random.default_rng(0).random(len(p))
    return f"{kstest(spread[~np.isnan(p)], 'uniform').pvalue:.2f}"
