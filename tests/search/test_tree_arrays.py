import numpy as np

from sgbn.cohort.simulate import simulate_sem
from sgbn.core.graph import random_dag
from sgbn.learn.search import trees as tree_arrays
from sgbn.learn.search.plan import ParentProblem
from sgbn.learn.search.trees import DEPTH, IS_FULL, grown, make_trees


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
