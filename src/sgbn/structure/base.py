"""What all one-sample learners share: the scikit-learn contract around a learning function."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from sgbn.exceptions import InputError, warn
from sgbn.gaussian import GaussianNetwork
from sgbn.graph.acyclicity import levels
from sgbn.moments import Moments, moments_of
from sgbn.solvers.lasso import TOL
from sgbn.structure.given_graph import least_squares, user_weights
from sgbn.structure.penalties import penalty_units
from sgbn.structure.selection import CRITERIA, select_alpha
from sgbn.validation import check_data, column_names, warn_about_moments, warn_about_ties

if TYPE_CHECKING:
    import networkx as nx

Array = NDArray[np.float64]

OBJECTIVE_STEP = np.dtype([("penalty", float), ("objective", float)])


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool)


class Learned(NamedTuple):
    """What a learning function returns, in canonical order.

    Row ``B[j]`` holds the weights of j's parents, per unit of scale; `objective_path` has a
    record (penalty for breaking the order, objective) a step; `violation` is the worst one of the
    lasso's optimality conditions.
    """

    B: Array
    n_iter: int
    objective_path: list[tuple[float, float]]
    violation: float
    converged: bool


class NetworkEstimator(DensityMixin, BaseEstimator, ABC):
    """Base of the learners of one network from one sample.

    Fitted attributes are described where they are public: in `ORSGBN` and `HSGBN`.
    """

    alpha: float | str
    standardize: bool
    penalize_intercept: bool
    refit: bool
    alphas: ArrayLike | None
    cv: Any
    max_iter: int
    n_jobs: int | None

    @abstractmethod
    def _learn(self, moments: Moments, alpha: float) -> Learned:
        """Learn the weights for one alpha."""

    def fit(self, X: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002
        """Learn a network.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            One row a subject, one column a region. Column names of a DataFrame are kept.
        y : ignored

        Returns
        -------
        self
        """
        values = check_data(self, X)
        self._check_parameters()
        names = column_names(self, X)
        moments = moments_of(values, names, bias=self.penalize_intercept)
        warn_about_moments(moments, names)
        return self._fit_moments(moments, values, names)

    def _fit_moments(self, moments: Moments, values: Array, names: list[str]) -> Self:
        """Choose alpha if need be, learn, and store."""
        for stale in ("alphas_", "criterion_path_"):
            self.__dict__.pop(stale, None)
        if isinstance(self.alpha, str):
            choice = select_alpha(self, values, moments, names)
            self.alpha_, self.alphas_, self.criterion_path_ = choice
        else:
            self.alpha_ = float(self.alpha)
        self._store(moments, self._learn(moments, self.alpha_), names)
        return self

    def _check_parameters(self) -> None:
        if isinstance(self.alpha, str):
            if self.alpha not in CRITERIA:
                raise InputError(f"alpha is {self.alpha!r}; give a number or one of {CRITERIA}.")
        elif not (_is_number(self.alpha) and 0 < self.alpha < np.inf):
            raise InputError(f"alpha is {self.alpha!r}; it must be a positive number.")
        if not isinstance(self.max_iter, Integral) or self.max_iter < 1:
            raise InputError(f"max_iter is {self.max_iter!r}; it must be a whole number from 1 on.")
        if self.penalize_intercept and self.standardize:
            raise InputError(
                "penalize_intercept=True has no effect on columns that fit centres itself: give "
                "it together with standardize=False, on data standardised across the groups."
            )

    def _store(self, moments: Moments, learned: Learned, names: list[str]) -> None:
        if learned.violation > TOL:
            warn(
                f"the lasso of some column stopped at a KKT violation of {learned.violation:.1e} "
                f"(tolerance {TOL:.0e}): columns are nearly collinear. Drop one of them, or raise "
                "alpha.",
                ConvergenceWarning,
            )
        elif not learned.converged:
            warn(
                f"{type(self).__name__} stopped after {learned.n_iter} iterations before the "
                "order and the weights agreed; the result is a DAG, but not a fixed point. "
                "Increase max_iter.",
                ConvergenceWarning,
            )
        units = penalty_units(moments, self.standardize)
        warn_about_ties(moments, learned.B, np.sqrt(self.alpha_) * units, names)
        B = least_squares(moments, learned.B, names) if self.refit else learned.B
        weights = user_weights(moments, B, names)
        self.coef_, self.coef_std_ = weights.coef, weights.coef_std
        self.intercept_, self.noise_variance_ = weights.intercept, weights.noise_variance
        # Raises CycleError if the learner broke its promise: a DAG is checked on every fit.
        self.network_ = GaussianNetwork(self.coef_, self.intercept_, self.noise_variance_, names)
        self.order_ = levels(self.coef_)
        self.n_iter_ = learned.n_iter
        self.objective_path_ = np.array(learned.objective_path, dtype=OBJECTIVE_STEP)

    def score_samples(self, X: ArrayLike) -> Array:
        """Log-likelihood of every row of X under the learned network.

        Paper: Eq. 3.1.
        """
        check_is_fitted(self)
        return self.network_.log_likelihood(check_data(self, X, reset=False))

    def score(self, X: ArrayLike, y: Any = None) -> float:  # noqa: ARG002
        """Mean log-likelihood of the rows of X."""
        return float(self.score_samples(X).mean())

    def sample(
        self, n_samples: int = 1, random_state: int | np.random.Generator | None = None
    ) -> Array:
        """Draw rows from the learned network."""
        check_is_fitted(self)
        return self.network_.sample(n_samples, random_state)

    def to_networkx(self) -> nx.DiGraph:
        """Return the learned network as a networkx graph; see `GaussianNetwork.to_networkx`."""
        check_is_fitted(self)
        return self.network_.to_networkx()
