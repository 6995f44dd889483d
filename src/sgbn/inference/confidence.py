"""The confidence of edges: how often the networks of half samples have an edge (any learner)."""

from __future__ import annotations

from pathlib import Path

from numpy.typing import ArrayLike
from sklearn.base import clone

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.design import Sample
from sgbn.cohort.rows import read_sample
from sgbn.core.exceptions import InputError
from sgbn.core.validation import SEED, Whole
from sgbn.inference.half_samples import check_rows, learn_halves
from sgbn.learn.base import NetworkEstimator
from sgbn.learn.confidence import EdgeConfidence
from sgbn.learn.ensemble import SGBNEnsemble
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
    >>> from sgbn.inference import edge_confidence
    >>> X = np.random.default_rng(0).standard_normal((200, 4))
    >>> X[:, 2] += X[:, 0] + X[:, 1]
    >>> confidence = edge_confidence(X, n_pairs=10)
    >>> sorted(confidence.edges(least=0.9)[["source", "target"]].tolist())
    [('x0', 'x2'), ('x1', 'x2')]
    """
    return sample_confidence(
        read_sample(X, group),
        SGBNEnsemble() if learner is None else learner,
        Whole(1).check("n_pairs", n_pairs),
        SEED.check("random_state", random_state),
        Study(folder, n_jobs, progress),
    )


def sample_confidence(
    sample: Sample, learner: NetworkEstimator, n_pairs: int, random_state: int, study: Study
) -> EdgeConfidence:
    """Return the same as `edge_confidence`, for a sample that was checked."""
    # An ensemble draws many networks from each half. Any other learner learns one.
    if isinstance(learner, SGBNEnsemble):
        check_rows(sample)
        # One chain is enough: frequencies come from the half samples, not from chains of the whole
        # sample.
        settings = {"n_chains": 1, "n_pairs": n_pairs, "random_state": random_state}
        confidence = clone(learner).set_params(**settings).fit_sample(sample, study).confidence_
        # An ensemble skips half samples that would be too small. Here the user asked for nothing
        # else, so that this is an error.
        if confidence is None:
            raise InputError(
                f"too few of the {len(sample.values)} rows remain for two halves after outliers, "
                "sites and covariates are taken out. Give more rows, or fewer covariates."
            )
        return confidence
    return learn_halves(sample, learner, n_pairs, random_state, study)
