"""The arrays that hold the trees of `sgbn.search.parent_trees`, and how they grow.

There is one tree per variable. All tree nodes of all variables share one pool of rows, and all
children another, so that growing means to copy four arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.search.problem import MOST_PARENTS, ParentProblem
from sgbn.types import Array, Mask

# Memory that no tree node uses is never touched, so that the system does not hand it out.
NODES_PER_TREE, CHILDREN_PER_TREE = 192, 3072
MAX_TREE_BYTES = 2**29  # half a gigabyte; trees beyond it are dropped, and computed again

# Places in `Trees.limits`
IS_EQUAL, MAX_PARENTS = 0, 1
# Columns of `Trees.node`
PARENT, VARIABLE, DEPTH, FIRST, COUNT, KEPT = 0, 1, 2, 3, 4, 5
# Places in `Trees.sets`
INSIDE, BETTER, CHILDREN = 0, 1, 2
# Places in `Trees.used`
N_NODES, N_CHILDREN, IS_FULL, LOADED = 0, 1, 2, 3


class Trees(NamedTuple):
    """The problem, the trees, and arrays to work in.

    Kernels take all of it as one argument. There are few arrays because each one costs compile
    time. m is the number of variables, width the most parents of a variable plus one.

    Attributes
    ----------
    R : float, (m, m)
        Gram matrix with a unit diagonal. Read only.
    candidates : int64, (m, 1 + most candidates)
        ``candidates[v, 0]`` counts the variables that may become parents of v, and these follow.
        Required parents are not among them. Read only.
    required : int64, (m, 1 + most required)
        The parents that v must have, in the same form. Read only.
    weight : float, (m,)
        Score per unit of RSS, where noise variances are equal; else per unit of log RSS, which is
        the number of samples n. Read only.
    price : float, (parents,)
        Score that 0, 1, 2, ... parents cost. Read only.
    limits : float, (2,)
        `IS_EQUAL`: 1 where noise variances are taken to be equal, else 0. `MAX_PARENTS`: the most
        parents of a variable. Read only.
    node : int64, (nodes, 6)
        One row per tree node; row v < m is the root of v's tree. `PARENT` is the node above (-1 for
        a root), `VARIABLE` the variable that this node adds to its path, `DEPTH` the size of the
        path, `FIRST` the row of its first child in `child` (-1 until `_expand` finds the children),
        `COUNT` the number of its children, and `KEPT` the places of the path that are left after
        shrinking, as bits (-1 until `_shrink` finds them). Written by `_add_node`, `_expand`,
        `_shrink`.
    score : float, (nodes,)
        Score of each tree node after shrinking. Valid once `KEPT` is. Written by `_shrink`.
    sets : uint64, (nodes, 3, words)
        Three sets of variables per tree node, 64 variables per word: those `INSIDE` its path, the
        `BETTER` ones that would have been preferred to a variable of the path, and its `CHILDREN`.
        Written by `_add_node` (the first two) and `_expand`.
    child : int32, (children, 2)
        Variable of each child and its tree node, which is -1 until it is needed. The children of
        one node lie side by side, the best first. Written by `_expand` and `_add_node`.
    used : int64, (4,)
        `N_NODES` and `N_CHILDREN` count the rows in use; `IS_FULL` is 1 once a row was wanted and
        none was left; `LOADED` is the tree node whose regression is in `path`, `L`, `b`, `rows` and
        `loaded_rss`, or -1. Written by all kernels that add, load or shrink.
    path : int64, (width,)
        Variables of the loaded path. Written by `_load` and `_shrink`.
    index : int64, (max(candidates, width),)
        Work space of `_expand` (places of candidates) and `_shrink` (places of the path).
    L : float, (width, width)
        Cholesky factor of the Gram matrix of the loaded path, in the lower triangle.
    b : float, (width,)
        L^-1 R_v for the loaded path.
    rows : float, (width + 3, candidates)
        Row a is row a of L^-1 R_path, one column per candidate. The last three rows hold, for each
        candidate given the path, from the last one upwards: its variance, its covariance with v,
        and what it would take from the RSS (else work space of `_shrink`).
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
    """Return trees that have nothing but roots.

    Parameters
    ----------
    problem : ParentProblem
        The problem, with prices of up to `MOST_PARENTS` parents.
    candidates : ndarray of shape (m, m), bool, optional
        ``candidates[v, c]``: c may be a parent of v. By default all that are allowed.
    weight : ndarray of shape (m,), optional
        What a unit of RSS costs, where noise variances are taken to be equal.
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
    """Return for each row the number of places that are set, and then these places."""
    counts = mask.sum(axis=1)
    listed = np.zeros((len(mask), int(counts.max()) + 1), np.int64)
    listed[:, 0] = counts
    rows, places = np.nonzero(mask)
    first = np.cumsum(counts) - counts
    listed[rows, np.arange(len(rows)) - first[rows] + 1] = places
    return listed


def _empty_pools(n_nodes: int, n_children: int, n_words: int) -> _Pools:
    return _Pools(
        node=np.empty((n_nodes, 6), np.int64),
        score=np.empty(n_nodes),
        sets=np.zeros((n_nodes, 3, n_words), np.uint64),  # kernels only ever add bits
        child=np.empty((n_children, 2), np.int32),
    )


def grown(trees: Trees) -> Trees:
    """Return the same trees in twice the memory; beyond `MAX_TREE_BYTES`, empty ones instead."""
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
    """Make the roots; the path of a root holds the required parents."""
    m = len(trees.R)
    trees.node[:m] = -1
    trees.node[:m, DEPTH] = trees.required[:, 0]
    trees.used[:] = (m, 0, 0, -1)
    return trees
