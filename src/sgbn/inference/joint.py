r"""Networks of several groups learned together, so that noise does not look like a difference.

One order serves all groups: that of the pooled covariance within the groups,
:math:`S = \sum_g n_g S_g / n`. The parents of a region are the union of those that the pooled data
and each group by itself choose along this order, so that an edge is there in all groups or in none,
and its weights, least squares in each group, can be compared.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone

from sgbn.exceptions import InputError, shown
from sgbn.gaussian import GaussianNetwork
from sgbn.graph.acyclicity import topological_order
from sgbn.solvers.order_search import parents_for
from sgbn.solvers.parent_trees import MOST_PARENTS, make_trees
from sgbn.solvers.regressions import regressions
from sgbn.structure import SGBN
from sgbn.structure.sgbn import SAMPLES_A_PARENT, ebic_prices
from sgbn.validation import check_data, column_names, read_labels

Array = NDArray[np.float64]
Graph = NDArray[np.bool_]

POOLED_GAMMA = 0.0  # BIC: the pooled parents are chosen without the labels, so that more do no harm
GROUP_GAMMA = 1.0


class GroupWeights(NamedTuple):
    """Weights of one group, their variances and noise variances."""

    weights: Array
    variances: Array
    noise: Array


class SharedOrder:
    """Order and pooled parents of rows that are centred in their groups.

    Parameters
    ----------
    residuals : ndarray of shape (n, m)
        Without nuisance effects.
    learner : SGBN
        Of the order.
    """

    def __init__(self, residuals: Array, learner: Any) -> None:
        self.learned = clone(learner).fit(residuals)
        self.order = np.asarray(topological_order(self.learned.coef_), dtype=np.int64)
        self.pooled = self.parents_of(_covariance(residuals), len(residuals), POOLED_GAMMA)

    def parents_of(self, S: Array, n: int, gamma: float) -> Graph:
        """Parents along the order by extended BIC, ``[i, j]`` for i -> j."""
        m = len(S)
        sd = np.sqrt(np.diag(S))
        most = max(1, min(n // SAMPLES_A_PARENT, MOST_PARENTS, m - 1))
        trees = make_trees(
            S / np.outer(sd, sd),
            np.full(m, float(n)),
            ebic_prices(n, m, gamma),
            False,
            most,
            np.ones((m, m), bool),
            np.zeros((m, m), bool),
        )
        return parents_for(trees, self.order).parents.T

    def parents(self, residuals: Array, codes: NDArray[np.intp], separate: bool = True) -> Graph:
        """Union of the pooled parents and those of each group."""
        union = self.pooled.copy()
        for c in range(int(codes.max()) + 1 if separate else 0):
            own = residuals[codes == c]
            union |= self.parents_of(_covariance(own), len(own), GROUP_GAMMA)
        return union


def group_weights(
    residuals: Array, codes: NDArray[np.intp], parents: Graph, lost: float = 0.0
) -> list[GroupWeights]:
    """Least squares in each group, on the same parents.

    `lost` is the share of the degrees of freedom that nuisance effects took from each group.
    """
    found = []
    for c in range(int(codes.max()) + 1):
        own = residuals[codes == c]
        n = len(own)
        found.append(GroupWeights(*regressions(_covariance(own), n, (1 - lost) * n, parents)))
    return found


class JointSGBN(BaseEstimator):
    """One network a group over one order, with the same edges in every group.

    Parameters
    ----------
    learner : SGBN, optional
        Finds the order in the pooled rows; `SGBN` by default.
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

    def __init__(self, learner: Any = None, *, separate_parents: bool = True) -> None:
        self.learner = learner
        self.separate_parents = separate_parents

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn the networks.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Group of each row.
        """
        if y is None:
            raise InputError("requires y to be passed, but the target y is None.")
        values = check_data(self, X)
        labels = read_labels(y, len(values))
        self.classes_, codes = np.unique(labels, return_inverse=True)
        sizes = np.bincount(codes)
        if sizes.min() < 3:
            raise InputError(
                f"group {shown(self.classes_[sizes.argmin()])} has {sizes.min()} rows: a network "
                "needs 3 or more."
            )
        means = np.array([values[codes == c].mean(axis=0) for c in range(len(sizes))])
        residuals = values - means[codes]
        shared = SharedOrder(residuals, SGBN() if self.learner is None else self.learner)
        self.order_ = shared.order
        self.parents_ = shared.parents(residuals, codes, self.separate_parents)
        names = column_names(self, X)
        found = group_weights(residuals, codes, self.parents_)
        self.networks_ = {
            label: GaussianNetwork(own.weights, mean - mean @ own.weights, own.noise, names)
            for label, own, mean in zip(self.classes_.tolist(), found, means, strict=True)
        }
        return self


def _covariance(rows: Array) -> Array:
    """Covariance matrix of centred rows."""
    S: Array = rows.T @ rows / len(rows)
    return S
