r"""NetworkPosterior: how likely each arrow is, if the model is true.

The posterior of a DAG G, given n samples X of m variables, is

.. math:: p(G | X) \propto \prod_j n^{-k_j / 2} (m - 1)^{-\gamma k_j} \, RSS_j^{-n / 2}

Variable j has :math:`k_j` parents, and :math:`RSS_j` is the residual sum of squares of its
regression on them. The likelihood is the one of the Bayesian information criterion. The prior odds
of every arrow are :math:`(m - 1)^{-\gamma}`.

Networks drawn from their posterior, with the variables in the canonical order.

The parents of a variable come from a few candidates. Candidates and starting points come from fast
searches.

Measures of whether several chains have found the same networks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.moments import Moments, one_blas_thread
from sgbn.core.problems import Problem
from sgbn.core.types import Array, Mask
from sgbn.core.validation import POSITIVE, SEED, SHARE, Whole, allowed
from sgbn.learn.base import Arrows, NetworkEstimator, least_squares
from sgbn.learn.confidence import consensus
from sgbn.learn.knowledge import Knowledge, check_few_required
from sgbn.learn.search.chain import Visited, arrow_shares, run_chain
from sgbn.learn.search.plan import (
    MOST_PARENTS,
    SearchPlan,
    SearchProblem,
    default_gamma,
    most_parents,
)
from sgbn.learn.search.search import search_network
from sgbn.learn.search.tables import ScoreTables, candidate_parents, log_totals, score_tables
from sgbn.learn.sgbn import SGBN, SearchParameters

MAX_R_HAT = 1.1  # the usual limit for chains that have found the same networks
MAX_DIFFERENCE = 0.2  # largest difference of an arrow's probability between two chains
BURN_STEPS_PER_VARIABLE = 300  # steps before the first network is kept
MAX_CANDIDATES = 18  # candidate parents; the table of all their sets has 2 MB per variable
RIDGE = 1e-9  # added to a unit diagonal, so that copies of a column share their weight
LEVEL = 0.95  # level of the intervals


class Averaged(NamedTuple):
    """A mean over networks and their weights, and the ends of the interval with share `level`."""

    mean: Array
    low: Array
    high: Array


@dataclass(eq=False, repr=False, kw_only=True)
class NetworkPosterior(SearchParameters, NetworkEstimator):
    r"""The posterior distribution of networks, for data that come from a sparse Gaussian network.

    On real brain tables it is too sure. Of the arrows with a probability above .98, 46 % came back
    in other subjects with the same direction, and 21 % with the opposite direction (halves of the
    controls of ABIDE, ``benchmarks/replication.py --study posterior``). `SGBNEnsemble` has shares
    of half samples, which do not depend on the model being true.

    Parameters
    ----------
    gamma : float, default=0.75
        The prior odds of every arrow are :math:`(m - 1)^{-\gamma}` for m variables.
    max_parents : int, optional
        The largest number of parents of a variable. It is never more than 60, or more than a third
        of the number of samples. This limit is the default.
    n_candidates : int, default=11
        Number of candidate parents of each variable. These are its neighbours in several searches,
        and then the variables that add most to them. One more candidate doubles time and memory.
    n_chains : int, default=4
        Number of chains. Each starts from its own search.
    n_networks : int, default=1000
        Number of networks that each chain keeps.
    thin : float, default=2.0
        Number of steps per variable from one network that is kept to the next.
    forbidden, required : list of (source, target), optional
        Edges that the network must not have, and edges that it must have. Variables are given by
        column name or index.
    tiers : list of lists, or mapping from variable to tier, optional
        Groups of variables, the earliest first; see `SGBN`.
    outliers : {"trim", "keep"}, default="trim"
        "trim" leaves out rows that lie far from all others; see `SGBN`.
    random_state : int, default=0
        Seed of the searches and of the chains.

    Attributes
    ----------
    arrow_probability_ : ndarray of shape (m, m)
        Probability of i -> j.
    r_hat_ : float
        R-hat of the log posterior. If it is above 1.1, the halves of the chains have not found the
        same networks, and `fit` warns.
    largest_difference_ : float
        Largest difference of an arrow's probability between two chains.
    networks_ : ndarray of shape (n_chains * n_networks, m, ceil(m / 8)), uint8
        The drawn networks, with eight entries packed in a byte; see `graphs`.
    network_ : GaussianNetwork
        The consensus network: pairs that are joined with a probability of at least one half.
    coef_, coef_std_, intercept_, noise_variance_, order_, cpdag_, edge_kinds_
        The numbers of `network_`, as in `SGBN`.
    n_features_in_, feature_names_in_
        As in all estimators of scikit-learn.
    outliers_ : ndarray of shape (n_samples,), bool
        Rows that were left out.

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.learn.posterior import NetworkPosterior
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> X[:, 2] += X[:, 0] + X[:, 1]
    >>> posterior = NetworkPosterior().fit(X)
    >>> bool(posterior.arrow_probability_[0, 2] > 0.8)
    True
    """

    n_candidates: int = allowed(11, Whole(1, MAX_CANDIDATES))
    n_chains: int = allowed(4, Whole(1))
    n_networks: int = allowed(1000, Whole(4))
    thin: float = allowed(2.0, POSITIVE)
    random_state: int = allowed(0, SEED)

    def learn(self, moments: Moments, values: Array, names: list[str]) -> Self:  # noqa: ARG002
        """Draw networks from the posterior, and store their consensus."""
        most = most_parents(moments.n, moments.m, self.max_parents)
        knowledge = self._read_knowledge(names, most)
        check_few_required(knowledge.required, MAX_REQUIRED_PARENTS, names)
        plan = ChainPlan(
            self.n_candidates, self.n_chains, BURN_STEPS_PER_VARIABLE, self.n_networks, self.thin
        )
        searcher = self._searcher()
        sampled = sample_networks(moments, knowledge, searcher, plan, int(self.random_state))
        arrows = sampled.arrows
        self.arrow_probability_ = moments.to_user(arrows)
        # In the canonical order, so that ties do not depend on the order of the columns.
        graph = consensus(arrows.T, max_parents=most).T
        B = least_squares(moments, graph.astype(float), names)
        self._store(moments, B, names, Arrows(moments.to_user(graph), knowledge))
        self._moments_ = moments
        self.networks_ = _packed(sampled, moments)
        self._check_convergence(sampled)
        return self

    def _check_convergence(self, sampled: Sampled) -> None:
        """Store the measures of convergence, and warn if the chains do not agree."""
        self.r_hat_ = split_r_hat(np.array([chain.log_weight for chain in sampled.chains]))
        self.largest_difference_ = largest_difference(sampled.arrows_of_chains)
        if self.r_hat_ > MAX_R_HAT or self.largest_difference_ > MAX_DIFFERENCE:
            Problem("chains.apart", r_hat=self.r_hat_, most=self.largest_difference_).warn(
                "the chains do not agree (R-hat {r_hat:.2f}, arrows differ by up to {most:.2f})",
                "Raise {n_networks=} or {thin=}.",
                ConvergenceWarning,
            )

    @property
    def adjacency_probability_(self) -> Array:
        """Return the probability that i and j are joined."""
        check_is_fitted(self)
        return self.arrow_probability_ + self.arrow_probability_.T

    def graphs(self, n: int | None = None, random_state: int = 0) -> Mask:
        """Return networks drawn from the posterior, of shape (n, m, m).

        ``[k, i, j]`` is True if network k has i -> j.

        Parameters
        ----------
        n : int, optional
            Number of networks, chosen at random; by default all are returned.
        random_state : int
            Seed of the choice.
        """
        check_is_fitted(self)
        chosen = self.networks_
        if n is not None:
            rng = np.random.default_rng(random_state)
            chosen = chosen[rng.integers(len(chosen), size=Whole(1).check("n", n))]
        return np.unpackbits(chosen, axis=2, count=chosen.shape[1]).astype(bool)

    def networks(self, n: int = 200, random_state: int = 0) -> list[GaussianNetwork]:
        r"""Return `n` networks with weights, drawn from the posterior.

        Given a graph in which variable j has :math:`k_j` parents, its noise variance
        :math:`\sigma_j^2` is drawn as :math:`RSS_j / \chi^2_{N - k_j - 1}` for N samples. Its
        weights are normal around the least-squares weights, with the covariance
        :math:`\sigma_j^2 (X^T X)^{-1}`, where X are the centred parents. The mean of j, given the
        means of its parents, has the variance :math:`\sigma_j^2 / N`.
        """
        rng = np.random.default_rng([random_state, 1])
        names = list(self.network_.names)
        return [
            GaussianNetwork(*_drawn(graph, self._moments_, rng), names)
            for graph in self.graphs(n, random_state)
        ]

    def total_effects(self, n: int = 200, level: float = LEVEL, random_state: int = 0) -> Averaged:
        """Return the total effect of every variable on every other, averaged over `n` networks.

        ``mean[i, j]`` is the change of j per unit of i when i is set from outside. The interval
        holds the share `level` of the networks.
        """
        m = len(self.coef_)
        networks = self.networks(n, random_state)
        # One thread, because for such small systems threads would mostly wait for each other.
        with one_blas_thread():
            return _averaged([network._total_effects - np.eye(m) for network in networks], level)

    def do(
        self,
        interventions: Mapping[str, float],
        n: int = 200,
        level: float = LEVEL,
        random_state: int = 0,
    ) -> Averaged:
        """Return the mean of every variable when `interventions` set some of them from outside.

        It is averaged over `n` networks. The interval holds the share `level` of the networks.
        """
        networks = self.networks(n, random_state)
        with one_blas_thread():
            return _averaged([network.do(interventions).mean for network in networks], level)


def _packed(sampled: Sampled, moments: Moments) -> NDArray[np.uint8]:
    """Return the networks of all chains in the user's order, with eight entries in a byte."""
    graphs = [
        np.packbits(moments.to_user(sampled.graph(chain, place)), axis=1)
        for chain in range(len(sampled.chains))
        for place in range(len(sampled.chains[chain].parents))
    ]
    return np.array(graphs)


