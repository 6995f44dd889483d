"""What the calibration is to show, beside what it shows, with "no" where it does not."""

from __future__ import annotations

from typing import Any, NamedTuple

from sgbn.experiments.calibration import TESTS, Scores
from sgbn.experiments.calibration_bound import THETAS, THRESHOLDS
from sgbn.experiments.calibration_cells import (
    Interval,
    false_share,
    kind_of,
    mean_interval,
    part,
    share,
    shown,
    sizes_of,
    uniform_p,
)
from sgbn.experiments.calibration_intervals import COVERAGE, KINDS, Counts
from sgbn.experiments.calibration_peers import LEVEL, N_PERMUTATIONS
from sgbn.experiments.calibration_sums import SUMS
from sgbn.experiments.exp2 import mean_and_error
from sgbn.experiments.markdown import table
from sgbn.runs import Arrays

Described = dict[str, dict[str, Any]]  # settings by the name of their study

JOINT = next(iter(TESTS))
MOST_FALSE = 0.07
LEAST_RECALL = {60: 0.6, 100: 0.85, 200: 0.95}
UNIFORM_P = 0.05  # of the Kolmogorov-Smirnov test

NOTES = """\
An error rate is met where its 95 % interval contains 5 % or lies below: a measured rate of up to
9 % passes with 100 cohorts, of up to 6.8 % with 500. FWER, FDR, hubs, lobes and components count
what is false as defined above. The global test counts whatever it finds, weights that truly differ
included, so that under unequal noise "no" need not be an error of the test."""


class Goal(NamedTuple):
    """A goal, the cohorts it was measured on, what was measured, and whether it is met."""

    setting: str
    goal: str
    cohorts: int
    measured: str
    met: bool


def goals_table(goals: list[Goal]) -> list[str]:
    """Lines of the table, a row a goal."""
    rows = [[*goal[:-1], "yes" if goal.met else "no"] for goal in goals]
    header = ["setting", "goal", "cohorts", "measured", "met"]
    return [*table(header, rows), "", *NOTES.splitlines()]


def difference_goals(scores: dict[str, Scores], described: Described) -> list[Goal]:
    """Goals of the tests of differences, setting by setting."""
    goals = []
    for name, own in described.items():
        of_setting = _changed_goals if own["changed"] else _null_goals
        goals += of_setting(scores[name], own)
    return goals


def _null_goals(found: Scores, own: dict[str, Any]) -> list[Goal]:
    what = f"null, {kind_of(own)}, n = {sizes_of(own)}"
    global_p = found.of("global_p", JOINT)
    uniform = uniform_p(global_p, 1 / (N_PERMUTATIONS + 1))
    below = shown(share(global_p <= LEVEL))
    rates = {
        "FWER": share(found.of("family", JOINT)),
        "FDR": share(false_share(found, JOINT)),
    }
    rates |= {
        f"{SUMS[field]}: false finds family-wise": share(found.of(f"false_{field}", JOINT))
        for field in SUMS
    }
    return [
        *(_error_rate(what, name, found.cohorts, rate) for name, rate in rates.items()),
        Goal(
            what,
            f"global test uniform: p of KS at least {UNIFORM_P}",
            found.cohorts,
            f"{uniform:.3f}; p <= 5 % in {below}",
            uniform >= UNIFORM_P,
        ),
    ]


def _changed_goals(found: Scores, own: dict[str, Any]) -> list[Goal]:
    what = f"changed, {kind_of(own)}, n = {sizes_of(own)}"
    false = mean_interval(false_share(found, JOINT))
    goal = f"false share at most {MOST_FALSE}"
    goals = [
        _error_rate(what, "FWER", found.cohorts, share(found.of("family", JOINT))),
        Goal(what, goal, found.cohorts, shown(false), false[0] <= MOST_FALSE),
    ]
    wanted = LEAST_RECALL.get(own["sizes"][0])
    if own["noise"] == 1.0 and wanted:
        recall = mean_interval(found.of("hits", JOINT) / own["changed"])
        goal = f"recall at least {wanted}"
        goals.append(Goal(what, goal, found.cohorts, shown(recall), recall[0] >= wanted))
    return goals


def _error_rate(what: str, name: str, cohorts: int, rate: Interval) -> Goal:
    goal = f"{name} at most 5 %, by its interval"
    return Goal(what, goal, cohorts, shown(rate), rate[1] <= LEVEL)


def total_counts(counts: Arrays, k: int) -> Counts:
    """Sum the counts of one kind over all cohorts."""
    return Counts(*(int(counts[field][:, k].sum()) for field in Counts._fields))


def interval_goals(counts: Arrays) -> list[Goal]:
    """Goals of the intervals, and of the ranges where an effect is not identified."""
    goals, cohorts = [], len(counts["intervals"])
    for k, kind in enumerate(KINDS):
        total = total_counts(counts, k)
        if total.intervals:
            covered = part(total.covered, total.intervals)
            goal = f"coverage at least {100 * COVERAGE:.0f} %, by its interval"
            goals.append(Goal(kind, goal, cohorts, shown(covered), covered[2] >= COVERAGE))
        if total.ranges:
            held = part(total.contained_exactly, total.ranges)
            goal = "the truth in all ranges, exact moments"
            goals.append(Goal(kind, goal, cohorts, shown(held), held[0] == 1.0))
    return goals


def bound_goals(selected: Arrays) -> list[Goal]:
    """Goals of the bound of stability selection."""
    goals = []
    for a, theta in enumerate(THETAS):
        for b, threshold in enumerate(THRESHOLDS):
            low, bound = (selected[field][:, a, b] for field in ("low", "bound"))
            mean, error = mean_and_error(low - bound)
            goal = f"at most the bound, {bound.mean():.3f}, by 2 standard errors"
            what = f"pairs of low probability, theta = {theta}, threshold = {threshold}"
            met = mean + 2 * error <= 0
            goals.append(Goal(what, goal, len(low), f"{low.mean():.3f}", met))
    return goals
