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

In all kernels `T` is a `Trees` and v a variable. `rank` is the place of each variable in the order,
and variables of a rank below `limit` are available.

`add_to_factor` and the kernels after it regress v on a path, a list of variables that grows or
shrinks by one. L is the Cholesky factor of the Gram matrix of the path, and :math:`b = L^{-1} R_v`.
One more variable adds a row to L and takes :math:`b_a^2` from the residual sum of squares (RSS).
The RSS is a share of the variance of v. Kernels change `L`, `b` and `rows` in place.

`Trees` describes all arrays, `make_trees` makes them, and `grown` enlarges them. There is one tree
per variable. The nodes of all trees share one pool of rows, and all children share another. So only
four arrays are copied when the trees grow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.core.jit import jit_inside
from sgbn.core.types import Array, Mask
from sgbn.learn.search.plan import MOST_PARENTS, ParentProblem

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


COLLINEAR = 1e-10  # a smaller share of the variance that others do not explain is round-off
SMALLEST_RSS = 1e-12  # RSS of a perfect fit, as a share of the variance: its logarithm is finite
REDUNDANT = 1e30  # pivot of a redundant variable: dividing by it gives a weight of zero


@jit_inside
def add_to_factor(R, path, L, b, v, a):  # type: ignore[no-untyped-def]
    """Fill row a of L and of b for the variable at place a of `path`, and return b_a^2."""
    new = path[a]
    for c in range(a + 1):
        s = R[new, path[c]]
        for t in range(c):
            s -= L[a, t] * L[c, t]
        if c < a:
            L[a, c] = s / L[c, c]
        else:
            # A required parent may be a combination of others. It must stay in the path without
            # any effect: a huge pivot makes its b, and its part of later rows, zero.
            L[a, a] = np.sqrt(s) if s > COLLINEAR else REDUNDANT
    s = R[new, v]
    for t in range(a):
        s -= L[a, t] * b[t]
    b[a] = s / L[a, a]
    return b[a] * b[a]


@jit_inside
def add_to_rows(R, candidates, path, L, b, rows, v, a):  # type: ignore[no-untyped-def]
    """Fill row a of L^-1 R_path, and update the variances and covariances in the last rows.

    There is one column per candidate parent of v.
    """
    size = candidates[v, 0]
    new = path[a]
    for c in range(size):
        rows[a, c] = R[new, candidates[v, c + 1]]
    # The candidates are in the innermost loop: their memory is contiguous, and the processor works
    # on several at a time.
    for t in range(a):
        factor = L[a, t]
        for c in range(size):
            rows[a, c] -= factor * rows[t, c]
    inverse = 1.0 / L[a, a]
    for c in range(size):
        z = rows[a, c] * inverse
        rows[a, c] = z
        rows[-1, c] -= z * z
        rows[-2, c] -= z * b[a]


@jit_inside
def list_improving(rows, size, least, index):  # type: ignore[no-untyped-def]
    """List the candidates that reduce the RSS by more than `least`, the best first.

    They are written to `index`, and their number is returned. A candidate c reduces the RSS by
    covariance_c^2 / variance_c.
    """
    n_improving = 0
    for c in range(size):
        squared = rows[-2, c] * rows[-2, c]
        # The same inequality without a division: most candidates fail here.
        if squared > least * rows[-1, c] and rows[-1, c] > COLLINEAR:
            gain = squared / rows[-1, c]
            rows[-3, c] = gain
            # Insertion sort, because few candidates get this far. Equal gains keep their order.
            place = n_improving
            while place > 0 and rows[-3, index[place - 1]] < gain:
                index[place] = index[place - 1]
                place -= 1
            index[place] = c
            n_improving += 1
    return n_improving


@jit_inside
def cheapest_removal(L, b, k, n_locked, x):  # type: ignore[no-untyped-def]
    """Return the place of the path whose removal increases the RSS least, and the increase.

    The first `n_locked` places are required parents and stay. The removal of place a adds
    beta_a^2 / (inverse Gram)_aa to the RSS. `x` is work space.
    """
    best = -1
    least = np.inf
    for a in range(n_locked, k):
        inverse = 0.0
        beta = 0.0
        # Forward substitution gives column a of L^-1, which is zero above place a. Its squared
        # length is the diagonal entry of the inverse Gram matrix, and beta = (L^-1)' b.
        for t in range(a, k):
            s = 1.0 if t == a else 0.0
            for u in range(a, t):
                s -= L[t, u] * x[u]
            x[t] = s / L[t, t]
            inverse += x[t] * x[t]
            beta += x[t] * b[t]
        cost = beta * beta / inverse
        if cost < least:
            best, least = a, cost
    return best, least


