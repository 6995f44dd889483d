r"""Greedy search for the DAG of the best BIC.

.. math:: \max_G \; -\tfrac12 \sum_j \log v_j(G) - |G| \frac{\log n}{2n}, \qquad G \text{ a DAG},

per sample, with v_j the residual variance of variable j given its parents in G. Starting from no
edge, the best one of all additions, deletions and reversals of an edge is made, until none is
better. Adding i -> j gains -1/2 log(1 - r^2) less the edge's price, r being the partial correlation
of i and j given the parents of j; after a move only the gains of the one or two variables whose
parents changed are computed anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sgbn.graph.acyclicity import reachable
from sgbn.solvers.result import SolverResult
from sgbn.structure.baselines.partial_correlation import partial_correlations
from sgbn.structure.neighbourhood import ROWS_PER_PARENT
from sgbn.types import Array, Graph

TIE = 1e-10  # gains per sample that differ by less are equal: the first move is taken
MOVES_PER_VARIABLE = 100  # more moves go in circles: nearly collinear columns mislead


class _Move(NamedTuple):
    """Toggle the edge tail -> head; `turned`: put head -> tail in its place."""

    tail: int
    head: int
    turned: bool
    gain: float


def hill_climbing(R: Array, n: int, allowed: Graph) -> SolverResult:
    """Climb from the empty graph to a DAG that no single move improves.

    A variable gets at most n / 3 parents: a regression on more says little.

    Parameters
    ----------
    R : ndarray of shape (m, m)
        Correlation matrix.
    n : int
        Number of samples.
    allowed : ndarray of bool, shape (m, m)
        ``allowed[i, j]`` says whether the edge i -> j may be used.

    Returns
    -------
    SolverResult
        `x[i, j]` is the edge i -> j, `n_iter` counts the moves, and `violation` is the largest
        gain per sample that a further move would bring.
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
    """Gain of adding or deleting i -> j for every i, cycles disregarded; -inf if not allowed."""
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
    """Log-likelihood per sample that each of the `added` brings j beyond its parents."""
    r = partial_correlations(R, j, added, parents)
    return -0.5 * np.log1p(-np.square(r))


def _best_move(A: Graph, P: Graph, gains: Array) -> _Move:
    """Best move that leaves a DAG; P holds the paths of A."""
    toggles = np.where(~A & P.T, -np.inf, gains)
    turns = np.full(A.shape, -np.inf)
    tails, heads = np.nonzero(A)
    # the turned edge closes a cycle if another path leads from tail to head
    detour = (A[tails] & P[:, heads].T).any(axis=1)
    turns[tails, heads] = np.where(detour, -np.inf, (gains + gains.T)[tails, heads])
    moves = np.stack([toggles, turns])
    # the first of equal moves: round-off must not decide between them
    first = int(np.argmax(moves >= moves.max() - TIE))
    turned, tail, head = (int(k) for k in np.unravel_index(first, moves.shape))
    return _Move(tail, head, bool(turned), float(moves.flat[first]))


def _make(move: _Move, A: Graph, P: Graph) -> Graph:
    """Make a move on `A`, in place, and return the paths of the new graph."""
    tail, head = move.tail, move.head
    A[tail, head] = not A[tail, head]
    A[head, tail] |= move.turned
    if not A[tail, head]:
        # what a lost edge takes away depends on all other paths: search them anew
        return reachable(A)
    # an added edge joins all that lead to its tail with all that its head leads to
    before, behind = P[:, tail].copy(), P[head].copy()
    before[tail] = behind[head] = True
    return P | np.outer(before, behind)
