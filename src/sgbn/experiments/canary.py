"""The canary of Exp-III: labels shuffled over the subjects tell a pipeline nothing.

Whatever a pipeline then gets right on average, beyond a half, has leaked from the test part into
training. A control that chooses its regions by all rows shows that such a leak is seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.cohort import Cohort
from sgbn.comparison.intervals import LEVEL, estimate
from sgbn.comparison.peers import peers
from sgbn.experiments import protocol
from sgbn.experiments.exp3_methods import Sample, Settings, at_base, draw, pipelines, tasks
from sgbn.experiments.experiment import Experiment, as_columns, gather
from sgbn.preprocessing import RegionImputer, RegionSelector
from sgbn.runs import Arrays
from sgbn.types import Array

SHUFFLES = 50
SHUFFLED = "shuffle"  # name of the one sample
MIN_SHUFFLES = 20  # below, an interval is so wide that nearly every leak is within it
CONTROL = "control: regions chosen by all rows, shrinkage LDA"
LEAKING = "shrinkage LDA"  # the classifier of the control
ON_CONTROL = {"yes": "**yes: not caught**", "**no**": "no: caught"}  # to be caught is its purpose
REGIONS = 90  # of the simulated cohort that stands in for a table


def choose_sample(settings: Settings, data: Mapping[str, Sample]) -> Sample:
    """Table of the most regions, for there is most to choose from; else a simulated cohort."""
    # Sizes break ties between COBRE or IXI and their smaller splits, which have the same regions.
    tables = [(len(s.cohort.regions), s.sizes, s) for s in data.values() if s.cohort is not None]
    if tables:
        return max(tables, key=lambda table: table[:2])[2]
    cohort = Sample(settings.sizes).simulate(settings.seed, regions=REGIONS)
    return Sample(settings.sizes, cohort)


def all_pipelines(seed: int) -> dict[str, Any]:
    """Everything that Exp-III compares, the paper's methods at their base settings."""
    return pipelines(seed) | {method.label: method.make() for method in at_base()}


def shuffle_outcomes(
    sample: Sample, shuffle: int, settings: Settings, classifiers: Mapping[str, Any]
) -> dict[str, protocol.Outcome]:
    """Outcomes of the pipelines, and of the control, on one shuffle of the labels.

    There is no control where all regions are kept: it would have none to choose.
    """
    rng = np.random.default_rng([settings.seed, shuffle, 1])  # 1: not the stream of the splits
    cohort, rows = draw(sample, shuffle, settings.seed)
    y = np.asarray(cohort.group).copy()
    for part in rows:  # within each, so that both keep their shares of the groups
        y[part] = rng.permutation(y[part])
    problem = protocol.prepare(cohort, y, rows, settings.regions)
    outcomes = protocol.evaluate_all(classifiers, problem)
    if settings.regions < len(cohort.regions):
        # Both parts choose the regions, which is the leak: the mistake that the canary is to
        # notice.
        peeked = _peek(cohort, y, np.concatenate(rows), settings.regions)
        leaky = protocol.prepare(peeked, y, rows, settings.regions)
        outcomes[CONTROL] = protocol.evaluate(peers(shuffle)[LEAKING], leaky)
    return outcomes


def _peek(cohort: Cohort, y: NDArray[Any], rows: NDArray[Any], regions: int) -> Cohort:
    """Keep the regions that tell most about y in these rows, its gaps filled in by all of them."""
    filled = RegionImputer().fit_transform(cohort.values[rows])
    leak = RegionSelector(regions).fit(filled, y[rows])
    return cohort.subset(regions=np.array(cohort.regions)[leak.support_].tolist())


def work(settings: Settings, data: Mapping[str, Sample], name: str, repeat: int) -> dict[str, Any]:
    """Outcomes of one shuffle."""
    return as_columns(shuffle_outcomes(data[name], repeat, settings, all_pipelines(repeat)))


def read(stored: dict[str, Arrays]) -> dict[str, Array]:
    """Balanced accuracies of each pipeline."""
    [outcomes] = gather(stored, ["balanced"], [SHUFFLED]).values()
    return {method: outcomes.of(method, "balanced") for method in outcomes.methods}


class Verdict(NamedTuple):
    """Mean balanced accuracy of a pipeline over the shuffles, its joint interval, and what it says.

    `finding` is whether a half is within the interval, where there are shuffles enough to tell.
    """

    mean: float
    low: float
    high: float
    finding: str


def verdicts(outcomes: Mapping[str, Array]) -> dict[str, Verdict]:
    """Verdict on each pipeline; the intervals hold for all together (Bonferroni).

    Given the regions, shuffles are independent: no correction for overlap is due.

    Parameters
    ----------
    outcomes : mapping of pipeline to array of balanced accuracies, one per shuffle
    """
    # Of many intervals of 95 % some would miss a half by chance alone.
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
    """Verdicts, and what they say of all pipelines and of the control."""
    # The control is judged alone: it would widen the joint intervals of the others.
    control = verdicts({name: outcomes[name] for name in [CONTROL] if name in outcomes})
    honest = verdicts({name: outcomes[name] for name in outcomes if name != CONTROL})
    return {
        "pipelines": _on_pipelines(honest, settings["splits"]),
        "verdicts": [_row(*pair) for pair in (honest | control).items()],
    }


def _on_pipelines(of: Mapping[str, Verdict], shuffles: int) -> str:
    """Sentence on all pipelines together."""
    if shuffles < MIN_SHUFFLES:
        few = f"{shuffles} shuffles are too few for verdicts"
        return f"{few}: give {MIN_SHUFFLES} or more (--splits)."
    rest = [f"; {seen.finding}: {name}" for name, seen in of.items() if seen.finding != "yes"]
    within = f"{len(of) - len(rest)} of {len(of)} pipelines: a half is within the joint interval"
    return f"{shuffles} shuffles, {within}{''.join(rest)}."


def _row(name: str, verdict: Verdict) -> list[str]:
    # An interval is empty where there is one shuffle only, for it has no spread.
    mean, low, high = ("" if np.isnan(x) else f"{x:.3f}" for x in verdict[:3])
    # What is good news of a pipeline is bad news of the control: it has no power to show a leak.
    words = ON_CONTROL if name == CONTROL else {}
    finding = words.get(verdict.finding, verdict.finding)
    return [name, mean, f"{low} to {high}" if low else "", finding]


CANARY = Experiment("canary", tasks, work, read, report)
