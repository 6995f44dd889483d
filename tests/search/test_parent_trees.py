import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgbn.cohort.simulate import simulate_sem
from sgbn.core.graph import random_dag
from sgbn.learn.search.plan import ParentProblem
from sgbn.learn.search.trees import make_trees


def gram(m, n, seed):
    rng = np.random.default_rng(seed)
    X, _ = simulate_sem(random_dag(m, 4.0, rng), n, random_state=rng)
    return np.corrcoef(X, rowvar=False)


def rss_of(R, v, parents):
    if not parents:
        return 1.0
    s = R[parents, v]
    return 1.0 - s @ np.linalg.solve(R[np.ix_(parents, parents)], s)


def grow_and_shrink(R, v, available, required, score, max_parents):
    """The definition, by least squares from scratch at every step."""
    parents, best = list(required), score(v, list(required))
    available = [c for c in available if c not in parents]
    while available and len(parents) < max_parents:
        trials = [score(v, [*parents, c]) for c in available]
        if min(trials) >= best:
            break
        best = min(trials)
        parents.append(available.pop(int(np.argmin(trials))))
    while len(parents) > len(required):
        free = range(len(required), len(parents))
        trials = [score(v, parents[:a] + parents[a + 1 :]) for a in free]
        if min(trials) >= best:
            break
        best = min(trials)
        del parents[len(required) + int(np.argmin(trials))]
    return best, set(parents)


@settings(max_examples=settings.default.max_examples // 5)
@given(
    seed=st.integers(0, 10**6),
    is_equal=st.booleans(),
    max_parents=st.integers(0, 9),
    knows=st.booleans(),
)
def test_equals_growing_and_shrinking_from_scratch(kernels, seed, is_equal, max_parents, knows):
    m, n = 9, 80
    rng = np.random.default_rng(seed)
    R = gram(m, n, seed)
    allowed = rng.random((m, m)) < (0.7 if knows else 2)
    required = (rng.random((m, m)) < 0.1) & knows & ~np.eye(m, dtype=bool)
    price = np.cumsum(rng.uniform(1, 6, 62)) - 1
    weight = n * rng.uniform(0.5, 2, m) if is_equal else np.full(m, float(n))

    def score(v, parents):
        rss = rss_of(R, v, parents)
        return weight[v] * (rss if is_equal else np.log(rss)) + price[len(parents)]

    problem = ParentProblem(R, n, price, max_parents, allowed, required)
    trees = make_trees(problem, weight=weight if is_equal else None)
    out = np.empty(m, np.int64)
    for _ in range(20):
        rank = rng.permutation(m)
        v, x = rng.choice(m, 2, replace=False)
        has_x = bool(rng.random() < 0.5)
        needed = np.flatnonzero(required[v])
        before = [
            c
            for c in range(m)
            if c != v and allowed[v, c] and (has_x if c == x else rank[c] < rank[v])
        ]
        limit = int(rank[v])
        rank[x] = -1 if has_x else m
        node = kernels.trace(trees, int(v), rank, limit)
        most = min(max(max_parents, 0), m - 1)
        best, parents = grow_and_shrink(R, v, before, needed, score, most)
        k = kernels.read_parents(trees.node, trees.required, int(v), node, out)
        assert set(out[:k]) == parents
        assert trees.score[node] == pytest.approx(best, rel=1e-10, abs=1e-8)