@jit_inside
def fit_score(weight, is_equal, rss):  # type: ignore[no-untyped-def]
    """Return the score of a residual sum of squares, without the price of the parents."""
    if rss < SMALLEST_RSS:
        rss = SMALLEST_RSS
    return weight * (rss if is_equal else np.log(rss))


# First sizes of the pools. They cost no memory until they are used: the system reserves memory
# only when it is first written.
NODES_PER_TREE, CHILDREN_PER_TREE = 192, 3072
MAX_TREE_BYTES = 2**29  # half a gigabyte; larger trees are emptied and computed again

# Places in `Trees.limits`
IS_EQUAL, MAX_PARENTS = 0, 1
# Columns of `Trees.node`
PARENT, VARIABLE, DEPTH, FIRST, COUNT, KEPT = 0, 1, 2, 3, 4, 5
# Places in `Trees.sets`
INSIDE, BETTER, CHILDREN = 0, 1, 2
# Places in `Trees.used`
N_NODES, N_CHILDREN, IS_FULL, LOADED = 0, 1, 2, 3


class Trees(NamedTuple):
    """The problem, the trees, and work space.

    Kernels get all of it as one argument. There are few arrays, because each array takes time to
    compile. m is the number of variables. width is the largest number of parents of a variable,
    plus one. RSS is the residual sum of squares.

    Attributes
    ----------
    R : float, (m, m)
        Gram matrix of the variables, with a unit diagonal. Read only.
    candidates : int64, (m, 1 + most candidates)
        ``candidates[v, 0]`` is the number of variables that may become parents of v. The variables
        themselves follow, without the required parents. Read only.
    required : int64, (m, 1 + most required)
        The number of required parents of each variable, and then these parents. Read only.
    weight : float, (m,)
        Score per unit of RSS if noise variances are assumed to be equal. Otherwise score per unit
        of log RSS, which is the number of samples n. Read only.
    price : float, (parents,)
        Price of 0, 1, 2, ... parents, in units of the score. Read only.
    limits : float, (2,)
        Two numbers. `IS_EQUAL` is 1 if noise variances are assumed to be equal, otherwise 0.
        `MAX_PARENTS` is the largest number of parents of a variable. Read only.
    node : int64, (nodes, 6)
        One row per tree node. Row v < m is the root of v's tree. The columns are `PARENT` (the node
        above, -1 for a root), `VARIABLE` (the variable that the node adds to its path), `DEPTH`
        (the size of the path), `FIRST` (the row of its first child in `child`, -1 until `_expand`
        finds the children), `COUNT` (the number of its children), and `KEPT` (the places of the
        path that are left after shrinking, as bits, -1 until `_shrink` finds them). Written by
        `_add_node`, `_expand` and `_shrink`.
    score : float, (nodes,)
        Score of each tree node after shrinking. Valid if `KEPT` is not -1. Written by `_shrink`.
    sets : uint64, (nodes, 3, words)
        Three sets of variables per tree node, 64 variables per word. `INSIDE` are the variables of
        its path. `BETTER` are the variables that would have been preferred to a variable of the
        path. `CHILDREN` are its children. Written by `_add_node` (the first two) and `_expand`.
    child : int32, (children, 2)
        The variable of each child, and its tree node. The tree node is -1 until it is needed. The
        children of one node are in consecutive rows, the best first. Written by `_expand` and
        `_add_node`.
    used : int64, (4,)
        Four numbers. `N_NODES` and `N_CHILDREN` count the rows in use. `IS_FULL` is 1 after a row
        was needed and none was free. `LOADED` is the tree node whose regression is in `path`, `L`,
        `b`, `rows` and `loaded_rss`, or -1. Written by all kernels that add, load or shrink.
    path : int64, (width,)
        Variables of the loaded path. Written by `_load` and `_shrink`.
    index : int64, (max(candidates, width),)
        Work space of `_expand` (places of candidates) and `_shrink` (places of the path).
    L : float, (width, width)
        Cholesky factor of the Gram matrix of the loaded path, in the lower triangle.
    b : float, (width,)
        L^-1 R_v for the loaded path.
    rows : float, (width + 3, candidates)
        Row a is row a of L^-1 R_path, with one column per candidate. The last three rows describe
        each candidate given the path. Row -1 holds its variance, and row -2 its covariance with v.
        Row -3 holds the amount by which it would reduce the RSS, and is also work space of
        `_shrink`.
    loaded_rss : float, (1,)
        RSS of v given the loaded path, as a share of v's variance.
    """

    R: Array
    candidates: NDArray[np.int64]
    required: NDArray[np.int64]
    weight: Array
    price: Array
    limits: Array
    node: NDArray[np.int64]
    score: Array
    sets: NDArray[np.uint64]
    child: NDArray[np.int32]
    used: NDArray[np.int64]
    path: NDArray[np.int64]
    index: NDArray[np.int64]  # type: ignore[assignment]  # hides tuple.index, which nobody needs
    L: Array
    b: Array
    rows: Array
    loaded_rss: Array


