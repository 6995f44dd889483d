"""How long SGBN searches: its effort, and what the size of a problem calls for.

Trees (`sgbn.search.order_search`) are fast and see all variables; their kicks end in one of many
good networks where the data are no clear network, as real tables are. Score tables
(`sgbn.search.table_search`) find better ones there, at a price that grows with the number of
variables. `benchmarks/search.py` measures both.
"""

from __future__ import annotations

from typing import NamedTuple

from sgbn.search.table_search import TablePlan
from sgbn.types import Mask

EFFORTS = ("fast", "standard", "thorough")
MANY = 100  # variables. Beyond, and with more than ENOUGH times as many samples, one start and no
ENOUGH = 2  # kicks find as much
TOO_MANY = 500  # variables, for which kicks take too long
PLENTY = 10  # samples per variable with which the best order is soon found
FEW = 50  # samples below which the best score fits noise, by parents that help only together: with
# 25 samples of 120 variables the networks of tables have a tenth more errors than those of trees
EXACT, EXACT_THOROUGH = 14, 20  # variables up to which the best of all networks is found; with 15
# it takes longer than a search
STANDARD = TablePlan(
    n_candidates=12,
    n_further=5,
    n_islands=0,
    n_random=0,
    n_warm=1,
    n_crossed=0,
    steps=60,
    lists=("pool", "partial", "now", "last"),
    patience=4,
    max_rounds=20,
)
STANDARD_KICKS = 5  # before tables: their networks propose candidates. None with plenty of samples
# or many variables, where they cost more than they find
THOROUGH = TablePlan(  # steps times the number of variables
    n_candidates=15,
    n_further=10,
    n_islands=4,
    n_random=2,
    n_warm=5,
    n_crossed=5,
    steps=30,
    lists=("mixed", "partial", "mixed", "last"),
    patience=4,
    max_rounds=40,
)
QUICK_SEARCHES = 12  # from random orders, before tables: they propose candidates
THOROUGH_KICKS = 100  # where there are no tables


class SearchPlan(NamedTuple):
    """Starts and kicks of the search on trees, and what follows on tables, if anything.

    Attributes
    ----------
    n_starts, n_kicks : as in SGBN.
    exact : variables up to which all networks are compared, instead of any search.
    n_quick : searches from random orders whose networks are starts of the search on tables.
    tables : how long to search on tables.
    """

    n_starts: int
    n_kicks: int
    exact: int = 0
    n_quick: int = 0
    tables: TablePlan | None = None


def search_plan(
    effort: str,
    n_starts: int | None,
    n_kicks: int | None,
    m: int,
    n: int,
    *,
    with_tables: bool = True,
) -> SearchPlan:
    """Plan for m variables and n samples.

    `n_starts` and `n_kicks` hold where they are given; with the standard effort they are those of a
    search on trees alone. So is a plan without tables: these do not know equal variances, and have
    little room for required parents.
    """
    plan = _plan_for_size(effort, m, n)
    if effort == "standard" and not (n_starts is None and n_kicks is None):
        plan = _plan_of_trees(m, n)
    elif plan.tables is not None and not with_tables:
        thorough = SearchPlan(2, THOROUGH_KICKS)
        plan = thorough if effort == "thorough" else _plan_of_trees(m, n)
    starts = plan.n_starts if n_starts is None else int(n_starts)
    kicks = plan.n_kicks if n_kicks is None else int(n_kicks)
    return plan._replace(n_starts=starts, n_kicks=kicks)


def fits_tables(required: Mask) -> bool:
    """Whether tables have room for all required parents, ``[v, u]`` for u -> v."""
    return int(required.sum(axis=1).max(initial=0)) <= STANDARD.n_candidates


def _plan_of_trees(m: int, n: int) -> SearchPlan:
    """Two starts and kicks, where these find more than one start alone."""
    if m > MANY and (n > ENOUGH * m or m > TOO_MANY):
        return SearchPlan(1, 0)
    return SearchPlan(2, 10 if n > PLENTY * m else 30)


def _plan_for_size(effort: str, m: int, n: int) -> SearchPlan:
    trees = _plan_of_trees(m, n)
    if effort == "fast":
        return trees._replace(n_kicks=0)
    if effort == "thorough":
        if m > TOO_MANY or n < FEW:
            return SearchPlan(2, THOROUGH_KICKS)
        tables = THOROUGH._replace(steps=THOROUGH.steps * m)
        return SearchPlan(2, 30, EXACT_THOROUGH, QUICK_SEARCHES, tables)
    if trees.n_kicks == 0 or n < FEW:
        return trees
    kicks = 0 if n > PLENTY * m or m > MANY else STANDARD_KICKS
    return SearchPlan(2, kicks, EXACT, 0, STANDARD)
