"""Mean, scale and Gram matrix: all that a solver ever sees of the data."""

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

from sgbn.exceptions import InputError
from sgbn.jit import jit_loops
from sgbn.parameters import Whole
from sgbn.types import Array, Indices, Mask

CONTENT_DIGITS = 9  # of standardised values that tell columns apart: the rest is round-off
MATRIX_EPS = 1e-8  # asymmetry and negative eigenvalues of a correlation matrix that are round-off
A_BLOCK = 2048  # rows that are worked on at a time: a large table is never copied as a whole


@dataclass(frozen=True)
class Moments:
    r"""First and second moments of a sample, in coordinates that solvers work in.

    Solvers see every variable in units of its own `scale`, so that the Gram matrix has a unit
    diagonal, and in a *canonical order* that depends on the standardised content of the columns
    only. BLAS gives other last bits for other column orders; this way a permutation of the
    user's columns permutes the answer to the bit.

    Attributes
    ----------
    n : int
        Number of samples.
    mean, sd : ndarray of shape (m,)
        Mean and standard deviation (ddof=0), in the user's column order and units.
    scale : ndarray of shape (m,)
        What the columns were divided by: `sd`; with a bias, where nothing is centred, the root
        mean square.
    R : ndarray of shape (p, p)
        Gram matrix :math:`Z^T Z / n` of the scaled columns, in canonical order. p = m, or m + 1
        where the last variable is the constant bias.
    columns : ndarray of shape (m,)
        ``columns[k]`` is the user's column of canonical variable k.
    names : tuple of str, optional
        Of the variables, in the user's order, where a covariance matrix came with some.

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
        """Moments of a sample of which only the covariance matrix is known.

        Parameters
        ----------
        S : array-like of shape (m, m)
            Covariance (or correlation) matrix. A DataFrame has the names of its columns.
        n : int
            Number of samples that it was computed from.
        names : sequence of str, optional
        mean : array-like of shape (m,), optional
            Zeros by default, which the intercepts of a network then refer to.
        ddof : int
            S was divided by ``n - ddof``: 1, as numpy and pandas have it by default, or 0.

        Notes
        -----
        Without rows, variables are sorted by their correlations, then by name (without names, by
        place): only variables with the same correlations, such as two alone, depend on it.
        """
        names = _names_of_matrix(S, names)
        labels = names or tuple(f"x{k}" for k in range(np.shape(S)[0] if np.ndim(S) else 0))
        matrix = _check_covariance(S, labels)
        m = len(matrix)
        Whole(2).check("n", n)
        Whole(0, 1).check("ddof", ddof)
        centre = np.zeros(m) if mean is None else np.array(mean, dtype=float)
        if centre.shape != (m,) or not np.isfinite(centre).all():
            raise InputError(
                f"mean must hold {m} finite numbers, one for each variable. Give it so."
            )
        root = np.sqrt(np.diag(matrix))
        R = matrix / np.outer(root, root)
        np.fill_diagonal(R, 1.0)
        _check_positive(R, labels)
        columns = _order_by_correlations(R, names)
        sd = root * np.sqrt((n - ddof) / n)
        R = np.ascontiguousarray(R[np.ix_(columns, columns)])
        return cls(int(n), centre, sd, sd, R, columns, names)

    @property
    def m(self) -> int:
        """Number of variables, the bias not counted."""
        return len(self.columns)

    @property
    def has_bias(self) -> bool:
        """Whether the last row of `R` is the constant bias."""
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
        """Moments of what a regression left, which took `lost` degrees of freedom.

        Samples that effects have used up count for nothing: not in a criterion, nor in a variance.
        """
        wider = np.sqrt(self.n / (self.n - lost))
        return replace(self, n=self.n - lost, sd=self.sd * wider, scale=self.scale * wider)

    def to_user(self, B: NDArray[Any]) -> NDArray[Any]:
        """Theta in the user's column order from B in canonical order.

        Row ``B[j]`` holds the weights of canonical j's parents; ``Theta[i, j]`` is i -> j.
        """
        place = np.argsort(self.columns)
        return np.ascontiguousarray(B[place][:, place].T)

    def to_canonical(self, Theta: NDArray[Any]) -> NDArray[Any]:
        """Rows of weights in canonical order from Theta in the user's column order."""
        return np.ascontiguousarray(Theta[np.ix_(self.columns, self.columns)].T)


