"""Networks drawn from their posterior, with the variables in the canonical order.

The parents of a variable come from a few candidates. Candidates and starting points come from fast
searches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sgbn.core.exceptions import InputError
from sgbn.core.moments import Moments
from sgbn.core.types import Array, Mask
from sgbn.search.candidate_parents import candidate_parents
from sgbn.search.network_search import search_network
from sgbn.search.order_chain import Visited, arrow_shares, run_chain
from sgbn.search.plan import SearchPlan, most_parents
from sgbn.search.problem import MOST_PARENTS, SearchProblem, default_gamma
from sgbn.search.score_tables import ScoreTables, log_totals, score_tables
from sgbn.structure import SGBN
from sgbn.structure.knowledge import Knowledge

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


def check_required(required: Mask, names: Sequence[str]) -> None:
    """Raise InputError if a variable has more required parents than tables can hold."""
    counts = required.sum(axis=0)
    if counts.max(initial=0) > MAX_REQUIRED_PARENTS:
        raise InputError(
            f"{names[int(counts.argmax())]!r} has {counts.max()} required parents, but networks "
            f"can be drawn only with at most {MAX_REQUIRED_PARENTS} per variable. Require fewer, "
            "or use SGBN."
        )


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
    starts = [
        search_network(problem, fast, np.random.RandomState(chain_seed))
        for chain_seed in seeds[:, 0]
    ]
    # The search sorts the variables in its own way. `place` is their place in the canonical order.
    place = np.argsort(moments.columns)[problem.columns]
    near = np.zeros((m, m), bool)
    # Two variables that any search joins, in either direction, are candidates for each other.
    near[np.ix_(place, place)] = np.any(
        [start.parents | start.parents.T for start in starts], axis=0
    )
    allowed, required = knowledge.rows(moments)
    tables = score_tables(
        moments.R,
        n,
        arrow_prices(n, m, gamma),
        most,
        candidate_parents(moments.R, near, allowed, required, plan.n_candidates),
        required,
    )
    total = log_totals(tables)
    thin = max(MIN_STEPS_BETWEEN, round(plan.thin * m))
    chains = (
        run_chain(
            tables, total, place[start.order], plan.n_burn * m, plan.n_kept, thin, int(chain_seed)
        )
        for start, chain_seed in zip(starts, seeds[:, 1], strict=True)
    )
    return Sampled(tables, tuple(chains))
