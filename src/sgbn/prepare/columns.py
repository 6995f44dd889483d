"""The base class of the transformers, which separates the regions of X from its named columns.

A transformer declares which of its parameters name columns (`COLUMNS`), and which of these columns
it takes out of X (`_consumes`). Every column that no parameter names is a region. If X is a
DataFrame, the output is a DataFrame; if X is an array, the output is an array. The name of an
array's column is its position, counted from 0.
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

from sgbn.core.graph import check_distinct
from sgbn.core.problems import InputError, did_you_mean
from sgbn.core.types import Array, Indices
from sgbn.core.validation import (
    LARGEST,
    Constraint,
    check_count,
    check_parameters,
    declared_parameters,
)

Name = str | int  # name of a column, or its position in an array
Names = int | Iterable[Hashable] | None  # names of columns, or a single name such as a string

# Any value passes this check: `_place` looks for the names in X and reports names that X lacks.
COLUMNS = Constraint(["names of columns"], lambda _: True)


@dataclass(frozen=True)
class Table:
    """X, separated into its regions and its named columns.

    Attributes
    ----------
    values : array of shape (rows, regions)
        The values of the regions, as a copy that may be changed.
    named : DataFrame
        The columns that parameters name, unchanged, under the names that the parameters use.
    labels : Index
        Names of the regions.
    places : array of shape (regions,)
        Positions of the regions among the columns of X.
    """

    values: Array
    named: pd.DataFrame
    labels: pd.Index[Any]
    places: Indices


class NamedColumnTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator, ABC):
    """The base of the transformers that find covariates and site by name among X's columns."""

    _consumes: ClassVar[tuple[str, ...]] = ()  # parameters whose columns are taken out of X
    _accepts_gaps: ClassVar[bool] = False  # whether a region may hold NaN

    def _roles(self) -> dict[str, Any]:
        """Map each parameter that names columns to the column or columns that it names."""
        declared = declared_parameters(type(self)).items()
        return {name: getattr(self, name) for name, allowed in declared if allowed is COLUMNS}

    @abstractmethod
    def _changed(self, table: Table) -> Table:
        """Return the table after this step. `_close` then leaves out the columns of `_consumes`."""

    def transform(self, X: ArrayLike) -> Any:
        """Apply what `fit` learned to each row of X. No row has an effect on another row.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_columns)
            A table with the same columns as in `fit`.

        Returns
        -------
        DataFrame or array
            The changed table: a DataFrame if X is a DataFrame.
        """
        check_is_fitted(self)
        table = self._open(X, reset=False)
        # numpy's own warning of an overflow would not name the column. `_close` names it.
        with np.errstate(over="ignore", invalid="ignore"):
            changed = self._changed(table)
        return self._close(X, changed)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return the names of the columns that `transform` returns."""
        check_is_fitted(self)
        return super().get_feature_names_out(input_features)[self._kept_places]

    @property
    def _site(self) -> Any:
        """Return the name of the site column, or None if there is no such column."""
        return next(iter(as_names(getattr(self, "site", None))), None)

    def _open(self, X: Any, reset: bool = True) -> Table:
        """Separate X into a `Table`. With `reset`, first find and store the places of columns."""
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
            check_distinct(list(X.columns))
            if not len(X):
                raise InputError("table.empty").says("X has no row", "Give one row per subject.")
            validate_data(self, X, reset=reset, skip_check_array=True)
            named_by_text = hasattr(self, "feature_names_in_")
            # scikit-learn checks the order of names that are text itself, in `validate_data`.
            if not (reset or named_by_text or self._columns.equals(X.columns)):
                raise InputError("table.columns", now=X.columns, then=self._columns).says(
                    "the columns of X are {now}, but in fit they were {then}",
                    "Give the same columns in the same order.",
                )
            return X
        # An array with named columns may hold text, which must not become a float here.
        mixed = any(as_names(names) for names in self._roles().values())
        dtype = None if mixed else np.float64
        array = validate_data(self, X, reset=reset, dtype=dtype, ensure_all_finite=False)
        return pd.DataFrame(array, columns=getattr(self, "feature_names_in_", None))

    def _place(self, columns: pd.Index[Any]) -> None:
        self._columns = columns
        roles = {parameter: as_names(names) for parameter, names in self._roles().items()}
        # The order of the parameters is the order of the columns of `Table.named`.
        self._names = [name for names in roles.values() for name in names]
        _check_once(roles)
        for role in ("site", "subject"):
            if len(names := roles.get(role, ())) > 1:
                raise InputError("column.several", argument=role, names=names).says(
                    "{argument} names several columns: {names}", "Name one."
                )
        self._named_places = np.array(
            [find(name, columns, role) for role, names in roles.items() for name in names], np.intp
        )
        self._region_places = np.setdiff1d(np.arange(len(columns)), self._named_places)
        if not len(self._region_places):
            raise InputError("table.regions").says(
                "X has no region, because a parameter names each of its columns",
                "Add the columns of the regions to X.",
            )
        gone = [name for role in self._consumes for name in roles[role]]
        self._kept_names = [name for name in self._names if name not in gone]
        kept = [name not in gone for name in self._names]
        self._kept_named_places = self._named_places[np.array(kept, bool)]
        self._kept_places = np.union1d(self._region_places, self._kept_named_places)

    def _close(self, X: Any, table: Table) -> Any:
        """Join regions and named columns again, in the order and form of X."""
        # Only an overflow gives infinity or NaN here: both are reported as too large.
        values = np.nan_to_num(table.values, nan=np.inf)
        _check_size(values, table.labels, table.named.index, np.finfo(float).max)
        is_frame = isinstance(X, pd.DataFrame)
        if not is_frame and not self._kept_names:
            return table.values
        regions = pd.DataFrame(table.values, index=table.named.index, columns=table.labels)
        frame = pd.concat([regions, table.named[self._kept_names]], axis=1)
        places = np.concatenate([table.places, self._kept_named_places])
        # Regions and kept columns have the same order as in X.
        order = np.argsort(places)
        frame = frame.iloc[:, order]
        if not is_frame:
            return frame.to_numpy()
        frame.columns = X.columns[places[order]]
        # `attrs` marks columns that are not regions: a covariate that stays is still not a region.
        frame.attrs = dict(X.attrs)
        return frame


def as_names(names: Names) -> tuple[Any, ...]:
    """Return column names as a tuple.

    None gives an empty tuple, and a single name gives a tuple with this one name.
    """
    if names is None:
        return ()
    if isinstance(names, str) or not isinstance(names, Iterable):
        return (names,)
    return tuple(names)


def find(name: Any, columns: pd.Index[Any], parameter: str) -> int:
    """Return the position of a column, or raise an InputError that lists similar names.

    Parameters
    ----------
    name : column name
        The name to look for.
    columns : Index
        The columns of X.
    parameter : str
        The parameter that names the column, for the message.
    """
    # Names are compared one by one: `get_loc` gives a slice or a mask for some kinds of index.
    places = np.flatnonzero([column == name for column in columns])
    if len(places):
        return int(places[0])
    near = did_you_mean(name, list(columns))
    raise InputError("column.unknown", argument=parameter, name=name, near=near).says(
        "{argument} names the column {name}, which X does not have",
        "{near} An earlier step may have taken it out of X.",
    )


def labels_of(y: Any, n_rows: int) -> tuple[Indices, NDArray[Any]]:
    """Return the group of each row as a number, and the labels of the groups.

    Raise InputError unless y has one label per row.
    """
    labels = column_or_1d(y)
    check_count(labels, n_rows, "y")
    # Labels are not sorted, because that fails for mixed types. -1 is a missing label.
    codes, groups = pd.factorize(labels, sort=False)
    if (codes < 0).any():
        raise InputError("labels.missing", argument="y", row=int(np.argmax(codes < 0))).says(
            "{argument} is missing in row {row} (counted from 0)", "Leave this row out."
        )
    return codes, groups


def check_finite(values: Array, cells: pd.DataFrame, *, accept_gaps: bool = False) -> None:
    """Raise InputError for infinite cells, and for missing cells unless they are accepted."""
    bad = np.isinf(values) if accept_gaps else ~np.isfinite(values)
    if not bad.any():
        _check_size(values, cells.columns, cells.index, LARGEST)
        return
    row, column = np.argwhere(bad)[0]
    where = {"column": cells.columns[column], "subject": cells.index[row], "n": bad.sum()}
    raise InputError("cells.gaps", **where).says(
        "Input X contains NaN or infinity in {n:cell}: first in column {column} of {subject}",
        "Put RegionImputer before this step, which fills NaN, or drop these rows or columns.",
    )


def filled_labels(labels: pd.Series[Any]) -> pd.Series[Any]:
    """Return the labels of sites or persons, or raise InputError if one is missing."""
    gaps = labels.isna().to_numpy()
    if gaps.any():
        subjects = labels.index[gaps].tolist()
        raise InputError("labels.gaps", name=labels.name, subjects=subjects).says(
            "the label {name} of {subjects} is missing (NaN)",
            "Give these subjects an extra label, or drop them.",
        )
    return labels


def _check_once(roles: Mapping[str, tuple[Any, ...]]) -> None:
    seen: dict[Any, str] = {}
    for parameter, names in roles.items():
        for name in names:
            if name in seen:
                roles_of = {"argument": seen[name], "argument_2": parameter}
                raise InputError("column.twice", name=name, **roles_of).says(
                    "the column {name} is named by {argument} and by {argument_2}",
                    "Name each column only once.",
                )
            seen[name] = parameter


def _numbers(regions: pd.DataFrame) -> Array:
    """Return the regions as a new array of floats. Raise InputError for text, with its place."""
    # Numbers may have come as objects, for example in a transposed table.
    regions = regions.infer_objects()
    for place, dtype in enumerate(regions.dtypes):
        if not pd.api.types.is_numeric_dtype(dtype):
            _refuse_text(regions.iloc[:, place])
    values = regions.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.array(values, order="C", copy=True)


def _refuse_text(cells: pd.Series[Any]) -> None:
    # The message names the first cell that cannot be read as a number.
    numbers = pd.to_numeric(cells.astype(object), errors="coerce")
    text = np.flatnonzero((numbers.isna() & cells.notna()).to_numpy())
    row = int(text[0]) if len(text) else 0
    where = {"column": cells.name, "subject": cells.index[row], "cell": cells.iloc[row]}
    raise InputError("cells.text", **where).says(
        "column {column} is not numeric, and so no region: it is {cell} in {subject}",
        "Name it as a covariate or as the site, drop it, or convert it to numbers.",
    )


def _check_size(
    values: Array, columns: pd.Index[Any], index: pd.Index[Any], largest: float
) -> None:
    bad = np.abs(values) > largest
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InputError("cells.large", column=columns[column], subject=index[row]).says(
            "column {column} of {subject} is too large to compute with",
            "Check this column and the covariates.",
        )
