"""Moments of a sample, from its rows or from a covariance matrix that a user gives instead.

All products of matrices are computed with one BLAS thread (`one_blas_thread`), because the number
of threads changes their last bits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import OpenBLASController, ThreadpoolController

from sgbn.core.graph import check_distinct, check_names_agree
from sgbn.core.jit import jit_loops
from sgbn.core.problems import InputError
from sgbn.core.types import Array, Indices, Mask
from sgbn.core.validation import Whole, check_same_names

CONTENT_DIGITS = 9  # columns are compared to this many decimals; further digits are round-off
ROWS_PER_BLOCK = 2048  # rows per step, so that a large table is never copied as a whole
MATRIX_EPS = 1e-8  # smaller asymmetries and negative eigenvalues of correlations are round-off


@dataclass(frozen=True)
class Moments:
    r"""The first and second moments of a sample, in the coordinates that solvers use.

    Solvers use every variable in units of its own `scale`, so that the Gram matrix has a unit
    diagonal. The variables are in a *canonical order*. It depends only on the standardised content
    of the columns, not on their order. The last bits of BLAS products depend on the column order.
    With the canonical order, permuting the user's columns permutes the result exactly.

    Attributes
    ----------
    n : int
        Number of samples.
    mean, sd : ndarray of shape (m,)
        Mean and standard deviation (ddof=0), in the user's column order and units.
    scale : ndarray of shape (m,)
        Divisor of each column, in the user's column order: its `sd`. With a bias the columns are
        not centred, and the divisor is the root mean square.
    R : ndarray of shape (p, p)
        Gram matrix :math:`Z^T Z / n` of the scaled columns, in canonical order. p = m, or m + 1
        if the last variable is the constant bias.
    columns : ndarray of shape (m,)
        ``columns[k]`` is the user's column of canonical variable k.
    names : tuple of str, optional
        Names of the variables in the user's order. Only moments of a covariance matrix with names
        have them.

    Examples
    --------
    >>> from sgbn import SGBN, Moments
    >>> moments = Moments.from_covariance([[1.0, 0.8], [0.8, 2.0]], 100, ["age", "volume"])
    >>> SGBN().fit_moments(moments).network_
    GaussianNetwork(2 variables, 1 edges)
    """

    n: int
    mean: Array
    sd: Array
    scale: Array
    R: Array
    columns: Indices
    names: tuple[str, ...] | None = None

    @classmethod
    def from_covariance(
        cls,
        S: ArrayLike,
        n: int,
        names: Sequence[str] | None = None,
        mean: ArrayLike | None = None,
        *,
        ddof: int = 1,
    ) -> Self:
        """Return the moments of a sample from its covariance matrix, without its rows.

        Parameters
        ----------
        S : array-like of shape (m, m)
            Covariance (or correlation) matrix. A DataFrame also gives the names of the variables.
        n : int
            Number of samples from which S was computed.
        names : sequence of str, optional
            Names of the variables; by default the column names of the DataFrame.
        mean : array-like of shape (m,), optional
            Means of the variables; by default zeros. Intercepts of a network refer to these means.
        ddof : {0, 1}
            S was computed with the divisor ``n - ddof``. numpy's ``cov`` and pandas use 1.

        Notes
        -----
        The variables are sorted by their correlations, because there are no rows to sort by. Ties,
        such as in a matrix of two variables, are sorted by name, or by position without names.
        """
        names = matrix_names(S, names)
        labels = names or tuple(f"x{k}" for k in range(np.shape(S)[0] if np.ndim(S) else 0))
        matrix = checked_covariance(S, labels)
        m = len(matrix)
        Whole(2).check("n", n)
        Whole(0, 1).check("ddof", ddof)
        centre = np.zeros(m) if mean is None else np.array(mean, dtype=float)
        if centre.shape != (m,) or not np.isfinite(centre).all():
            raise InputError("mean.shape", m=m).says(
                "mean is not a list of finite numbers", "Give one for each of {m:variable}."
            )
        root = np.sqrt(np.diag(matrix))
        R = matrix / np.outer(root, root)
        np.fill_diagonal(R, 1.0)
        check_positive(R, labels)
        sizes = np.sort(np.round(np.abs(R), CONTENT_DIGITS), axis=1)
        tie = np.arange(m) if names is None else np.argsort(np.argsort(names))
        columns = np.lexsort((tie, *sizes.T))
        sd = root * np.sqrt((n - ddof) / n)
        R = np.ascontiguousarray(R[np.ix_(columns, columns)])
        return cls(int(n), centre, sd, sd, R, columns, names)

    @property
    def m(self) -> int:
        """Number of variables, without the bias."""
        return len(self.columns)

    @property
    def has_bias(self) -> bool:
        """Whether the last variable of `R` is the constant bias."""
        return len(self.R) > self.m

    @property
    def correlation(self) -> Array:
        """Correlation matrix in canonical order, whether or not the columns were centred."""
        if not self.has_bias:
            return self.R
        mean, sd, scale = (a[self.columns] for a in (self.mean, self.sd, self.scale))
        uncentred = self.R[: self.m, : self.m] * np.outer(scale, scale)
        return (uncentred - np.outer(mean, mean)) / np.outer(sd, sd)

    def of_residuals(self, lost: int) -> Self:
        """Return the moments of residuals of a regression that used `lost` degrees of freedom.

        In criteria and in variances, the number of samples is smaller by `lost`.
        """
        # Removing effects made the residuals too small. This factor corrects their variances.
        wider = np.sqrt(self.n / (self.n - lost))
        return replace(self, n=self.n - lost, sd=self.sd * wider, scale=self.scale * wider)

    def to_user(self, B: NDArray[Any]) -> NDArray[Any]:
        """Convert B in canonical order to Theta in the user's column order.

        Row ``B[j]`` contains the weights of the parents of canonical variable j. ``Theta[i, j]`` is
        the weight of i -> j.
        """
        place = np.argsort(self.columns)
        return np.ascontiguousarray(B[place][:, place].T)

    def to_canonical(self, Theta: NDArray[Any]) -> NDArray[Any]:
        """Convert Theta in the user's column order to B in canonical order (see `to_user`)."""
        return np.ascontiguousarray(Theta[np.ix_(self.columns, self.columns)].T)


