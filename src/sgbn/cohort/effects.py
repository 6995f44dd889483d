r"""Effects of covariates and sites: their design columns, their slopes, and rows without them.

A covariate of numbers is one design column. A smooth covariate has the columns of its spline. A
covariate of labels has one indicator column for each level except the first. Each site has one
indicator column.

Permutation tests regress the regions Y on the nuisance design N (`nuisance_of`), whose
pseudo-inverse is :math:`N^+`. They permute the rows of the residuals :math:`E = (I - N N^+) Y` by a
permutation :math:`\Pi` (Freedman and Lane, 1983). The method then adds the nuisance effects to the
permuted rows and regresses the sum on N again, which gives :math:`(I - N N^+) \Pi E`.

A spline (`learn_spline`) is a sum of cubic B-splines with knots at quantiles of the covariate. Its
design columns are one straight column x and several curved columns :math:`b_k(x)`, where x is the
covariate on a scale from 0 to 1. The columns are chosen such that the penalty on the curvature of a
function :math:`f = a x + \sum_k u_k b_k(x)` is :math:`\int f''(x)^2 dx = \sum_k u_k^2`. Least
squares with this penalty is the model of one smooth term in Wood (2017, Generalized Additive
Models, 2nd edition, chapter 5).

A design that is learned from training rows (`learn_design`) centres all its columns at their
training means. If a subject has a category that training did not have, the cells of this covariate
are 0, the training average.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sgbn.cohort.cohort import (
    Cohort,
    check_count,
    check_smooth,
    check_smooth_numbers,
    labels_shown,
)
from sgbn.core.problems import InputError, Problem
from sgbn.core.types import Array, Indices, Mask
from sgbn.core.validation import LARGEST, is_number

# If less than this share of a design column is left, the other columns explain it.
DEPENDENT = 1e-8
MISSING_TEXTS = ("", "nan", "NaT", "<NA>", "inf", "-inf")  # texts for a missing value
# Messages that several checks give
GAPS = "covariate {name} of {subjects} is missing (NaN) or infinite"
FILL_IN = "Fill it in, or leave these subjects out."
IMPUTE = "Impute it with RegionImputer(covariates=...) in the step before, or drop these subjects."
NOT_SMOOTH = "Take it out of {smooth=}."
TOO_FEW_VALUES = "{name} has {n:different value}, too few for a curve of {df} B-splines"


@dataclass(frozen=True)
class Nuisance:
    """The nuisance design, as orthonormal columns that span it.

    Attributes
    ----------
    basis : ndarray of shape (n, p)
        The p orthonormal columns, for n rows.
    """

    basis: Array

    def residuals(self, values: Array) -> Array:
        """Return the rows without their nuisance effects."""
        effects: Array = self.basis @ (self.basis.T @ values)
        return np.subtract(values, effects, out=effects)  # in place, because a table may be large

    @property
    def rank(self) -> int:
        """Return the degrees of freedom of the nuisance effects, which include the group means."""
        return self.basis.shape[1]


def nuisance_of(
    codes: Indices,
    covariates: Mapping[str, Any] | None = None,
    sites: NDArray[Any] | None = None,
) -> Nuisance:
    """Return the design of group means, effects of covariates and means of sites.

    A design column that the other columns determine takes no degree of freedom. The order of the
    columns does not matter.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Number of each row's group, from 0 upwards.
    covariates : mapping from name to column, optional
        Columns of numbers or labels, or the columns of a spline.
    sites : ndarray of shape (n,), optional
        Label of each row's site.
    """
    groups = indicators(codes)
    means = groups / np.sqrt(groups.sum(axis=0))
    design = design_of(len(codes), covariates, sites)
    # The group means come first. The rest of the design is made orthogonal to them.
    return Nuisance(np.column_stack([means, _span(design, design - means @ (means.T @ design))]))


def design_of(
    n: int, covariates: Mapping[str, Any] | None = None, sites: NDArray[Any] | None = None
) -> Array:
    """Return the columns of the covariates and one indicator per site, not centred.

    The result has the shape (n, p), for n rows and p design columns.
    """
    columns = [np.empty((n, 0))]
    for name, column in (covariates or {}).items():
        columns.append(_design_columns(name, column, n))
    if sites is not None:
        columns.append(indicators(np.unique(sites, return_inverse=True)[1]))
    return np.column_stack(columns)


def indicators(codes: Indices, n_levels: int | None = None) -> Array:
    """Return one column of 0 and 1 per level.

    `codes` holds the number of each row's level, from 0 upwards. The code -1 belongs to no level.
    """
    n_levels = codes.max() + 1 if n_levels is None else n_levels
    return (codes[:, None] == np.arange(n_levels)).astype(float)


def without_nuisance(values: Array, nuisance: Array) -> tuple[Array, int]:
    """Return the rows without the effects of `nuisance`, and the degrees of freedom these take.

    The means of the columns stay the same.
    """
    if not nuisance.shape[1]:
        return values, 0
    basis = np.ascontiguousarray(_span(nuisance, nuisance - nuisance.mean(axis=0)))
    left = np.empty(values.shape)
    for k, column in enumerate(np.ascontiguousarray(values.T)):
        # One by one, so that the rounding of a column does not depend on its place.
        left[:, k] = column - basis @ (basis.T @ (column - column.mean()))
    return left, basis.shape[1]


def column_lengths(design: Array, centred: Array) -> tuple[Array, Mask]:
    """Return the length of each centred column, and whether it is more than round-off."""
    lengths = np.linalg.norm(centred, axis=0)
    return lengths, lengths > DEPENDENT * np.linalg.norm(design, axis=0)


def missing_rows(values: NDArray[Any]) -> list[int]:
    """Return the rows whose value is missing or infinite.

    Texts such as "nan" count as missing, because numpy writes them for a gap in a column of texts.
    """
    return [
        row
        for row, cell in enumerate(values.tolist())
        if cell is None or str(cell).strip() in MISSING_TEXTS
    ]


def _span(design: Array, centred: Array) -> Array:
    """Return orthonormal columns that span the columns of a centred design."""
    lengths, varies = column_lengths(design, centred)
    # Scaled to unit length, so that the units of a covariate do not decide what is dependent.
    U, sizes, _ = np.linalg.svd(centred[:, varies] / lengths[varies], full_matrices=False)
    return U[:, sizes > DEPENDENT]


def _design_columns(name: str, column: Any, n: int) -> Array:
    """Return the design columns of one covariate: numbers, levels of a text, or a spline."""
    values = np.asarray(column)
    if values.ndim == 2 and len(values) == n and values.size and values.dtype.kind == "f":
        # A column with a gap would look constant and be left out without notice.
        gaps = np.flatnonzero(~np.isfinite(values).all(axis=1))
        if len(gaps):
            raise InputError("covariate.gaps", name=name, subjects=gaps.tolist()).says(
                GAPS, FILL_IN
            )
        return values
    check_count(values, n, name)
    missing = missing_rows(values)
    if missing:
        raise InputError("covariate.gaps", name=name, subjects=missing).says(GAPS, FILL_IN)
    # pandas may give numbers as objects. A text among them means that the values are levels.
    if values.dtype.kind == "O" and not any(isinstance(cell, str) for cell in values):
        values = _numbers(name, values)
    if values.dtype.kind in "fiub":
        return values.astype(float)[:, None]
    # Without the first level, because the columns of all levels add up to a constant.
    return indicators(np.unique(values.astype(str), return_inverse=True)[1])[:, 1:]


def _numbers(name: str, values: NDArray[Any]) -> Array:
    """Return numbers that were given as objects."""
    try:
        return values.astype(float)
    except (TypeError, ValueError) as error:
        odd = next((cell for cell in values if not is_number(cell)), values[0])
        raise InputError("covariate.type", name=name, type=type(odd).__name__).says(
            "covariate {name} holds a {type:s}", "Give numbers or text."
        ) from error


DEGREE = 3  # cubic, because the penalty needs continuous second derivatives
SMOOTH_DF = 6  # B-splines of a covariate; 10 change little and cost more (benchmarks/harmonisation)
MIN_SPLINES = DEGREE + 2  # with one knot inside the range; fewer B-splines have no such knot
FLAT = 1e-10  # smaller eigenvalues of the penalty, relative to the largest, are straight lines


@dataclass(frozen=True)
class Spline:
    """A cubic spline of one covariate, learned from training rows.

    Attributes
    ----------
    low, high : float
        Range of the covariate in the training rows.
    knots : ndarray
        Knots on a scale from 0 to 1. The knots at both ends occur four times.
    turn : ndarray of shape (n_splines, n_splines - 2)
        Matrix that maps B-splines to the curved columns. Their penalty matrix is the identity.
    """

    low: float
    high: float
    knots: Array
    turn: Array

    @property
    def n_columns(self) -> int:
        """Return the number of design columns: one straight column, and the curved columns."""
        return 1 + self.turn.shape[1]

    def columns(self, values: Array) -> Array:
        """Return the design columns of n values, of shape (n, n_columns); a NaN gives a row of NaN.

        Outside of the training range, the curve stays level.
        """
        # Clipped to the range, because a cubic function grows fast outside of it.
        inside = np.clip((values - self.low) / (self.high - self.low), 0.0, 1.0)
        known = ~np.isnan(inside)
        columns = np.full((len(values), self.n_columns), np.nan)
        columns[known, 0] = inside[known]
        columns[known, 1:] = _functions(self.knots, inside[known]) @ self.turn
        return columns


def learn_spline(values: Array, name: Any = "", df: int = SMOOTH_DF) -> Spline:
    """Return the spline of a covariate, with its knots at quantiles of the values.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Values of the covariate in the training rows; NaN are left out.
    name : str
        Name of the covariate, for messages.
    df : int
        Number of B-splines, at least 5. There are fewer if knots coincide.

    Raises
    ------
    InputError
        If the covariate has fewer different values than B-splines.
    """
    known = values[~np.isnan(values)]
    n = len(np.unique(known))
    if n < df:
        raise InputError("smooth.values", name=name, n=n, df=df).says(TOO_FEW_VALUES, NOT_SMOOTH)
    low, high = float(known.min()), float(known.max())
    unit = (known - low) / (high - low)
    quantiles = np.quantile(unit, np.linspace(0, 1, df - DEGREE + 1)[1:-1])
    # Quantiles of a covariate with many equal values may coincide with each other or an end.
    inner = np.unique(quantiles[(quantiles > 0) & (quantiles < 1)])
    knots = np.concatenate([np.zeros(DEGREE + 1), inner, np.ones(DEGREE + 1)])
    return Spline(low, high, knots, _turn(knots))


def can_bend(values: Array, name: Any = "", df: int = SMOOTH_DF) -> bool:
    """Return whether a part of the subjects has enough different values for a curve; warn if not.

    All subjects together may have enough values, while a fold or a half has too few. In such a part
    the effect is linear.
    """
    n = len(np.unique(values[~np.isnan(values)]))
    if n < df:
        Problem("smooth.part", name=name, n=n, df=df).warn(
            TOO_FEW_VALUES, "In this part of the subjects its effect is linear."
        )
    return n >= df


def with_curves_that_fit(part: Cohort) -> Cohort:
    """Return a part of a cohort, with linear effects instead of curves with too few values.

    See `can_bend`.
    """
    smooth = tuple(name for name in part.smooth if can_bend(part.covariates[name], name))
    return part if smooth == part.smooth else replace(part, smooth=smooth)


def check_curves(cohort: Cohort) -> None:
    """Raise InputError if a smooth covariate has too few different values for a curve."""
    for name in cohort.smooth:
        learn_spline(cohort.covariates[name], name)


def held_fixed(cohort: Cohort) -> dict[str, NDArray[Any]]:
    """Return the covariates by name, and smooth covariates as the columns of their spline.

    Their effects are held fixed when groups are compared. Spline columns have the shape (n, k). A
    covariate with gaps is returned as it is: code that needs complete values reports the gaps.
    """
    columns = dict(cohort.covariates)
    for name in cohort.smooth:
        if name in columns and not np.isnan(columns[name]).any():
            columns[name] = learn_spline(columns[name], name).columns(columns[name])
    return columns


def effect_names(cohort: Cohort) -> list[str]:
    """Return the names of the covariates for texts, such as ``sex`` or ``age (a curve)``."""
    return [f"{name} (a curve)" if name in cohort.smooth else name for name in cohort.covariates]


def _functions(knots: Array, unit: Array, derivative: int = 0) -> Array:
    """Return the B-splines, or their derivatives, at points from 0 to 1."""
    from scipy.interpolate import BSpline  # slow to import, and rarely needed

    splines = BSpline(knots, np.eye(len(knots) - DEGREE - 1), DEGREE)
    return splines(unit, nu=derivative)


def _turn(knots: Array) -> Array:
    """Return the matrix that maps B-splines to the curved columns.

    With these columns, the squared coefficients add up to the integral of f'' squared.
    """
    ends = np.unique(knots)
    half = np.diff(ends) / 2
    # Two Gauss points per interval are exact, because products of second derivatives are quadratic.
    points = (ends[:-1] + half)[:, None] + half[:, None] * np.array([-1, 1]) / np.sqrt(3)
    bends = _functions(knots, points.ravel(), derivative=2)
    penalty = bends.T @ (np.repeat(half, 2)[:, None] * bends)
    sizes, vectors = np.linalg.eigh(penalty)
    bent = sizes > FLAT * sizes[-1]
    vectors = vectors[:, bent] / np.sqrt(sizes[bent])
    # The signs of eigenvectors are arbitrary. They are fixed, so that files of two machines agree.
    strongest = np.abs(vectors).argmax(axis=0)
    return vectors * np.sign(vectors[strongest, np.arange(vectors.shape[1])])


RANK_EPS = 1e-8  # singular value relative to the largest: with a smaller one, D is collinear
MAX_SHARE_OUTSIDE = 0.1  # share of the training range: values further outside give a warning
CONSTANT_EPS = 1e-12  # spread relative to the largest cell: a smaller one is round-off


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


@dataclass(frozen=True)
class Covariate:
    """One covariate: its name, its levels if it is categorical, its spline if it is smooth."""

    name: Any
    levels: tuple[Any, ...] | None
    spline: Spline | None = None

    def design_names(self) -> list[str]:
        """Return the names of its design columns."""
        if self.spline is not None:
            bends = range(1, self.spline.n_columns)
            return [str(self.name), *(f"{self.name} (bend {k})" for k in bends)]
        if self.levels is None:
            return [str(self.name)]
        return [f"{self.name}={level}" for level in self.levels[1:]]

    def encode(self, cells: pd.Series[Any]) -> Array:
        """Return its design columns, not centred. A category that training lacked gives NaN."""
        _refuse_gaps(cells)
        if self.spline is not None:
            return self.spline.columns(numeric_cells(cells))
        if self.levels is None:
            return numeric_cells(cells)[:, None]
        codes = level_codes(cells, self.levels)
        columns = indicators(codes, len(self.levels))[:, 1:]
        # `CovariateColumns.rows` replaces NaN by 0, which is the training average.
        columns[codes < 0] = np.nan
        return columns


@dataclass(frozen=True)
class CovariateColumns:
    """The covariates of a model, and the training means of their design columns."""

    covariates: tuple[Covariate, ...]
    means: Array

    @property
    def names(self) -> list[str]:
        """Return the names of the design columns, such as ``age`` or ``sex=M``."""
        return [name for covariate in self.covariates for name in covariate.design_names()]

    @property
    def smooth(self) -> list[Indices]:
        """Return the indices of the curved columns, as one array per smooth covariate."""
        # The first column of a spline is straight, and it is not penalised.
        starts = np.cumsum([0, *(len(covariate.design_names()) for covariate in self.covariates)])
        return [
            np.arange(starts[k] + 1, starts[k + 1])
            for k, covariate in enumerate(self.covariates)
            if covariate.spline is not None
        ]

    def rows(self, named: pd.DataFrame) -> Array:
        """Return the centred design columns of these rows.

        Warn of categories that training did not have, and of values far outside the training range.
        """
        blocks = [covariate.encode(named[covariate.name]) for covariate in self.covariates]
        for covariate, block in zip(self.covariates, blocks, strict=True):
            _warn_unseen(covariate, named[covariate.name], block)
            _warn_outside(covariate, named[covariate.name])
        return np.nan_to_num(_stack(blocks, len(named)) - self.means, nan=0.0)

    def covariates_of(self, columns: Indices) -> list[Any]:
        """Return the names of the covariates to which these design columns belong."""
        owners = [c.name for c in self.covariates for _ in c.design_names()]
        return list(dict.fromkeys(owners[k] for k in columns))


def learn_design(
    named: pd.DataFrame,
    rows: Indices | None = None,
    smooth: Collection[Any] = (),
    df: int = SMOOTH_DF,
) -> CovariateColumns:
    """Learn the levels of the covariates, the knots of curves, and the means of all columns.

    Parameters
    ----------
    named : DataFrame
        A table with one column per covariate.
    rows : array of int, optional
        Training rows that give the levels and the knots. By default all rows. Means are always
        taken over all rows.
    smooth : collection of column names
        Covariates whose effect is a curve. If these rows have fewer different values than there
        are B-splines, the effect is linear, with a `DataWarning`.
    df : int
        Number of B-splines per curve.
    """
    known = named if rows is None else named.iloc[rows]
    check_smooth(smooth, named.columns)
    covariates = tuple(_covariate(known[name], name in smooth, df) for name in named.columns)
    blocks = [covariate.encode(named[covariate.name]) for covariate in covariates]
    # A row outside of `rows` may have an unknown level: the means leave such rows out.
    return CovariateColumns(covariates, np.nanmean(_stack(blocks, len(named)), axis=0))


def _covariate(cells: pd.Series[Any], smooth: bool, df: int) -> Covariate:
    levels = sorted_levels(cells) if is_categorical(cells) else None
    if not smooth:
        return Covariate(cells.name, levels)
    check_smooth_numbers(cells.name, levels is None)
    values = numeric_cells(cells)
    if not can_bend(values, cells.name, df):
        return Covariate(cells.name, None)
    return Covariate(cells.name, None, learn_spline(values, cells.name, df))


def is_categorical(cells: pd.Series[Any]) -> bool:
    """Return whether a column holds categories: text, truth values or pandas categories."""
    dtype = cells.infer_objects().dtype
    return not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)


def numeric_cells(cells: pd.Series[Any]) -> Array:
    """Return the cells of a numeric covariate as floats, missing cells as NaN.

    Raise InputError for a cell that is not a number, or that is too large to compute with.
    """
    # Cells become objects first: nullable integers and numbers in text are then read alike.
    numbers = pd.to_numeric(cells.astype(object), errors="coerce").astype(np.float64)
    values: Array = np.array(numbers, np.float64)
    bad = (np.isnan(values) & cells.notna().to_numpy()) | (np.abs(values) > LARGEST)
    if bad.any():
        value, subject = cells[bad].iloc[0], cells.index[bad][0]
        raise InputError("covariate.cell", name=cells.name, value=value, subject=subject).says(
            "the numeric covariate {name} is {value} in {subject}", "Correct this cell."
        )
    return values


def sorted_levels(cells: pd.Series[Any]) -> tuple[Any, ...]:
    """Return the levels that occur, sorted. Levels of mixed types are sorted by their text."""
    levels = set(cells.dropna().tolist())
    try:
        return tuple(sorted(levels))
    except TypeError:
        return tuple(sorted(levels, key=str))


def level_codes(cells: pd.Series[Any], levels: Sequence[Any]) -> Indices:
    """Return the place of each cell among the levels, or -1 if it is not among them."""
    # A dict compares by value: 1, 1.0 and numpy's 1 are the same level.
    place = {level: k for k, level in enumerate(levels)}
    return np.array([place.get(cell, -1) for cell in cells.tolist()], np.intp)


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
    if D.shape[1] == 0:
        none = np.empty(0, np.intp)
        return Slopes(np.zeros((0, Y.shape[1])), none, none)
    spread, varies, U, s, Vt, rank = _decompose(D, codes)
    # The part of Y that D can explain, in the coordinates of the left singular vectors.
    moments = U[:, :rank].T @ (Y - group_means(Y, codes)[codes])
    coef = Vt[:rank].T @ (moments / s[:rank, None]) / spread[:, None]
    # Columns that take part in a direction without variance are collinear.
    null = np.abs(Vt[rank:]).max(axis=0, initial=0.0) > np.sqrt(RANK_EPS)
    return Slopes(coef, np.flatnonzero(~varies), np.flatnonzero(null & varies))


def centred_span(D: Array, codes: Indices) -> Array:
    """Return orthonormal columns that span D after it is centred within groups."""
    if D.shape[1] == 0:
        return D
    _, _, U, _, _, rank = _decompose(D, codes)
    return U[:, :rank]


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
    rank = int(np.sum(s > RANK_EPS * s[0])) if s[0] > 0 else 0
    return spread, varies, U, s, Vt, rank


def check_enough_rows(n_rows: int, n_intercepts: int, design: CovariateColumns) -> None:
    """Raise InputError unless there are more rows than numbers to fit."""
    needed = len(design.names) + n_intercepts
    # Residuals would be zero, and only round-off would be left of a region.
    if design.names and n_rows <= needed:
        # Not the names of the columns, because they hold labels.
        names, n = [covariate.name for covariate in design.covariates], n_rows
        raise InputError("design.rows", n=n, needed=needed, names=names).says(
            "n_samples = {n} cannot estimate {needed} design columns, of {names} and means",
            "Give more subjects, or fewer covariates or levels.",
        )


def _stack(blocks: Sequence[Array], n_rows: int) -> Array:
    return np.hstack([np.empty((n_rows, 0)), *blocks])


def _refuse_gaps(cells: pd.Series[Any]) -> None:
    gaps = cells.isna().to_numpy()
    if gaps.any():
        subjects = cells.index[gaps].tolist()
        raise InputError("covariate.gaps", name=cells.name, subjects=subjects).says(GAPS, IMPUTE)


def _warn_unseen(covariate: Covariate, cells: pd.Series[Any], block: Array) -> None:
    # A covariate with one level has no design column, so an unknown level changes nothing.
    if covariate.levels is None or len(covariate.levels) < 2 or not np.isnan(block).any():
        return
    unseen = cells[np.isnan(block[:, 0])]
    levels = labels_shown(unseen.unique().tolist(), unseen.to_numpy(str))
    Problem("covariate.unseen", name=covariate.name, levels=levels, n=len(unseen)).warn(
        "{name} has categories that training did not have, in {n:row}: {levels}",
        "There it is taken as the training average. To avoid this, merge rare categories.",
    )


def _warn_outside(covariate: Covariate, cells: pd.Series[Any]) -> None:
    """Warn of values far outside the training range of a curve."""
    spline = covariate.spline
    if spline is None:
        return
    values = numeric_cells(cells)
    # Values a little outside are usual in test rows, and the effect at the end is close to theirs.
    margin = MAX_SHARE_OUTSIDE * (spline.high - spline.low)
    outside = (values < spline.low - margin) | (values > spline.high + margin)
    if outside.any():
        where = {"name": covariate.name, "low": spline.low, "high": spline.high}
        Problem("smooth.outside", subjects=cells.index[outside].tolist(), **where).warn(
            "{name} of {subjects} lies far outside the training range ({low:g} to {high:g})",
            "The effect at the end of the range is used. Train on such subjects too, or drop them.",
        )
