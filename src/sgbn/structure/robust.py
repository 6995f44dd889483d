r"""Rows that lie far out, and columns as normal scores: input that cannot break a network.

Each column is centred at its median and divided by its scaled median absolute deviation. With the
correlation matrix R of these values, clipped so that a single row has little weight in it, the
squared distance of row z is

.. math:: d^2 = z^T ((1 - \rho) R + \rho I)^{-1} z / m, \qquad \rho = m / (n + m).

A row is far out if :math:`d^{2/3}` lies more than four robust standard deviations above the median
of all rows. The cube root of a sum of squares is nearly normal (Wilson and Hilferty 1931). The
plain root mean square of a row is not: one common factor makes it so skewed that 4 % of clean rows
look far out, while a shift of a few regions by 5 standard deviations stays hidden
(benchmarks/robust.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.special import ndtri
from scipy.stats import rankdata

from sgbn.exceptions import listed, warn
from sgbn.moments import A_BLOCK, canonical_order, constant_columns, one_blas_thread

Array = NDArray[np.float64]
Rows = NDArray[np.bool_]

OUTLIERS = ("trim", "keep")
TRANSFORMS = ("none", "normal-scores")
OUTLIER_SD = (
    4.0  # robust standard deviations: 1 clean Gaussian row in 10,000 (benchmarks/robust.py)
)
FEWEST_ROWS = 20  # the spread of fewer rows says too little to leave one out
ENOUGH_ROWS = 10_000  # evenly spaced ones give medians and correlations of a longer table
MOST_FAR = 0.2  # share of rows above which they are a group of their own, not outliers
CLIP = 2.5  # robust standard deviations that a value counts for in the correlations
FARTHEST = 1e6  # of a value: its square is finite, and its row is far out in any case
TO_SD = 1.4826  # from the median absolute deviation to the standard deviation of normal values
BLOM = 0.375  # places ranks so that scores are nearly the expected order statistics


def far_rows(X: Array) -> Rows:
    """Mark the rows that lie far out.

    Shifting and scaling columns, or another order of them, changes nothing. None is marked among
    fewer than 20 rows. In clean Gaussian data about 1 row in 10,000 is marked, with t-distributed
    noise of 3 degrees of freedom 14 in 1,000, with lognormal noise 8 in 1,000.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        Finite values; not changed.
    """
    return row_distances(X) > OUTLIER_SD


def row_distances(X: Array) -> Array:
    """Distance of each row, in robust standard deviations above that of the median row.

    Columns of which more than half of the values are equal have no robust spread, and do not
    count. Zero everywhere if there are fewer than 20 rows.
    """
    n = len(X)
    if n < FEWEST_ROWS:
        return np.zeros(n)
    with np.errstate(over="ignore"):  # of the largest numbers: infinite distances are clipped
        size = np.cbrt(_squared_distances(X))
    from_median = size - np.median(size)
    above = from_median[from_median > 0]
    # the upper half alone, where it is wider: distances of skewed columns are skewed
    sd = TO_SD * max(np.median(np.abs(from_median)), np.median(above) if above.size else 0.0)
    return from_median / sd if sd > 0 else np.zeros(n)


def _squared_distances(X: Array) -> Array:
    """Squared distance of each row, over the columns that have a robust spread."""
    sample = X[:: -(-len(X) // ENOUGH_ROWS)]
    centre = np.median(sample, axis=0)
    scale = TO_SD * np.median(np.abs(sample - centre), axis=0)
    columns = np.flatnonzero(np.isfinite(centre) & np.isfinite(scale) & (scale > 0))
    if not columns.size:
        return np.zeros(len(X))

    def standardised(rows: Array, most: float = FARTHEST) -> Array:
        Z = (rows[:, columns] - centre[columns]) / scale[columns]
        return np.clip(Z, -most, most)

    # in an order that content decides: sums have the same bits for any order of the user's columns
    columns = columns[canonical_order(standardised, sample, np.zeros(len(columns)))]
    with one_blas_thread():
        decorrelate = _decorrelation(standardised(sample, CLIP))
        squares = np.empty(len(X))
        for first in range(0, len(X), A_BLOCK):
            part = standardised(X[first : first + A_BLOCK]) @ decorrelate
            squares[first : first + A_BLOCK] = np.einsum("ij,ij->i", part, part)
    return squares / len(columns)


def _decorrelation(Z: Array) -> Array:
    r"""Matrix W with :math:`W W^T = R_\rho^{-1}`, R the correlations of the columns of Z."""
    n, m = Z.shape
    centred = Z - Z.mean(axis=0)
    scaled = centred / np.sqrt(np.square(centred).sum(axis=0))
    R = (1 - m / (n + m)) * (scaled.T @ scaled)
    np.fill_diagonal(R, 1.0)
    inverse: Array = solve_triangular(cholesky(R, lower=True), np.eye(m), lower=True)
    return np.ascontiguousarray(inverse.T)


def normal_scores(X: Array) -> Array:
    r"""Each column's ranks as quantiles of the normal distribution.

    .. math:: \Phi^{-1} \left( \frac{r - 3/8}{n + 1/4} \right)

    (Blom 1958) with the rank r in the column. Equal values share their mean rank, so that nothing
    is left to chance. Any increasing function of a column has the same scores.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        Finite values; not changed.
    """
    scores = np.empty(X.shape)
    for k, column in enumerate(X.T):
        scores[:, k] = ndtri((rankdata(column) - BLOM) / (len(X) + 1 - 2 * BLOM))
    return scores


def rows_to_trim(values: Array, names: Sequence[str], labels: Sequence[Any] | None = None) -> Rows:
    """Mark the rows that ``outliers="trim"`` leaves out, and warn of them by name.

    Where more than a fifth of the rows lie far out none is left out, and the warning says so.

    Parameters
    ----------
    values : ndarray of shape (n, m)
    names : sequence of str
        Of the columns, for messages.
    labels : sequence, optional
        Of the rows, for messages; by default their numbers, counted from 0.
    """
    far = far_rows(values)
    n_far, n = int(far.sum()), len(far)
    if not n_far:
        return far
    if n_far > MOST_FAR * n:
        warn(
            f"{n_far} of {n} rows lie far from the others, too many to be outliers: all are kept. "
            "Learn a network of each group of rows by itself, or try "
            "column_transform='normal-scores'; outliers='keep' silences this."
        )
        return np.zeros(n, bool)
    which = [int(k) if labels is None else labels[int(k)] for k in np.flatnonzero(far)]
    numbered = " (counted from 0)" if labels is None else ""
    still = constant_columns(values[~far]) & ~constant_columns(values)
    without = [name for name, one in zip(names, still, strict=True) if one]
    constant = f" Without them {listed(without)} is constant." if without else ""
    warn(
        f"{n_far} of {n} rows lie far from the others, more than {OUTLIER_SD:g} robust standard "
        f"deviations, and are left out: {listed(which)}{numbered}.{constant} Look at them; "
        "outliers='keep' keeps them."
    )
    return far


def row_labels(X: Any) -> list[Any] | None:
    """Labels of the rows of a table that has some, else None."""
    if hasattr(X, "columns") and hasattr(X, "index"):
        return list(X.index)
    return None
