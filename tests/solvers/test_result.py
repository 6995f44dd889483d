import numpy as np

from sgbn.solvers import SolverResult


def test_a_result_unpacks_in_the_stated_order():
    x, n_iter, violation, converged = SolverResult(np.zeros(2), 3, 1e-12, True)
    assert (x.tolist(), n_iter, violation, converged) == ([0.0, 0.0], 3, 1e-12, True)
