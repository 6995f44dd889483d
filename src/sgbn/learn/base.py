"""Base classes of the learners of one network: scikit-learn's interface around their learning.

`NetworkEstimator` has `fit`, and the attributes that all learners store. `Arrows` says what decides
the directions of a graph, and chooses one DAG where nothing does. `fit_weights`, `least_squares`
and `user_weights` give weights, intercepts and noise variances for known parents. With
`warnings_about`, warnings name the group or class that they are about.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from sgbn.cohort.rows import row_labels, row_order
from sgbn.core.equivalence import consistent_extension, cpdag, edge_kinds, orient_known, skeleton
from sgbn.core.gaussian import GaussianNetwork, HasNetwork
from sgbn.core.graph import GraphLike, adjacency, levels
from sgbn.core.moments import Moments, moments_of
from sgbn.core.problems import DataWarning, InputError, Problem, problem_of
from sgbn.core.types import Array, Indices, Labels, Mask
from sgbn.core.validation import (
    check_data,
    check_parameters,
    check_same_names,
    check_values,
    column_names,
    is_whole,
    warn_about_moments,
    warn_few_values,
)
from sgbn.learn.knowledge import Knowledge
from sgbn.learn.lasso import refit_column, residual_variances
from sgbn.prepare.outliers import rows_to_trim

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
        known = (
            () if self.knowledge is None else (self.knowledge.directions, self.knowledge.required)
        )
        table = np.full(support.shape, "order only", dtype=object)
        kinds = edge_kinds(support, *known)
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

    A learner implements `learn`, which ends with `_store`. It may also replace `moments`. The
    docstrings of `SGBN` and `ORSGBN` describe the fitted attributes.
    """

    @abstractmethod
    def learn(self, moments: Moments, values: Array, names: list[str]) -> Self:
        """Learn weights from the moments of the checked rows, and `_store` them.

        `values` are these rows, for learners that need more than the moments.
        """

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
        warn_few_values(values, names)
        labels = row_labels(X)
        # A list of folds has the numbers of rows in the user's order, which must stay then.
        counts_folds = is_whole(getattr(self, "cv", 0))
        order = row_order(values) if counts_folds else np.arange(len(values))
        ids = order.tolist() if labels is None else [labels[row] for row in order]
        self.learn(*self.prepare(values[order], names, ids), names)
        return self._of_user(order)

    def _of_user(self, order: Indices) -> Self:
        """Put `outliers_` in the user's order of rows; `order` has the place of each row there."""
        if hasattr(self, "outliers_"):
            self.outliers_ = self.outliers_[np.argsort(order)]
        return self

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
        self, moments: Moments, B: Array, names: list[str], arrows: Arrows | None = None
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


COLLINEAR = 1e-10  # smaller singular values, relative to the largest, are round-off
NOISE_FLOOR = 1e-12  # smaller noise variances, relative to the variable's variance, are round-off


class Weights(NamedTuple):
    """The numbers of a network in the user's order of columns.

    `coef_std` holds weights per standard deviation. The others are in the units of the data.
    """

    coef_std: Array
    coef: Array
    intercept: Array
    noise_variance: Array


def fit_weights(
    X: ArrayLike, graph: GraphLike, names: Sequence[str] | None = None
) -> GaussianNetwork:
    """Return the network with the edges of a given DAG and least-squares weights.

    Each variable is regressed on its parents with an intercept. A noise variance is the residual
    sum of squares divided by n - k, where k counts the parents and the intercept.

    Parameters
    ----------
    X : array-like of shape (n, m)
        One row per subject, one column per variable.
    graph : array-like of shape (m, m), or GaussianNetwork
        The DAG: ``graph[i, j] != 0`` is the edge i -> j. If X and the graph both have names,
        variables are matched by name.
    names : sequence of str, optional
        Names of the variables; by default the columns of a DataFrame X, else ``x0, x1, ...``.

    Raises
    ------
    CycleError
        If the graph has a directed cycle.
    """
    values, columns = check_values(X)
    if hasattr(X, "columns"):
        check_same_names(names, columns)
    names = list(columns if names is None else names)
    support = _support_on(graph, names, labelled=hasattr(X, "columns"))
    if support.shape != (values.shape[1], values.shape[1]):
        raise InputError("graph.shape", m=values.shape[1], shape=support.shape).says(
            "X has {m:column}, but the graph has shape ({shape:s})", "Give one column per node."
        )
    GaussianNetwork(support, names=names)  # raises if there is a cycle or a wrong name
    moments = moments_of(values, names)
    B = least_squares(moments, moments.to_canonical(support.astype(float)), names)
    weights = user_weights(moments, B, names)
    return GaussianNetwork(weights.coef, weights.intercept, weights.noise_variance, names)


def _support_on(graph: Any, names: Sequence[str], labelled: bool) -> Mask:
    """Return the edges of a graph, with its nodes in the order of `names`.

    `labelled` tells whether the data have names. If the data or the graph have none, the nodes of
    the graph are assumed to be in the order of the columns.
    """
    support = adjacency(graph)
    labels = getattr(graph, "columns", getattr(graph, "names", None))
    if labels is None or not labelled:
        return support
    nodes = [str(label) for label in labels]
    if sorted(nodes) != sorted(names):
        refuse_columns()
    place = [nodes.index(name) for name in names]
    return support[np.ix_(place, place)]


