"""IAMB: Markov blankets by incremental association (Tsamardinos, Aliferis and Statnikov, 2003)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sgbn.moments import Moments
from sgbn.structure.baselines.base import ConstraintEstimator
from sgbn.structure.baselines.blankets import blanket_matrix, shrink
from sgbn.structure.baselines.partial_correlation import IndependenceTest
from sgbn.types import Graph


class IAMB(ConstraintEstimator):
    """Network by incremental association Markov blankets (IAMB).

    The blanket of a variable grows by the one that depends on it most, given those found so far;
    then members that the others separate from it are removed. Two variables in each other's
    blanket are joined unless a subset of the smaller blanket separates them; i - k - j, the ends
    apart, becomes i -> k <- j unless k and a subset of the smaller blanket of i and j separate
    them; the strongest of contradicting evidence counts, and Meek's rules direct what follows.
    Blankets and graph equal those of bnlearn's ``iamb`` with ``test="zf"``. The time grows as 2 to
    the size of the blankets.

    Parameters
    ----------
    significance : float, default=0.05
        Level of each test (Fisher's z). What is not testable, because the blanket has as many
        members as there are samples but three, counts as independent.

    Attributes
    ----------
    pdag_ : ndarray of bool, shape (n_features, n_features)
        The learned graph: i -> j where ``pdag_[i, j]`` alone is set, i - j where ``pdag_[j, i]``
        is set as well.
    blankets_ : ndarray of bool, shape (n_features, n_features)
        ``blankets_[i, j]`` says that j was found in the blanket of i.
    consistent_ : bool
        Whether some DAG has the arrows and the v-structures of `pdag_`. Tests can contradict each
        other; then `coef_` has every edge still, but arrows on a directed cycle were turned, as
        few as a greedy search needs, or a v-structure was added.
    coef_, coef_std_, intercept_, noise_variance_, order_, network_
        As in `ORSGBN`, for one of the DAGs that `pdag_` stands for, by least squares.

    References
    ----------
    I. Tsamardinos, C. Aliferis and A. Statnikov, Algorithms for large scale Markov blanket
    discovery, FLAIRS 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.structure.baselines import IAMB
    >>> a = np.random.default_rng(0).standard_normal((500, 3))
    >>> a[:, 2] += a[:, 0] + a[:, 1]
    >>> IAMB().fit(a).pdag_.astype(int)
    array([[0, 0, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """

    def _blankets(self, test: IndependenceTest, moments: Moments) -> Graph:
        return blanket_matrix([self._blanket(test, i) for i in range(moments.m)])

    def _blanket(self, test: IndependenceTest, target: int) -> list[int]:
        """Grow, then shrink."""
        blanket: list[int] = []
        while (added := strongest(test, target, blanket)) is not None:
            blanket.append(added)
        return self._shrink(test, target, blanket)

    def _shrink(self, test: IndependenceTest, target: int, blanket: list[int]) -> list[int]:
        return shrink(test, target, blanket)


def strongest(test: IndependenceTest, target: int, blanket: Sequence[int]) -> int | None:
    """Variable that depends most on the target given the blanket; None if none depends on it."""
    strengths = test.strengths(target, blanket)
    best = int(np.argmax(strengths))
    return best if strengths[best] >= 1.0 else None
