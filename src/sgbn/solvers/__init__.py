"""Solvers on arrays. Each returns the solution, its iterations and its distance from the optimum.

Each file opens with the problem that it solves. The result of a solver ends with `n_iter`,
`violation` and `converged`. If the solution is one array, the result is a `SolverResult`.
"""

from sgbn.learn.lasso import SolverResult

__all__ = ["SolverResult"]
