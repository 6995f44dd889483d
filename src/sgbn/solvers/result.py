"""The result that solvers return."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray


class SolverResult(NamedTuple):
    """The solution, the number of iterations, and the distance from the optimum.

    Attributes
    ----------
    x : ndarray
        The solution.
    n_iter : int
        Number of iterations. The docstring of the solver says what it counts.
    violation : float
        Largest violation of the optimality conditions.
    converged : bool
        Whether `violation` is within the tolerance.
    """

    x: NDArray[Any]
    n_iter: int
    violation: float
    converged: bool
