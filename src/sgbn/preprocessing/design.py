"""Covariates as numbers: one column for a numeric one, one per level but the first for others.

All columns are centred at their training means. A subject of whom a category is not known has
zeros there: it is taken as the training average.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sgbn.exceptions import InputError, listed, shown, warn
from sgbn.preprocessing.columns import row_name
from sgbn.structure.nuisance import indicators
from sgbn.types import Array, Indices
from sgbn.validation import LARGEST

RANK_EPS = 1e-8  # singular values of standardised columns: relatively smaller is collinear
CONSTANT_EPS = 1e-12  # spread relative to the largest cell: less is round-off


class Slopes(NamedTuple):
    """Least-squares weights (design columns x regions), and columns that lack one of their own."""

    coef: Array
    constant: Indices
    collinear: Indices


@dataclass(frozen=True)
class Covariate:
    """One covariate: its name, and its levels if it is categorical."""

    name: Any
    levels: tuple[Any, ...] | None

    def design_names(self) -> list[str]:
        """Names of its design columns."""
        if self.levels is None:
            return [str(self.name)]
        return [f"{self.name}={level}" for level in self.levels[1:]]

    def encode(self, cells: pd.Series[Any]) -> Array:
        """Design columns, not centred; NaN where the category was not seen in training."""
        _refuse_gaps(cells)
        if self.levels is None:
            return numeric_cells(cells)[:, None]
        codes = level_codes(cells, self.levels)
        columns = indicators(codes, len(self.levels))[:, 1:]
        columns[codes < 0] = np.nan
        return columns


@dataclass(frozen=True)
class Design:
    """Covariates with what was learned of them in training."""

    covariates: tuple[Covariate, ...]
    means: Array

    @property
    def names(self) -> list[str]:
        """Names of the design columns: ``age``, ``sex=M``."""
        return [name for covariate in self.covariates for name in covariate.design_names()]

    def rows(self, named: pd.DataFrame) -> Array:
        """Design columns of these rows, centred; warns of categories that training lacked."""
        blocks = [covariate.encode(named[covariate.name]) for covariate in self.covariates]
        for covariate, block in zip(self.covariates, blocks, strict=True):
            _warn_unseen(covariate, named[covariate.name], block)
        return np.nan_to_num(_stack(blocks, len(named)) - self.means, nan=0.0)

    def covariates_of(self, columns: Indices) -> list[Any]:
        """Names of the covariates that these design columns belong to."""
        owners = [c.name for c in self.covariates for _ in c.design_names()]
        return list(dict.fromkeys(owners[k] for k in columns))


def learn_design(named: pd.DataFrame, rows: Indices | None = None) -> Design:
    """Levels of the covariates in these training rows (all), and means over all that have them."""
    known = named if rows is None else named.iloc[rows]
    covariates = tuple(Covariate(name, _levels(known[name])) for name in named.columns)
    blocks = [covariate.encode(named[covariate.name]) for covariate in covariates]
    return Design(covariates, np.nanmean(_stack(blocks, len(named)), axis=0))


def is_categorical(cells: pd.Series[Any]) -> bool:
    """Whether a column holds categories: text, truth values or pandas categories."""
    dtype = cells.infer_objects().dtype
    return not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)


def numeric_cells(cells: pd.Series[Any]) -> Array:
    """Cells of a numeric covariate as floats, missing ones as NaN; others are refused."""
    numbers = pd.to_numeric(cells.astype(object), errors="coerce").astype(np.float64)
    values: Array = np.array(numbers, np.float64)
    bad = (np.isnan(values) & cells.notna().to_numpy()) | (np.abs(values) > LARGEST)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"the numeric covariate {cells.name!r} holds {shown(cells.iloc[row])} in "
            f"{row_name(cells.index, row)}. Correct this cell."
        )
    return values


def sorted_levels(cells: pd.Series[Any]) -> tuple[Any, ...]:
    """Levels that occur, in order; levels of mixed types in the order of their text."""
    found = set(cells.dropna().tolist())
    try:
        return tuple(sorted(found))
    except TypeError:
        return tuple(sorted(found, key=str))


def level_codes(cells: pd.Series[Any], levels: Sequence[Any]) -> Indices:
    """Place of each cell among the levels, or -1. Compared as objects, so that 1 is 1.0."""
    place = {level: k for k, level in enumerate(levels)}
    return np.array([place.get(cell, -1) for cell in cells.tolist()], np.intp)


def group_means(values: Array, codes: Indices) -> Array:
    """Mean of the rows of each group; every number below ``codes.max() + 1`` must occur."""
    counts = np.bincount(codes)
    indicator = (codes == np.arange(len(counts))[:, None]).astype(float)
    means: Array = indicator @ values / counts[:, None]
    return means


def within_group_slopes(D: Array, Y: Array, codes: Indices) -> Slopes:
    """Least squares of Y on D after both are centred within groups.

    This equals least squares with an intercept for each group. Where D lacks rank, it is the
    solution of least norm in standardised columns, which does not depend on units.

    Parameters
    ----------
    D : array of shape (rows, design columns)
    Y : array of shape (rows, regions)
    codes : array of shape (rows,)
        Group of each row, numbered from 0; all zero for one common intercept.
    """
    n_columns = D.shape[1]
    if n_columns == 0:
        none = np.empty(0, np.intp)
        return Slopes(np.zeros((0, Y.shape[1])), none, none)
    centred = D - group_means(D, codes)[codes]
    spread = np.sqrt(np.mean(centred**2, axis=0))
    varies = spread > CONSTANT_EPS * np.abs(D).max(axis=0, initial=0.0)
    spread = np.where(varies, spread, 1.0)
    U, s, Vt = np.linalg.svd(np.where(varies, centred, 0.0) / spread, full_matrices=False)
    rank = int(np.sum(s > RANK_EPS * s[0])) if s[0] > 0 else 0
    moments = U[:, :rank].T @ (Y - group_means(Y, codes)[codes])
    coef = Vt[:rank].T @ (moments / s[:rank, None]) / spread[:, None]
    null = np.abs(Vt[rank:]).max(axis=0, initial=0.0) > np.sqrt(RANK_EPS)
    return Slopes(coef, np.flatnonzero(~varies), np.flatnonzero(null & varies))


def check_enough_rows(n_rows: int, n_intercepts: int, design: Design, which: str) -> None:
    """Refuse to fit as many numbers as there are rows."""
    needed = len(design.names) + n_intercepts
    if design.names and n_rows <= needed:
        raise InputError(
            f"{n_rows} {which} for {needed} design columns ({listed(design.names)}, and "
            f"{n_intercepts} for the mean): n_samples = {n_rows} must exceed them. Give more "
            "subjects, or fewer covariates or levels."
        )


def _levels(cells: pd.Series[Any]) -> tuple[Any, ...] | None:
    return sorted_levels(cells) if is_categorical(cells) else None


def _stack(blocks: Sequence[Array], n_rows: int) -> Array:
    return np.hstack([np.empty((n_rows, 0)), *blocks])


def _refuse_gaps(cells: pd.Series[Any]) -> None:
    gaps = cells.isna().to_numpy()
    if gaps.any():
        row = int(np.argmax(gaps))
        raise InputError(
            f"the covariate {cells.name!r} is missing (NaN) in {row_name(cells.index, row)} "
            f"({int(gaps.sum())} such rows). Impute it first: RegionImputer(covariates=...) in "
            "the step before, or drop these subjects."
        )


def _warn_unseen(covariate: Covariate, cells: pd.Series[Any], block: Array) -> None:
    if covariate.levels is None or len(covariate.levels) < 2 or not np.isnan(block).any():
        return
    unseen = cells[np.isnan(block[:, 0])]
    counts = ", ".join(f"{shown(v)} ({c})" for v, c in unseen.value_counts(sort=False).items() if c)
    warn(
        f"{covariate.name!r} has categories that no training subject had: {counts}. These "
        "subjects are taken as the training average of it. Merge rare categories to avoid this."
    )
