r"""Networks of several groups learned together, so that noise does not look like a difference.

All groups share one order. It is learned from the pooled covariance within the groups,
:math:`S = \sum_g n_g S_g / n`, where group g has :math:`n_g` of n rows and the covariance
:math:`S_g`. Along this order, the pooled data and each single group choose parents of each region.
All groups get the union of these parents. So an edge is in all groups or in none, and its
least-squares weights in the groups can be compared.

Least squares of every variable j on its parents P, from a covariance matrix S of n rows.

.. math:: b = S_{PP}^{-1} S_{Pj}, \qquad s^2 = \frac{n (S_{jj} - b^T S_{Pj})}{\nu - |P|}, \qquad
          \operatorname{var}(b) = s^2 \operatorname{diag}(S_{PP}^{-1}) / n

where b are the weights, :math:`s^2` is the residual variance, and :math:`\nu` are the degrees of
freedom before any parent is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from sgbn.cohort.rows import check_groups_vary, refuse_cohort, row_order
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.graph import known_order
from sgbn.core.jit import jit_inside, jit_loops
from sgbn.core.moments import Moments
from sgbn.core.problems import InputError
from sgbn.core.types import Array, Graph, Indices, Mask
from sgbn.core.validation import (
    ESTIMATOR,
    NONE,
    TRUTH,
    allowed,
    check_classification,
    check_parameters,
    column_names,
    warn_about_moments,
)
from sgbn.inference.influence import list_marked
from sgbn.learn.base import check_kind
from sgbn.learn.classifier import check_class_sizes
from sgbn.learn.knowledge import Knowledge
from sgbn.learn.search.orders import parents_for
from sgbn.learn.search.plan import MOST_PARENTS, ParentProblem, ebic_prices, most_parents
from sgbn.learn.search.trees import make_trees
from sgbn.learn.sgbn import SGBN

# BIC. Pooled parents are chosen without the group labels, so that more of them do no harm.
POOLED_GAMMA = 0.0
# The strictest extended BIC, since the parents of a single group are chosen with the labels.
GROUP_GAMMA = 1.0
MIN_SUBJECTS_PER_GROUP = 3  # with two rows, all correlations would be 1 or -1
TIE_DIGITS = 9  # decimals of a sum of squared correlations; further digits are round-off


class GroupWeights(NamedTuple):
    """The weights of one group, their variances, and the noise variances of the regions."""

    weights: Array
    variances: Array
    noise: Array


class SharedOrder:
    """The order of the regions that all groups share, and the choice of parents along it.

    The learner's prior knowledge holds for the parents of the pooled rows and of each group.

    Parameters
    ----------
    residuals : ndarray of shape (n, m)
        Rows without nuisance effects, centred in their groups.
    learner : SGBN
        The estimator whose order is used.
    names : sequence of str
        Names of the columns, which prior knowledge and warnings use.
    penalty : float
        Factor of the usual penalty for a parent. A smaller factor finds more parents.
    """

    def __init__(
        self, residuals: Array, learner: Any, names: Sequence[str], penalty: float = 1.0
    ) -> None:
        check_kind(learner, SGBN)  # no other learner finds an order
        learned, moments = _learn(clone(learner), residuals, list(names))
        known = cast(Knowledge, learned.arrows_.knowledge)  # every SGBN has it, perhaps empty
        # One of the equivalent orders is chosen by content, not by the positions of columns.
        self.order = known_order(learned.coef_ != 0, known.directions, _places(moments))
        rank = np.argsort(self.order)
        # [child, parent], as the search needs it: the transpose of all other matrices here. Only
        # regions that come before the child are allowed.
        self.allowed = known.allowed.T & (rank[:, None] > rank)
        self.required = known.required.T
        self.max_parents = learner.max_parents
        self.penalty = penalty

    def parents_of(self, S: Array, n: int, gamma: float, most: int = MOST_PARENTS) -> Graph:
        """Return at most `most` parents of each region, ``[i, j]`` for i -> j, by extended BIC."""
        m, sd = len(S), np.sqrt(np.diag(S))
        most = min(most, most_parents(n, m, self.max_parents))
        # Extended BIC (gamma above 0) is stricter, since m candidates compete for each child.
        prices = self.penalty * ebic_prices(n, m, gamma)
        problem = ParentProblem(S / np.outer(sd, sd), n, prices, most, self.allowed, self.required)
        return parents_for(make_trees(problem), self.order).parents.T

    def parents(self, residuals: Array, codes: Indices, separate: bool = True) -> Graph:
        """Return the union of the pooled parents and, if `separate`, of each group's parents."""
        union = self.parents_of(_covariance(residuals), len(residuals), POOLED_GAMMA)
        for c in range(int(codes.max()) + 1 if separate else 0):
            rows = residuals[codes == c]
            union |= self.parents_of(_covariance(rows), len(rows), GROUP_GAMMA)
        return union


