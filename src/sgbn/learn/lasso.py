r"""Weighted lasso of every variable on all others, on the Gram matrix, and its penalties.

For each target j, with R the Gram matrix of variables scaled to a unit diagonal,

.. math:: \min_b \tfrac12 b^T R b - R_j^T b + \sum_k w_k |b_k|, \qquad b_j = 0,

where b are the weights and w their prices. This is Eq. 4.2 of the paper for fixed order variables,
divided by 2n, for one column of Theta. A weight with a price of 1 or more is always 0, because
|x_k' r| <= ||x_k|| ||r|| <= n for the variable x_k, the residual r of the target, and n samples.

A working set grows by the coordinates that violate the optimality (KKT) conditions. Cyclic
coordinate descent on this set finds the signs of the weights. The normal equations for these signs
then give the weights to round-off ("polish"). With a tolerance alone, supports could differ from
run to run.

`lasso_gram` solves this for all targets. `refit_column` replaces the weights of one target by least
squares, and `residual_variances` gives what they leave. Then come `SolverResult`, which all solvers
return, and what the choice of a penalty needs: `alpha_max`, `alpha_grid` and folds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import KFold, check_cv

from sgbn.core.jit import jit, jit_inside, jit_loops
from sgbn.core.moments import Moments, moments_of
from sgbn.core.types import Array
from sgbn.core.validation import check_values, is_whole

TOL = 1e-10  # KKT violation, on variables of unit scale
SINGULAR = 1e-12  # smaller pivots of a Gram matrix with unit diagonal are round-off
ROUND_OFF = 1e-12  # round-off of a gradient, on variables of unit scale
SLOW_EPOCHS = 30  # after this many passes, an active-set method helps coordinate descent
MAX_EPOCHS = 1000  # passes over a working set; reached only if columns are nearly collinear


@jit
def support_of(b):  # type: ignore[no-untyped-def]
    """Return the positions at which `b` is not zero."""
    # A loop, because numba needs seconds to compile np.flatnonzero.
    size = 0
    for k in range(b.size):
        size += b[k] != 0.0
    support = np.empty(size, np.int64)
    size = 0
    for k in range(b.size):
        if b[k] != 0.0:
            support[size] = k
            size += 1
    return support


@jit_inside
def _factor(M):  # type: ignore[no-untyped-def]
    """Factor `M` by Cholesky in its lower triangle, in place, up to the first dependent row.

    Return the number of leading rows that are linearly independent.
    """
    # A loop, because the systems are tiny (tens of unknowns) and a call of LAPACK costs more.
    for i in range(M.shape[0]):
        for j in range(i + 1):
            rest = M[i, j]
            for h in range(j):
                rest -= M[i, h] * M[j, h]
            if i > j:
                M[i, j] = rest / M[j, j]
            elif rest > SINGULAR:
                M[i, i] = np.sqrt(rest)
            else:
                return i
    return M.shape[0]


@jit_inside
def _solve_factored(L, size, x):  # type: ignore[no-untyped-def]
    """Solve L L' y = x for the leading `size` unknowns, in place."""
    for i in range(size):
        for h in range(i):
            x[i] -= L[i, h] * x[h]
        x[i] /= L[i, i]
    for i in range(size - 1, -1, -1):
        for h in range(i + 1, size):
            x[i] -= L[h, i] * x[h]
        x[i] /= L[i, i]


@jit
def _submatrix(M, places):  # type: ignore[no-untyped-def]
    """Return the rows and columns `places` of `M`. Only the lower triangle is set."""
    sub = np.empty((places.size, places.size))
    for i in range(places.size):
        for j in range(i + 1):
            sub[i, j] = M[places[i], places[j]]
    return sub


