r"""Protection against outliers and skewed columns: rows that lie far out, and normal scores.

Each column is centred at its median and divided by its scaled median absolute deviation. R is the
correlation matrix of these values; they are clipped for it, so that a single row has little weight.
For n rows and m columns, the squared distance of a row z is

.. math:: d^2 = z^T ((1 - \rho) R + \rho I)^{-1} z / m, \qquad \rho = m / (n + m).

A row lies far out if its :math:`d^{2/3}` is more than four robust standard deviations above the
median of all rows. The cube root of a sum of squares is nearly normal (Wilson and Hilferty 1931).
The plain root mean square of a row is not nearly normal. One common factor makes it so skewed that
3 % of clean rows look far out. And it misses two thirds of the rows in which 3 of 40 regions are
shifted by 5 standard deviations (benchmarks/robust.py).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cholesky, solve_triangular
from scipy.special import ndtri
from scipy.stats import rankdata

from sgbn.cohort.effects import without_nuisance
from sgbn.cohort.rows import Rows, by_name
from sgbn.core.moments import ROWS_PER_BLOCK, canonical_order, constant_columns, one_blas_thread
from sgbn.core.problems import DataWarning, InputError, Problem
from sgbn.core.types import Array, Indices, Mask
from sgbn.core.validation import Constraint, OneOf, check_mask

OUTLIERS = ("trim", "keep")
TRANSFORMS = ("none", "normal-scores")
ROWS_LEFT_OUT = OneOf(*OUTLIERS) | Constraint(
    ["True or False for each row"], lambda value: not isinstance(value, str)
)
# Robust standard deviations; 1 clean Gaussian row in 10,000 is marked (benchmarks/robust.py).
OUTLIER_SD = 4.0
MIN_ROWS_TO_TRIM = 20  # with fewer rows, their spread is too uncertain to leave one out
MAX_ROWS_FOR_SPREAD = 10_000  # evenly spaced rows; enough for medians and correlations
MAX_SHARE_FAR = 0.2  # share of the rows; more than this are a group of their own, not outliers
CLIP_SD = 2.5  # robust standard deviations at which values are clipped for correlations
MAX_ABS_VALUE = 1e6  # robust standard deviations; the square is finite, and the row still far out
TO_SD = 1.4826  # standard deviation divided by median absolute deviation, for normal values
# Both limits together distinguish curved from linear relations (benchmarks/robust.py).
MIN_SCORE_SHARE = 0.02  # gain of dependence, as a share of the dependence
MIN_SCORE_Z = 2.0  # gain of dependence in standard errors
N_JACKKNIFE_PARTS = 10  # each part is left out once
BLOM = 0.375  # with it, scores are nearly the expected order statistics of normal values


def far_rows(X: Array) -> Mask:
    """Return a mask of the rows that lie far out.

    The result does not depend on shifts, scales or the order of the columns. If there are fewer
    than 20 rows, none is marked. In clean Gaussian data about 1 row in 10,000 is marked. With
    t-distributed noise of 3 degrees of freedom it is 15 in 1,000, with lognormal noise 10 in 1,000.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        Finite values; they are not changed.
    """
    return row_distances(X) > OUTLIER_SD


def row_distances(X: Array) -> Array:
    """Return the distance of each row, in robust standard deviations above the median distance.

    A column in which more than half of the values are equal has no robust spread, and is left out.
    All distances are zero if there are fewer than 20 rows.
    """
    n = len(X)
    if n < MIN_ROWS_TO_TRIM:
        return np.zeros(n)
    with np.errstate(over="ignore"):  # the largest numbers overflow; infinite values are clipped
        size = np.cbrt(_squared_distances(X))
    from_median = size - np.median(size)
    above = from_median[from_median > 0]
    # The upper half is used if it is wider: skewed columns have skewed distances.
    sd = TO_SD * max(np.median(np.abs(from_median)), np.median(above) if above.size else 0.0)
    return from_median / sd if sd > 0 else np.zeros(n)


def _squared_distances(X: Array) -> Array:
    """Return the squared distance of each row, from the columns that have a robust spread."""
    # Every k-th row (k rounded up), because files are often sorted by site or group.
    sample = X[:: -(-len(X) // MAX_ROWS_FOR_SPREAD)]
    centre, scale, columns = _spread(sample)
    if not columns.size:
        return np.zeros(len(X))

    def standardised(rows: Array, most: float = MAX_ABS_VALUE) -> Array:
        return np.clip((rows[:, columns] - centre[columns]) / scale[columns], -most, most)

    # In an order by content, so that rounding does not depend on the user's order of columns.
    columns = columns[canonical_order(standardised, sample, np.zeros(len(columns)))]
    # One thread, for the same rounding on any machine. Blocks, for no second copy of a large table.
    with one_blas_thread():
        # W with W W' = R^-1, where R are the shrunken correlations
        factor = cholesky(_shrunken_correlations(standardised(sample, CLIP_SD)), lower=True)
        inverse: Array = solve_triangular(factor, np.eye(len(factor)), lower=True)
        decorrelate = np.ascontiguousarray(inverse.T)
        squares = np.empty(len(X))
        for first in range(0, len(X), ROWS_PER_BLOCK):
            part = standardised(X[first : first + ROWS_PER_BLOCK]) @ decorrelate
            squares[first : first + ROWS_PER_BLOCK] = np.einsum("ij,ij->i", part, part)
    return squares / len(columns)


def _spread(X: Array) -> tuple[Array, Array, Indices]:
    """Return the median and the scaled median absolute deviation of each column.

    The third result lists the columns in which both are finite and the deviation is not zero.
    """
    centre = np.median(X, axis=0)
    scale = TO_SD * np.median(np.abs(X - centre), axis=0)
    usable = np.isfinite(centre) & np.isfinite(scale) & (scale > 0)
    return centre, scale, np.flatnonzero(usable)


def _shrunken_correlations(X: Array) -> Array:
    """Return the correlations of the columns, shrunken towards zero by the share m / (n + m)."""
    n, m = X.shape
    centred = X - X.mean(axis=0)
    scaled = centred / np.sqrt(np.square(centred).sum(axis=0))
    # A shrunken matrix can be inverted even if there are more columns than rows.
    R: Array = (1 - m / (n + m)) * (scaled.T @ scaled)
    np.fill_diagonal(R, 1.0)
    return R


def normal_scores(X: Array) -> Array:
    r"""Return the ranks of each column as quantiles of the normal distribution.

    .. math:: \Phi^{-1} \left( \frac{r - 3/8}{n + 1/4} \right)

    Here r is the rank of a value in its column of n values (Blom 1958). Equal values get their mean
    rank, so that nothing depends on chance. Any increasing function of a column has the same
    scores.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        Finite values; they are not changed.
    """
    scores = np.empty(X.shape)
    # Column by column, because the ranks of a whole table need several copies of it.
    for k, column in enumerate(X.T):
        scores[:, k] = ndtri((rankdata(column) - BLOM) / (len(X) + 1 - 2 * BLOM))
    return scores


class OutlierWarning(DataWarning):
    """Some rows lie far out. The message names them and says whether they are left out."""


class ScoreGain(NamedTuple):
    """The gain in the dependence of columns on each other if they are replaced by normal scores.

    Attributes
    ----------
    share : float
        The gain, as a share of the dependence of the columns as they are.
    z : float
        The gain in standard errors, which come from a jackknife over tenths of the rows.
    """

    share: float
    z: float

    @property
    def helps(self) -> bool:
        """Return whether a graph should be learned from the scores."""
        return self.share > MIN_SCORE_SHARE and self.z > MIN_SCORE_Z

    @property
    def harms(self) -> bool:
        """Return whether a graph should not be learned from the scores."""
        return self.share < -MIN_SCORE_SHARE and self.z < -MIN_SCORE_Z


def score_gain(X: Array) -> ScoreGain:
    r"""Return how much more the normal scores depend on each other than the columns themselves.

    Dependence is the information that normal columns have about each other,
    :math:`-\frac12 \log \det R_\rho`, where :math:`R_\rho` are their shrunken correlations. If
    columns are curved functions of normal columns, the gain is positive. If relations are linear
    and the noise is skewed, the gain is negative, although each column looks equally skewed. In
    this case the graph must not be learned from scores.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        Finite values without rows that lie far out; they are not changed.
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
    # Rows are in an order of their own, so that every tenth row is a random part.
    part = np.arange(len(X)) % N_JACKKNIFE_PARTS
    without = np.array([gain(part != k) for k in range(N_JACKKNIFE_PARTS)])
    variance = (N_JACKKNIFE_PARTS - 1) * without.var()
    z = whole / np.sqrt(variance) if variance > 0 else 0.0
    return ScoreGain(whole / _dependence(columns), float(z))