class _OneBlasThread:
    """Context that threads may share: the first one in sets the limit, the last one out lifts it.

    Without a count, a thread that leaves would give its threads back to BLAS while another one is
    still in. Each thread sets the limit: some builds of BLAS count threads for each of them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limited: Any = None
        self._own = threading.local()

    def __enter__(self) -> None:
        depth = getattr(self._own, "depth", 0)
        if not depth:
            with self._lock:
                limited = _unowned(lambda: _threads().limit(limits=1, user_api="blas"))
                if not self._inside:
                    self._limited = limited
                self._inside += 1
        self._own.depth = depth + 1

    def __exit__(self, *_: object) -> None:
        self._own.depth -= 1
        if not self._own.depth:
            with self._lock:
                self._inside -= 1
                if not self._inside:
                    _unowned(self._limited.restore_original_limits)


def _unowned(change: Callable[[], Any]) -> Any:
    """Change the number of threads, whichever thread did so before.

    From 3.8 on threadpoolctl ignores all but the first one, whose leaving it does not see here.
    """
    disown = getattr(OpenBLASController, "clear_controlling_thread", lambda **_: None)
    disown(force=True)
    try:
        return change()
    finally:
        disown(force=True)


@cache
def _threads() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401 - its BLAS is another than numpy's, and must be loaded

    return ThreadpoolController()


_ONE_BLAS_THREAD = _OneBlasThread()


def one_blas_thread() -> AbstractContextManager[None]:
    """Context in which BLAS uses one thread: their number changes the last bits of a product."""
    return _ONE_BLAS_THREAD


def moments_of(X: Array, names: Sequence[str], bias: bool = False) -> Moments:
    """Moments of the rows of X.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        Finite data; not changed.
    names : sequence of str
        Column names, for messages and for ties between equal columns.
    bias : bool
        Leave the columns uncentred and add the constant 1 as a last variable, so that the
        intercept can be penalised like a weight.
    """
    X = np.ascontiguousarray(X, dtype=float)
    n, m = X.shape
    mean = X.mean(axis=0)
    none, every = np.zeros(m), np.arange(m)
    # the second pass removes the round-off of a large mean
    correction = _column_sums(X, (mean, none), False) / n
    sd = scale = np.sqrt(_column_sums(X, (mean, correction), True) / n)
    _check_not_constant(X, mean, sd, names)
    shift = (mean, correction)
    if bias:
        shift = (none, none)
        scale = np.sqrt(_column_sums(X, shift, True) / n)

    def standardised(rows: Array, columns: Indices, Z: Array) -> Array:
        own = [part[columns] for part in (*shift, scale)]
        _standardise(rows, columns, *own, Z[: len(rows)])
        return Z[: len(rows)]

    columns = canonical_order(
        lambda rows: standardised(rows, every, np.empty(rows.shape)), X, names
    )
    R = np.zeros((m + bias, m + bias))
    room = np.ones((min(n, A_BLOCK), m + bias))  # a bias is the last column
    with one_blas_thread():
        for rows in _blocks(X):
            Z = standardised(rows, columns, room)
            R += Z.T @ Z
    R /= n
    np.fill_diagonal(R, 1.0)
    return Moments(n, mean + correction, sd, scale, R, columns)


def _blocks(X: Array) -> Iterator[Array]:
    """Give some rows at a time, of a kind that kernels take without being compiled again."""
    for first in range(0, len(X), A_BLOCK):
        rows = X[first : first + A_BLOCK]
        yield rows if rows.flags.writeable else rows.copy()


def _column_sums(X: Array, shift: tuple[Array, Array], squared: bool) -> Array:
    """Add up the columns less two shifts, or the squares of that."""
    total = np.zeros(X.shape[1])
    for rows in _blocks(X):
        _add_rows(rows, *shift, squared, total)
    return total


@jit_loops
def _add_rows(X, first, second, squared, total):  # type: ignore[no-untyped-def]
    """Add rows to `total`, one by one: sums do not depend on where a column stands."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            z = X[i, j] - first[j] - second[j]
            total[j] += z * z if squared else z


@jit_loops
def _standardise(X, columns, first, second, scale, Z):  # type: ignore[no-untyped-def]
    """Fill the first columns of `Z` with columns of X, less two shifts and divided by a scale."""
    for i in range(X.shape[0]):
        for k in range(columns.size):
            Z[i, k] = (X[i, columns[k]] - first[k] - second[k]) / scale[k]


def _check_not_constant(X: Array, mean: Array, scale: Array, names: Sequence[str]) -> None:
    """Refuse columns whose spread is no more than the round-off of their values."""
    huge = np.flatnonzero(~np.isfinite(scale))
    if huge.size:
        raise InputError(
            f"the values of column {names[huge[0]]!r} are too large for their squares to be "
            "represented. Divide it by a constant."
        )
    most = np.abs(mean) + np.sqrt(len(X)) * scale  # no value is larger; spares a look at all
    doubtful = np.flatnonzero(scale <= 2 * len(X) * np.finfo(float).eps * most)
    constant = doubtful[scale[doubtful] <= _round_off(X[:, doubtful])]
    if constant.size:
        listed = ", ".join(repr(names[k]) for k in constant[:5])
        more = f" and {constant.size - 5} more" if constant.size > 5 else ""
        raise InputError(
            f"constant column: {listed}{more} has the same value in all {len(X)} samples, so no "
            "weight can be learned for it. Remove it, or check how it was computed."
        )


