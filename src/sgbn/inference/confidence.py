"""The confidence of edges: how often the networks of half samples have an edge (any learner).

Networks learned from complementary halves of a sample.

Each pair splits the rows at random into two halves that share no row. Halves are used instead of
bootstrap samples: in a bootstrap sample, a row that is drawn twice looks like two subjects who
agree, and this multiplies the number of false edges several times.

The learning of networks from parts of a sample, such as halves or all folds except one.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.effects import without_nuisance
from sgbn.cohort.rows import Rows, rows_of_group
from sgbn.core.moments import constant_columns, moments_of, one_blas_thread
from sgbn.core.problems import DataWarning, InputError
from sgbn.core.types import Array, Mask
from sgbn.core.validation import (
    MANY_PER_SAMPLE,
    SEED,
    Whole,
    check_parameters,
    warn_about_moments,
    warn_few_samples,
)
from sgbn.learn.base import UNDECIDED, NetworkEstimator, check_kind
from sgbn.learn.confidence import EdgeConfidence
from sgbn.learn.ensemble import (
    MIN_ROWS_TO_HALVE,
    SGBNEnsemble,
    described,
    gather_pairs,
    pair_result,
)
from sgbn.learn.knowledge import KNOWLEDGE
from sgbn.runs.files import Arrays
from sgbn.runs.study import Study


def edge_confidence(
    X: ArrayLike | Cohort,
    learner: NetworkEstimator | None = None,
    *,
    group: str | None = None,
    n_pairs: int = 50,
    random_state: int = 0,
    n_jobs: int | None = None,
    folder: str | Path | None = None,
    progress: bool = False,
) -> EdgeConfidence:
    """Split the rows into halves many times, learn networks from each half, and count their arrows.

    By default the result is the same as ``SGBNEnsemble(n_pairs=n_pairs).fit(X).confidence_``.

    Parameters
    ----------
    X : array-like of shape (n, m), DataFrame or Cohort
        At least 20 rows. The effects of a Cohort's sites and covariates are taken out of each half
        separately. Sites are balanced between halves, and the rows of a person stay together.
        Arrays and tables are used as they are.
    learner : estimator, optional
        Any learner of sgbn. It learns one network from each half. An `SGBNEnsemble`, which is the
        default, draws many networks from the posterior of each half. This is more precise.
    group : str, optional
        The group to use, if a Cohort has several.
    n_pairs : int
        Number of splits. The Monte-Carlo error of a frequency is at most ``0.5 / sqrt(n_pairs)``.
    random_state : int
        Seed of the splits. Results do not depend on `n_jobs`.
    n_jobs : int, optional
        Number of processes.
    folder : path, optional
        Folder that keeps the finished splits. A second start computes only the missing splits. It
        may ask for more splits than the first start.
    progress : bool
        Whether to show a bar with the time left.

    Returns
    -------
    EdgeConfidence

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.inference.confidence import edge_confidence
    >>> X = np.random.default_rng(0).standard_normal((200, 4))
    >>> X[:, 2] += X[:, 0] + X[:, 1]
    >>> confidence = edge_confidence(X, n_pairs=10)
    >>> sorted(confidence.edges(least=0.9)[["source", "target"]].tolist())
    [('x0', 'x2'), ('x1', 'x2')]
    """
    return sample_confidence(
        rows_of_group(X, group),
        SGBNEnsemble() if learner is None else learner,
        Whole(1).check("n_pairs", n_pairs),
        SEED.check("random_state", random_state),
        Study(folder, n_jobs, progress),
    )


def sample_confidence(
    rows: Rows, learner: NetworkEstimator, n_pairs: int, random_state: int, study: Study
) -> EdgeConfidence:
    """Return the same as `edge_confidence`, for rows that were checked."""
    # An ensemble draws many networks from each half. Any other learner learns one.
    if isinstance(learner, SGBNEnsemble):
        check_rows(rows)
        # One chain is enough: frequencies come from the half samples, not from chains of the whole
        # sample.
        settings = {"n_chains": 1, "n_pairs": n_pairs, "random_state": random_state}
        confidence = clone(learner).set_params(**settings).fit_rows(rows, study).confidence_
        # An ensemble skips half samples that would be too small. Here the user asked for nothing
        # else, so that this is an error.
        if confidence is None:
            raise InputError("halves.few", n=len(rows)).says(
                "too few of {n:row} remain for two halves", "Give more rows, or fewer covariates."
            )
        return confidence
    return learn_halves(rows, learner, n_pairs, random_state, study)


def learn_halves(
    rows: Rows, learner: NetworkEstimator, n_pairs: int, random_state: int, study: Study
) -> EdgeConfidence:
    """Learn a network from each half of many splits, and count their arrows.

    The result of a pair depends only on the data, the learner, the seed and the number of the pair.
    So a study can be continued with more pairs.
    """
    check_rows(rows)
    warn_about_moments(moments_of(rows.values, rows.names), rows.names)
    check_learner(learner)
    tasks = {f"pair{k:05d}": {"pair": k} for k in range(n_pairs)}
    settings = described(rows, learner, random_state=random_state)
    shared = {"rows": rows, "learner": learner, "random_state": random_state}
    results = study.run(learn_pair, tasks, settings, shared=shared)
    return gather_pairs(list(results.values()), rows.names)


def learn_pair(rows: Rows, learner: NetworkEstimator, random_state: int, pair: int) -> Arrays:
    """Return the arrows of the networks of two halves, and the constant columns of each half."""
    # The pair's number is in the seed, so that a study with more pairs keeps the first ones.
    rng = np.random.default_rng([random_state, pair])
    part = rows.design.deal(rng)
    seed = int(rng.integers(2**31))
    arrows, constant = [], []
    for which in range(2):
        half = rows.subset(part == which)
        with one_blas_thread():
            # Effects estimated from all rows would make the halves depend on each other.
            left, _ = without_nuisance(half.values, half.effects)
        with warnings.catch_warnings():
            # Warnings about single parts are not shown, since the whole sample was checked before.
            warnings.simplefilter("ignore", DataWarning)
            values = clone(learner).clean(np.ascontiguousarray(left), list(rows.names))
        constant.append(constant_columns(values))
        arrows.append(_learn_half(values, rows.names, learner, ~constant[-1], seed))
    return pair_result(arrows, constant)


def _learn_half(
    values: Array, names: Sequence[str], learner: NetworkEstimator, varies: Mask, seed: int
) -> Array:
    """Learn the network of one half and return its arrows; constant columns have no arrows."""
    columns = np.flatnonzero(varies)
    # Prior knowledge may use column numbers, which would be wrong once a column is left out.
    if len(columns) < len(names) and any(getattr(learner, name, None) for name in KNOWLEDGE):
        raise InputError("halves.knowledge", column=names[int(varies.argmin())]).says(
            "{column} is constant in half of the rows",
            "Leave it out, or leave out prior knowledge.",
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
    return share + np.where(share == 0.5, 0.5, 0.0).T


def check_rows(rows: Rows) -> None:
    """Raise InputError if the halves of a sample are too small; warn if they are small."""
    n, m = rows.values.shape
    _, lost = without_nuisance(rows.values[:, :0], rows.effects)
    # Each half needs enough independent persons, and enough rows after effects are taken out.
    units = rows.design.n_units
    if min(units, n - 2 * lost) < MIN_ROWS_TO_HALVE:
        least = MIN_ROWS_TO_HALVE + 2 * lost
        raise InputError("halves.few", units=units, least=least).says(
            "half samples of {units:independent row} are too small", "Give {least} rows or more."
        )
    if n >= m / MANY_PER_SAMPLE:
        warn_few_samples(n // 2, m)


def check_learner(learner: Any) -> NetworkEstimator:
    """Return the learner; raise InputError for a wrong parameter or another kind of object."""
    check_kind(learner, NetworkEstimator)
    check_parameters(learner)
    return learner


def learn_part(
    learner: NetworkEstimator,
    values: Array,
    names: Sequence[str],
    seed: int = 0,
    *,
    is_clean: bool = False,
) -> NetworkEstimator:
    """Fit a copy of a learner to a part of a sample. The whole sample was checked before.

    The learner leaves out outliers of the part, unless `is_clean` says that no more rows are to be
    left out. Warnings about single parts are not shown, since there are many parts. A learner
    without a seed gets `seed`, so that results can be repeated.
    """
    copy = clone(learner)
    # Learners without the parameter random_state need no seed.
    if copy.get_params().get("random_state", 0) is None:
        copy.set_params(random_state=seed)
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore", DataWarning)
        values = np.ascontiguousarray(values)
        if not is_clean:
            values = copy.clean(values, list(names))
        return copy.learn(copy.moments(values, list(names)), values, list(names))
