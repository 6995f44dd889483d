"""Arrays in; out comes the answer, with how many steps it took and how far from optimal it is.

Each file opens with the problem that it solves. What its solver returns ends with `n_iter`,
`violation` and `converged`; where the answer is one array, it is a `SolverResult`.
"""

from sgbn.solvers.result import SolverResult

__all__ = ["SolverResult"]
