r"""Fisher vectors: how each row would change the parameters of each class's network.

.. math:: g_{ij}(x) = \partial L(x) / \partial \Theta_{ij} = x_i r_j / \sigma_j^2, \qquad
          g_{0j}(x) = r_j / \sigma_j^2

with residuals :math:`r_j`, of one network a class, side by side (Section 3.1.1 of the paper). Edge
weights and biases are stored as (m + 1, m): one column a child, the bias in the last row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from sgbn.exceptions import InputError, shown
from sgbn.gaussian import GaussianNetwork
from sgbn.parameters import ANYTHING, ESTIMATOR, NONE, OneOf, Parameters, check_parameters
from sgbn.structure import SGBN
from sgbn.structure.base import NetworkLearner
from sgbn.types import Array, Indices, Mask
from sgbn.validation import check_data, column_names, read_labels

BIAS = "bias"  # what the names of components call the parent of all variables
VARIANCES = OneOf("class", "unit", "pooled")


@runtime_checkable
class HasScore(Protocol):
    """Any density that knows the gradient of its log-likelihood in its parameters."""

    score_names: Sequence[str]  # of the p parameters

    def scores(self, X: Array) -> Array:
        """Gradient for every row of X, shape (n_samples, p)."""


Density = GaussianNetwork | HasScore
Networks = Density | Sequence[Density] | Mapping[Any, Density]


class NetworkScore:
    """Gradient of a network's log-likelihood in its edge weights and biases, row by row.

    Works on plain arrays with the columns in the order of the network's variables. `edges` and
    `scaling` are those of `FisherVectors`.

    Attributes
    ----------
    taken : ndarray of shape (m + 1, m), bool
        Components that count: ``taken[i, j]`` for i -> j, and ``taken[m, j]`` for the bias.
    scale : ndarray of shape (m + 1, m)
        What they are multiplied by.
    """

    def __init__(
        self, network: GaussianNetwork, edges: str = "all", scaling: str | None = None
    ) -> None:
        if not network.noise_variance.all():
            raise InputError(
                f"{network.names[network.noise_variance.argmin()]!r} has no noise, so that the "
                "network has no density. Leave it out, or set variances='unit'."
            )
        self.network, self.edges, self.scaling = network, edges, scaling
        self.taken = parameters_of(network, edges)
        information = 1.0 if scaling is None else fisher_information(network)
        self.scale = np.broadcast_to(1 / np.sqrt(information), self.taken.shape)

    def names(self, variables: Sequence[str] | None = None) -> list[str]:
        """Names of the components, edges before biases; `variables` renames the network's."""
        variables = self.network.names if variables is None else variables
        parents = [*variables, bias_name(variables)]
        return [f"{parents[i]} -> {variables[j]}" for i, j in np.argwhere(self.taken)]

    def scores(self, X: ArrayLike) -> Array:
        r"""Gradient for every row: :math:`x_i r_j / \sigma_j^2`, :math:`r_j / \sigma_j^2`.

        Paper: Eq. 3.2, with the sign put right.
        """
        return self._components(*self._rows(X), np.argwhere(self.taken))

    def kernel(self, X: ArrayLike, Z: ArrayLike | None = None) -> Array:
        r"""Inner products of the gradients at the rows of X and of Z, without the gradients.

        For all edges, unscaled, :math:`(\tilde R \tilde R^T) \circ (X X^T + 1) - Q Q^T` with
        :math:`\tilde R = R / \sigma^2` and :math:`Q = \tilde R \circ X`; else a sum over a few
        components at a time. Memory is that of the kernel and of the rows.

        Paper: Section 3.1.1, the Fisher kernel with U the identity, or (scaled) its diagonal.
        """
        X, R = self._rows(X)
        Z, S = (X, R) if Z is None else self._rows(Z)
        if self.edges == "all" and self.scaling is None:
            Q = R * X
            P = Q if Z is X else S * Z
            return np.subtract((R @ S.T) * (X @ Z.T + 1), Q @ P.T)
        K: Array = np.zeros((len(X), len(Z)))
        places = np.argwhere(self.taken)
        for start in range(0, len(places), len(self.taken)):
            chunk = places[start : start + len(self.taken)]
            G = self._components(X, R, chunk)
            K += G @ (G if Z is X else self._components(Z, S, chunk)).T
        return K

    def _components(self, X: Array, R: Array, places: Indices) -> Array:
        parents, children = places.T
        components: Array = np.column_stack([X, np.ones(len(X))])[:, parents]
        components *= R[:, children] * self.scale[parents, children]
        return components

    def _rows(self, X: ArrayLike) -> tuple[Array, Array]:
        """Rows, and their residuals divided by the noise variance."""
        X = np.asarray(X, dtype=float)
        return X, self.network.residuals(X) / self.network.noise_variance


