"""Cycles, topological orders, reachability, and the paper's order certificate (Section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from sgbn.jit import jit_loops
from sgbn.types import Array, Indices, Mask


class HasCoef(Protocol):
    """A network."""

    @property
    def coef(self) -> Array:
        """Weight of i -> j at ``[i, j]``."""


class HasLearnedCoef(Protocol):
    """A fitted learner."""

    @property
    def coef_(self) -> Array:
        """Weight of i -> j at ``[i, j]``."""


class HasGraph(Protocol):
    """A network whose edges are known, but not its weights."""

    @property
    def graph(self) -> Mask:
        """Whether i -> j is an edge, at ``[i, j]``."""


Matrix = ArrayLike | Sequence[object]  # to mypy [[0, 0.5], [0, 0]] is a list of objects
GraphLike = Matrix | HasCoef | HasLearnedCoef | HasGraph  # what `adjacency` reads


def levels_of_edges(tails: Indices, heads: Indices, m: int) -> NDArray[np.int64]:
    """Return what `levels` does, for a list of edges tails[e] -> heads[e] on `m` nodes."""
    level, n_parents, queue = np.zeros((3, m), np.int64)
    first, children = np.zeros(m + 1, np.int64), np.empty(tails.size, np.int64)
    _list_children(tails, heads, n_parents, first, queue, children)
    _fill_levels(first, children, n_parents, queue, level)
    return level


@jit_loops
def _list_children(tails, heads, n_parents, first, place, children):  # type: ignore[no-untyped-def]
    """Fill children[first[i]:first[i + 1]] for every node i, and the numbers of parents.

    `n_parents` and `first` must be zero; `place` is work space.
    """
    # A counting sort: count the children of each node, sum up, then put each in its place.
    for e in range(tails.size):
        first[tails[e] + 1] += 1
        n_parents[heads[e]] += 1
    for i in range(place.size):
        first[i + 1] += first[i]
        place[i] = first[i]
    for e in range(tails.size):
        children[place[tails[e]]] = heads[e]
        place[tails[e]] += 1


@jit_loops
def _fill_levels(first, children, n_parents, queue, level):  # type: ignore[no-untyped-def]
    """Fill `level`, which must be zero, from the roots on; -1 on and after cycles.

    `n_parents` counts down, and `queue` is work space.
    """
    tail = 0
    for i in range(level.size):
        if n_parents[i] == 0:
            queue[tail] = i
            tail += 1
    head = 0
    while head < tail:
        i = queue[head]
        head += 1
        for c in range(first[i], first[i + 1]):
            j = children[c]
            level[j] = max(level[j], level[i] + 1)
            n_parents[j] -= 1  # a node is ready once all its parents are done
            if n_parents[j] == 0:
                queue[tail] = j
                tail += 1
    for j in range(level.size):
        if n_parents[j] > 0:  # never ready: a cycle is among its ancestors
            level[j] = -1


def adjacency(A: Any) -> Mask:
    """Return which edges a graph has, as a new boolean matrix.

    A graph is a matrix of weights, a table, a network (`coef`, `graph`) or a fitted learner
    (`coef_`).
    """
    # Not for a DataFrame: a column called "graph" or "coef" would be taken for the whole graph.
    if not isinstance(A, np.ndarray) and not hasattr(A, "columns"):
        held = [getattr(A, name) for name in ("coef_", "coef", "graph") if hasattr(A, name)]
        A = held[0] if held else A
    return np.asarray(A) != 0


def levels(A: ArrayLike) -> NDArray[np.int64]:
    """Return the length of the longest directed path into every node, -1 on or behind a cycle.

    For a DAG these are the smallest order variables o with o_j >= o_i + 1 for every edge i -> j.
    """
    support = adjacency(A)
    # np.nonzero gives strided views, for which numba would compile both kernels once more.
    tails, heads = (np.ascontiguousarray(ends) for ends in np.nonzero(support))
    result: NDArray[np.int64] = levels_of_edges(tails, heads, len(support))
    return result


def is_dag(A: ArrayLike) -> bool:
    """Return whether the graph has no directed cycle (a self-loop is one)."""
    return bool(np.all(levels(A) >= 0))


def known_order(support: Mask, known: Mask, places: Indices | None = None) -> NDArray[np.int64]:
    """Return a topological order that keeps to prior knowledge where the graph leaves it open.

    Of the nodes whose parents are all placed, the next one is that with the fewest unplaced nodes
    known to come before it. Ties go to the lowest level, then to the first in `places`. The order
    does not depend on that of the columns if the places do not.

    Parameters
    ----------
    support : ndarray of bool of shape (m, m)
        A DAG.
    known : ndarray of bool of shape (m, m)
        Set for i -> j where an edge between i and j could have this direction only.
    places : ndarray of shape (m,), optional
        Numbers that break ties; by default those of the columns.
    """
    level = levels(support)
    places = np.arange(len(support)) if places is None else places
    left = np.ones(len(support), dtype=bool)
    order = []
    while left.any():
        ready = np.flatnonzero(left & ~support[left].any(axis=0))
        awaited = known[left].sum(axis=0)
        # lexsort takes its last key first.
        first = np.lexsort((places[ready], level[ready], awaited[ready]))[0]
        order.append(int(ready[first]))
        left[order[-1]] = False
    return np.array(order, dtype=np.int64)


def topological_order(A: ArrayLike) -> Indices:
    """Return the nodes of a DAG, parents before children, ties by index.

    Raises
    ------
    ValueError
        If the graph has a cycle.
    """
    level = levels(A)
    if np.any(level < 0):
        raise ValueError("a graph with a directed cycle has no topological order")
    return np.argsort(level, kind="stable")


def find_cycle(A: ArrayLike) -> list[int] | None:
    """Return one directed cycle as a list of nodes, or None for a DAG.

    The node of the smallest index inside a strongly connected component starts the cycle, and
    it is a shortest one through that node, so that messages are short and reproducible.
    """
    support = adjacency(A)
    # A self-loop is a component of one node, which the sizes below would not show.
    loops = np.flatnonzero(np.diag(support))
    if loops.size:
        return [int(loops[0])]
    if is_dag(support):
        return None
    _, component = connected_components(support, connection="strong")
    size = np.bincount(component)
    start = int(np.flatnonzero(size[component] > 1)[0])
    return _shortest_cycle(support, start)


def _shortest_cycle(support: Mask, start: int) -> list[int]:
    """Return a shortest cycle through `start`, which must be on one."""
    nodes, previous = breadth_first_order(csr_array(support), start)
    # The first node that leads back is one of the nearest.
    path = [next(int(node) for node in nodes if support[node, start])]
    while path[-1] != start:
        path.append(int(previous[path[-1]]))
    return path[::-1]


def reachable(A: ArrayLike) -> Mask:
    """Return the path matrix P: ``P[i, j]`` where a path of one or more edges leads from i to j.

    It is computed on the support, not as expm(Theta), whose terms of opposite sign can cancel.

    Paper: Section 2.1, the matrix P.
    """
    P = adjacency(A)
    for k in range(len(P)):  # Warshall: paths by way of the first k nodes
        P |= np.outer(P[:, k], P[k])
    return P


def upsilon(o: ArrayLike, Delta: float | None = None) -> Array:
    r"""Return the smallest :math:`\Upsilon` that the order variables allow; its diagonal is zero.

    .. math:: \Upsilon_{ij} = \max(0, \Delta / m - (o_j - o_i))

    Only the product :math:`\lambda_{dag} \Delta` matters. By default Delta = m, so that orders are
    integers.

    Paper: Eq. 4.1a, Eq. 4.1b.
    """
    o = np.asarray(o, dtype=float)
    spacing = 1.0 if Delta is None else Delta / len(o)
    Upsilon = np.maximum(0.0, spacing - (o[None, :] - o[:, None]))
    np.fill_diagonal(Upsilon, 0.0)
    return Upsilon


def certifies_dag(Theta: ArrayLike, o: ArrayLike, Delta: float | None = None) -> bool:
    """Return whether the order variables prove that Theta is a DAG (Proposition 1's certificate).

    It is True when 0 <= o <= Delta, Theta has a zero diagonal, and Upsilon_ij Theta_ij = 0 for the
    smallest Upsilon that `o` allows. Some order certifies Theta if and only if it is a DAG.

    Paper: Proposition 1, Eq. 4.1c, Eq. 4.1d.
    """
    Theta = np.asarray(Theta, dtype=float)
    o = np.asarray(o, dtype=float)
    top = len(o) if Delta is None else Delta
    in_range = np.all((o >= 0) & (o <= top))
    # If any Upsilon that `o` allows has only zero products with Theta, the smallest one has, too.
    complementary = not np.any(upsilon(o, Delta)[Theta != 0] > 0)
    return bool(in_range and complementary and not np.any(np.diag(Theta)))
