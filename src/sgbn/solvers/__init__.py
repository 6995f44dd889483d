"""Solvers on arrays: each returns the solution, its iterations and its distance from the optimum.

Each file opens with the problem that it solves. What its solver returns ends with `n_iter`,
`violation` and `converged`; where the answer is one array, it is a `SolverResult`.
"""

from sgbn.solvers.result import SolverResult

__all__ = ["SolverResult"]