def moments_of(X: Array, names: Sequence[str], bias: bool = False) -> Moments:
    """Return the moments of the rows of X.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        Finite data. The array is not changed.
    names : sequence of str
        Column names. They are used in messages, and to sort equal columns.
    bias : bool
        If True, do not centre the columns, and add the constant 1 as the last variable. The
        intercept can then be penalised like a weight.
    """
    X = np.ascontiguousarray(X, dtype=float)
    n, m = X.shape
    mean = X.mean(axis=0)
    none, every = np.zeros(m), np.arange(m)
    # The second pass removes the round-off of a large mean.
    correction = _column_sums(X, (mean, none), False) / n
    sd = scale = np.sqrt(_column_sums(X, (mean, correction), True) / n)
    _check_not_constant(X, mean, sd, names)
    shift = (mean, correction)
    if bias:
        shift = (none, none)
        scale = np.sqrt(_column_sums(X, shift, True) / n)

    def standardised(rows: Array, columns: Indices, Z: Array) -> Array:
        by_column = [part[columns] for part in (*shift, scale)]
        _standardise(rows, columns, *by_column, Z[: len(rows)])
        return Z[: len(rows)]

    columns = canonical_order(
        lambda rows: standardised(rows, every, np.empty(rows.shape)), X, names
    )
    R = np.zeros((m + bias, m + bias))
    block = np.ones((min(n, ROWS_PER_BLOCK), m + bias))  # the last column stays 1: the bias
    with one_blas_thread():
        for rows in _blocks(X):
            Z = standardised(rows, columns, block)
            R += Z.T @ Z
    R /= n
    np.fill_diagonal(R, 1.0)
    return Moments(n, mean + correction, sd, scale, R, columns)


