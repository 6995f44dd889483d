"""The canary of Exp-III: the same pipelines with labels that are shuffled over the subjects.

Shuffled labels contain no information. If the mean balanced accuracy of a pipeline then differs
from one half, information has leaked from the test part into training. A control that chooses its
regions by all rows shows that the canary detects such a leak.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.cohort.cohort import Cohort
from sgbn.core.types import Array
from sgbn.experiments.exp3_methods import Sample, Settings, at_base, draw, pipelines, tasks
from sgbn.experiments.experiment import Experiment, as_columns, gather
from sgbn.experiments.protocol import Outcome, evaluate, evaluate_all, prepare
from sgbn.inference.intervals import LEVEL, estimate
from sgbn.learn.peers import peers
from sgbn.prepare.missing import RegionImputer
from sgbn.prepare.selection import RegionSelector
from sgbn.runs.files import Arrays

SHUFFLES = 50  # default number of shuffles
SHUFFLED = "shuffle"  # name of the only sample
MIN_SHUFFLES = 20  # with fewer, intervals are so wide that they would hide nearly every leak
CONTROL = "control: regions chosen by all rows, shrinkage LDA"
LEAKING = "shrinkage LDA"  # the classifier of the control
# The findings on the control in other words: its leak must be caught.
ON_CONTROL = {"yes": "**yes: not caught**", "**no**": "no: caught"}
REGIONS = 90  # number of regions of the simulated cohort, which is used if there is no table


def choose_sample(settings: Settings, data: Mapping[str, Sample]) -> Sample:
    """Return the table with the most regions, or a simulated cohort if there is no table.

    The more regions there are, the more the control has to choose from.
    """
    # Sizes break ties between COBRE or IXI and their smaller splits, which have the same regions.
    tables = [(len(s.cohort.regions), s.sizes, s) for s in data.values() if s.cohort is not None]
    if tables:
        return max(tables, key=lambda table: table[:2])[2]
    cohort = Sample(settings.sizes).simulate(settings.seed, regions=REGIONS)
    return Sample(settings.sizes, cohort)


def all_pipelines(seed: int) -> dict[str, Any]:
    """Return everything that Exp-III compares, with the paper's methods at their base settings."""
    return pipelines(seed) | {method.label: method.make() for method in at_base()}


def shuffle_outcomes(
    sample: Sample, shuffle: int, settings: Settings, classifiers: Mapping[str, Any]
) -> dict[str, Outcome]:
    """Return the outcomes of the pipelines, and of the control, on one shuffle of the labels.

    If all regions are kept, there is no control, because it would have nothing to choose.
    """
    # The last 1 makes the stream of random numbers differ from the stream of the splits.
    rng = np.random.default_rng([settings.seed, shuffle, 1])
    cohort, rows = draw(sample, shuffle, settings.seed)
    y = np.asarray(cohort.group).copy()
    # Shuffling within each part keeps the shares of the groups in both parts.
    for part in rows:
        y[part] = rng.permutation(y[part])
    problem = prepare(cohort, y, rows, settings.regions)
    outcomes = evaluate_all(classifiers, problem)
    if settings.regions < len(cohort.regions):
        # The test part takes part in the choice of regions. The canary must notice this leak.
        peeked = _peek(cohort, y, np.concatenate(rows), settings.regions)
        leaky = prepare(peeked, y, rows, settings.regions)
        outcomes[CONTROL] = evaluate(peers(shuffle)[LEAKING], leaky)
    return outcomes


def _peek(cohort: Cohort, y: NDArray[Any], rows: NDArray[Any], regions: int) -> Cohort:
    """Keep the regions most strongly related to y in these rows. Gaps are filled from all rows."""
    filled = RegionImputer().fit_transform(cohort.values[rows])
    leak = RegionSelector(regions).fit(filled, y[rows])
    return cohort.subset(regions=np.array(cohort.regions)[leak.support_].tolist())


def work(settings: Settings, data: Mapping[str, Sample], name: str, repeat: int) -> dict[str, Any]:
    """Return the outcomes of one shuffle."""
    return as_columns(shuffle_outcomes(data[name], repeat, settings, all_pipelines(repeat)))


def read(stored: dict[str, Arrays]) -> dict[str, Array]:
    """Return the balanced accuracies of each pipeline."""
    [outcomes] = gather(stored, ["balanced"], [SHUFFLED]).values()
    return {method: outcomes.of(method, "balanced") for method in outcomes.methods}


class Verdict(NamedTuple):
    """Mean balanced accuracy of a pipeline over the shuffles, its joint interval, and a finding.

    `finding` says whether one half is within the interval, or that there are too few shuffles.
    """

    mean: float
    low: float
    high: float
    finding: str


def verdicts(outcomes: Mapping[str, Array]) -> dict[str, Verdict]:
    """Return the verdict on each pipeline. The intervals hold jointly (Bonferroni).

    Given the regions, shuffles are independent, so no correction for overlap is needed.

    Parameters
    ----------
    outcomes : mapping of str to array
        Name of each pipeline, and its balanced accuracies: one per shuffle.
    """
    # Among many separate intervals of 95 %, some would miss one half by chance alone.
    level = 1 - (1 - LEVEL) / max(len(outcomes), 1)
    result = {}
    for name, values in outcomes.items():
        mean, _, df = seen = estimate(values, 0.0)
        low, high = seen.interval(level)
        finding = "yes" if low <= 0.5 <= high else "**no**"
        if df + 1 < MIN_SHUFFLES:
            finding = "too few shuffles"
        result[name] = Verdict(mean, low, high, "not measured" if np.isnan(mean) else finding)
    return result


def report(outcomes: dict[str, Array], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the slots of the report: a sentence on all pipelines, and one row per verdict."""
    # The control is judged separately, because it would widen the joint intervals.
    control = verdicts({name: outcomes[name] for name in [CONTROL] if name in outcomes})
    honest = verdicts({name: outcomes[name] for name in outcomes if name != CONTROL})
    return {
        "pipelines": _on_pipelines(honest, settings["splits"]),
        "verdicts": [_row(*pair) for pair in (honest | control).items()],
    }


def _on_pipelines(of: Mapping[str, Verdict], shuffles: int) -> str:
    """Return a sentence on all pipelines together."""
    if shuffles < MIN_SHUFFLES:
        few = f"{shuffles} shuffles are too few for verdicts"
        return f"{few}: give at least {MIN_SHUFFLES} (--splits)."
    rest = [f"; {seen.finding}: {name}" for name, seen in of.items() if seen.finding != "yes"]
    within = f"{len(of) - len(rest)} of {len(of)} pipelines: 0.5 is within the joint interval"
    return f"{shuffles} shuffles, {within}{''.join(rest)}."


def _row(name: str, verdict: Verdict) -> list[str]:
    # With a single shuffle there is no spread, and the interval is left empty.
    mean, low, high = ("" if np.isnan(x) else f"{x:.3f}" for x in verdict[:3])
    # One half within the interval is good for a pipeline, but a leak missed for the control.
    words = ON_CONTROL if name == CONTROL else {}
    finding = words.get(verdict.finding, verdict.finding)
    return [name, mean, f"{low} to {high}" if low else "", finding]


CANARY = Experiment("canary", tasks, work, read, report)
