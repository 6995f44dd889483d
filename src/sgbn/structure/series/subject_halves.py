"""Networks of halves of the subjects, and what they agree on."""

from __future__ import annotations

from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from sgbn.moments import one_blas_thread
from sgbn.runs import Arrays, Study
from sgbn.search.subjects import TABLES, SubjectsProblem, search_subjects
from sgbn.structure.base import Arrows
from sgbn.structure.ensemble.confidence import EdgeConfidence
from sgbn.structure.ensemble.parts import gather_pairs, pair_result
from sgbn.structure.ensemble.splits import deal_rows
from sgbn.structure.knowledge import Knowledge
from sgbn.structure.series.subject_moments import SubjectMoments
from sgbn.types import Array

Labels = tuple[NDArray[Any] | None, NDArray[Any] | None]  # strata, and units that are never parted
DIGITS = 8  # of correlations, that other machines compute alike
PLAN = TABLES._replace(patience=1)  # a hundred halves make up for one that a longer search mends


def learn_halves(
    moments: SubjectMoments,
    knowledge: Knowledge,
    penalty: float,
    max_parents: int,
    n_pairs: int,
    seed: int,
    labels: Labels,
    study: Study,
) -> EdgeConfidence:
    """Learn the networks of both halves of `n_pairs` splits; see `SeriesSGBN`.

    What a task gives depends on the data, the parameters, the seed and its number only: a study can
    be taken up again with more pairs.
    """
    shared = {
        "moments": moments,
        "knowledge": knowledge,
        "penalty": penalty,
        "max_parents": max_parents,
        "seed": seed,
        "labels": labels,
    }
    numbers = [np.round(moments.R, DIGITS), np.round(moments.n, DIGITS)]
    settings = {
        "data": joblib.hash([*numbers, *knowledge, *labels]),
        "names": list(moments.names),
        "penalty": penalty,
        "max_parents": max_parents,
        "seed": seed,
        "plan": list(PLAN),
    }
    tasks = {f"pair{k:05d}": {"number": k} for k in range(n_pairs)}
    results = study.run(learn_pair, tasks, settings, shared=shared)
    return gather_pairs([results[name] for name in tasks], moments.names)


def learn_pair(
    moments: SubjectMoments,
    knowledge: Knowledge,
    penalty: float,
    max_parents: int,
    seed: int,
    labels: Labels,
    number: int,
) -> Arrays:
    """Share of each arrow in the equivalence classes of both halves, and what they agree on."""
    rng = np.random.default_rng([seed, number])
    halves = deal_rows(rng, len(moments), 2, *labels)
    shares = []
    with one_blas_thread():
        for which in range(2):
            rows = np.flatnonzero(halves == which)
            problem = SubjectsProblem.of_subjects(
                moments.R[rows], moments.n[rows], knowledge, penalty, max_parents, moments.names
            )
            own = np.random.RandomState([seed, number, which])
            found = search_subjects(problem, own, PLAN)
            arrows = Arrows(problem.to_user(found.parents), knowledge)
            shares.append(arrow_shares(arrows.equivalence_class()))
    none = np.zeros(moments.m, bool)
    return pair_result(shares, [none, none])


def arrow_shares(P: NDArray[np.bool_]) -> Array:
    """Count 1 for an arrow of an equivalence class, one half each way where it is open."""
    found: Array = np.where(P & P.T, 0.5, P.astype(float))
    return found
