import numpy as np

from sgbn.paper.markov import GS


def test_blankets_and_graphs_equal_bnlearns(cases):
    for case in cases:
        fitted = GS().fit(case.X)
        assert np.array_equal(fitted.blankets_, case.blankets["gs"])
        assert np.array_equal(fitted.pdag_, case.learned["gs"])


def test_the_order_of_the_columns_matters_which_is_why_it_is_not_recommended(simulate):
    X, _ = simulate(15, 80, 22)
    order = np.arange(15)[::-1]
    first, second = GS().fit(X).blankets_, GS().fit(X[:, order]).blankets_
    assert not np.array_equal(first[np.ix_(order, order)], second)
