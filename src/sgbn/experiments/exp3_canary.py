"""The canary of Exp-III: labels shuffled over the subjects tell a pipeline nothing.

Whatever a pipeline then gets right on average, beyond a half, has leaked from the test part into
training. A control that chooses its regions by all rows shows that such a leak is seen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.cohort import Cohort
from sgbn.comparison.intervals import LEVEL, Estimate, estimate
from sgbn.comparison.peers import COVARIATES_ALONE, covariates_alone, peers
from sgbn.datasets import simulate_cohort
from sgbn.experiments.exp3 import (
    Outcome,
    Sample,
    Settings,
    a_group,
    as_columns,
    draw,
    evaluate,
    pipelines,
    prepare,
)
from sgbn.experiments.exp3_methods import at_base
from sgbn.experiments.markdown import provenance, table
from sgbn.preprocessing import RegionImputer, RegionSelector
from sgbn.runs import Arrays, Study, read_result

SHUFFLES = 50
FEWEST_SHUFFLES = 20  # below, an interval is so wide that nearly every leak is within it
CONTROL = "control: regions chosen by all rows, shrinkage LDA"
LEAKING = "shrinkage LDA"  # the classifier of the control
REGIONS = 90  # of the simulated cohort that stands in for a table


def canary_sample(settings: Settings, data: Mapping[str, Sample]) -> Sample:
    """Table of the most regions, for there is most to choose from; else a simulated cohort."""
    tables = [one for one in data.values() if one.cohort is not None]
    if tables:
        return max(tables, key=lambda one: (len(one.cohort.regions), one.sizes))  # type: ignore[union-attr]
    cohort = simulate_cohort(a_group(settings.sizes), settings.seed, regions=REGIONS)
    return Sample(settings.sizes, cohort)


def all_pipelines(seed: int) -> dict[str, Any]:
    """Everything that Exp-III compares, the paper's methods at their base settings."""
    return pipelines(seed) | {method.label: method.make() for method in at_base()}


def shuffle_outcomes(
    sample: Sample, shuffle: int, settings: Settings, classifiers: Mapping[str, Any]
) -> dict[str, Outcome]:
    """Outcomes of the pipelines, and of the control, on one shuffle of the labels.

    There is no control where all regions are kept: it would have none to choose.
    """
    rng = np.random.default_rng([settings.seed, shuffle, 1])  # 1: not the stream of the splits
    cohort, train, test = draw(sample, shuffle, settings.seed)
    y = np.asarray(cohort.group).copy()
    for part in (train, test):  # within each, so that both keep their shares of the groups
        y[part] = rng.permutation(y[part])
    problem = prepare(cohort, y, train, test, settings.regions)
    outcomes = {name: evaluate(one, problem) for name, one in classifiers.items()}
    if problem.covariates[0].shape[1]:
        outcomes[COVARIATES_ALONE] = evaluate(covariates_alone(), problem, on_covariates=True)
    if settings.regions < len(cohort.regions):
        peeked = _peek(cohort, y, np.concatenate([train, test]), settings.regions)
        leaky = prepare(peeked, y, train, test, settings.regions)
        outcomes[CONTROL] = evaluate(peers(shuffle)[LEAKING], leaky)
    return outcomes


def _peek(cohort: Cohort, y: NDArray[Any], rows: NDArray[Any], regions: int) -> Cohort:
    """Keep the regions that tell most about y in these rows, its gaps filled in by all of them."""
    filled = RegionImputer().fit_transform(cohort.values[rows])
    leak = RegionSelector(regions).fit(filled, y[rows])
    return cohort.subset(regions=np.array(cohort.regions)[leak.support_].tolist())


def run(study: Study, settings: Settings, sample: Sample) -> dict[str, Arrays]:
    """Run what the study does not hold yet: a task is one shuffle; `splits` are the shuffles."""
    tasks = {f"shuffle.{shuffle:04d}": {"shuffle": shuffle} for shuffle in range(settings.splits)}
    described = asdict(settings) | {"experiment": "exp3 canary", "sample": sample.digest}
    shared = {"sample": sample, "settings": settings}
    return study.run(_task, tasks, described, shared=shared)


def _task(sample: Sample, shuffle: int, settings: Settings) -> dict[str, Any]:
    return as_columns(shuffle_outcomes(sample, shuffle, settings, all_pipelines(shuffle)))


