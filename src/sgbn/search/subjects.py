r"""The search for one graph that several subjects share, by the mean of their scores.

.. math:: \min_{DAG} \frac{1}{S} \sum_j \Big[ 2 \gamma \log \binom{m - 1}{k_j}
          + \sum_s \big( n_s \log RSS_{sj} + c \, k_j \log n_s \big) \Big], \qquad k_j = |PA_j|

S is the number of subjects, :math:`n_s` the effective number of volumes of subject s, c a penalty,
and :math:`\gamma` the result of `default_gamma`. Region j has :math:`k_j` parents, and
:math:`RSS_{sj}` is its residual sum of squares in subject s. The sum over subjects is the idea of
IMaGES (Ramsey and others 2010). Each subject has its own weights and noise variances, and only the
graph is shared. An edge enters if it is worth its price in the mean over subjects. A larger number
of subjects does not make a weak edge worth its price, but a few subjects with a very strong edge
can. The mean, unlike the sum, keeps scores on the scale for which the temperatures of annealing are
set.

The search on trees works on one sample, so it uses the mean correlations of all subjects. The
search on tables starts from its networks, and uses the score above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from sgbn.core.moments import Moments
from sgbn.core.types import Array, Indices, Mask
from sgbn.search.exact_order import best_network
from sgbn.search.network_search import search_on_trees, starting_orders
from sgbn.search.path_regression import SMALLEST_RSS
from sgbn.search.plan import MAX_EXACT_VARIABLES, SearchPlan
from sgbn.search.problem import ScoredNetwork, SearchProblem, default_gamma, ebic_prices
from sgbn.search.table_search import TablePlan, search_tables

MAX_START_NETWORKS = 4  # networks of the search on trees from which the search on tables starts
TABLES = TablePlan(
    n_candidates=12,
    n_further=4,
    n_islands=0,
    n_random=0,
    n_warm=2,
    n_crossed=0,
    steps=500,
    lists=("now", "partial", "last", "pool"),
    patience=2,
    max_rounds=12,
)


@dataclass(frozen=True)
class SubjectsProblem(SearchProblem):
    """A search problem over subjects. `R` and `n` are means over the subjects.

    Attributes
    ----------
    R_of_subjects : ndarray of shape (S, m, m)
        Correlations of each subject, with the variables in the order of `R`.
    n_of_subjects : ndarray of shape (S,)
        Effective number of volumes of each subject, divided by the number of subjects.
    """

    R_of_subjects: Array = field(kw_only=True)
    n_of_subjects: Array = field(kw_only=True)

    @property
    def samples(self) -> tuple[Array, Array]:
        """Correlations and weights of the subjects."""
        return self.R_of_subjects, self.n_of_subjects

    @classmethod
    def of_subjects(
        cls,
        R: Array,
        n: Array,
        edges: tuple[Mask, Mask],
        penalty: float,
        max_parents: int,
        names: Sequence[str],
    ) -> SubjectsProblem:
        """Return the problem, with variables sorted so that the order of columns has no effect.

        Parameters
        ----------
        R : ndarray of shape (S, m, m)
            Correlations of each subject. The correlation matrix of a region and its possible
            parents (at most `max_parents`) must be positive definite.
        n : ndarray of shape (S,)
            Effective number of volumes of each subject.
        edges : pair of ndarray of shape (m, m), bool
            The allowed and the required edges; ``[i, j]`` is i -> j.
        penalty : float
            The factor c above: the price of an edge is c times its price in BIC.
        max_parents : int
            Largest number of parents of a variable.
        names : sequence of str
            Names of the regions. They decide ties when the variables are sorted.
        """
        S, m = len(R), R.shape[1]
        # Tables are filled faster if subjects with equally many volumes follow one another.
        by_size = np.argsort(n, kind="stable")
        R, n = R[by_size], n[by_size]
        size = max(2, round(float(np.mean(n))))
        mean = np.tensordot(n / n.sum(), R, axes=1)
        moments = Moments.from_covariance(mean, size, list(names), ddof=0)
        plain = SearchProblem.of(moments, edges, default_gamma(size), max_parents, names)
        columns = plain.columns
        shared = {item.name: getattr(plain, item.name) for item in fields(plain)}
        # With n = 1 the term k log n is 0, and only the binomial term is left.
        choices = ebic_prices(1, m, default_gamma(size))
        k = np.arange(len(choices))
        shared["price"] = penalty * k * np.log(n).mean() + choices / S
        R_of_subjects = np.ascontiguousarray(R[:, columns[:, None], columns])
        n_of_subjects = np.ascontiguousarray(n / S)
        return cls(**shared, R_of_subjects=R_of_subjects, n_of_subjects=n_of_subjects)

    def score(self, parents: Mask) -> float:
        """Return the mean score of a network; ``parents[v, u]`` is u -> v."""
        R, n = self.samples
        total = 0.0
        for v, row in enumerate(parents):
            P = np.flatnonzero(row)
            total += float(self.price[len(P)])
            total += float(n @ np.log(np.maximum(residual_shares(R, v, P), SMALLEST_RSS)))
        return total


def residual_shares(R: Array, v: int, P: Indices) -> Array:
    """Return, for each subject, the share of the variance of v that the variables P leave."""
    right = R[:, P, v]
    weights = np.linalg.solve(R[:, P[:, None], P], right[:, :, None])[:, :, 0]
    return 1.0 - np.einsum("sp,sp->s", weights, right)


def search_subjects(
    problem: SubjectsProblem, rng: np.random.RandomState, plan: TablePlan = TABLES
) -> ScoredNetwork:
    """Return a network of low mean score.

    With at most `MAX_EXACT_VARIABLES` variables, no network has a lower mean score.
    """
    m = len(problem.R)
    if m <= MAX_EXACT_VARIABLES:
        return best_network(problem)
    trees = SearchPlan.for_size(problem.n, m, "fast")
    starts = starting_orders(problem.required, trees.n_starts, rng)
    seen: list[ScoredNetwork] = []
    seen.append(search_on_trees(problem, trees, starts, rng, seen=seen))
    best = sorted(seen, key=lambda network: network.score)[:MAX_START_NETWORKS]
    # The trees scored mean correlations. The search on tables needs the score over subjects.
    known = [network._replace(score=problem.score(network.parents)) for network in best]
    return search_tables(problem, known, problem.partial, plan, rng)
