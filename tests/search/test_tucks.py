import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgbn.learn.search.orders import _new_state, _settle, tuck_any
from sgbn.learn.search.plan import ParentProblem
from sgbn.learn.search.trees import make_trees

M, N = 9, 150
few = settings(max_examples=settings.default.max_examples // 4)


def settled(seed):
    rng = np.random.default_rng(seed)
    R = np.corrcoef(rng.uniform(-1, 1, (M, M)) @ rng.standard_normal((M, N)))
    none = np.zeros((M, M), bool)
    trees = make_trees(ParentProblem(R, N, 4.0 * np.arange(62), M, ~none, none))
    S = _new_state(rng.permutation(M), trees.path.size)
    return trees, S, _settle(trees, S)


def parents_of(kernels, trees, S):
    out = np.empty(M, np.int64)
    parent_sets = []
    for v in range(M):
        k = kernels.read_parents(trees.node, trees.required, v, S.node[v], out)
        parent_sets.append(set(out[:k].tolist()))
    return parent_sets


def ancestors(parents, y):
    seen, left = set(), [y]
    while left:
        new = parents[left.pop()] - seen
        seen |= new
        left += new
    return seen


@few
@given(seed=st.integers(0, 10**6))
def test_a_tuck_moves_the_ancestors_between_and_counts_what_changes(kernels, seed):
    trees, S, before = settled(seed)
    parents = parents_of(kernels, trees, S)
    edges = [(x, y) for y in range(M) for x in parents[y]]
    if not edges:
        return
    x, y = edges[seed % len(edges)]
    old_order, old_node = S.order.copy(), S.node.copy()
    lowest, highest = int(S.rank[x]), int(S.rank[y])
    between = old_order[lowest : highest + 1].tolist()
    moved = [v for v in between if v == y or (v in ancestors(parents, y) and v != x)]
    moved = [v for v in moved if S.rank[v] > lowest]
    fall = kernels.tuck(trees, S, x, y, 0)
    expected = [*moved, *(v for v in between if v not in moved)]
    assert S.order[lowest : highest + 1].tolist() == expected
    nodes = S.node.copy()
    assert before - _settle(trees, S) == pytest.approx(fall, abs=1e-8)
    assert np.array_equal(nodes, S.node)
    kernels.untuck(S, lowest, highest, 0)
    assert np.array_equal(S.order, old_order)
    assert np.array_equal(S.node, old_node)


@few
@given(seed=st.integers(0, 10**6), depth=st.integers(1, 2))
def test_trying_all_tucks_leaves_a_better_order_or_the_same(seed, depth):
    trees, S, before = settled(seed)
    order = S.order.copy()
    fall = tuck_any(trees, S, depth, np.array([300]))
    assert fall >= 0
    if fall == 0:
        assert np.array_equal(S.order, order)
    assert _settle(trees, S) == pytest.approx(before - fall, abs=1e-6)
