"""Base classes of the learners of one network: scikit-learn's interface around their learning."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted

from sgbn.core.equivalence import consistent_extension, cpdag, edge_kinds, orient_known, skeleton
from sgbn.core.gaussian import GaussianNetwork, HasNetwork
from sgbn.core.graph import levels
from sgbn.core.moments import Moments, moments_of
from sgbn.core.types import Array, Indices, Labels, Mask
from sgbn.core.validation import check_data, check_parameters, column_names, warn_about_moments
from sgbn.prepare.outliers import row_labels, rows_to_trim
from sgbn.structure.given_graph import user_weights
from sgbn.structure.knowledge import Knowledge

if TYPE_CHECKING:
    import networkx as nx


UNDECIDED = ("reversible", "order only")  # kinds of edges whose direction nothing decides


class Arrows(NamedTuple):
    """A learned DAG, with the knowledge and assumptions that decide directions.

    Attributes
    ----------
    graph : ndarray of shape (m, m)
        The learned DAG: an entry ``[i, j]`` that is not zero is the edge i -> j.
    knowledge : Knowledge or None
        Prior knowledge of the user.
    equal : bool
        Whether equal noise variances were assumed.
    non_gaussian : ndarray of bool, shape (m, m), or None
        Arrows that non-Gaussian residuals decided.
    """

    graph: NDArray[Any]
    knowledge: Knowledge | None = None
    equal: bool = False
    non_gaussian: Mask | None = None

    def equivalence_class(self) -> Mask:
        """Return the CPDAG, with further arrows that prior knowledge and residuals decide."""
        P = cpdag(self.graph)
        # A CPDAG is closed under Meek's rules. So there is nothing to do without known directions.
        if self.knowledge is not None and self.knowledge.directions.any():
            P = orient_known(P, self.knowledge.directions)
        return P if self.non_gaussian is None else orient_known(P, self.non_gaussian)

    def hubs_first(self, columns: Indices) -> Self:
        """Return these arrows with the DAG of the equivalence class in which hubs come first.

        Variables with more neighbours come first in its order. Variables with equally many
        neighbours come in the order of `columns`. So the directions that nothing decides do not
        depend on which DAG of the class a search found.
        """
        P = self.equivalence_class()
        first = columns[np.argsort(-skeleton(P).sum(axis=0)[columns], kind="stable")]
        back = np.argsort(first)
        graph = cast(Mask, consistent_extension(P[np.ix_(first, first)]))  # never None for a class
        return self._replace(graph=graph[np.ix_(back, back)])

    def kinds(self, coef: Array) -> Labels:
        """Return what decides the direction of each edge of `coef`, as `LearnedNetwork` lists."""
        # The graph counts and not `coef`, because a lasso adds edges that only the order directs.
        support = self.graph != 0
        known, required = (
            (None, None)
            if self.knowledge is None
            else (self.knowledge.directions, self.knowledge.required)
        )
        table = np.full(support.shape, "order only", dtype=object)
        kinds = edge_kinds(support, known, required)
        # This comes before "equal variances" is set: residuals only decide edges that are open.
        is_open = kinds == "reversible"
        kinds = np.where(self.equal & is_open, "equal variances", kinds).astype(object)
        if self.non_gaussian is not None:
            kinds[is_open & self.non_gaussian[support]] = "non-Gaussian"
        table[support] = kinds
        return table[coef != 0].astype(str)


class NetworkLearner(HasNetwork, Protocol):
    """A learner of one network from one sample, from sgbn or from elsewhere."""

    def fit(self, X: Any, /) -> HasNetwork:
        """Learn a network from the rows of X."""


class LearnedNetwork(BaseEstimator):
    """The attributes and views that all fitted learners of one network have.

    Attributes
    ----------
    network_ : GaussianNetwork
        The learned network.
    coef_, coef_std_ : ndarray of shape (m, m)
        Its weights in the units of the data, and per standard deviation.
    arrows_ : Arrows
        The learned graph, and what decides its directions.
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
        """Return the part that a notebook shows below the parameters: the learned network."""
        if not hasattr(self, "network_"):
            return ""
        lines = []
        if hasattr(self, "supported_"):
            n_arrows, n_edges = np.count_nonzero(self.supported_), self.network_.n_edges
            lines.append(f"Half samples support the direction of {n_arrows} of {n_edges} edges.")
        left_out = np.count_nonzero(getattr(self, "outliers_", ()))
        if left_out:
            lines.append(f"Rows that lie far from all others and were left out: {left_out}.")
        return self.network_._repr_html_() + "".join(f"<p>{escape(line)}</p>" for line in lines)

    @property
    def cpdag_(self) -> Mask:
        """Return the directions that data, knowledge and residuals decide.

        ``[i, j]`` is True for i -> j. An edge whose direction is open is True at both places.
        """
        check_is_fitted(self)
        return self.arrows_.equivalence_class()

    @property
    def edge_kinds_(self) -> Labels:
        """Return what decides the direction of each edge, in the order of ``np.argwhere(coef_)``.

        The kinds are "compelled", "prior knowledge", "equal variances", "non-Gaussian" (residuals
        decide), "reversible" and "order only". `sgbn.edge_kinds` explains "compelled", "prior
        knowledge" and "reversible". `SGBN` explains the others.
        """
        check_is_fitted(self)
        return self.arrows_.kinds(self.coef_)

    def to_networkx(self) -> nx.DiGraph:
        """Return the learned network as a networkx graph (see `GaussianNetwork.to_networkx`)."""
        check_is_fitted(self)
        return self.network_.to_networkx()


