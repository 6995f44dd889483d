"""Folds of the training rows, which classifiers use for their temperature and settings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.utils import check_random_state

from sgbn.core.exceptions import InputError
from sgbn.core.types import Indices

MAX_FOLDS = 5
MIN_TRAINING_ROWS = 3  # rows of each class in every training part; with fewer there are no folds


def units_of(groups: ArrayLike | None, n: int) -> Indices | None:
    """Return the number of each row's unit, such as its person, or None without `groups`."""
    if groups is None:
        return None
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise InputError(
            f"groups has shape {labels.shape}: give one label per row, such as the person, for "
            f"{n} rows."
        )
    # Labels are compared as text, because numpy cannot sort labels of several types.
    return np.unique(labels.astype(str), return_inverse=True)[1].astype(np.intp)


def count_folds(codes: Indices, units: Indices | None = None) -> int:
    """Return the number of folds, or 0 if a class has too few rows or units.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        The class of each row, numbered from 0.
    units : ndarray of shape (n,), optional
        The unit of each row, such as the person. Units then count instead of rows.
    """
    if units is not None:
        # A unit with rows of several classes counts once in each of them.
        codes = np.unique(np.column_stack([codes, units]), axis=0)[:, 0]
    smallest = int(np.bincount(codes).min())
    return min(MAX_FOLDS, smallest) if smallest > MIN_TRAINING_ROWS else 0


def inner_folds(
    codes: Indices, units: Indices | None, n_folds: int, n_repeats: int, seed: int
) -> Iterator[tuple[Indices, Indices]]:
    """Yield the training and test rows of every fold, with all rows of a unit on one side.

    Parameters
    ----------
    codes, units
        As in `count_folds`.
    n_folds : int
        The number of folds per repeat.
    n_repeats : int
        The number of splits into folds. Each repeat tests every row once.
    seed : int
        The seed of the splits.
    """
    # One stream for all repeats, because the seed itself would give the same split each time.
    rng = check_random_state(seed)
    kind = StratifiedKFold if units is None else StratifiedGroupKFold
    for _ in range(n_repeats):
        splitter = kind(n_folds, shuffle=True, random_state=rng)
        for train, test in splitter.split(codes, codes, units):
            if len(test):  # with few and large units, a fold may have no test rows
                yield train, test
