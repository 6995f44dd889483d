r"""Least squares within groups, with penalised columns and intercepts of persons (arrays only).

The model of one region, for row i of site s and person k, with fixed columns x and smooth columns
b, is

    y_i = intercept_s + x_i' beta + b_i' u + v_k + e_i

The noise e has variance :math:`\sigma^2`. The coefficients u of each smooth covariate have variance
:math:`r \sigma^2`, and the intercepts v of the persons have variance :math:`\rho \sigma^2`. For
given ratios r and rho, u and v are penalised by 1/r and 1/rho: u minimises the sum of squares plus
:math:`\frac{1}{r} \int f''^2`, where f is the curve, and v is the best linear unbiased prediction.
The ratios minimise minus twice the restricted log-likelihood (REML) of each region:

    log |I + rho Z Z'| + log |A| + sum_b q_b log r_b + (n - p) log rss

Z has one indicator column per person, and q_b is the number of columns of smooth covariate b. n is
the number of rows and p the number of fixed effects. A is the matrix of the normal equations,
weighted by :math:`(I + \rho Z Z')^{-1}`, with the penalties on its diagonal, and rss is the
penalised sum of squares. lme4 minimises the same function for rho.

References
----------
Bates, Maechler, Bolker, Walker (2015), J Stat Softw 67(1). Wood (2011), JRSS B 73(1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sgbn.cohort.effects import indicators
from sgbn.core.problems import Problem
from sgbn.core.types import Array, Indices, Mask

RANK_EPS = 1e-8  # singular value relative to the largest: with a smaller one, D is collinear
CONSTANT_EPS = 1e-12  # spread relative to the largest cell: a smaller one is round-off
FLAT_EPS = 1e-12  # residual spread relative to the largest value: a smaller one is round-off
# Logarithms of ratios are searched from this value to its negative. At the lower end there is
# practically no effect, at the upper end no penalty.
MIN_LOG_RATIO = -18.0
GOLDEN = (np.sqrt(5) - 1) / 2  # share of a bracket that golden section keeps
N_SHRINKS = 38  # steps of golden section: a bracket of width 2 shrinks to a width of 2e-8
TOL = 1e-6  # rounds over the ratios stop when no logarithm changes by more
MAX_ROUNDS = 100  # rounds over the ratios, at most


class Slopes(NamedTuple):
    """Least-squares slopes, and the design columns whose slopes are not unique.

    Attributes
    ----------
    coef : array of shape (design columns, regions)
        The slopes.
    constant : array of int
        Design columns that do not vary within groups.
    collinear : array of int
        Design columns that vary, but that other columns determine.
    """

    coef: Array
    constant: Indices
    collinear: Indices


class MixedFit(NamedTuple):
    """The fitted effects of all regions.

    Attributes
    ----------
    slopes : Slopes
        Slopes of all design columns.
    intercepts : array of shape (sites, regions)
        Fitted value of each site when all design columns are 0.
    variance : array of shape (regions,)
        REML estimate of the variance of the noise.
    person_ratio : array of shape (regions,)
        Variance of the persons' intercepts, divided by the variance of the noise.
    persons : array of shape (persons, regions)
        Predicted intercepts of persons.
    """

    slopes: Slopes
    intercepts: Array
    variance: Array
    person_ratio: Array
    persons: Array


def fit_mixed(
    D: Array,
    Y: Array,
    codes: Indices,
    smooth: Sequence[Indices] = (),
    persons: Indices | None = None,
    weights: Sequence[float] | None = None,
) -> MixedFit:
    """Fit the model to each region.

    Parameters
    ----------
    D : array of shape (rows, design columns)
        The design columns.
    Y : array of shape (rows, regions)
        The values to explain.
    codes : array of shape (rows,)
        Site (or group) of each row, numbered from 0 without gaps. Each site has an intercept.
    smooth : sequence of int arrays
        The penalised columns of D, one array per smooth covariate.
    persons : array of shape (rows,), optional
        Person of each row, numbered from 0 without gaps. Some persons must have several rows.
    weights : sequence of float, optional
        Penalty of each smooth covariate. By default, REML chooses the penalties. Weights are only
        for a model without persons.
    """
    penalised = np.concatenate([np.empty(0, np.intp), *smooth])
    straight = np.setdiff1d(np.arange(D.shape[1]), penalised)
    space = _space(D, codes, straight, smooth)
    # Fixed effects are removed first: ratios of variances do not depend on them.
    residuals = Y - space.fixed @ (space.fixed.T @ Y)
    spread = np.sqrt(np.mean(residuals**2, axis=0))
    flat = spread <= FLAT_EPS * np.abs(Y).max(axis=0, initial=0.0)
    # Each region has a spread of 1 from here on, so that one grid of ratios suits all.
    spread = np.where(flat, 1.0, spread)
    y = np.where(flat, 0.0, residuals / spread)
    problem = _problem(space, y, persons)
    log_ratios = np.full((problem.n_ratios, Y.shape[1]), MIN_LOG_RATIO)
    if weights is not None:
        # A weight refers to the columns as given, which `_space` divided by `lengths`.
        log_ratios[:] = np.log(space.lengths**2 / np.asarray(weights))[:, None]
    elif problem.n_ratios:
        rough = np.flatnonzero(~flat)
        # Flat regions keep the smallest ratio, because their likelihood has no maximum.
        log_ratios[:, rough] = _best_ratios(problem.of(rough))
    solution, rss, _ = problem.solve(log_ratios)
    # Back to the units of the regions, with the fixed effects.
    fitted = (Y - residuals) + spread * (problem.C @ solution)
    scales = np.repeat(space.lengths, [len(columns) for columns in smooth])[:, None]
    bends = spread * solution[problem.n_free :] / scales
    fixed = within_group_slopes(D[:, straight], fitted - D[:, penalised] @ bends, codes)
    coef = np.zeros((D.shape[1], Y.shape[1]))
    coef[straight], coef[penalised] = fixed.coef, bends
    slopes = Slopes(coef, straight[fixed.constant], straight[fixed.collinear])
    return MixedFit(
        slopes,
        group_means(fitted - D @ slopes.coef, codes),
        np.where(flat, 0.0, spread**2 * rss / problem.dof),
        _ratio(log_ratios[-1]) if persons is not None else np.zeros(Y.shape[1]),
        spread * problem.person_effects(y - problem.C @ solution, log_ratios),
    )


@dataclass(frozen=True)
class _Space:
    """The columns of fixed effects, and the penalised columns, which are orthogonal to them.

    Attributes
    ----------
    fixed : array of shape (rows, rank)
        Orthonormal columns of the fixed effects.
    bent : array of shape (rows, penalised columns)
        The curved columns. All cells of one covariate together have a mean square of 1.
    blocks : tuple of slices
        For each smooth covariate, its columns in `bent`.
    lengths : array of shape (smooth covariates,)
        For each smooth covariate, the number by which its columns were divided.
    """

    fixed: Array
    bent: Array
    blocks: tuple[slice, ...]
    lengths: Array


def _space(D: Array, codes: Indices, straight: Indices, smooth: Sequence[Indices]) -> _Space:
    sites = indicators(codes)
    means = sites / np.sqrt(sites.sum(axis=0))
    _, _, U, _, _, rank = _decompose(D[:, straight], codes)
    fixed = np.column_stack([means, U[:, :rank]])
    bent, blocks, lengths = [np.empty((len(D), 0))], [], []
    start = 0
    for columns in smooth:
        penalised = D[:, columns] - fixed @ (fixed.T @ D[:, columns])
        length = np.sqrt(np.mean(penalised**2))
        # If sites and other covariates determine a curve, only round-off is left of it.
        gone = length <= FLAT_EPS * np.abs(D[:, columns]).max(initial=0.0)
        bent.append(np.zeros(penalised.shape) if gone else penalised / length)
        lengths.append(1.0 if gone else length)
        blocks.append(slice(start, start + len(columns)))
        start += len(columns)
    return _Space(fixed, np.column_stack(bent), tuple(blocks), np.array(lengths))


@dataclass(frozen=True)
class _Problem:
    """The normal equations of all regions as a function of the ratios.

    Attributes
    ----------
    C : array of shape (rows, columns)
        Columns of the model. The first `n_free` of them are not penalised.
    n_free : int
        Number of columns that are not penalised.
    blocks : tuple of slices
        For each smooth covariate, its columns after the first `n_free`.
    dof : int
        Number of rows minus number of fixed effects.
    CC, Cy, yy : arrays
        Products of the columns with each other and with the regions, and squares of the regions.
    person : array of shape (rows,), or None
        Person of each row, if the model has persons.
    visits, n_persons : arrays of shape (k,)
        The k different numbers of visits, and how many persons have each number.
    CC_by, Cy_by, yy_by : arrays
        The same products, but of each person's sums over rows. They are added up over all persons
        with the same number of visits.
    """

    C: Array
    n_free: int
    blocks: tuple[slice, ...]
    dof: int
    CC: Array
    Cy: Array
    yy: Array
    person: Indices | None
    visits: Array
    n_persons: Array
    CC_by: Array
    Cy_by: Array
    yy_by: Array

    @property
    def n_ratios(self) -> int:
        """Return the number of ratios: one per smooth covariate, then one for persons if any."""
        return len(self.blocks) + (self.person is not None)

    def of(self, regions: Indices) -> _Problem:
        """Return the same problem for some of the regions."""
        return replace(
            self,
            Cy=self.Cy[:, regions],
            yy=self.yy[regions],
            Cy_by=self.Cy_by[:, :, regions],
            yy_by=self.yy_by[:, regions],
        )

    def solve(self, log_ratios: Array) -> tuple[Array, Array, Array]:
        """Return coefficients, penalised sums of squares, and the REML criterion for some ratios.

        `log_ratios` has one column per region.
        """
        rho = np.zeros(len(self.yy))
        if self.person is not None:
            rho = _ratio(log_ratios[-1])
        # (I + rho Z Z')^-1 by Woodbury. Persons with equally many visits have the same factor.
        shrunk = rho / (1 + np.outer(self.visits, rho))
        # Each region has its own ratios, so that A has the shape (regions, columns, columns).
        A = self.CC - np.einsum("km,kcd->mcd", shrunk, self.CC_by)
        b = (self.Cy - np.einsum("km,kcm->cm", shrunk, self.Cy_by)).T
        log_det = self.n_persons @ np.log1p(np.outer(self.visits, rho))
        diagonal = np.arange(A.shape[1])
        for block, ratio in zip(self.blocks, log_ratios, strict=False):
            block_columns = diagonal[self.n_free :][block]
            A[:, block_columns, block_columns] += np.exp(-ratio)[:, None]
            # The determinant of the prior of u, which is q_b log r_b in the criterion.
            log_det = log_det + len(block_columns) * ratio
        # The factor L gives the determinant of A.
        L = np.linalg.cholesky(A)
        log_det = log_det + 2 * np.log(L[:, diagonal, diagonal]).sum(axis=1)
        coef = np.linalg.solve(A, b[:, :, None])[:, :, 0]
        # The penalised sum of squares at the optimum is y'y - b'A^-1 b.
        rss = self.yy - np.sum(shrunk * self.yy_by, axis=0) - np.sum(coef * b, axis=1)
        # In a flat region rss is 0 or round-off, so that its logarithm may not exist.
        with np.errstate(divide="ignore", invalid="ignore"):
            criterion = log_det + self.dof * np.log(rss)
        return coef.T, rss, criterion

    def person_effects(self, rest: Array, log_ratios: Array) -> Array:
        """Predict the intercepts of persons from the residuals of the columns."""
        if self.person is None:
            return np.zeros((0, rest.shape[1]))
        rho, counts = _ratio(log_ratios[-1]), np.bincount(self.person)[:, None]
        return rho / (1 + rho * counts) * (indicators(self.person).T @ rest)


def _problem(space: _Space, y: Array, person: Indices | None) -> _Problem:
    if person is None:
        # Fixed columns are left out: they are orthogonal to the other columns and to y.
        C, sums, counts = space.bent, np.empty((0, space.bent.shape[1])), np.empty(0, np.intp)
        y_sums = np.empty((0, y.shape[1]))
    else:
        C = np.column_stack([space.fixed, space.bent])
        counts = np.bincount(person)
        sums, y_sums = (indicators(person).T @ table for table in (C, y))
    # Sums by number of visits are few, even if there are thousands of persons.
    visits = np.unique(counts)
    by = [np.flatnonzero(counts == k) for k in visits]
    c, m = C.shape[1], y.shape[1]
    return _Problem(
        C,
        c - space.bent.shape[1],
        space.blocks,
        len(y) - space.fixed.shape[1],
        C.T @ C,
        C.T @ y,
        np.sum(y**2, axis=0),
        person,
        visits.astype(float),
        np.array([len(rows) for rows in by], float),
        np.array([sums[rows].T @ sums[rows] for rows in by]).reshape(-1, c, c),
        np.array([sums[rows].T @ y_sums[rows] for rows in by]).reshape(-1, c, m),
        np.array([np.sum(y_sums[rows] ** 2, axis=0) for rows in by]).reshape(-1, m),
    )


def _ratio(log_ratio: Array) -> Array:
    """Return the ratio of variances. At the lower limit of its logarithm it is 0."""
    return np.where(log_ratio <= MIN_LOG_RATIO, 0.0, np.exp(log_ratio))


def _best_ratios(problem: _Problem) -> Array:
    """Return the logarithms of the ratios that minimise the criterion of each region."""
    # Logarithm 0 means equal variances. The first round searches the whole range anyway.
    best = np.zeros((problem.n_ratios, len(problem.yy)))
    # One ratio is minimised after the other: a joint grid would have many dimensions.
    for round_ in range(MAX_ROUNDS):
        before = best
        for k in range(problem.n_ratios):
            best = _minimise_one(problem, best, k, everywhere=round_ == 0)
        change = np.abs(best - before).max(initial=0.0)
        if problem.n_ratios == 1 or change <= TOL:
            return best
    Problem("smooth.rounds", change=change, n=MAX_ROUNDS).warn(
        "the fit of smooth covariates did not converge: a logarithm of a ratio of variances still "
        "changes by {change:.1e} after {n:round}",
        "Name fewer smooth covariates.",
    )
    return best


def _minimise_one(problem: _Problem, ratios: Array, k: int, *, everywhere: bool) -> Array:
    """Minimise over ratio k by a grid, then golden section. Return the ratios with the new one.

    The grid covers the whole range if `everywhere` is true, otherwise the values near `ratios[k]`.
    """

    def criterion(log_ratio: Array) -> Array:
        changed = ratios.copy()
        changed[k] = log_ratio
        return problem.solve(changed)[2]

    # The criterion may have several minima: the grid finds the best of them roughly.
    if everywhere:
        grid = np.arange(MIN_LOG_RATIO, -MIN_LOG_RATIO + 0.5)[:, None] + np.zeros(ratios.shape[1])
    else:
        grid = np.clip(ratios[k] + np.arange(-2.0, 2.5)[:, None], MIN_LOG_RATIO, -MIN_LOG_RATIO)
    values = np.array([criterion(log_ratio) for log_ratio in grid])
    centre = grid[values.argmin(axis=0), np.arange(grid.shape[1])]
    low, high = np.maximum(centre - 1, MIN_LOG_RATIO), np.minimum(centre + 1, -MIN_LOG_RATIO)
    refined = _golden(criterion, low, high)
    changed = ratios.copy()
    # At the ends of the range the grid point itself may be the best.
    changed[k] = np.where(values.min(axis=0) <= criterion(refined), centre, refined)
    return changed


def _golden(criterion: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Return the minimum between `low` and `high` by golden section, of all regions at once."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = criterion(left), criterion(right)
    for _ in range(N_SHRINKS):
        down = at_left <= at_right
        low, high = np.where(down, low, left), np.where(down, right, high)
        # Each round needs one new point per region: the other point is kept from the last round.
        fresh = np.where(down, high - GOLDEN * (high - low), low + GOLDEN * (high - low))
        at_fresh = criterion(fresh)
        left, right = np.where(down, fresh, right), np.where(down, left, fresh)
        at_left, at_right = np.where(down, at_fresh, at_right), np.where(down, at_left, at_fresh)
    return (low + high) / 2


def group_means(values: Array, codes: Indices) -> Array:
    """Return the mean of the rows of each group. Groups are numbered from 0 without gaps."""
    counts = np.bincount(codes)
    # A product with zeros and ones adds up the rows of each group, without a loop over groups.
    indicator = (codes == np.arange(len(counts))[:, None]).astype(float)
    return indicator @ values / counts[:, None]


def within_group_slopes(D: Array, Y: Array, codes: Indices) -> Slopes:
    """Return the least-squares slopes of Y on D, after both are centred within groups.

    This equals least squares with one intercept per group. If D does not have full rank, the
    solution has the smallest norm in standardised columns, so that it does not depend on units.

    Parameters
    ----------
    D : array of shape (rows, design columns)
        The design columns.
    Y : array of shape (rows, regions)
        The values to explain.
    codes : array of shape (rows,)
        Group of each row, numbered from 0 without gaps. All zeros give one common intercept.
    """
    spread, varies, U, s, Vt, rank = _decompose(D, codes)
    # The part of Y that D can explain, in the coordinates of the left singular vectors.
    moments = U[:, :rank].T @ (Y - group_means(Y, codes)[codes])
    coef = Vt[:rank].T @ (moments / s[:rank, None]) / spread[:, None]
    # Columns that take part in a direction without variance are collinear.
    null = np.abs(Vt[rank:]).max(axis=0, initial=0.0) > np.sqrt(RANK_EPS)
    return Slopes(coef, np.flatnonzero(~varies), np.flatnonzero(null & varies))


def _decompose(D: Array, codes: Indices) -> tuple[Array, Mask, Array, Array, Array, int]:
    """Return spread, varies, U, s, Vt and rank of the columns of D, centred within groups.

    ``U``, ``s`` and ``Vt`` are the singular value decomposition of the standardised columns, and
    ``varies`` says which columns are not constant within groups.
    """
    centred = D - group_means(D, codes)[codes]
    spread = np.sqrt(np.mean(centred**2, axis=0))
    varies = spread > CONSTANT_EPS * np.abs(D).max(axis=0, initial=0.0)
    # This avoids a division by zero. The next line sets these columns to 0.
    spread = np.where(varies, spread, 1.0)
    U, s, Vt = np.linalg.svd(np.where(varies, centred, 0.0) / spread, full_matrices=False)
    rank = int(np.sum(s > RANK_EPS * s.max(initial=0.0)))
    return spread, varies, U, s, Vt, rank
