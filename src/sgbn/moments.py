"""Mean, scale and Gram matrix: all that a solver ever sees of the data."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import OpenBLASController, ThreadpoolController

from sgbn.exceptions import InputError
from sgbn.jit import jit

Array = NDArray[np.float64]

CONTENT_DIGITS = 9  # of standardised values that tell columns apart: the rest is round-off
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
    """

    n: int
    mean: Array
    sd: Array
    scale: Array
    R: Array
    columns: NDArray[np.intp]

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

    def standardised(rows: Array, columns: NDArray[np.intp], Z: Array) -> Array:
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


@jit
def _add_rows(X, first, second, squared, total):  # type: ignore[no-untyped-def]
    """Add rows to `total`, one by one: sums do not depend on where a column stands."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            z = X[i, j] - first[j] - second[j]
            total[j] += z * z if squared else z


@jit
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


def constant_columns(X: Array) -> NDArray[np.bool_]:
    """Which columns have no spread beyond the round-off of their values."""
    # halved, so that the spread of the largest numbers is finite
    bound = _round_off(X) / 2
    spread = (X.max(axis=0) / 2 - X.min(axis=0) / 2) / np.sqrt(2 * len(X))  # at most the std
    constant: NDArray[np.bool_] = spread <= 2 * bound
    doubtful = np.flatnonzero(constant)  # hardly ever one: a large table is not copied
    constant[doubtful] = (X[:, doubtful] / 2).std(axis=0) <= bound[doubtful]
    return constant


def canonical_order(
    standardised: Callable[[Array], Array], X: Array, names: ArrayLike
) -> NDArray[np.intp]:
    """Sort the columns by their content: the first row, then the next ones, then the names.

    Content is rounded, so that copies of a column in other units are equal and names decide.
    """
    first = np.round(standardised(X[:1].copy())[0], CONTENT_DIGITS)
    order = np.argsort(first, kind="stable")
    if np.all(np.diff(first[order]) > 0):
        return order
    return np.lexsort((np.asarray(names), *np.round(standardised(X.copy())[::-1], CONTENT_DIGITS)))
