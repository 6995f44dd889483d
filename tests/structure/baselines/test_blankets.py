import numpy as np

from sgbn.paper.markov import IndependenceTest, blanket_matrix, fisher_z_borders, shrink


def test_matrix_of_blankets():
    members = blanket_matrix([[1, 2], [], [1]])
    assert members.astype(int).tolist() == [[0, 1, 1], [0, 0, 0], [0, 1, 0]]


def test_shrinking_leaves_members_that_all_depend_on_the_target(simulate):
    X, _ = simulate(12, 100, 0)
    test = IndependenceTest(np.corrcoef(X.T), fisher_z_borders(100, 12, 0.05))
    for target in range(12):
        others = [k for k in range(12) if k != target]
        kept = shrink(test, target, others)
        for one in kept:
            assert test.strengths(target, [k for k in kept if k != one])[one] >= 1
        assert kept == [k for k in others if k in kept]
        assert len(others) == 11


def test_of_two_copies_the_oldest_goes():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 3))
    X[:, 1] += X[:, 0]
    X[:, 2] = X[:, 1]
    test = IndependenceTest(np.corrcoef(X.T), fisher_z_borders(200, 3, 0.05))
    assert shrink(test, 0, [2, 1]) == [1]
    assert shrink(test, 0, [1, 2]) == [2]
