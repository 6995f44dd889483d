"""Networks of halves of the subjects, and what they agree on."""

from __future__ import annotations

from typing import Any, NamedTuple

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgbn.moments import one_blas_thread
from sgbn.runs import Arrays, Study
from sgbn.search.subjects import TABLES, SubjectsProblem, search_subjects
from sgbn.structure.base import Arrows
from sgbn.structure.ensemble.confidence import EdgeConfidence
from sgbn.structure.ensemble.parts import gather_pairs, pair_result
from sgbn.structure.ensemble.splits import deal_persons
from sgbn.structure.knowledge import Knowledge
from sgbn.structure.series.subject_moments import SubjectMoments
from sgbn.types import Array, Indices

DIGITS = 8  # decimals of correlations on which machines agree: a folder can move between them
PLAN = TABLES._replace(patience=1)  # a hundred halves make up for one that a longer search mends


class Subjects(NamedTuple):
    """Subjects to be halved, and what is known of their network.

    Attributes
    ----------
    moments : SubjectMoments
    persons : (S,) number of each series' person, from 0 on. Persons are never parted.
    strata : (S,) number of each series' stratum, such as its site. Halves are balanced in it.
    knowledge : Knowledge
    penalty : float
    max_parents : int
    """

    moments: SubjectMoments
    persons: Indices
    strata: Indices
    knowledge: Knowledge
    penalty: float
    max_parents: int

    def problem(self, rows: ArrayLike | None = None) -> SubjectsProblem:
        """Return the search problem of some of the subjects; by default of all."""
        moments = self.moments if rows is None else self.moments.take(rows)
        return SubjectsProblem.of_subjects(
            moments.R, moments.n, self.knowledge, self.penalty, self.max_parents, moments.names
        )

    def describe(self) -> dict[str, Any]:
        """Return what results depend on, so that a folder never holds those of two studies."""
        numbers = [np.round(self.moments.R, DIGITS), self.moments.n]
        return {
            "data": joblib.hash([*numbers, self.persons, self.strata, *self.knowledge]),
            "names": list(self.moments.names),
            "penalty": self.penalty,
            "max_parents": self.max_parents,
        }


def learn_halves(subjects: Subjects, n_pairs: int, seed: int, study: Study) -> EdgeConfidence:
    """Learn the networks of both halves of `n_pairs` splits; see `SeriesSGBN`.

    What a task gives depends on the subjects, the seed and its number only: a study can be taken up
    again with more pairs.
    """
    settings = subjects.describe() | {"seed": seed, "plan": list(PLAN)}
    shared = {"subjects": subjects, "seed": seed}
    tasks = {f"pair{k:05d}": {"number": k} for k in range(n_pairs)}
    results = study.run(learn_pair, tasks, settings, shared=shared)
    return gather_pairs([results[name] for name in tasks], subjects.moments.names)


def learn_pair(subjects: Subjects, seed: int, number: int) -> Arrays:
    """Share of each arrow in the equivalence classes of both halves, and what they agree on."""
    rng = np.random.default_rng([seed, number])
    halves = deal_persons(rng, 2, subjects.strata, subjects.persons)
    shares = []
    with one_blas_thread():
        for which in range(2):
            problem = subjects.problem(halves == which)
            best = search_subjects(problem, np.random.RandomState([seed, number, which]), PLAN)
            arrows = Arrows(problem.to_user(best.parents), subjects.knowledge)
            shares.append(arrow_shares(arrows.equivalence_class()))
    # no region is constant in a half: each subject's series was checked by itself
    none = np.zeros(subjects.moments.m, bool)
    return pair_result(shares, [none, none])


def arrow_shares(P: NDArray[np.bool_]) -> Array:
    """Count 1 for an arrow of an equivalence class, one half each way where it is open."""
    return np.where(P & P.T, 0.5, P.astype(float))
