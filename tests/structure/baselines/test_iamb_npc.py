import numpy as np

from sgbn.cohort.simulate import simulate_sem
from sgbn.core.equivalence import cpdag, skeleton
from sgbn.core.graph import random_dag
from sgbn.paper.markov import IAMB, IAMBnPC, IndependenceTest, fisher_z_borders, pc_skeleton


def test_the_skeleton_equals_bnlearns_pc_stable(cases):
    for case in cases:
        n, m = case.X.shape
        test = IndependenceTest(np.corrcoef(case.X.T), fisher_z_borders(n, m, 0.05))
        joined, separators = pc_skeleton(test)
        assert np.array_equal(joined, skeleton(case.learned["pc.stable"]))
        assert set(separators) == {tuple(p) for p in np.argwhere(np.triu(~joined, 1)).tolist()}
        for (i, j), given in separators.items():
            assert test.strengths(i, sorted(given))[j] < 1


def test_without_errors_the_skeleton_is_the_true_one(population):
    for seed in range(4):
        A = random_dag(12, 3, seed)
        _, network = simulate_sem(A, 2, random_state=seed)
        moments = population(network)
        test = IndependenceTest(moments.R, fisher_z_borders(moments.n, 12, 0.05))
        assert np.array_equal(pc_skeleton(test)[0], skeleton(A))


def test_the_order_of_the_variables_does_not_matter(simulate):
    for seed in range(5):
        X, _ = simulate(12, 60, [53, seed])
        R, order = np.corrcoef(X.T), np.random.default_rng(seed).permutation(12)
        test = IndependenceTest(R, fisher_z_borders(60, 12, 0.05))
        permuted = test._replace(R=np.ascontiguousarray(R[np.ix_(order, order)]))
        joined = pc_skeleton(test)[0]
        assert np.array_equal(joined[np.ix_(order, order)], pc_skeleton(permuted)[0])


def test_spouses_stay_in_the_blanket():
    X = np.random.default_rng(0).standard_normal((2000, 3))
    X[:, 2] += X[:, 0] + X[:, 1]
    fitted = IAMBnPC().fit(X)
    assert fitted.blankets_.sum() == 6
    assert np.array_equal(fitted.pdag_, cpdag([[0, 0, 1], [0, 0, 1], [0, 0, 0]]))


def test_it_removes_what_iamb_keeps(simulate):
    """More sets are searched than the one of all other members, so that fewer stay."""
    X, _ = simulate(20, 200, 51)
    assert IAMBnPC().fit(X).blankets_.sum() < IAMB().fit(X).blankets_.sum()
