"""Exp-III's tables: ours and the peers, and the paper's claims."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sgbn.comparison.peers import COVARIATES_ALONE, peers
from sgbn.experiments import exp3_canary
from sgbn.experiments.exp3 import TABLE, Data, Results, read
from sgbn.experiments.exp3_claims import (
    FEWEST_SPLITS,
    POINTS,
    by_table,
    cell,
    claims_table,
    gains_table,
    most_growth,
    occasions_table,
)
from sgbn.experiments.exp3_methods import (
    ALPHAS,
    LIKELIHOOD,
    RECOMMENDED,
    SLACK,
    Method,
    at_base,
    defaults,
)
from sgbn.experiments.markdown import provenance, table

DESCRIPTIONS = {
    "cobre": "COBRE, schizophrenia and controls",
    "abide": "ABIDE I, autism and controls, its largest site (NYU)",
    "ixi": "IXI, the oldest and the youngest third (OLD, YOUNG)",
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
OTHER_ANALYSIS = (
    "The benchmark of `SGBNClassifierCV` (benchmarks/classifiers.py) reads the same tables, but "
    "takes the middle and the oldest third of IXI (MID and OLD) without the quality of the scans, "
    "ABIDE without intracranial volume, and all other subjects for testing. Figures there and here "
    "can therefore not be compared."
)
NEGLIGIBLE = 1e-6  # of fitting error: round-off


def report(folder: Path) -> str:
    """Tables of a finished run, as Markdown."""
    study = json.loads((folder / "study.json").read_text())
    results = read(folder)
    settings = study["settings"]
    lines = [
        f"# Exp-III, {settings['splits']} {_repeats(results)}, seed {settings['seed']}",
        "",
        *_too_few(settings["splits"]),
        *_data(results, settings["regions"]),
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


def _repeats(results: Results) -> str:
    """Name what there are several of."""
    split = len(results.simulated) < len(results.data)
    return " or ".join(["splits"] * split + ["cohorts"] * bool(results.simulated))


def _too_few(n_splits: int) -> list[str]:
    if n_splits >= FEWEST_SPLITS:
        return []
    return [f"{n_splits} are too few for verdicts: give {FEWEST_SPLITS} or more (--splits).", ""]


def _data(results: Results, n_regions: int) -> list[str]:
    rows = [
        [name, _what(name, data), *data.sizes, data.of(RECOMMENDED).size]
        for name, data in results.data.items()
    ]
    built_in = bool(results.real) and TABLE not in results.data
    return [
        *table(["data", "what", "training", "test", _repeats(results)], rows),
        "",
        "Splits keep the groups' shares. Everything is learned in the training part: imputation; "
        "the effects of covariates and, where there are several, of sites; where there are more "
        f"than {n_regions} regions, the choice of {n_regions} by F; standardising. Peers are tuned "
        "by folds of the training part." + (COVARIATES if built_in else ""),
        *(["", OTHER_ANALYSIS] if built_in else []),
        "",
        f"Intervals are 95 %: {_intervals(results)}.",
    ]


def _what(name: str, data: Data) -> str:
    """Describe a sample, and how many of its regions were kept."""
    if not data.regions:
        return DESCRIPTIONS[name]
    there, kept = data.regions
    return f"{DESCRIPTIONS[name]}; {there if kept == there else f'{kept} of {there}'} regions"


def _intervals(results: Results) -> str:
    """How they are made, of the data that there are."""
    ways = []
    if len(results.simulated) < len(results.data):
        ways.append(
            "of overlapping splits by the corrected resampled t (variance times 1/J + "
            "test/training)"
        )
    if results.simulated:
        ways.append("of the simulated cohorts, which are independent, by the plain paired t")
    return ", ".join(ways)


def _claims(results: Results) -> list[str]:
    allowed = f"{POINTS * SLACK:g} %"
    several = len(results.data) - len(results.simulated) > 1
    return [
        "Differences in points of balanced accuracy. Holds: the whole interval agrees; "
        "contradicted: the whole interval disagrees; likely, unlikely: the mean agrees or does "
        f"not, the interval does not decide. Moves may add {allowed} of fitting error, as in the "
        "paper.",
        "",
        *claims_table(results),
        *(["", "Table by table:", "", *by_table(results)] if several else []),
        "",
        f"Claim vi, the fitting error: {_most_added(most_growth(results), allowed)}.",
        "",
        'Claim i, "10 % to 20 % on most occasions": sparsities at which the mean gain over '
        "OR-SGBN is 10 points or more.",
        "",
        *occasions_table(results),
        "",
        f"Gain over OR-SGBN, SGBN classifier, {_over(results)}:",
        "",
        *gains_table(results),
    ]


def _most_added(growth: float, allowed: str) -> str:
    if np.isnan(growth):
        return "not measured, for every move failed"
    kept = "within" if growth <= SLACK + NEGLIGIBLE else "above"
    return f"the most that any of these moves added is {growth:.4%}, {kept} the {allowed} allowed"


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
    """Name the mean of a row: of one sample it is that of its splits alone."""
    if len(results.real or results.data) == 1:
        return "mean"
    return "mean of the real tables" if results.real else "mean of all data"


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
    return data.mean(name, field) if name in data.methods else np.nan


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
        labels = {alpha: Method(network, bias, rule, alpha).label for alpha in ALPHAS}
        cells = [_highest(data, labels) for data in results.data.values()]
        rows.append([network, bias, "SGBN" if rule == LIKELIHOOD else rule, *cells])
    return [
        "Balanced accuracy, alpha in brackets; chosen by the test rows, and so a little too high.",
        "",
        *table(["network", "bias", "classifier", *results.data], rows),
    ]


def _highest(data: Data, labels: Mapping[float, str]) -> str:
    """Highest mean, and the alpha that has it; nothing where all fits failed."""
    means = {alpha: data.mean(label) for alpha, label in labels.items()}
    found = {alpha: mean for alpha, mean in means.items() if not np.isnan(mean)}
    if not found:
        return ""
    best = max(found, key=found.__getitem__)
    return f"{found[best]:.3f} ({best:g})"


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