def _round_off(X: Array) -> Array:
    """Spread of each column that round-off alone can make."""
    largest = np.maximum(X.max(axis=0), -X.min(axis=0))
    bound: Array = len(X) * np.finfo(float).eps * largest
    return bound


def constant_columns(X: Array) -> Mask:
    """Which columns have no spread beyond the round-off of their values."""
    # halved, so that the spread of the largest numbers is finite
    bound = _round_off(X) / 2
    spread = (X.max(axis=0) / 2 - X.min(axis=0) / 2) / np.sqrt(2 * len(X))  # at most the std
    constant: Mask = spread <= 2 * bound
    doubtful = np.flatnonzero(constant)  # hardly ever one: a large table is not copied
    constant[doubtful] = (X[:, doubtful] / 2).std(axis=0) <= bound[doubtful]
    return constant


def canonical_order(standardised: Callable[[Array], Array], X: Array, names: ArrayLike) -> Indices:
    """Sort the columns by their content: the first row, then the next ones, then the names.

    Content is rounded, so that copies of a column in other units are equal and names decide.
    """
    first = np.round(standardised(X[:1].copy())[0], CONTENT_DIGITS)
    order = np.argsort(first, kind="stable")
    if np.all(np.diff(first[order]) > 0):
        return order
    return np.lexsort((np.asarray(names), *np.round(standardised(X.copy())[::-1], CONTENT_DIGITS)))


def _names_of_matrix(S: Any, names: Sequence[str] | None) -> tuple[str, ...] | None:
    """Names of the variables of a matrix: those given, else those of a DataFrame's columns."""
    found = None if names is None else tuple(map(str, names))
    if hasattr(S, "columns"):
        own = tuple(map(str, S.columns))
        if own != tuple(map(str, S.index)):
            raise InputError(
                "rows and columns of the covariance matrix have other names. Sort both alike."
            )
        if found is not None and found != own:
            raise InputError("names differ from the columns of S. Leave them out.")
        found = own
    if found is not None and len(set(found)) < len(found):
        twice = next(name for name in found if found.count(name) > 1)
        raise InputError(f"the name {twice!r} is used more than once. Rename one of them.")
    return found


def _check_covariance(S: Any, names: Sequence[str]) -> Array:
    """Matrix as floats, exactly symmetric; what is wrong with it is said by name."""
    try:
        matrix = np.array(S, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError("the covariance matrix holds other than numbers. Correct it.") from error
    if matrix.ndim != 2 or len(matrix) != matrix.shape[1] or len(matrix) < 2:
        raise InputError(
            f"the covariance matrix has shape {matrix.shape}. Give a square one of two or more "
            "variables."
        )
    if len(names) != len(matrix):
        raise InputError(f"there are {len(names)} names of {len(matrix)} variables. Give as many.")
    bad = np.argwhere(~np.isfinite(matrix))
    if bad.size:
        i, j = bad[0]
        raise InputError(
            f"the covariance of {names[i]!r} and {names[j]!r} is {matrix[i, j]}. Leave out "
            "variables with missing values, or compute it from complete rows."
        )
    flat = np.flatnonzero(np.diag(matrix) <= 0)
    if flat.size:
        raise InputError(
            f"the variance of {names[flat[0]]!r} is {matrix[flat[0], flat[0]]:g}; it must be "
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
    return (matrix + matrix.T) / 2


def _check_positive(R: Array, names: Sequence[str]) -> None:
    """Refuse a matrix that no rows have, such as one of pairwise complete observations."""
    values, vectors = np.linalg.eigh(R)
    if values[0] < -MATRIX_EPS * len(R):
        first, second = (names[k] for k in np.argsort(-np.abs(vectors[:, 0]), kind="stable")[:2])
        raise InputError(
            "the covariance matrix is not positive semidefinite (its correlations have an "
            f"eigenvalue of {values[0]:.2g}), most of all at {first!r} and {second!r}. Compute it "
            "from rows that are complete."
        )


def _order_by_correlations(R: Array, names: Sequence[str] | None) -> Indices:
    """Sort variables by their correlations, the largest first, then by name."""
    sizes = np.sort(np.round(np.abs(R), CONTENT_DIGITS), axis=1)
    tie = np.arange(len(R)) if names is None else np.argsort(np.argsort(names))
    return np.lexsort((tie, *sizes.T))