def _blocks(X: Array) -> Iterator[Array]:
    """Yield blocks of at most `ROWS_PER_BLOCK` rows."""
    for first in range(0, len(X), ROWS_PER_BLOCK):
        rows = X[first : first + ROWS_PER_BLOCK]
        # Writable blocks only: numba would compile the kernels again for read-only arrays.
        yield rows if rows.flags.writeable else rows.copy()


def _column_sums(X: Array, shift: tuple[Array, Array], squared: bool) -> Array:
    """Return the sum of each column after subtracting both shifts; if `squared`, of its squares."""
    total = np.zeros(X.shape[1])
    for rows in _blocks(X):
        _add_rows(rows, *shift, squared, total)
    return total


@jit_loops
def _add_rows(X, first, second, squared, total):  # type: ignore[no-untyped-def]
    """Add each row minus both shifts, or the squares of this, to `total` in place."""
    # Rows are added one by one: numpy's pairwise sums would depend on the position of a column.
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            z = X[i, j] - first[j] - second[j]
            total[j] += z * z if squared else z


@jit_loops
def _standardise(X, columns, first, second, scale, Z):  # type: ignore[no-untyped-def]
    """Fill `Z` with the chosen columns of X, minus both shifts and divided by the scale."""
    for i in range(X.shape[0]):
        for k in range(columns.size):
            Z[i, k] = (X[i, columns[k]] - first[k] - second[k]) / scale[k]


def _check_not_constant(X: Array, mean: Array, scale: Array, names: Sequence[str]) -> None:
    """Raise InputError if a column overflows, or varies by no more than round-off."""
    huge = np.flatnonzero(~np.isfinite(scale))
    if huge.size:
        raise InputError("columns.overflow", column=names[huge[0]]).says(
            "the values of column {column} are too large", "Divide it by a constant."
        )
    # No value is larger than this bound. So the values of most columns need not be checked.
    most = np.abs(mean) + np.sqrt(len(X)) * scale
    doubtful = np.flatnonzero(scale <= 2 * len(X) * np.finfo(float).eps * most)
    constant = doubtful[scale[doubtful] <= _round_off(X[:, doubtful])]
    if constant.size:
        raise InputError("columns.constant", columns=[names[k] for k in constant], n=len(X)).says(
            "columns that do not vary over {n:sample}: {columns}",
            "Leave them out, or give them in larger units if their values are tiny.",
        )


def _round_off(X: Array) -> Array:
    """Return the largest standard deviation of each column that round-off alone can cause."""
    largest = np.maximum(X.max(axis=0), -X.min(axis=0))
    return len(X) * np.finfo(float).eps * largest


def constant_columns(X: Array) -> Mask:
    """Return which columns vary by no more than the round-off of their values."""
    # Everything is halved, so that the range of very large numbers does not overflow.
    bound = _round_off(X) / 2
    spread = (X.max(axis=0) / 2 - X.min(axis=0) / 2) / np.sqrt(2 * len(X))  # at most the std
    constant: Mask = spread <= 2 * bound
    doubtful = np.flatnonzero(constant)  # usually empty, so that a large table is not copied
    constant[doubtful] = (X[:, doubtful] / 2).std(axis=0) <= bound[doubtful]
    return constant


def canonical_order(standardised: Callable[[Array], Array], X: Array, names: ArrayLike) -> Indices:
    """Return the columns sorted by content: by the first row, then the next rows, then the names.

    The content is standardised and rounded. So copies of a column in other units are equal, and
    are sorted by name.
    """
    # The first row is usually enough, and avoids a copy of the table.
    first = np.round(standardised(X[:1].copy())[0], CONTENT_DIGITS)
    order = np.argsort(first, kind="stable")
    if np.all(np.diff(first[order]) > 0):
        return order
    return np.lexsort((np.asarray(names), *np.round(standardised(X.copy())[::-1], CONTENT_DIGITS)))


