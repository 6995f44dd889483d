"""Design matrices: the covariates as columns of numbers.

A numeric covariate gives one column, a categorical covariate one column for each level except the
first. A smooth covariate gives the columns of a spline (`sgbn.structure.smooth`): one straight
column and several curved columns. All columns are centred at their training means. If a subject has
a category that training did not have, the cells of this covariate are 0, the training average.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sgbn.core.exceptions import InputError, listed, shown, warn
from sgbn.core.types import Array, Indices, Mask
from sgbn.core.validation import LARGEST
from sgbn.preprocessing.columns import row_name
from sgbn.structure.nuisance import indicators
from sgbn.structure.smooth import SMOOTH_DF, Spline, can_bend, learn_spline

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
        # `Design.rows` replaces NaN by 0, which is the training average.
        columns[codes < 0] = np.nan
        return columns


@dataclass(frozen=True)
class Design:
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
        sizes = [len(covariate.design_names()) for covariate in self.covariates]
        # The first column of a spline is straight, and it is not penalised.
        starts = np.cumsum([0, *sizes])
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
) -> Design:
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
    return Design(covariates, np.nanmean(_stack(blocks, len(named)), axis=0))


def check_smooth(smooth: Collection[Any], named: Iterable[Any]) -> None:
    """Raise InputError if a smooth covariate is not among the covariates."""
    for name in smooth:
        if name not in list(named):
            raise InputError(
                f"smooth names {name!r}, which is not among the covariates "
                f"({listed(list(named)) or 'none'}). Name it there too, or take it out of smooth."
            )


def _covariate(cells: pd.Series[Any], smooth: bool, df: int) -> Covariate:
    levels = sorted_levels(cells) if is_categorical(cells) else None
    if not smooth:
        return Covariate(cells.name, levels)
    if levels is not None:
        raise InputError(
            f"the smooth covariate {cells.name!r} has categories, but a curve needs numbers. Take "
            "it out of smooth (--smooth)."
        )
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
        row = int(np.argmax(bad))
        raise InputError(
            f"the numeric covariate {cells.name!r} is {shown(cells.iloc[row])} in "
            f"{row_name(cells.index, row)}. Correct this cell."
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
    n_columns = D.shape[1]
    if n_columns == 0:
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


def check_enough_rows(n_rows: int, n_intercepts: int, design: Design, which: str) -> None:
    """Raise InputError unless there are more rows than numbers to fit."""
    needed = len(design.names) + n_intercepts
    # Residuals would be zero, and only round-off would be left of a region.
    if design.names and n_rows <= needed:
        raise InputError(
            f"there are {n_rows} {which}, but {needed} design columns ({listed(design.names)}, and "
            f"{n_intercepts} for the mean): n_samples = {n_rows} must be larger than {needed}. "
            "Give more subjects, or fewer covariates or levels."
        )


def _stack(blocks: Sequence[Array], n_rows: int) -> Array:
    return np.hstack([np.empty((n_rows, 0)), *blocks])


def _refuse_gaps(cells: pd.Series[Any]) -> None:
    gaps = cells.isna().to_numpy()
    if gaps.any():
        row = int(np.argmax(gaps))
        raise InputError(
            f"the covariate {cells.name!r} is missing (NaN) in {row_name(cells.index, row)} "
            f"({int(gaps.sum())} such rows). Impute it with RegionImputer(covariates=...) in the "
            "step before, or drop these subjects."
        )


def _warn_unseen(covariate: Covariate, cells: pd.Series[Any], block: Array) -> None:
    # A covariate with one level has no design column, so an unknown level changes nothing.
    if covariate.levels is None or len(covariate.levels) < 2 or not np.isnan(block).any():
        return
    unseen = cells[np.isnan(block[:, 0])]
    counts = ", ".join(f"{shown(v)} ({c})" for v, c in unseen.value_counts(sort=False).items() if c)
    warn(
        f"{covariate.name!r} has categories that no training subject had: {counts}. For these "
        "subjects this covariate is taken as the training average. To avoid this, merge rare "
        "categories."
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
        row = int(np.argmax(outside))
        warn(
            f"the smooth covariate {covariate.name!r} lies far outside the training range "
            f"({spline.low:g} to {spline.high:g}) in {int(outside.sum())} rows. The first is "
            f"{row_name(cells.index, row)}. For these rows the effect at the end of the range is "
            "used. Train on such subjects too, or drop them."
        )
