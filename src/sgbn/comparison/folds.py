"""The folds of a cross-validation, and its accuracy after exchanges of the labels.

All rows of a person or of a family are in the same fold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.design import Exchange
from sgbn.comparison.accuracy import METRICS, fold_score, parts_of
from sgbn.comparison.settings import Settings
from sgbn.core.exceptions import InputError
from sgbn.core.types import Array, Indices, Mask
from sgbn.learn.peers import FOLDS
from sgbn.runs.study import Study


def folds_of_repeats(cohort: Cohort, settings: Settings) -> Indices:
    """Return the number of the fold of each subject in each repeat, shape (n_repeats, n)."""
    n_repeats = settings.repeats(cohort)
    return np.array([fold_numbers(cohort, settings, repeat) for repeat in range(n_repeats)])


def fold_numbers(cohort: Cohort, settings: Settings, repeat: int) -> Indices:
    """Return the number of the fold of each subject in one repeat."""
    labels, units = np.asarray(cohort.group), cohort.units
    n_folds = min(settings.n_folds, _smallest(cohort))
    if n_folds < 2:
        raise InputError(
            "all rows of a group belong to one person or family, so the group cannot be divided "
            "into folds. Add other persons or families, or leave out --block (block=)."
        )
    splitter = StratifiedKFold if units is None else StratifiedGroupKFold
    # Each repeat has its own seed, so that more repeats do not change the first ones.
    split = splitter(n_folds, shuffle=True, random_state=settings.seed + repeat)
    folds = np.empty(len(labels), np.intp)
    # Splitters use only the length of the first argument, so regions have no effect on folds.
    for fold, (_, test) in enumerate(split.split(labels, labels, units)):
        folds[test] = fold
    return folds


def _smallest(cohort: Cohort) -> int:
    """Return the size of the smallest group in subjects, or in persons or families if known."""
    return min(cohort.unit_counts.values())


def inner_folds(cohort: Cohort, settings: Settings) -> int:
    """Return the number of folds that the smallest group allows inside each training part."""
    smallest = _smallest(cohort)
    largest_test = -(-smallest // min(settings.n_folds, smallest))  # rounded up
    return min(FOLDS, smallest - largest_test)


def run_exchanges(
    task: Callable[..., dict[str, Any]],
    settings: Settings,
    study: Study,
    described: Mapping[str, Any],
    shared: Mapping[str, Any],
) -> Array:
    """Run a task once per exchange of the labels, and return the accuracies.

    Parameters
    ----------
    task : callable
        A function of the number of the exchange and the `shared` arguments. It returns
        {"accuracy": ...}.
    settings : Settings
        The settings. `accuracy_permutations` is the number of exchanges.
    study : Study
        The study that runs the tasks and keeps their results.
    described : mapping
        A description of the study. Kept results are used only if it is the same.
    shared : mapping
        The arguments that all tasks share.
    """
    tasks = {str(k): {"number": k} for k in range(settings.accuracy_permutations)}
    results = study.run(task, tasks, dict(described), shared=dict(shared))
    return np.array([float(results[name]["accuracy"]) for name in tasks])


def exchanged_accuracy(
    cohort: Cohort,
    settings: Settings,
    exchange: Exchange,
    number: int,
    classify: Callable[[Any, Mask], Array],
) -> dict[str, Any]:
    """Return the balanced accuracy after one exchange of the labels: the mean over all folds.

    Parameters
    ----------
    cohort : Cohort
        The cohort with the observed labels.
    settings : Settings
        The settings: folds and seed are used.
    exchange : Exchange
        It draws exchanges that the design allows.
    number : int
        The number of the exchange.
    classify : callable
        A function of the cohort with exchanged labels and a mask of test subjects. It trains on the
        other subjects, and returns the probabilities of the test subjects.
    """
    # The number is part of the seed, so that results do not depend on the order of the tasks.
    rows = exchange.draw(np.random.default_rng([settings.seed, number]))
    exchanged = replace(cohort, group=np.asarray(cohort.group)[rows])
    labels = np.asarray(exchanged.group)
    scores = [
        fold_score(METRICS[0], labels[test], classify(exchanged, test), exchanged.groups)
        # The folds are new, balanced by the new labels. One repeat is enough, because p compares
        # with the first repeat.
        for test in parts_of(fold_numbers(exchanged, settings, 0))
    ]
    return {"accuracy": np.mean(scores)}
