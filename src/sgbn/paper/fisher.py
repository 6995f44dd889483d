r"""Fisher vectors, which show how each row would change the parameters of each class's network.

A Fisher vector holds the gradients of `sgbn.paper.fisher` for the networks of all
classes, side by side (Section 3.1.1 of the paper).

The gradient of the log-likelihood of a network in its edge weights and biases, row by row.

.. math:: g_{ij}(x) = \partial L(x) / \partial \Theta_{ij} = x_i r_j / \sigma_j^2, \qquad
          g_{0j}(x) = r_j / \sigma_j^2

Here :math:`r_j` is the residual of child j and :math:`\sigma_j^2` is its noise variance. Edge
weights and biases are stored in one array of shape (m + 1, m), with one column per child and the
biases in the last row.

The choice of the edges whose Fisher components correlate most with the class.

The Fisher component of the edge i -> j is proportional to :math:`x_i r_j`, with the residual
:math:`r_j`. With the centred columns :math:`u_i = x_i - \bar x_i` and
:math:`v_j = r_j - \bar r_j`, it is a constant plus
:math:`\bar x_i v_j + \bar r_j u_i + u_i v_j`. Its variance and its class means are sums of entries
of :math:`U^T V`, :math:`U^T V^2`, :math:`(U^2)^T V` and :math:`(U^2)^T V^2`. So the code never
makes a vector of :math:`m^2` components, and a large mean does not cost precision. A correlation
does not depend on the scale of a component. So noise variances and Fisher-information scaling do
not matter here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.problems import InputError
from sgbn.core.types import Array, Indices, Mask
from sgbn.core.validation import (
    ANYTHING,
    ESTIMATOR,
    NONE,
    OneOf,
    Whole,
    allowed,
    check_data,
    check_parameters,
    check_values,
    column_names,
    read_labels,
    two_classes,
)
from sgbn.learn.base import NetworkLearner, part_of
from sgbn.learn.classifier import VARIANCES, with_variances
from sgbn.learn.sgbn import SGBN

BIAS = "bias"  # the parent of a bias in the names of components


@runtime_checkable
class HasScore(Protocol):
    """Any density that can compute the gradient of its log-likelihood in its parameters."""

    score_names: Sequence[str]  # the names of the p parameters

    def scores(self, X: Array) -> Array:
        """Return the gradient for every row of X, shape (n_samples, p)."""


class NetworkScore:
    """The gradient of a network's log-likelihood in its edge weights and biases, row by row.

    It takes plain arrays with the columns in the order of the network's variables. `edges` and
    `scaling` are as in `FisherVectors`.

    Attributes
    ----------
    taken : ndarray of shape (m + 1, m), bool
        Which components to compute: ``taken[i, j]`` for i -> j, ``taken[m, j]`` for the bias of j.
    scale : ndarray of shape (m + 1, m)
        The factor of each component.
    """

    def __init__(
        self, network: GaussianNetwork, edges: str = "all", scaling: str | None = None
    ) -> None:
        if not network.noise_variance.all():
            name = network.names[network.noise_variance.argmin()]
            raise InputError("network.no-noise", name=name).says(
                "{name} has no noise, so the network has no density",
                "Leave it out, or set {variances='unit'}.",
            )
        self.network, self.edges, self.scaling = network, edges, scaling
        self.taken = parameters_of(network, edges)
        information = 1.0 if scaling is None else fisher_information(network)
        # Without scaling, the broadcast matrix of ones takes no memory.
        self.scale = np.broadcast_to(1 / np.sqrt(information), self.taken.shape)

    def names(self, variables: Sequence[str] | None = None) -> list[str]:
        """Return the names of the components, edges before biases.

        `variables` replaces the names of the network's variables.
        """
        variables = self.network.names if variables is None else variables
        parents = [*variables, bias_name(variables)]
        # np.argwhere reads row by row, and the last row has the biases.
        return [f"{parents[i]} -> {variables[j]}" for i, j in np.argwhere(self.taken)]

    def scores(self, X: ArrayLike) -> Array:
        r"""Return the gradient for every row.

        Its components are :math:`x_i r_j / \sigma_j^2` and :math:`r_j / \sigma_j^2`.

        Paper: Eq. 3.2, with the sign corrected.
        """
        return self._components(*self._rows(X), np.argwhere(self.taken))

    def kernel(self, X: ArrayLike, Z: ArrayLike | None = None) -> Array:
        r"""Return the inner products of the gradients at the rows of X and at the rows of Z.

        Without Z, X takes its place. With all edges and no scaling, the kernel is
        :math:`(\tilde R \tilde R^T) \circ (X X^T + 1) - Q Q^T`, with the residuals R,
        :math:`\tilde R = R / \sigma^2` and :math:`Q = \tilde R \circ X`. Otherwise it is summed
        over a few components at a time, so that only the kernel and the rows need memory.

        Paper: Section 3.1.1, the Fisher kernel with U the identity, or (scaled) its diagonal.
        """
        X, R = self._rows(X)
        Z, S = (X, R) if Z is None else self._rows(Z)
        if self.edges == "all" and self.scaling is None:
            # X X' + 1 also counts i = j as an edge. Q Q' subtracts these components again.
            Q = R * X
            P = Q if Z is X else S * Z
            return np.subtract((R @ S.T) * (X @ Z.T + 1), Q @ P.T)
        K: Array = np.zeros((len(X), len(Z)))
        places = np.argwhere(self.taken)
        # m + 1 components at a time need about as much memory as the rows.
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
        """Return the rows, and their residuals divided by the noise variance."""
        X = np.asarray(X, dtype=float)
        return X, self.network.residuals(X) / self.network.noise_variance


def bias_name(variables: Sequence[str]) -> str:
    """Return the name of the bias: "bias", or "(bias)" if a variable is called "bias"."""
    name = BIAS
    while name in variables:
        name = f"({name})"
    return name


def fisher_information(network: GaussianNetwork) -> Array:
    r"""Compute the expectation of each squared gradient component under the network itself.

    .. math:: E[x_i^2 r_j^2] / \sigma_j^4 =
              (E[x_i]^2 + Var(x_i)) / \sigma_j^2 + 2\, Cov(x_i, r_j)^2 / \sigma_j^4

    This follows from Isserlis' theorem. For the biases it is :math:`1 / \sigma_j^2`. The last term
    is zero unless i is a descendant of j, in which case the edge would close a cycle. The result is
    the diagonal of the Fisher information. The other entries are not used. The result has the shape
    (m + 1, m), with the biases in the last row. Entries i = j do not belong to any edge.

    Paper: Section 3.1.1, the diagonal of the metric U.
    """
    C, variance = network.covariance, network.noise_variance
    across = C - C @ network.coef  # the covariance of variable i with residual j
    squares = network.mean**2 + np.diag(C)
    edges = squares[:, None] / variance + 2 * (across / variance) ** 2
    return np.vstack([edges, 1 / variance])


def parameters_of(network: GaussianNetwork, edges: str = "all") -> Mask:
    """Mark the parameters of a network: the biases, and all possible or only the present edges.

    The shape is (m + 1, m), with the biases in the last row.
    """
    m = network.m
    possible = network.coef != 0 if edges == "present" else ~np.eye(m, dtype=bool)
    return np.vstack([possible, np.ones(m, dtype=bool)])


Density = GaussianNetwork | HasScore
Networks = Density | Sequence[Density] | Mapping[Any, Density]


@dataclass(eq=False, repr=False)
class FisherVectors(TransformerMixin, BaseEstimator):
    r"""A transformer of rows to gradients of the log-likelihood of one network per class.

    Component "MCI: insula_L -> hippocampus_L" of a row says how the network of class MCI would
    change the weight of that edge to fit the row better, whether the network has the edge or not.
    The gradients in the biases, such as "MCI: bias -> hippocampus_L", are included. Two classes and
    m variables give :math:`2 m^2` components. They are meant for a linear classifier. The method
    `kernel` computes their inner products without the vectors.

    Parameters
    ----------
    learner : estimator, optional
        The estimator that learns the network of a class from its rows. By default, it is `SGBN`.
        After `fit`, it must have `network_`, or be a density with a score function (`HasScore`),
        which has a method ``scores(X)`` and an attribute ``score_names``.
    edges : {"all", "present"}, default="all"
        Which gradients to take: in all possible edges i -> j, or only in the network's edges.
    scaling : {None, "information"}, default=None
        "information" divides each component by the square root of its Fisher information, which is
        the expectation of its square under the network of the class. See `fisher_information`.
    variances : {"class", "unit", "pooled"}, default="class"
        Which noise variances to use. "class" uses the variances of each class. "unit" uses 1
        in the units of X. The paper predefines the variances, and this is one way to do so.
        "pooled" is the mean over the classes, weighted by their sizes if the networks are learned
        here. In `SGBNClassifier`, which standardises, "unit" is the variance of each region
        instead.
    networks : mapping of class to network, sequence of networks, or network, optional
        The networks to use instead of learning them. Each is a `GaussianNetwork` or a density with
        a score function. Variables are found by name if X is a table, otherwise by position. `fit`
        then ignores y.

    Attributes
    ----------
    networks_ : dict of class to network
        The networks, in sorted order of the classes. Without y, there is one network of all rows,
        and its key is None.
    n_features_in_, feature_names_in_
        The number and the names of the columns, as in scikit-learn.

    Notes
    -----
    Standardise by all training rows together. Standardising each class by itself would erase the
    difference in means.

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.paper.fisher import FisherVectors
    >>> X = np.random.default_rng(0).standard_normal((60, 2))
    >>> y = np.repeat(["MCI", "NC"], 30)
    >>> X[:30, 1] += X[:30, 0]
    >>> vectors = FisherVectors().fit(X, y)
    >>> vectors.transform(X).shape
    (60, 8)
    >>> vectors.get_feature_names_out()[:4].tolist()
    ['MCI: x0 -> x1', 'MCI: x1 -> x0', 'MCI: bias -> x0', 'MCI: bias -> x1']
    """

    learner: NetworkLearner | HasScore | None = allowed(None, NONE | ESTIMATOR)
    _: KW_ONLY
    edges: str = allowed("all", OneOf("all", "present"))
    scaling: str | None = allowed(None, NONE | OneOf("information"))
    variances: str = allowed("class", VARIANCES)
    networks: Networks | None = allowed(None, ANYTHING)

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn one network per class, or check the given networks.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            One row per subject, one column per region.
        y : array-like of shape (n_samples,), optional
            The class of each row. Without y, one network is learned from all rows.
        """
        values = check_data(self, X)
        check_parameters(self)
        table = X if hasattr(X, "columns") else values  # learners take names from a table
        if self.networks is None:
            labels = np.full(len(values), None) if y is None else read_labels(y, len(values))
            self.networks_, sizes = self._learn(table, labels)
        else:
            names = column_names(self, X) if hasattr(X, "columns") else None
            self.networks_ = aligned(self.networks, values.shape[1], names)
            sizes = np.ones(len(self.networks_))  # the sizes are unknown, so all count the same
        self._scores = self._score_functions(sizes)
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Return the Fisher vector of every row, in the order of `get_feature_names_out`."""
        check_is_fitted(self)
        values = check_data(self, X, reset=False)
        return np.column_stack([score.scores(values) for score in self._scores.values()])

    def kernel(self, X: ArrayLike, Z: ArrayLike | None = None) -> Array:
        """Return the inner products of the Fisher vectors of X and of Z.

        Without Z, X takes its place. Networks need no vectors for this. For other densities, the
        vectors are computed.
        """
        check_is_fitted(self)
        values = check_data(self, X, reset=False)
        other_values = None if Z is None else check_data(self, Z, reset=False)
        parts = [_kernel(score, values, other_values) for score in self._scores.values()]
        # A Fisher vector joins the vectors of all networks, so the inner products add up.
        return np.add.reduce(parts)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return names such as "MCI: insula_L -> hippocampus_L" and "MCI: bias -> insula_L"."""
        check_is_fitted(self)
        # `variables` is None for plain arrays. The names of the networks are then used.
        variables = _check_feature_names_in(self, input_features, generate_names=False)
        names: list[str] = []
        for label, score in self._scores.items():
            parts = score.names(variables) if isinstance(score, NetworkScore) else score.score_names
            names += parts if label is None else [f"{label}: {name}" for name in parts]
        return np.array(names, dtype=object)

    def _check_together(self) -> None:
        if self.networks is not None and self.learner is not None:
            raise InputError("fisher.both").says(
                "{learner=} and {networks=} are both given", "Give only one of them."
            )

    def _learn(self, table: Any, labels: NDArray[Any]) -> tuple[dict[Any, Any], Array]:
        """Learn the density of each class. Return the densities and the number of their rows."""
        learner = SGBN(outliers="keep") if self.learner is None else self.learner
        densities, sizes = {}, []
        for label in [None] if labels[0] is None else np.unique(labels).tolist():
            rows = np.flatnonzero(labels == label)
            # The learner gets a table if X is one, so that its messages name the columns.
            densities[label] = _learned(clone(learner), _safe_indexing(table, rows), label)
            sizes.append(len(rows))
        return densities, np.array(sizes, dtype=float)

    def _score_functions(self, sizes: Array) -> dict[Any, Any]:
        # Networks use `NetworkScore`, which has options. Other densities have their own scores.
        networks = {c: d for c, d in self.networks_.items() if isinstance(d, GaussianNetwork)}
        other = {c: d for c, d in self.networks_.items() if c not in networks}
        for density in other.values():
            if not isinstance(density, HasScore):
                raise InputError("density.no-score", kind=type(density).__name__).says(
                    "{kind:s} has no score function",
                    "Give a learner, a network, or a density with scores(X) and score_names.",
                )
        if other and (self.edges, self.scaling, self.variances) != ("all", None, "class"):
            raise InputError("density.no-options").says(
                "{edges=}, {scaling=} and {variances=} are for networks only",
                "Leave them out, or give a GaussianNetwork per class.",
            )
        networks = with_variances(networks, self.variances, sizes)
        scores = {c: NetworkScore(d, self.edges, self.scaling) for c, d in networks.items()}
        return {c: scores.get(c, other.get(c)) for c in self.networks_}