def refuse_columns() -> NoReturn:
    """Raise InputError, because a graph is not on the columns of a table."""
    raise InputError("graph.columns").says(
        "the variables of the graph are not the columns of X", "Give both the same names."
    )


def least_squares(moments: Moments, B: Array, names: Sequence[str]) -> Array:
    """Return `B` with the weights that are not zero replaced by least squares.

    Row ``B[j]`` holds the weights of the parents of j, in the canonical order. The function warns
    if parents are collinear.
    """
    refitted = B.copy()
    # A weight that is not zero is refitted, whatever its value. This includes every bias.
    refitted[:, moments.m :] = 1.0
    bad = [j for j in range(moments.m) if not refit_column(moments.R, j, refitted[j])]
    for j in bad:
        parents = np.flatnonzero(refitted[j])
        gram, target = moments.R[np.ix_(parents, parents)], moments.R[parents, j]
        # The solution of least norm: round-off must not decide which of two copies gets the weight.
        refitted[j, parents] = np.linalg.lstsq(gram, target, rcond=COLLINEAR)[0]
    if bad:
        Problem("parents.collinear", variable=names[moments.columns[bad[0]]]).warn(
            "the parents of {variable} are collinear, and get the smallest weights",
            "Drop one of these parents, or ask for fewer edges (a larger {gamma=} or {alpha=}).",
        )
    return refitted


def user_weights(moments: Moments, B: Array, names: Sequence[str]) -> Weights:
    """Return the weights in the user's order and units, from rows `B` in the canonical order.

    The noise variance is the residual sum of squares divided by n - k, as in bnlearn; k counts the
    parents and the intercept.
    """
    coef_std = moments.to_user(B)
    if moments.has_bias:
        # With a bias, columns are divided by their root mean square, not by their spread.
        ratio = moments.scale / moments.sd
        coef_std = coef_std * ratio / ratio[:, None]
    coef = coef_std * moments.sd / moments.sd[:, None]
    inverse = np.argsort(moments.columns)
    if moments.has_bias:
        intercept = B[inverse, -1] * moments.scale
    else:  # in the canonical order, so that rounding does not depend on the order of the columns
        centre = (moments.mean / moments.scale)[moments.columns]
        intercept = moments.mean - (B @ centre)[inverse] * moments.scale
    # At least 1, so that a variable with as many parents as rows causes no division by zero.
    degrees = np.maximum(moments.n - np.count_nonzero(coef, axis=0) - 1, 1)
    noise = residual_variances(moments.R, B)[inverse] * moments.scale**2 * moments.n / degrees
    floor = NOISE_FLOOR * moments.sd**2
    exact = np.flatnonzero(noise < floor)
    if exact.size:
        Problem("parents.exact", columns=[names[k] for k in exact.tolist()]).warn(
            "columns that are exact linear functions of their parents: {columns}",
            "Drop them, or ask for fewer edges (a larger {gamma=} or {alpha=}).",
        )
    return Weights(coef_std, coef, intercept, np.maximum(noise, floor))


@contextmanager
def warnings_about(name: Any, kind: str = "group") -> Iterator[None]:
    """Put the group's or class's name in front of warnings about data and convergence.

    Warnings that already name a group or class are not changed. Warnings of other classes, such as
    `OutlierWarning`, are not changed either.
    """
    show = warnings.showwarning

    def named(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        cause = problem_of(message)
        if category in (DataWarning, ConvergenceWarning) and kind not in cause.values:
            message = category(part_of(name, kind, cause))
        show(message, category, *where, **more)

    # Python then also forgets earlier warnings, so that it shows the same warning for each group.
    with warnings.catch_warnings():
        warnings.showwarning = named
        yield


def part_of(name: Any, kind: str, cause: Problem | BaseException) -> Problem:
    """Return a problem of one group or class."""
    values = {kind: name, "kind": kind, "name": name}
    return Problem("part", cause=cause, **values).says("{kind:s} {name}: {cause}")


def network_of(network: Any, what: str = "network") -> GaussianNetwork:
    """Return a given network, or the network of a fitted learner. Messages call it `what`."""
    # Only a fitted estimator of one network has this attribute.
    candidate = getattr(network, "network_", network)
    if isinstance(candidate, GaussianNetwork):
        return candidate
    kind = type(network).__name__
    if isinstance(network, NetworkEstimator):
        raise InputError("network.unfitted", argument=what, type=kind).says(
            "{argument} is a {type:s} that is not fitted", "Call its fit first."
        )
    raise InputError("network.type", argument=what, type=kind).says(
        "{argument} is a {type:s}, not one network",
        "Give a GaussianNetwork, a fitted learner of one network, or one of its networks_.",
    )


def check_kind(learner: Any, kind: type) -> None:
    """Raise InputError unless a learner is of a kind."""
    if not isinstance(learner, kind):
        given = type(learner).__name__
        raise InputError("learner.type", type=given, kind=kind.__name__).says(
            "learner is a {type:s}, not a {kind:s}", "Give a learner of sgbn of this kind."
        )
