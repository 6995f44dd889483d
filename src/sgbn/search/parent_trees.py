r"""Best parents of a variable among those that come before it, kept in trees.

.. math:: \min_{P \subseteq before(v)} \; n \log \frac{RSS_{v|P}}{n} + c |P|
          \quad \text{or, with equal noise variances,} \quad
          \frac{RSS_{v|P}}{\sigma^2} + c |P|

The minimum is found nearly: by growing (the best variable first, as long as the score falls) and
then shrinking. Variables that help only together may be missed.

What growing does depends on the variables that are available. One tree per variable keeps all that
was ever needed. A path from the root is a growing set. The children of a tree node are the
variables that would improve it, the best first, and the first one that is available is taken.
Scores are kept in the tree nodes, so that a second look at an order costs no arithmetic.

Each tree node also keeps three sets of variables as bits: those on its path, those of its
children, and those before which its path was preferred (better children, which were not available).
A variable that comes or goes changes the outcome only if it is in one of them.

In all kernels `T` is a `sgbn.search.tree_arrays.Trees`, v a variable, and `rank` the place of each
variable in the order: variables of rank below `limit` are available.
"""

from __future__ import annotations

import numpy as np

from sgbn.jit import jit_inside
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

TOL = 1e-7  # difference of scores that is round-off: they are of the size of n m
END, TO_EXPAND, TO_SHRINK = -1, -2, -3  # what comes next in a walk; 0 and above: the row of a child


@jit_inside
def bit_of(v):  # type: ignore[no-untyped-def]
    """Return the bit that stands for v in word ``v >> 6`` of a set."""
    # Both sides unsigned: numba makes a float of an unsigned and a signed 64-bit number.
    return np.uint64(1) << np.uint64(v & 63)


@jit_inside
def read_path(table, required, v, node, path):  # type: ignore[no-untyped-def]
    """Fill `path` with the growing set of a tree node, required parents first; its size."""
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
    """Regress v and its candidates on a tree node's path; returns the RSS of v."""
    R, candidates, path, L, b, rows = T.R, T.candidates, T.path, T.L, T.b, T.rows
    k = read_path(T.node, T.required, v, node, path)
    start = 0
    rss = 1.0
    # Most often the node is a child of the one that was loaded last, and one row is added.
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

    They depend on the candidates of v alone, not on the order, so that they are found once.
    """
    table, child, index, sets = T.node, T.child, T.index, T.sets
    size = T.candidates[v, 0]
    start = T.used[N_CHILDREN]
    if start + size > child.shape[0]:  # there may be as many children as candidates
        T.used[IS_FULL] = 1
        return
    n_children = 0
    k = table[node, DEPTH]
    if k < T.limits[MAX_PARENTS]:
        least = (T.price[k + 1] - T.price[k]) / T.weight[v]
        rss = _load(T, v, node)
        if T.limits[IS_EQUAL] == 0.0:
            # n log(rss) - n log(rss - gain) > price, solved for the gain: one exponential instead
            # of one logarithm per candidate
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
    """Make the tree node of the child in row `slot`; returns `node` itself if the pool is full."""
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
    # as int64, the type of variables elsewhere: another one would compile `bit_of` again
    entered = np.int64(child[slot, 0])
    sets[new, INSIDE, entered >> 6] |= bit_of(entered)
    # Children before this one were not available: were one of them, it would be taken instead.
    for t in range(table[node, FIRST], slot):
        passed = np.int64(child[t, 0])
        sets[new, BETTER, passed >> 6] |= bit_of(passed)
    child[slot, 1] = new
    return new


@jit_inside
def _shrink(T, v, node):  # type: ignore[no-untyped-def]
    """Remove variables from a tree node's path as long as the score falls; keep the outcome.

    `index` holds the places in the full path of what is left, since `KEPT` counts from there.
    """
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
            # A removal in the middle changes all rows behind it. The factor is made anew, and
            # what is in `L` and `b` is then no longer the regression of a tree node.
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
    """Follow a tree from `node` as far as it is known; returns the last node and what comes next.

    What comes next is `END`, or the row of the child whose node has to be made, or else what has to
    be found of the node: its children (`TO_EXPAND`) or its score (`TO_SHRINK`).
    """
    # Arrays, not `Trees`: numba needs 0.3 microseconds to hand a tuple of arrays on, and a walk
    # takes 0.02. Kernels that call this often take the arrays out of the tuple first.
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
    """Return the tree node of v's parents among the available variables; make what is missing.

    Where a pool is full it is some node of the tree, and ``T.used[IS_FULL]`` is set: the caller
    must grow the trees and ask again.
    """
    node = v
    while True:
        node, slot = walk(T.node, T.child, rank, node, limit)
        if slot == END:
            return node
        if slot == TO_EXPAND and not T.used[IS_FULL]:
            _expand(T, v, node)
        elif slot == TO_SHRINK or T.used[IS_FULL]:  # a full pool must not loop for ever
            _shrink(T, v, node)
            return node
        else:
            node = _add_node(T, node, slot)


@jit_inside
def read_parents(table, required, v, node, out):  # type: ignore[no-untyped-def]
    """Fill `out` with the parents of v that a tree node stands for; returns their number."""
    size = read_path(table, required, v, node, out)
    k = 0
    for a in range(size):
        if (table[node, KEPT] >> a) & 1:  # k <= a: nothing is overwritten before it is read
            out[k] = out[a]
            k += 1
    return k