def labelled(networks: Networks) -> dict[Any, Any]:
    """Return networks by label. A sequence gets the labels 0, 1, ..., and one network gets None."""
    if isinstance(networks, (GaussianNetwork, HasScore)):
        return {None: networks}
    if isinstance(networks, str) or not isinstance(networks, Iterable):
        networks = ()
    by_label = dict(networks if isinstance(networks, Mapping) else enumerate(networks))
    if not by_label:
        raise InputError("networks.none").says(
            "{networks=} holds no networks", "Give a mapping of class to network."
        )
    return by_label


def aligned(networks: Networks, m: int, names: Sequence[str] | None = None) -> dict[Any, Any]:
    """Return networks by label, with their m variables in the order of `names`, if given."""
    return {c: _in_order(network, c, m, names) for c, network in labelled(networks).items()}


def _in_order(network: Any, label: Any, m: int, names: Sequence[str] | None) -> Any:
    if not isinstance(network, GaussianNetwork):
        return network  # another density does not name its variables
    if network.m != m:
        raise InputError("network.columns", label=label, n=network.m, m=m).says(
            "the network of class {label} has {n:variable}, and X has {m:column}",
            "Give the columns from which the network was learned.",
        )
    if names is None or list(names) == list(network.names):
        return network
    missing = [name for name in network.names if name not in names]
    if missing:
        raise InputError("network.names", label=label, missing=missing).says(
            "X lacks variables of the network of class {label}: {missing}",
            "Rename the columns, or give an array in the order of the network's variables.",
        )
    p = [network.names.index(name) for name in names]
    coef = network.coef[np.ix_(p, p)]
    return GaussianNetwork(coef, network.intercept[p], network.noise_variance[p], names)


