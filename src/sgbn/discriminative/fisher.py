"""Fisher vectors, which show how each row would change the parameters of each class's network.

A Fisher vector holds the gradients of `sgbn.discriminative.network_score` for the networks of all
classes, side by side (Section 3.1.1 of the paper).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from sgbn.core.exceptions import InputError, shown
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.types import Array, Indices
from sgbn.core.validation import (
    ANYTHING,
    ESTIMATOR,
    NONE,
    OneOf,
    Parameters,
    check_data,
    check_parameters,
    column_names,
    read_labels,
)
from sgbn.discriminative.network_score import HasScore, NetworkScore
from sgbn.learn.base import NetworkLearner
from sgbn.learn.classifier import VARIANCES, with_variances
from sgbn.learn.sgbn import SGBN

Density = GaussianNetwork | HasScore
Networks = Density | Sequence[Density] | Mapping[Any, Density]


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
            raise InputError("both learner and networks are given: give only one of them.")

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
        other = {c: _checked(d) for c, d in self.networks_.items() if c not in networks}
        if other and (self.edges, self.scaling, self.variances) != ("all", None, "class"):
            raise InputError(
                f"{type(next(iter(other.values()))).__name__} is not a GaussianNetwork: leave "
                "edges, scaling and variances at their defaults. A StandardScaler can scale the "
                "components."
            )
        networks = with_variances(networks, self.variances, sizes)
        scores = {c: NetworkScore(d, self.edges, self.scaling) for c, d in networks.items()}
        return {c: scores.get(c, other.get(c)) for c in self.networks_}


def two_classes(y: ArrayLike, n: int, who_needs: str) -> tuple[NDArray[Any], Indices]:
    """Return the classes of n rows and the class number of each row.

    Raise InputError if there is only one class. The message has `who_needs`, such as "a kernel
    needs", before "at least two classes".
    """
    classes, codes = np.unique(read_labels(y, n), return_inverse=True)
    if len(classes) < 2:
        raise InputError(
            f"y has only one class, {shown(classes[0])}: {who_needs} at least two classes. Add "
            "rows of another class."
        )
    return classes, codes


def labelled(networks: Networks) -> dict[Any, Any]:
    """Return networks by label. A sequence gets the labels 0, 1, ..., and one network gets None."""
    if isinstance(networks, (GaussianNetwork, HasScore)):
        return {None: networks}
    if isinstance(networks, str) or not isinstance(networks, Iterable):
        raise InputError(
            f"networks is {networks!r:.100}: give one network per class, as a mapping of class to "
            "network. Without networks, they are learned."
        )
    by_label = dict(networks if isinstance(networks, Mapping) else enumerate(networks))
    if not by_label:
        raise InputError("networks is empty: give one network per class.")
    return by_label


def aligned(networks: Networks, m: int, names: Sequence[str] | None = None) -> dict[Any, Any]:
    """Return networks by label, with their m variables in the order of `names`, if given."""
    return {c: _in_order(network, c, m, names) for c, network in labelled(networks).items()}


def _in_order(network: Any, label: Any, m: int, names: Sequence[str] | None) -> Any:
    if not isinstance(network, GaussianNetwork):
        return network  # another density does not name its variables
    if network.m != m:
        raise InputError(
            f"the network of class {shown(label)} has {network.m} variables, and X has {m} "
            "columns. Give the columns from which the network was learned."
        )
    if names is None or list(names) == list(network.names):
        return network
    missing = [name for name in network.names if name not in names]
    if missing:
        raise InputError(
            f"X has no column {missing[0]!r}, which is a variable of the network of class "
            f"{shown(label)} ({len(missing)} missing). Rename the columns, or give a plain array "
            "with the columns in the order of the network's variables."
        )
    p = [network.names.index(name) for name in names]
    coef = network.coef[np.ix_(p, p)]
    return GaussianNetwork(coef, network.intercept[p], network.noise_variance[p], names)


def _learned(learner: Any, rows: Any, label: Any) -> Any:
    """Fit the learner to the rows of a class. Return its network, or the learner if it has none."""
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
    # Only networks have a closed form of the kernel.
    G = score.scores(X)
    return np.matmul(G, (G if Z is None else score.scores(Z)).T)
