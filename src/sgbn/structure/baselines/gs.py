"""GS: Markov blankets by growing and shrinking (Margaritis and Thrun, 1999)."""

from __future__ import annotations

import numpy as np

from sgbn.core.moments import Moments
from sgbn.core.types import Graph, Indices
from sgbn.structure.baselines.base import ConstraintEstimator
from sgbn.structure.baselines.blankets import blanket_matrix, shrink
from sgbn.structure.baselines.partial_correlation import IndependenceTest


class GS(ConstraintEstimator):
    """A network from Markov blankets that grow and shrink (GS).

    The blanket of a variable grows step by step. Each step adds the first column that depends on
    the variable given the blanket so far. Then the method removes each member that is independent
    of the variable given the other members. Edges and arrows follow from the blankets as in `IAMB`.
    **The result depends on the order of the columns**: use `IAMB` unless you want to compare with
    this method. Blankets and graph are the same as from ``gs`` of bnlearn with ``test="zf"``.

    Parameters
    ----------
    significance : float, default=0.05
        Level of each test (Fisher's z).

    Attributes
    ----------
    coef_, coef_std_, intercept_, noise_variance_, order_, network_, pdag_, blankets_, consistent_
        As in `IAMB`.

    References
    ----------
    D. Margaritis and S. Thrun, Bayesian network induction via local neighborhoods, NIPS 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.structure.baselines import GS
    >>> a = np.random.default_rng(0).standard_normal((500, 3))
    >>> a[:, 2] += a[:, 0] + a[:, 1]
    >>> GS().fit(a).network_
    GaussianNetwork(3 variables, 2 edges)
    """

    def _blankets(self, test: IndependenceTest, moments: Moments) -> Graph:
        """Return the blankets, which grow in the order of the user's columns and then shrink."""
        # The user's columns from left to right, as in bnlearn. The canonical order would hide how
        # much the method depends on the order of the columns.
        order = np.argsort(moments.columns)
        return blanket_matrix(
            [shrink(test, i, _grow(test, i, order)) for i in range(moments.m)],
        )


def _grow(test: IndependenceTest, target: int, order: Indices) -> list[int]:
    """Return the blanket of the target after growth.

    Each step adds the first variable in `order` that depends on the target given the blanket.
    """
    blanket: list[int] = []
    while True:
        dependent = test.strengths(target, blanket)[order] >= 1.0
        if not dependent.any():
            return blanket
        blanket.append(int(order[np.argmax(dependent)]))
