r"""Features of a subject's series for classifiers, from networks of the training subjects.

There are two sets of features: the subject's weights on a graph that all training subjects share,
and the likelihood of its series under the network of each class. Everything is learned from the
training subjects only. The moments of a subject do not depend on other subjects, so they can be
computed once, before any split into folds.

Coordinates in which a limit on the squared error of a few regressions is a ball.

Child j has the weights :math:`\theta_J` on the columns J, with the optimum :math:`\theta_J^*`. With
:math:`G = \tilde X^T \tilde X` and the Cholesky factor of
:math:`G_{JJ} + \epsilon I = L L^T`, the squared error is

.. math:: \| x_j - \tilde X \theta_j \|^2 = \text{least} + \| L^T (\theta_J - \theta_J^*) \|^2.

So the coordinates are u in :math:`\theta_J = \theta_J^* + L^{-T} u`. The parameters of a child are
consecutive, as one block. The factors :math:`F = L^{-T}` of all blocks follow each other in one
array.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from sgbn.cohort.series import SeriesCohort, SubjectMoments, subject_moments
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.jit import jit_inside, jit_loops
from sgbn.core.problems import InputError
from sgbn.core.types import Array, Indices, Mask
from sgbn.core.validation import (
    ANYTHING,
    ESTIMATOR,
    NONE,
    SEED,
    Whole,
    allowed,
    check_parameters,
)
from sgbn.learn.series import SeriesSGBN, noise_shares, subject_weights

Series = SubjectMoments | SeriesCohort | Sequence[ArrayLike]


@dataclass(eq=False, repr=False)
class _OnCommonGraph(TransformerMixin, BaseEstimator):
    """The base of features on a graph of all training subjects, learned without their labels."""

    learner: SeriesSGBN | None = allowed(None, NONE | ESTIMATOR)
    _: KW_ONLY
    graph: ArrayLike | None = allowed(None, ANYTHING)

    def _fit_graph(self, moments: SubjectMoments) -> None:
        given = self.graph
        self.graph_ = common_graph(moments, self.learner) if given is None else np.asarray(given)
        self.edges_ = [(moments.names[i], moments.names[j]) for i, j in np.argwhere(self.graph_)]
        if not self.edges_:
            raise InputError("graph.empty").says(
                "the network of the training subjects has no edge", "Give more or longer series."
            )


class SeriesWeights(_OnCommonGraph):
    """A transformer of series to each subject's weights on one graph.

    The graph is learned from all training subjects without their labels.

    Parameters
    ----------
    learner : SeriesSGBN, optional
        The learner of the graph. Its half samples and ``non_gaussian="orient"`` are not used, see
        `common_graph`.
    graph : array-like of shape (m, m), optional
        A graph that was learned before from the training subjects, see `common_graph`.

    Attributes
    ----------
    graph_ : ndarray of shape (m, m), bool
        ``graph_[i, j]`` is the edge i -> j.
    edges_ : list of (source, target)
        The names of the edges, one per column of the result of `transform`.
    """

    def fit(self, X: Series, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the graph.

        Parameters
        ----------
        X : SeriesCohort, sequence of array-like of shape (volumes, m), or SubjectMoments
            One series per subject.
        y : ignored
            Present for the convention of scikit-learn.
        """
        check_parameters(self)
        self._fit_graph(as_moments(X, self.learner))
        return self

    def transform(self, X: Series) -> Array:
        """Return the weights of each subject, shape (subjects, edges)."""
        check_is_fitted(self)
        return subject_weights(as_moments(X, self.learner), self.graph_)[:, self.graph_]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002
        """Return the names of the edges, in the form ``source -> target``."""
        check_is_fitted(self)
        return np.array([f"{source} -> {target}" for source, target in self.edges_], dtype=object)


