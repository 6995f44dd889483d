r"""L1MB: lasso neighbourhoods, then a greedy search (Schmidt, Niculescu-Mizil and Murphy, 2007).

Neighbourhoods of all variables by lasso and BIC: the first stage of L1MB.

A lasso of target j on all other variables has one support A per penalty. The neighbourhood of j is
the support with the best BIC,

.. math:: \min_A \; n \log(RSS_A / n) + |A| \log n

for n samples, where :math:`RSS_A` is the residual sum of squares of a least-squares refit on A
(Schmidt, Niculescu-Mizil and Murphy, 2007).

A greedy search for the DAG with the best BIC.

.. math:: \max_G \; -\tfrac12 \sum_j \log v_j(G) - |G| \frac{\log n}{2n}, \qquad G \text{ a DAG},

This is the BIC per sample: v_j is the residual variance of variable j given its parents in G, |G|
the number of edges, and n the number of samples. The search starts without edges. A move adds,
deletes or reverses one edge. The search makes the best move until no move improves the BIC. If r is
the partial correlation of i and j given the parents of j, then adding i -> j gains
-1/2 log(1 - r^2) minus the price of an edge. A move changes the parents of one or two variables,
and only their gains are computed again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from sgbn.core.equivalence import cpdag, skeleton
from sgbn.core.graph import reachable
from sgbn.core.jit import jit
from sgbn.core.moments import Moments, one_blas_thread
from sgbn.core.problems import Problem
from sgbn.core.types import Array, Graph
from sgbn.learn.lasso import SolverResult, refit_column, residual_variance, solve_column, support_of
from sgbn.paper.markov import GraphEstimator, LearnedGraph, partial_correlations


class L1MB(GraphEstimator):
    """A network from L1-regularised Markov blankets and a greedy search (L1MB).

    A lasso of each variable on all others has one support per penalty. The blanket of the variable
    is the support with the best BIC. An edge between two variables is allowed if one of them is in
    the blanket of the other ("or", not "and"). A greedy search then adds, deletes and reverses
    allowed edges, the best move first, until no move improves the BIC. There are no parameters.

    Attributes
    ----------
    pdag_ : ndarray of bool, shape (n_features, n_features)
        The CPDAG of the learned DAG.
    consistent_ : bool
        Always True, because `pdag_` comes from a DAG.
    coef_, coef_std_, intercept_, noise_variance_, order_, network_, blankets_
        As in `IAMB`.

    References
    ----------
    M. Schmidt, A. Niculescu-Mizil and K. Murphy, Learning graphical model structure using
    L1-regularization paths, AAAI 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.paper.l1mb import L1MB
    >>> a = np.random.default_rng(0).standard_normal((500, 3))
    >>> a[:, 2] += a[:, 0] + a[:, 1]
    >>> L1MB().fit(a).network_
    GaussianNetwork(3 variables, 2 edges)
    """

    def learn_graph(self, moments: Moments) -> LearnedGraph:
        """Return the graph that the greedy search finds among the edges of the blankets."""
        blankets = neighbourhoods_by_bic(moments.R, moments.m, moments.n) != 0
        search = hill_climbing(moments.R, moments.n, skeleton(blankets))
        if not search.converged:
            Problem("search.stopped", n=search.n_iter).warn(
                "the greedy search stopped after {n:move}, although further moves would help",
                "Drop nearly collinear columns.",
                ConvergenceWarning,
            )
        return LearnedGraph(blankets, cpdag(search.x), search.x)


PENALTY_RATIO = 0.9  # each penalty of the path divided by the one before
LAST_PENALTY_SHARE = 1e-3  # the last penalty, as a share of the target's largest correlation
# Neighbours beyond these two limits only fit noise.
MAX_EXTRA_NEIGHBOURS = 20  # in addition to three times the number of the best neighbours so far
ROWS_PER_PARENT = 3  # at most n / 3 neighbours
MIN_RSS = 1e-15  # as a share of the variance; a smaller RSS is round-off
MIN_EIGENVALUE = 1e-10  # smallest eigenvalue of a Gram matrix with unit diagonal to be inverted
BIC_TIE = 1e-9  # BICs of the same neighbours, refitted, differ by less than this
MAX_PENALTIES_IN_VAIN = 20  # the path ends after this many penalties without a better BIC


@jit
def _neighbourhood(R, j, n, smallest_rss, best):  # type: ignore[no-untyped-def]
    """Set `best` to the refitted weights of target j with the best BIC along its lasso path.

    `smallest_rss` is the RSS of a regression on all others. The path ends when even this RSS could
    not improve the BIC with the current number of neighbours.
    """
    p = R.shape[0]
    best[:] = 0.0
    best_score = 0.0  # the BIC without neighbours: n log(1)
    b = np.zeros(p)
    w = np.empty(p)
    largest = 0.0
    for k in range(p):
        if k != j:
            largest = max(largest, abs(R[j, k]))
    share = 1.0
    waited = 0
    while share > LAST_PENALTY_SHARE and waited < MAX_PENALTIES_IN_VAIN:
        share *= PENALTY_RATIO
        waited += 1
        w[:] = share * largest
        # Starts from `b` of the last penalty, because neighbours change little from step to step.
        solve_column(R, j, w, b)
        size = support_of(b).size
        refitted = b.copy()
        # Hopeless: no choice of this many neighbours could reach the best BIC so far.
        hopeless = n * np.log(smallest_rss) + size * np.log(n) > best_score + BIC_TIE
        crowded = size > MAX_EXTRA_NEIGHBOURS + 3 * support_of(best).size
        crowded = crowded or ROWS_PER_PARENT * size > n
        if hopeless or crowded or not refit_column(R, j, refitted):
            break
        # A value below `smallest_rss` is round-off, and its logarithm would look like a better fit.
        rss = max(residual_variance(R, j, refitted), smallest_rss)
        score = n * np.log(rss) + size * np.log(n)
        if score < best_score - BIC_TIE:
            best_score = score
            waited = 0
            for k in range(p):
                best[k] = refitted[k]


def neighbourhoods_by_bic(R: Array, m: int, n: int) -> Array:
    """Return the refitted weights of the neighbours of target j in row j, for all m targets.

    Parameters
    ----------
    R : ndarray of shape (p, p)
        Gram matrix with a unit diagonal.
    m : int
        Number of targets: the first m variables. A bias, if there is one, comes after them.
    n : int
        Number of samples.
    """
    precision = inverse_gram(R) if n > len(R) else None
    # The residual variance of each variable given all others.
    rss = np.zeros(len(R)) if precision is None else 1.0 / np.diag(precision)
    B = np.empty((m, len(R)))
    for j in range(m):
        _neighbourhood(R, j, n, max(float(rss[j]), MIN_RSS), B[j])
    return B


def inverse_gram(R: Array) -> Array | None:
    """Return the inverse of R, or None if a variable is a linear combination of the others."""
    # One thread, so that the rounding does not depend on the number of processors.
    with one_blas_thread():
        values, vectors = np.linalg.eigh(R)
        if values[0] < MIN_EIGENVALUE:
            return None
        inverse: Array = (vectors / values) @ vectors.T
    return inverse


TIE = 1e-10  # gains per sample that differ by less count as equal
MOVES_PER_VARIABLE = 100  # more moves only happen if nearly collinear columns lead to a loop


class _Move(NamedTuple):
    """Add or delete the edge tail -> head; or, if `turned`, replace it by head -> tail."""

    tail: int
    head: int
    turned: bool
    gain: float


def hill_climbing(R: Array, n: int, allowed: Graph) -> SolverResult:
    """Return a DAG that no single move improves, found by steps from the empty graph.

    A variable gets at most n / 3 parents, because a regression on more parents says little.

    Parameters
    ----------
    R : ndarray of shape (m, m)
        Correlation matrix.
    n : int
        Number of samples.
    allowed : ndarray of bool, shape (m, m)
        ``allowed[i, j]`` is True if the edge i -> j may be used.

    Returns
    -------
    SolverResult
        ``x[i, j]`` is the edge i -> j. `n_iter` counts the moves. `violation` is the largest gain
        per sample of a further move.
    """
    A = np.zeros(R.shape, dtype=bool)
    P = A.copy()
    gains = np.stack([_gains_at(R, n, allowed, A, j) for j in range(len(R))], axis=1)
    n_moves = 0
    while (move := _best_move(A, P, gains)).gain > TIE and n_moves < MOVES_PER_VARIABLE * len(R):
        n_moves += 1
        P = _make(move, A, P)
        for j in {move.head, move.tail} if move.turned else {move.head}:
            gains[:, j] = _gains_at(R, n, allowed, A, j)
    return SolverResult(A, n_moves, max(move.gain, 0.0), move.gain <= TIE)


def _gains_at(R: Array, n: int, allowed: Graph, A: Graph, j: int) -> Array:
    """Return the gain of adding or deleting i -> j for every i; -inf if it is not allowed.

    Whether the move closes a cycle is not checked here.
    """
    price = np.log(n) / (2 * n)
    parents = np.flatnonzero(A[:, j])
    gains = np.full(len(A), -np.inf)
    for i in parents:
        gains[i] = price - _fit_gained(R, j, [i], parents[parents != i])[0]
    if ROWS_PER_PARENT * (len(parents) + 1) <= n:
        outside = np.flatnonzero(allowed[:, j] & ~A[:, j])
        outside = outside[outside != j]
        gains[outside] = _fit_gained(R, j, outside, parents) - price
    return gains


def _fit_gained(R: Array, j: int, added: ArrayLike, parents: ArrayLike) -> Array:
    """Return the gain in log-likelihood per sample if one of `added` joins the parents of j."""
    r = partial_correlations(R, j, added, parents)
    return -0.5 * np.log1p(-np.square(r))


def _best_move(A: Graph, P: Graph, gains: Array) -> _Move:
    """Return the best move that keeps A a DAG; P is the path matrix of A."""
    toggles = np.where(~A & P.T, -np.inf, gains)
    turns = np.full(A.shape, -np.inf)
    tails, heads = np.nonzero(A)
    # A reversed edge closes a cycle if another path leads from its tail to its head.
    detour = (A[tails] & P[:, heads].T).any(axis=1)
    turns[tails, heads] = np.where(detour, -np.inf, (gains + gains.T)[tails, heads])
    moves = np.stack([toggles, turns])
    # The first of equal moves is taken, because round-off must not decide between them.
    first = int(np.argmax(moves >= moves.max() - TIE))
    turned, tail, head = (int(k) for k in np.unravel_index(first, moves.shape))
    return _Move(tail, head, bool(turned), float(moves.flat[first]))


def _make(move: _Move, A: Graph, P: Graph) -> Graph:
    """Make a move on `A`, in place, and return the path matrix of the new graph."""
    tail, head = move.tail, move.head
    A[tail, head] = not A[tail, head]
    A[head, tail] |= move.turned
    if not A[tail, head]:
        # A deleted edge may leave other paths between the same nodes: all are searched again.
        return reachable(A)
    # After an added edge, all nodes with a path to its tail have a path to all after its head.
    before, behind = P[:, tail].copy(), P[head].copy()
    before[tail] = behind[head] = True
    return P | np.outer(before, behind)
