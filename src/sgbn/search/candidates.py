"""Pairs of variables that may be joined: those that are correlated given all others."""

from __future__ import annotations

import numpy as np
from scipy.linalg import get_lapack_funcs

from sgbn.moments import one_blas_thread
from sgbn.types import Array, Mask

SMALLEST_RIDGE = 0.02


def inverse_correlation(R: Array, n: int) -> Array:
    """Inverse of the correlation matrix, with a ridge where n is not well above m."""
    m = len(R)
    ridge = 0.0 if n > 2 * m else max(SMALLEST_RIDGE, 0.2 * m / n)
    cholesky, invert = get_lapack_funcs(("potrf", "potri"), (R,))
    with one_blas_thread():
        factor, failed = cholesky(R + ridge * np.eye(m), lower=1)
        if failed:  # exact copies of a column
            factor, _ = cholesky(R + SMALLEST_RIDGE * np.eye(m), lower=1)
        inverse: Array = np.tril(invert(factor, lower=1)[0])
    return inverse + np.tril(inverse, -1).T


def partly_correlated(precision: Array, n: int, z: float) -> Mask:
    """Pairs whose partial correlation given all others is more than z standard errors."""
    scale = np.diag(precision)
    found: Mask = np.square(precision) > z**2 / n * np.outer(scale, scale)
    return found
