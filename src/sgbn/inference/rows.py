"""What the functions of this package are given: rows of one sample, or of several groups."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.cohort import Cohort
from sgbn.exceptions import InputError, did_you_mean, warn
from sgbn.validation import FEW_SAMPLES, check_values, is_number

Array = NDArray[np.float64]


class Rows(NamedTuple):
    """Finite values of a sample, one row a subject, and the names of the columns."""

    values: Array
    names: list[str]


def read_rows(X: Any, group: str | None = None) -> Rows:
    """Rows of a table, of an array, or of one group of a cohort.

    Parameters
    ----------
    X : array-like of shape (n, m), DataFrame or Cohort
    group : str, optional
        The group of a cohort that has several.
    """
    if isinstance(X, Cohort):
        return _rows_of_cohort(X, group)
    if group is not None:
        raise InputError(f"group={group!r} needs a Cohort: pass the rows of that group instead.")
    return Rows(*check_values(X))


def read_groups(groups: Any) -> dict[str, Rows]:
    """Rows of each group of a cohort, or of a mapping of group to table.

    Raises
    ------
    InputError
        If there are fewer than two groups, or their columns differ.
    """
    if isinstance(groups, Cohort):
        found = {name: _rows_of_cohort(groups, name) for name in groups.groups}
    elif isinstance(groups, Mapping):
        found = {str(name): read_rows(X) for name, X in groups.items()}
    else:
        raise InputError(
            f"groups is a {type(groups).__name__}: give a Cohort, or a mapping of group to rows."
        )
    if len(found) < 2:
        raise InputError(f"{len(found)} groups are given: a difference needs two or more.")
    first, *others = found
    for other in others:
        if found[other].names != found[first].names:
            raise InputError(
                f"the groups {first!r} and {other!r} have other columns. Give all groups the same "
                "columns in the same order."
            )
    return found


def region_index(name: str, names: list[str] | tuple[str, ...]) -> int:
    """Place of a region among the names."""
    if name not in names:
        raise InputError(f"no region is called {name!r}. {did_you_mean(name, names)}")
    return list(names).index(name)


def warn_about_few(n: int, whose: str) -> None:
    """Warn of a sample from which intervals say little."""
    if n < FEW_SAMPLES:
        warn(
            f"{whose} has {n} rows: intervals from fewer than {FEW_SAMPLES} say little. Add "
            "subjects, or join groups."
        )


def check_count(value: object, what: str, least: int) -> int:
    """Return a whole number; refuse what is none from `least` on."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InputError(f"{what} is {value!r}; it must be a whole number from {least} on.")
    return int(value)


def check_share(value: float, what: str, low: float = 0.0, high: float = 1.0) -> float:
    """Refuse a number that is not strictly between `low` and `high`."""
    if not (is_number(value) and low < value < high):
        raise InputError(f"{what} is {value!r}; it must lie between {low:g} and {high:g}.")
    return float(value)


def _rows_of_cohort(cohort: Cohort, group: str | None) -> Rows:
    if group is None and len(cohort.groups) > 1:
        raise InputError(
            f"the cohort has the groups {list(cohort.groups)}: name one of them with group=."
        )
    chosen = cohort if group is None else cohort.subset(groups=[group])
    missing = np.argwhere(np.isnan(chosen.values))
    if len(missing):
        row, column = missing[0]
        raise InputError(
            f"region {chosen.regions[column]!r} of subject {chosen.ids[row]!r} is missing "
            f"({len(missing)} such cells). Impute them (RegionImputer), or leave these subjects "
            "out."
        )
    values, _ = check_values(chosen.values)
    return Rows(values, list(chosen.regions))
