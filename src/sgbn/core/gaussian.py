r"""The model: a Gaussian Bayesian network.

Every variable is a linear function of its parents plus noise,

.. math:: x_j = \theta_{0j} + \sum_i \Theta_{ij} x_i + \varepsilon_j, \qquad
          \varepsilon_j \sim N(0, \sigma_j^2),

over a directed acyclic graph. ``coef[i, j]`` is the weight of i -> j, as everywhere in sgbn.

`html_repr` makes the few lines of HTML that a notebook shows for a network and for other objects.
Every name in them is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from sgbn.core.graph import Matrix, check_distinct, check_names_agree, find_cycle, topological_order
from sgbn.core.problems import CycleError, InputError
from sgbn.core.types import Array, Indices

if TYPE_CHECKING:
    import networkx as nx


MAX_SHOWN_EDGES = 5  # edges of a network that a notebook shows


class GaussianDistribution(NamedTuple):
    """A multivariate Gaussian over named variables."""

    names: tuple[str, ...]
    mean: Array
    covariance: Array


class GaussianNetwork:
    """A Gaussian Bayesian network: immutable weights, intercepts and noise variances on a DAG.

    Parameters
    ----------
    coef : array-like of shape (m, m)
        ``coef[i, j]`` is the weight of the edge i -> j; zero means no edge.
    intercept : array-like of shape (m,), optional
        Intercept of each variable; by default 0.
    noise_variance : array-like of shape (m,), optional
        Noise variance of each variable; by default 1. If a variance is 0, the network has no
        density.
    names : sequence of str, optional
        Names of the variables; by default the columns of `coef` if it is a DataFrame, else
        ``x0, x1, ...``.

    Raises
    ------
    CycleError
        If the graph has a directed cycle. The message names the variables on the cycle.
    InputError
        If shapes differ, a number is not finite, a variance is negative or a name is given twice.

    Examples
    --------
    >>> from sgbn.core.gaussian import GaussianNetwork
    >>> net = GaussianNetwork([[0, 0.8], [0, 0]], names=["hippocampus", "insula"])
    >>> net.edges()[["source", "target", "weight"]].tolist()
    [('hippocampus', 'insula', 0.8)]
    >>> float(net.do({"hippocampus": 2.0}).mean[1])
    1.6
    """

    def __init__(
        self,
        coef: Matrix,
        intercept: ArrayLike | None = None,
        noise_variance: ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self.coef = _frozen(coef, "coef")
        if self.coef.ndim != 2 or self.coef.shape[0] != self.coef.shape[1]:
            raise InputError("matrix.shape", argument="coef", shape=self.coef.shape).says(
                "{argument} has shape ({shape:s})", "Give a square matrix."
            )
        m = len(self.coef)
        self.intercept = _frozen(np.zeros(m) if intercept is None else intercept, "intercept")
        self.noise_variance = _frozen(
            np.ones(m) if noise_variance is None else noise_variance, "noise_variance"
        )
        # Rows are sources and columns are targets. Different orders would give other edges.
        table: Any = coef  # for mypy: `coef` may be a DataFrame, with names of rows and columns
        check_names_agree(table, "coef")
        if names is None:
            names = table.columns if hasattr(table, "columns") else [f"x{k}" for k in range(m)]
        self.names = tuple(map(str, names))
        for label, values in (
            ("intercept", self.intercept),
            ("noise_variance", self.noise_variance),
            ("names", np.asarray(self.names)),
        ):
            if values.shape != (m,):
                raise InputError("argument.shape", argument=label, shape=values.shape, m=m).says(
                    "{argument} has shape ({shape:s})", "Give one value for each of {m:variable}."
                )
        self._check_names_variances_and_cycles()

    def _check_names_variances_and_cycles(self) -> None:
        check_distinct(self.names)
        negative = np.flatnonzero(self.noise_variance < 0)
        if negative.size:
            raise InputError("network.negative-noise", variable=self.names[negative[0]]).says(
                "the noise variance of {variable} is negative", "Give 0 or more."
            )
        cycle = find_cycle(self.coef)
        if cycle is not None:
            # The first name is repeated at the end.
            raise CycleError([self.names[i] for i in [*cycle, cycle[0]]])

    def __repr__(self) -> str:
        return f"GaussianNetwork({self.m} variables, {self.n_edges} edges)"

    def _repr_html_(self) -> str:
        sd = np.sqrt(np.diag(self.covariance))
        i, j = np.nonzero(self.coef)
        # Weights in standard deviations do not depend on units. After do(), an sd may be zero.
        size = np.abs(self.coef[i, j]) * sd[i] / np.where(sd[j] > 0, sd[j], 1.0)
        strongest = np.argsort(-size, kind="stable")[:MAX_SHOWN_EDGES]
        rows = [
            (self.names[i[k]], self.names[j[k]], float(self.coef[i[k], j[k]])) for k in strongest
        ]
        line = "sgbn.edge_table(...) lists all edges."
        if len(i) > MAX_SHOWN_EDGES:
            which = "the edges with the largest standardised weights"
            line = f"{MAX_SHOWN_EDGES} of {len(i)} edges are shown: {which}. {line}"
        return html_repr(repr(self), [line], ("source", "target", "weight"), rows)

    @property
    def m(self) -> int:
        """Number of variables."""
        return len(self.coef)

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return int(np.count_nonzero(self.coef))

    @cached_property
    def topological_order(self) -> Indices:
        """Indices of the variables, parents before children."""
        return topological_order(self.coef)

    # Likelihood -------------------------------------------------------------------------------

    def residuals(self, X: ArrayLike) -> Array:
        """Return the noise of every variable in every row: x_j - theta_0j - sum_i Theta_ij x_i."""
        X = self._check_rows(X)
        return X - X @ self.coef - self.intercept

    def log_likelihood(self, X: ArrayLike) -> Array:
        r"""Return the log-density of every row of X.

        .. math:: L(x) = -\tfrac12 \sum_i \left[ (x_i - Pa_i^T \theta_i)^2 / \sigma_i^2
                  + \log(2 \pi \sigma_i^2) \right]

        Paper: Eq. 3.1, with the normalising constant corrected.
        """
        self.check_noise()
        squared = self.residuals(X) ** 2 / self.noise_variance
        return -0.5 * (squared + np.log(2 * np.pi * self.noise_variance)).sum(axis=1)

    def gradient(self, X: ArrayLike) -> tuple[Array, Array]:
        r"""Return the gradient of the log-likelihood, summed over the rows of X.

        .. math:: \partial L / \partial \Theta_{ij} = \sum_n x_{ni} r_{nj} / \sigma_j^2, \qquad
                  \partial L / \partial \theta_{0j} = \sum_n r_{nj} / \sigma_j^2

        with residuals r. The diagonal is zero, because a variable is not its own parent.

        Paper: Eq. 3.2, with the sign corrected.

        Returns
        -------
        coef_gradient : ndarray of shape (m, m)
        intercept_gradient : ndarray of shape (m,)
        """
        self.check_noise()
        X = self._check_rows(X)
        scaled = self.residuals(X) / self.noise_variance
        coef_gradient = X.T @ scaled
        np.fill_diagonal(coef_gradient, 0.0)
        return coef_gradient, scaled.sum(axis=0)

    # Implied distribution ---------------------------------------------------------------------

    @cached_property
    def _total_effects(self) -> Array:
        """(I - Theta)^-1. Entry i, j is the change of x_j for a unit change of the noise of i."""
        # In a topological order the matrix is triangular: the solution is exact, never singular.
        order = self.topological_order
        upper = np.eye(self.m) - self.coef[np.ix_(order, order)]
        inverse = solve_triangular(upper, np.eye(self.m), unit_diagonal=True)
        total = np.empty_like(inverse)
        total[np.ix_(order, order)] = inverse
        return total

    @cached_property
    def mean(self) -> Array:
        """Mean of every variable: (I - Theta')^-1 theta_0."""
        return _frozen(self.intercept @ self._total_effects, "mean")  # read-only: it is cached

    @cached_property
    def covariance(self) -> Array:
        """Covariance matrix: (I - Theta')^-1 diag(sigma^2) (I - Theta)^-1."""
        total = self._total_effects
        return _frozen(total.T @ (self.noise_variance[:, None] * total), "covariance")

    def conditional(self, evidence: Mapping[str, float]) -> GaussianDistribution:
        """Return the distribution of all other variables, given the observed values of some.

        Parameters
        ----------
        evidence : mapping of name to value
            Observed values. For values that are set from outside, use `do`.
        """
        seen, values = self._indices_and_values(evidence)
        rest = np.setdiff1d(np.arange(self.m), seen)
        names = tuple(self.names[i] for i in rest)
        C = self.covariance
        if not seen.size:  # the empty matrix has no Cholesky factor
            return GaussianDistribution(names, self.mean, C)
        try:
            factor = cho_factor(C[np.ix_(seen, seen)])
        except np.linalg.LinAlgError:
            raise InputError("evidence.singular", variables=list(evidence)).says(
                "one of {variables} depends on the others, or is constant", "Leave it out."
            ) from None
        across = C[np.ix_(rest, seen)]
        mean = self.mean[rest] + across @ cho_solve(factor, values - self.mean[seen])
        # The Schur complement: it depends on which variables were seen, not on their values.
        covariance = C[np.ix_(rest, rest)] - across @ cho_solve(factor, across.T)
        return GaussianDistribution(names, mean, covariance)

    def do(self, interventions: Mapping[str, float]) -> GaussianNetwork:
        """Return the network after variables are set to values from outside.

        The edges into a variable that is set are cut. Its intercept becomes the value, and its
        noise becomes zero. The result has the `mean` and `covariance` under the intervention.

        Parameters
        ----------
        interventions : mapping of name to value
            The value that each variable is set to.
        """
        chosen, values = self._indices_and_values(interventions)
        coef, intercept, noise = (
            np.array(a) for a in (self.coef, self.intercept, self.noise_variance)
        )
        # A variable that is set from outside no longer depends on its parents.
        coef[:, chosen] = 0.0
        intercept[chosen] = values
        noise[chosen] = 0.0
        return GaussianNetwork(coef, intercept, noise, self.names)

    def sample(
        self, n_samples: int, random_state: int | np.random.Generator | None = None
    ) -> Array:
        """Draw rows from the network.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        random_state : int, Generator or None
            Seed of the random numbers. The same seed gives the same rows.
        """
        rng = np.random.default_rng(random_state)
        noise = rng.standard_normal((n_samples, self.m)) * np.sqrt(self.noise_variance)
        # All rows at once, without a loop over the order.
        return (noise + self.intercept) @ self._total_effects

    # Conversion -------------------------------------------------------------------------------

    def edges(self) -> np.recarray[Any, Any]:
        """Return the edges as a record array: source, target and weight, in column order.

        `sgbn.to_frame` makes a DataFrame of them. `sgbn.edge_table` returns more columns.
        """
        i, j = np.nonzero(self.coef)
        names = np.asarray(self.names)
        fields = {"source": names[i], "target": names[j], "weight": self.coef[i, j]}
        # Not a DataFrame: the numeric core must not import pandas (contracts in pyproject.toml).
        kinds = [(field, values.dtype) for field, values in fields.items()]
        return np.rec.fromarrays(list(fields.values()), kinds)

    def to_networkx(self) -> nx.DiGraph:
        """Return a graph: edges have `weight`, nodes have `intercept` and `noise_variance`."""
        import networkx as nx

        graph = nx.DiGraph()
        for name, intercept, variance in zip(
            self.names, self.intercept.tolist(), self.noise_variance.tolist(), strict=True
        ):
            graph.add_node(name, intercept=intercept, noise_variance=variance)
        graph.add_weighted_edges_from(self.edges().tolist())
        return graph

    @classmethod
    def from_networkx(cls, graph: nx.DiGraph) -> GaussianNetwork:
        """Return the network of a directed graph.

        Edges need a `weight`. Nodes may have `intercept` (default 0), `noise_variance` (default 1).
        """
        nodes = list(graph)
        position = {node: k for k, node in enumerate(nodes)}
        coef = np.zeros((len(nodes), len(nodes)))
        for source, target, weight in graph.edges(data="weight"):
            if weight is None:  # a default would be wrong: 0 means no edge
                raise InputError("edges.weight", source=source, target=target).says(
                    "the edge {source} -> {target} has no attribute 'weight'", "Add the attribute."
                )
            coef[position[source], position[target]] = weight
        intercept = [graph.nodes[node].get("intercept", 0.0) for node in nodes]
        noise = [graph.nodes[node].get("noise_variance", 1.0) for node in nodes]
        return cls(coef, intercept, noise, [str(node) for node in nodes])

    def _check_rows(self, X: Any) -> Array:
        """Return the rows as floats. The columns of a table are found by name."""
        if hasattr(X, "columns"):
            missing = [name for name in self.names if name not in X.columns]
            if missing:
                raise InputError("columns.missing", columns=missing).says(
                    "X lacks {columns}", "Name its columns like the network's variables."
                )
            X = X[list(self.names)]  # columns in another order would give wrong densities
        X = np.asarray(X, dtype=float)
        if X.ndim != 2 or X.shape[1] != self.m:
            raise InputError("columns.number", shape=X.shape, m=self.m, names=self.names).says(
                "X has shape ({shape:s})", "Give the {m:column} {names} of the network."
            )
        # Imported here, because it loads scikit-learn, which a network does without.
        from sgbn.core.validation import check_finite

        check_finite(X, self.names)
        return X

    def check_noise(self) -> None:
        """Raise InputError if a variable has no noise. The network then has no density."""
        fixed = np.flatnonzero(self.noise_variance == 0)
        if fixed.size:
            raise InputError("network.no-noise", variable=self.names[fixed[0]]).says(
                "{variable} has no noise, as after do()", "Use the network as it was learned."
            )

    def _indices_and_values(self, values: Mapping[str, float]) -> tuple[Indices, Array]:
        values = dict(values)  # iterating over a pandas Series would give values, not names
        unknown = [name for name in values if name not in self.names]
        if unknown:
            raise InputError("names.unknown", name=unknown[0], names=self.names).says(
                "no variable is called {name}", "Choose from {names}."
            )
        indices = np.array([self.names.index(name) for name in values], dtype=np.intp)
        return indices, _frozen(list(values.values()), "values")


class HasNetwork(Protocol):
    """A fitted learner of one network."""

    @property
    def network_(self) -> GaussianNetwork:
        """The network that was learned."""


NetworkLike = GaussianNetwork | HasNetwork


def _frozen(values: Matrix, label: str) -> Array:
    """Return a read-only float copy of finite values."""
    array = np.array(values, dtype=float)  # a copy: the caller's own array stays writable
    if not np.all(np.isfinite(array)):
        raise InputError("values.finite", argument=label).says(
            "{argument} contains NaN or infinity", "Give finite numbers."
        )
    array.setflags(write=False)
    return array


def html_repr(
    title: str,
    lines: Iterable[str] = (),
    header: Sequence[str] = (),
    rows: Iterable[Sequence[object]] = (),
) -> str:
    """Return a title, a table and lines of text as HTML. Floats have three significant digits.

    Parameters
    ----------
    title : str
        First line, in bold.
    lines : iterable of str
        Paragraphs below the table.
    header : sequence of str
        Names of the columns. If it is empty, the table is left out.
    rows : iterable of sequences
        Cells of the table, row by row.
    """
    parts = [f"<p><b>{escape(title)}</b></p>"]
    if header:
        body = "".join(_row("td", row) for row in rows)
        parts.append(f"<table><thead>{_row('th', header)}</thead><tbody>{body}</tbody></table>")
    parts += [f"<p>{escape(line)}</p>" for line in lines]
    return f"<div>{''.join(parts)}</div>"


def _row(tag: str, cells: Iterable[object]) -> str:
    # Names of groups and regions come from the user. Unescaped, a notebook would run their HTML.
    return f"<tr>{''.join(f'<{tag}>{escape(_text(cell))}</{tag}>' for cell in cells)}</tr>"


def _text(cell: object) -> str:
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)