class Verdict(NamedTuple):
    """Mean balanced accuracy of a pipeline over the shuffles, and its joint interval."""

    estimate: Estimate
    low: float
    high: float

    @property
    def quiet(self) -> bool:
        """Whether a half is within the interval."""
        return self.low <= 0.5 <= self.high

    @property
    def said(self) -> str:
        """The same in words, where there are shuffles enough to tell."""
        if np.isnan(self.estimate.mean):
            return "not measured"
        if self.estimate.df + 1 < FEWEST_SHUFFLES:
            return "too few shuffles"
        return "yes" if self.quiet else "**no**"


def verdicts(outcomes: Mapping[str, Any]) -> dict[str, Verdict]:
    """Verdict on each pipeline; the intervals hold for all together (Bonferroni).

    Given the regions, shuffles are independent: no correction for overlap is due.

    Parameters
    ----------
    outcomes : mapping of pipeline to array of balanced accuracies, one a shuffle
    """
    level = 1 - (1 - LEVEL) / max(len(outcomes), 1)
    found = {name: estimate(np.asarray(values), 0.0) for name, values in outcomes.items()}
    return {name: Verdict(one, *one.interval(level)) for name, one in found.items()}


def read(folder: Path) -> dict[str, Any]:
    """Balanced accuracies of each pipeline in a finished run."""
    stored = [read_result(path) for path in sorted((folder / "tasks").glob("*.npz"))]
    values = np.array([task["balanced"] for task in stored]).T
    return dict(zip(stored[0]["methods"].tolist(), values, strict=True))


def report(folder: Path) -> str:
    """Table of a finished run, as Markdown."""
    study = json.loads((folder / "study.json").read_text())
    outcomes = read(folder)
    control = verdicts({name: outcomes.pop(name) for name in [CONTROL] if name in outcomes})
    found = verdicts(outcomes)
    shuffles, regions = (study["settings"][name] for name in ("splits", "regions"))
    lines = [
        f"# Exp-III: the canary, {shuffles} shuffles of the labels",
        "",
        _on_pipelines(found, shuffles),
        _on_control(control.get(CONTROL), regions),
        "",
        *table(
            ["pipeline", "mean balanced accuracy", "joint interval", "0.5 within"],
            [_row(name, verdict) for name, verdict in (found | control).items()],
        ),
        "",
        f"Intervals hold for all pipelines together ({LEVEL:.0%}, Bonferroni). Labels are shuffled "
        "within the training and within the test part; where there are more regions than "
        f"{regions}, they are chosen inside the training part by the shuffled labels.",
        "",
        provenance(study),
    ]
    return "\n".join(lines) + "\n"


def _on_pipelines(found: Mapping[str, Verdict], shuffles: int) -> str:
    """Sentence on all pipelines together."""
    if shuffles < FEWEST_SHUFFLES:
        return (
            f"{shuffles} shuffles are too few for verdicts: give {FEWEST_SHUFFLES} or more "
            "(--splits)."
        )
    named: dict[str, list[str]] = {}
    for name, verdict in found.items():
        named.setdefault(verdict.said, []).append(name)
    quiet = len(named.pop("yes", []))
    words = {"**no**": "not so"}
    others = [f"; {words.get(said, said)}: {', '.join(names)}" for said, names in named.items()]
    return (
        f"{shuffles} shuffles, {quiet} of {len(found)} pipelines: a half is within the joint "
        f"interval{''.join(others)}."
    )


def _on_control(control: Verdict | None, regions: int) -> str:
    """Sentence on the control, which is to be caught."""
    if control is None:
        return (
            "There is no control that chooses its regions by all rows: there are no more than the "
            f"{regions} to keep, so that it would choose nothing. Give a smaller --k to have one."
        )
    caught = {"yes": "is not caught", "**no**": "is caught"}
    said = caught.get(control.said, f"has no verdict: {control.said}")
    return f"The control, which chooses its regions by all rows, {said}."


def _row(name: str, verdict: Verdict) -> list[str]:
    mean, low, high = (
        "" if np.isnan(x) else f"{x:.3f}"
        for x in (verdict.estimate.mean, verdict.low, verdict.high)
    )
    return [name, mean, f"{low} to {high}" if low else "", verdict.said]
