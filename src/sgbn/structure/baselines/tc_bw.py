"""TC-bw: total conditioning with backward elimination (Pellet and Elisseeff, 2008)."""

from __future__ import annotations

import numpy as np

from sgbn.core.moments import Moments
from sgbn.core.types import Array, Graph
from sgbn.structure.baselines.blankets import blanket_matrix
from sgbn.structure.baselines.partial_correlation import IndependenceTest
from sgbn.structure.baselines.tc import TC, strengths_given_all_others


class TCbw(TC):
    """A network from total conditioning with backward elimination (TC-bw).

    It differs from `TC` in the moral graph. The blanket of a target variable begins with all other
    variables. The method removes the member that depends least on the target given the other
    members, and repeats this until all members depend on the target. Two variables are linked if
    each is in the blanket of the other.

    Parameters
    ----------
    significance : float, default=None
        As in `TC`.

    Attributes
    ----------
    coef_, coef_std_, intercept_, noise_variance_, order_, network_, pdag_, blankets_, consistent_
        As in `IAMB`.

    Raises
    ------
    InputError
        By `fit`, for the same reasons as in `TC`.

    References
    ----------
    The same as for `TC`.
    """

    def _blankets(self, test: IndependenceTest, moments: Moments) -> Graph:
        precision = self._precision(moments)
        return blanket_matrix(
            [_eliminate(precision, test.borders, i) for i in range(moments.m)],
        )


def _eliminate(precision: Array, borders: Array, target: int) -> list[int]:
    """Return the blanket of the target by backward elimination from all others.

    After each removal, the inverse correlation matrix of the remaining variables is computed from
    the matrix before the removal.
    """
    left = np.arange(len(precision))
    while left.size > 1:
        strengths = strengths_given_all_others(precision, borders)[left == target][0]
        strengths[left == target] = np.inf
        weakest = int(np.argmin(strengths))
        if strengths[weakest] >= 1.0:
            break
        row = precision[weakest]
        rest = np.arange(left.size) != weakest
        # The Schur complement is the inverse of the matrix without this variable, in O(m^2).
        precision = (precision - np.outer(row, row) / row[weakest])[np.ix_(rest, rest)]
        left = left[rest]
    return [int(k) for k in left if k != target]
