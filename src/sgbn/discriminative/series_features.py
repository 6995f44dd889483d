"""What networks say about the series of a subject, as numbers that a classifier can take.

There are two sets of numbers: the subject's weights on a graph that all training subjects share,
and how likely its series are under the network of each class. All is learned from the training
subjects alone. The moments of a subject use no other subject, and may be computed once for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from sgbn.exceptions import InputError
from sgbn.gaussian import GaussianNetwork
from sgbn.parameters import ANYTHING, ESTIMATOR, NONE, SEED, Parameters, Whole, check_parameters
from sgbn.series_cohort import SeriesCohort
from sgbn.structure.series import SeriesSGBN, SubjectMoments, subject_moments, subject_weights
from sgbn.structure.series.subject_weights import noise_shares
from sgbn.types import Array, Mask

Series = SubjectMoments | SeriesCohort | Sequence[ArrayLike]


class _OnCommonGraph(TransformerMixin, BaseEstimator):
    """Features of weights on a graph of all training subjects, learned without their labels."""

    _parameters: ClassVar[Parameters] = {"learner": NONE | ESTIMATOR, "graph": ANYTHING}

    def __init__(
        self, learner: SeriesSGBN | None = None, *, graph: ArrayLike | None = None
    ) -> None:
        self.learner = learner
        self.graph = graph

    def _fit_graph(self, moments: SubjectMoments) -> None:
        self.graph_ = (
            common_graph(moments, self.learner) if self.graph is None else np.asarray(self.graph)
        )
        names = moments.names
        self.edges_ = [(names[i], names[j]) for i, j in np.argwhere(self.graph_)]
        if not self.edges_:
            raise InputError(
                "the network of the training subjects has no edge, so that there is no weight to "
                "tell them apart by. Give longer series or more subjects, or a smaller penalty."
            )


class SeriesWeights(_OnCommonGraph):
    """Weights of each subject on a graph of all training subjects, learned without their labels.

    Parameters
    ----------
    learner : SeriesSGBN, optional
        Of the graph. Half samples are left out, and ``non_gaussian="orient"``, see `common_graph`.
    graph : array-like of shape (m, m), optional
        A graph that was learned from the training subjects before, see `common_graph`.

    Attributes
    ----------
    graph_ : ndarray of shape (m, m), bool
        ``graph_[i, j]`` is the edge i -> j.
    edges_ : list of (source, target)
        Names, one per column of what `transform` gives.
    """

    def fit(self, X: Series, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the graph.

        Parameters
        ----------
        X : SeriesCohort, sequence of array-like of shape (volumes, m), or SubjectMoments
            One series per subject.
        y : ignored
        """
        check_parameters(self)
        self._fit_graph(as_moments(X, self.learner))
        return self

    def transform(self, X: Series) -> Array:
        """Return the weights of each subject, shape (subjects, edges)."""
        check_is_fitted(self)
        weights = subject_weights(as_moments(X, self.learner), self.graph_)
        return weights[:, self.graph_]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002
        """Name the edges: ``source -> target``."""
        check_is_fitted(self)
        return np.array([f"{source} -> {target}" for source, target in self.edges_], dtype=object)


