"""What is tested, of tables and of series: all that the statistics and the tables of p need."""

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

from sgbn.atlases import UNKNOWN_LOBE
from sgbn.inference.closed_tests import Members
from sgbn.inference.difference_input import GroupData
from sgbn.inference.edge_statistics import Edges, Estimates, Ways
from sgbn.structure.nuisance import design_of
from sgbn.types import Array, Graph, Indices, Mask

DIGITS = 8  # of numbers in standard deviations, that other machines compute alike


class Fit(NamedTuple):
    """What one table, permuted or not, shows.

    Attributes
    ----------
    parents : ndarray of bool of shape (m, m)
    edges : ndarray of int of shape (k, 2)
        Source and target, sorted by target.
    in_pool : ndarray of bool of shape (k,)
        Edges that the pooled rows choose; the others were chosen by a group only.
    weights : Estimates
        Given the other parents of the target.
    ways : Ways
        The weight of the source on the target, the weight the other way round, and the partial
        correlation. All three are given the parents of either region.
    named : Ways or None
        The same three for the edges that were named beforehand.
    """

    parents: Graph
    edges: Edges
    in_pool: Mask
    weights: Estimates
    ways: Ways
    named: Ways | None


class NamedEdges(NamedTuple):
    """Edges that were named before the data were seen, and what each is tested beside."""

    edges: Edges
    given: Graph


@dataclass(frozen=True, kw_only=True)
class Problem(ABC):
    """What every permutation needs; it is sent to workers.

    Attributes
    ----------
    data : GroupData
        Without its values.
    sd : ndarray of shape (m,)
        Times it are weights in the units of the data.
    lobes : ndarray of int of shape (m,)
        Number of the lobe of each region, -1 where it is unknown.
    alternative : {"two-sided", "greater", "less"}
    named : NamedEdges or None
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
        """Numbers that all statistics come from."""

    @abstractmethod
    def refit(self, members: Members) -> Callable[[Indices], Fit]:
        """Return what fits the groups anew, given the row that comes to each place.

        `members` are the groups that are equal under the null, and exchange rows.
        """


def lobe_numbers(lobes: Sequence[str]) -> Indices:
    """Place of each region's lobe among the sorted names; -1 where it is unknown."""
    names = known_lobes(lobes)
    return np.array([names.index(lobe) if lobe in names else -1 for lobe in lobes], np.intp)


def known_lobes(lobes: Sequence[str]) -> list[str]:
    """Sorted names of the lobes, without that of regions whose lobe is unknown."""
    return sorted(set(lobes) - {UNKNOWN_LOBE})


def fingerprint(problem: Problem, learner: BaseEstimator) -> str:
    """Hash that tells one table and learner from another, so that a folder is not mixed up."""
    data = problem.data
    # The last digits differ between machines: a folder that is moved to another one must still fit.
    digest = hashlib.sha256((np.round(problem.content, DIGITS) + 0.0).tobytes())  # no -0.0
    for codes in (data.codes, data.sites, data.pairs, data.persons, data.families):
        digest.update(b"-" if codes is None else codes.astype(np.int64).tobytes())
    # Absent columns have a mark of their own: without it, sites given as pairs would look the same.
    for chosen in (None if problem.named is None else problem.named.edges, problem.among):
        digest.update(b"-" if chosen is None else chosen.tobytes())
    digest.update(json.dumps([data.lobes, data.regions, data.groups]).encode())
    digest.update(json.dumps([str(name) for name in data.covariates]).encode())
    digest.update((design_of(len(data.codes), data.covariates) + 0.0).tobytes())
    # Its repr is cut where it is long, so that parameters are hashed too.
    digest.update(joblib.hash(learner.get_params()).encode())
    return digest.hexdigest()
