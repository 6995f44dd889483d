import itertools

import numpy as np

from sgbn.learn.search.orders import move_to


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
