"""Networks learned from complementary halves of a sample.

A pair splits the rows at random into two halves that share no row. Halves, not bootstrap samples: a
row that is drawn twice looks like two subjects who agree, and multiplies the false edges of a
network several times.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from sgbn.ensemble.confidence import EdgeConfidence
from sgbn.ensemble.parts import gather_pairs, pair_result
from sgbn.ensemble.splits import deal_rows
from sgbn.exceptions import InputError, warn
from sgbn.inference.learning import check_learner, clean_part, learn_part
from sgbn.inference.rows import Rows
from sgbn.moments import constant_columns, moments_of
from sgbn.runs import Arrays, run_study
from sgbn.structure.base import UNDECIDED, NetworkEstimator
from sgbn.validation import FEW_SAMPLES, MANY_A_SAMPLE, warn_about_moments

Array = NDArray[np.float64]

FEWEST_ROWS = 2 * FEW_SAMPLES
KNOWLEDGE = ("forbidden", "required", "tiers")  # parameters that speak of columns


def learn_halves(
    rows: Rows,
    learner: NetworkEstimator,
    n_pairs: int,
    random_state: int,
    *,
    n_jobs: int | None = None,
    folder: str | Path | None = None,
    progress: bool = False,
) -> EdgeConfidence:
    """Count the arrows of the networks of all halves.

    What a pair gives depends on the data, the learner, the seed and its number only: a folder can
    be taken up again with more pairs.
    """
    check_rows(rows)
    check_learner(learner)
    tasks = {f"pair{k:05d}": {"pair": k} for k in range(n_pairs)}
    settings = {
        "data": hashlib.sha256(rows.values.tobytes()).hexdigest(),
        "regions": rows.names,
        "learner": repr(learner),
        "learner_parameters": joblib.hash(learner.get_params()),  # long ones are cut in the repr
        "random_state": random_state,
    }
    results = run_study(
        folder,
        learn_pair,
        tasks,
        settings,
        shared={"rows": rows, "learner": learner, "random_state": random_state},
        n_jobs=n_jobs,
        progress=progress,
    )
    return gather_pairs(list(results.values()), rows.names)


def learn_pair(rows: Rows, learner: NetworkEstimator, random_state: int, pair: int) -> Arrays:
    """Arrows of the networks of one pair of halves, and which columns are constant in each."""
    rng = np.random.default_rng([random_state, pair])
    part = deal_rows(rng, len(rows.values), 2)
    seed = int(rng.integers(2**31))
    arrows, constant = [], []
    for which in range(2):
        values = clean_part(learner, rows.values[part == which], rows.names)
        constant.append(constant_columns(values))
        arrows.append(_learn_half(values, rows.names, learner, ~constant[-1], seed))
    return pair_result(arrows, constant)


def _learn_half(
    values: Array,
    names: Sequence[str],
    learner: NetworkEstimator,
    varies: NDArray[np.bool_],
    seed: int,
) -> Array:
    """Arrows of the network of a half; a column that is constant in it has none."""
    columns = np.flatnonzero(varies)
    if len(columns) < len(names) and any(getattr(learner, name, None) for name in KNOWLEDGE):
        constant = names[int(np.flatnonzero(~varies)[0])]
        raise InputError(
            f"{constant!r} is constant in half of the rows, and the learner has prior knowledge "
            "about columns. Leave this column out, or the knowledge."
        )
    kept = [names[k] for k in columns.tolist()]
    learned = learn_part(learner, values[:, columns], kept, seed, is_clean=True)
    arrows = np.zeros((len(names), len(names)))
    arrows[np.ix_(columns, columns)] = _arrows(learned)
    return arrows


def _arrows(learner: Any) -> Array:
    """One for each edge i -> j of a network; one half either way where nothing directs it."""
    support = learner.coef_ != 0
    share = np.zeros(support.shape)
    share[support] = np.where(np.isin(learner.edge_kinds_, UNDECIDED), 0.5, 1.0)
    open_ways = np.where(share == 0.5, 0.5, 0.0)
    return share + open_ways.T


def check_rows(rows: Rows) -> None:
    """Refuse a sample whose halves are too small."""
    n, m = rows.values.shape
    if n < FEWEST_ROWS:
        raise InputError(
            f"there are {n} rows: halves of fewer than {FEW_SAMPLES} rows tell nothing about "
            f"edges. Give {FEWEST_ROWS} or more, or take a graph as given and ask for "
            "weight_intervals."
        )
    warn_about_moments(moments_of(rows.values, rows.names), rows.names)
    if n // 2 < m / MANY_A_SAMPLE <= n:
        warn(
            f"halves have {n // 2} rows of {m} columns: networks of so few are hardly more than "
            "noise, and frequencies too low. Take fewer columns."
        )
