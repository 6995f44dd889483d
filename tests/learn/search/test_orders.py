import itertools
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgbn.cohort.simulate import simulate_sem
from sgbn.core.graph import is_dag, random_dag
from sgbn.learn.search import orders
from sgbn.learn.search.orders import (
    _new_state,
    _settle,
    move_to,
    parents_for,
    search_order,
    tuck_any,
)
from sgbn.learn.search.plan import ParentProblem
from sgbn.learn.search.trees import make_trees

PRICE, N = 8.0, 200
RNG = np.random.RandomState(0)
few = settings(max_examples=settings.default.max_examples // 8)


def trees_of(m, seed, required=None):
    rng = np.random.default_rng(seed)
    X, _ = simulate_sem(random_dag(m, 3.0, rng), N, random_state=rng)
    R = np.corrcoef(X, rowvar=False)
    none = np.zeros((m, m), bool)
    required = none if required is None else required
    price = PRICE * np.arange(62)
    return make_trees(ParentProblem(R, N, price, m, ~none, required)), R


def score_of(trees, order):
    return parents_for(trees, np.array(order)).score


@few
@given(seed=st.integers(0, 10**6), depth=st.integers(0, 2))
def test_the_score_is_that_of_the_order_and_of_its_parents(seed, depth):
    m = 10
    trees, R = trees_of(m, seed)
    rng = np.random.RandomState(seed)
    network = search_order(trees, [rng.permutation(m)], 4, rng, depth, 500)
    assert sorted(network.order) == list(range(m))
    assert network.score == pytest.approx(score_of(trees_of(m, seed)[0], network.order), abs=1e-6)
    assert is_dag(network.parents)
    total = 0.0
    for v in range(m):
        P = np.flatnonzero(network.parents[v])
        rss = 1 - R[v, P] @ np.linalg.solve(R[np.ix_(P, P)], R[P, v]) if len(P) else 1.0
        total += N * np.log(rss) + PRICE * len(P)
    assert network.score == pytest.approx(total, abs=1e-6)


@few
@given(seed=st.integers(0, 10**6))
def test_no_single_move_improves_the_result(seed):
    m = 8
    network = search_order(trees_of(m, seed)[0], [np.arange(m)], 0, RNG, 0, 0)
    trees, _ = trees_of(m, seed)
    for x in range(m):
        rest = [v for v in network.order if v != x]
        for place in range(m):
            moved = [*rest[:place], x, *rest[place:]]
            assert score_of(trees, moved) > network.score - 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_it_finds_the_best_of_all_orders_of_six_variables(seed):
    trees, _ = trees_of(6, seed)
    best = min(score_of(trees, order) for order in permutations(range(6)))
    starts = [np.arange(6), np.arange(6)[::-1].copy()]
    network = search_order(trees, starts, 10, np.random.RandomState(0), 2, 10_000)
    assert network.score == pytest.approx(best, abs=1e-6)


def test_tucks_and_kicks_improve_on_moves_alone():
    start = np.arange(40)[::-1].copy()
    gains = []
    for seed in range(5):
        moved = search_order(trees_of(40, seed)[0], [start], 0, RNG, 0, 0).score
        tucked = search_order(trees_of(40, seed)[0], [start], 0, RNG, 2, 20_000).score
        kicked = search_order(trees_of(40, seed)[0], [start], 5, RNG, 2, 20_000).score
        assert kicked <= tucked + 1e-6 <= moved + 2e-6
        gains.append((moved - tucked, tucked - kicked))
    assert np.all(np.sum(gains, axis=0) > 1)


@few
@given(seed=st.integers(0, 10**6))
def test_required_edges_are_never_broken(seed):
    m = 9
    rng = np.random.RandomState(seed)
    order = rng.permutation(m)
    required = np.zeros((m, m), bool)
    for _ in range(4):
        i, j = np.sort(rng.choice(m, 2, replace=False))
        required[order[j], order[i]] = True
    trees, _ = trees_of(m, seed, required)
    network = search_order(trees, [order], 6, rng, 2, 2000)
    assert network.parents[required].all()
    rank = np.argsort(network.order)
    children, parents = np.nonzero(network.parents)
    assert np.all(rank[parents] < rank[children])


def test_small_trees_that_grow_give_the_same_as_roomy_ones(monkeypatch):
    roomy = search_order(trees_of(15, 1)[0], [np.arange(15)], 3, np.random.RandomState(1), 2, 1000)
    trees, _ = trees_of(15, 1)
    tight = trees._replace(
        node=trees.node[:16].copy(),
        score=trees.score[:16].copy(),
        sets=trees.sets[:16].copy(),
        child=trees.child[:20].copy(),
    )
    growths = []
    grown = orders.grown
    monkeypatch.setattr(orders, "grown", lambda T: growths.append(1) or grown(T))
    network = search_order(tight, [np.arange(15)], 3, np.random.RandomState(1), 2, 1000)
    assert len(growths) > 3
    assert network.score == pytest.approx(roomy.score, abs=1e-6)


def test_starts_that_agree_are_not_kicked_unless_asked(monkeypatch):
    kicks = []
    kick = orders._kick
    monkeypatch.setattr(orders, "_kick", lambda *given: kicks.append(1) or kick(*given))
    start = np.arange(10)

    def search(starts, **option):
        kicks.clear()
        search_order(trees_of(10, 3)[0], starts, 4, np.random.RandomState(0), 2, 500, **option)
        return len(kicks)

    assert search([start, start], kick_agreed=False) == 0
    assert search([start], kick_agreed=False) >= 4  # one start agrees with nobody
    assert search([start, start]) >= 4


def test_tucks_are_not_tried_again_at_a_score_where_all_failed(monkeypatch):
    passes = []
    tuck_any = orders.tuck_any
    monkeypatch.setattr(orders, "tuck_any", lambda *given: passes.append(1) or tuck_any(*given))
    start = np.arange(10)
    search_order(trees_of(10, 3)[0], [start], 0, RNG, 2, 500)
    once = len(passes)
    search_order(trees_of(10, 3)[0], [start, start], 0, RNG, 2, 500)
    assert len(passes) == once + once + (once - 1)  # the last one failed, and is spared


def test_a_variable_moves_and_the_variables_between_close_up():
    start = [3, 0, 2, 4, 1]
    for x, place in itertools.product(range(5), range(5)):
        order = np.array(start)
        rank = np.argsort(order)
        move_to(order, rank, x, place)
        expected = [v for v in start if v != x]
        expected.insert(place, x)
        assert order.tolist() == expected
        assert rank.tolist() == np.argsort(expected).tolist()


M, TUCKS_N = 9, 150
tucks_few = settings(max_examples=settings.default.max_examples // 4)


def settled(seed):
    rng = np.random.default_rng(seed)
    R = np.corrcoef(rng.uniform(-1, 1, (M, M)) @ rng.standard_normal((M, TUCKS_N)))
    none = np.zeros((M, M), bool)
    trees = make_trees(ParentProblem(R, TUCKS_N, 4.0 * np.arange(62), M, ~none, none))
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


@tucks_few
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


@tucks_few
@given(seed=st.integers(0, 10**6), depth=st.integers(1, 2))
def test_trying_all_tucks_leaves_a_better_order_or_the_same(seed, depth):
    trees, S, before = settled(seed)
    order = S.order.copy()
    fall = tuck_any(trees, S, depth, np.array([300]))
    assert fall >= 0
    if fall == 0:
        assert np.array_equal(S.order, order)
    assert _settle(trees, S) == pytest.approx(before - fall, abs=1e-6)