class FisherVectors(TransformerMixin, BaseEstimator):
    r"""Rows as gradients of the log-likelihood of one network a class.

    Component "MCI: insula_L -> hippocampus_L" of a row says how the network of class MCI would
    change the weight of that edge, present or not, to fit the row better. The gradients in the
    biases, "MCI: bias -> hippocampus_L", are there too: at two classes and m variables
    :math:`2 m^2` components. They are meant for a linear classifier; `kernel` gives their inner
    products without the vectors.

    Parameters
    ----------
    learner : estimator, optional
        Learns the network of a class from its rows; `SGBN` by default. Any estimator that has
        `network_` after `fit`, or is then a density with a score function (`HasScore`): methods
        ``scores(X)`` and names ``score_names``.
    edges : {"all", "present"}, default="all"
        Gradients in all possible edges i -> j, or in those of the network.
    scaling : {None, "information"}, default=None
        "information" divides each component by the square root of its Fisher information, the
        expectation of its square under the network of the class; see `fisher_information`.
    variances : {"class", "unit", "pooled"}, default="class"
        Noise variances: of each class; 1 in the units of X, one way to predefine them as in the
        paper; or the means over the classes, weighted by their sizes if networks are learned here.
        "unit" of `SGBNClassifier`, which standardises, is the variance of each region instead.
    networks : mapping of class to network, sequence of networks, or network, optional
        Take these instead of learning: `GaussianNetwork` or densities with a score function.
        Variables are found by name if X is a table, else by position. `fit` then ignores y.

    Attributes
    ----------
    networks_ : dict of class to network
        In sorted order of the classes. Without y, one network of all rows, under None.
    n_features_in_, feature_names_in_
        As in all of scikit-learn.

    Notes
    -----
    Standardise by all training rows, never by class: that would erase the difference in means.

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.discriminative import FisherVectors
    >>> X = np.random.default_rng(0).standard_normal((60, 2))
    >>> y = np.repeat(["MCI", "NC"], 30)
    >>> X[:30, 1] += X[:30, 0]
    >>> vectors = FisherVectors().fit(X, y)
    >>> vectors.transform(X).shape
    (60, 8)
    >>> vectors.get_feature_names_out()[:4].tolist()
    ['MCI: x0 -> x1', 'MCI: x1 -> x0', 'MCI: bias -> x0', 'MCI: bias -> x1']
    """

    _parameters: ClassVar[Parameters] = {
        "learner": NONE | ESTIMATOR,
        "edges": OneOf("all", "present"),
        "scaling": NONE | OneOf("information"),
        "variances": VARIANCES,
        "networks": ANYTHING,
    }

    def __init__(
        self,
        learner: NetworkLearner | HasScore | None = None,
        *,
        edges: str = "all",
        scaling: str | None = None,
        variances: str = "class",
        networks: Networks | None = None,
    ) -> None:
        self.learner = learner
        self.edges = edges
        self.scaling = scaling
        self.variances = variances
        self.networks = networks

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn one network a class, or check those given.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            One row per subject, one column per region.
        y : array-like of shape (n_samples,), optional
            Classes. Without it, one network is learned from all rows.
        """
        values = check_data(self, X)
        check_parameters(self)
        table = X if hasattr(X, "columns") else values
        if self.networks is None:
            labels = np.full(len(values), None) if y is None else read_labels(y, len(values))
            self.networks_, sizes = self._learn(table, labels)
        else:
            names = column_names(self, X) if hasattr(X, "columns") else None
            self.networks_ = aligned(self.networks, values.shape[1], names)
            sizes = np.ones(len(self.networks_))
        self._scores = self._score_functions(sizes)
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Fisher vector of every row, in the order of `get_feature_names_out`."""
        check_is_fitted(self)
        values = check_data(self, X, reset=False)
        return np.column_stack([score.scores(values) for score in self._scores.values()])

    def kernel(self, X: ArrayLike, Z: ArrayLike | None = None) -> Array:
        """Inner products of the Fisher vectors of X and Z (or X), without the vectors.

        Of densities other than networks, the vectors are computed.
        """
        check_is_fitted(self)
        values = check_data(self, X, reset=False)
        others = None if Z is None else check_data(self, Z, reset=False)
        parts = [_kernel(score, values, others) for score in self._scores.values()]
        return np.add.reduce(parts)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Names such as "MCI: insula_L -> hippocampus_L" and "MCI: bias -> insula_L"."""
        check_is_fitted(self)
        variables = _check_feature_names_in(self, input_features, generate_names=False)
        names: list[str] = []
        for label, score in self._scores.items():
            own = score.names(variables) if isinstance(score, NetworkScore) else score.score_names
            names += own if label is None else [f"{label}: {name}" for name in own]
        return np.array(names, dtype=object)

    def _check_together(self) -> None:
        if self.networks is not None and self.learner is not None:
            raise InputError("both learner and networks are given: give one of them.")

    def _learn(self, table: Any, labels: NDArray[Any]) -> tuple[dict[Any, Any], Array]:
        """Density of each class and number of its rows."""
        learner = SGBN(outliers="keep") if self.learner is None else self.learner
        found, sizes = {}, []
        for label in [None] if labels[0] is None else np.unique(labels).tolist():
            rows = np.flatnonzero(labels == label)
            found[label] = _learned(clone(learner), _safe_indexing(table, rows), label)
            sizes.append(len(rows))
        return found, np.array(sizes, dtype=float)

    def _score_functions(self, sizes: Array) -> dict[Any, Any]:
        networks = {c: d for c, d in self.networks_.items() if isinstance(d, GaussianNetwork)}
        other = {c: _checked(d) for c, d in self.networks_.items() if c not in networks}
        if other and (self.edges, self.scaling, self.variances) != ("all", None, "class"):
            raise InputError(
                f"{type(next(iter(other.values()))).__name__} is no GaussianNetwork: leave edges, "
                "scaling and variances at their defaults, and scale by a StandardScaler."
            )
        networks = with_variances(networks, self.variances, sizes)
        scores = {c: NetworkScore(d, self.edges, self.scaling) for c, d in networks.items()}
        return {c: scores.get(c, other.get(c)) for c in self.networks_}


def bias_name(variables: Sequence[str]) -> str:
    """Name the bias where a variable may be called so, too."""
    name = BIAS
    while name in variables:
        name = f"({name})"
    return name


def fisher_kernel(
    X: ArrayLike,
    Z: ArrayLike | None = None,
    *,
    networks: Networks,
    edges: str = "all",
    scaling: str | None = None,
    variances: str = "class",
) -> Array:
    """Inner products of Fisher vectors under given networks, without the vectors.

    X has two rows or more, Z is X by default; all else is as in `FisherVectors`.
    """
    vectors = FisherVectors(networks=networks, edges=edges, scaling=scaling, variances=variances)
    return vectors.fit(X).kernel(X, Z)


def fisher_information(network: GaussianNetwork) -> Array:
    r"""Compute the expectation of each squared gradient component under the network itself.

    .. math:: E[x_i^2 r_j^2] / \sigma_j^4 =
              (E[x_i]^2 + Var(x_i)) / \sigma_j^2 + 2\, Cov(x_i, r_j)^2 / \sigma_j^4

    by Isserlis' theorem, and :math:`1 / \sigma_j^2` for the biases. The last term is zero unless i
    descends from j, in which case the edge would close a cycle. This is the diagonal of the Fisher
    information; the rest is not used. Shape (m + 1, m); entries i = j belong to no edge.

    Paper: Section 3.1.1, the diagonal of the metric U.
    """
    C, variance = network.covariance, network.noise_variance
    across = C - C @ network.coef  # of variables and residuals
    squares = network.mean**2 + np.diag(C)
    edges = squares[:, None] / variance + 2 * (across / variance) ** 2
    return np.vstack([edges, 1 / variance])


def parameters_of(network: GaussianNetwork, edges: str = "all") -> Mask:
    """Which (parent, child) are parameters, shape (m + 1, m): biases, and all or present edges."""
    m = network.m
    possible = network.coef != 0 if edges == "present" else ~np.eye(m, dtype=bool)
    return np.vstack([possible, np.ones(m, dtype=bool)])


def with_variances(
    networks: Mapping[Any, GaussianNetwork], variances: str, sizes: Array
) -> dict[Any, GaussianNetwork]:
    """Networks with their own noise variances, with 1, or with the mean weighted by `sizes`."""
    if variances == "class":
        return dict(networks)
    own = np.array([network.noise_variance for network in networks.values()])
    common = np.ones(own.shape[1]) if variances == "unit" else np.average(own, 0, sizes)
    return {
        label: GaussianNetwork(network.coef, network.intercept, common, network.names)
        for label, network in networks.items()
    }


def labelled(networks: Networks) -> dict[Any, Any]:
    """Networks by label: a sequence is labelled 0, 1, ..., a single one None."""
    if isinstance(networks, (GaussianNetwork, HasScore)):
        return {None: networks}
    if isinstance(networks, str) or not isinstance(networks, Iterable):
        raise InputError(
            f"networks is {networks!r:.100}: give one network per class, as a mapping of class to "
            "network, or leave it out, and they are learned."
        )
    found = dict(networks if isinstance(networks, Mapping) else enumerate(networks))
    if not found:
        raise InputError("networks is empty: give one network a class.")
    return found


def aligned(networks: Networks, m: int, names: Sequence[str] | None = None) -> dict[Any, Any]:
    """Networks by label, variables in the order of m columns: by name, or as they are."""
    return {c: _in_order(network, c, m, names) for c, network in labelled(networks).items()}


def _in_order(network: Any, label: Any, m: int, names: Sequence[str] | None) -> Any:
    if not isinstance(network, GaussianNetwork):
        return network
    if network.m != m:
        raise InputError(
            f"the network of class {shown(label)} has {network.m} variables, and X has {m} "
            "columns. Give the columns that it was learned from."
        )
    if names is None or list(names) == list(network.names):
        return network
    missing = [name for name in network.names if name not in names]
    if missing:
        raise InputError(
            f"X has no column {missing[0]!r}, a variable of the network of class {shown(label)} "
            f"({len(missing)} missing). Rename the columns, or pass plain arrays in the order of "
            "the network's variables."
        )
    p = [network.names.index(name) for name in names]
    coef = network.coef[np.ix_(p, p)]
    return GaussianNetwork(coef, network.intercept[p], network.noise_variance[p], names)


def _learned(learner: Any, rows: Any, label: Any) -> Any:
    """Density that the learner finds in the rows of a class."""
    try:
        learner.fit(rows)
    except ValueError as error:
        where = "" if label is None else f"class {shown(label)} ({len(rows)} rows): "
        raise InputError(f"{where}{error}") from error
    return getattr(learner, "network_", learner)


def _checked(density: Any) -> HasScore:
    if not isinstance(density, HasScore):
        raise InputError(
            f"{type(density).__name__} has no score function. Give a learner of sgbn, a "
            "GaussianNetwork, or a density with scores(X) and score_names."
        )
    return density


def _kernel(score: Any, X: Array, Z: Array | None) -> Array:
    if isinstance(score, NetworkScore):
        return score.kernel(X, Z)
    G = score.scores(X)
    return np.matmul(G, (G if Z is None else score.scores(Z)).T)
