r"""Best parents of a variable among those that come before it, kept in trees.

.. math:: \min_{P \subseteq before(v)} \; n \log \frac{RSS_{v|P}}{n} + c |P|
          \quad \text{or, with equal noise variances,} \quad
          \frac{RSS_{v|P}}{\sigma^2} + c |P|

nearly: by growing (the best variable first, as long as the score falls) and then shrinking, so that
variables which help only together may be missed. What growing
does depends on the variables that are available; a tree a variable keeps all that was ever needed:
a path from the root is a growing set, the children of a tree node are the variables that would
improve it, the best first, and the first one that is available is taken. Scores are kept in the
tree nodes, so that a second look at an order costs no arithmetic.

Each tree node also keeps three sets of variables as bits: those on its path, those of its
children, and those before which its path was preferred (better children, which were not available).
A variable that comes or goes changes the outcome only if it is in one of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.jit import jit_inside
from sgbn.search.problem import MOST_PARENTS, ParentProblem
from sgbn.types import Array, Mask

COLLINEAR = 1e-10  # share of a variable's variance that the others leave: less is round-off
SMALLEST_RSS = 1e-12  # of a perfect fit, as a share of the variance
NODES_PER_TREE, CHILDREN_PER_TREE = 192, 3072  # to begin with; memory not used is not taken
TOL = 1e-7  # of scores, which are of the size of n m: less is round-off
MOST_BYTES = 2**29  # of trees; they hold what can be computed again
REDUNDANT = 1e30  # in place of a root of zero: takes a redundant parent out of the equations
IS_EQUAL, MAX_PARENTS = 0, 1  # places in `limits`
PARENT, VARIABLE, DEPTH, FIRST, COUNT, KEPT = 0, 1, 2, 3, 4, 5  # in a row of `node`
INSIDE, BETTER, CHILDREN = 0, 1, 2  # in `sets`
END, TO_EXPAND, TO_SHRINK = -1, -2, -3  # what comes next in a walk
N_NODES, N_CHILDREN, IS_FULL, LOADED = 0, 1, 2, 3  # in `used`


class Trees(NamedTuple):
    """The problem, the trees, and room to work in; few arrays, because each costs compile time.

    Attributes
    ----------
    R : (m, m) Gram matrix with unit diagonal.
    candidates : (m, .) number of variables that may become parents of v, and then these.
    required : (m, .) number of parents that v must have, and then these.
    weight : (m,) what a unit of RSS costs (equal variances), or n.
    price : what 0, 1, 2, ... parents cost.
    limits : (2,) `IS_EQUAL` (noise variances), `MAX_PARENTS`.
    node : (nodes, 6) what is known of each tree node: `PARENT`, `VARIABLE`, `DEPTH`, `FIRST`
        child (-1 before the children are known), `COUNT` of children, and `KEPT`, the variables
        of the path that are left after shrinking, as bits (-1 before that is known). Node v < m
        is the root of v's tree.
    score : (nodes,) after shrinking.
    sets : (nodes, 3, words) the variables `INSIDE` its path, the `BETTER` ones, and the `CHILDREN`.
    child : (children, 2) variable, and node, which is -1 before it is needed.
    used : (4,) nodes and children in use, whether there was no room for more, and the node whose
        regression is loaded into the room to work in: `path`, `L`, `b`, `rows`, `loaded_rss`.
    index : more room.
    """

    R: Any
    candidates: Any
    required: Any
    weight: Any
    price: Any
    limits: Any
    node: Any
    score: Any
    sets: Any
    child: Any
    used: Any
    path: Any
    index: Any
    L: Any
    b: Any
    rows: Any
    loaded_rss: Any


def make_trees(
    problem: ParentProblem, candidates: Mask | None = None, weight: Array | None = None
) -> Trees:
    """Trees of roots only.

    Parameters
    ----------
    problem : ParentProblem
        With prices of up to `MOST_PARENTS` parents.
    candidates : ndarray of shape (m, m), bool, optional
        ``candidates[v, c]``: c may be a parent of v; by default all that are allowed.
    weight : ndarray of shape (m,), optional
        What a unit of RSS costs, where noise variances are taken to be equal.
    """
    m, required, max_parents = len(problem.R), problem.required, problem.max_parents
    candidates = problem.allowed if candidates is None else candidates
    most_required = int(required.sum(axis=1).max())
    width = min(max(max_parents, most_required), m - 1, MOST_PARENTS) + 1
    others = _listed(candidates & ~required & ~np.eye(m, dtype=bool))
    trees = Trees(
        R=np.ascontiguousarray(problem.R),
        candidates=others,
        required=_listed(required),
        weight=np.full(m, float(problem.n)) if weight is None else weight,
        price=problem.price,
        limits=np.array([weight is not None, min(max_parents, width - 1)], dtype=float),
        **_pools(NODES_PER_TREE * m, CHILDREN_PER_TREE * m, (m + 63) // 64),
        used=np.empty(4, np.int64),
        path=np.empty(width, np.int64),
        index=np.empty(max(others.shape[1], width), np.int64),
        L=np.empty((width, width)),
        b=np.empty(width),
        rows=np.empty((width + 3, max(others.shape[1] - 1, width))),
        loaded_rss=np.empty(1),
    )
    return _planted(trees)


def _listed(mask: Mask) -> NDArray[np.int64]:
    """For each row the number of places that are set, and then these places."""
    counts = mask.sum(axis=1)
    listed = np.zeros((len(mask), int(counts.max()) + 1), np.int64)
    listed[:, 0] = counts
    rows, places = np.nonzero(mask)
    first = np.cumsum(counts) - counts
    listed[rows, np.arange(len(rows)) - first[rows] + 1] = places
    return listed


def _pools(n_nodes: int, n_children: int, n_words: int) -> dict[str, NDArray[Any]]:
    """Arrays that grow with the trees."""
    return {
        "node": np.empty((n_nodes, 6), np.int64),
        "score": np.empty(n_nodes),
        "sets": np.zeros((n_nodes, 3, n_words), np.uint64),
        "child": np.empty((n_children, 2), np.int32),
    }


def grown(trees: Trees) -> Trees:
    """Return the same trees with twice the room; at `MOST_BYTES`, new ones in the same room."""
    pools = {name: getattr(trees, name) for name in ("node", "score", "sets", "child")}
    if 2 * sum(pool.nbytes for pool in pools.values()) > MOST_BYTES:
        trees.sets[:] = 0
        return _planted(trees)
    larger = _pools(2 * len(trees.node), 2 * len(trees.child), trees.sets.shape[2])
    for name, old in pools.items():
        larger[name][: len(old)] = old
    trees.used[IS_FULL] = 0
    return trees._replace(**larger)


def _planted(trees: Trees) -> Trees:
    """Make the roots; the path of a root holds the required parents."""
    m = len(trees.R)
    trees.node[:m] = -1
    trees.node[:m, DEPTH] = trees.required[:, 0]
    trees.used[:] = (m, 0, 0, -1)
    return trees


@jit_inside
def bit_of(v):  # type: ignore[no-untyped-def]
    """Bit that stands for v in word ``v >> 6`` of a set."""
    return np.uint64(1) << np.uint64(v & 63)


@jit_inside
def read_path(table, required, v, node, path):  # type: ignore[no-untyped-def]
    """Fill `path` with the growing set of a tree node; its size."""
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
def _add_to_factor(R, path, L, b, v, a):  # type: ignore[no-untyped-def]
    """Row a of the Cholesky factor of the Gram matrix of `path`, and of b = L^-1 R_v; b_a^2."""
    new = path[a]
    for c in range(a + 1):
        s = R[new, path[c]]
        for t in range(c):
            s -= L[a, t] * L[c, t]
        if c < a:
            L[a, c] = s / L[c, c]
        else:
            L[a, a] = np.sqrt(s) if s > COLLINEAR else REDUNDANT
    s = R[new, v]
    for t in range(a):
        s -= L[a, t] * b[t]
    b[a] = s / L[a, a]
    return b[a] * b[a]


@jit_inside
def _add_to_rows(R, candidates, path, L, b, rows, v, a):  # type: ignore[no-untyped-def]
    """Row a of Z = L^-1 R_path, taken from the variances and covariances in the last two rows.

    A column a candidate of v.
    """
    size = candidates[v, 0]
    new = path[a]
    for c in range(size):
        rows[a, c] = R[new, candidates[v, c + 1]]
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
def _load(T, v, node):  # type: ignore[no-untyped-def]
    """Regress v and its candidates on a tree node's path; the RSS of v.

    Most often the node is a child of the one that was loaded last, and one row is added.
    """
    R, candidates, path, L, b, rows = T.R, T.candidates, T.path, T.L, T.b, T.rows
    k = read_path(T.node, T.required, v, node, path)
    start = 0
    rss = 1.0
    if T.used[LOADED] >= 0 and T.used[LOADED] == T.node[node, PARENT]:
        start = k - 1
        rss = T.loaded_rss[0]
    else:
        for c in range(candidates[v, 0]):
            rows[-1, c] = 1.0
            rows[-2, c] = R[v, candidates[v, c + 1]]
    for a in range(start, k):
        rss -= _add_to_factor(R, path, L, b, v, a)
        _add_to_rows(R, candidates, path, L, b, rows, v, a)
    T.used[LOADED] = node
    T.loaded_rss[0] = rss
    return rss if rss > SMALLEST_RSS else SMALLEST_RSS


@jit_inside
def _improving(rows, size, least, index):  # type: ignore[no-untyped-def]
    """Fill `index` with the candidates that take at least `least` from the RSS, the best first.

    A candidate c takes covariance_c^2 / variance_c. Returns their number.
    """
    found = 0
    for c in range(size):
        squared = rows[-2, c] * rows[-2, c]
        if squared > least * rows[-1, c] and rows[-1, c] > COLLINEAR:
            gain = squared / rows[-1, c]
            rows[-3, c] = gain
            place = found
            while place > 0 and rows[-3, index[place - 1]] < gain:
                index[place] = index[place - 1]
                place -= 1
            index[place] = c
            found += 1
    return found


@jit_inside
def _expand(T, v, node):  # type: ignore[no-untyped-def]
    """Find the children of a tree node: the variables that improve its score, the best first."""
    table, child, index, sets = T.node, T.child, T.index, T.sets
    size = T.candidates[v, 0]
    start = T.used[N_CHILDREN]
    if start + size > child.shape[0]:
        T.used[IS_FULL] = 1
        return
    found = 0
    k = table[node, DEPTH]
    if k < T.limits[MAX_PARENTS]:
        least = (T.price[k + 1] - T.price[k]) / T.weight[v]
        rss = _load(T, v, node)
        if T.limits[IS_EQUAL] == 0.0:
            least = rss * (1.0 - np.exp(-least))
        found = _improving(T.rows, size, least, index)
    for t in range(found):
        c = T.candidates[v, index[t] + 1]
        child[start + t, 0] = c
        child[start + t, 1] = -1
        sets[node, CHILDREN, c >> 6] |= bit_of(c)
    table[node, FIRST] = start
    table[node, COUNT] = found
    T.used[N_CHILDREN] += found


@jit_inside
def _add_node(T, node, slot):  # type: ignore[no-untyped-def]
    """Make the tree node of a child; the node it belongs to if there is no room."""
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
    sets[new, INSIDE, child[slot, 0] >> 6] |= bit_of(child[slot, 0])
    for t in range(table[node, FIRST], slot):
        sets[new, BETTER, child[t, 0] >> 6] |= bit_of(child[t, 0])
    child[slot, 1] = new
    return new


@jit_inside
def _cheapest_removal(L, b, k, n_locked, x):  # type: ignore[no-untyped-def]
    """Place in the path that adds least to the RSS when removed, and how much; `x` is room.

    Removing a adds beta_a^2 / (inverse Gram)_aa.
    """
    best = -1
    least = np.inf
    for a in range(n_locked, k):
        inverse = 0.0
        beta = 0.0
        for t in range(a, k):  # column a of L^-1; beta = (L^-1)' b
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
def _fit(weight, is_equal, rss):  # type: ignore[no-untyped-def]
    """Score of a residual sum of squares, without the price of the parents."""
    if rss < SMALLEST_RSS:
        rss = SMALLEST_RSS
    return weight * (rss if is_equal else np.log(rss))


@jit_inside
def _shrink(T, v, node):  # type: ignore[no-untyped-def]
    """Remove variables from a tree node's path as long as the score falls; keep the outcome."""
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
            T.used[LOADED] = -1
            rss = 1.0
            for a in range(k):
                rss -= _add_to_factor(R, path, L, b, v, a)
        score = _fit(weight, is_equal, rss) + price[k]
        place, cost = _cheapest_removal(L, b, k, n_locked, T.rows[-3])
        if place < 0 or _fit(weight, is_equal, rss + cost) + price[k - 1] >= score:
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
    """Follow a tree from `node` as far as it is known; the last node, and what comes next.

    That is `END`, or the slot of the child whose node has to be made, or else what has to be
    found of the node: its children (`TO_EXPAND`) or its score (`TO_SHRINK`). Available are the
    variables of rank below `limit`.

    A kernel that calls this often takes the arrays out of `Trees` first: numba needs 0.3
    microseconds to hand a tuple of arrays on, and a walk takes 0.02.
    """
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
    """Tree node of v's parents among the variables of rank below `limit`; makes what is missing.

    Where there is no room, it is some node, and ``T.used[IS_FULL]`` is set.
    """
    node = v
    while True:
        node, slot = walk(T.node, T.child, rank, node, limit)
        if slot == END:
            return node
        if slot == TO_EXPAND and not T.used[IS_FULL]:
            _expand(T, v, node)
        elif slot == TO_SHRINK or T.used[IS_FULL]:
            _shrink(T, v, node)
            return node
        else:
            node = _add_node(T, node, slot)


@jit_inside
def read_parents(table, required, v, node, out):  # type: ignore[no-untyped-def]
    """Fill `out` with the parents of v that a tree node stands for; their number."""
    size = read_path(table, required, v, node, out)
    k = 0
    for a in range(size):
        if (table[node, KEPT] >> a) & 1:
            out[k] = out[a]
            k += 1
    return k
