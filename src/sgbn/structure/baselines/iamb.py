"""IAMB: Markov blankets by incremental association (Tsamardinos, Aliferis and Statnikov, 2003)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sgbn.core.moments import Moments
from sgbn.core.types import Graph
from sgbn.structure.baselines.base import ConstraintEstimator
from sgbn.structure.baselines.blankets import blanket_matrix, shrink
from sgbn.structure.baselines.partial_correlation import IndependenceTest


class IAMB(ConstraintEstimator):
    """A network from Markov blankets by incremental association (IAMB).

    The blanket of a target variable grows step by step. Each step adds the variable that depends
    most on the target, given the blanket so far. Then the method removes each member that is
    independent of the target given the other members. Two variables in each other's blanket are
    joined, unless a subset of the smaller blanket separates them. Arrows come from triples
    ``i - k - j`` in which i and j are not joined. Such a triple becomes ``i -> k <- j``, unless k
    together with a subset of the blanket of i or of j, whichever is smaller, separates i and j. If
    triples contradict each other, the triple with the strongest dependence counts. Meek's rules
    direct further edges. Blankets and graph are the same as from ``iamb`` of bnlearn with
    ``test="zf"``. The time grows as 2 to the power of the size of the blankets.

    Parameters
    ----------
    significance : float, default=0.05
        Level of each test (Fisher's z). With n samples, a pair cannot be tested given n - 3 or more
        variables, and then counts as independent.

    Attributes
    ----------
    pdag_ : ndarray of bool, shape (n_features, n_features)
        The learned graph. If only ``pdag_[i, j]`` is set, the edge is i -> j. If ``pdag_[j, i]`` is
        set as well, its direction is open.
    blankets_ : ndarray of bool, shape (n_features, n_features)
        ``blankets_[i, j]`` is True if j was found in the blanket of i.
    consistent_ : bool
        Whether some DAG has the arrows and the v-structures of `pdag_`. It is False if tests
        contradict each other. In this case `coef_` still has every edge, but arrows on a directed
        cycle were reversed, or a v-structure was added. A greedy search chooses few arrows to
        reverse.
    coef_, coef_std_, intercept_, noise_variance_, order_, network_
        As in `ORSGBN`, from least squares on one DAG with the edges of `pdag_`.

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
        """Return the blanket of the target, which first grows and then shrinks."""
        blanket: list[int] = []
        while (added := strongest(test, target, blanket)) is not None:
            blanket.append(added)
        return self._shrink(test, target, blanket)

    def _shrink(self, test: IndependenceTest, target: int, blanket: list[int]) -> list[int]:
        """Return the blanket without false members; other methods replace this step."""
        return shrink(test, target, blanket)


def strongest(test: IndependenceTest, target: int, blanket: Sequence[int]) -> int | None:
    """Return the variable that depends most on the target given the blanket.

    If no variable depends on the target, return None.
    """
    strengths = test.strengths(target, blanket)
    best = int(np.argmax(strengths))
    return best if strengths[best] >= 1.0 else None
