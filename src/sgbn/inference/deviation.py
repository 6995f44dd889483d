r"""Deviations of subjects from the network of a reference group: by region, by edge and overall.

The value x of region j in a new subject is compared with what its parents P predict,

.. math:: t_j = \frac{x_j - \hat x_j}{\hat\sigma_j \sqrt{1 + h_j}}, \qquad
          h_j = \tfrac1n + (x_P - \bar x_P)^T (n S_{PP})^{-1} (x_P - \bar x_P),

where :math:`\bar x` and S are the means and the covariance of the n reference subjects. :math:`h_j`
is the variance of the prediction itself, as a share of the noise variance :math:`\hat\sigma_j^2`.
The prediction has a variance because n subjects do not determine the weights exactly. :math:`h_j`
is largest if the parents are far from their means. A region with k coefficients (its weights and
the intercept) has d = n - k degrees of freedom. Then :math:`t_j` has Student's distribution
:math:`F_d`, and :math:`z_j = \Phi^{-1}(F_d(t_j))` is standard normal in new subjects of the
reference group.

The noise is independent of the parents. Therefore :math:`s_{ij} = z_j (x_i - \bar x_i) / sd_i` has
mean 0 and variance 1 in the reference group. It is the Fisher score of the weight of i -> j: its
mean over a group differs from zero if the weight in this group differs from the weight in the
reference group.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, ndtri, stdtr
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted

from sgbn.cohort.design import Design
from sgbn.cohort.rows import check_varies, refuse_cohort, row_labels, row_order
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.moments import one_blas_thread
from sgbn.core.problems import InputError
from sgbn.core.types import Array, Indices, Mask
from sgbn.core.validation import (
    ESTIMATOR,
    FEW_SAMPLES,
    JOBS,
    NONE,
    RANDOM_STATE,
    Whole,
    allowed,
    check_data,
    check_parameters,
    column_names,
)
from sgbn.inference.confidence import check_learner, learn_part
from sgbn.learn.base import COLLINEAR, NetworkEstimator
from sgbn.learn.sgbn import SGBN
from sgbn.runs.tasks import parallel

SMALLEST_TAIL = np.finfo(float).tiny  # smallest tail probability; keeps z finite, below 38


@dataclass(frozen=True)
class Deviations:
    """The deviations of subjects from a reference network.

    Attributes
    ----------
    names : tuple of str
        The m regions.
    sources, targets : tuple of str
        The two regions of each of the p edges.
    regions : ndarray of shape (n, m)
        The z of each region given its parents, for n subjects. It is standard normal in the
        reference group.
    edges : ndarray of shape (n, p)
        Score of each edge. In the reference group it has mean 0 and standard deviation 1. It is not
        normal, since it is a product. A positive score indicates that the weight is above the
        weight in the reference group.
    distance : ndarray of shape (n,)
        Sum of the squared z, which is the squared Mahalanobis distance under the network.
    log_likelihood : ndarray of shape (n,)
        Log-likelihood of each subject under the reference network.
    p_chi2 : ndarray of shape (n,)
        Probability of a distance at least this large in the reference group, if the data are
        Gaussian.
    p_reference : ndarray of shape (n,)
        The same probability, from the rank of the distance among the distances of the reference
        subjects. Each reference subject was scored by a network learned without this subject. The
        probability is never below 1 / (number of reference subjects + 1).
    """

    names: tuple[str, ...]
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    regions: Array
    edges: Array
    distance: Array
    log_likelihood: Array
    p_chi2: Array
    p_reference: Array


@dataclass(eq=False, repr=False)
class NormativeDeviation(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A model of a reference group that measures how far each other subject deviates from it.

    Fit it to the rows of the reference group, such as controls, and score other subjects. Each
    region is compared with what its parents predict. So a change of one region's mechanism shows
    in that region, and not in the regions that it acts on. This is true only if the learned
    directions are right: at a reversible edge (`sgbn.edge_kinds`) the change may show in
    either of the two regions.

    `reference_` holds the scores of the reference subjects, each from a network that was learned
    without this subject. Do not call `transform` on rows that were used in `fit`: their deviations
    would look too small.

    Parameters
    ----------
    learner : estimator, optional
        Any learner of sgbn. The default is `SGBN()`.
    n_folds : int
        Number of parts of the reference group. Each part is scored by a network that is learned
        from the other parts. If there are fewer rows than `n_folds`, each row is one part.
    random_state : int
        Seed of the folds.
    n_jobs : int, optional
        Number of processes. Each fold is learned in one of them. Results do not depend on it.

    Attributes
    ----------
    network_ : GaussianNetwork
        The network of the whole reference group.
    reference_ : Deviations
        Deviations of the reference subjects, each from a network learned without this subject.
        The edges are the edges of `network_`.
    inflation_ : float
        Root mean square of the reference subjects' z, by which all z are then divided. Parents are
        chosen because they predict well in the rows of the fit. They predict unseen rows worse.
    n_features_in_, feature_names_in_
        Number and names of the columns, as in every estimator of scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.inference.deviation import NormativeDeviation
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 4))
    >>> X[:, 2] += X[:, 0] + X[:, 1]  # x0 -> x2 <- x1, x2 -> x3
    >>> X[:, 3] += X[:, 2]
    >>> ill = np.array([[0.0, 0.0, 6.0, 6.0]])  # x2 is not what x0 and x1 predict; x3 follows it
    >>> np.abs(NormativeDeviation().fit(X).transform(ill)).round().tolist()
    [[0.0, 0.0, 6.0, 0.0]]
    """

    learner: NetworkEstimator | None = allowed(None, NONE | ESTIMATOR)
    _: KW_ONLY
    n_folds: int = allowed(5, Whole(2))
    random_state: int = allowed(0, RANDOM_STATE)
    n_jobs: int | None = allowed(None, JOBS)

    def fit(self, X: ArrayLike, y: Any = None, *, persons: ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Learn the network of the reference group, and score its subjects by cross-validation.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of the reference group.
        y : ignored
        persons : array-like of shape (n_samples,), optional
            Person or family of each row. All rows of a person are in the same fold, so that no
            person is scored by a network that was learned from that person.
        """
        refuse_cohort(X)
        values = check_data(self, X)
        check_parameters(self)
        names = column_names(self, X)
        ids = row_labels(X) or range(len(values))
        design = Design.of(ids, block=persons, called={"block": "persons"})
        order = row_order(values, design)
        given, values, design = np.argsort(order), values[order], design.subset(order)
        learner = check_learner(SGBN() if self.learner is None else self.learner)
        # Folds are checked before the first network is learned, so that errors come early.
        folds = self._folds(values, names, design)
        learned = clone(learner).fit(X)
        # Rows that the learner left out are not used: outliers would widen the usual range.
        far = getattr(learned, "outliers_", np.zeros(len(values), bool))[order]
        self._norm = _Norm.learn(learned.network_, values[~far])
        self.network_ = self._norm.network
        # Each row is scored by a network that was learned without this row.
        raw, log_likelihood = np.empty_like(values), np.empty(len(values))
        scored = parallel(partial(_score_fold, learner, values, names), folds, self.n_jobs)
        for (_, test), scores in zip(folds, scored, strict=True):
            raw[test], log_likelihood[test] = scores
        # Parents were chosen because they predict well in the rows of the fit. In unseen rows the
        # errors are larger, by this factor, than Student's t assumes.
        self.inflation_ = float(np.sqrt(np.square(raw).mean()))
        self._distances = np.sort(np.square(raw / self.inflation_).sum(axis=1))
        self.reference_ = self._deviations(
            raw[given], log_likelihood[given], values[given], n_own=1
        )
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Return the z-score of each region given its parents, for new subjects."""
        check_is_fitted(self)
        return self._norm.z(check_data(self, X, reset=False)) / self.inflation_

    def deviations(self, X: ArrayLike) -> Deviations:
        """Return all deviations of new subjects: by region, by edge and overall."""
        check_is_fitted(self)
        values = check_data(self, X, reset=False)
        return self._deviations(
            self._norm.z(values), self.network_.log_likelihood(values), values, n_own=0
        )

    def score_samples(self, X: ArrayLike) -> Array:
        """Return the log-likelihood of each row under the reference network."""
        check_is_fitted(self)
        return self.network_.log_likelihood(check_data(self, X, reset=False))

    def _deviations(
        self, raw: Array, log_likelihood: Array, values: Array, n_own: int
    ) -> Deviations:
        """Return the result; `n_own` is 1 if the rows are reference subjects themselves, else 0."""
        network, z = self.network_, raw / self.inflation_
        i, j = np.nonzero(network.coef)
        # Rows are scaled by the moments of the reference group, since they may be patients.
        standard = (values - self._norm.mean) / np.sqrt(np.diag(self._norm.covariance))
        distance = np.square(z).sum(axis=1)
        n = len(self._distances) - n_own
        # A reference subject is ranked among all reference subjects and must not count itself.
        as_far = n - np.searchsorted(self._distances, distance)
        return Deviations(
            network.names,
            tuple(network.names[k] for k in i),
            tuple(network.names[k] for k in j),
            z,
            z[:, j] * standard[:, i],
            distance,
            log_likelihood,
            chdtrc(network.m, distance),
            (1 + as_far) / (n + 1),
        )

    def _folds(
        self, values: Array, names: list[str], design: Design
    ) -> list[tuple[Indices, Indices]]:
        """Return the rows to learn from and the rows to score, for each fold."""
        if len(values) < FEW_SAMPLES:
            raise InputError("rows.few", n=len(values), least=FEW_SAMPLES).says(
                "the reference group has {n:subject}, but a norm needs {least}", "Add subjects."
            )
        if design.units is None:
            n_folds = min(self.n_folds, len(values))
            folds = list(KFold(n_folds, shuffle=True, random_state=self.random_state).split(values))
        else:
            folds = self._whole_persons(design)
        for train, _ in folds:
            # If only one subject differs in a region, the region is constant without that subject.
            check_varies(values[train], names, "reference")
        return folds

    def _whole_persons(self, design: Design) -> list[tuple[Indices, Indices]]:
        """Return folds in which the rows to learn from and the rows to score share no person."""
        if design.n_units < 2:
            raise InputError("persons.one", n=design.n).says(
                "all {n} rows belong to one person",
                "Give rows of several persons, or leave {persons=} out.",
            )
        n_folds = min(self.n_folds, design.n_units)
        fold = design.deal(np.random.default_rng(self.random_state), n_folds)
        return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]


