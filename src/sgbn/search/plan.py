"""The plan of a search: how long SGBN searches, for an effort and a size of the problem.

All rules about sizes are in this file. A search follows its plan.

The search on trees (`sgbn.search.order_search`) is fast and considers all variables. It improves an
order step by step, by moves and by tucks (`sgbn.search.tucks`). A kick makes random moves in the
best order, and the search continues from there. On many real tables no network is clearly the best,
and this search ends at one of many good networks. The search on score tables
(`sgbn.search.table_search`) then finds better networks, in a time that grows with the number of
variables. `benchmarks/search.py` measures both.
"""

from __future__ import annotations

from typing import NamedTuple, Self

from sgbn.search.problem import MOST_PARENTS
from sgbn.search.table_search import TablePlan

EFFORTS = ("fast", "standard", "thorough")

# A problem is large if it has more than `LARGE_VARIABLES` variables and enough samples for them.
# In a large problem, more starts and kicks do not find a better network than one start alone.
LARGE_VARIABLES = 100
LARGE_SAMPLES_PER_VARIABLE = 2  # from here upwards the samples are enough
MAX_KICKED_VARIABLES = 500  # with more variables, kicks and tables take too long

CLEAR_SAMPLES_PER_VARIABLE = 10  # from here upwards, the best order is found quickly
# With fewer samples the best score fits noise, by parents that help only together. With 25 samples
# of 120 variables, networks from tables have 10 % more errors than networks from trees.
MIN_TABLE_SAMPLES = 50
SAMPLES_PER_PARENT = 3  # with fewer, parents fit noise, and no BIC penalty prevents this

# Up to this size all networks are compared. With 15 variables this takes longer than a search.
MAX_EXACT_VARIABLES = 14
MAX_EXACT_VARIABLES_THOROUGH = 20  # with effort="thorough"

# With many variables and at least as many samples, candidates are screened by their partial
# correlation. This halves the time.
MIN_SCREENED_VARIABLES = 500  # with fewer variables, screening costs accuracy
SCREENING_Z = 1.0  # standard errors of a partial correlation; a higher limit costs accuracy

# With many samples, the search starts from a rough order, found as if there were fewer samples.
# From a poor order, weak dependences make the trees seven times larger (m = 100, degree 10).
# Problems that are not large do this only from `CLEAR_SAMPLES_PER_VARIABLE` upwards, because scores
# became worse on ABIDE (93 regions, 530 subjects).
ROUGH_SAMPLES = 100  # number of samples for the rough order, if there are at least twice as many
# From this many samples per variable upwards, large problems use the next three limits instead
# (benchmarks/scale.py).
MIN_SAMPLES_PER_VARIABLE = 100
ROUGH_SAMPLES_PER_VARIABLE = 3  # samples per variable for the rough order
ROUGH_Z = 2.0  # replaces `SCREENING_Z` after such an order
ROUGH_MAX_TUCKS = 10_000  # replaces `MAX_TUCKS` after such an order; 5,000 cost accuracy