def _learned(learner: Any, rows: Any, label: Any) -> Any:
    """Fit the learner to the rows of a class. Return its network, or the learner if it has none."""
    try:
        learner.fit(rows)
    except ValueError as error:
        raise InputError(part_of(label, "class", error)) from error
    return getattr(learner, "network_", learner)


def _kernel(score: Any, X: Array, Z: Array | None) -> Array:
    if isinstance(score, NetworkScore):
        return score.kernel(X, Z)
    # Only networks have a closed form of the kernel.
    G = score.scores(X)
    return np.matmul(G, (G if Z is None else score.scores(Z)).T)


ROUND_OFF = 1e-13  # a variance below this share of the terms it adds up is only round-off
TIE_DIGITS = 10  # decimal places; scores that agree in them are a tie, the rest is round-off


def edge_scores(X: Any, y: Any, networks: Any, signed: bool = False) -> Array:
    r"""Return how strongly each possible edge and bias of each network relates to the label.

    The score is the correlation ratio :math:`\sqrt{SS_{between} / SS_{total}}` of the Fisher
    component. With two classes, it is the absolute Pearson correlation with the label. An analysis
    of variance of each component would rank the components in the same way.

    Use training rows only. Scores that use test rows make the accuracy look better than it is.

    Parameters
    ----------
    X : array-like of shape (n_samples, m)
        The training rows. Columns of a table are found by name.
    y : array-like of shape (n_samples,)
        The class of each row. There must be at least two classes.
    networks : mapping of class to GaussianNetwork, sequence of networks, or one network
        The networks. There may be more or fewer networks than classes.
    signed : bool
        Whether to return the Pearson correlation itself, which needs two classes. It is positive
        if the component is larger in the class that sorts last.

    Returns
    -------
    ndarray of shape (n_networks, m + 1, m)
        ``[c, i, j]`` is the score of i -> j in the c-th network, and ``[c, m, j]`` is the score of
        the bias of j. Scores are zero for i = j and for components that do not vary.

    Paper: Section 3.3, Edge Selection.
    """
    values, names = check_values(X)
    classes, codes = two_classes(y, len(values))
    if signed and len(classes) > 2:
        raise InputError("signed.classes", n=len(classes)).says(
            "{signed=True} needs two classes, but y has {n}", "Compare the classes in pairs."
        )
    given = aligned(networks, values.shape[1], names if hasattr(X, "columns") else None)
    for density in given.values():
        if not isinstance(density, GaussianNetwork):
            raise InputError("density.no-network", kind=type(density).__name__).says(
                "{kind:s} is not a GaussianNetwork",
                "Use scikit-learn's f_classif on the components of FisherVectors.",
            )
    return component_scores(given.values(), values, codes, signed)


