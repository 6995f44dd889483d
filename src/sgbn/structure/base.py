"""What all one-sample learners share: the scikit-learn contract around a learning function."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted

from sgbn.gaussian import GaussianNetwork, HasNetwork
from sgbn.graph.acyclicity import levels
from sgbn.graph.equivalence import (
    consistent_extension,
    cpdag,
    edge_kinds,
    orient_known,
    skeleton,
)
from sgbn.moments import Moments, moments_of
from sgbn.parameters import check_parameters
from sgbn.structure.given_graph import user_weights
from sgbn.structure.knowledge import Knowledge
from sgbn.structure.robust import row_labels, rows_to_trim
from sgbn.types import Array, Indices, Labels, Mask
from sgbn.validation import check_data, column_names, warn_about_moments

if TYPE_CHECKING:
    import networkx as nx


UNDECIDED = ("reversible", "order only")  # kinds of edges whose direction nothing decides


class Arrows(NamedTuple):
    """A learned DAG, with the knowledge and assumptions that decide directions."""

    graph: NDArray[Any]
    knowledge: Knowledge | None = None
    equal: bool = False
    non_gaussian: Mask | None = None  # arrows that residuals decided

    def equivalence_class(self) -> Mask:
        """Return the CPDAG, oriented further by prior knowledge and non-Gaussian residuals."""
        P = cpdag(self.graph)
        # without known directions the class is closed under Meek's rules already
        if self.knowledge is not None and self.knowledge.directions.any():
            P = orient_known(P, self.knowledge.directions)
        return P if self.non_gaussian is None else orient_known(P, self.non_gaussian)

    def hubs_first(self, columns: Indices) -> Self:
        """Return the member of the equivalence class in which hubs, then first columns, come first.

        Directions that nothing decides then do not depend on which member a search found.
        """
        P = self.equivalence_class()
        first = columns[np.argsort(-skeleton(P).sum(axis=0)[columns], kind="stable")]
        back = np.argsort(first)
        graph = cast(Mask, consistent_extension(P[np.ix_(first, first)]))  # the class has members
        return self._replace(graph=graph[np.ix_(back, back)])

    def kinds(self, coef: Array) -> Labels:
        """Say what the direction of each edge of `coef` rests on."""
        # the graph, not `coef`: a lasso has further edges, of which only the order is known
        support = self.graph != 0
        known, required = (
            (None, None)
            if self.knowledge is None
            else (self.knowledge.directions, self.knowledge.required)
        )
        table = np.full(support.shape, "order only", dtype=object)
        kinds = edge_kinds(support, known, required)
        # before "equal variances" takes their place: residuals speak about open edges alone
        is_open = kinds == "reversible"
        kinds = np.where(self.equal & is_open, "equal variances", kinds).astype(object)
        if self.non_gaussian is not None:
            kinds[is_open & self.non_gaussian[support]] = "non-Gaussian"
        table[support] = kinds
        return table[coef != 0].astype(str)


class NetworkLearner(HasNetwork, Protocol):
    """A learner of one network from one sample, of sgbn or not."""

    def fit(self, X: Any, /) -> HasNetwork:
        """Learn a network from the rows of X."""


class LearnedNetwork(BaseEstimator):
    """What all learners of one network have once they are fitted.

    Attributes
    ----------
    network_ : GaussianNetwork
    coef_ : ndarray of shape (m, m)
    arrows_ : Arrows
    """

    network_: GaussianNetwork
    coef_: Array
    coef_std_: Array
    arrows_: Arrows

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._learned_html()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] += self._learned_html()
        return bundle

    def _learned_html(self) -> str:
        """Return what a notebook shows below the parameters: what was learned."""
        if not hasattr(self, "network_"):
            return ""
        lines = []
        if hasattr(self, "supported_"):
            n_arrows, n_edges = np.count_nonzero(self.supported_), self.network_.n_edges
            lines.append(f"Half samples support the direction of {n_arrows} of {n_edges} edges.")
        left_out = np.count_nonzero(getattr(self, "outliers_", ()))
        if left_out:
            lines.append(f"Rows that lie far out, and were left out: {left_out}.")
        return self.network_._repr_html_() + "".join(f"<p>{escape(line)}</p>" for line in lines)

    @property
    def cpdag_(self) -> Mask:
        """Directions that data, knowledge and residuals decide; an open edge is set both ways."""
        check_is_fitted(self)
        return self.arrows_.equivalence_class()

    @property
    def edge_kinds_(self) -> Labels:
        """What the direction of each edge rests on, in the order of ``np.argwhere(coef_)``.

        "compelled", "prior knowledge", "equal variances", "non-Gaussian" (residuals decided),
        "reversible" or "order only"; see `sgbn.graph.edge_kinds`.
        """
        check_is_fitted(self)
        return self.arrows_.kinds(self.coef_)

    def to_networkx(self) -> nx.DiGraph:
        """Return the learned network as a networkx graph; see `GaussianNetwork.to_networkx`."""
        check_is_fitted(self)
        return self.network_.to_networkx()


class NetworkEstimator(DensityMixin, LearnedNetwork, ABC):
    """Base of the learners of one network from one sample.

    A learner says how it learns from moments (`learn`) and ends with `_store`. Fitted
    attributes are described where they are public: in `SGBN` and `ORSGBN`.
    """

    @abstractmethod
    def learn(self, moments: Moments, values: Array, names: list[str]) -> Self:
        """Learn weights from the moments of `values`, which are checked, and `_store` them."""

    def moments(self, values: Array, names: list[str]) -> Moments:
        """Return the moments of rows that this learner learns from."""
        return moments_of(values, names)

    def clean(self, values: Array, names: list[str], labels: Sequence[Any] | None = None) -> Array:
        """Return the rows to learn from: all of them, unless a learner has ``outliers="trim"``.

        Everything that learns from rows, all of them or a part, calls this before `moments`.
        """
        outliers = getattr(self, "outliers", None)
        if outliers is None:
            return values
        # stored in any case: "keep" must not leave the rows of an earlier fit behind
        none = np.zeros(len(values), bool)
        self.outliers_ = rows_to_trim(values, names, labels) if outliers == "trim" else none
        return values[~self.outliers_] if self.outliers_.any() else values

    def fit(self, X: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002
        """Learn a network.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            One row per subject, one column per region. Column names of a DataFrame are kept.
        y : ignored

        Returns
        -------
        self
        """
        values = check_data(self, X)
        names = column_names(self, X)
        return self.learn(*self.prepare(values, names, row_labels(X)), names)

    def prepare(
        self, values: Array, names: list[str], labels: Sequence[Any] | None = None
    ) -> tuple[Moments, Array]:
        """Check the parameters, and return the moments and rows to `learn` from.

        The rows must have been checked before. Warnings call columns by `names`, rows by `labels`.
        """
        check_parameters(self)
        values = self.clean(values, names, labels)
        moments = self.moments(values, names)
        warn_about_moments(moments, names)
        return moments, values

    def _store(
        self,
        moments: Moments,
        B: Array,
        names: list[str],
        arrows: Arrows | None = None,
    ) -> None:
        """Store a network; row ``B[j]`` holds the weights of j's parents, in canonical order."""
        weights = user_weights(moments, B, names)
        self.coef_, self.coef_std_ = weights.coef, weights.coef_std
        self.intercept_, self.noise_variance_ = weights.intercept, weights.noise_variance
        # Raises CycleError if the learner broke its promise: a DAG is checked on every fit.
        self.network_ = GaussianNetwork(self.coef_, self.intercept_, self.noise_variance_, names)
        # whole numbers that certify the DAG; see `sgbn.graph.certifies_dag`
        self.order_ = levels(self.coef_)
        self.arrows_ = Arrows(self.coef_ != 0) if arrows is None else arrows

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
