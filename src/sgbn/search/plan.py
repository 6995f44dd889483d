"""How long SGBN searches: its effort, and what the size of a problem calls for.

All rules about sizes are here; a search does what its plan says.

Trees (`sgbn.search.order_search`) are fast and see all variables. Where no network
stands out, as in real tables, they end in one of many good networks. Score tables
(`sgbn.search.table_search`) find better ones there, in a time that grows with the number of
variables. `benchmarks/search.py` measures both.
"""

from __future__ import annotations

from typing import NamedTuple, Self

from sgbn.search.problem import MOST_PARENTS
from sgbn.search.table_search import TablePlan

EFFORTS = ("fast", "standard", "thorough")

# What makes a problem large: one start and no kicks then find as much as more would.
LARGE_VARIABLES = 100  # a problem with more, and with enough samples, is large
LARGE_SAMPLES_PER_VARIABLE = 2  # enough samples
MAX_KICKED_VARIABLES = 500  # with more, kicks and tables take too long, whatever the samples

CLEAR_SAMPLES_PER_VARIABLE = 10  # from here on, the best order is soon found
# With fewer samples the best score fits noise, by parents that help only together. With 25 samples
# of 120 variables, the networks of tables have a tenth more errors than those of trees.
MIN_TABLE_SAMPLES = 50
SAMPLES_PER_PARENT = 3  # with fewer, parents fit noise, which no penalty of this kind outweighs

# Up to here the best of all networks is found: with 15 variables it takes longer than a search.
MAX_EXACT_VARIABLES = 14
MAX_EXACT_VARIABLES_THOROUGH = 20

# Candidates are screened where variables are many and samples no fewer. This halves the time there.
MIN_SCREENED_VARIABLES = 500  # with fewer variables, screening costs accuracy
SCREENING_Z = 1.0  # standard errors of a partial correlation; a higher limit costs accuracy

# A rough order comes first where samples are many, found as if there were fewer of them: from a
# poor order, weak dependences make the trees seven times larger at m = 100 and degree 10.
# It needs `CLEAR_SAMPLES_PER_VARIABLE`: on ABIDE, 93 regions of 530 subjects, scores became worse.
ROUGH_SAMPLES = 100  # as if there were so many; from twice as many upwards
# From here on, the rough order is found by the next three limits (benchmarks/scale.py).
MIN_SAMPLES_PER_VARIABLE = 100
ROUGH_SAMPLES_PER_VARIABLE = 3  # as if there were so many
ROUGH_Z = 2.0  # in place of `SCREENING_Z` after such an order
ROUGH_MAX_TUCKS = 10_000  # in one local search after such an order; 5,000 cost accuracy

TUCK_DEPTH = 2  # tucks tried together; 3 costs twice the time and finds the same
MAX_TUCKS = 50_000  # in one local search: with 2,000 variables 5,000 are too few, 10,000 suffice
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
# Kicks before tables, where the starts disagree: their networks propose candidates. A problem of
# more than `LARGE_VARIABLES` has none, because they cost more there than they find.
STANDARD_KICKS = 5
THOROUGH = TablePlan(  # `steps` is multiplied by the number of variables
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
N_QUICK_SEARCHES = 12  # from random orders, before tables: their networks propose candidates
THOROUGH_KICKS = 100  # where no search on tables follows


def most_parents(n: int, m: int, max_parents: int | None = None) -> int:
    """Return the most parents that n samples allow, or `max_parents` where that is fewer."""
    most = max(1, min(n // SAMPLES_PER_PARENT, MOST_PARENTS, m - 1))
    return most if max_parents is None else min(most, int(max_parents))


class SearchPlan(NamedTuple):
    """Starts and kicks of the search on trees, and what follows on tables, if anything.

    Attributes
    ----------
    n_starts, n_kicks : as in SGBN.
    is_exact : whether all networks are compared, instead of any search.
    n_quick : searches from random orders, whose networks start the search on tables.
    tables : how long to search on tables; None for not at all.
    n_tucks : the most tucks in one local search.
    candidate_z : a partial correlation above this many standard errors makes a candidate; None
        means that all variables are candidates.
    n_rough : a rough order is found first, as if there were this many samples; 0 for none.
    kick_agreed : whether kicks follow where all starts ended at the same score.
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
        effort : one of `EFFORTS`
        n_starts, n_kicks : int, optional
            They hold where they are given. With the standard effort, the search is then one on
            trees alone.
        n_required : int
            The most required parents of a variable. Tables have space for few.
        equal_noise : bool
            Whether noise variances are taken to be equal, which tables cannot do.
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
        # Last: what the user gives holds over all rules.
        return plan._replace(
            n_starts=plan.n_starts if n_starts is None else int(n_starts),
            n_kicks=plan.n_kicks if n_kicks is None else int(n_kicks),
        )

    def _with_rough_order(self, n: int, m: int, is_clear: bool) -> Self:
        """Return the plan with a rough order first, where samples are many enough."""
        if m > LARGE_VARIABLES and n >= MIN_SAMPLES_PER_VARIABLE * m:
            n_rough = ROUGH_SAMPLES_PER_VARIABLE * m
            return self._replace(n_tucks=ROUGH_MAX_TUCKS, candidate_z=ROUGH_Z, n_rough=n_rough)
        if is_clear and n >= 2 * ROUGH_SAMPLES:
            return self._replace(n_rough=ROUGH_SAMPLES)
        return self
