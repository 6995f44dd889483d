r"""The best parents of a variable among the variables before it, and the trees that store them.

.. math:: \min_{P \subseteq before(v)} \; n \log \frac{RSS_{v|P}}{n} + c |P|
          \quad \text{or, with equal noise variances,} \quad
          \frac{RSS_{v|P}}{\sigma^2} + c |P|

RSS is the residual sum of squares of v given the parents P, n the number of samples, and c |P| the
price of the parents. The minimum is approximate. Growing adds the best variable as long as the
score falls, and shrinking then removes variables as long as the score falls. Variables that help
only together may be missed.

The variables before v are *available*, and growing depends on them. The tree of v keeps the result
of every step that was ever needed. Each tree node is a set of parents that grew along the path from
the root. The children of a node are the variables that would improve it, the best first. Growing
follows the first child that is available. Tree nodes keep their scores, so that the same parents
are never computed twice.

Each tree node also keeps three sets of variables as bits: the variables on its path, its children,
and the better children that were not available along its path. A variable that becomes available,
or no longer is, changes the result only if it is in one of these sets.

In all kernels `T` is a `sgbn.search.tree_arrays.Trees` and v a variable. `rank` is the place of
each variable in the order, and variables of a rank below `limit` are available.
"""

from __future__ import annotations

import numpy as np

from sgbn.core.jit import jit_inside
from sgbn.search.path_regression import (
    SMALLEST_RSS,
    add_to_factor,
    add_to_rows,
    cheapest_removal,
    fit_score,
    list_improving,
)
from sgbn.search.tree_arrays import (
    BETTER,
    CHILDREN,
    COUNT,
    DEPTH,
    FIRST,
    INSIDE,
    IS_EQUAL,
    IS_FULL,
    KEPT,
    LOADED,
    MAX_PARENTS,
    N_CHILDREN,
    N_NODES,
    PARENT,
    VARIABLE,
)

TOL = 1e-7  # a smaller difference of scores is round-off; scores are of the order of n m
END, TO_EXPAND, TO_SHRINK = -1, -2, -3  # next step of a walk; 0 and above is the row of a child


@jit_inside
def bit_of(v):  # type: ignore[no-untyped-def]
    """Return the bit that represents v in word ``v >> 6`` of a set."""
    # Both sides are unsigned: numba turns a mix of unsigned and signed 64-bit numbers into a float.
    return np.uint64(1) << np.uint64(v & 63)


@jit_inside
def read_path(table, required, v, node, path):  # type: ignore[no-untyped-def]
    """Fill `path` with the path of a tree node, required parents first, and return its size."""
    size = table[node, DEPTH]
    k = size
    while table[node, PARENT] >= 0:
        k -= 1
        path[k] = table[node, VARIABLE]
        node = table[node, PARENT]
    for a in range(k):
        path[a] = required[v, a + 1]
    return size


@jit_inside
def _load(T, v, node):  # type: ignore[no-untyped-def]
    """Regress v and its candidates on the path of a tree node, and return the RSS of v."""
    R, candidates, path, L, b, rows = T.R, T.candidates, T.path, T.L, T.b, T.rows
    k = read_path(T.node, T.required, v, node, path)
    start = 0
    rss = 1.0
    # Most often the node is a child of the node that was loaded last. Then only one row is added.
    if T.used[LOADED] >= 0 and T.used[LOADED] == T.node[node, PARENT]:
        start = k - 1
        rss = T.loaded_rss[0]
    else:
        for c in range(candidates[v, 0]):
            rows[-1, c] = 1.0
            rows[-2, c] = R[v, candidates[v, c + 1]]
    for a in range(start, k):
        rss -= add_to_factor(R, path, L, b, v, a)
        add_to_rows(R, candidates, path, L, b, rows, v, a)
    T.used[LOADED] = node
    T.loaded_rss[0] = rss
    return rss if rss > SMALLEST_RSS else SMALLEST_RSS


@jit_inside
def _expand(T, v, node):  # type: ignore[no-untyped-def]
    """Find the children of a tree node: the variables that improve its score, the best first.

    The children do not depend on the order, so that they are found only once.
    """
    table, child, index, sets = T.node, T.child, T.index, T.sets
    size = T.candidates[v, 0]
    start = T.used[N_CHILDREN]
    if start + size > child.shape[0]:  # every candidate may become a child
        T.used[IS_FULL] = 1
        return
    n_children = 0
    k = table[node, DEPTH]
    if k < T.limits[MAX_PARENTS]:
        least = (T.price[k + 1] - T.price[k]) / T.weight[v]
        rss = _load(T, v, node)
        if T.limits[IS_EQUAL] == 0.0:
            # n log(rss) - n log(rss - gain) > price is solved for the gain. This takes one
            # exponential instead of one logarithm per candidate.
            least = rss * (1.0 - np.exp(-least))
        n_children = list_improving(T.rows, size, least, index)
    for t in range(n_children):
        c = T.candidates[v, index[t] + 1]
        child[start + t, 0] = c
        child[start + t, 1] = -1
        sets[node, CHILDREN, c >> 6] |= bit_of(c)
    table[node, FIRST] = start
    table[node, COUNT] = n_children
    T.used[N_CHILDREN] += n_children


