r"""The order step: find the order variables of least cost for fixed weights.

.. math:: \min_{o \in \mathbb{Z}_{\ge 0}^m} \sum_{ij} |\Theta_{ij}| \max(0, 1 - (o_j - o_i))

is Eq. 4.2 of the paper for fixed Theta, with Delta = m and Upsilon eliminated. Its dual is a
circulation x of least cost: a flow on the edges that enters and leaves every node in equal amounts,
with 0 <= x_ij <= |Theta_ij|. An order o and a circulation x are both optimal if

- x_ij = |Theta_ij| on edges that the order violates (o_j - o_i < 1),
- x_ij = 0 on edges that span more than one level (o_j - o_i > 1),
- x_ij is anything in between on tight edges (o_j - o_i = 1).

The primal-dual method keeps these three conditions and balances the nodes. It pushes flow from
nodes with an excess along the tight edges. When no flow can move any further, it raises all nodes
that the remaining excess reaches (the source side of a minimum cut) by one level. This makes new
edges tight. The weights are rounded to whole steps, so that o and x stay integers.

Ties: if several orders are optimal, the method ends at the lowest one, with every node on the
lowest level that an optimum allows. Amounts of up to `TIE` steps count as zero, so that weights
that differ only by round-off count as equal. For example, two variables with
|theta_12| = |theta_21| stay on one level whatever the last bits are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sgbn.core.graph import levels_of_edges
from sgbn.core.jit import jit, jit_inside
from sgbn.core.types import Array, Indices
from sgbn.learn.lasso import SolverResult

RESOLUTION = 2.0**40  # steps of the largest weight; int64 holds the sum of 2^22 such weights
MAX_RISES_PER_NODE = 2  # an optimal order has at most m levels; more rises are round-off
TIE = 64  # steps: 6e-11 of the largest weight, above round-off and below any weight of interest


@jit
def _tight_network(tails, heads, w, x, o):  # type: ignore[no-untyped-def]
    """Return the residual network of the tight edges, with two arcs per edge.

    The result is ``first, to, twin, capacity, forward``. The arcs that leave node u are
    ``first[u]`` to ``first[u + 1] - 1``. Arc a leads to node ``to[a]`` and can carry
    ``capacity[a]`` more steps. ``twin[a]`` is the arc of the same edge in the other direction.
    ``forward[e]`` is the arc of edge e, or -1 if the edge is not tight.
    """
    m = o.size
    first = np.zeros(m + 1, np.int64)
    for e in range(w.size):
        if o[heads[e]] - o[tails[e]] == 1:
            first[tails[e] + 1] += 1
            first[heads[e] + 1] += 1
    for u in range(m):
        first[u + 1] += first[u]
    to = np.empty(first[m], np.int64)
    twin = np.empty(first[m], np.int64)
    capacity = np.empty(first[m], np.int64)
    forward = np.empty(w.size, np.int64)
    place = first[:-1].copy()
    for e in range(w.size):
        i, j = tails[e], heads[e]
        forward[e] = -1
        if o[j] - o[i] == 1:
            a, b = place[i], place[j]
            place[i] += 1
            place[j] += 1
            to[a], capacity[a], twin[a] = j, w[e] - x[e], b
            to[b], capacity[b], twin[b] = i, x[e], a
            forward[e] = a
    return first, to, twin, capacity, forward


@jit
def _distances_to_deficit(first, to, twin, capacity, excess):  # type: ignore[no-untyped-def]
    """Return the number of arcs from each node to the nearest deficit, or m if there is no path.

    Paths use only arcs with capacity left.
    """
    # A breadth-first search from all deficits at once, against the direction of the arcs.
    m = excess.size
    distance = np.empty(m, np.int64)
    queue = np.empty(m, np.int64)
    tail = 0
    for v in range(m):
        distance[v] = m
        if excess[v] < 0:
            distance[v] = 0
            queue[tail] = v
            tail += 1
    head = 0
    while head < tail:
        v = queue[head]
        head += 1
        for b in range(first[v], first[v + 1]):
            u = to[b]
            if distance[u] == m and capacity[twin[b]] > TIE:
                distance[u] = distance[v] + 1
                queue[tail] = u
                tail += 1
    return distance


@jit_inside
def _push(twin, capacity, excess, path, source, sink):  # type: ignore[no-untyped-def]
    """Push as much as the path can carry, and return the position of its first full arc.

    The path up to this arc still has capacity, so that the search can continue from there.
    """
    amount = min(excess[source], -excess[sink])
    for a in path:
        amount = min(amount, capacity[a])
    full = path.size
    for i in range(path.size - 1, -1, -1):
        capacity[path[i]] -= amount
        capacity[twin[path[i]]] += amount
        if capacity[path[i]] <= TIE:
            full = i
    excess[source] -= amount
    excess[sink] += amount
    return full


@jit_inside
def _relabel(u, first, to, capacity, label, count):  # type: ignore[no-untyped-def]
    """Raise the label of u to one more than the lowest label that an arc with capacity reaches."""
    m = label.size
    old = label[u]
    lowest = m - 1
    for a in range(first[u], first[u + 1]):
        if capacity[a] > TIE:
            lowest = min(lowest, label[to[a]])
    label[u] = lowest + 1
    count[old] -= 1
    count[label[u]] += 1
    # Labels along a path fall by at most one. So if no node has the old label any more, no path
    # leads from the nodes with higher labels to a deficit (the gap heuristic).
    if count[old] == 0:
        for v in range(m):
            if old < label[v] < m:
                count[label[v]] -= 1
                label[v] = m


@jit
def _push_to_deficits(first, to, twin, capacity, excess):  # type: ignore[no-untyped-def]
    """Push the maximum flow from excesses to deficits, in place, by shortest augmenting paths.

    Labels are lower bounds of the distance to a deficit. A path follows labels that fall by one. If
    it cannot leave a node this way, the node is relabelled.
    """
    m = excess.size
    label = _distances_to_deficit(first, to, twin, capacity, excess)
    count = np.zeros(m + 1, np.int64)
    for u in range(m):
        count[label[u]] += 1
    pointer = first[:-1].copy()  # arcs before it cannot be used until the node is relabelled
    path = np.empty(m, np.int64)
    nodes = np.empty(m + 1, np.int64)
    for source in range(m):
        nodes[0] = source
        length = 0
        while excess[source] > TIE and label[source] < m:
            u = nodes[length]
            if excess[u] < 0:
                length = _push(twin, capacity, excess, path[:length], source, u)
                continue
            a = pointer[u]
            while a < first[u + 1] and not (label[to[a]] == label[u] - 1 and capacity[a] > TIE):
                a += 1
            pointer[u] = a
            if a < first[u + 1]:
                path[length] = a
                length += 1
                nodes[length] = to[a]
            else:
                _relabel(u, first, to, capacity, label, count)
                pointer[u] = first[u]
                length = max(length - 1, 0)  # go back by one arc


@jit
def _reached_by_excess(first, to, capacity, excess):  # type: ignore[no-untyped-def]
    """Return a mask of the nodes that an excess reaches: the source side of a minimum cut."""
    reached = excess > TIE
    stack = np.empty(excess.size, np.int64)
    size = 0
    for u in range(excess.size):
        if reached[u]:
            stack[size] = u
            size += 1
    while size > 0:
        size -= 1
        u = stack[size]
        for a in range(first[u], first[u + 1]):
            if capacity[a] > TIE and not reached[to[a]]:
                reached[to[a]] = True
                stack[size] = to[a]
                size += 1
    return reached


@jit_inside
def _raise_nodes(tails, heads, w, x, o, excess, reached):  # type: ignore[no-untyped-def]
    """Raise the reached nodes by one level, in place."""
    # Edges that are no longer tight must be full or empty, to keep the conditions of optimality.
    # Their flow changes by at most TIE, and the excess of their ends balances the change.
    for e in range(x.size):
        i, j = tails[e], heads[e]
        if o[j] - o[i] == 1 and reached[i] != reached[j]:
            left = (w[e] if reached[i] else 0) - x[e]
            x[e] += left
            excess[i] -= left
            excess[j] += left
    for u in range(o.size):
        o[u] += reached[u]


@jit
def _primal_dual(tails, heads, w, o):  # type: ignore[no-untyped-def]
    """Raise `o` in place from zero to the lowest optimal order, and return the number of rises."""
    m = o.size
    x = w.copy()  # with o = 0 the order violates every edge, so that every edge is full
    excess = np.zeros(m, np.int64)
    for e in range(w.size):
        excess[heads[e]] += w[e]
        excess[tails[e]] -= w[e]
    n_rises = 0
    while True:
        first, to, twin, capacity, forward = _tight_network(tails, heads, w, x, o)
        _push_to_deficits(first, to, twin, capacity, excess)
        for e in range(w.size):
            if forward[e] >= 0:
                x[e] = w[e] - capacity[forward[e]]
        reached = _reached_by_excess(first, to, capacity, excess)
        if not np.any(reached) or n_rises == MAX_RISES_PER_NODE * m:
            return n_rises
        _raise_nodes(tails, heads, w, x, o, excess, reached)
        n_rises += 1


def solve_order(tails: Indices, heads: Indices, weights: Array, m: int) -> SolverResult:
    """Return the order variables of least cost. If several are optimal, return the lowest.

    Paper: Eq. 4.2 for fixed Theta.

    Parameters
    ----------
    tails, heads : ndarray of shape (n_edges,)
        Edges i -> j of the graph, which may have cycles.
    weights : ndarray of shape (n_edges,)
        |Theta_ij| > 0: the cost per level by which o_j is below o_i + 1.
    m : int
        Number of nodes.

    Returns
    -------
    SolverResult
        `x` is the order, in integers from 0. `n_iter` is the number of rises. `violation` is always
        0. `converged` is False if the limit of rises was reached.
    """
    o = np.zeros(m, np.int64)
    if weights.size == 0:
        return SolverResult(o, 0, 0.0, True)
    tails, heads = np.ascontiguousarray(tails), np.ascontiguousarray(heads)
    lowest = levels_of_edges(tails, heads, m)
    if np.all(lowest >= 0):  # the graph is a DAG, so that an order of cost 0 exists
        return SolverResult(lowest, 0, 0.0, True)
    whole = np.rint(weights * (RESOLUTION / weights.max())).astype(np.int64)
    count = whole > TIE
    n_rises = _primal_dual(tails[count], heads[count], whole[count], o)
    return SolverResult(o, n_rises, 0.0, n_rises < MAX_RISES_PER_NODE * m)


def order_cost(
    tails: Indices,
    heads: Indices,
    weights: Array,
    o: NDArray[np.int64],
) -> float:
    """Return the objective of the order step: sum of |Theta_ij| max(0, 1 - (o_j - o_i))."""
    return float(weights @ np.maximum(0, 1 - (o[heads] - o[tails])))