class NetworkEstimator(DensityMixin, LearnedNetwork, ABC):
    """The base class of the learners of one network from one sample.

    A learner implements `learn`, which learns weights from moments and ends with `_store`. The
    docstrings of `SGBN` and `ORSGBN` describe the fitted attributes.
    """

    @abstractmethod
    def learn(self, moments: Moments, values: Array, names: list[str]) -> Self:
        """Learn weights from the moments of the checked rows `values`, and `_store` them."""

    def moments(self, values: Array, names: list[str]) -> Moments:
        """Return the moments of the rows, in the form that this learner needs."""
        return moments_of(values, names)

    def clean(self, values: Array, names: list[str], labels: Sequence[Any] | None = None) -> Array:
        """Return the rows to learn from.

        These are all rows. With ``outliers="trim"``, rows that lie far from all others are left
        out. All code that learns from rows, or from a part of them, calls this before `moments`.
        """
        outliers = getattr(self, "outliers", None)
        if outliers is None:
            return values
        # Stored with "keep" as well, so that no rows of an earlier fit stay marked.
        none = np.zeros(len(values), bool)
        self.outliers_ = rows_to_trim(values, names, labels) if outliers == "trim" else none
        return values[~self.outliers_] if self.outliers_.any() else values

    def fit(self, X: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002
        """Learn a network from the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            One row per subject, one column per region. Column names of a DataFrame are kept.
        y : ignored
            Accepted because scikit-learn passes it.

        Returns
        -------
        self
            The fitted learner.
        """
        values = check_data(self, X)
        names = column_names(self, X)
        return self.learn(*self.prepare(values, names, row_labels(X)), names)

    def prepare(
        self, values: Array, names: list[str], labels: Sequence[Any] | None = None
    ) -> tuple[Moments, Array]:
        """Check the parameters, and return the moments and the rows to `learn` from.

        The caller has checked the rows. Warnings use `names` for columns and `labels` for rows.
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
        """Store the network as fitted attributes.

        Row ``B[j]`` holds the weights of the parents of variable j. Its variables are in the order
        of ``moments.columns``, called the canonical order. By default, `arrows` is the graph alone.
        """
        weights = user_weights(moments, B, names)
        self.coef_, self.coef_std_ = weights.coef, weights.coef_std
        self.intercept_, self.noise_variance_ = weights.intercept, weights.noise_variance
        # Raises CycleError if the learner returned a cycle: so every fit checks that it is a DAG.
        self.network_ = GaussianNetwork(self.coef_, self.intercept_, self.noise_variance_, names)
        # Whole numbers that prove that the network is a DAG; see `sgbn.certifies_dag`.
        self.order_ = levels(self.coef_)
        self.arrows_ = Arrows(self.coef_ != 0) if arrows is None else arrows

    def score_samples(self, X: ArrayLike) -> Array:
        """Return the log-likelihood of every row of X under the learned network.

        Paper: Eq. 3.1.
        """
        check_is_fitted(self)
        return self.network_.log_likelihood(check_data(self, X, reset=False))

    def score(self, X: ArrayLike, y: Any = None) -> float:  # noqa: ARG002
        """Return the mean log-likelihood of the rows of X."""
        return float(self.score_samples(X).mean())

    def sample(
        self, n_samples: int = 1, random_state: int | np.random.Generator | None = None
    ) -> Array:
        """Return random rows drawn from the learned network."""
        check_is_fitted(self)
        return self.network_.sample(n_samples, random_state)
