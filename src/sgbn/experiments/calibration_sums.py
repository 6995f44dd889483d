"""What the tests of more than one edge find: hubs, lobes and components.

A find is false when all edges that it adds up have equal weights in the population, given the order
and parents that were learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.experiments.calibration_peers import LEVEL
from sgbn.inference.differences import Differences

Graph = NDArray[np.bool_]

SUMS = {  # field of `SumScore` -> what a table calls it
    "hubs": "hubs",
    "lobes": "lobes",
    "strength": "lobes, strength only",
    "components": "components",
}


class SumScore(NamedTuple):
    """Whether anything is found, corrected at 5 %, and whether anything false.

    `strength` is that part of `lobes` which is no number of edges: numbers depend on noise.
    """

    hubs: float = np.nan
    lobes: float = np.nan
    strength: float = np.nan
    components: float = np.nan
    false_hubs: float = np.nan
    false_lobes: float = np.nan
    false_strength: float = np.nan
    false_components: float = np.nan


def score_sums(tests: Differences, unequal: Graph, lobes: Sequence[str]) -> SumScore:
    """Score hubs, lobes and components; `unequal` marks edges whose weights truly differ."""
    hubs, hubs_equal = tests.hubs["p_fwer"] <= LEVEL, ~_in_hubs(tests, unequal)
    pairs, pairs_equal = tests.lobes["p_fwer"] <= LEVEL, ~_in_lobes(tests, unequal, lobes)
    strength = tests.lobes["kind"] == "strength"
    found = [component for component, p, _ in tests.components if p <= LEVEL]
    return SumScore(
        hubs=bool(hubs.any()),
        lobes=bool(pairs.any()),
        strength=bool((pairs & strength).any()),
        components=bool(found),
        false_hubs=bool((hubs & hubs_equal).any()),
        false_lobes=bool((pairs & pairs_equal).any()),
        false_strength=bool((pairs & pairs_equal & strength).any()),
        false_components=any(not unequal[tuple(own.pairs.T)].any() for own in found),
    )


def _in_hubs(tests: Differences, unequal: Graph) -> Graph:
    """Whether each row of the hubs adds up an edge with unequal weights."""
    place = {name: k for k, name in enumerate(tests.regions)}
    region = np.array([place[name] for name in tests.hubs["region"]])
    into, out_of = (np.asarray(unequal.any(axis=axis)) for axis in (0, 1))
    return np.where(tests.hubs["kind"] == "in", into[region], out_of[region])


def _in_lobes(tests: Differences, unequal: Graph, lobes: Sequence[str]) -> Graph:
    """Whether each row of the lobes adds up an edge with unequal weights."""
    touched = {(lobes[i], lobes[j]) for i, j in np.argwhere(unequal)}
    rows = zip(tests.lobes["source"], tests.lobes["target"], strict=True)
    return np.array([row in touched for row in rows], np.bool_)