def _drawn(graph: Mask, moments: Moments, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return drawn weights, intercepts and noise variances of a graph, in the units of the data."""
    parents, R, n = moments.to_canonical(graph), moments.R, moments.n
    B, variances = np.zeros(parents.shape), np.empty(len(parents))
    # In the canonical order, so that draws do not depend on the order of the columns.
    for v, is_parent in enumerate(parents):
        P = np.flatnonzero(is_parent)
        gram = R[np.ix_(P, P)] + RIDGE * np.eye(len(P))
        weights = np.linalg.solve(gram, R[P, v])
        # Above zero, because a perfect fit would give a noise variance of zero.
        rss = max(n * (1.0 - R[P, v] @ weights), RIDGE)
        # At least 1, because with as many parents as rows no degree of freedom is left.
        variances[v] = rss / rng.chisquare(max(n - len(P) - 1, 1))
        spread = np.linalg.cholesky(np.linalg.inv(gram) * variances[v] / n)
        B[v, P] = weights + spread @ rng.standard_normal(len(P))
    shifts = np.sqrt(variances / n) * rng.standard_normal(len(parents))
    place, sd = np.argsort(moments.columns), moments.sd
    coef = moments.to_user(B) * sd / sd[:, None]
    # `place` puts vectors from the canonical order into the user's order.
    intercept = moments.mean - moments.mean @ coef + shifts[place] * sd
    return coef, intercept, variances[place] * sd**2


def _averaged(values: list[Array], level: float) -> Averaged:
    """Return the mean of the values, and the interval that holds the share `level` of them."""
    tail = (1 - SHARE.check("level", level)) / 2
    low, high = np.quantile(values, [tail, 1 - tail], axis=0)
    return Averaged(np.mean(values, axis=0), low, high)


# Gamma of the prior. Of values from 0.5 to 1.5, this one makes the fewest errors on nine networks
# with n = 100.
GAMMA = 0.75
MAX_REQUIRED_PARENTS = 14  # per variable; tables hold all sets of them, for every variable
MIN_STEPS_BETWEEN = 20  # smallest number of steps between two networks that a chain keeps
SEARCHES_PER_CHAIN = 3  # for its starting point: from two fixed orders, and from a random order


class ChainPlan(NamedTuple):
    """The number and the length of chains.

    Attributes
    ----------
    n_candidates : int
        Number of candidate parents of each variable.
    n_chains : int
        Number of chains. Each starts from its own search.
    n_burn : int
        Number of steps per variable before the first network is kept.
    n_kept : int
        Number of networks that each chain keeps.
    thin : float
        Number of steps per variable from one network that is kept to the next.
    """

    n_candidates: int
    n_chains: int
    n_burn: int
    n_kept: int
    thin: float


class Sampled(NamedTuple):
    """The networks of several chains, with the variables in the canonical order."""

    tables: ScoreTables
    chains: tuple[Visited, ...]

    @property
    def arrows(self) -> Array:
        """Return at ``[v, u]`` the share of the networks in which u is a parent of v."""
        return np.mean(self.arrows_of_chains, axis=0)

    @property
    def arrows_of_chains(self) -> Array:
        """Return the shares of `arrows` for each chain, of shape (n_chains, m, m)."""
        return np.array([arrow_shares(self.tables, chain.parents).T for chain in self.chains])

    def graph(self, chain: int, place: int) -> Mask:
        """Return one network of a chain; ``[v, u]`` is True if u is a parent of v."""
        return arrow_shares(self.tables, self.chains[chain].parents[[place]]).T > 0


def arrow_prices(n: int, m: int, gamma: float) -> Array:
    r"""Return the price of k = 0, 1, 2, ... parents: :math:`k (\log n + 2 \gamma \log (m - 1))`.

    There are n samples of m variables, and the prior odds of every arrow are
    :math:`(m - 1)^{-\gamma}`. Unlike in `ebic_prices`, every parent costs the same. This gives a
    better posterior: with `ebic_prices`, the many sets of several weak parents would together
    outweigh the few sets of strong ones.
    """
    return np.arange(MOST_PARENTS + 2) * (np.log(n) + 2 * gamma * np.log(max(m - 1, 1)))


def sample_networks(
    moments: Moments,
    knowledge: Knowledge,
    learner: SGBN,
    plan: ChainPlan,
    seed: int | Sequence[int],
) -> Sampled:
    """Return networks drawn from their posterior given the moments of a sample.

    Parameters
    ----------
    moments : Moments
        Moments of the sample.
    knowledge : Knowledge
        The allowed and the required edges, in the user's order of columns.
    learner : SGBN
        A learner that is not fitted. Its `max_parents` limits the parents, and its `gamma`, if
        given, is the gamma of the prior.
    plan : ChainPlan
        The number and the length of chains.
    seed : int or sequence of int
        Seed of the searches and of the chains.
    """
    n, m = moments.n, moments.m
    # One seed for the search and one for the chain, so that more chains do not change the others.
    seeds = np.random.default_rng(seed).integers(2**31, size=(plan.n_chains, 2))
    gamma = GAMMA if learner.gamma is None else float(learner.gamma)
    most = most_parents(n, m, learner.max_parents)
    # The criterion of the search has its own gamma, which differs from the gamma of the prior.
    problem = SearchProblem.of(moments, knowledge, default_gamma(n), most)
    fast = SearchPlan.for_size(n, m, "fast", SEARCHES_PER_CHAIN)
    starts = [search_network(problem, fast, np.random.RandomState(s)) for s in seeds[:, 0]]
    # The search sorts the variables in its own way. `place` is their place in the canonical order.
    place = np.argsort(moments.columns)[problem.columns]
    near = np.zeros((m, m), bool)
    # Two variables that any search joins, in either direction, are candidates for each other.
    near[np.ix_(place, place)] = np.any([s.parents | s.parents.T for s in starts], axis=0)
    allowed, required = knowledge.rows(moments)
    candidates = candidate_parents(moments.R, near, allowed, required, plan.n_candidates)
    prices = arrow_prices(n, m, gamma)
    tables = score_tables(moments.R, n, prices, most, candidates, required)
    total = log_totals(tables)
    lengths = plan.n_burn * m, plan.n_kept, max(MIN_STEPS_BETWEEN, round(plan.thin * m))
    chains = tuple(
        run_chain(tables, total, place[start.order], *lengths, int(chain_seed))
        for start, chain_seed in zip(starts, seeds[:, 1], strict=True)
    )
    return Sampled(tables, chains)


def split_r_hat(traces: Array) -> float:
    r"""Return the R-hat of chains that are each split into two halves (Gelman and others 2013).

    .. math:: \hat R = \sqrt{\frac{(n - 1) / n \, W + B / n}{W}}

    Each half has n values. W is the mean variance within the halves, and B / n is the variance of
    their means. R-hat is near 1 if the chains no longer depend on their starting points.

    Parameters
    ----------
    traces : ndarray of shape (n_chains, n_kept)
        Values of a quantity, such as the log posterior, along each chain.
    """
    n = traces.shape[1] // 2
    # The two halves of a chain that drifts differ. The middle of an odd number is left out.
    halves = np.concatenate([traces[:, :n], traces[:, -n:]])
    within = halves.var(axis=1, ddof=1).mean()
    between = halves.mean(axis=1).var(ddof=1)
    # Chains that never moved agree only if all have the same value.
    if within <= 0:
        return 1.0 if between <= 0 else float("inf")
    return float(np.sqrt(((n - 1) / n * within + between) / within))


def largest_difference(arrows: Array) -> float:
    """Return the largest difference of an arrow's probability between two chains.

    `arrows` has one matrix of probabilities per chain.
    """
    return float(np.max(np.ptp(arrows, axis=0), initial=0.0))
