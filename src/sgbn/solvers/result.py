"""What every solver returns."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray


class SolverResult(NamedTuple):
    """Solution, iterations, and how far from optimal the solution is.

    Attributes
    ----------
    x : ndarray
        The solution.
    n_iter : int
        Iterations used; what one is, the solver says.
    violation : float
        Largest violation of the optimality conditions.
    converged : bool
        Whether `violation` is within the tolerance.
    """

    x: NDArray[Any]
    n_iter: int
    violation: float
    converged: bool
