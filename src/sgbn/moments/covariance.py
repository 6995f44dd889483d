"""Checks of a covariance matrix that a user gives instead of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sgbn.exceptions import InputError
from sgbn.types import Array

MATRIX_EPS = 1e-8  # smaller asymmetries and negative eigenvalues of correlations are round-off


def matrix_names(S: Any, names: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the given names of the variables, else the column names of a DataFrame, else None."""
    labels = None if names is None else tuple(map(str, names))
    if hasattr(S, "columns"):
        columns = tuple(map(str, S.columns))
        # If rows and columns had different orders, the variables would be mixed up.
        if columns != tuple(map(str, S.index)):
            raise InputError(
                "rows and columns of the covariance matrix have different names. Give both the "
                "same names, in the same order."
            )
        if labels is not None and labels != columns:
            raise InputError("names differ from the columns of S. Leave names out.")
        labels = columns
    if labels is not None and len(set(labels)) < len(labels):
        twice = next(name for name in labels if labels.count(name) > 1)
        raise InputError(f"the name {twice!r} is used more than once. Rename one of the variables.")
    return labels


def checked_covariance(S: Any, names: Sequence[str]) -> Array:
    """Return the matrix as floats and exactly symmetric. Raise InputError if it is not usable."""
    try:
        matrix = np.array(S, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(
            "the covariance matrix contains cells that are not numbers. Correct these cells."
        ) from error
    if matrix.ndim != 2 or len(matrix) != matrix.shape[1] or len(matrix) < 2:
        raise InputError(
            f"the covariance matrix has shape {matrix.shape}. Give a square matrix of two or more "
            "variables."
        )
    if len(names) != len(matrix):
        raise InputError(
            f"there are {len(names)} names for {len(matrix)} variables. Give one name per variable."
        )
    bad = np.argwhere(~np.isfinite(matrix))
    if bad.size:
        i, j = bad[0]
        raise InputError(
            f"the covariance of {names[i]!r} and {names[j]!r} is {matrix[i, j]}. Leave out "
            "variables with missing values, or compute the matrix from complete rows."
        )
    flat = np.flatnonzero(np.diag(matrix) <= 0)
    if flat.size:
        raise InputError(
            f"the variance of {names[flat[0]]!r} is {matrix[flat[0], flat[0]]:g}, but it must be "
            "positive. Remove constant variables."
        )
    sd = np.sqrt(np.diag(matrix))
    uneven = np.argwhere(np.abs(matrix - matrix.T) > MATRIX_EPS * np.outer(sd, sd))
    if uneven.size:
        i, j = uneven[0]
        raise InputError(
            f"the covariance matrix is not symmetric: {matrix[i, j]:g} and {matrix[j, i]:g} for "
            f"{names[i]!r} and {names[j]!r}. Correct one of them."
        )
    return (matrix + matrix.T) / 2  # the remaining asymmetry is round-off


def check_positive(R: Array, names: Sequence[str]) -> None:
    """Raise InputError unless the correlations are positive semidefinite.

    Correlations that were computed from pairwise complete observations are often indefinite. No
    complete table can have such correlations.
    """
    values, vectors = np.linalg.eigh(R)
    if values[0] < -MATRIX_EPS * len(R):
        # The largest entries of this eigenvector show which variables contradict each other.
        first, second = (names[k] for k in np.argsort(-np.abs(vectors[:, 0]), kind="stable")[:2])
        raise InputError(
            "the covariance matrix is not positive semidefinite (its correlations have an "
            f"eigenvalue of {values[0]:.2g}), mostly because of {first!r} and {second!r}. Compute "
            "the matrix from complete rows."
        )
