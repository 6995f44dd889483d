"""Named columns of X: what is a region and what is not, and the table put together again.

A transformer declares which of its parameters name columns (`COLUMNS`) and which of those it takes
out of X (`_consumes`). Every column that no parameter names is a region. A DataFrame gives a
DataFrame, an array an array; the columns of an array are named by their position, from 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from sgbn.exceptions import InputError, did_you_mean, listed, shown
from sgbn.parameters import Constraint, check_parameters, declared_parameters
from sgbn.types import Array, Indices
from sgbn.validation import LARGEST

Name = str | int  # of a column; its position in an array
Names = int | Iterable[Hashable] | None  # of columns; one alone, a text among them, will do

COLUMNS = Constraint(["names of columns"], lambda _: True)  # they are looked for in X


@dataclass(frozen=True)
class Table:
    """X taken apart.

    Attributes
    ----------
    values : array of shape (rows, regions)
        The regions, as a copy that may be changed.
    named : DataFrame
        The named columns as they came, called as the parameters call them.
    labels : Index
        Names of the regions.
    places : array of shape (regions,)
        Where the regions stand among the columns of X.
    """

    values: Array
    named: pd.DataFrame
    labels: pd.Index[Any]
    places: Indices


class NamedColumnTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator, ABC):
    """Base of the transformers that find covariates and site by name among the columns of X."""

    _consumes: ClassVar[tuple[str, ...]] = ()  # parameters whose columns are taken out of X
    _accepts_gaps: ClassVar[bool] = False  # whether a region may hold NaN

    def _roles(self) -> dict[str, Any]:
        """Parameter -> the column or columns that it names."""
        declared = declared_parameters(type(self)).items()
        return {name: getattr(self, name) for name, allowed in declared if allowed is COLUMNS}

    @abstractmethod
    def _changed(self, table: Table) -> Table:
        """Return the table after this step; columns that are consumed may stay in it."""

    def transform(self, X: ArrayLike) -> Any:
        """Apply what was learned in `fit` to each row of X by itself.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_columns)
            The same columns as in `fit`.

        Returns
        -------
        DataFrame or array
            A DataFrame if X is one.
        """
        check_is_fitted(self)
        table = self._open(X, reset=False)
        # numpy's own warning would name no column; `_close` does
        with np.errstate(over="ignore", invalid="ignore"):
            changed = self._changed(table)  # what overflows is reported by its column
        return self._close(X, changed)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Names of the columns that `transform` gives back."""
        check_is_fitted(self)
        names: NDArray[np.object_] = super().get_feature_names_out(input_features)
        return names[self._kept_places]

    @property
    def _site(self) -> Any:
        """Name of the site column, None without one."""
        return next(iter(as_names(getattr(self, "site", None))), None)

    def _open(self, X: Any, reset: bool = True) -> Table:
        """Take X apart; with `reset`, find and remember the places of its columns first."""
        frame = self._frame(X, reset)
        if reset:
            check_parameters(self)
            self._place(frame.columns)
        regions = frame.iloc[:, self._region_places]
        values = _numbers(regions)
        check_finite(values, regions, accept_gaps=self._accepts_gaps)
        named = frame.iloc[:, self._named_places].set_axis(self._names, axis=1)
        return Table(values, named, regions.columns, self._region_places)

    def _frame(self, X: Any, reset: bool) -> pd.DataFrame:
        if isinstance(X, pd.DataFrame):
            _check_frame(X)
            validate_data(self, X, reset=reset, skip_check_array=True)
            self._check_order(X.columns, reset)
            return X
        # an array with named columns may hold text, which must not become a float here
        mixed = any(as_names(names) for names in self._roles().values())
        array = validate_data(
            self,
            X,
            reset=reset,
            dtype=None if mixed else np.float64,
            ensure_all_finite=False,
        )
        return pd.DataFrame(array, columns=getattr(self, "feature_names_in_", None))

    def _check_order(self, columns: pd.Index[Any], reset: bool) -> None:
        """Raise InputError if columns whose names are not text stand elsewhere than in `fit`."""
        named_by_text = hasattr(self, "feature_names_in_")
        # scikit-learn checks text names itself, in `validate_data`
        if not (reset or named_by_text or self._columns.equals(columns)):
            raise InputError(
                f"the columns of X ({listed(list(columns))}) are not those of fit, in their order "
                f"({listed(list(self._columns))}). Give the same columns in the same order."
            )

    def _place(self, columns: pd.Index[Any]) -> None:
        self._columns = columns
        roles = {parameter: as_names(names) for parameter, names in self._roles().items()}
        # in the order of the parameters, as `Table.named` has them
        self._names = [name for names in roles.values() for name in names]
        _check_once(roles)
        if len(roles.get("site", ())) > 1:
            raise InputError(f"site names several columns: {listed(roles['site'])}. Name one.")
        self._named_places = np.array(
            [find(name, columns, role) for role, names in roles.items() for name in names], np.intp
        )
        everywhere = np.arange(len(columns))
        self._region_places = np.setdiff1d(everywhere, self._named_places)
        if not len(self._region_places):
            raise InputError("X has no region: each of its columns is named as something else.")
        gone = [name for role in self._consumes for name in roles[role]]
        self._kept_names = [name for name in self._names if name not in gone]
        kept = [name not in gone for name in self._names]
        self._kept_named_places = self._named_places[np.array(kept, bool)]
        self._kept_places = np.union1d(self._region_places, self._kept_named_places)

    def _close(self, X: Any, table: Table) -> Any:
        """Put the table together again, in the order and form of X."""
        # an overflow minus another one is NaN: both are reported as too large
        values = np.nan_to_num(table.values, nan=np.inf)  # neither comes but from an overflow
        _check_size(values, table.labels, table.named.index, np.finfo(float).max)
        is_frame = isinstance(X, pd.DataFrame)
        if not is_frame and not self._kept_names:
            return table.values
        regions = pd.DataFrame(table.values, index=table.named.index, columns=table.labels)
        frame = pd.concat([regions, table.named[self._kept_names]], axis=1)
        places = np.concatenate([table.places, self._kept_named_places])
        # regions and kept columns stand where they stood in X
        order = np.argsort(places)
        frame = frame.iloc[:, order]
        if not is_frame:
            return frame.to_numpy()
        frame.columns = X.columns[places[order]]
        frame.attrs = dict(X.attrs)  # a covariate that is kept is still not a region
        return frame


