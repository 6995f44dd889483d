import numpy as np

from sgbn.paper.markov import IAMB, IndependenceTest, fisher_z_borders, strongest


def test_blankets_and_graphs_equal_bnlearns(cases):
    for case in cases:
        fitted = IAMB().fit(case.X)
        assert np.array_equal(fitted.blankets_, case.blankets["iamb"])
        assert np.array_equal(fitted.pdag_, case.learned["iamb"])


def test_the_strongest_is_the_one_of_the_smallest_p():
    R = np.array([[1, 0.1, 0.5, -0.6], [0.1, 1, 0, 0], [0.5, 0, 1, 0], [-0.6, 0, 0, 1]])
    test = IndependenceTest(R, fisher_z_borders(100, 4, 0.05))
    assert strongest(test, 0, []) == 3
    assert strongest(test, 0, [3]) == 2
    assert strongest(test, 0, [3, 2]) is None