def covariances(residuals: Array, codes: Indices) -> list[tuple[Array, int]]:
    """Return the covariance matrix and the number of rows of each group."""
    parts = (residuals[codes == c] for c in range(int(codes.max()) + 1))
    return [(_covariance(rows), len(rows)) for rows in parts]


def weights_on(
    groups: Sequence[tuple[Array, int]], parents: Graph, lost: float | None = None
) -> list[GroupWeights]:
    """Return least-squares weights of each group on the same parents.

    `groups` comes from `covariances`. `lost` is the share of the degrees of freedom that nuisance
    effects used up in each group. By default each group lost one degree of freedom, for its mean.
    """
    weights = []
    for S, n in groups:
        # Nuisance effects were estimated over all groups. So each group loses its share.
        freedom = n - 1.0 if lost is None else (1 - lost) * n
        weights.append(GroupWeights(*regressions(S, n, freedom, parents)))
    return weights


@dataclass(eq=False, repr=False)
class JointSGBN(BaseEstimator):
    """A learner of one network per group, with the same order and the same edges in every group.

    Parameters
    ----------
    learner : SGBN, optional
        The estimator that finds the order in the pooled rows. The default is `SGBN()`. Its prior
        knowledge holds in all groups.
    separate_parents : bool
        Whether parents that only one group chooses are added. Without them an edge is not found if
        its weights cancel in the pooled data, for example because their signs are opposite.

    Attributes
    ----------
    classes_ : ndarray
        Names of the groups, sorted.
    networks_ : dict of group to GaussianNetwork
        Network of each group, in the units of the data.
    parents_ : ndarray of shape (m, m), bool
        The edges of every group; ``parents_[i, j]`` is i -> j.
    order_ : ndarray of shape (m,)
        Column numbers, causes before effects.
    n_features_in_, feature_names_in_
        Number and names of the columns, as in every estimator of scikit-learn.

    Examples
    --------
    >>> from sgbn.cohort.simulate import simulate_cohort
    >>> from sgbn.inference.joint import JointSGBN
    >>> cohort = simulate_cohort(60, regions=10)
    >>> joint = JointSGBN().fit(cohort.values, cohort.group)
    >>> sorted(joint.networks_)
    ['control', 'patient']
    """

    learner: SGBN | None = allowed(None, NONE | ESTIMATOR)
    _: KW_ONLY
    separate_parents: bool = allowed(True, TRUTH)

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn one network per group.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of all groups.
        y : array-like of shape (n_samples,)
            Group of each row. There must be two or more groups.
        """
        refuse_cohort(X)
        values, labels, self.classes_ = check_classification(self, X, y)
        check_parameters(self)
        codes = np.searchsorted(self.classes_, labels)
        order = row_order(values, None, codes)
        values, codes = values[order], codes[order]
        sizes = np.bincount(codes)
        check_class_sizes(self.classes_.tolist(), sizes, MIN_SUBJECTS_PER_GROUP)
        names = column_names(self, X)
        check_groups_vary(values, codes, self.classes_.tolist(), names)
        # Rows are centred by group: differences of means would look like edges in the pooled rows.
        means = np.array([values[codes == c].mean(axis=0) for c in range(len(sizes))])
        residuals = values - means[codes]
        shared = SharedOrder(residuals, SGBN() if self.learner is None else self.learner, names)
        self.order_ = shared.order
        self.parents_ = shared.parents(residuals, codes, self.separate_parents)
        weights = weights_on(covariances(residuals, codes), self.parents_)
        check_weights(weights, self.classes_.tolist(), names)
        self.networks_ = {
            label: GaussianNetwork(group.weights, mean - mean @ group.weights, group.noise, names)
            for label, group, mean in zip(self.classes_.tolist(), weights, means, strict=True)
        }
        return self


def check_weights(
    weights: Sequence[GroupWeights], groups: Sequence[Any], names: Sequence[str]
) -> None:
    """Raise InputError if a group is too small or too collinear for a region's parents."""
    for fitted, group in zip(weights, groups, strict=True):
        unknown = np.flatnonzero(np.isnan(fitted.noise)).tolist()
        if unknown:
            raise InputError("parents.undetermined", group=group, region=names[unknown[0]]).says(
                "the rows of group {group} do not determine the weights of the parents of {region}",
                "Add subjects, or leave out regions that are sums or copies of others.",
            )


