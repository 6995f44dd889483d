"""The transformer that removes the effects of covariates from the regions, and their design.

A design that is learned from training rows (`learn_design`) centres all its columns at their
training means. If a subject has a category that training did not have, the cells of this covariate
are 0, the training average.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sgbn.cohort.cohort import labels_shown
from sgbn.cohort.design import check_smooth, check_smooth_numbers
from sgbn.cohort.effects import (
    GAPS,
    MIN_SPLINES,
    SMOOTH_DF,
    Spline,
    can_bend,
    indicators,
    learn_spline,
)
from sgbn.core.problems import InputError, Problem, did_you_mean
from sgbn.core.types import Array, Indices
from sgbn.core.validation import ANYTHING, LARGEST, TRUTH, Label, Parameters, Whole
from sgbn.prepare.columns import COLUMNS, NamedColumnTransformer, Names, Table, as_names, labels_of
from sgbn.prepare.mixed import Slopes, fit_mixed, within_group_slopes

MAX_SHARE_OUTSIDE = 0.1  # share of the training range: values further outside give a warning
IMPUTE = "Impute it with RegionImputer(covariates=...) in the step before, or drop these subjects."


class CovariateRegressor(NamedColumnTransformer):
    """Remove the effects of covariates from every region.

    The covariates are columns of X, and this step takes these columns out of X. A numeric column,
    for example of 0 and 1, is used as it is. A column of text, truth values or categories becomes
    one indicator for each level except the first. The step removes ``slope * (covariate - training
    mean)``, so that each region keeps its training mean. Slopes and means are learned in `fit`,
    from the training rows only.

    Effects are linear, or curves if the covariates are named in `smooth`. Curves are penalised
    cubic splines, the same as in `SiteHarmonizer`. If a value lies outside the training range, its
    effect is the effect at the nearer end of the range.

    If a category did not occur in training, the effect of that covariate is taken as its training
    average, and a `DataWarning` names the category. If a covariate does not vary in training, or
    if other covariates determine it, its slope is not unique: the least-squares solution with the
    smallest norm is used, with a warning.

    Parameters
    ----------
    covariates : sequence of column names
        Columns of the covariates. For an array, positions of columns.
    smooth : sequence of column names
        The names in `covariates` whose effects are curves.
    smooth_df : int
        Number of B-splines of each curve, at least 5. If a covariate has fewer different values in
        training, its effect is linear, with a `DataWarning`.
    reference : group label, optional
        Learn the slopes only from the training rows with ``y == reference``, for example from the
        controls. The change that a disease makes to ageing then stays in the values of the
        patients. A category that does not occur in the reference group counts as one that did not
        occur in training.
    within_groups : bool
        Learn the slopes from rows that are centred within their group. A difference between the
        means of the groups is then not mistaken for an effect of a covariate that differs between
        them. y is used in `fit` only: `transform` does not know the groups.

    Attributes
    ----------
    coef_ : array of shape (design columns, regions)
        Slopes per unit of the covariate. For a smooth covariate, per unit of its design columns.
    design_names_ : list of str
        Names of the design columns, such as ``age`` or ``sex=M``.
    design_mean_ : array of shape (design columns,)
        Training mean of each design column, which is subtracted from it.
    n_rows_ : int
        Number of training rows from which the slopes were learned.
    n_features_in_, feature_names_in_
        Number and names of the columns of X in `fit`.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"insula": [2.0, 3.0, 4.0, 5.0], "age": [20, 30, 40, 50]})
    >>> CovariateRegressor(covariates=["age"]).fit_transform(X)["insula"].round(6).tolist()
    [3.5, 3.5, 3.5, 3.5]
    """

    _consumes: ClassVar[tuple[str, ...]] = ("covariates",)
    _parameters: ClassVar[Parameters] = {
        "covariates": COLUMNS,
        "smooth": ANYTHING,  # compared with `covariates` in fit
        "smooth_df": Whole(MIN_SPLINES),
        "reference": ANYTHING,
        "within_groups": TRUTH,
    }

    def __init__(
        self,
        covariates: Names = (),
        *,
        smooth: Names = (),
        smooth_df: int = SMOOTH_DF,
        reference: Label | None = None,
        within_groups: bool = False,
    ) -> None:
        self.covariates = covariates
        self.smooth = smooth
        self.smooth_df = smooth_df
        self.reference = reference
        self.within_groups = within_groups

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn the slopes of the covariates.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_columns)
            A table with the regions and the covariates.
        y : array-like of shape (n_samples,), optional
            Group of each row. Required with `reference` or `within_groups`, otherwise not used.

        Returns
        -------
        self
        """
        table = self._open(X)
        rows, codes = self._training(y, len(table.values))
        design = learn_design(table.named, rows, as_names(self.smooth), self.smooth_df)
        check_enough_rows(len(rows), len(np.unique(codes)), design)
        D, values = design.rows(table.named.iloc[rows]), table.values[rows]
        # The penalty of a curve is estimated too, for each region.
        if design.smooth:
            slopes = fit_mixed(D, values, codes, design.smooth).slopes
        else:
            slopes = within_group_slopes(D, values, codes)
        _warn_about_rank(slopes, design)
        self._design = design
        self.coef_, self.n_rows_ = slopes.coef, len(rows)
        self.design_names_, self.design_mean_ = design.names, design.means
        return self

    def _check_together(self) -> None:
        if self.reference is not None and self.within_groups:
            raise InputError("regressor.reference").says(
                "{reference=} learns the slopes from one group, {within_groups=True} from all",
                "Give only one of them.",
            )

    def _training(self, y: Any, n_rows: int) -> tuple[Indices, Indices]:
        """Return the rows from which slopes are learned, and the group of each as a number."""
        rows = np.arange(n_rows)
        if self.reference is None and not self.within_groups:
            return rows, np.zeros(n_rows, np.intp)
        if y is None:
            raise InputError("regressor.groups").says(
                "{reference=} and {within_groups=True} need the groups",
                "Call fit(X, y) with one label per row.",
            )
        codes, groups = labels_of(y, n_rows)
        if self.reference is None:
            return rows, codes
        wanted = np.flatnonzero(groups == self.reference)
        if not len(wanted):
            near = did_you_mean(self.reference, sorted(groups.tolist(), key=str))
            raise InputError("groups.unknown", group=self.reference, near=near).says(
                "no training row is in the reference group {group}", "{near}"
            )
        # With a single group, all rows have the same intercept.
        rows = np.flatnonzero(codes == wanted[0])
        return rows, np.zeros(len(rows), np.intp)

    def _changed(self, table: Table) -> Table:
        # Design columns are centred at their training means, so that a region keeps its mean.
        effect = self._design.rows(table.named) @ self.coef_
        return replace(table, values=table.values - effect)


def _warn_about_rank(slopes: Slopes, design: CovariateColumns) -> None:
    if len(slopes.constant):
        Problem("covariate.constant", names=design.covariates_of(slopes.constant)).warn(
            "covariates, or levels of them, that do not vary in training: {names}",
            "Nothing is removed for them. Drop them, or merge rare levels.",
        )
    # This is not an error, because the joint effect of these covariates is well defined.
    if len(slopes.collinear):
        Problem("covariate.collinear", names=design.covariates_of(slopes.collinear)).warn(
            "covariates determine each other (collinear): {names}",
            "Their joint effect is removed, but do not interpret separate slopes. Drop one.",
        )


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
        gaps = cells.isna().to_numpy()
        if gaps.any():
            subjects = cells.index[gaps].tolist()
            raise InputError("covariate.gaps", name=cells.name, subjects=subjects).says(
                GAPS, IMPUTE
            )
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
    spline = None
    if smooth:
        check_smooth_numbers(cells.name, levels is None)
        values = numeric_cells(cells)
        if can_bend(values, cells.name, df):
            spline = learn_spline(values, cells.name, df)
    return Covariate(cells.name, levels, spline)


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