@jit
def _optimum_for_signs(M, s, w, b, support, goal):  # type: ignore[no-untyped-def]
    """Set `goal` to the solution of the normal equations for the signs of `b`, and return True.

    If the variables of the support are collinear, the solution is not unique. Then `goal` becomes a
    direction along which the fit stays the same and the penalty falls, and the function returns
    False.
    """
    L = _submatrix(M, support)
    rank = _factor(L)
    if rank == support.size:
        for i in range(rank):
            k = support[i]
            goal[i] = s[k] - w[k] * np.sign(b[k])
        _solve_factored(L, rank, goal)
        return True
    # The first dependent variable is a combination of the variables before it. This gives a null
    # vector of M.
    for i in range(support.size):
        goal[i] = -M[support[i], support[rank]] if i < rank else 0.0
    _solve_factored(L, rank, goal)
    goal[rank] = 1.0
    slope = 0.0
    for i in range(support.size):
        slope += w[support[i]] * np.sign(b[support[i]]) * goal[i]
    # If the penalty does not change along this direction, `b` stays, or it would move for ever.
    turn = -1.0 if slope > 0.0 else 1.0 if slope < 0.0 else 0.0
    for i in range(support.size):
        goal[i] *= turn
    return False


@jit
def _polish(M, s, w, b, persist):  # type: ignore[no-untyped-def]
    """Move `b`, in place, to the optimum for its signs, if this optimum has the same signs.

    Otherwise, if `persist` is False, `b` stays. If `persist` is True, `b` moves towards the optimum
    until a weight becomes zero. This weight is dropped, and all is repeated. This active-set method
    is slow, but it ends even if coordinate descent hardly advances.
    """
    while True:
        support = support_of(b)
        goal = np.empty(support.size)
        solved = _optimum_for_signs(M, s, w, b, support, goal)
        share = 1.0 if solved else np.inf  # along a direction, only a change of sign stops the move
        first = -1
        for i in range(support.size):
            step = goal[i] - b[support[i]] if solved else goal[i]
            if step * b[support[i]] < 0.0 and -b[support[i]] / step <= share:
                share = -b[support[i]] / step
                first = i
        if first >= 0 and not persist:
            return
        if share == np.inf:
            return
        for i in range(support.size):
            step = goal[i] - b[support[i]] if solved else goal[i]
            # Copy the goal itself: b + (goal - b) has round-off that depends on the start.
            b[support[i]] = goal[i] if solved and first < 0 else b[support[i]] + share * step
        if first < 0:
            return
        b[support[first]] = 0.0


@jit_inside
def _gradient(M, s, b, g):  # type: ignore[no-untyped-def]
    """Set g = M b - s."""
    for k in range(s.size):
        g[k] = -s[k]
    for k in range(s.size):
        if b[k] != 0.0:
            for h in range(s.size):
                g[h] += b[k] * M[k, h]


@jit_inside
def violation_at(g, w, b, k):  # type: ignore[no-untyped-def]
    """Return how far coordinate k is from the KKT conditions."""
    if b[k] > 0.0:
        return abs(g[k] + w[k])
    if b[k] < 0.0:
        return abs(g[k] - w[k])
    return max(abs(g[k]) - w[k], 0.0)


@jit_inside
def _epoch(M, w, b, g):  # type: ignore[no-untyped-def]
    """Update `b` and its gradient in one cyclic pass, and return whether a sign changed."""
    sign_changed = False
    for k in range(b.size):
        z = M[k, k] * b[k] - g[k]
        size = abs(z) - w[k]
        # A copy of a regressor in use is exactly at its threshold. Round-off must not let it enter.
        new = np.sign(z) * size / M[k, k] if size > (0.0 if b[k] != 0.0 else ROUND_OFF) else 0.0
        step = new - b[k]
        if step != 0.0:
            if np.sign(new) != np.sign(b[k]):
                sign_changed = True
            b[k] = new
            for h in range(b.size):
                g[h] += step * M[k, h]
    return sign_changed


@jit
def _solve_working_set(M, s, w, b, tol, max_epochs):  # type: ignore[no-untyped-def]
    """Solve the lasso on a small Gram matrix for `b`, in place, and return the number of epochs."""
    g = np.empty(b.size)
    _gradient(M, s, b, g)
    for n_epochs in range(1, max_epochs + 1):
        sign_changed = _epoch(M, w, b, g)
        if n_epochs > SLOW_EPOCHS or not sign_changed:
            _polish(M, s, w, b, n_epochs > SLOW_EPOCHS)
            # The gradient is computed again, because `b` has moved and updates add up round-off.
            _gradient(M, s, b, g)
        worst = 0.0
        for k in range(b.size):
            worst = max(worst, violation_at(g, w, b, k))
        if worst <= tol:
            return n_epochs
    return max_epochs


