"""Folds of a cross-validation, and its accuracy when the labels are exchanged.

The rows of one person or of one family are always in one fold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from sgbn.cohort import Cohort
from sgbn.comparison.accuracy import METRICS, fold_score, parts_of
from sgbn.comparison.peers import FOLDS
from sgbn.comparison.settings import Settings
from sgbn.exceptions import InputError
from sgbn.inference.exchange import Exchange
from sgbn.runs import Study
from sgbn.types import Array, Indices, Mask


def folds_of_repeats(cohort: Cohort, settings: Settings) -> Indices:
    """Fold of each subject in each repeat, shape (n_repeats, n)."""
    n_repeats = settings.repeats(cohort)
    return np.array([fold_numbers(cohort, settings, repeat) for repeat in range(n_repeats)])


def fold_numbers(cohort: Cohort, settings: Settings, repeat: int) -> Indices:
    """Fold of each subject; the rows of one person and of one family are in one fold."""
    labels, units = np.asarray(cohort.group), cohort.units
    n_folds = min(settings.n_folds, _smallest(cohort))
    if n_folds < 2:
        raise InputError(
            "all rows of a group are of one person or family, so that none can be left out. Add "
            "others, or leave out --block (block=)."
        )
    splitter = StratifiedKFold if units is None else StratifiedGroupKFold
    # an own seed per repeat: more repeats leave the first ones as they are
    split = splitter(n_folds, shuffle=True, random_state=settings.seed + repeat)
    folds = np.empty(len(labels), np.intp)
    # Of its first argument a splitter asks the length alone: regions play no part.
    for fold, (_, test) in enumerate(split.split(labels, labels, units)):
        folds[test] = fold
    return folds


def _smallest(cohort: Cohort) -> int:
    """Size of the smallest group: subjects, or persons or families if rows belong to these."""
    return min(cohort.unit_counts.values())


def inner_folds(cohort: Cohort, settings: Settings) -> int:
    """Folds that the smallest group allows in each training part."""
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
    """Run a task once per exchange of the labels, and collect its accuracies."""
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
    """Balanced accuracy after one exchange of the labels: the mean over the folds of one repeat.

    `classify` gives the probabilities of the subjects that are marked, with exchanged labels.
    """
    # seeded by the number, so that a result does not depend on which process computes it
    rows = exchange.draw(np.random.default_rng([settings.seed, number]))
    exchanged = replace(cohort, group=np.asarray(cohort.group)[rows])
    labels = np.asarray(exchanged.group)
    scores = [
        fold_score(METRICS[0], labels[test], classify(exchanged, test), exchanged.groups)
        # New folds, for these are balanced by the labels; one repeat, as p compares with the first.
        for test in parts_of(fold_numbers(exchanged, settings, 0))
    ]
    return {"accuracy": np.mean(scores)}
