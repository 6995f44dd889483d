"""The plan of a search: how long SGBN searches, for an effort and a size of the problem.

All rules about sizes are in this file. `SearchPlan.for_size` makes the plan, and a
search follows it.

The search on trees (`sgbn.learn.search.orders`) is fast and considers all variables. It improves an
order step by step, by moves and by tucks. A kick makes random moves in the best order, and the
search continues from there. On many real tables no network is clearly the best, and this search
ends at one of many good networks. The search on score tables (`sgbn.learn.search.annealing`) then
finds better networks, in a time that grows with the number of variables. `benchmarks/search.py`
measures both.

`SearchProblem` is the input of a search: correlations, prices of parents, and limits. Its variables
are in an order that does not depend on the order of the user's columns. `to_user` returns the
network in the user's order. So the same seed gives the same network for any order of the columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import get_lapack_funcs
from scipy.special import gammaln

from sgbn.core.moments import Moments, one_blas_thread
from sgbn.core.types import Array, Indices, Mask, Order


class TablePlan(NamedTuple):
    """The length of a search on tables, and the networks that it starts from.

    Attributes
    ----------
    n_candidates : int
        Largest number of candidate parents of a variable.
    n_further : int
        Number of candidates in addition to the neighbours in the best network known.
    n_islands : int
        Number of separate searches before the last search, which starts from all their networks.
    n_random, n_warm, n_crossed : int
        Number of annealings in one round that start from random orders, from known networks, and
        from pairs of known networks.
    steps : int
        Steps of one annealing per variable.
    lists : tuple of str
        Names in `LISTS` of `sgbn.learn.search.tables`. Each round takes its candidates, in
        addition to the neighbours, from the next of these lists. Islands use only "mixed".
    patience : int
        The search ends after this many rounds in a row without a better network. Islands end after
        `ISLAND_PATIENCE` such rounds.
    max_rounds : int
        The search ends after this many rounds in any case.
    """

    n_candidates: int
    n_further: int
    n_islands: int
    n_random: int
    n_warm: int
    n_crossed: int
    steps: int
    lists: tuple[str, ...]
    patience: int
    max_rounds: int


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


MOST_PARENTS = 60  # a tree node keeps its parents as the bits of one 64-bit number
SMALLEST_RIDGE = 0.02  # in units of the variance; used only if a ridge is needed
VIF_DIGITS = 6  # decimals of log variance inflation that sort the variables; more are round-off


def default_gamma(n: int) -> float:
    """Return the default gamma for n samples: 1 up to n = 100, and log10(n) / 2 above."""
    return max(1.0, float(np.log10(n)) / 2)


def ebic_prices(n: int, m: int, gamma: float) -> Array:
    r"""Return the price of k = 0, 1, ... parents: :math:`k \log n + 2 \gamma \log\binom{m - 1}{k}`.

    For k above (m - 1) / 2 the binomial keeps its largest value, so that prices never fall.
    """
    k = np.arange(MOST_PARENTS + 2)
    chosen = np.minimum(k, (m - 1) // 2)
    choices = gammaln(m) - gammaln(chosen + 1) - gammaln(m - chosen)
    return k * np.log(n) + 2 * gamma * choices


def inverse_correlation(R: Array, n: int) -> Array:
    """Return the inverse of the correlation matrix.

    A ridge is added unless n > 2 m and the matrix is positive definite.
    """
    m = len(R)
    ridge = 0.0 if n > 2 * m else max(SMALLEST_RIDGE, 0.2 * m / n)
    # LAPACK inverts from a Cholesky factor with half the work of a general inverse.
    cholesky, invert = get_lapack_funcs(("potrf", "potri"), (R,))
    with one_blas_thread():
        factor, failed = cholesky(R + ridge * np.eye(m), lower=1)
        if failed:  # a column is a combination of others
            factor, _ = cholesky(R + SMALLEST_RIDGE * np.eye(m), lower=1)
        inverse: Array = np.tril(invert(factor, lower=1)[0])
    return inverse + np.tril(inverse, -1).T


class ScoredNetwork(NamedTuple):
    """A network, its score (lower is better), and an order in which parents come first.

    ``parents[v, u]`` is True if u is a parent of v.
    """

    score: float
    order: Order
    parents: Mask


@dataclass(frozen=True)
class ParentProblem:
    """What is needed to score sets of parents.

    Attributes
    ----------
    R : ndarray of shape (m, m)
        Correlations of the variables.
    n : int
        Number of samples.
    price : ndarray
        Price of 0, 1, 2, ... parents, in units of the score.
    max_parents : int
        Largest number of parents of a variable.
    allowed, required : ndarray of shape (m, m), bool
        If ``allowed[v, u]``, u may be a parent of v. If ``required[v, u]``, it must be one.
    """

    R: Array
    n: int
    price: Array
    max_parents: int
    allowed: Mask
    required: Mask

    @property
    def samples(self) -> tuple[Array, Array]:
        """Correlations (S, m, m) and sizes (S,) of the S samples; table scores are their sum."""
        return self.R[None], np.array([float(self.n)])


@dataclass(frozen=True)
class SearchProblem(ParentProblem):
    """The problem of a whole search, with its variables sorted by rising variance inflation.

    Attributes
    ----------
    columns : ndarray of shape (m,)
        The user's column of each variable.
    precision : ndarray of shape (m, m)
        Inverse of the correlation matrix.
    variance : ndarray of shape (m,) or None
        Variances of the variables, if noise variances are assumed to be equal.
    """

    columns: Indices
    precision: Array
    variance: Array | None = None

    @classmethod
    def of(
        cls,
        moments: Moments,
        edges: tuple[Mask, Mask],
        gamma: float,
        max_parents: int,
        names: Sequence[str] | None = None,
        *,
        equal_noise: bool = False,
    ) -> Self:
        """Return the search problem of a sample, with its variables sorted.

        Parameters
        ----------
        moments : Moments
            Moments of the sample.
        edges : pair of ndarray of shape (m, m), bool
            The allowed and the required edges in the user's order; ``[i, j]`` is i -> j.
        gamma : float
            Weight of the last term of the extended BIC.
        max_parents : int
            Largest number of parents that a variable may have.
        names : sequence of str, optional
            Names in the user's order. Columns of equal variance inflation are sorted by name.
            Without names they are sorted by their content.
        equal_noise : bool
            Whether noise variances are assumed to be equal, in the units of the data.
        """
        n, m = moments.n, moments.m
        precision = inverse_correlation(moments.R, n)
        inflation = np.round(np.log(np.maximum(np.diag(precision), 1.0)), VIF_DIGITS)
        # The variables of `moments` are sorted by content already.
        tie = np.arange(m) if names is None else np.array(names)[moments.columns]
        order = np.lexsort((tie, inflation))
        pairs, columns = np.ix_(order, order), moments.columns[order]
        ends = np.ix_(columns, columns)
        allowed, required = (np.ascontiguousarray(mask[ends].T) for mask in edges)
        return cls(
            np.ascontiguousarray(moments.R[pairs]),
            n,
            ebic_prices(n, m, gamma),
            max_parents,
            allowed,
            required,
            columns,
            precision[pairs],
            np.square(moments.scale[columns]) if equal_noise else None,
        )

    @property
    def partial(self) -> Array:
        """Absolute partial correlations of all pairs of variables given all others."""
        scale = np.sqrt(np.diag(self.precision))
        return np.abs(self.precision) / np.outer(scale, scale)

    def partly_correlated(self, z: float) -> Mask:
        """Return the pairs whose partial correlation exceeds z standard errors, as a mask."""
        scale = np.diag(self.precision)
        # The squared inequality needs no square roots of a large matrix.
        return np.square(self.precision) > z**2 / self.n * np.outer(scale, scale)

    def to_user(self, parents: Mask) -> Mask:
        """Convert ``parents[v, u]`` to ``edges[i, j]`` (i -> j) between the user's columns."""
        place = np.argsort(self.columns)
        return np.ascontiguousarray(parents[np.ix_(place, place)].T)