@jit
def solve_on(R, places, s, w, b, tol, max_epochs):  # type: ignore[no-untyped-def]
    """Solve the lasso on the variables `places` for `b`, in place; return the number of epochs.

    ``s[i]`` is the right side of the variable ``places[i]``.
    """
    # The working set is copied, so that the inner loops run over contiguous memory.
    M = np.empty((places.size, places.size))
    sub_w = np.empty(places.size)
    sub_b = np.empty(places.size)
    for i in range(places.size):
        row = R[places[i]]
        for h in range(places.size):
            M[i, h] = row[places[h]]
        sub_w[i] = w[places[i]]
        sub_b[i] = b[places[i]]
    n_epochs = _solve_working_set(M, s, sub_w, sub_b, tol, max_epochs)
    for i in range(places.size):
        b[places[i]] = sub_b[i]
    return n_epochs


@jit
def solve_column(R, j, w, b):  # type: ignore[no-untyped-def]
    """Solve the lasso of variable j on all others; return the number of epochs and the violation.

    `b` is the start, and holds the solution afterwards. Weights with a price of at least 1 are
    first set to 0, their optimum. If `b` is then optimal, the number of epochs is 0.
    """
    p = R.shape[0]
    g = np.empty(p)
    working = np.empty(p, np.int64)
    for k in range(p):
        if w[k] >= 1.0:
            b[k] = 0.0
    n_epochs = 0
    while True:
        _gradient(R, R[j], b, g)
        size = 0
        worst = 0.0
        for k in range(p):
            if k != j:
                v = violation_at(g, w, b, k)
                worst = max(worst, v)
                if b[k] != 0.0 or v > TOL:
                    working[size] = k
                    size += 1
        if worst <= TOL or n_epochs >= MAX_EPOCHS:
            return n_epochs, worst
        places = working[:size]
        s = np.empty(size)
        for i in range(size):
            s[i] = R[j, places[i]]
        # The tolerance is stricter here, so that the whole problem satisfies TOL.
        n_epochs += solve_on(R, places, s, w, b, 0.1 * TOL, MAX_EPOCHS - n_epochs)


@jit_loops
def _solve_columns(R, W, B):  # type: ignore[no-untyped-def]
    """Solve every row of `B` in place.

    Return the largest number of epochs and the largest violation of a row.
    """
    most_epochs = 0
    worst = 0.0
    for j in range(B.shape[0]):
        n_epochs, violation = solve_column(R, j, W[j], B[j])
        most_epochs = max(most_epochs, n_epochs)
        worst = max(worst, violation)
    return most_epochs, worst


def lasso_gram(R: Array, W: Array, start: Array | None = None) -> SolverResult:
    """Return the weighted lasso of every variable on all others.

    Paper: Eq. 4.2 for fixed order variables.

    Parameters
    ----------
    R : ndarray of shape (p, p)
        Gram matrix with a unit diagonal. The first m variables are targets and regressors, and all
        others are only regressors.
    W : ndarray of shape (m, p)
        ``W[j, k]`` is the price of |weight of k -> j|.
    start : ndarray of shape (m, p), optional
        Weights to start from. Zero by default.

    Returns
    -------
    SolverResult
        `x[j]` holds the weights of j's parents. `n_iter` is the largest number of epochs (passes
        over the working set) of a variable. `violation` is the largest violation of the KKT
        conditions. The solver has converged if `violation` is at most `TOL`.
    """
    B = np.zeros(W.shape) if start is None else start.copy()
    n_epochs, violation = _solve_columns(R, W, B)
    return SolverResult(B, n_epochs, violation, violation <= TOL)


@jit
def refit_column(R, j, b):  # type: ignore[no-untyped-def]
    """Replace the weights of j that are not zero in `b` by least squares, and return True.

    If their variables are collinear, `b` does not change and the function returns False.
    """
    parents = support_of(b)
    L = _submatrix(R, parents)
    if _factor(L) < parents.size:
        return False
    x = np.empty(parents.size)
    for i in range(parents.size):
        x[i] = R[parents[i], j]
    _solve_factored(L, parents.size, x)
    for i in range(parents.size):
        b[parents[i]] = x[i]
    return True


