"""TC-bw: total conditioning with backward elimination (Pellet and Elisseeff, 2008)."""

from __future__ import annotations

import numpy as np

from sgbn.moments import Moments
from sgbn.structure.baselines.blankets import blanket_matrix
from sgbn.structure.baselines.partial_correlation import IndependenceTest
from sgbn.structure.baselines.tc import TC, strengths_given_all_others
from sgbn.types import Array, Graph


class TCbw(TC):
    """Network by total conditioning with backward elimination (TC-bw).

    As `TC`, but the blanket of a variable is what is left when, from all others, the one that
    depends on it least given the rest is removed again and again, until all depend on it. Two
    variables are linked where each is in the blanket of the other.

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
        As `TC` does.

    References
    ----------
    As of `TC`.
    """

    def _blankets(self, test: IndependenceTest, moments: Moments) -> Graph:
        precision = self._precision(moments)
        return blanket_matrix(
            [_eliminate(precision, test.borders, i) for i in range(moments.m)],
        )


def _eliminate(precision: Array, borders: Array, target: int) -> list[int]:
    """Blanket of the target by backward elimination from all others.

    To leave a variable out is to marginalise it: its row is swept from the inverse correlation
    matrix of those that are left.
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
        # Schur complement: the inverse of the matrix without this variable, in O(m^2)
        precision = (precision - np.outer(row, row) / row[weakest])[np.ix_(rest, rest)]
        left = left[rest]
    return [int(k) for k in left if k != target]
