"""The comparison of classifiers: random splits, learning in one part, and scores in the other.

Exp-III, its canary and benchmarks/classifiers.py use this protocol.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import StratifiedShuffleSplit

from sgbn.cohort.cohort import Cohort
from sgbn.core.types import Array
from sgbn.learn.peers import COVARIATES_ALONE, covariates_alone
from sgbn.prepare.pipeline import cohort_table, make_analysis

Rows = tuple[NDArray[Any], NDArray[Any]]  # rows of the training part and of the test part


class Problem(NamedTuple):
    """One split: prepared regions, labels and covariates of the training and the test part."""

    train: Array
    y_train: NDArray[Any]
    test: Array
    y_test: NDArray[Any]
    covariates: tuple[pd.DataFrame, pd.DataFrame] = (pd.DataFrame(), pd.DataFrame())
    smooth: tuple[str, ...] = ()  # covariates whose effects are curves


class Outcome(NamedTuple):
    """The scores of a classifier on one split.

    A score is NaN if the classifier failed, or does not have this score. `growth` is the largest
    relative increase of the fitting error of a network by moving its edges.
    """

    balanced: float = np.nan
    log_loss: float = np.nan
    growth: float = np.nan
    failure: str = ""


def splits(
    cohort: Cohort, sizes: tuple[int, int | None], random_state: int, n_splits: int = 1
) -> Iterable[Rows]:
    """Return rows for training and testing. Both parts have the same shares of the groups.

    `sizes` are the numbers of training and test rows. None takes all other rows for testing.
    """
    n_train, n_test = sizes
    splitter = StratifiedShuffleSplit(
        n_splits, train_size=n_train, test_size=n_test, random_state=random_state
    )
    return splitter.split(cohort.values, cohort.group)


def prepare(cohort: Cohort, y: NDArray[Any], rows: Rows, regions: int) -> Problem:
    """Prepare both parts by the steps of `make_analysis`, which learn from the training part."""
    train, test = rows
    table = cohort_table(cohort)
    # These are the steps of a user's pipeline, without the classifier.
    steps = make_analysis(cohort, k=regions)[:-1]
    with warnings.catch_warnings():
        # The steps warn of columns that are unusual in one of many splits.
        warnings.simplefilter("ignore")
        inside = steps.fit_transform(table.iloc[train], y[train]).to_numpy()
        outside = steps.transform(table.iloc[test]).to_numpy()
    beside = table[[column for column in table if column not in cohort.regions]]
    covariates = beside.iloc[train], beside.iloc[test]
    return Problem(inside, y[train], outside, y[test], covariates, cohort.smooth)


def evaluate_all(classifiers: Mapping[str, Any], problem: Problem) -> dict[str, Outcome]:
    """Return the outcome of each classifier, and of the covariates alone if there are any."""
    outcomes = {name: evaluate(method, problem) for name, method in classifiers.items()}
    if problem.covariates[0].shape[1]:
        alone = covariates_alone(problem.smooth)
        outcomes[COVARIATES_ALONE] = evaluate(alone, problem, on_covariates=True)
    return outcomes


def evaluate(classifier: Any, problem: Problem, on_covariates: bool = False) -> Outcome:
    """Fit and test a classifier. A failure is stored in the outcome, and the run goes on."""
    train, test = problem.covariates if on_covariates else (problem.train, problem.test)
    try:
        with warnings.catch_warnings():
            # Warnings of collapsed margins or rare classes are not needed: accuracies show them.
            warnings.simplefilter("ignore")
            classifier.fit(train, problem.y_train)
            predicted = classifier.predict(test)
    except Exception as error:
        return Outcome(failure=f"{type(error).__name__}: {error}")
    # Only discriminative classifiers have fitting errors before and after the moves.
    loss, errors = np.nan, getattr(classifier, "fitting_errors_", None) or {}
    if hasattr(classifier, "predict_proba"):
        probabilities = classifier.predict_proba(test)
        # Classes are named, because a small test part may lack one of them.
        loss = float(log_loss(problem.y_test, probabilities, labels=classifier.classes_))
    return Outcome(
        balanced_accuracy_score(problem.y_test, predicted),
        loss,
        max((after / before - 1 for before, after, _ in errors.values()), default=np.nan),
    )
