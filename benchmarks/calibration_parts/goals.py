"""The goals of the calibration, and the rows that compare them with the results."""

from typing import NamedTuple

from .bound import bound_methods
from .designs import DEMO, NULLS, PAIRWISE, PLANTED, POWER, REPEATED
from .real import DESIGNS
from .score import BOTH_WAYS, NAMED, ONE_WAY, SHARES, SUMS, shown

MAX_ERROR_RATE, MAX_POOLED_RATE = 0.08, 0.055  # share of cohorts with a find, at a level of 5 %
MAX_FALSE_SHARE = 0.07  # share of false finds, at a false discovery rate of 5 %
UNEQUAL = (
    "variance x 4 in half of the regions",
    "30 v 150, t3 noise, variance x 4",
    "ABIDE controls, scale x 2 in half of the regions",
    "ABIDE controls, noise x 2 in half of the regions",
)
RECALL = {"n = 60": 0.30, "n = 100": 0.58, "n = 200": 0.84}
RECALL |= {"t3 noise, n = 100": 0.45, "t3 noise, n = 200": 0.74}
AIMS = {"n = 60": 0.10, "n = 100": 0.40, "n = 200": 0.70}  # both ways: aims, but not goals
WORDS = {
    "any_family": "family-wise find",
    "any_q": "find by q",
    "global": "global find",
    "low_p": "its own p <= 5 %",
    "false_family": "false family-wise find",
    "false_share": "false share",
    "recall": "recall",
    "hits": "hits",
    "excess": "pairs of low probability less the bound",
    "fits": "fits",
    "seconds": "seconds",
}


class Goal(NamedTuple):
    """The limit of a figure. If there are several settings, it is for the mean over them."""

    study: str
    settings: tuple[str, ...]
    method: str
    figure: str
    limit: float
    at_least: bool = False


def way_of(setting):
    """Return the way of testing by which a setting is judged."""
    # If noise or scales differ, one-way weights truly differ: only both ways have no difference.
    return BOTH_WAYS if setting in UNEQUAL else ONE_WAY


def level_goals(study, settings, figures):
    """Return the goals that each of these shares of cohorts is at most MAX_ERROR_RATE."""
    return [
        Goal(study, (name,), way_of(name), figure, MAX_ERROR_RATE)
        for name in settings
        for figure in figures
    ]


def power_goals():
    """Return the goals of recall and of false finds."""
    goals = []
    for name, least in RECALL.items():
        goals.append(Goal("power", (name,), ONE_WAY, "recall", least, True))
        goals.append(Goal("power", (name,), ONE_WAY, "false_share", MAX_FALSE_SHARE))
        goals.append(Goal("power", (name,), ONE_WAY, "false_family", MAX_ERROR_RATE))
    goals += [Goal("power", (name,), BOTH_WAYS, "recall", aim, True) for name, aim in AIMS.items()]
    goals += [
        Goal("power", (name,), BOTH_WAYS, figure, limit)
        for name in POWER
        for figure, limit in (("false_share", MAX_FALSE_SHARE), ("false_family", MAX_ERROR_RATE))
    ]
    return [
        *goals,
        Goal("power", (DEMO,), ONE_WAY, "hits", 8.8, True),
        Goal("power", (DEMO,), ONE_WAY, "false_share", MAX_FALSE_SHARE),
        Goal("power", (PLANTED,), ONE_WAY, "hits", 2.6, True),
    ]


ERRORS = ("any_family", "any_q", "global")
GOALS = [
    *level_goals("nulls", NULLS, ERRORS),
    *(Goal("nulls", tuple(NULLS), "", figure, MAX_POOLED_RATE) for figure in ERRORS),
    Goal("nulls", ("noise proportional to a parent",), NAMED, "low_p", MAX_ERROR_RATE),
    *(
        Goal("nulls", (name,), sums, "any_family", MAX_ERROR_RATE)
        for name in NULLS
        if name not in UNEQUAL  # these tests are one-way, and such noise makes a difference
        for sums in SUMS
    ),
    *power_goals(),
    *level_goals("real", DESIGNS, ERRORS),
    *level_goals("repeated", REPEATED, ERRORS),
    *(
        Goal("pairwise", (name,), f"equal groups, {way}", figure, MAX_ERROR_RATE)
        for name in PAIRWISE
        for way in (ONE_WAY, BOTH_WAYS)
        for figure in ("any_family", "any_q")
    ),
    *(Goal("bound", ("n = 100",), method, "excess", 0.0) for method in bound_methods()),
    Goal("cost", ("68 regions, 370 subjects",), "tests", "fits", 60),
    Goal("cost", ("173 regions, 124 subjects",), "tests", "seconds", 60),
]


def goal_row(goal, runs):
    """Yield the row of a goal, if its study was run."""
    # Pooled goals have no method: each setting is judged by its own way of testing.
    wanted = {(name, goal.method or way_of(name)) for name in goal.settings}
    rows = [
        row
        for row in runs
        if row["study"] == goal.study
        and (row["setting"], row["method"]) in wanted
        and goal.figure in row
    ]
    if not rows:
        return
    mean = sum(row[goal.figure][0] for row in rows) / len(rows)
    met = mean >= goal.limit if goal.at_least else mean <= goal.limit
    where = goal.settings[0] if len(goal.settings) == 1 else f"pooled over {len(rows)} settings"
    limit = "at least" if goal.at_least else "at most"
    aim = " (aim)" if goal.study == "power" and goal.method == BOTH_WAYS else ""
    text = f"{WORDS[goal.figure]} {limit} {goal.limit:g}{aim}"
    way = f", {goal.method}" if goal.method else ", each its way"
    cohorts = sum(row[goal.figure][2] for row in rows)
    measured = f"{mean:.3f}"
    if goal.figure in SHARES or (goal.method, goal.figure) == (NAMED, "low_p"):
        measured = shown(mean, cohorts)
    yield [goal.study, where + way, text, cohorts, measured, "yes" if met else "no"]
