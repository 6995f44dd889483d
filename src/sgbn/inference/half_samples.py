"""Networks learned from complementary halves of a sample.

Each pair splits the rows at random into two halves that share no row. Halves are used instead of
bootstrap samples: in a bootstrap sample, a row that is drawn twice looks like two subjects who
agree, and this multiplies the number of false edges several times.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sgbn.cohort.design import Sample, deal_rows
from sgbn.cohort.effects import without_nuisance
from sgbn.core.exceptions import InputError, warn
from sgbn.core.moments import constant_columns, moments_of, one_blas_thread
from sgbn.core.types import Array, Mask
from sgbn.core.validation import FEW_SAMPLES, MANY_PER_SAMPLE, warn_about_moments
from sgbn.inference.learning import check_learner, clean_part, described, learn_part
from sgbn.learn.base import UNDECIDED, NetworkEstimator
from sgbn.learn.confidence import EdgeConfidence
from sgbn.learn.ensemble import MIN_ROWS_TO_HALVE, gather_pairs, pair_result
from sgbn.learn.knowledge import KNOWLEDGE
from sgbn.runs.files import Arrays
from sgbn.runs.study import Study


def learn_halves(
    sample: Sample, learner: NetworkEstimator, n_pairs: int, random_state: int, study: Study
) -> EdgeConfidence:
    """Learn a network from each half of many splits, and count their arrows.

    The result of a pair depends only on the data, the learner, the seed and the number of the pair.
    So a study can be continued with more pairs.
    """
    check_rows(sample)
    warn_about_moments(moments_of(sample.values, sample.names), sample.names)
    check_learner(learner)
    tasks = {f"pair{k:05d}": {"pair": k} for k in range(n_pairs)}
    settings = described(sample, learner, random_state=random_state)
    shared = {"sample": sample, "learner": learner, "random_state": random_state}
    results = study.run(learn_pair, tasks, settings, shared=shared)
    return gather_pairs(list(results.values()), sample.names)


def learn_pair(sample: Sample, learner: NetworkEstimator, random_state: int, pair: int) -> Arrays:
    """Return the arrows of the networks of two halves, and the constant columns of each half."""
    # The pair's number is in the seed, so that a study with more pairs keeps the first ones.
    rng = np.random.default_rng([random_state, pair])
    part = deal_rows(rng, len(sample.values), 2, sample.strata, sample.units)
    seed = int(rng.integers(2**31))
    arrows, constant = [], []
    for which in range(2):
        half = sample.take(part == which)
        with one_blas_thread():
            # Effects estimated from all rows would make the halves depend on each other.
            left, _ = without_nuisance(half.values, half.nuisance)
        values = clean_part(learner, left, sample.names)
        constant.append(constant_columns(values))
        arrows.append(_learn_half(values, sample.names, learner, ~constant[-1], seed))
    return pair_result(arrows, constant)


def _learn_half(
    values: Array, names: Sequence[str], learner: NetworkEstimator, varies: Mask, seed: int
) -> Array:
    """Learn the network of one half and return its arrows; constant columns have no arrows."""
    columns = np.flatnonzero(varies)
    # Prior knowledge may use column numbers, which would be wrong once a column is left out.
    if len(columns) < len(names) and any(getattr(learner, name, None) for name in KNOWLEDGE):
        constant = names[int(np.flatnonzero(~varies)[0])]
        raise InputError(
            f"{constant!r} is constant in half of the rows, and the learner has prior knowledge "
            "about columns. Leave out this column or the knowledge."
        )
    kept = [names[k] for k in columns.tolist()]
    learned = learn_part(learner, values[:, columns], kept, seed, is_clean=True)
    # Arrows return to the positions that the columns have in the whole sample.
    arrows = np.zeros((len(names), len(names)))
    arrows[np.ix_(columns, columns)] = _arrows(learned)
    return arrows


def _arrows(learner: Any) -> Array:
    """Return 1 for each edge i -> j, or 0.5 in both directions if its direction is undecided."""
    support = learner.coef_ != 0
    share = np.zeros(support.shape)
    share[support] = np.where(np.isin(learner.edge_kinds_, UNDECIDED), 0.5, 1.0)
    undecided = np.where(share == 0.5, 0.5, 0.0)
    return share + undecided.T


def check_rows(sample: Sample) -> None:
    """Raise InputError if the halves of a sample are too small; warn if they are small."""
    n, m = sample.values.shape
    _, lost = without_nuisance(sample.values[:, :0], sample.nuisance)
    # Each half needs enough independent persons, and enough rows after effects are taken out.
    units = sample.n_units
    if min(units, n - 2 * lost) < MIN_ROWS_TO_HALVE:
        who = f"{n} rows" if units == n else f"{n} rows of {units} persons or families"
        effects = f", and sites and covariates use up {lost} of each half" if lost else ""
        raise InputError(
            f"there are {who}{effects}. Halves of fewer than {FEW_SAMPLES} rows say nothing about "
            f"edges. Give {MIN_ROWS_TO_HALVE} or more rows, or call weight_intervals for a fixed "
            "graph."
        )
    if n // 2 < m / MANY_PER_SAMPLE <= n:
        warn(
            f"halves have {n // 2} rows and {m} columns. Networks from so few rows are hardly more "
            "than noise, and the frequencies of edges are too low. Give fewer columns."
        )
