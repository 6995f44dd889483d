"""Functions of directed graphs: edges, cycles, orders and paths, random graphs, changed edges.

The paper proves that a graph has no cycle by order variables, one number per node (Section 4):
`upsilon` and `certifies_dag` are this proof.

`kinds_of_change` has words for the change of an edge's weight from one group to another. A weight
that goes from -0.61 to -0.05 rises, but the relation is lost. So the word describes the change of
the relation, not the sign of the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from sgbn.core.jit import jit_loops
from sgbn.core.problems import InputError
from sgbn.core.types import Array, Indices, Mask


class HasCoef(Protocol):
    """A network with weights."""

    @property
    def coef(self) -> Array:
        """Return the matrix of weights: ``[i, j]`` is the weight of the edge i -> j."""


class HasLearnedCoef(Protocol):
    """A fitted learner."""

    @property
    def coef_(self) -> Array:
        """Return the matrix of weights: ``[i, j]`` is the weight of the edge i -> j."""


class HasGraph(Protocol):
    """A network whose edges are known, but not its weights."""

    @property
    def graph(self) -> Mask:
        """Return the matrix of edges: ``[i, j]`` is True if i -> j is an edge."""


Matrix = ArrayLike | Sequence[object]  # to mypy [[0, 0.5], [0, 0]] is a list of objects
GraphLike = Matrix | HasCoef | HasLearnedCoef | HasGraph  # what `adjacency` reads


def adjacency(A: Any) -> Mask:
    """Return a new boolean matrix that is True where the graph has an edge.

    A graph is a matrix of weights, a table, a network (with `coef` or `graph`) or a fitted learner
    (with `coef_`).
    """
    # A DataFrame is left out: its column called "graph" or "coef" would be read as the whole graph.
    if not isinstance(A, np.ndarray) and not hasattr(A, "columns"):
        held = [getattr(A, name) for name in ("coef_", "coef", "graph") if hasattr(A, name)]
        A = held[0] if held else A
    return np.asarray(A) != 0


def levels(A: ArrayLike) -> NDArray[np.int64]:
    """Return the length of the longest directed path into every node.

    It is -1 for nodes on a cycle, and for nodes that a path from a cycle leads to.

    For a DAG these are the smallest order variables o with o_j >= o_i + 1 for every edge i -> j.
    """
    support = adjacency(A)
    # np.nonzero returns strided views: numba would compile both kernels a second time for them.
    tails, heads = (np.ascontiguousarray(ends) for ends in np.nonzero(support))
    return levels_of_edges(tails, heads, len(support))


def levels_of_edges(tails: Indices, heads: Indices, m: int) -> NDArray[np.int64]:
    """Return the `levels` of a graph on `m` nodes whose edges are tails[e] -> heads[e]."""
    level, n_parents, queue = np.zeros((3, m), np.int64)
    first, children = np.zeros(m + 1, np.int64), np.empty(tails.size, np.int64)
    _list_children(tails, heads, n_parents, first, queue, children)
    _fill_levels(first, children, n_parents, queue, level)
    return level


@jit_loops
def _list_children(tails, heads, n_parents, first, place, children):  # type: ignore[no-untyped-def]
    """Count the parents of each node i, and list its children in children[first[i]:first[i + 1]].

    The caller gives `n_parents` and `first` filled with zeros. `place` is work space.
    """
    # A counting sort. The counts of children, added up, say where the list of each node begins.
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
    """Fill `level` from the roots onwards; nodes on a cycle or after one get -1.

    The caller gives `level` filled with zeros. `n_parents` counts down to zero, and `queue` is work
    space.
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


def is_dag(A: ArrayLike) -> bool:
    """Return whether the graph has no directed cycle. An edge from a node to itself is a cycle."""
    return bool(np.all(levels(A) >= 0))