class SeriesLikelihoods(_OnCommonGraph):
    """Log-likelihood ratios of each subject's series under one network per class.

    The networks have the graph of all training subjects, learned without their labels, and mean
    weights of their class. A network gives its own training subjects too high a likelihood. So
    `fit_transform` measures a training subject by the means of other folds, and differs from
    ``fit(X, y).transform(X)``.

    Parameters
    ----------
    learner : SeriesSGBN, optional
        Of the graph. Half samples are left out, and ``non_gaussian="orient"``, see `common_graph`.
    graph : array-like of shape (m, m), optional
        A graph that was learned from the training subjects before, see `common_graph`.
    n_folds : int, default=5
        Of `fit_transform`.
    random_state : int, default=0
        Seed of these folds.

    Attributes
    ----------
    classes_ : ndarray
        Sorted.
    networks_ : dict of class to GaussianNetwork
    graph_, edges_
        As in `SeriesWeights`.
    """

    _parameters: ClassVar[Parameters] = {"n_folds": Whole(2), "random_state": SEED}

    def __init__(
        self,
        learner: SeriesSGBN | None = None,
        *,
        graph: ArrayLike | None = None,
        n_folds: int = 5,
        random_state: int = 0,
    ) -> None:
        super().__init__(learner, graph=graph)
        self.n_folds = n_folds
        self.random_state = random_state

    def fit(self, X: Series, y: ArrayLike) -> Self:
        """Learn the graph, and one network per class.

        Parameters
        ----------
        X : SeriesCohort, sequence of array-like of shape (volumes, m), or SubjectMoments
            One series per subject.
        y : array-like of shape (subjects,)
            Classes.
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

        They are divided by the effective number of volumes, so that long series do not count more
        than short ones.
        """
        check_is_fitted(self)
        moments = as_moments(X, self.learner)
        likelihoods = [log_likelihoods(moments, network) for network in self.networks_.values()]
        return np.column_stack(likelihoods[1:]) - likelihoods[0][:, None]

    def fit_transform(  # type: ignore[override]
        self, X: Series, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Array:
        """Learn the networks, and measure each training subject by networks of other folds.

        Parameters
        ----------
        X, y
            As in `fit`.
        groups : array-like of shape (subjects,), optional
            Labels, such as persons, that are never parted.
        """
        moments, labels = as_moments(X, self.learner), np.asarray(y)
        self.fit(moments, labels)
        splitter = StratifiedKFold if groups is None else StratifiedGroupKFold
        split = splitter(self.n_folds, shuffle=True, random_state=self.random_state)
        ratios = np.empty((len(labels), len(self.classes_) - 1))
        for train, test in split.split(labels, labels, groups):
            # the graph knows no labels, so that the one of all training subjects may serve
            fitted = clone(self).set_params(graph=self.graph_)
            fitted.fit(moments.take(train), labels[train])
            ratios[test] = fitted.transform(moments.take(test))
        return ratios

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002
        """Name the ratios: ``patient over control``."""
        check_is_fitted(self)
        first, *rest = self.classes_.tolist()
        return np.array([f"{other} over {first}" for other in rest], dtype=object)


def as_moments(X: Series, learner: SeriesSGBN | None = None) -> SubjectMoments:
    """Return the moments of series, filtered as the learner does, or moments as they are."""
    if isinstance(X, SubjectMoments):
        return X
    return subject_moments(X, lagged=learner is not None and learner.lagged)


def common_graph(moments: SubjectMoments, learner: SeriesSGBN | None = None) -> Mask:
    """Learn a graph of all subjects, whatever their labels, without half samples.

    ``non_gaussian="orient"`` of the learner is not used: it needs residuals of the volumes, and
    moments have none. It turns edges and keeps the regions that they join.
    """
    plain = SeriesSGBN() if learner is None else clone(learner)
    plain.set_params(n_pairs=0, non_gaussian="ignore")
    graph: Mask = plain.fit_moments(moments).network_.coef != 0
    return graph


def network_on(moments: SubjectMoments, graph: Mask) -> GaussianNetwork:
    """Network of some subjects on a graph: means of their weights and of their noise shares."""
    weights = subject_weights(moments, graph).mean(axis=0)
    noise = noise_shares(moments, graph).mean(axis=0)
    # No intercepts: moments are correlations, and have no mean.
    return GaussianNetwork(weights, np.zeros(moments.m), noise, moments.names)


def log_likelihoods(moments: SubjectMoments, network: GaussianNetwork) -> Array:
    r"""Log-likelihood per effective volume of each subject, shape (S,).

    .. math:: -\frac12 \left( m \log 2 \pi + \log |C| + \operatorname{tr}(C^{-1} R_s) \right)

    with :math:`R_s` the correlations of the subject, and C those that the network implies.
    """
    # Weights are means over subjects, so that the variances that they imply are not exactly 1.
    sd = np.sqrt(np.diag(network.covariance))
    C = network.covariance / sd / sd[:, None]
    log_det = np.linalg.slogdet(C)[1]
    # tr(C^-1 R_s) of all subjects at once: both matrices are symmetric
    traces = np.einsum("ij,sij->s", np.linalg.inv(C), moments.R)
    likelihoods: Array = -(len(C) * np.log(2 * np.pi) + log_det + traces) / 2
    return likelihoods
