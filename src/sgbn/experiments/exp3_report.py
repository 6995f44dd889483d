"""Exp-III's tables: ours and the peers, and the paper's claims."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np

from sgbn.experiments import exp3_canary
from sgbn.experiments.exp3 import TABLE, Data, Results, read
from sgbn.experiments.exp3_claims import (
    POINTS,
    by_table,
    cell,
    claims_table,
    gains_table,
    most_growth,
    occasions_table,
)
from sgbn.experiments.exp3_methods import ALPHAS, LIKELIHOOD, RECOMMENDED, Method, at_base, defaults
from sgbn.experiments.exp3_peers import COVARIATES_ALONE, peers
from sgbn.experiments.markdown import provenance, table

DESCRIPTIONS = {
    "cobre": "COBRE, schizophrenia and controls",
    "abide": "ABIDE I, autism and controls, its largest site (NYU)",
    "ixi": "IXI, the oldest and the youngest third",
    "cobre-small": "COBRE in the sizes of the paper's PET data",
    "ixi-small": "IXI in the sizes of the paper's PET data",
    "edges": "simulated groups that differ in edges",
    "means": "simulated groups that differ in means",
    "mixed": "simulated groups that differ in both",
    TABLE: "the table given",
}
COVARIATES = (
    " Covariates are age, sex, intracranial volume and, in IXI, the quality of the scans; but not "
    "age in IXI, which makes the groups, nor IQ in ABIDE, which follows them."
)
NEGLIGIBLE = 1e-6  # of fitting error: round-off


def report(folder: Path) -> str:
    """Tables of a finished run, as Markdown."""
    study = json.loads((folder / "study.json").read_text())
    results = read(folder)
    lines = [
        f"# Exp-III, {study['settings']['splits']} splits or cohorts, "
        f"seed {study['settings']['seed']}",
        "",
        *_data(results, study["settings"]["regions"]),
        *_heading("What holds of the paper's claims"),
        *_claims(results),
        *_heading("Ours and the peers: balanced accuracy"),
        *_accuracies(results),
        *_heading("Ours and the peers: log-loss"),
        *_losses(results),
        *_heading("The paper's networks at their best sparsity"),
        *_best(results),
        *_heading("Labels shuffled"),
        *_canary(folder),
        *_heading("Failures"),
        *_failures(results),
        "",
        provenance(study),
    ]
    return "\n".join(lines) + "\n"


def _heading(text: str) -> list[str]:
    return ["", f"## {text}", ""]


def _data(results: Results, n_regions: int) -> list[str]:
    rows = [
        [name, DESCRIPTIONS[name], *data.sizes, data.of(RECOMMENDED).size]
        for name, data in results.data.items()
    ]
    return [
        *table(["data", "what", "training", "test", "splits or cohorts"], rows),
        "",
        "Splits keep the groups' shares. Everything is learned in the training part: imputation; "
        "the effects of covariates and, where there are several, of sites; the choice of "
        f"{n_regions} regions by F (the simulated cohorts have 40 in all); standardising. Peers "
        "are tuned by folds of the training part."
        + (COVARIATES if results.real and TABLE not in results.data else ""),
        "",
        "Intervals are 95 %: of overlapping splits by the corrected resampled t (variance times "
        "1/J + test/training), of the simulated cohorts, which are independent, by the plain "
        "paired t.",
    ]


def _claims(results: Results) -> list[str]:
    growth = most_growth(results)
    kept = "within" if growth <= 0.01 + NEGLIGIBLE else "above"
    return [
        "Differences in points of balanced accuracy. Holds: the whole interval agrees; "
        "contradicted: the whole interval disagrees; likely, unlikely: the mean agrees or does "
        "not, the interval does not decide. Moves may add 1 % of fitting error, as in the paper.",
        "",
        *claims_table(results),
        *(["", "Table by table:", "", *by_table(results)] if results.real else []),
        "",
        f"Claim vi, the fitting error: the most that any of these moves added is {growth:.4%}, "
        f"{kept} the 1 % allowed.",
        "",
        'Claim i, "10 % to 20 % on most occasions": sparsities at which the mean gain over '
        "OR-SGBN is 10 points or more.",
        "",
        *occasions_table(results),
        "",
        "Mean gain over OR-SGBN, SGBN classifier, "
        + ("mean of the real tables:" if results.real else "mean of all data:"),
        "",
        *gains_table(results),
    ]


def _accuracies(results: Results) -> list[str]:
    """Pipelines from the best to the worst."""
    rows = [
        [_own(name), f"{mean:.3f}", _ahead(results, name), *_means(results, name, "balanced")]
        for name, mean in _ranked(results, "balanced", largest_first=True)
    ]
    return table(["pipeline", _over(results), f"{RECOMMENDED} ahead by", *results.data], rows)


def _losses(results: Results) -> list[str]:
    rows = [
        [_own(name), f"{mean:.3f}", *_means(results, name, "log_loss")]
        for name, mean in _ranked(results, "log_loss", largest_first=False)
    ]
    return table(["pipeline", _over(results), *results.data], rows)


def _over(results: Results) -> str:
    return "mean of the real tables" if results.real else "mean"


def _own(name: str) -> str:
    return f"**{name}**" if name in defaults() else name


def _ranked(results: Results, field: str, largest_first: bool) -> list[tuple[str, float]]:
    """Pipelines that have the field in all real tables (else in all data), with its mean."""
    shown = [results.data[name] for name in results.real or results.data]
    means = {
        name: float(np.mean([_mean(data, name, field) for data in shown]))
        for name in (*defaults(), *peers(0), COVARIATES_ALONE)
    }
    found = [(name, mean) for name, mean in means.items() if not np.isnan(mean)]
    return sorted(found, key=lambda item: item[1], reverse=largest_first)


def _mean(data: Data, name: str, field: str = "balanced") -> float:
    """Mean over the splits; NaN where the pipeline has no such number."""
    if name not in data.methods or not np.isfinite(data.of(name, field)).any():
        return np.nan
    return float(np.nanmean(data.of(name, field)))


def _means(results: Results, name: str, field: str) -> list[str]:
    means = [_mean(data, name, field) for data in results.data.values()]
    return ["" if np.isnan(mean) else f"{mean:.3f}" for mean in means]


def _ahead(results: Results, name: str) -> str:
    """Difference on the same test rows, in points, over the real tables."""
    if name == RECOMMENDED or not results.real:
        return ""
    gaps = {
        n: POINTS * (results.data[n].of(RECOMMENDED) - results.data[n].of(name))
        for n in results.real
    }
    return cell(results.over_real(gaps))


def _best(results: Results) -> list[str]:
    rows = []
    for network, bias, rule in dict.fromkeys(method[:3] for method in at_base()):
        cells = []
        for data in results.data.values():
            labels = [Method(network, bias, rule, alpha).label for alpha in ALPHAS]
            means = [_mean(data, label) for label in labels]
            best = int(np.nanargmax(means))
            cells.append(f"{means[best]:.3f} ({ALPHAS[best]:g})")
        rows.append([network, bias, "SGBN" if rule == LIKELIHOOD else rule, *cells])
    return [
        "Balanced accuracy, alpha in brackets; chosen by the test rows, and so a little too high.",
        "",
        *table(["network", "bias", "classifier", *results.data], rows),
    ]


def _canary(folder: Path) -> list[str]:
    inner = folder / "canary"
    if not (inner / "study.json").exists():
        return ["`sgbn reproduce exp3 --canary` with the same folder shows it here."]
    return exp3_canary.report(inner).splitlines()[2:]


def _failures(results: Results) -> list[str]:
    rows = []
    for name, data in results.data.items():
        for method in data.methods:
            messages = Counter(data.of(method, "failure").tolist())
            rows += [[name, method, count, text] for text, count in messages.items() if text]
    return table(["data", "method", "fits", "message"], rows) if rows else ["None, in any fit."]