@jit_loops
def residual_variance(R, j, b):  # type: ignore[no-untyped-def]
    """Return the mean squared residual of j as a share of its second moment: 1 - 2 R_j'b + b'Rb."""
    total = 1.0
    for i in range(b.size):
        if b[i] == 0.0:
            continue
        fitted = 0.0
        for k in range(b.size):
            if b[k] != 0.0:
                fitted += R[i, k] * b[k]
        total += b[i] * (fitted - 2.0 * R[i, j])
    return max(total, 0.0)  # round-off may make a perfect fit negative


@jit_inside
def column_objective(R, j, w, b):  # type: ignore[no-untyped-def]
    """Return half the `residual_variance` of j plus the prices of its weights."""
    total = 0.5 * residual_variance(R, j, b)
    for k in range(b.size):
        total += w[k] * abs(b[k])
    return total


def residual_variances(R: Array, B: Array) -> Array:
    """Return the `residual_variance` of every target."""
    return np.array([residual_variance(R, j, B[j]) for j in range(len(B))])


class SolverResult(NamedTuple):
    """The solution, the number of iterations, and the distance from the optimum.

    Attributes
    ----------
    x : ndarray
        The solution.
    n_iter : int
        Number of iterations. The docstring of the solver says what it counts.
    violation : float
        Largest violation of the optimality conditions.
    converged : bool
        Whether `violation` is within the tolerance.
    """

    x: NDArray[Any]
    n_iter: int
    violation: float
    converged: bool


N_ALPHAS = 20  # number of values in the default grid
# The grid ends at the larger of two values: this share of its first value, ...
LAST_ALPHA_SHARE = 0.01
LAST_ALPHA_SE = 0.5  # ... and its first value times this many standard errors of a correlation


class Splitter(Protocol):
    """A cross-validator of scikit-learn, or another object with the same method `split`."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterable[tuple[Any, Any]]:
        """Return, for each fold, the rows to train on and the rows to test on."""


Folds = int | Splitter | Sequence[tuple[ArrayLike, ArrayLike]]


def alpha_max(X: ArrayLike, standardize: bool = True) -> float:
    """Return the smallest alpha at which the network has no edge.

    It is the largest absolute correlation of two columns, or without `standardize` the largest
    absolute covariance.
    """
    return _alpha_max(moments_of(*check_values(X)), standardize)


def alpha_grid(X: ArrayLike, n_alphas: int = N_ALPHAS, standardize: bool = True) -> Array:
    """Return a geometric grid of alphas from `alpha_max` down to where only noise is added.

    For n samples, the last value is `alpha_max` times 1 %, or times ``0.5 / sqrt(n)`` if this is
    more. ``1 / sqrt(n)`` is the standard error of a correlation.
    """
    return grid(moments_of(*check_values(X)), n_alphas, standardize)


def _alpha_max(moments: Moments, standardize: bool) -> float:
    """Return the `alpha_max` of a sample, from its moments."""
    units = penalty_units(moments, standardize)
    return float(np.triu(np.abs(moments.R) / np.outer(units, units), 1).max())


def grid(moments: Moments, n_alphas: int = N_ALPHAS, standardize: bool = True) -> Array:
    """Return the `alpha_grid` of a sample, from its moments."""
    largest = _alpha_max(moments, standardize) or 1.0  # uncorrelated columns: any grid will do
    share = max(LAST_ALPHA_SHARE, LAST_ALPHA_SE / np.sqrt(moments.n))
    return np.geomspace(largest, share * largest, n_alphas)


def folds(cv: Folds, n: int) -> Splitter:
    """Return the folds of n rows as a splitter.

    A number gives that many folds, at most n. They are shuffled with a fixed seed, because rows are
    often sorted by site.
    """
    # check_cv also makes a splitter of a list of folds.
    return check_cv(KFold(min(int(cv), n), shuffle=True, random_state=0) if is_whole(cv) else cv)


def penalty_units(moments: Moments, standardize: bool) -> Array:
    """Return the factors that convert prices from the units of alpha to the units of the solvers.

    Solvers get variables divided by their scale. If alpha is meant for the data as they are (not
    `standardize`), the solvers use alpha / (scale_j scale_k) as the price of |Theta_kj|. So the
    factor of variable k is 1 / scale_k. If `standardize`, it is 1.
    """
    if standardize:
        return np.ones(len(moments.R))
    scale = np.append(moments.scale[moments.columns], np.ones(len(moments.R) - moments.m))
    return 1.0 / scale
