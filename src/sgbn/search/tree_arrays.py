"""The arrays that hold the trees of `sgbn.search.parent_trees`, and how they grow.

There is one tree per variable. The nodes of all trees share one pool of rows, and all children
share another. So only four arrays are copied when the trees grow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.core.types import Array, Mask
from sgbn.search.problem import MOST_PARENTS, ParentProblem

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
