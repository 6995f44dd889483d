"""Mean, scale and Gram matrix: all that a solver ever sees of the data."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import OpenBLASController, ThreadpoolController

from sgbn.exceptions import InputError

Array = NDArray[np.float64]

CONTENT_DIGITS = 9  # of standardised values that tell columns apart: the rest is round-off


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
    # Row by row, sums of a column do not depend on where it stands; einsum's would (FMA).
    X = np.ascontiguousarray(X)
    n = len(X)
    mean = X.mean(axis=0)
    Z = X - mean
    correction = Z.mean(axis=0)  # the second pass removes the round-off of a large mean
    mean += correction
    Z -= correction
    with np.errstate(over="ignore"):
        sd = scale = np.sqrt(np.square(Z).mean(axis=0))
    _check_not_constant(X, sd, names)
    if bias:
        Z = X.copy()
        scale = np.sqrt(np.square(Z).mean(axis=0))
    Z /= scale
    columns = _canonical_order(Z, names)
    Z = Z[:, columns]
    if bias:
        Z = np.column_stack([Z, np.ones(n)])
    with one_blas_thread():
        R = Z.T @ Z
    R /= n
    np.fill_diagonal(R, 1.0)
    return Moments(n, mean, sd, scale, R, columns)


def _check_not_constant(X: Array, scale: Array, names: Sequence[str]) -> None:
    """Refuse columns whose spread is no more than the round-off of their values."""
    huge = np.flatnonzero(~np.isfinite(scale))
    if huge.size:
        raise InputError(
            f"the values of column {names[huge[0]]!r} are too large for their squares to be "
            "represented. Divide it by a constant."
        )
    constant = np.flatnonzero(scale <= _round_off(X))
    if constant.size:
        listed = ", ".join(repr(names[k]) for k in constant[:5])
        more = f" and {constant.size - 5} more" if constant.size > 5 else ""
        raise InputError(
            f"constant column: {listed}{more} has the same value in all {len(X)} samples, so no "
            "weight can be learned for it. Remove it, or check how it was computed."
        )


def _round_off(X: Array) -> Array:
    """Spread of each column that round-off alone can make."""
    bound: Array = len(X) * np.finfo(float).eps * np.abs(X).max(axis=0)
    return bound


def constant_columns(X: Array) -> NDArray[np.bool_]:
    """Which columns have no spread beyond the round-off of their values."""
    # halved, so that the spread of the largest numbers is finite
    return np.asarray((X / 2).std(axis=0) <= _round_off(X / 2))


def _canonical_order(Z: Array, names: Sequence[str]) -> NDArray[np.intp]:
    """Sort the columns by their content: the first row, then the next ones, then the names.

    Content is rounded, so that copies of a column in other units are equal and names decide.
    """
    first = np.round(Z[0], CONTENT_DIGITS)
    order = np.argsort(first, kind="stable")
    if np.all(np.diff(first[order]) > 0):
        return order
    return np.lexsort((np.asarray(names), *np.round(Z[::-1], CONTENT_DIGITS)))
