r"""An L2-SVM on all, or on the best, components of the Fisher vectors of the classes' networks.

A plane in the space of the Fisher vectors is :math:`f(x) = w^T \Phi(x) + b`. If all components are
used and there are at most as many rows as components, the SVM is solved on the kernel, which has a
closed form. Its weights :math:`w = \sum_i \beta_i \Phi(x_i)` are then added up, a few rows at a
time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from sgbn.core.exceptions import InputError, warn
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.moments import one_blas_thread
from sgbn.core.types import Array, Indices
from sgbn.core.validation import (
    ESTIMATOR,
    NONE,
    POSITIVE,
    Parameters,
    Whole,
    check_classification,
    check_data,
    check_parameters,
)
from sgbn.discriminative.edge_selection import TIE_DIGITS, edge_scores
from sgbn.discriminative.fisher import Density, FisherVectors
from sgbn.discriminative.network_score import parameters_of
from sgbn.learn.classifier import Scale, SGBNClassifier
from sgbn.solvers.svm import L2SVM, l2_svm, total_scatter
from sgbn.solvers.svm_primal import l2_svm_features

ROWS_PER_BATCH = 256  # Fisher vectors in memory at once; each has m^2 components per class


class HasNetworks(Protocol):
    """An estimator that has one network, or another density, per class after `fit`."""

    @property
    def networks_(self) -> Mapping[Any, Density]:
        """Return the network of each class."""

    def fit(self, X: Any, y: Any, /) -> object:
        """Learn the networks."""


class FisherSVMClassifier(ClassifierMixin, BaseEstimator):
    """A classifier with one network per class and an L2-SVM on their Fisher vectors.

    The vectors are the gradients in all edge weights and biases of all networks. The rows are
    divided by the standard deviations of all classes together, so units do not matter. A network
    that all classes share counts once.

    Parameters
    ----------
    classifier : estimator, optional
        An estimator that has `networks_` after `fit`. By default, it is `SGBNClassifier`. It may be
        `KLSGBNClassifier` or another classifier of sgbn, or `FisherVectors`. `FisherVectors` may
        contain other densities with a score function, which are used in the units of the data. A
        temperature has no effect here: it is set to 1.
    components : int, optional
        The number of components to use. These are the components that correlate most with the class
        in the training rows. As in the paper, they are not standardised. By default, all are used.
    C : float
        The penalty of the SVM's slacks, in units of n over the total scatter of the Fisher vectors.

    Attributes
    ----------
    classifier_ : estimator
        The fitted clone of `classifier`.
    classes_ : ndarray
        The classes, sorted.
    components_ : ndarray of str of shape (p,)
        The names of the components, such as "MCI: insula_L -> hippocampus_L".
    coef_ : ndarray of shape (1, p) or (classes, p)
        The weights of the components. With more than two classes, each class has one row, which
        separates it from the rest.
    beta_ : ndarray of shape (1, n_samples) or (classes, n_samples)
        The weights of the training rows. `coef_` is the sum of their Fisher vectors with these
        weights.
    intercept_ : ndarray of shape (1,) or (classes,)
        The intercept of each plane.
    n_features_in_, feature_names_in_
        The number and the names of the columns, as in scikit-learn.

    Notes
    -----
    Paper: Section 5, Exp-III, the SVM classifiers on all components and on 100 selected components.

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.discriminative.fisher_svm import FisherSVMClassifier
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> y = np.repeat(["MCI", "NC"], 100)
    >>> X[:100, 1] += X[:100, 0]
    >>> X[100:, 1] -= X[100:, 0]
    >>> svm = FisherSVMClassifier(components=4).fit(X, y)
    >>> svm.components_[0]
    'MCI: x0 -> x1'
    """

    _parameters: ClassVar[Parameters] = {
        "classifier": NONE | ESTIMATOR,
        "components": NONE | Whole(1),
        "C": POSITIVE,
    }

    def __init__(
        self,
        classifier: HasNetworks | None = None,
        *,
        components: int | None = None,
        C: float = 1.0,
    ) -> None:
        self.classifier = classifier
        self.components = components
        self.C = C

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the classifier, then the SVM on the Fisher vectors of the same rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            One row per subject, one column per region.
        y : array-like of shape (n_samples,)
            The class of each row.
        """
        values, labels, self.classes_ = check_classification(self, X, y)
        check_parameters(self)
        codes = np.searchsorted(self.classes_, labels)
        self.classifier_ = self._fitted(X if hasattr(X, "columns") else values, labels)
        networks, self._scale = standardised(self.classifier_.networks_, values)
        Z = self._scale.standardise(values)
        self._vectors = FisherVectors(networks=networks).fit(Z)
        self._columns: Any = slice(None)
        if self.components is not None:
            self._columns = best_components(self._vectors, Z, codes, int(self.components))
        self.components_ = self._vectors.get_feature_names_out()[self._columns]
        with one_blas_thread():
            self._fit_planes(Z, codes)
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """Return the SVM score of the second class.

        With more than two classes, return one score per class.
        """
        check_is_fitted(self)
        Z = self._scale.standardise(check_data(self, X, reset=False))
        # Weights of components are used, because a kernel would need all training rows.
        sides = [Phi @ self.coef_.T for _, Phi in self._batches(Z)]
        decision: Array = np.vstack(sides) + self.intercept_
        return decision[:, 0] if len(self.classes_) == 2 else decision

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class with the largest SVM score for every row."""
        decision = self.decision_function(X)
        # Two classes have only one plane, and its sign decides.
        best = decision.argmax(axis=1) if decision.ndim == 2 else (decision > 0).astype(np.intp)
        predicted: NDArray[Any] = self.classes_[best]
        return predicted

    def _fitted(self, table: Any, labels: NDArray[Any]) -> Any:
        given = SGBNClassifier() if self.classifier is None else self.classifier
        classifier = clone(given)
        if "temperature" in classifier.get_params(deep=False):
            # "cv" would learn networks in folds for probabilities, which are not used here.
            classifier.set_params(temperature=1.0)
        classifier.fit(table, labels)
        if not isinstance(getattr(classifier, "networks_", None), Mapping):
            raise InputError(
                f"{type(classifier).__name__} has no networks_ after fit. Give a network "
                "classifier of sgbn, or FisherVectors."
            )
        return classifier

    def _fit_planes(self, Z: Array, codes: Indices) -> None:
        """Fit one plane for two classes. For more classes, fit one per class against the rest."""
        signs = [np.where(codes == c, 1.0, -1.0) for c in range(len(self.classes_))]
        planes = self._planes(Z, signs[1:] if len(signs) == 2 else signs)
        if not all(plane.converged for plane in planes):
            worst = max(plane.violation for plane in planes)
            warn(
                "the SVM stopped before its optimum. The largest remaining error is "
                f"{worst:.1e}, in units of the margin. Give a smaller C."
            )
        self.beta_ = np.array([plane.beta for plane in planes])
        self.intercept_ = np.array([plane.intercept for plane in planes])
        self.coef_ = np.zeros((len(planes), len(self.components_)))
        # w is the sum of beta_i Phi(x_i), no matter which of the two problems was solved.
        for rows, Phi in self._batches(Z):
            self.coef_ += self.beta_[:, rows] @ Phi

    def _planes(self, Z: Array, signs: list[Array]) -> list[L2SVM]:
        n = len(Z)
        # Solve the smaller of two problems: n x n on the kernel, or n x p on the vectors.
        if self.components is None and n <= len(self.components_):
            K = self._vectors.kernel(Z)
            C = _relative(self.C, n, total_scatter(K))
            return [l2_svm(K, side, C) for side in signs]
        Phi = np.vstack([part for _, part in self._batches(Z)])
        C = _relative(self.C, n, n * float(Phi.var(axis=0).sum()))
        return [l2_svm_features(Phi, side, C) for side in signs]

    def _batches(self, Z: Array) -> Iterator[tuple[slice, Array]]:
        """Yield a few rows at a time, and the used components of their Fisher vectors."""
        for rows in gen_batches(len(Z), ROWS_PER_BATCH):
            yield rows, self._vectors.transform(Z[rows])[:, self._columns]


def standardised(networks: Mapping[Any, Any], values: Array) -> tuple[dict[Any, Any], Scale]:
    """Convert networks from the units of the data to standard deviations. Also return the scale.

    A network that all classes share is returned once, with the key None. Densities other than
    networks cannot change their units: if there is one, everything keeps the units of the data.
    """
    # The same network for several classes would count each component several times.
    first, *rest = networks.values()
    shared = bool(rest) and all(_same(first, other) for other in rest)
    distinct = {None: first} if shared else dict(networks)
    if not all(isinstance(network, GaussianNetwork) for network in distinct.values()):
        return distinct, Scale(np.zeros(values.shape[1]), np.ones(values.shape[1]))
    scale = Scale.of(values)
    # `in_units` converts from standardised rows to units. The inverse scale converts back.
    back = Scale(-scale.mean / scale.sd, 1.0 / scale.sd)
    return {label: back.in_units(network) for label, network in distinct.items()}, scale


def best_components(vectors: FisherVectors, Z: Array, codes: Indices, k: int) -> Indices:
    """Return the sorted column numbers of the k components that correlate most with the class."""
    networks = list(vectors.networks_.values())
    if all(isinstance(network, GaussianNetwork) for network in networks):
        # The Fisher vectors have the same order: network by network, then row by row.
        scores = edge_scores(Z, codes, networks)[:, parameters_of(networks[0])].ravel()
    else:
        scores = _ratios_of_vectors(vectors.transform(Z), codes)
    ranked = np.argsort(-np.round(scores, TIE_DIGITS), kind="stable")
    return np.sort(ranked[:k])


def _ratios_of_vectors(Phi: Array, codes: Indices) -> Array:
    """Compute correlation ratios from the vectors, for densities that `edge_scores` cannot use."""
    U = Phi - Phi.mean(axis=0)
    groups = [U[codes == c] for c in range(codes.max() + 1)]
    between = np.add.reduce([len(rows) * rows.mean(axis=0) ** 2 for rows in groups])
    total = (U**2).sum(axis=0)
    return np.sqrt(np.divide(between, total, out=np.zeros_like(total), where=total > 0))


def _same(first: Any, second: Any) -> bool:
    if not (isinstance(first, GaussianNetwork) and isinstance(second, GaussianNetwork)):
        return first is second
    fields = ("coef", "intercept", "noise_variance")
    return all(np.array_equal(getattr(first, f), getattr(second, f)) for f in fields)


def _relative(C: float, n: int, scatter: float) -> float:
    if scatter <= 0.0:
        raise InputError(
            "the Fisher vectors are the same for all rows, so no plane can separate the classes. "
            "Give other densities, or more components."
        )
    return C * n / scatter