def as_names(names: Names) -> tuple[Any, ...]:
    """Return column names as a tuple; None gives an empty one, a single name a tuple of one."""
    if names is None:
        return ()
    if isinstance(names, str) or not isinstance(names, Iterable):
        return (names,)
    return tuple(names)


def find(name: Any, columns: pd.Index[Any], parameter: str) -> int:
    """Return the place of a column; an InputError about `parameter` lists similar names."""
    # one by one: `get_loc` gives a slice or a mask for some kinds of index
    places = np.flatnonzero([column == name for column in columns])
    if len(places):
        return int(places[0])
    raise InputError(
        f"{parameter} names the column {name!r}, which X lacks. "
        f"{did_you_mean(name, list(columns))} Correct the name, or check that an earlier step "
        "leaves this column in X."
    )


def row_name(index: pd.Index[Any], row: int) -> str:
    """How a message calls a row: its number, and its name in the index if it has one."""
    plain = isinstance(index, pd.RangeIndex)
    return f"row {row} (counted from 0)" + ("" if plain else f", {shown(index[row])}")


def labels_of(y: Any, n_rows: int) -> tuple[Indices, NDArray[Any]]:
    """Each row's group as a number, and the groups; y must have one label per row."""
    labels = column_or_1d(y)
    if len(labels) != n_rows:
        raise InputError(f"X has {n_rows} rows and y {len(labels)}: give one label per row.")
    # without sorting, which fails for labels of mixed types; -1 is a missing label
    codes, groups = pd.factorize(labels, sort=False)
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        raise InputError(f"y has no label in row {row} (counted from 0). Drop this row of X and y.")
    return codes, groups


def check_finite(values: Array, cells: pd.DataFrame, *, accept_gaps: bool = False) -> None:
    """Raise InputError for infinite cells, and for missing ones unless they are accepted."""
    bad = np.isinf(values) if accept_gaps else ~np.isfinite(values)
    if not bad.any():
        _check_size(values, cells.columns, cells.index, LARGEST)
        return
    row, column = np.argwhere(bad)[0]
    gap = np.isnan(values[row, column])
    raise InputError(
        f"Input X contains {'NaN' if gap else 'infinity (inf)'}: column "
        f"{cells.columns[column]!r}, {row_name(cells.index, row)}; {int(bad.sum())} such cells in "
        f"{int(bad.any(axis=0).sum())} columns. "
        + (
            "Put RegionImputer before this step, or drop these rows or columns."
            if gap
            else "Correct the cell, or make it missing and impute it with RegionImputer."
        )
    )


def check_site(labels: pd.Series[Any]) -> None:
    """Raise InputError if a subject has no site."""
    gaps = labels.isna().to_numpy()
    if gaps.any():
        raise InputError(
            f"the site {labels.name!r} is missing (NaN) in "
            f"{row_name(labels.index, int(np.argmax(gaps)))} ({int(gaps.sum())} such rows). Give "
            "these subjects a site label of their own, or drop them."
        )


def _check_frame(X: pd.DataFrame) -> None:
    if not X.columns.is_unique:
        twice = X.columns[X.columns.duplicated()][0]
        raise InputError(
            f"the column name {twice!r} is used more than once. Rename or drop one of them."
        )
    if not len(X):
        raise InputError("Found array with 0 sample(s): X has no row. Give one row per subject.")


def _check_once(roles: Mapping[str, tuple[Any, ...]]) -> None:
    seen: dict[Any, str] = {}
    for parameter, names in roles.items():
        for name in names:
            if name in seen:
                raise InputError(
                    f"the column {name!r} is named twice, by {seen[name]} and by {parameter}. "
                    "A column plays one part: name it once."
                )
            seen[name] = parameter


def _numbers(regions: pd.DataFrame) -> Array:
    """Regions as floats in an array of their own; text is refused by column and row."""
    # numbers that came as objects, such as of a transposed table, are numbers
    regions = regions.infer_objects()
    for place, dtype in enumerate(regions.dtypes):
        if not pd.api.types.is_numeric_dtype(dtype):
            _refuse_text(regions.iloc[:, place])
    values = regions.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.array(values, order="C", copy=True)


def _refuse_text(cells: pd.Series[Any]) -> None:
    # what cannot be read as a number is the cell to name
    numbers = pd.to_numeric(cells.astype(object), errors="coerce")
    text = np.flatnonzero((numbers.isna() & cells.notna()).to_numpy())
    row = int(text[0]) if len(text) else 0
    raise InputError(
        f"column {cells.name!r} cannot be a region, because it is not numeric: "
        f"{row_name(cells.index, row)} holds {shown(cells.iloc[row])}. Name this column as a "
        "covariate or as the site, drop it, or convert it to numbers."
    )


def _check_size(
    values: Array, columns: pd.Index[Any], index: pd.Index[Any], largest: float
) -> None:
    bad = np.abs(values) > largest
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InputError(
            f"column {columns[column]!r}, {row_name(index, row)}: the number is too large to "
            "compute with. Check the cells of this column and those of the covariates."
        )
