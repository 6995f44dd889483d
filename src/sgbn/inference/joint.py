r"""Networks of several groups learned together, so that noise does not look like a difference.

One order serves all groups: that of the pooled covariance within the groups,
:math:`S = \sum_g n_g S_g / n`. The parents of a region are the union of those that the pooled data
and each group by itself choose along this order, so that an edge is there in all groups or in none,
and its weights, least squares in each group, can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from sgbn.exceptions import InputError, shown
from sgbn.gaussian import GaussianNetwork
from sgbn.graph.acyclicity import known_order
from sgbn.inference.regressions import regressions
from sgbn.inference.rows import check_groups_vary, refuse_cohort
from sgbn.moments import Moments
from sgbn.parameters import ESTIMATOR, NONE, TRUTH, Parameters, check_parameters
from sgbn.search.order_search import parents_for
from sgbn.search.parent_trees import make_trees
from sgbn.search.plan import most_parents
from sgbn.search.problem import MOST_PARENTS, ParentProblem, ebic_prices
from sgbn.structure import SGBN
from sgbn.structure.knowledge import Knowledge
from sgbn.types import Array, Graph, Indices
from sgbn.validation import check_data, column_names, read_labels, warn_about_moments

POOLED_GAMMA = 0.0  # BIC: the pooled parents are chosen without the labels, so that more do no harm
GROUP_GAMMA = 1.0
TIE_DIGITS = 9  # of a sum of squared correlations: the rest is round-off


class GroupWeights(NamedTuple):
    """Weights of one group, their variances and noise variances."""

    weights: Array
    variances: Array
    noise: Array


class SharedOrder:
    """Order and pooled parents of rows that are centred in their groups.

    The learner's prior knowledge holds for the parents in the pool and in each group.

    Parameters
    ----------
    residuals : ndarray of shape (n, m)
        Without nuisance effects.
    learner : SGBN
        Of the order.
    names : sequence of str
        Of the columns, by which the learner's prior knowledge and warnings call them.
    penalty : float
        Times the usual price of each parent: less finds more parents.
    """

    def __init__(
        self, residuals: Array, learner: Any, names: Sequence[str], penalty: float = 1.0
    ) -> None:
        if not isinstance(learner, SGBN):
            raise InputError(
                f"learner is {learner!r}: the order that groups share is found by an SGBN. Give "
                "one, with parameters of your choice."
            )
        learned, moments = _learn(clone(learner), residuals, list(names))
        known = cast(Knowledge, learned.arrows_.knowledge)  # an SGBN has it, if only empty
        self.order = known_order(learned.coef_ != 0, known.directions, _places(moments))
        rank = np.argsort(self.order)
        self.allowed = known.allowed.T & (rank[:, None] > rank)  # of those that come before
        self.required = known.required.T
        self.max_parents = learner.max_parents
        self.penalty = penalty
        self.pooled = self.parents_of(_covariance(residuals), len(residuals), POOLED_GAMMA)

    def parents_of(self, S: Array, n: int, gamma: float, most: int = MOST_PARENTS) -> Graph:
        """Parents along the order by extended BIC, ``[i, j]`` for i -> j, at most `most`."""
        m, sd = len(S), np.sqrt(np.diag(S))
        most = min(most, most_parents(n, m, self.max_parents))
        known = self.allowed, self.required
        prices = self.penalty * ebic_prices(n, m, gamma)
        problem = ParentProblem(S / np.outer(sd, sd), n, prices, most, *known)
        return parents_for(make_trees(problem), self.order).parents.T

    def parents(self, residuals: Array, codes: Indices, separate: bool = True) -> Graph:
        """Union of the pooled parents and those of each group."""
        union = self.pooled.copy()
        for c in range(int(codes.max()) + 1 if separate else 0):
            own = residuals[codes == c]
            union |= self.parents_of(_covariance(own), len(own), GROUP_GAMMA)
        return union


def group_weights(
    residuals: Array, codes: Indices, parents: Graph, lost: float | None = None
) -> list[GroupWeights]:
    """Least squares in each group, on the same parents.

    `lost` is the share of the degrees of freedom that nuisance effects took from each group; by
    default each lost one, its mean.
    """
    return weights_on(covariances(residuals, codes), parents, lost)


def covariances(residuals: Array, codes: Indices) -> list[tuple[Array, int]]:
    """Covariance matrix and number of rows of each group."""
    parts = (residuals[codes == c] for c in range(int(codes.max()) + 1))
    return [(_covariance(own), len(own)) for own in parts]


def weights_on(
    groups: Sequence[tuple[Array, int]], parents: Graph, lost: float | None = None
) -> list[GroupWeights]:
    """Least squares from the `covariances` of the groups, see `group_weights`."""
    found = []
    for S, n in groups:
        freedom = n - 1.0 if lost is None else (1 - lost) * n
        found.append(GroupWeights(*regressions(S, n, freedom, parents)))
    return found


class JointSGBN(BaseEstimator):
    """One network per group over one order, with the same edges in every group.

    Parameters
    ----------
    learner : SGBN, optional
        Finds the order in the pooled rows; `SGBN()` by default. Its prior knowledge holds in all
        groups.
    separate_parents : bool
        Whether parents that only one group shows are added. Without them an edge whose weights
        cancel in the pooled data, such as one of opposite sign, is not seen.

    Attributes
    ----------
    classes_ : ndarray
    networks_ : dict of group to GaussianNetwork
        In the units of the data.
    parents_ : ndarray of shape (m, m), bool
        Edges, those of every group.
    order_ : ndarray of shape (m,)
        Columns, causes before effects.
    n_features_in_, feature_names_in_
        As in all of scikit-learn.

    Examples
    --------
    >>> from sgbn import simulate_cohort
    >>> from sgbn.inference import JointSGBN
    >>> cohort = simulate_cohort(60, regions=10)
    >>> joint = JointSGBN().fit(cohort.values, cohort.group)
    >>> sorted(joint.networks_)
    ['control', 'patient']
    """

    _parameters: ClassVar[Parameters] = {
        "learner": NONE | ESTIMATOR,
        "separate_parents": TRUTH,
    }

    def __init__(self, learner: SGBN | None = None, *, separate_parents: bool = True) -> None:
        self.learner = learner
        self.separate_parents = separate_parents

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn the networks.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Group of each row, two or more.
        """
        refuse_cohort(X, "cohort.values and cohort.group")
        if y is None:
            raise InputError("requires y to be passed, but the target y is None.")
        values = check_data(self, X)
        check_parameters(self)
        labels = read_labels(y, len(values))
        self.classes_, codes = np.unique(labels, return_inverse=True)
        sizes = np.bincount(codes)
        if len(sizes) < 2:
            raise InputError(
                f"y has one group, {shown(self.classes_[0])}: networks are learned together of "
                "two or more. Give all groups, or fit an SGBN to this one."
            )
        if sizes.min() < 3:
            raise InputError(
                f"group {shown(self.classes_[sizes.argmin()])} has {sizes.min()} rows: a network "
                "needs 3 or more. Add subjects, or leave this group out."
            )
        names = column_names(self, X)
        check_groups_vary(values, codes, self.classes_.tolist(), names)
        means = np.array([values[codes == c].mean(axis=0) for c in range(len(sizes))])
        residuals = values - means[codes]
        shared = SharedOrder(residuals, SGBN() if self.learner is None else self.learner, names)
        self.order_ = shared.order
        self.parents_ = shared.parents(residuals, codes, self.separate_parents)
        found = group_weights(residuals, codes, self.parents_)
        self._check_fitted(found, sizes, names)
        self.networks_ = {
            label: GaussianNetwork(own.weights, mean - mean @ own.weights, own.noise, names)
            for label, own, mean in zip(self.classes_.tolist(), found, means, strict=True)
        }
        return self

    def _check_fitted(self, found: list[GroupWeights], sizes: Indices, names: list[str]) -> None:
        """Refuse a group that is too small, or too collinear, for the parents of a region."""
        for group, own, n in zip(self.classes_, found, sizes, strict=True):
            bad = np.flatnonzero(np.isnan(own.noise))
            if bad.size:
                raise InputError(
                    f"the {n} rows of the group {shown(group)} do not determine the weights of the "
                    f"{self.parents_[:, bad[0]].sum()} parents of {names[bad[0]]!r}. Add subjects, "
                    "or leave out columns that copy others."
                )


def _learn(learner: SGBN, residuals: Array, names: list[str]) -> tuple[SGBN, Moments]:
    """Fit to an array whose columns have names, as a table's columns have."""
    check_parameters(learner)
    moments = learner.moments(residuals, names)
    warn_about_moments(moments, names)
    return learner.learn(moments, residuals, names), moments


def _places(moments: Moments) -> Indices:
    """Rank of each column by how much it correlates with all others, then by its content.

    Neither depends on the order of the columns.
    """
    total = np.square(moments.correlation).sum(axis=1)
    ranked = np.argsort(-np.round(total, TIE_DIGITS), kind="stable")  # in order of content
    return np.argsort(moments.columns[ranked])


def _covariance(rows: Array) -> Array:
    """Covariance matrix of centred rows."""
    S: Array = rows.T @ rows / len(rows)
    return S
