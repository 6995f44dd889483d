"""The base class of OR-SGBN and H-SGBN. Their L1 penalty is given, or a criterion chooses it."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning as ConvergenceWarning  # exported from here

from sgbn.core.exceptions import InputError, warn
from sgbn.core.moments import Moments, moments_of
from sgbn.core.types import Array
from sgbn.core.validation import (
    FOLDS,
    JOBS,
    NONE,
    POSITIVE,
    TRUTH,
    ListOf,
    OneOf,
    Parameters,
    Whole,
    warn_about_ties,
)
from sgbn.learn.base import Arrows, NetworkEstimator, least_squares
from sgbn.learn.knowledge import Knowledge
from sgbn.learn.lasso import TOL, Folds, penalty_units
from sgbn.structure.penalties import INITS
from sgbn.structure.selection import CRITERIA, select_alpha

OBJECTIVE_STEP = np.dtype([("penalty", float), ("objective", float)])


class Learned(NamedTuple):
    """The result of a learning function, with the variables in the canonical order.

    Attributes
    ----------
    B : ndarray of shape (m, p)
        Row ``B[j]`` holds the weights of the parents of j, for variables divided by their scale.
    n_iter : int
        Number of steps.
    objective_path : list of (float, float)
        The penalty for breaking the order, and the objective, of each step.
    violation : float
        The largest violation of the optimality conditions of the lasso.
    converged : bool
        Whether the last steps changed nothing.
    """

    B: Array
    n_iter: int
    objective_path: list[tuple[float, float]]
    violation: float
    converged: bool


class PenalizedEstimator(NetworkEstimator):
    """The base class of the learners with an L1 penalty `alpha`."""

    alpha: float | str
    standardize: bool
    penalize_intercept: bool
    refit: bool
    alphas: ArrayLike | None
    cv: Folds
    max_iter: int
    n_jobs: int | None
    _knowledge: Knowledge | None = None
    _parameters: ClassVar[Parameters] = {
        "alpha": OneOf(*CRITERIA) | POSITIVE,
        "init": OneOf(*INITS),
        "standardize": TRUTH,
        "penalize_intercept": TRUTH,
        "refit": TRUTH,
        "alphas": NONE | ListOf(POSITIVE),
        "cv": FOLDS,
        "max_iter": Whole(1),
        "n_jobs": JOBS,
    }

    @abstractmethod
    def learn_weights(self, moments: Moments, alpha: float) -> Learned:
        """Learn the weights for one alpha."""

    def moments(self, values: Array, names: list[str]) -> Moments:
        """Return the moments, with a bias if the intercept is penalised."""
        return moments_of(values, names, bias=self.penalize_intercept)

    def learn(self, moments: Moments, values: Array, names: list[str]) -> Self:
        """Choose alpha if it is a criterion, learn the weights, and store the network."""
        # With a number as alpha, these would be left from an earlier fit.
        for stale in ("alphas_", "criterion_path_"):
            self.__dict__.pop(stale, None)
        if isinstance(self.alpha, str):
            choice = select_alpha(self, values, moments, names)
            self.alpha_, self.alphas_, self.criterion_path_ = choice
        else:
            self.alpha_ = float(self.alpha)
        self._keep(moments, self.learn_weights(moments, self.alpha_), names)
        return self

    def _check_together(self) -> None:
        """Raise InputError if two parameters contradict each other."""
        if self.penalize_intercept and self.standardize:
            raise InputError(
                "penalize_intercept=True has no effect with standardize=True, because fit then "
                "centres the columns. Give standardize=False, with data that were standardised "
                "across the groups."
            )

    def _keep(self, moments: Moments, learned: Learned, names: list[str]) -> None:
        """Store what was learned, and warn if the learning stopped early or was ambiguous."""
        # Collinear columns come first: more iterations would not help against them.
        if learned.violation > TOL:
            warn(
                "the lasso of at least one column stopped before its optimum, at a KKT violation "
                f"of {learned.violation:.1e} (tolerance {TOL:.0e}), because some columns are "
                "nearly collinear. Drop one of these columns, or raise alpha.",
                ConvergenceWarning,
            )
        elif not learned.converged:
            warn(
                f"{type(self).__name__} stopped after {learned.n_iter} iterations, although order "
                "and weights still changed. The result is a DAG, but not a fixed point. "
                "Increase max_iter.",
                ConvergenceWarning,
            )
        units = penalty_units(moments, self.standardize)
        warn_about_ties(moments, learned.B, np.sqrt(self.alpha_) * units, names)
        B = least_squares(moments, learned.B, names) if self.refit else learned.B
        self._store(moments, B, names, Arrows(moments.to_user(B[:, : moments.m]), self._knowledge))
        self.n_iter_ = learned.n_iter
        self.objective_path_ = np.array(learned.objective_path, dtype=OBJECTIVE_STEP)
