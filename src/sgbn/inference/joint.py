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
from sgbn.inference.rows import check_groups_vary, refuse_cohort, too_few
from sgbn.moments import Moments
from sgbn.parameters import ESTIMATOR, NONE, TRUTH, Parameters, check_parameters
from sgbn.search.order_search import parents_for
from sgbn.search.plan import most_parents
from sgbn.search.problem import MOST_PARENTS, ParentProblem, ebic_prices
from sgbn.search.tree_arrays import make_trees
from sgbn.structure import SGBN
from sgbn.structure.knowledge import Knowledge
from sgbn.types import Array, Graph, Indices
from sgbn.validation import check_data, column_names, read_labels, warn_about_moments

POOLED_GAMMA = 0.0  # BIC: the pooled parents are chosen without the labels, so that more do no harm
# Extended BIC at its strictest: parents that one group chooses have seen the labels.
GROUP_GAMMA = 1.0
MIN_SUBJECTS_PER_GROUP = 3  # two rows are on a line: all correlations would be 1
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
        Rows without nuisance effects.
    learner : SGBN
        The estimator whose order is used.
    names : sequence of str
        Names of the columns, which prior knowledge and warnings use.
    penalty : float
        Factor of the usual price of each parent. A smaller one finds more parents.
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
        # Among equivalent orders a fixed one, which depends on content and not on the place of
        # columns.
        self.order = known_order(learned.coef_ != 0, known.directions, _places(moments))
        rank = np.argsort(self.order)
        # [child, parent], as the search has it: the transpose of all other matrices here.
        self.allowed = known.allowed.T & (rank[:, None] > rank)  # of those that come before
        self.required = known.required.T
        self.max_parents = learner.max_parents
        self.penalty = penalty

    def parents_of(self, S: Array, n: int, gamma: float, most: int = MOST_PARENTS) -> Graph:
        """Parents along the order by extended BIC, ``[i, j]`` for i -> j, at most `most`."""
        m, sd = len(S), np.sqrt(np.diag(S))
        most = min(most, most_parents(n, m, self.max_parents))
        known = self.allowed, self.required
        # Extended BIC asks more of parents that one group alone shows: m candidates for each child
        # compete.
        prices = self.penalty * ebic_prices(n, m, gamma)
        problem = ParentProblem(S / np.outer(sd, sd), n, prices, most, *known)
        return parents_for(make_trees(problem), self.order).parents.T

    def parents(self, residuals: Array, codes: Indices, separate: bool = True) -> Graph:
        """Union of the pooled parents and those of each group."""
        union = self.parents_of(_covariance(residuals), len(residuals), POOLED_GAMMA)
        for c in range(int(codes.max()) + 1 if separate else 0):
            rows = residuals[codes == c]
            union |= self.parents_of(_covariance(rows), len(rows), GROUP_GAMMA)
        return union


def covariances(residuals: Array, codes: Indices) -> list[tuple[Array, int]]:
    """Covariance matrix and number of rows of each group."""
    parts = (residuals[codes == c] for c in range(int(codes.max()) + 1))
    return [(_covariance(rows), len(rows)) for rows in parts]


def weights_on(
    groups: Sequence[tuple[Array, int]], parents: Graph, lost: float | None = None
) -> list[GroupWeights]:
    """Return least squares in each group on the same parents, from `covariances`.

    `lost` is the share of the degrees of freedom that nuisance effects took from each group. By
    default each group lost one, its mean.
    """
    weights = []
    for S, n in groups:
        # Nuisance effects were estimated over all groups, so that each pays its share.
        freedom = n - 1.0 if lost is None else (1 - lost) * n
        weights.append(GroupWeights(*regressions(S, n, freedom, parents)))
    return weights


class JointSGBN(BaseEstimator):
    """One network per group over one order, with the same edges in every group.

    Parameters
    ----------
    learner : SGBN, optional
        The estimator that finds the order in the pooled rows; by default `SGBN()`. Its prior
        knowledge holds in all groups.
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

    _parameters: ClassVar[Parameters] = {"learner": NONE | ESTIMATOR, "separate_parents": TRUTH}

    def __init__(self, learner: SGBN | None = None, *, separate_parents: bool = True) -> None:
        self.learner = learner
        self.separate_parents = separate_parents

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn the networks.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of all groups.
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
                f"y has one group, {shown(self.classes_[0])}: two or more are needed to learn "
                "networks together. Give all groups, or fit an SGBN to this one."
            )
        if sizes.min() < MIN_SUBJECTS_PER_GROUP:
            smallest = f"group {shown(self.classes_[sizes.argmin()])}"
            remedy = "Add subjects, or leave this group out."
            raise InputError(
                too_few(smallest, sizes.min(), "a network needs", MIN_SUBJECTS_PER_GROUP, remedy)
            )
        names = column_names(self, X)
        check_groups_vary(values, codes, self.classes_.tolist(), names)
        # Differences of means would look like edges in the pooled rows.
        means = np.array([values[codes == c].mean(axis=0) for c in range(len(sizes))])
        residuals = values - means[codes]
        shared = SharedOrder(residuals, SGBN() if self.learner is None else self.learner, names)
        self.order_ = shared.order
        self.parents_ = shared.parents(residuals, codes, self.separate_parents)
        weights = weights_on(covariances(residuals, codes), self.parents_)
        self._check_fitted(weights, sizes, names)
        self.networks_ = {
            label: GaussianNetwork(group.weights, mean - mean @ group.weights, group.noise, names)
            for label, group, mean in zip(self.classes_.tolist(), weights, means, strict=True)
        }
        return self

    def _check_fitted(self, weights: list[GroupWeights], sizes: Indices, names: list[str]) -> None:
        """Refuse a group that is too small, or too collinear, for the parents of a region."""
        for name, group, n in zip(self.classes_, weights, sizes, strict=True):
            bad = np.flatnonzero(np.isnan(group.noise))
            if bad.size:
                raise InputError(
                    f"the {n} rows of the group {shown(name)} do not determine the weights of the "
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
