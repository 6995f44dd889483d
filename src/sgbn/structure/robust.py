r"""Rows that lie far out, and columns as normal scores: input that cannot break a network.

Each column is centred at its median and divided by its scaled median absolute deviation. With the
correlation matrix R of these values, clipped so that a single row has little weight in it, the
squared distance of row z is

.. math:: d^2 = z^T ((1 - \rho) R + \rho I)^{-1} z / m, \qquad \rho = m / (n + m).

A row is far out if :math:`d^{2/3}` lies more than four robust standard deviations above the median
of all rows. The cube root of a sum of squares is nearly normal (Wilson and Hilferty 1931). The
plain root mean square of a row is not: one common factor makes it so skewed that 3 % of clean rows
look far out, while two thirds of the rows in which 3 of 40 regions are shifted by 5 standard
deviations stay hidden (benchmarks/robust.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import ndtri
from scipy.stats import rankdata

from sgbn.exceptions import DataWarning, listed, warn
from sgbn.moments import ROWS_PER_BLOCK, canonical_order, constant_columns, one_blas_thread
from sgbn.types import Array, Indices, Mask

OUTLIERS = ("trim", "keep")
TRANSFORMS = ("none", "normal-scores")
OUTLIER_SD = 4.0  # robust ones: marks 1 clean Gaussian row in 10,000 (benchmarks/robust.py)
MIN_ROWS_TO_TRIM = 20  # the spread of fewer rows says too little to leave one out
MAX_ROWS_FOR_SPREAD = 10_000  # evenly spaced: enough for medians and correlations
MAX_SHARE_FAR = 0.2  # of the rows: more are a group of their own, not outliers
CLIP_SD = 2.5  # robust standard deviations at which values are clipped for correlations
MAX_ABS_VALUE = 1e6  # in robust standard deviations: its square is finite, its row far out
TO_SD = 1.4826  # median absolute deviation to standard deviation, for normal values
# Together these tell curved from linear relations (benchmarks/robust.py).
MIN_SCORE_SHARE = 0.02  # gain of dependence, as a share
MIN_SCORE_Z = 2.0  # the same in standard errors
N_JACKKNIFE_PARTS = 10  # each is left out once
BLOM = 0.375  # scores are then nearly the expected order statistics of normal values


def far_rows(X: Array) -> Mask:
    """Mark the rows that lie far out.

    Shifting and scaling columns, or another order of them, changes nothing. None is marked among
    fewer than 20 rows. In clean Gaussian data about 1 row in 10,000 is marked, with t-distributed
    noise of 3 degrees of freedom 15 in 1,000, with lognormal noise 10 in 1,000.

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
    if n < MIN_ROWS_TO_TRIM:
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
    # every k-th row, with k rounded up: files are often sorted by site or group
    sample = X[:: -(-len(X) // MAX_ROWS_FOR_SPREAD)]
    centre, scale, columns = _spread(sample)
    if not columns.size:
        return np.zeros(len(X))

    def standardised(rows: Array, most: float = MAX_ABS_VALUE) -> Array:
        Z = (rows[:, columns] - centre[columns]) / scale[columns]
        return np.clip(Z, -most, most)

    # in an order that content decides: sums have the same bits for any order of the user's columns
    columns = columns[canonical_order(standardised, sample, np.zeros(len(columns)))]
    # one thread, in blocks: the same bits on any machine, and no second copy of a large table
    with one_blas_thread():
        decorrelate = _decorrelation(standardised(sample, CLIP_SD))
        squares = np.empty(len(X))
        for first in range(0, len(X), ROWS_PER_BLOCK):
            part = standardised(X[first : first + ROWS_PER_BLOCK]) @ decorrelate
            squares[first : first + ROWS_PER_BLOCK] = np.einsum("ij,ij->i", part, part)
    return squares / len(columns)


def _spread(X: Array) -> tuple[Array, Array, Indices]:
    """Median and scaled median absolute deviation of each column, and which columns have both."""
    centre = np.median(X, axis=0)
    scale = TO_SD * np.median(np.abs(X - centre), axis=0)
    usable = np.isfinite(centre) & np.isfinite(scale) & (scale > 0)
    return centre, scale, np.flatnonzero(usable)


def _shrunken_correlations(X: Array) -> Array:
    """Correlations of the columns, a share m / (n + m) of the way towards independence."""
    n, m = X.shape
    centred = X - X.mean(axis=0)
    scaled = centred / np.sqrt(np.square(centred).sum(axis=0))
    # shrunken, so that it can be inverted with more columns than rows as well
    R: Array = (1 - m / (n + m)) * (scaled.T @ scaled)
    np.fill_diagonal(R, 1.0)
    return R


def _decorrelation(Z: Array) -> Array:
    r"""Matrix W with :math:`W W^T = R_\rho^{-1}`, R the correlations of the columns of Z."""
    factor = cholesky(_shrunken_correlations(Z), lower=True)
    inverse: Array = solve_triangular(factor, np.eye(len(factor)), lower=True)
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
    # column by column: ranks of a whole table at once would need several copies of it
    for k, column in enumerate(X.T):
        scores[:, k] = ndtri((rankdata(column) - BLOM) / (len(X) + 1 - 2 * BLOM))
    return scores


class OutlierWarning(DataWarning):
    """Rows lie far out: the message names them, and says what is done about them."""


class ScoreGain(NamedTuple):
    """How much more columns depend on each other as normal scores than as they are.

    Attributes
    ----------
    share : float
        Difference of the dependences, as a share of that of the columns as they are.
    z : float
        The same in its standard errors, by a jackknife over tenths of the rows.
    """

    share: float
    z: float

    @property
    def helps(self) -> bool:
        """Whether a graph should be learned from the scores."""
        return self.share > MIN_SCORE_SHARE and self.z > MIN_SCORE_Z

    @property
    def harms(self) -> bool:
        """Whether a graph should not be learned from the scores."""
        return self.share < -MIN_SCORE_SHARE and self.z < -MIN_SCORE_Z


def score_gain(X: Array) -> ScoreGain:
    r"""Compare the linear dependence of columns with that of their normal scores.

    Dependence is the information that the columns have about each other if they are normal,
    :math:`-\frac12 \log \det R_\rho`. Columns that are curved functions of normal ones gain. Linear
    relations with skewed noise look as skewed, column by column, and lose: their graph must not be
    learned from scores.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        Finite values without rows that lie far out; not changed.
    """
    if len(X) < MIN_ROWS_TO_TRIM:
        return ScoreGain(0.0, 0.0)
    with np.errstate(over="ignore"):
        columns = X[:, _spread(X)[2]]
    if columns.shape[1] < 2:
        return ScoreGain(0.0, 0.0)
    scores = normal_scores(columns)

    def gain(rows: Any) -> float:
        return _dependence(scores[rows]) - _dependence(columns[rows])

    whole = gain(slice(None))
    # every tenth row: neighbours in a file are often of one site
    part = np.arange(len(X)) % N_JACKKNIFE_PARTS
    without = np.array([gain(part != k) for k in range(N_JACKKNIFE_PARTS)])
    variance = (N_JACKKNIFE_PARTS - 1) * without.var()
    z = whole / np.sqrt(variance) if variance > 0 else 0.0
    return ScoreGain(whole / _dependence(columns), float(z))


def _dependence(X: Array) -> float:
    return float(-np.linalg.slogdet(_shrunken_correlations(X))[1] / 2)


def rows_to_trim(values: Array, names: Sequence[str], labels: Sequence[Any] | None = None) -> Mask:
    """Mark the rows that ``outliers="trim"`` leaves out, and warn of them by name.

    Where more than a fifth of the rows lie far out none is left out, and the warning says so.

    Parameters
    ----------
    values : ndarray of shape (n, m)
    names : sequence of str
        Names of the columns, for messages.
    labels : sequence, optional
        Labels of the rows, for messages; by default their numbers, counted from 0.
    """
    far = far_rows(values)
    n_far, n = int(far.sum()), len(far)
    if not n_far:
        return far
    if n_far > MAX_SHARE_FAR * n:
        warn(
            f"{n_far} of {n} rows lie far from the others, too many to be outliers: all are kept. "
            "Learn a network of each group of rows by itself, or try "
            "column_transform='normal-scores'; outliers='keep' silences this.",
            OutlierWarning,
        )
        return np.zeros(n, bool)
    which = [int(k) if labels is None else labels[int(k)] for k in np.flatnonzero(far)]
    numbered = " (counted from 0)" if labels is None else ""
    # a spike in one row alone may be all that varies
    still = constant_columns(values[~far]) & ~constant_columns(values)
    without = [name for name, is_still in zip(names, still, strict=True) if is_still]
    constant = f" Without them {listed(without)} is constant." if without else ""
    warn(
        f"{n_far} of {n} rows lie far from the others, more than {OUTLIER_SD:g} robust standard "
        f"deviations, and are left out: {listed(which)}{numbered}.{constant} Look at them; "
        "outliers='keep' keeps them.",
        OutlierWarning,
    )
    return far


def row_labels(X: Any) -> list[Any] | None:
    """Row labels of X if it is a table with an index, else None."""
    if hasattr(X, "columns") and hasattr(X, "index"):
        return list(X.index)
    return None
