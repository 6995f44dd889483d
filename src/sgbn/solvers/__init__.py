"""Arrays in, `SolverResult` out. Each file opens with the problem that it solves."""

from sgbn.solvers.result import SolverResult

__all__ = ["SolverResult"]