@dataclass(frozen=True)
class _Norm:
    """A network and the moments of the n rows that it was learned from."""

    network: GaussianNetwork
    mean: Array
    covariance: Array
    n: int

    @classmethod
    def learn(cls, network: GaussianNetwork, values: Array) -> Self:
        """Return the network with the moments of the rows."""
        return cls(network, values.mean(axis=0), np.cov(values.T, ddof=0), len(values))

    def z(self, values: Array) -> Array:
        """Return the prediction errors as z, which are standard normal if the network is right."""
        support = self.network.coef != 0
        spread = np.sqrt(self.network.noise_variance * (1 + self._leverage(values, support)))
        t = self.network.residuals(values) / spread
        # With as many parents as rows no degree of freedom is left, but t needs at least one.
        degrees = np.maximum(self.n - support.sum(axis=0) - 1, 1)
        # The smaller tail is used. For a large t the larger tail rounds to 1, and z is infinite.
        tail = np.maximum(stdtr(degrees, -np.abs(t)), SMALLEST_TAIL)
        return -np.sign(t) * ndtri(tail)

    def _leverage(self, values: Array, support: Mask) -> Array:
        """Return the variance of each prediction, as a share of the noise variance."""
        # In standard deviations, so that no parent counts as round-off because of its units.
        sd = np.sqrt(np.diag(self.covariance))
        Z, R = (values - self.mean) / sd, self.covariance / np.outer(sd, sd)
        leverage = np.full(values.shape, 1 / self.n)
        for j in np.flatnonzero(support.any(axis=0)):
            parents = np.flatnonzero(support[:, j])
            # Collinear parents predict well together, though their weights are not determined.
            inverse = np.linalg.pinv(R[np.ix_(parents, parents)], rcond=COLLINEAR, hermitian=True)
            away = Z[:, parents]
            leverage[:, j] += ((away @ inverse) * away).sum(axis=1) / self.n
        return leverage


def _kept(learner: NetworkEstimator, values: Array) -> Array:
    """Return the rows that a fitted learner used, without the outliers that it left out."""
    return values[~learner.outliers_] if hasattr(learner, "outliers_") else values


def _score_fold(
    learner: NetworkEstimator, values: Array, names: list[str], fold: tuple[Indices, Indices]
) -> tuple[Array, Array]:
    """Return z and log-likelihood of the test rows of a fold."""
    train, test = fold
    learned = learn_part(learner, values[train], names)
    with one_blas_thread():
        z = _Norm.learn(learned.network_, _kept(learned, values[train])).z(values[test])
        return z, learned.network_.log_likelihood(values[test])