def _dependence(X: Array) -> float:
    """Return the information that the columns have about each other, as if they were normal."""
    return float(-np.linalg.slogdet(_shrunken_correlations(X))[1] / 2)


def rows_to_trim(values: Array, names: Sequence[str], labels: Sequence[Any] | None = None) -> Mask:
    """Return a mask of the rows that ``outliers="trim"`` leaves out, and warn about them by name.

    If more than a fifth of the rows lie far out, none is left out, and the warning says so.

    Parameters
    ----------
    values : ndarray of shape (n, m)
        The rows.
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
        Problem("outliers.many", far=n_far, n=n).warn(
            "{far} of {n} rows lie far from the others, too many to be outliers: all are kept",
            "Learn a separate network for each group of rows, or try "
            "{column_transform='normal-scores'}. {outliers='keep'} silences this warning.",
            OutlierWarning,
        )
        return np.zeros(n, bool)
    which = by_name(int(k) if labels is None else labels[int(k)] for k in np.flatnonzero(far))
    Problem("outliers.trimmed", subjects=which, far=n_far, n=n, sd=OUTLIER_SD).warn(
        "{far} of {n} rows lie far from the others, by more than {sd:g} robust standard "
        "deviations, and are left out: {subjects}",
        "Look at these rows. {outliers='keep'} keeps them.",
        OutlierWarning,
    )
    # A column may vary only in a row that is left out.
    still = constant_columns(values[~far]) & ~constant_columns(values)
    if still.any():
        Problem("outliers.constant", columns=np.array(names)[still].tolist()).warn(
            "{columns:column is/columns are} constant without outlying rows: {columns}",
            "Leave these columns out, or give {outliers='keep'}.",
            OutlierWarning,
        )
    return far


def without_outliers(
    rows: Rows, outliers: str | ArrayLike
) -> tuple[Rows, dict[str, tuple[Any, ...]]]:
    """Return the rows of groups without outliers, and the names of the outliers of each group.

    An outlier lies far from the others of its group. Distances are measured after the effects of
    covariates and sites are taken out. If one row of a person lies far out, all rows of this person
    are left out.

    Parameters
    ----------
    rows : Rows
        All rows.
    outliers : {"trim", "keep"} or array-like of bool
        "trim" leaves out rows that lie far out. "keep" keeps all rows. An array marks the rows to
        leave out.
    """
    if not isinstance(outliers, str):
        far = check_mask(outliers, len(rows), "outliers")[rows.places]
    else:
        ROWS_LEFT_OUT.check("outliers", outliers)
        far = _far_in_groups(rows) if outliers == "trim" else np.zeros(len(rows), bool)
    # If one row of a person is left out, all are. Pairs must stay complete, and a person is
    # exchanged only with persons who have the same number of sessions.
    design, far = rows.design, rows.design.whole(far)
    left_out = {
        group: tuple(by_name(rows.subset(far & (design.group_codes == c)).ids))
        for c, group in enumerate(design.groups)
    }
    if isinstance(outliers, str) and far.any():
        Problem("rows.outliers", subjects=by_name(rows.subset(far).ids)).warn(
            "not tested, since far from the others of their group: {subjects}",
            "Look at their values. To test them too, give {outliers='keep'}.",
            OutlierWarning,
        )
    if not far.any():
        return rows, left_out
    kept = rows.subset(~far)
    if lost := sorted({*design.groups} - {*kept.design.groups}):
        raise InputError("outliers.group", groups=lost).says(
            "{outliers=} marks all rows of {groups}", "Leave these groups out, or mark fewer rows."
        )
    return kept, left_out


def _far_in_groups(rows: Rows) -> Mask:
    """Mark the rows that lie far from the others of their group."""
    # In the values themselves, all rows of a site with another scanner might lie far out.
    residuals = rows.design.nuisance().residuals(rows.values)
    far = np.zeros(len(rows), bool)
    for c in range(len(rows.design.groups)):
        members = np.flatnonzero(rows.design.group_codes == c)
        far_in_group = far_rows(residuals[members])
        # More far rows than this are not outliers but a part of the group.
        if far_in_group.sum() <= MAX_SHARE_FAR * len(members):
            far[members] = far_in_group
    return far


def trimmed(rows: Rows) -> Mask:
    """Return a mask of the rows that a learner with ``outliers="trim"`` leaves out of a group.

    Distances are measured after the `effects` of the rows are taken out. There is no warning,
    because the learner gives it.
    """
    rows, far = rows.in_order(), np.empty(len(rows), bool)
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore")
        values, _ = without_nuisance(rows.values, rows.effects)
        far[rows.places] = rows_to_trim(values, rows.names)
    return far
