"""The studies of the calibration: settings, how a cohort is scored, and numbers of cohorts."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from . import bound, intervals, peers, power, real, score
from .cohorts import Setting

CHANGED = 10  # number of changed edges
VARIANCE = 2.0  # factor of standard deviations, so that variances are 4 times as large


class Design(NamedTuple):
    """The score function and its setting, the folder of its results, and most cohorts.

    The function is called as ``score(design=setting, cohort=..., seed=...)``.
    """

    score: Callable[..., Any]
    setting: Any
    folder: str
    most: int = 10**6


@dataclass(frozen=True)
class Study:
    """Designs by name, their default number of cohorts, and whether `--powers` sets this number."""

    designs: dict[str, Design]
    cohorts: int
    powers: bool = False


def designs(function, settings):
    """Return one design per setting, with a folder that is named after the setting."""
    return {name: Design(function, setting, folder_of(name)) for name, setting in settings.items()}


def folder_of(name):
    """Return a valid folder name for a setting."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


NULLS = {
    "Gaussian": Setting(),
    # Each of the others violates an assumption of the tests, or is difficult in another way.
    "t3 noise": Setting(noise="t3"),
    "lognormal noise": Setting(noise="lognormal"),
    "tanh": Setting(squash=True),
    "tanh, means shifted": Setting(squash=True, shift=True),
    "hidden causes": Setting(hidden=3),
    "30 v 150": Setting((30, 150)),
    "n = 30, 60 regions": Setting((30, 30), regions=60),
    "2 % outlier rows in one group": Setting((200, 200), outliers=0.02),
    "variance x 4 in half of the regions": Setting(scale=VARIANCE),
    "30 v 150, t3 noise, variance x 4": Setting((30, 150), noise="t3", scale=VARIANCE),
    "noise proportional to a parent": Setting(uneven=True),
    "sites and covariates, confounded": Setting((60, 60), nuisance=True),
}
GAUSSIAN_POWER = {f"n = {n}": Setting((n, n), changed=CHANGED) for n in (60, 100, 200)}
POWER = GAUSSIAN_POWER | {
    **{
        f"edges removed, n = {n}": Setting((n, n), changed=CHANGED, removed=True)
        for n in (60, 100, 200)
    },
    "t3 noise, n = 100": Setting((100, 100), changed=CHANGED, noise="t3"),
    "t3 noise, n = 200": Setting((200, 200), changed=CHANGED, noise="t3"),
    "variance x 4, n = 100": Setting((100, 100), changed=CHANGED, scale=VARIANCE),
    "variance x 4, n = 200": Setting((200, 200), changed=CHANGED, scale=VARIANCE),
}
DEMO, PLANTED = "demo", "ABIDE controls, planted changes"
REPEATED = {
    "1 to 4 sessions per person": Setting((40, 40), sessions=4),
    "paired visits": Setting(paired=True),
}
PAIRWISE = {
    "three equal groups": Setting((80,) * 3),
    "three groups, one differs": Setting((80,) * 3, changed=CHANGED),
    "four equal groups": Setting((80,) * 4),
    "four groups, one differs": Setting((80,) * 4, changed=CHANGED),
}
# The second has the size of COBRE.
COST = {
    "68 regions, 370 subjects": (Setting((185, 185), changed=CHANGED, regions=68), 1000),
    "173 regions, 124 subjects": (Setting((62, 62), changed=CHANGED, regions=173), 1000),
}
DEMO_SEEDS = 10

STUDIES = {
    "nulls": Study(designs(score.score_null, NULLS), 500),
    "power": Study(
        designs(power.score_power, POWER)
        | {
            DEMO: Design(power.score_power, power.DEMO, "demo", DEMO_SEEDS),
            PLANTED: Design(real.score_planted, None, "planted"),
        },
        100,
        powers=True,
    ),
    "peers": Study(
        designs(peers.score_peers, {"Gaussian, no difference": Setting()} | GAUSSIAN_POWER),
        100,
        powers=True,
    ),
    "real": Study(designs(real.score_real, real.DESIGNS), 200),
    "repeated": Study(designs(score.score_null, REPEATED), 500),
    "pairwise": Study(designs(score.score_pairwise, PAIRWISE), 500),
    "intervals": Study(
        designs(intervals.score_intervals, {"n = 100": Setting((100, 100), changed=CHANGED)}),
        200,
    ),
    "bound": Study(designs(bound.score_bound, {"n = 100": Setting((100, 100))}), 200),
    "cost": Study(
        {name: design._replace(most=1) for name, design in designs(power.score_cost, COST).items()},
        1,
    ),
}