def select_edges(scores: ArrayLike, k: int, present: ArrayLike | None = None) -> Indices:
    """Return the k components with the largest absolute scores.

    Parameters
    ----------
    scores : array-like of shape (n_networks, m + 1, m)
        The result of `edge_scores`, computed on training rows only.
    k : int
        The number of components. If there are fewer candidates, all of them are returned.
    present : array-like of bool of shape (n_networks, m + 1, m), optional
        The candidates, such as the result of `present_edges`. By default, all components.

    Returns
    -------
    ndarray of shape (k, 3)
        The network, parent and child of each component, the best component first. Parent m is the
        bias. Ties are sorted by network, then by parent, then by child.
    """
    scores = np.asarray(scores, dtype=float)
    if scores.ndim != 3 or scores.shape[1] != scores.shape[2] + 1:
        raise InputError("scores.shape", shape=scores.shape).says(
            "scores has shape ({shape}), not (n_networks, m + 1, m)", "Give those of edge_scores."
        )
    if not np.isfinite(scores).all():
        raise InputError("scores.nan").says(
            "scores contains NaN or infinity", "Give those of edge_scores."
        )
    regions = np.arange(scores.shape[2])
    candidates = np.ones(scores.shape, dtype=bool)
    candidates[:, regions, regions] = False  # no region is its own parent
    if present is not None:
        chosen = np.asarray(present, dtype=bool)
        if chosen.shape != scores.shape:
            raise InputError("present.shape", shape=chosen.shape, wanted=scores.shape).says(
                "present has shape ({shape}), but scores ({wanted})",
                "Give both for the same networks.",
            )
        candidates &= chosen
    Whole(1).check("k", k)
    places = np.argwhere(candidates)
    # Rounding makes the choice independent of the order in which sums were added up.
    absolute = np.round(np.abs(scores[candidates]), TIE_DIGITS)
    return places[np.argsort(-absolute, kind="stable")[:k]]


