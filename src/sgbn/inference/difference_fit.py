"""What is fitted to the groups, in the data and in every permutation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray

from sgbn.exceptions import InputError, listed, shown
from sgbn.inference.difference_input import GroupData
from sgbn.inference.joint import (
    GROUP_GAMMA,
    POOLED_GAMMA,
    Graph,
    GroupWeights,
    SharedOrder,
    covariances,
    weights_on,
)
from sgbn.inference.nuisance import Nuisance, nuisance_of
from sgbn.moments import constant_columns
from sgbn.structure import SGBN

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

DIGITS = 8  # of residuals in standard deviations, that other machines compute alike


class Fit(NamedTuple):
    """Edges, those of them that the pooled rows choose, weights a group, statistic an edge."""

    parents: Graph
    pooled: Graph
    weights: list[GroupWeights]
    statistic: Array


@dataclass(frozen=True)
class Problem:
    """What every permutation needs; it is sent to workers.

    Attributes
    ----------
    data : GroupData
        Without its values: each worker has the residuals instead.
    residuals : ndarray of shape (n, m)
        Without nuisance effects, in standard deviations `sd`.
    lobes : ndarray of int of shape (m,)
        Number of the lobe of each region.
    """

    data: GroupData
    residuals: Array
    sd: Array
    nuisance: Nuisance
    shared: SharedOrder
    lobes: Codes
    separate: bool
    alternative: str

    def fit(self, residuals: Array) -> Fit:
        """Choose parents, with the labels as they are, and compare the groups' weights."""
        codes = self.data.codes
        n = len(codes)
        groups = covariances(residuals, codes)
        pooled = self.shared.parents_of(residuals.T @ residuals / n, n, POOLED_GAMMA)
        parents = pooled.copy()
        for S, size in groups if self.separate else ():
            parents |= self.shared.parents_of(S, size, GROUP_GAMMA)
        check_freedom(self.data, self.nuisance.rank, parents)
        weights = weights_on(groups, parents, self.nuisance.rank / n)
        return Fit(parents, pooled, weights, statistics(weights, parents))


def problem_of(data: GroupData, learner: SGBN, separate: bool, alternative: str) -> Problem:
    """Take nuisance effects out, and learn the order."""
    nuisance = nuisance_of(data.codes, data.covariates, data.sites)
    check_freedom(data, nuisance.rank)
    for c, group in enumerate(data.groups):
        constant = constant_columns(data.values[data.codes == c])
        if constant.any():
            names = [data.regions[k] for k in np.flatnonzero(constant)]
            raise InputError(
                f"{listed(names)} has the same value in all subjects of the group {group!r}, so "
                "that it has no weights there. Leave it out."
            )
    residuals = nuisance.residuals(data.values)
    sd = residuals.std(axis=0)
    residuals /= sd
    shared = SharedOrder(residuals, learner, data.regions)
    lobes = np.unique(data.lobes, return_inverse=True)[1]
    rest = replace(data, values=data.values[:0])
    return Problem(rest, residuals, sd, nuisance, shared, lobes, separate, alternative)


def statistics(weights: Sequence[GroupWeights], parents: Graph) -> Array:
    """T of two groups (the second less the first), or the root of Q of more; 0 without an edge."""
    B = np.array([own.weights for own in weights])
    V = np.array([own.variances for own in weights])
    with np.errstate(divide="ignore", invalid="ignore"):
        if len(B) == 2:
            found = (B[1] - B[0]) / np.sqrt(V.sum(axis=0))
        else:
            mean = (B / V).sum(axis=0) / (1 / V).sum(axis=0)
            found = np.sqrt((np.square(B - mean) / V).sum(axis=0))
    statistic: Array = np.where(parents & np.isfinite(found), found, 0.0)
    return statistic


def check_freedom(data: GroupData, rank: int, parents: Graph | None = None) -> None:
    """Refuse a group whose subjects are used up by nuisance effects and parents."""
    sizes = np.bincount(data.codes)
    smallest = int(sizes.argmin())
    share = rank / len(data.codes) * sizes[smallest]
    most = 0 if parents is None else int(parents.sum(axis=0).max())
    if sizes[smallest] - share - most < 1:
        raise InputError(
            f"group {shown(data.groups[smallest])} has {sizes[smallest]} subjects, of which means, "
            f"covariates and sites take {share:.1f} and the parents of a region up to {most}: "
            "nothing is left to tell noise by. Add subjects, or leave out covariates or regions."
        )


def fingerprint(problem: Problem, learner: SGBN) -> str:
    """Hash that tells one table and learner from another, so that a folder is not mixed up."""
    data = problem.data
    digest = hashlib.sha256((np.round(problem.residuals, DIGITS) + 0.0).tobytes())  # no -0.0
    for codes in (data.codes, data.sites, data.pairs):
        digest.update(b"-" if codes is None else codes.astype(np.int64).tobytes())
    digest.update(json.dumps([data.lobes, data.regions, data.groups]).encode())
    digest.update(joblib.hash(learner.get_params()).encode())
    return digest.hexdigest()
