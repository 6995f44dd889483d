"""Networks drawn from their posterior, in canonical coordinates.

The networks are those among a few candidate parents of each variable. Candidates and starting
points come from fast searches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sgbn.exceptions import InputError
from sgbn.moments import Moments
from sgbn.search.candidate_parents import candidate_parents
from sgbn.search.network_search import search_network
from sgbn.search.order_chain import Visited, arrow_shares, run_chain
from sgbn.search.plan import SearchPlan, most_parents
from sgbn.search.problem import MOST_PARENTS, SearchProblem, default_gamma
from sgbn.search.score_tables import ScoreTables, log_totals, score_tables
from sgbn.structure import SGBN
from sgbn.structure.knowledge import Knowledge
from sgbn.types import Array, Mask

GAMMA = 0.75  # of the prior: of 0.5 to 1.5 the fewest errors on nine networks at n = 100
MAX_REQUIRED_PARENTS = 14  # per variable: all sets of them are tabled, for every variable
MIN_STEPS_BETWEEN = 20  # steps of a chain between two networks that are kept
SEARCHES_PER_CHAIN = 3  # for its starting point: from two fixed orders, and a random one


class ChainPlan(NamedTuple):
    """How long chains run.

    Attributes
    ----------
    n_candidates : candidate parents of each variable.
    n_chains : chains, each from a search of its own.
    n_burn : steps before the first network is kept, per variable.
    n_kept : networks that each chain keeps.
    thin : steps between two of them, per variable.
    """

    n_candidates: int
    n_chains: int
    n_burn: int
    n_kept: int
    thin: float


class Sampled(NamedTuple):
    """Networks of several chains, in canonical coordinates."""

    tables: ScoreTables
    chains: tuple[Visited, ...]

    @property
    def arrows(self) -> Array:
        """Share of the networks with the parent u of v, as ``[v, u]``."""
        return np.mean(self.arrows_of_chains, axis=0)

    @property
    def arrows_of_chains(self) -> Array:
        """The same for each chain, shape (n_chains, m, m)."""
        return np.array([arrow_shares(self.tables, chain.parents).T for chain in self.chains])

    def graph(self, chain: int, place: int) -> Mask:
        """Return one network; ``[v, u]``: u is a parent of v."""
        return arrow_shares(self.tables, self.chains[chain].parents[[place]]).T > 0


def arrow_prices(n: int, m: int, gamma: float) -> Array:
    r"""Price of 0, 1, 2, ... parents: :math:`k (\log n + 2 \gamma \log (m - 1))`.

    A priori the odds of every arrow are :math:`(m - 1)^{-\gamma}`. That each costs the same, unlike
    in `ebic_prices`, makes a better posterior: the sum over the many sets of several weak parents
    would outweigh the few strong ones.
    """
    return np.arange(MOST_PARENTS + 2) * (np.log(n) + 2 * gamma * np.log(max(m - 1, 1)))


def check_required(required: Mask, names: Sequence[str]) -> None:
    """Raise InputError if a variable has more required parents than tables can hold."""
    counts = required.sum(axis=0)
    if counts.max(initial=0) > MAX_REQUIRED_PARENTS:
        raise InputError(
            f"{counts.max()} parents of {names[int(counts.argmax())]!r} are required, but networks "
            f"can be drawn only with at most {MAX_REQUIRED_PARENTS} required parents per variable. "
            "Require fewer, or use SGBN."
        )


def sample_networks(
    moments: Moments,
    knowledge: Knowledge,
    learner: SGBN,
    plan: ChainPlan,
    seed: int | Sequence[int],
) -> Sampled:
    """Draw networks from their posterior given moments.

    Parameters
    ----------
    moments : Moments
    knowledge : Knowledge
        About the columns of the moments.
    learner : SGBN
        Its `max_parents` limits the parents, and its `gamma`, if given, is that of the prior.
    plan : ChainPlan
    seed : int or sequence of int
    """
    n, m = moments.n, moments.m
    # one for the search and one for the chain: more chains leave the others as they are
    seeds = np.random.default_rng(seed).integers(2**31, size=(plan.n_chains, 2))
    gamma = GAMMA if learner.gamma is None else float(learner.gamma)
    most = most_parents(n, m, learner.max_parents)
    # the criterion of the search has a gamma of its own, which is not the prior's
    problem = SearchProblem.of(moments, knowledge, default_gamma(n), most)
    fast = SearchPlan.for_size(n, m, "fast", SEARCHES_PER_CHAIN)
    starts = [
        search_network(problem, fast, np.random.RandomState(chain_seed))
        for chain_seed in seeds[:, 0]
    ]
    # the search sorts columns by its own rule: from its places to canonical ones
    place = np.argsort(moments.columns)[problem.columns]  # of the search's variables, here
    near = np.zeros((m, m), bool)
    # what any of the searches joined, either way, is a candidate parent
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