def present_edges(networks: Any) -> Mask:
    """Mark the edges and biases of the networks, as candidates for `select_edges`.

    A move of only these parameters does not change any graph.

    Returns
    -------
    ndarray of bool of shape (n_networks, m + 1, m)
    """
    return np.array([parameters_of(each, "present") for each in labelled(networks).values()])


def component_scores(
    networks: Iterable[GaussianNetwork], X: Array, codes: Indices, signed: bool = False
) -> Array:
    """Compute `edge_scores` for rows that were checked before, with classes numbered from 0."""
    Xb = np.column_stack([X, np.ones(len(X))])
    count = int(codes.max()) + 1
    residuals = (network.residuals(X) for network in networks)
    return np.array([_correlation_ratios(Xb, R, codes, count, signed) for R in residuals])


def _correlation_ratios(Xb: Array, R: Array, codes: Indices, n_classes: int, signed: bool) -> Array:
    """Return the scores of one network's components; the last column of `Xb` is the constant 1."""
    n = len(Xb)
    x, r = Xb.sum(axis=0) / n, R.sum(axis=0) / n
    # The top of this file explains the products of centred columns below.
    U, V = Xb - x, R - r
    between, above = np.zeros((x.size, r.size)), np.zeros((x.size, r.size))
    total = np.dot(U.T, V) / n
    for c in range(n_classes):
        in_class = codes == c
        Uc, Vc = U[in_class], V[in_class]
        size = len(Uc)
        u, v = Uc.sum(axis=0) / size, Vc.sum(axis=0) / size
        # The mean of x_i r_j in the class minus its mean over all rows.
        above = x.reshape(-1, 1) * v + u.reshape(-1, 1) * r + np.dot(Uc.T, Vc) / size - total
        between += size / n * above**2
    variance = _variances(x.reshape(-1, 1), r, U, V, total)
    ratio = np.divide(between, variance, out=np.zeros_like(between), where=variance > 0.0)
    np.fill_diagonal(ratio, 0.0)  # no region is its own parent; biases are below the diagonal
    # By round-off, the ratio of two equal sums may exceed 1.
    unsigned: Array = np.sqrt(np.minimum(ratio, 1.0))
    # `above` holds the last class here, so a positive sign means larger in the second of two.
    return unsigned * np.sign(above) if signed else unsigned


def _variances(x: Array, r: Array, U: Array, V: Array, UV: Array) -> Array:
    """Return the variances of all products x_i r_j. A variance of only round-off becomes zero."""
    n = len(U)
    UU, VV = U**2, V**2
    UVV, UUV, UUVV = np.dot(U.T, VV) / n, np.dot(UU.T, V) / n, np.dot(UU.T, VV) / n
    spread = (UU.sum(axis=0) / n).reshape(-1, 1)
    squares = x**2 * (VV.sum(axis=0) / n) + r**2 * spread + UUVV
    variance = squares - UV**2 + 2 * (x * r * UV + x * UVV + r * UUV)
    # A constant column is not exactly zero after centring, because its mean is rounded.
    least = ROUND_OFF * squares + (ROUND_OFF * x * r) ** 2
    return np.where(variance > least, variance, 0.0)
