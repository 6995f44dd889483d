"""How long SGBN searches: its effort, and what the size of a problem calls for.

All rules about sizes are here; a search does what its plan says.

Trees (`sgbn.search.order_search`) are fast and see all variables; their kicks end in one of many
good networks where the data are no clear network, as real tables are. Score tables
(`sgbn.search.table_search`) find better ones there, at a price that grows with the number of
variables. `benchmarks/search.py` measures both.
"""

from __future__ import annotations

from typing import NamedTuple, Self

from sgbn.search.problem import MOST_PARENTS
from sgbn.search.table_search import TablePlan

EFFORTS = ("fast", "standard", "thorough")
MANY = 100  # variables. Beyond, and with at least ENOUGH times as many samples, one start and no
ENOUGH = 2  # kicks find as much
TOO_MANY = 500  # variables, for which kicks take too long
PLENTY = 10  # samples per variable with which the best order is soon found
FEW = 50  # samples below which the best score fits noise, by parents that help only together: with
# 25 samples of 120 variables the networks of tables have a tenth more errors than those of trees
EXACT, EXACT_THOROUGH = 14, 20  # variables up to which the best of all networks is found; with 15
# it takes longer than a search
SCREENED = 500  # variables from which on candidates are screened, if samples are no fewer:
CANDIDATE_Z = 1.0  # halves the time there; fewer candidates, or fewer variables, cost accuracy
# A rough order comes first, found as if there were 100 samples: from a poor order, weak dependences
# make the trees seven times larger at m = 100 and degree 10. From twice as many samples on, and
# only where samples are plenty: on ABIDE, 93 regions of 530 subjects, it ended at worse scores.
ROUGH_SAMPLES = 100
# With 100 samples per variable or more, it is found as if there were 3 per variable.
PLENTIFUL = 100
ROUGH, ROUGH_Z = 3, 2.0
ROUGH_TUCKS = 10_000  # after it; 5,000 cost accuracy
TUCK_DEPTH = 2  # 3 costs twice the time and finds the same
TUCKS = 50_000  # most in one local search: with 2,000 variables 5,000 are too few, 10,000 suffice
FEW_TUCKS = 5_000  # for an order that need not be the best one
SAMPLES_PER_PARENT = 3  # with fewer, parents fit noise, which no penalty of this kind outweighs
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
STANDARD_KICKS = 5  # before tables, where the starts disagree: their networks propose candidates.
# None with many variables, where they cost more than they find
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


def most_parents(n: int, m: int, max_parents: int | None = None) -> int:
    """Most parents of a variable that n samples allow, or `max_parents` where that is fewer."""
    most = max(1, min(n // SAMPLES_PER_PARENT, MOST_PARENTS, m - 1))
    return most if max_parents is None else min(most, int(max_parents))


class SearchPlan(NamedTuple):
    """Starts and kicks of the search on trees, and what follows on tables, if anything.

    Attributes
    ----------
    n_starts, n_kicks : as in SGBN.
    is_exact : whether all networks are compared, instead of any search.
    n_quick : searches from random orders whose networks are starts of the search on tables.
    tables : how long to search on tables.
    n_tucks : most tucks in one local search.
    candidate_z : standard errors of a partial correlation that make a candidate; None: all are.
    n_rough : samples for which a rough order is found first; 0 for none.
    kick_agreed : whether kicks follow where all starts ended at the same score.
    """

    n_starts: int
    n_kicks: int
    is_exact: bool = False
    n_quick: int = 0
    tables: TablePlan | None = None
    n_tucks: int = TUCKS
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
        """Plan for n samples of m variables.

        `n_starts` and `n_kicks` hold where they are given; with the standard effort they are those
        of a search on trees alone. Tables have little room for parents that are required,
        `n_required` of one variable, and do not know equal noise variances.
        """
        is_large = m > MANY and (n >= ENOUGH * m or m > TOO_MANY)
        starts, kicks = (1, 0) if is_large else (2, 10 if n > PLENTY * m else 30)
        has_room = n_required <= STANDARD.n_candidates and not equal_noise
        fits_tables = has_room and n >= FEW and m <= TOO_MANY
        plan = cls(starts, kicks, n_tucks=TUCKS)
        if effort == "fast":
            plan = plan._replace(n_kicks=0)
        elif effort == "thorough" and fits_tables:
            tables = THOROUGH._replace(steps=THOROUGH.steps * m)
            plan = cls(2, 30, m <= EXACT_THOROUGH, QUICK_SEARCHES, tables)
        elif effort == "thorough":
            plan = plan._replace(n_starts=2, n_kicks=THOROUGH_KICKS)
        elif fits_tables and not is_large and n_starts is None and n_kicks is None:
            kicks = STANDARD_KICKS if m <= MANY else 0
            plan = cls(2, kicks, m <= EXACT, 0, STANDARD, kick_agreed=False)
        is_clear = is_large or n >= PLENTY * m
        if n >= 2 * ROUGH_SAMPLES and is_clear and effort != "thorough" and not equal_noise:
            plan = plan._replace(n_rough=ROUGH_SAMPLES)
        if SCREENED <= m <= n:
            plan = plan._replace(candidate_z=CANDIDATE_Z)
        if m > MANY and n >= PLENTIFUL * m and not equal_noise:
            tucks = min(plan.n_tucks, ROUGH_TUCKS)
            plan = plan._replace(n_tucks=tucks, candidate_z=ROUGH_Z, n_rough=ROUGH * m)
        return plan._replace(
            n_starts=plan.n_starts if n_starts is None else int(n_starts),
            n_kicks=plan.n_kicks if n_kicks is None else int(n_kicks),
        )
