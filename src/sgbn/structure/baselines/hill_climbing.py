r"""A greedy search for the DAG with the best BIC.

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

from sgbn.core.graph import reachable
from sgbn.core.types import Array, Graph
from sgbn.learn.lasso import SolverResult
from sgbn.structure.baselines.partial_correlation import partial_correlations
from sgbn.structure.neighbourhood import ROWS_PER_PARENT

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
