"""The data that a test of tables or of series needs, and one fit to these data.

The statistics and the tables of p-values need nothing else. So their code is the same for tables
and for series.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import joblib
import numpy as np
from sklearn.base import BaseEstimator

from sgbn.cohort.atlas import UNKNOWN_LOBE
from sgbn.cohort.effects import design_of
from sgbn.core.types import Array, Graph, Indices, Mask
from sgbn.inference.closed_tests import Members
from sgbn.inference.difference_input import GroupData
from sgbn.inference.edge_statistics import Edges, Estimates, Ways

DIGITS = 8  # decimals of values in standard deviations; all machines agree in these


class Fit(NamedTuple):
    """The fit to one table, permuted or not.

    Attributes
    ----------
    parents : ndarray of bool of shape (m, m)
        ``parents[i, j]`` is i -> j.
    edges : ndarray of int of shape (k, 2)
        Source and target of each edge, sorted by target.
    in_pool : ndarray of bool of shape (k,)
        Whether the pooled rows chose the edge. All other edges were chosen by single groups only.
    weights : Estimates
        Weight of each edge in each group, given the other parents of the target.
    ways : Ways
        The weight of the source on the target, the weight in the opposite direction, and the
        partial correlation. All three are estimated given the parents of both regions.
    named : Ways or None
        The same three statistics for the edges that were named beforehand.
    """

    parents: Graph
    edges: Edges
    in_pool: Mask
    weights: Estimates
    ways: Ways
    named: Ways | None


class NamedEdges(NamedTuple):
    """The edges that were named before the data were seen, and the regions held fixed for each."""

    edges: Edges
    given: Graph


@dataclass(frozen=True, kw_only=True)
class Problem(ABC):
    """The data that every permutation needs. They are sent to the workers.

    Attributes
    ----------
    data : GroupData
        Groups and labels of the rows, without the values.
    sd : ndarray of shape (m,)
        Standard deviation of each region. The fitted weight of i -> j times ``sd[j] / sd[i]`` is
        in the units of the data.
    lobes : ndarray of int of shape (m,)
        Number of the lobe of each region, -1 if it is unknown.
    alternative : {"two-sided", "greater", "less"}
        Direction of the tests of edges.
    named : NamedEdges or None
        Edges that were named beforehand.
    among : ndarray of bool of shape (m, m), or None
        Edges between regions that were named beforehand.
    """

    data: GroupData
    sd: Array
    lobes: Indices
    alternative: str
    named: NamedEdges | None = None
    among: Graph | None = None

    @property
    @abstractmethod
    def content(self) -> Array:
        """The numbers that all statistics are computed from."""

    @abstractmethod
    def refit(self, members: Members) -> Callable[[Indices], Fit]:
        """Return a function that fits permuted rows; it takes the row that moves to each place.

        `members` are the groups that exchange rows. They are equal under the null hypothesis.
        """


def lobe_numbers(lobes: Sequence[str]) -> Indices:
    """Return the place of each region's lobe among the sorted names; -1 if it is unknown."""
    names = known_lobes(lobes)
    return np.array([names.index(lobe) if lobe in names else -1 for lobe in lobes], np.intp)


def known_lobes(lobes: Sequence[str]) -> list[str]:
    """Return the sorted names of the lobes, without the name for unknown lobes."""
    return sorted(set(lobes) - {UNKNOWN_LOBE})


def fingerprint(problem: Problem, learner: BaseEstimator) -> str:
    """Return a hash of the data and the learner, so that a folder never mixes two tests."""
    data = problem.data
    # The last digits differ between machines, and a folder may be moved to another machine.
    digest = hashlib.sha256((np.round(problem.content, DIGITS) + 0.0).tobytes())  # no -0.0
    for codes in (data.codes, data.sites, data.pairs, data.persons, data.families):
        digest.update(b"-" if codes is None else codes.astype(np.int64).tobytes())
    # Absent columns add "-". Otherwise the same labels, as sites or as pairs, would have one hash.
    for chosen in (None if problem.named is None else problem.named.edges, problem.among):
        digest.update(b"-" if chosen is None else chosen.tobytes())
    digest.update(json.dumps([data.lobes, data.regions, data.groups]).encode())
    digest.update(json.dumps([str(name) for name in data.covariates]).encode())
    digest.update((design_of(len(data.codes), data.covariates) + 0.0).tobytes())
    # The parameters are hashed, not the learner's repr, since a long repr is shortened.
    digest.update(joblib.hash(learner.get_params()).encode())
    return digest.hexdigest()
