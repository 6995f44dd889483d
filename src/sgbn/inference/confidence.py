"""How sure the edges of any learner are: what halves of the sample agree on."""

from __future__ import annotations

from pathlib import Path

from numpy.typing import ArrayLike
from sklearn.base import clone

from sgbn.cohort import Cohort
from sgbn.exceptions import InputError
from sgbn.inference.half_samples import check_rows, learn_halves
from sgbn.inference.rows import read_sample
from sgbn.parameters import SEED, Whole
from sgbn.runs import Study
from sgbn.structure.base import NetworkEstimator
from sgbn.structure.ensemble import EdgeConfidence, SGBNEnsemble
from sgbn.structure.samples import Sample


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
    """Learn networks from each half of many splits of the rows, and count their arrows.

    By default these are the numbers of ``SGBNEnsemble(n_pairs=n_pairs).fit(X).confidence_``.

    Parameters
    ----------
    X : array-like of shape (n, m), DataFrame or Cohort
        At least 20 rows. What sites and covariates of a Cohort do to its regions is taken out of
        each half by itself; sites are balanced between halves, and the rows of a person stay
        together. Rows of arrays and tables are taken as they are.
    learner : estimator, optional
        Any learner of sgbn: one network of each half is learned by it. By default, or for an
        `SGBNEnsemble`, networks are drawn from the posterior of each half, which says more.
    group : str, optional
        The group of a Cohort that has several.
    n_pairs : int
        Number of splits. A frequency's Monte-Carlo error is at most ``0.5 / sqrt(n_pairs)``.
    random_state : int
        Seed of the splits. Results do not depend on `n_jobs`.
    n_jobs : int, optional
        Number of processes.
    folder : path, optional
        Where finished pairs are kept, so that a second start does only what is missing; more pairs
        can be asked for later.
    progress : bool
        Show a bar with the time left.

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
    """Do what `edge_confidence` does, for rows that were checked."""
    # An ensemble draws networks of each half itself; any other learner gives one network per half.
    if isinstance(learner, SGBNEnsemble):
        check_rows(sample)
        # One chain: frequencies come from the half samples, and chains of the whole sample are not
        # used.
        settings = {"n_chains": 1, "n_pairs": n_pairs, "random_state": random_state}
        confidence = clone(learner).set_params(**settings).fit_sample(sample, study).confidence_
        # The ensemble goes without half samples where they are too small; here they are what was
        # asked for.
        if confidence is None:
            raise InputError(
                f"too few of the {len(sample.values)} rows are left for two halves, once outliers, "
                "sites and covariates are taken out. Give more rows, or fewer covariates."
            )
        return confidence
    return learn_halves(sample, learner, n_pairs, random_state, study)
