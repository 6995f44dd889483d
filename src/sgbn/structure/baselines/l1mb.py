"""L1MB: lasso neighbourhoods, then a greedy search (Schmidt, Niculescu-Mizil and Murphy, 2007)."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning

from sgbn.core.equivalence import cpdag, skeleton
from sgbn.core.exceptions import warn
from sgbn.core.moments import Moments
from sgbn.structure.baselines.base import GraphEstimator, LearnedGraph
from sgbn.structure.baselines.hill_climbing import hill_climbing
from sgbn.structure.neighbourhood import neighbourhoods_by_bic


class L1MB(GraphEstimator):
    """A network from L1-regularised Markov blankets and a greedy search (L1MB).

    A lasso of each variable on all others has one support per penalty. The blanket of the variable
    is the support with the best BIC. An edge between two variables is allowed if one of them is in
    the blanket of the other ("or", not "and"). A greedy search then adds, deletes and reverses
    allowed edges, the best move first, until no move improves the BIC. There are no parameters.

    Attributes
    ----------
    pdag_ : ndarray of bool, shape (n_features, n_features)
        The CPDAG of the learned DAG.
    consistent_ : bool
        Always True, because `pdag_` comes from a DAG.
    coef_, coef_std_, intercept_, noise_variance_, order_, network_, blankets_
        As in `IAMB`.

    References
    ----------
    M. Schmidt, A. Niculescu-Mizil and K. Murphy, Learning graphical model structure using
    L1-regularization paths, AAAI 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.structure.baselines import L1MB
    >>> a = np.random.default_rng(0).standard_normal((500, 3))
    >>> a[:, 2] += a[:, 0] + a[:, 1]
    >>> L1MB().fit(a).network_
    GaussianNetwork(3 variables, 2 edges)
    """

    def learn_graph(self, moments: Moments) -> LearnedGraph:
        """Return the graph that the greedy search finds among the edges of the blankets."""
        blankets = neighbourhoods_by_bic(moments.R, moments.m, moments.n) != 0
        search = hill_climbing(moments.R, moments.n, skeleton(blankets))
        if not search.converged:
            warn(
                f"the greedy search stopped after {search.n_iter} moves, although a further move "
                f"would gain {search.violation:.1e} per sample. Some columns are nearly collinear. "
                "Drop one of these columns.",
                ConvergenceWarning,
            )
        return LearnedGraph(blankets, cpdag(search.x), search.x)