def known_order(support: Mask, known: Mask, places: Indices | None = None) -> NDArray[np.int64]:
    """Return a topological order that follows prior knowledge where the graph leaves a choice.

    A node can be placed once all its parents are placed. Among these nodes, the next one is the
    node for which the fewest unplaced nodes are known to come before it. If several nodes are
    equal in this, the lowest level comes first, and then the smallest number in `places`. If
    `places` does not depend on the order of the columns, the result does not depend on it either.

    Parameters
    ----------
    support : ndarray of bool of shape (m, m)
        The edges of a DAG.
    known : ndarray of bool of shape (m, m)
        True at ``[i, j]`` if an edge between i and j could only be i -> j.
    places : ndarray of shape (m,), optional
        Numbers that break ties; by default the numbers of the columns.
    """
    level = levels(support)
    places = np.arange(len(support)) if places is None else places
    left = np.ones(len(support), dtype=bool)
    order = []
    while left.any():
        ready = np.flatnonzero(left & ~support[left].any(axis=0))
        awaited = known[left].sum(axis=0)
        # np.lexsort sorts by its last key first.
        first = np.lexsort((places[ready], level[ready], awaited[ready]))[0]
        order.append(int(ready[first]))
        left[order[-1]] = False
    return np.array(order, dtype=np.int64)


def topological_order(A: ArrayLike) -> Indices:
    """Return the nodes of a DAG, with parents before their children.

    The nodes are sorted by level, and nodes of the same level by index.

    Raises
    ------
    ValueError
        If the graph has a cycle.
    """
    level = levels(A)
    if np.any(level < 0):
        raise ValueError(
            "a graph with a directed cycle has no topological order. Remove an edge of the cycle, "
            "which find_cycle returns."
        )
    return np.argsort(level, kind="stable")


def find_cycle(A: ArrayLike) -> list[int] | None:
    """Return one directed cycle as a list of nodes, or None for a DAG.

    If a node has an edge to itself, the result is the first such node alone. Otherwise, the cycle
    starts at the node of the smallest index that lies on a cycle, and no cycle through this node is
    shorter. So messages that show the cycle are short and reproducible.
    """
    support = adjacency(A)
    # A node with an edge to itself is a component of one node: the sizes below do not show it.
    loops = np.flatnonzero(np.diag(support))
    if loops.size:
        return [int(loops[0])]
    if is_dag(support):
        return None
    _, component = connected_components(support, connection="strong")
    size = np.bincount(component)
    start = int(np.flatnonzero(size[component] > 1)[0])
    nodes, previous = breadth_first_order(csr_array(support), start)
    # Nodes come by their distance from `start`: the first that leads back closes a shortest cycle.
    path = [next(int(node) for node in nodes if support[node, start])]
    while path[-1] != start:
        path.append(int(previous[path[-1]]))
    return path[::-1]


def reachable(A: ArrayLike) -> Mask:
    """Return the path matrix P: ``P[i, j]`` is True if a directed path leads from i to j.

    A path has one or more edges. P is computed from the edges and not as expm(Theta): there,
    weights of opposite sign can cancel.

    Paper: Section 2.1, the matrix P.
    """
    P = adjacency(A)
    for k in range(len(P)):  # Warshall's algorithm: P then has all paths through nodes up to k
        P |= np.outer(P[:, k], P[k])
    return P


def upsilon(o: ArrayLike, Delta: float | None = None) -> Array:
    r"""Return the smallest matrix :math:`\Upsilon` that the order variables `o` allow.

    .. math:: \Upsilon_{ij} = \max(0, \Delta / m - (o_j - o_i))

    Its diagonal is zero, and m is the number of variables. Only the product
    :math:`\lambda_{dag} \Delta` matters for learning. By default Delta = m, so that the order
    variables can be integers.

    Paper: Eq. 4.1a, Eq. 4.1b.
    """
    o = np.asarray(o, dtype=float)
    spacing = 1.0 if Delta is None else Delta / len(o)
    Upsilon = np.maximum(0.0, spacing - (o[None, :] - o[:, None]))
    np.fill_diagonal(Upsilon, 0.0)
    return Upsilon


def certifies_dag(Theta: ArrayLike, o: ArrayLike, Delta: float | None = None) -> bool:
    """Return whether the order variables `o` prove that the weights Theta form a DAG.

    They do if 0 <= o <= Delta, Theta has a zero diagonal, and Upsilon_ij Theta_ij = 0 for the
    smallest Upsilon that `o` allows (see `upsilon`). Order variables with this property exist if
    and only if Theta is a DAG (Proposition 1).

    Paper: Proposition 1, Eq. 4.1c, Eq. 4.1d.
    """
    Theta = np.asarray(Theta, dtype=float)
    o = np.asarray(o, dtype=float)
    top = len(o) if Delta is None else Delta
    in_range = np.all((o >= 0) & (o <= top))
    # If the products with Theta are zero for any allowed Upsilon, they are zero for the smallest.
    complementary = not np.any(upsilon(o, Delta)[Theta != 0] > 0)
    return bool(in_range and complementary and not np.any(np.diag(Theta)))


