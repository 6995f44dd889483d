"""Networks of halves of the subjects, and the confidence of edges from them."""

from __future__ import annotations

from typing import Any, NamedTuple

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgbn.cohort.design import deal_persons
from sgbn.cohort.series import SubjectMoments
from sgbn.core.moments import one_blas_thread
from sgbn.core.types import Array, Indices
from sgbn.runs.files import Arrays
from sgbn.runs.study import Study
from sgbn.search.subjects import TABLES, SubjectsProblem, search_subjects
from sgbn.structure.base import Arrows
from sgbn.structure.ensemble.confidence import EdgeConfidence
from sgbn.structure.ensemble.parts import gather_pairs, pair_result
from sgbn.structure.knowledge import Knowledge

DIGITS = 8  # decimals of correlations on which machines agree, so that folders can be moved
PLAN = TABLES._replace(patience=1)  # a shorter search, because the mean of many halves counts


class Subjects(NamedTuple):
    """The subjects that are split into halves, and the settings of their network.

    Attributes
    ----------
    moments : SubjectMoments
        Correlations of each of the S series.
    persons : ndarray of shape (S,)
        Code of each series' person, from 0 upwards. All series of a person stay together.
    strata : ndarray of shape (S,)
        Code of each series' stratum, such as its site. The halves are balanced in strata.
    knowledge : Knowledge
        The allowed and the required edges.
    penalty : float
        Factor of the price of an edge.
    max_parents : int
        The largest number of parents of a region.
    """

    moments: SubjectMoments
    persons: Indices
    strata: Indices
    knowledge: Knowledge
    penalty: float
    max_parents: int

    def problem(self, rows: ArrayLike | None = None) -> SubjectsProblem:
        """Return the search problem of some of the series; by default of all."""
        moments = self.moments if rows is None else self.moments.take(rows)
        return SubjectsProblem.of_subjects(
            moments.R, moments.n, self.knowledge, self.penalty, self.max_parents, moments.names
        )

    def describe(self) -> dict[str, Any]:
        """Return all that results depend on, so that a folder never mixes two studies."""
        numbers = [np.round(self.moments.R, DIGITS), self.moments.n]
        return {
            "data": joblib.hash([*numbers, self.persons, self.strata, *self.knowledge]),
            "names": list(self.moments.names),
            "penalty": self.penalty,
            "max_parents": self.max_parents,
        }


def learn_halves(subjects: Subjects, n_pairs: int, seed: int, study: Study) -> EdgeConfidence:
    """Return the confidence of edges from both halves of `n_pairs` splits; see `SeriesSGBN`.

    The result of a task depends only on the subjects, the seed and the number of the task. So a
    study can be continued with more pairs.
    """
    settings = subjects.describe() | {"seed": seed, "plan": list(PLAN)}
    shared = {"subjects": subjects, "seed": seed}
    tasks = {f"pair{k:05d}": {"number": k} for k in range(n_pairs)}
    results = study.run(learn_pair, tasks, settings, shared=shared)
    return gather_pairs([results[name] for name in tasks], subjects.moments.names)


def learn_pair(subjects: Subjects, seed: int, number: int) -> Arrays:
    """Return the mean share of each arrow in two halves, and the counts of their agreement."""
    rng = np.random.default_rng([seed, number])
    halves = deal_persons(rng, 2, subjects.strata, subjects.persons)
    shares = []
    with one_blas_thread():
        for which in range(2):
            problem = subjects.problem(halves == which)
            best = search_subjects(problem, np.random.RandomState([seed, number, which]), PLAN)
            arrows = Arrows(problem.to_user(best.parents), subjects.knowledge)
            shares.append(arrow_shares(arrows.equivalence_class()))
    # No region is constant in a half, because the series of each subject was checked before.
    none = np.zeros(subjects.moments.m, bool)
    return pair_result(shares, [none, none])


def arrow_shares(P: NDArray[np.bool_]) -> Array:
    """Return 1 for an arrow of an equivalence class, and 0.5 for each direction of an open edge."""
    return np.where(P & P.T, 0.5, P.astype(float))
