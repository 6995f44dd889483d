"""How classifiers are compared: random splits, learning in one part and scores in the other.

Exp-III, its canary and benchmarks/classifiers.py share this protocol.
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

from sgbn.cohort import Cohort
from sgbn.comparison.peers import COVARIATES_ALONE, covariates_alone
from sgbn.preprocessing import cohort_table, make_analysis
from sgbn.types import Array

Rows = tuple[NDArray[Any], NDArray[Any]]  # of the training and of the test part


class Problem(NamedTuple):
    """One split: regions ready to classify by, labels, and the covariates beside them."""

    train: Array
    y_train: NDArray[Any]
    test: Array
    y_test: NDArray[Any]
    covariates: tuple[pd.DataFrame, pd.DataFrame] = (pd.DataFrame(), pd.DataFrame())
    smooth: tuple[str, ...] = ()  # covariates whose effects are curves


class Outcome(NamedTuple):
    """What a classifier made of one split; NaN where it failed or has no such number.

    `growth` is the largest share of fitting error that moving a network added.
    """

    balanced: float = np.nan
    log_loss: float = np.nan
    growth: float = np.nan
    failure: str = ""


def splits(
    cohort: Cohort, sizes: tuple[int, int | None], random_state: int, n_splits: int = 1
) -> Iterable[Rows]:
    """Rows for training and for testing (None: all others), in equal shares of the groups."""
    n_train, n_test = sizes
    splitter = StratifiedShuffleSplit(
        n_splits, train_size=n_train, test_size=n_test, random_state=random_state
    )
    return splitter.split(cohort.values, cohort.group)


def prepare(cohort: Cohort, y: NDArray[Any], rows: Rows, regions: int) -> Problem:
    """Impute, regress covariates out, choose regions and standardise, all by the training part."""
    train, test = rows
    table = cohort_table(cohort)
    # The same steps as a user's pipeline, so that what is measured is what a user gets.
    steps = make_analysis(cohort, k=regions)[:-1]  # without its classifier
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns that are odd in one of many splits
        inside = steps.fit_transform(table.iloc[train], y[train]).to_numpy()
        outside = steps.transform(table.iloc[test]).to_numpy()
    beside = table[[column for column in table if column not in cohort.regions]]
    covariates = beside.iloc[train], beside.iloc[test]
    return Problem(inside, y[train], outside, y[test], covariates, cohort.smooth)


def evaluate_all(classifiers: Mapping[str, Any], problem: Problem) -> dict[str, Outcome]:
    """Outcome of each classifier and, where there are covariates, of these alone."""
    outcomes = {name: evaluate(method, problem) for name, method in classifiers.items()}
    if problem.covariates[0].shape[1]:
        alone = covariates_alone(problem.smooth)
        outcomes[COVARIATES_ALONE] = evaluate(alone, problem, on_covariates=True)
    return outcomes


def evaluate(classifier: Any, problem: Problem, on_covariates: bool = False) -> Outcome:
    """Fit and test; a failure is part of the result, not the end of the run."""
    train, test = problem.covariates if on_covariates else (problem.train, problem.test)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # collapsed margins, rare classes: see the accuracies
            classifier.fit(train, problem.y_train)
            predicted = classifier.predict(test)
    except Exception as error:
        return Outcome(failure=f"{type(error).__name__}: {error}")
    # Only discriminative classifiers have them: fitting errors before and after the moves.
    loss, errors = np.nan, getattr(classifier, "fitting_errors_", None) or {}
    if hasattr(classifier, "predict_proba"):
        probabilities = classifier.predict_proba(test)
        # Named, since a small test part may lack a class that the classifier knows.
        loss = float(log_loss(problem.y_test, probabilities, labels=classifier.classes_))
    return Outcome(
        balanced_accuracy_score(problem.y_test, predicted),
        loss,
        max((after / before - 1 for before, after, _ in errors.values()), default=np.nan),
    )
