"""Networks learned from complementary halves of a sample.

A pair splits the rows at random into two halves that share no row (one row is left over where
their number is odd). Halves, not bootstrap samples: a row that is drawn twice looks like two
subjects who agree, and multiplies the false edges of a network several times.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

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

FOUND = np.dtype(
    [
        ("half", np.int64),
        ("source", np.int64),
        ("target", np.int64),
        ("weight", np.float64),
        ("decided", np.bool_),
    ]
)


def learn_halves(
    rows: Rows,
    learner: NetworkEstimator,
    n_pairs: int,
    random_state: int,
    *,
    n_jobs: int | None = None,
    folder: str | Path | None = None,
    progress: bool = False,
) -> NDArray[Any]:
    """Edges of the networks of all halves, as a structured array of dtype `FOUND`.

    Halves 2k and 2k + 1 are the pair k. What a pair gives depends on the data, the learner, the
    seed and k only: a folder can be taken up again with more pairs.
    """
    _check_rows(rows)
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
    _warn_about_constants([result["constant"] for result in results.values()], rows)
    return np.concatenate([result["found"] for result in results.values()])


def learn_pair(rows: Rows, learner: NetworkEstimator, random_state: int, pair: int) -> Arrays:
    """Edges of the networks of one pair of halves, and which columns are constant in each."""
    rng = np.random.default_rng([random_state, pair])
    n, m = rows.values.shape
    shuffled = rng.permutation(n)
    halves = np.sort(shuffled[: 2 * (n // 2)].reshape(2, n // 2), axis=1)
    seed = int(rng.integers(2**31))
    found, constant = [], np.zeros((2, m), bool)
    for which, half in enumerate(halves):
        values = clean_part(learner, rows.values[half], rows.names)
        constant[which] = constant_columns(values)
        edges = _learn_half(values, rows.names, learner, ~constant[which], seed)
        edges["half"] = 2 * pair + which
        found.append(edges)
    return {"found": np.concatenate(found), "constant": constant}


def _learn_half(
    values: Array,
    names: Sequence[str],
    learner: NetworkEstimator,
    varies: NDArray[np.bool_],
    seed: int,
) -> NDArray[Any]:
    """Edges of the network of a half; a column that is constant in it has none."""
    columns = np.flatnonzero(varies)
    if len(columns) < len(names) and any(getattr(learner, name, None) for name in KNOWLEDGE):
        constant = names[int(np.flatnonzero(~varies)[0])]
        raise InputError(
            f"{constant!r} is constant in half of the rows, and the learner has prior knowledge "
            "about columns. Leave this column out, or the knowledge."
        )
    kept = [names[k] for k in columns.tolist()]
    learned = learn_part(learner, values[:, columns], kept, seed, is_clean=True)
    return _edges(learned, columns)


def _edges(learner: Any, columns: NDArray[np.intp]) -> NDArray[Any]:
    i, j = np.nonzero(learner.coef_)
    edges = np.empty(len(i), FOUND)
    edges["source"], edges["target"] = columns[i], columns[j]
    edges["weight"] = learner.coef_[i, j]
    edges["decided"] = ~np.isin(learner.edge_kinds_, UNDECIDED)
    return edges


def _check_rows(rows: Rows) -> None:
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


def _warn_about_constants(constant: Sequence[NDArray[Any]], rows: Rows) -> None:
    counts = np.concatenate(constant).sum(axis=0)
    if counts.any():
        worst = int(np.argmax(counts))
        warn(
            f"{rows.names[worst]!r} is constant in {counts[worst]} of {2 * len(constant)} halves, "
            f"and has no edge there ({int((counts > 0).sum())} such columns). Its frequencies are "
            "too low: leave it out, or read them with care."
        )