TUCK_DEPTH = 2  # tucks tried together; 3 takes twice the time and finds the same
# Tucks in one local search. With 2,000 variables, 5,000 tucks are too few and 10,000 are enough.
MAX_TUCKS = 50_000
MAX_TUCKS_QUICK = 5_000  # for an order that need not be the best one

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
# Kicks before the search on tables, if the starts ended at different scores. The networks they find
# propose candidates. Above `LARGE_VARIABLES` there are no kicks: they take long and find little.
STANDARD_KICKS = 5
THOROUGH = TablePlan(  # `for_size` multiplies `steps` by the number of variables
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
N_QUICK_SEARCHES = 12  # from random orders: their networks propose candidates for the tables
THOROUGH_KICKS = 100  # if no search on tables follows


def most_parents(n: int, m: int, max_parents: int | None = None) -> int:
    """Return the largest number of parents for n samples of m variables, at most `max_parents`."""
    most = max(1, min(n // SAMPLES_PER_PARENT, MOST_PARENTS, m - 1))
    return most if max_parents is None else min(most, int(max_parents))


class SearchPlan(NamedTuple):
    """The length of a search on trees, and of the search on score tables that may follow.

    Attributes
    ----------
    n_starts : int
        Number of orders from which the search on trees starts.
    n_kicks : int
        The search on trees ends after this many kicks in a row without a better order.
    is_exact : bool
        Whether all networks are compared, so that no search is needed.
    n_quick : int
        Number of searches from random orders. Their networks start the search on tables.
    tables : TablePlan or None
        How long to search on tables. None means no search on tables.
    n_tucks : int
        Largest number of tucks in one local search.
    candidate_z : float or None
        A variable is a candidate parent if its partial correlation is above this many standard
        errors. None means that all variables are candidates.
    n_rough : int
        A rough order is found first, as if there were this many samples. 0 means no rough order.
    kick_agreed : bool
        Whether kicks follow even if all starts ended at the same score.
    """

    n_starts: int
    n_kicks: int
    is_exact: bool = False
    n_quick: int = 0
    tables: TablePlan | None = None
    n_tucks: int = MAX_TUCKS
    candidate_z: float | None = None
    n_rough: int = 0
    kick_agreed: bool = True

    @classmethod
    def for_size(
        cls,
        n: int,
        m: int,
        effort: str = "standard",
        n_starts: int | None = None,
        n_kicks: int | None = None,
        *,
        n_required: int = 0,
        equal_noise: bool = False,
    ) -> Self:
        """Return the plan for n samples of m variables.

        Parameters
        ----------
        n, m : int
            Numbers of samples and of variables.
        effort : str
            One of `EFFORTS`.
        n_starts, n_kicks : int, optional
            Numbers of starts and of kicks that the user asks for. If one of them is given with the
            standard effort, there is no search on tables.
        n_required : int
            Largest number of required parents of any variable. Tables have space for only a few.
        equal_noise : bool
            Whether noise variances are assumed to be equal. Tables cannot score such networks.
        """
        enough = n >= LARGE_SAMPLES_PER_VARIABLE * m
        is_large = m > LARGE_VARIABLES and (enough or m > MAX_KICKED_VARIABLES)
        kicks = 10 if n > CLEAR_SAMPLES_PER_VARIABLE * m else 30
        fits_tables = n_required <= STANDARD.n_candidates and not equal_noise
        fits_tables = fits_tables and n >= MIN_TABLE_SAMPLES and m <= MAX_KICKED_VARIABLES
        plan = cls(1, 0) if is_large else cls(2, kicks)
        if effort == "fast":
            plan = plan._replace(n_kicks=0)
        elif effort == "thorough" and fits_tables:
            tables = THOROUGH._replace(steps=THOROUGH.steps * m)
            is_exact = m <= MAX_EXACT_VARIABLES_THOROUGH
            plan = cls(2, 30, is_exact, N_QUICK_SEARCHES, tables)
        elif effort == "thorough":
            plan = plan._replace(n_starts=2, n_kicks=THOROUGH_KICKS)
        elif fits_tables and not is_large and n_starts is None and n_kicks is None:
            kicks = STANDARD_KICKS if m <= LARGE_VARIABLES else 0
            plan = cls(2, kicks, m <= MAX_EXACT_VARIABLES, 0, STANDARD, kick_agreed=False)
        if MIN_SCREENED_VARIABLES <= m <= n:
            plan = plan._replace(candidate_z=SCREENING_Z)
        if not equal_noise:
            is_clear = is_large or n >= CLEAR_SAMPLES_PER_VARIABLE * m
            plan = plan._with_rough_order(n, m, is_clear and effort != "thorough")
        # This comes last, because what the user asks for overrides all rules.
        return plan._replace(
            n_starts=plan.n_starts if n_starts is None else int(n_starts),
            n_kicks=plan.n_kicks if n_kicks is None else int(n_kicks),
        )

    def _with_rough_order(self, n: int, m: int, is_clear: bool) -> Self:
        """Return this plan, with a rough order first if there are enough samples."""
        if m > LARGE_VARIABLES and n >= MIN_SAMPLES_PER_VARIABLE * m:
            n_rough = ROUGH_SAMPLES_PER_VARIABLE * m
            return self._replace(n_tucks=ROUGH_MAX_TUCKS, candidate_z=ROUGH_Z, n_rough=n_rough)
        if is_clear and n >= 2 * ROUGH_SAMPLES:
            return self._replace(n_rough=ROUGH_SAMPLES)
        return self