@jit_inside
def _add_node(T, node, slot):  # type: ignore[no-untyped-def]
    """Add and return the tree node of the child in row `slot`, or `node` if the pool is full."""
    table, child, sets = T.node, T.child, T.sets
    new = T.used[N_NODES]
    if new == table.shape[0]:
        T.used[IS_FULL] = 1
        return node
    T.used[N_NODES] += 1
    table[new, PARENT] = node
    table[new, VARIABLE] = child[slot, 0]
    table[new, DEPTH] = table[node, DEPTH] + 1
    table[new, FIRST] = -1
    table[new, COUNT] = 0
    table[new, KEPT] = -1
    for word in range(sets.shape[2]):
        sets[new, INSIDE, word] = sets[node, INSIDE, word]
        sets[new, BETTER, word] = sets[node, BETTER, word]
    # Variables are int64 elsewhere. With another type numba would compile `bit_of` again.
    entered = np.int64(child[slot, 0])
    sets[new, INSIDE, entered >> 6] |= bit_of(entered)
    # The children before this one are better, but were not available.
    for t in range(table[node, FIRST], slot):
        passed = np.int64(child[t, 0])
        sets[new, BETTER, passed >> 6] |= bit_of(passed)
    child[slot, 1] = new
    return new


@jit_inside
def _shrink(T, v, node):  # type: ignore[no-untyped-def]
    """Remove variables from the path of a tree node while the score falls, and store the rest."""
    # `index` holds the places in the full path, because the bits of `KEPT` are these places.
    R, path, L, b, index = T.R, T.path, T.L, T.b, T.index
    weight, is_equal, price = T.weight[v], T.limits[IS_EQUAL] > 0.0, T.price
    n_locked = T.required[v, 0]
    k = read_path(T.node, T.required, v, node, path)
    for a in range(k):
        index[a] = a
    is_loaded = T.used[LOADED] == node
    rss = T.loaded_rss[0]
    while True:
        if not is_loaded:
            # A removal changes all later rows of the factor, so it is computed again. `L` and `b`
            # then no longer belong to a tree node.
            T.used[LOADED] = -1
            rss = 1.0
            for a in range(k):
                rss -= add_to_factor(R, path, L, b, v, a)
        score = fit_score(weight, is_equal, rss) + price[k]
        place, cost = cheapest_removal(L, b, k, n_locked, T.rows[-3])
        if place < 0 or fit_score(weight, is_equal, rss + cost) + price[k - 1] >= score:
            break
        is_loaded = False
        k -= 1
        for t in range(place, k):
            path[t] = path[t + 1]
            index[t] = index[t + 1]
    kept = 0
    for a in range(k):
        kept |= 1 << index[a]
    T.node[node, KEPT] = kept
    T.score[node] = score


@jit_inside
def walk(table, child, rank, node, limit):  # type: ignore[no-untyped-def]
    """Follow a tree from `node` as far as it is known; return the last node and the next step.

    The next step is `END`, or the row of the child whose node must be added, or what must be found
    first: the children of the node (`TO_EXPAND`) or its score (`TO_SHRINK`).
    """
    # The arguments are arrays instead of `Trees`: numba needs 0.3 microseconds to pass a tuple of
    # arrays, and a walk takes 0.02. Kernels that call this often unpack the tuple first.
    while True:
        first = table[node, FIRST]
        if first < 0:
            return node, TO_EXPAND
        slot = END
        for t in range(first, first + table[node, COUNT]):
            if rank[child[t, 0]] < limit:
                slot = t
                break
        if slot == END:
            return node, END if table[node, KEPT] >= 0 else TO_SHRINK
        if child[slot, 1] < 0:
            return node, slot
        node = child[slot, 1]


@jit_inside
def trace(T, v, rank, limit):  # type: ignore[no-untyped-def]
    """Return the tree node of v's best parents among the available variables.

    Missing nodes are added. If a pool is full, ``T.used[IS_FULL]`` is set and the returned node may
    be wrong: the caller must grow the trees and call again.
    """
    node = v
    while True:
        node, slot = walk(T.node, T.child, rank, node, limit)
        if slot == END:
            return node
        if slot == TO_EXPAND and not T.used[IS_FULL]:
            _expand(T, v, node)
        elif slot == TO_SHRINK or T.used[IS_FULL]:  # with a full pool the loop would never end
            _shrink(T, v, node)
            return node
        else:
            node = _add_node(T, node, slot)


@jit_inside
def read_parents(table, required, v, node, out):  # type: ignore[no-untyped-def]
    """Fill `out` with the parents of v that a tree node represents, and return their number."""
    size = read_path(table, required, v, node, out)
    k = 0
    for a in range(size):
        if (table[node, KEPT] >> a) & 1:  # k <= a, so each entry is read before it is overwritten
            out[k] = out[a]
            k += 1
    return k