def _learn(learner: SGBN, residuals: Array, names: list[str]) -> tuple[SGBN, Moments]:
    """Fit a learner to an array with named columns; return it and the moments of the array."""
    check_parameters(learner)
    moments = learner.moments(residuals, names)
    warn_about_moments(moments, names)
    return learner.learn(moments, residuals, names), moments


def _places(moments: Moments) -> Indices:
    """Return a rank of the columns that does not depend on their positions.

    Columns are ranked by the sum of their squared correlations with all others, then by content.
    """
    total = np.square(moments.correlation).sum(axis=1)
    # The moments hold columns in the order of their content, which breaks ties.
    ranked = np.argsort(-np.round(total, TIE_DIGITS), kind="stable")
    return np.argsort(moments.columns[ranked])


def _covariance(rows: Array) -> Array:
    """Return the covariance matrix of centred rows."""
    return rows.T @ rows / len(rows)


SINGULAR = 1e-12  # pivot as a share of the variance; below it, other parents determine a parent


def regressions(S: Array, n: float, freedom: float, parents: Mask) -> tuple[Array, Array, Array]:
    """Return the weights, their variances and the residual variances; ``parents[i, j]`` is i -> j.

    If the parents of a variable determine each other, or leave it no degree of freedom, all its
    weights are 0 with infinite variances, and its residual variance is NaN.
    """
    m = len(S)
    B, V, noise = np.zeros((m, m)), np.zeros((m, m)), np.empty(m)
    parent_list, L, column = np.empty(m, np.int64), np.empty((m + 1, m + 1)), np.empty(m)
    # With another memory layout the kernel would be compiled again, which takes seconds.
    S, is_parent = np.array(S, float, order="C"), np.array(parents.T, bool, order="C")
    _fill(S, float(n), float(freedom), is_parent, parent_list, L, column, B, V, noise)
    return B, V, noise


@jit_loops
def _fill(S, n, freedom, is_parent, parent_list, L, column, B, V, noise):  # type: ignore[no-untyped-def]
    """Fill `B`, `V` (both zero) and `noise` of `regressions`; ``is_parent[j, i]`` is i -> j.

    `parent_list`, `L` and `column` are work space.
    """
    for j in range(noise.size):
        # The child is the last row of the factor. Its pivot is then the residual variance, without
        # another pass.
        k = list_marked(is_parent[j], parent_list)
        for a in range(k):
            for h in range(k):
                L[a, h] = S[parent_list[a], parent_list[h]]
            L[k, a] = S[parent_list[a], j]
        L[k, k] = S[j, j]
        usable = freedom > k and _factor(L, k)
        if not usable:
            # NaN and infinite variances mark a region without a regression. Callers name it or
            # leave it out. An error here would stop a permutation.
            noise[j] = np.nan
            for a in range(k):
                V[parent_list[a], j] = np.inf
            continue
        # S was divided by n, not by the degrees of freedom. If the parents determine the region,
        # round-off may make the pivot negative.
        noise[j] = n * max(L[k, k], 0.0) / (freedom - k)
        _solve(L, k, parent_list, j, column, B, V)
        for a in range(k):
            V[parent_list[a], j] *= noise[j] / n


@jit_inside
def _factor(L, k):  # type: ignore[no-untyped-def]
    """Replace L by its Cholesky factor; return False if the parents determine each other.

    The first k rows belong to the parents, the last row to the child. ``L[k, k]`` becomes the
    residual variance.
    """
    for i in range(k + 1):
        spread = L[i, i]
        for j in range(i + 1):
            rest = L[i, j]
            for h in range(j):
                rest -= L[i, h] * L[j, h]
            if i > j:
                L[i, j] = rest / L[j, j]
            elif i == k:
                L[k, k] = rest
            # Only the pivot of the child (i == k) may be 0, since nothing is divided by it.
            elif rest > SINGULAR * spread:
                L[i, i] = np.sqrt(rest)
            else:
                return False
    return True


@jit_inside
def _solve(L, k, parent_list, j, column, B, V):  # type: ignore[no-untyped-def]
    """Fill `B` with the weights of j's parents, and `V` with the inverse Gram matrix's diagonal.

    `column` is work space.
    """
    for a in range(k - 1, -1, -1):
        weight = L[k, a]
        for h in range(a + 1, k):
            weight -= L[h, a] * B[parent_list[h], j]
        B[parent_list[a], j] = weight / L[a, a]
    for a in range(k):  # columns of the inverse factor
        for h in range(a, k):
            total = 1.0 if h == a else 0.0
            for i in range(a, h):
                total -= L[h, i] * column[i]
            column[h] = total / L[h, h]
            # The diagonal of the inverse Gram matrix is the sum of the squared entries of each
            # column of the inverse factor.
            V[parent_list[a], j] += column[h] ** 2