@dataclass(eq=False, repr=False, kw_only=True)
class SeriesLikelihoods(_OnCommonGraph):
    """A transformer of series to log-likelihood ratios under one network per class.

    The networks have the graph of all training subjects, which is learned without their labels. The
    weights of a network are the mean weights of its class. The likelihood of a network's own
    training subjects is too high. So `fit_transform` uses, for each training subject, networks that
    were learned without its fold. Its result differs from ``fit(X, y).transform(X)``.

    Parameters
    ----------
    learner : SeriesSGBN, optional
        The learner of the graph. Its half samples and ``non_gaussian="orient"`` are not used, see
        `common_graph`.
    graph : array-like of shape (m, m), optional
        A graph that was learned before from the training subjects, see `common_graph`.
    n_folds : int, default=5
        The number of folds of `fit_transform`.
    random_state : int, default=0
        The seed of these folds.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    networks_ : dict of class to GaussianNetwork
        The network of each class.
    graph_, edges_
        As in `SeriesWeights`.
    """

    n_folds: int = allowed(5, Whole(2))
    random_state: int = allowed(0, SEED)

    def fit(self, X: Series, y: ArrayLike) -> Self:
        """Learn the graph, and one network per class.

        Parameters
        ----------
        X : SeriesCohort, sequence of array-like of shape (volumes, m), or SubjectMoments
            One series per subject.
        y : array-like of shape (subjects,)
            The class of each subject.
        """
        check_parameters(self)
        moments, labels = as_moments(X, self.learner), np.asarray(y)
        self._fit_graph(moments)
        self.classes_ = np.unique(labels)
        self.networks_ = {
            label: network_on(moments.take(labels == label), self.graph_)
            for label in self.classes_.tolist()
        }
        return self

    def transform(self, X: Series) -> Array:
        """Return log-likelihood ratios of each class to the first, shape (subjects, classes - 1).

        They are divided by the effective number of volumes. So long series do not count more than
        short series.
        """
        check_is_fitted(self)
        moments = as_moments(X, self.learner)
        likelihoods = [log_likelihoods(moments, network) for network in self.networks_.values()]
        return np.column_stack(likelihoods[1:]) - likelihoods[0][:, None]

    def fit_transform(  # type: ignore[override]
        self, X: Series, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Array:
        """Learn the networks, and return ratios of the training subjects.

        The ratios of a subject come from networks that were learned without its fold.

        Parameters
        ----------
        X, y
            As in `fit`.
        groups : array-like of shape (subjects,), optional
            A label per row, such as the person. Rows with the same label are in the same fold.
        """
        moments, labels = as_moments(X, self.learner), np.asarray(y)
        self.fit(moments, labels)
        splitter = StratifiedKFold if groups is None else StratifiedGroupKFold
        split = splitter(self.n_folds, shuffle=True, random_state=self.random_state)
        ratios = np.empty((len(labels), len(self.classes_) - 1))
        for train, test in split.split(labels, labels, groups):
            # The graph does not depend on labels, so all folds can use the same graph.
            fitted = clone(self).set_params(graph=self.graph_)
            fitted.fit(moments.take(train), labels[train])
            ratios[test] = fitted.transform(moments.take(test))
        return ratios

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002
        """Return the names of the ratios, such as ``patient over control``."""
        check_is_fitted(self)
        first, *rest = self.classes_.tolist()
        return np.array([f"{other} over {first}" for other in rest], dtype=object)


def as_moments(X: Series, learner: SeriesSGBN | None = None) -> SubjectMoments:
    """Return the moments of series, filtered as the learner filters. If X is moments, return X."""
    if isinstance(X, SubjectMoments):
        return X
    return subject_moments(X, lagged=learner is not None and learner.lagged)


def common_graph(moments: SubjectMoments, learner: SeriesSGBN | None = None) -> Mask:
    """Learn one graph from all subjects, without their labels and without half samples.

    ``non_gaussian="orient"`` of the learner is not used, because it needs residuals of the volumes,
    which moments do not have. It would only change the direction of edges.
    """
    plain = SeriesSGBN() if learner is None else clone(learner)
    plain.set_params(n_pairs=0, non_gaussian="ignore")
    return plain.fit_moments(moments).network_.coef != 0


def network_on(moments: SubjectMoments, graph: Mask) -> GaussianNetwork:
    """Return a network on the graph, with the mean weights and noise shares of the subjects."""
    weights = subject_weights(moments, graph).mean(axis=0)
    noise = noise_shares(moments, graph).mean(axis=0)
    # The intercepts are 0, because moments are correlations and have no mean.
    return GaussianNetwork(weights, np.zeros(moments.m), noise, moments.names)


def log_likelihoods(moments: SubjectMoments, network: GaussianNetwork) -> Array:
    r"""Return the log-likelihood per effective volume of each of S subjects, shape (S,).

    .. math:: -\frac12 \left( m \log 2 \pi + \log |C| + \operatorname{tr}(C^{-1} R_s) \right)

    Here :math:`R_s` are the correlations of the subject, C are the correlations under the network,
    and m is the number of regions.
    """
    # Weights are means over subjects, so the variances under the network are not exactly 1.
    sd = np.sqrt(np.diag(network.covariance))
    C = network.covariance / sd / sd[:, None]
    log_det = np.linalg.slogdet(C)[1]
    # This is tr(C^-1 R_s) for all subjects at once, because both matrices are symmetric.
    traces = np.einsum("ij,sij->s", np.linalg.inv(C), moments.R)
    return -(len(C) * np.log(2 * np.pi) + log_det + traces) / 2


def whiten(
    G: Array, theta: Array, parents: Indices, children: Indices, starts: Indices, ridge: float
) -> tuple[Array, Array]:
    """Return the factor of every block, and the step in u from `theta` to the optimum.

    Parameters
    ----------
    G : ndarray of shape (m + 1, m + 1)
        The Gram matrix of the columns and the ones.
    theta : ndarray of shape (m + 1, m)
        All parameters, with the biases in the last row.
    parents : ndarray of shape (k,)
        The parent of each moving parameter, block by block.
    children : ndarray of shape (blocks,)
        The child of each block.
    starts : ndarray of shape (blocks + 1,)
        The place at which each block begins, and k.
    ridge : float
        The ridge, as a share of the mean of the diagonal of a block's Gram matrix.
    """
    sizes = np.diff(starts)
    factors, slopes = np.zeros(np.sum(sizes * sizes)), np.empty(parents.size)
    largest = int(sizes.max(initial=0))
    _fill(G, theta, parents, children, starts, ridge, np.empty((largest, largest)), factors, slopes)
    to_fit = np.empty(parents.size)
    # The step is F' slope, because F F' is the inverse of the Gram matrix of the block.
    for block, F in _blocks(factors, starts):
        to_fit[block] = F.T @ slopes[block]
    return factors, to_fit


def to_weights(factors: Array, starts: Indices, u: Array) -> Array:
    """Return F u, block by block."""
    weights = np.empty(u.size)
    for block, F in _blocks(factors, starts):
        weights[block] = F @ u[block]
    return weights


def _blocks(factors: Array, starts: Indices) -> Iterator[tuple[slice, Array]]:
    """Yield the places of the parameters of each block, and its factor."""
    place = 0
    for first, last in pairwise(starts.tolist()):
        k = last - first
        yield slice(first, last), factors[place : place + k * k].reshape(k, k)
        place += k * k


@jit_loops
def _fill(G, theta, parents, children, starts, ridge, work, factors, slopes):  # type: ignore[no-untyped-def]
    """Fill `slopes`, and `factors`, which must be zero before.

    A slope is minus half the derivative of the squared error in a weight. `work` is scratch memory.
    """
    place = 0  # the start of this block's factor
    for b in range(children.size):
        block = parents[starts[b] : starts[b + 1]]
        k = block.size
        L = work[:k, :k]  # all blocks share the scratch matrix, so the loop allocates no memory
        trace = 0.0
        for i in range(k):
            for h in range(k):
                L[i, h] = G[block[i], block[h]]
            trace += L[i, i]
        _factor(L, ridge * trace / k)
        _invert(L, factors[place : place + k * k])
        for i in range(k):
            fitted = 0.0
            # The sum includes the weights that do not move, because they change the residual too.
            for h in range(theta.shape[0]):
                fitted += G[block[i], h] * theta[h, children[b]]
            slopes[starts[b] + i] = G[block[i], children[b]] - fitted
        place += k * k


@jit_inside
def _factor(M, ridge):  # type: ignore[no-untyped-def]
    """Write the Cholesky factor of M + ridge I into the lower triangle of `M`.

    If round-off takes a pivot below the ridge, the pivot is set to the ridge. Otherwise columns
    that are copies of each other could give the square root of a negative number.
    """
    for i in range(M.shape[0]):
        M[i, i] += ridge
        for j in range(i + 1):
            rest = M[i, j]
            for h in range(j):
                rest -= M[i, h] * M[j, h]
            M[i, j] = rest / M[j, j] if i > j else np.sqrt(max(rest, ridge))


@jit_inside
def _invert(L, F):  # type: ignore[no-untyped-def]
    """Set `F`, a flattened matrix that must be zero before, to the inverse of L transposed."""
    k = L.shape[0]
    for i in range(k):
        F[i * k + i] = 1.0 / L[i, i]
        for j in range(i):
            total = 0.0
            for h in range(j, i):
                total += L[i, h] * F[j * k + h]
            F[j * k + i] = -total / L[i, i]  # row j, column i of an upper triangle


@jit_loops
def regressors(factors, starts, columns, parents, sd, D):  # type: ignore[no-untyped-def]
    """Fill `D` with what one unit of each coordinate adds to the prediction of its child.

    `columns` has the shape (m + 1, n). The prediction is divided by `sd`, the standard deviation of
    the noise of each block's child.
    """
    # D = F' X_J / sd has one row per coordinate, because the kernels read D row by row.
    D[:] = 0.0
    place = 0
    for b in range(starts.size - 1):
        first, k = starts[b], starts[b + 1] - starts[b]
        for i in range(k):
            for q in range(i, k):  # the factor is an upper triangle
                weight = factors[place + i * k + q] / sd[b]
                for row in range(D.shape[1]):
                    D[first + q, row] += weight * columns[parents[first + i], row]
        place += k * k