def joined_parts(starts: Indices, ends: Indices, n: int) -> Indices:
    """Return, for each of n nodes, the number of the connected part that it is in.

    Link k joins the nodes ``starts[k]`` and ``ends[k]``. Nodes are in the same part if links join
    them, directly or through other nodes.
    """
    # scipy 1.11 loses links with 64-bit indices, and only prints a line about it.
    places = starts.astype(np.int32), ends.astype(np.int32)
    links = coo_array((np.ones(len(starts), bool), places), shape=(n, n))
    return connected_components(links, directed=False)[1].astype(np.intp)


def random_dag(
    m: int, degree: float, random_state: int | np.random.Generator | None = None
) -> Mask:
    """Return a random DAG on `m` nodes in which a node has `degree` neighbours on average.

    Every pair of nodes is joined with the same probability. The direction of the edges follows a
    random order of the nodes.
    """
    rng = np.random.default_rng(random_state)
    probability = min(1.0, degree / max(m - 1, 1))
    forward = np.triu(rng.random((m, m)) < probability, 1)
    position = rng.permutation(m)
    # Without the random order, parents would always have smaller indices than their children. This
    # would favour learners that prefer the order of the columns.
    return forward[np.ix_(position, position)]


KINDS_OF_CHANGE = ("gained", "lost", "stronger", "weaker", "sign changed")
GAINED, LOST, STRONGER, WEAKER, SIGN_CHANGED = KINDS_OF_CHANGE
ABSENT = 0.1  # per standard deviation; this weight explains about 1 % of the target's variance


def kinds_of_change(before: ArrayLike, after: ArrayLike) -> NDArray[np.str_]:
    """Return a word for the change of each weight.

    A weight counts as absent if its size is below ``ABSENT`` = 0.1. A relation is "gained" or
    "lost" if it is absent in one group only and its size changes by at least 0.1. If it is present
    in both groups with opposite signs, the word is "sign changed". All other changes are "stronger"
    or "weaker", by the sizes of the weights.

    Parameters
    ----------
    before, after : array-like of the same shape
        Weights per standard deviation, in the reference and in the other group.

    Returns
    -------
    ndarray of str
        One of `KINDS_OF_CHANGE` for each weight. The words describe two estimates. Only a test can
        say whether they differ.

    Examples
    --------
    >>> kinds_of_change([0.0, -0.61, 0.66, 0.2, 0.4], [0.5, -0.05, 0.32, 0.3, -0.3]).tolist()
    ['gained', 'lost', 'weaker', 'stronger', 'sign changed']
    """
    first, second = np.asarray(before, float), np.asarray(after, float)
    was_present, is_present = np.abs(first) >= ABSENT, np.abs(second) >= ABSENT
    growth = np.abs(second) - np.abs(first)
    # A change from just below ABSENT to just above it, such as 0.09 to 0.11, is not a gain.
    is_large = np.abs(growth) >= ABSENT
    return np.select(
        [
            ~was_present & is_present & is_large,
            was_present & ~is_present & is_large,
            was_present & is_present & (first * second < 0),
            growth > 0,
        ],
        [GAINED, LOST, SIGN_CHANGED, STRONGER],
        WEAKER,
    )


def check_distinct(names: Sequence[str]) -> None:
    """Raise InputError if a variable's name is used twice."""
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError("names.twice", name=twice[0]).says(
            "the name {name} is used more than once", "Rename or drop one of the variables."
        )


def check_names_agree(table: Any, argument: str) -> None:
    """Raise InputError if the rows and the columns of a DataFrame have different names."""
    if hasattr(table, "columns") and [*map(str, table.index)] != [*map(str, table.columns)]:
        raise InputError("matrix.names", argument=argument).says(
            "rows and columns of {argument} differ in their names", "Give both the same names."
        )