def matrix_names(S: Any, names: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the given names of the variables, else the column names of a DataFrame, else None."""
    labels = None if names is None else tuple(map(str, names))
    if hasattr(S, "columns"):
        # If rows and columns had different orders, the variables would be mixed up.
        check_names_agree(S, "S")
        columns = tuple(map(str, S.columns))
        check_same_names(labels, columns)
        labels = columns
    check_distinct(labels or ())
    return labels


def checked_covariance(S: Any, names: Sequence[str]) -> Array:
    """Return the matrix as floats and exactly symmetric. Raise InputError if it is not usable."""
    try:
        matrix = np.array(S, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError("covariance.text").says(
            "the covariance matrix has cells that are not numbers", "Correct these cells."
        ) from error
    if matrix.ndim != 2 or len(matrix) != matrix.shape[1] or len(matrix) < 2:
        raise InputError("matrix.shape", argument="S", shape=matrix.shape).says(
            "{argument} has shape ({shape:s})", "Give a square matrix of two or more variables."
        )
    if len(names) != len(matrix):
        raise InputError(
            "argument.shape", argument="names", shape=[len(names)], m=len(matrix)
        ).says("{argument} has shape ({shape:s})", "Give one value for each of {m:variable}.")
    bad = np.argwhere(~np.isfinite(matrix))
    if bad.size:
        i, j = bad[0]
        raise InputError("covariance.gaps", first=names[i], second=names[j]).says(
            "the covariance of {first} and {second} is not finite", "Compute it from complete rows."
        )
    flat = np.flatnonzero(np.diag(matrix) <= 0)
    if flat.size:
        raise InputError("covariance.variance", variable=names[flat[0]]).says(
            "the variance of {variable} is not positive", "Leave out constant variables."
        )
    sd = np.sqrt(np.diag(matrix))
    uneven = np.argwhere(np.abs(matrix - matrix.T) > MATRIX_EPS * np.outer(sd, sd))
    if uneven.size:
        i, j = uneven[0]
        raise InputError("covariance.symmetry", first=names[i], second=names[j]).says(
            "the covariance of {first} and {second} is not symmetric", "Correct it."
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
        raise InputError("covariance.indefinite", first=first, second=second).says(
            "the covariance matrix is not positive semidefinite, mostly by {first} and {second}",
            "Compute the matrix from complete rows.",
        )


class _OneBlasThread:
    """A context in which BLAS uses one thread. All threads of Python share it.

    The first thread to enter sets the limit. The last thread to leave lifts it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Without this count, a thread that leaves would lift the limit while others still need it.
        self._inside = 0
        self._limited: Any = None
        self._of_thread = threading.local()

    def __enter__(self) -> None:
        depth = getattr(self._of_thread, "depth", 0)
        if not depth:  # each thread sets the limit: in some builds of BLAS it is per thread
            with self._lock:
                limited = _unowned(lambda: _threads().limit(limits=1, user_api="blas"))
                if not self._inside:
                    self._limited = limited
                self._inside += 1
        self._of_thread.depth = depth + 1

    def __exit__(self, *_: object) -> None:
        self._of_thread.depth -= 1
        if not self._of_thread.depth:
            with self._lock:
                self._inside -= 1
                if not self._inside:
                    _unowned(self._limited.restore_original_limits)


def _unowned(change: Callable[[], Any]) -> Any:
    """Change the number of BLAS threads, even if another thread set it before."""
    # From version 3.8 upwards, threadpoolctl obeys only the thread that set the first limit. It
    # does not notice when that thread leaves this context.
    disown = getattr(OpenBLASController, "clear_controlling_thread", lambda **_: None)
    disown(force=True)
    try:
        return change()
    finally:
        disown(force=True)


@cache
def _threads() -> ThreadpoolController:
    """Return the controller of all BLAS libraries that are loaded."""
    import scipy.linalg  # noqa: F401 - scipy has its own BLAS, which must be loaded

    return ThreadpoolController()


_ONE_BLAS_THREAD = _OneBlasThread()


def one_blas_thread() -> AbstractContextManager[None]:
    """Return a context in which BLAS uses one thread."""
    return _ONE_BLAS_THREAD