class _Pools(NamedTuple):
    """The arrays of `Trees` that grow."""

    node: NDArray[np.int64]
    score: Array
    sets: NDArray[np.uint64]
    child: NDArray[np.int32]


def make_trees(
    problem: ParentProblem, candidates: Mask | None = None, weight: Array | None = None
) -> Trees:
    """Return new trees for a problem. They have only their roots.

    Parameters
    ----------
    problem : ParentProblem
        The problem, with prices of up to `MOST_PARENTS` parents.
    candidates : ndarray of shape (m, m), bool, optional
        If ``candidates[v, c]``, c may be a parent of v. By default all allowed parents are
        candidates.
    weight : ndarray of shape (m,), optional
        Score per unit of RSS, if noise variances are assumed to be equal.
    """
    m, required, max_parents = len(problem.R), problem.required, problem.max_parents
    candidates = problem.allowed if candidates is None else candidates
    most_required = int(required.sum(axis=1).max())
    width = min(max(max_parents, most_required), m - 1, MOST_PARENTS) + 1
    optional = _listed(candidates & ~required & ~np.eye(m, dtype=bool))
    trees = Trees(
        R=np.ascontiguousarray(problem.R),
        candidates=optional,
        required=_listed(required),
        weight=np.full(m, float(problem.n)) if weight is None else weight,
        price=problem.price,
        limits=np.array([weight is not None, min(max_parents, width - 1)], dtype=float),
        **_empty_pools(NODES_PER_TREE * m, CHILDREN_PER_TREE * m, (m + 63) // 64)._asdict(),
        used=np.empty(4, np.int64),
        path=np.empty(width, np.int64),
        index=np.empty(max(optional.shape[1], width), np.int64),
        L=np.empty((width, width)),
        b=np.empty(width),
        rows=np.empty((width + 3, max(optional.shape[1] - 1, width))),
        loaded_rss=np.empty(1),
    )
    return _planted(trees)


def _listed(mask: Mask) -> NDArray[np.int64]:
    """Return, for each row, the number of places that are True, and then these places."""
    counts = mask.sum(axis=1)
    listed = np.zeros((len(mask), int(counts.max()) + 1), np.int64)
    listed[:, 0] = counts
    rows, places = np.nonzero(mask)
    first = np.cumsum(counts) - counts
    listed[rows, np.arange(len(rows)) - first[rows] + 1] = places
    return listed


def _empty_pools(n_nodes: int, n_children: int, n_words: int) -> _Pools:
    """Return new pools; their nodes and children are not filled."""
    return _Pools(
        node=np.empty((n_nodes, 6), np.int64),
        score=np.empty(n_nodes),
        sets=np.zeros((n_nodes, 3, n_words), np.uint64),  # kernels only ever add bits
        child=np.empty((n_children, 2), np.int32),
    )


def grown(trees: Trees) -> Trees:
    """Return the same trees in twice the memory.

    If this would exceed `MAX_TREE_BYTES`, empty the trees instead.
    """
    pools = {name: getattr(trees, name) for name in _Pools._fields}
    if 2 * sum(pool.nbytes for pool in pools.values()) > MAX_TREE_BYTES:
        trees.sets[:] = 0
        return _planted(trees)
    larger = _empty_pools(2 * len(trees.node), 2 * len(trees.child), trees.sets.shape[2])
    for name, old in pools.items():
        getattr(larger, name)[: len(old)] = old
    trees.used[IS_FULL] = 0
    return trees._replace(**larger._asdict())


def _planted(trees: Trees) -> Trees:
    """Return the trees with only their roots. The path of a root holds the required parents."""
    m = len(trees.R)
    trees.node[:m] = -1
    trees.node[:m, DEPTH] = trees.required[:, 0]
    trees.used[:] = (m, 0, 0, -1)
    return trees
