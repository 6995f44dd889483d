r"""The search of SGBN, on correlations alone: trees first, then score tables.

It knows nothing of names or columns: variables come in an order that does not depend on the data's
(`SGBN` sorts them by variance inflation), so that the same seed gives the same network for any
order of the columns.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import gammaln

from sgbn.search.candidates import partly_correlated
from sgbn.search.exact_order import best_network
from sgbn.search.order_search import Found, search_among_candidates, search_order
from sgbn.search.parent_trees import MOST_PARENTS, make_trees
from sgbn.search.search_candidates import ParentProblem, ScoredNetwork
from sgbn.search.search_plan import MANY, TOO_MANY, SearchPlan
from sgbn.search.table_search import respecting, search_tables
from sgbn.types import Array, Mask, Order

SCREENED = 500  # variables from which on candidates are screened, if samples are no fewer:
CANDIDATE_Z = 1.0  # halves the time there; fewer candidates, or fewer variables, cost accuracy
# With 100 samples per variable or more, even weak dependences are significant and slow the search:
# a rough order comes first, found as if there were 3 samples per variable.
PLENTIFUL = 100
ROUGH, ROUGH_Z = 3, 2.0
ROUGH_TUCKS = 10_000  # after it; 5,000 cost accuracy
SAMPLES_A_PARENT = 3  # with fewer, parents fit noise, which no penalty of this kind outweighs
TUCK_DEPTH = 2  # 3 costs twice the time and finds the same
TUCKS = (20_000, 5_000)  # most in one local search, and for too many variables; Exp-II needs 2,000
SAME_VARIANCE = 0.01  # change of the common variance below which its estimate has settled
VARIANCE_ROUNDS = 5
QUICK = SearchPlan(1, 0)


def default_gamma(n: int) -> float:
    """Gamma for n samples: 1 up to 100, half their decimal logarithm beyond."""
    return max(1.0, float(np.log10(n)) / 2)


def ebic_prices(n: int, m: int, gamma: float) -> Array:
    r"""Price of 0, 1, 2, ... parents: :math:`k \log n + 2 \gamma \log \binom{m - 1}{k}`.

    The binomial stays at its largest value beyond k = (m - 1) / 2: a price never falls.
    """
    k = np.arange(MOST_PARENTS + 2)
    chosen = np.minimum(k, (m - 1) // 2)
    choices = gammaln(m) - gammaln(chosen + 1) - gammaln(m - chosen)
    return k * np.log(n) + 2 * gamma * choices


def most_parents(n: int, m: int, max_parents: int | None) -> int:
    """Most parents of a variable that n samples allow, or `max_parents` where that is fewer."""
    most = max(1, min(n // SAMPLES_A_PARENT, MOST_PARENTS, m - 1))
    return most if max_parents is None else min(most, int(max_parents))


def search_network(
    problem: ParentProblem,
    precision: Array,
    plan: SearchPlan,
    rng: np.random.RandomState,
    variance: Array | None = None,
) -> Found:
    """Search for the network of least score.

    Parameters
    ----------
    problem : ParentProblem
    precision : ndarray of shape (m, m)
        Inverse correlations.
    plan : SearchPlan
    rng : RandomState
    variance : ndarray of shape (m,), optional
        Variances of the variables, where the noise variances are taken to be equal.
    """
    m = len(problem.R)
    if variance is None and m <= plan.exact:
        best = best_network(problem)
        return Found(best.order, best.parents, best.score)
    if plan.tables is None or variance is not None:
        return _search_trees(problem, precision, plan, rng, variance)
    known: list[Found] = []
    if plan.n_quick:  # islands need starts that are unlike: no two of one search
        known = [
            _search_trees(problem, precision, QUICK, rng, None, None, rng.permutation(m))
            for _ in range(plan.n_quick)
        ]
        known.append(_search_trees(problem, precision, plan, rng))
    else:
        _search_trees(problem, precision, plan, rng, None, known)
    scale = np.sqrt(np.diag(precision))
    partial = np.abs(precision) / np.outer(scale, scale)
    networks = [ScoredNetwork(found.score, found.order, found.parents) for found in known]
    best = search_tables(problem, networks, partial, plan.tables, rng)
    return Found(best.order, best.parents, best.score)


def _search_trees(
    problem: ParentProblem,
    precision: Array,
    plan: SearchPlan,
    rng: np.random.RandomState,
    variance: Array | None = None,
    seen: list[Found] | None = None,
    start: Order | None = None,
) -> Found:
    """Search on trees, from one order or from those of the plan; `seen` takes local optima."""
    R, n, price, most, allowed, required = problem
    m = len(R)
    is_equal = variance is not None
    starts = starting_orders(required, plan.n_starts, rng)
    if start is not None:
        starts = [respecting(required, start)]
    candidates = allowed
    if SCREENED <= m <= n:
        candidates = partly_correlated(precision, n, CANDIDATE_Z) | required
    tucks = TUCKS[m > TOO_MANY]
    if m > MANY and n >= PLENTIFUL * m and not is_equal:
        tucks = min(tucks, ROUGH_TUCKS)
        starts = [_rough_order(R, order, allowed, required) for order in starts]
        candidates = partly_correlated(precision, n, ROUGH_Z) | required

    def search(weight: Array) -> Found:
        return search_among_candidates(
            lambda mask: make_trees(R, weight, price, is_equal, most, mask, required),
            candidates,
            allowed,
            lambda trees, orders: search_order(
                trees, orders, plan.n_kicks, rng, TUCK_DEPTH, tucks, seen
            ),
            starts,
        )

    if variance is not None:
        return _search_with_common_variance(search, variance, n, price)
    return search(np.full(m, float(n)))


def starting_orders(required: Mask, n_starts: int, rng: np.random.RandomState) -> list[Order]:
    """Orders that no required edge breaks: rising labels, falling ones, then random ones."""
    m = len(required)
    rising = np.arange(m)
    orders = [rising, rising[::-1], *(rng.permutation(m) for _ in range(n_starts - 2))]
    return [respecting(required, order) for order in orders[:n_starts]]


def _rough_order(R: Array, order: Order, allowed: Mask, required: Mask) -> Order:
    """Improve an order by moves, as if there were few samples: strong dependences alone count."""
    m = len(R)
    n = ROUGH * m
    price = ebic_prices(n, m, default_gamma(n))
    most = min(n // SAMPLES_A_PARENT, MOST_PARENTS, m - 1)
    trees = make_trees(R, np.full(m, float(n)), price, False, most, allowed, required)
    return search_order(trees, [order], 0, np.random.RandomState(0), 0, 0).order


def _search_with_common_variance(
    search: Callable[[Array], Found], variance: Array, n: int, price: Array
) -> Found:
    """Search and estimate the common noise variance in turn.

    It starts at the smallest variance of a variable: that of one without parents.
    """
    common = float(variance.min())
    for _ in range(VARIANCE_ROUNDS):
        found = search(n * variance / common)
        n_parents = found.parents.sum(axis=1)
        rss = found.score - price[n_parents].sum()  # in units of the common variance
        before, common = common, common * rss / (n * len(variance))
        if abs(common / before - 1) < SAME_VARIANCE:
            break
    return found
