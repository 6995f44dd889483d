"""Checks of what users pass to estimators: errors and warnings name the column and the remedy."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from sgbn.exceptions import DataWarning, InputError
from sgbn.moments import Moments

COLLINEAR_EPS = 1e-10  # share of a column's variance that the others leave: less is round-off
WIDE_SCALES = 1e6  # ratio of standard deviations that looks like a mix-up of units
FEW_SAMPLES = 10  # a regression on fewer says little


def check_data(estimator: BaseEstimator, X: Any, reset: bool = True) -> NDArray[np.float64]:
    """Rows as a C-ordered, writable array of finite floats.

    Sets `n_features_in_` and `feature_names_in_` when `reset`, else checks against them.
    """
    _check_table(X)
    try:
        array = validate_data(
            estimator,
            X,
            reset=reset,
            dtype=np.float64,
            order="C",
            force_writeable=True,
            ensure_all_finite=False,
            ensure_min_samples=2 if reset else 1,
            ensure_min_features=2 if reset else 1,
        )
    except ValueError as error:
        if "could not convert string" in str(error):
            raise InputError(_first_text(np.asarray(X, dtype=object))) from error
        raise
    _check_finite(array, column_names(estimator))
    return array


def column_names(estimator: Any) -> list[str]:
    """Names of the columns that the estimator was fitted on, x0, x1, ... if they had none."""
    if hasattr(estimator, "feature_names_in_"):
        return [str(name) for name in estimator.feature_names_in_]
    return [f"x{k}" for k in range(estimator.n_features_in_)]


def _check_table(X: Any) -> None:
    """For a DataFrame, refuse what a conversion to numbers would report without its name."""
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return
    names = list(X.columns)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(
            f"the column name {twice!r} is used more than once. Rename or drop one of them."
        )
    text = [n for n, dtype in zip(names, X.dtypes, strict=True) if not _is_numeric(dtype)]
    if text:
        listed = ", ".join(map(repr, text[:5])) + (", ..." if len(text) > 5 else "")
        raise InputError(
            f"not numeric: column {listed}. Drop it, or convert it to numbers (a group or site "
            "column is no region)."
        )


def _first_text(cells: NDArray[np.object_]) -> str:
    for (row, column), cell in np.ndenumerate(cells):
        try:
            float(cell)
        except ValueError:
            return (
                f"not numeric: column {column}, row {row} (counted from 0) holds {cell!r}. Drop "
                "the column, or convert it to numbers."
            )
    return "X holds text that cannot be converted to numbers."


def _is_numeric(dtype: Any) -> bool:
    return getattr(dtype, "kind", "O") in "fiub"


def _check_finite(X: NDArray[np.float64], names: Sequence[str]) -> None:
    if np.isfinite(X).all():
        return
    row, column = np.argwhere(~np.isfinite(X))[0]
    bad = ~np.isfinite(X)
    kind = "NaN" if np.isnan(X[row, column]) else "infinity (inf)"
    raise InputError(
        f"Input X contains {kind}: column {names[column]!r}, row {row} (counted from 0); "
        f"{int(bad.sum())} such cells in {int(bad.any(axis=0).sum())} columns. Remove these rows "
        "or columns, or impute them inside a Pipeline."
    )


def warn_about_moments(moments: Moments, names: Sequence[str]) -> None:
    """Warn of few samples, duplicated or collinear columns, and scales far apart."""
    if moments.n < FEW_SAMPLES:
        warnings.warn(
            f"only {moments.n} samples: a network learned from fewer than {FEW_SAMPLES} is "
            "hardly more than noise.",
            DataWarning,
            stacklevel=4,
        )
    small, large = int(np.argmin(moments.sd)), int(np.argmax(moments.sd))
    if moments.sd[large] > WIDE_SCALES * moments.sd[small]:
        warnings.warn(
            f"the standard deviation of {names[large]!r} is "
            f"{moments.sd[large] / moments.sd[small]:.1e} times that of {names[small]!r}. Check "
            "their units, and keep standardize=True, so that weights can be compared.",
            DataWarning,
            stacklevel=4,
        )
    _warn_collinear(moments, names)


def _warn_collinear(moments: Moments, names: Sequence[str]) -> None:
    R = moments.correlation
    named = [names[c] for c in moments.columns]
    twins = np.argwhere(np.triu(np.abs(R) > 1.0 - COLLINEAR_EPS, 1))
    if twins.size:
        i, j = twins[0]
        warnings.warn(
            f"columns {named[i]!r} and {named[j]!r} are copies of each other (correlation "
            f"{R[i, j]:+.0f}; {len(twins)} such pairs). Their edges cannot be told apart: drop "
            "one.",
            DataWarning,
            stacklevel=5,
        )
    elif moments.n > moments.m + 1:  # with fewer samples every column is a combination
        (pivoted_cholesky,) = get_lapack_funcs(("pstrf",), (R,))
        _, pivots, rank, _ = pivoted_cholesky(R, tol=COLLINEAR_EPS)
        if rank < moments.m:
            extra = sorted(named[p - 1] for p in pivots[rank:])
            listed = ", ".join(map(repr, extra[:5])) + (", ..." if len(extra) > 5 else "")
            warnings.warn(
                f"collinear columns: {listed} is a linear combination of the others (such as a "
                "total beside its parts). Drop it, or its weights mean little.",
                DataWarning,
                stacklevel=5,
            )
