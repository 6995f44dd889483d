import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgbn.cohort.simulate import simulate_sem
from sgbn.core.graph import random_dag
from sgbn.learn.search import trees
from sgbn.learn.search import trees as tree_arrays
from sgbn.learn.search.plan import ParentProblem
from sgbn.learn.search.trees import DEPTH, IS_FULL, SMALLEST_RSS, grown, make_trees


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


# As Python runs them: a call of the kernel itself would compile it anew in every run. Tests of the
# trees check the machine code.
add_to_factor = trees.add_to_factor.py_func
add_to_rows = trees.add_to_rows.py_func
cheapest_removal = trees.cheapest_removal.py_func
fit_score = trees.fit_score.py_func
list_improving = trees.list_improving.py_func

M, V = 6, 5  # variables; the last one is regressed on others
PATH = np.array([0, 3, 1])


def path_regression_rss_of(R, v, parents):
    P = list(parents)
    return R[v, v] - R[v, P] @ np.linalg.solve(R[np.ix_(P, P)], R[P, v])


@pytest.fixture(scope="module")
def R():
    X = np.random.default_rng(0).standard_normal((40, M))
    X[:, V] += X[:, 0] - 0.5 * X[:, 2]
    return np.corrcoef(X, rowvar=False)


def loaded(R, path):
    """Factor, b and rows of a path; candidates 2 and 4; and the RSS."""
    candidates = np.zeros((M, 3), np.int64)
    candidates[V] = (2, 2, 4)
    L, b, rows = np.zeros((3, 3)), np.zeros(3), np.zeros((6, 3))
    rows[-1], rows[-2, :2] = 1.0, R[V, [2, 4]]
    rss = 1.0
    for a in range(len(path)):
        rss -= add_to_factor(R, path, L, b, V, a)
        add_to_rows(R, candidates, path, L, b, rows, V, a)
    return L, b, rows, rss


def test_each_variable_of_a_path_takes_its_share_of_the_rss(R):
    *_, rss = loaded(R, PATH)
    assert rss == pytest.approx(path_regression_rss_of(R, V, PATH))


def test_rows_hold_what_the_path_leaves_of_each_candidate(R):
    *_, rows, _ = loaded(R, PATH)
    for column, c in enumerate((2, 4)):
        assert rows[-1, column] == pytest.approx(path_regression_rss_of(R, c, PATH))


def test_candidates_that_take_enough_are_listed_the_best_first(R):
    *_, rows, rss = loaded(R, PATH)
    gains = np.array([rss - path_regression_rss_of(R, V, [*PATH, c]) for c in (2, 4)])
    index = np.empty(2, np.int64)
    assert list_improving(rows, 2, 0.0, index) == 2
    assert index.tolist() == np.argsort(-gains).tolist()
    assert list_improving(rows, 2, gains.mean(), index) == 1
    assert index[0] == gains.argmax()


@pytest.mark.parametrize("n_locked", [0, 1, 3])
def test_the_cheapest_removal_is_that_of_least_squares(R, n_locked):
    L, b, _, rss = loaded(R, PATH)
    place, cost = cheapest_removal(L, b, 3, n_locked, np.empty(3))
    costs = [path_regression_rss_of(R, V, np.delete(PATH, a)) - rss for a in range(n_locked, 3)]
    assert place == (n_locked + int(np.argmin(costs)) if costs else -1)
    assert cost == pytest.approx(min(costs, default=np.inf))


def test_a_copy_in_a_path_changes_nothing(R):
    twice = np.block([[R, R[:, [0]]], [R[[0]], np.ones((1, 1))]])  # variable 6 copies 0
    L, b = np.zeros((2, 2)), np.zeros(2)
    first = add_to_factor(twice, np.array([0, M]), L, b, V, 0)
    second = add_to_factor(twice, np.array([0, M]), L, b, V, 1)
    assert first == pytest.approx(R[0, V] ** 2)
    assert second == pytest.approx(0.0, abs=1e-50)


def test_a_perfect_fit_has_a_finite_score():
    assert fit_score(10.0, False, 0.0) == pytest.approx(10 * np.log(SMALLEST_RSS))
    assert fit_score(10.0, True, 0.5) == 5.0


def problem_of(m, n, seed):
    rng = np.random.default_rng(seed)
    X, _ = simulate_sem(random_dag(m, 4.0, rng), n, random_state=rng)
    none = np.zeros((m, m), bool)
    return ParentProblem(np.corrcoef(X, rowvar=False), n, 5.0 * np.arange(62), m, ~none, none)


def test_candidates_are_listed_behind_their_number_without_v_and_what_is_required():
    problem = problem_of(5, 50, 0)
    problem.required[2, 4] = True
    problem.allowed[2, 0] = False
    trees = make_trees(problem)
    assert trees.candidates[2].tolist() == [2, 1, 3, 0, 0]
    assert trees.required[2].tolist() == [1, 4]
    assert trees.node[2, DEPTH] == 1


def test_trees_that_are_full_say_so_and_grow_without_a_loss(kernels):
    m = 12
    roomy = make_trees(problem_of(m, 300, 0))
    tight = roomy._replace(
        node=roomy.node[:14].copy(),
        score=roomy.score[:14].copy(),
        sets=roomy.sets[:14].copy(),
        child=roomy.child[:20].copy(),
        used=roomy.used.copy(),
    )
    rank = np.arange(m)[::-1].copy()
    n_times_full = 0
    for v in range(m):
        while True:
            node = kernels.trace(tight, v, rank, int(rank[v]))
            if not tight.used[IS_FULL]:
                break
            tight = grown(tight)
            n_times_full += 1
        assert tight.score[node] == roomy.score[kernels.trace(roomy, v, rank, int(rank[v]))]
    assert n_times_full > 2


def test_trees_at_the_limit_of_memory_are_planted_anew(kernels, monkeypatch):
    trees = make_trees(problem_of(6, 100, 1))
    rank = np.arange(6)
    node = kernels.trace(trees, 5, rank, 5)
    score = trees.score[node]
    monkeypatch.setattr(tree_arrays, "MAX_TREE_BYTES", 0)
    again = grown(trees)
    assert again.node is trees.node
    assert again.used.tolist() == [6, 0, 0, -1]
    assert again.score[kernels.trace(again, 5, rank, 5)] == score
