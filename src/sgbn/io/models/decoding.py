"""Make a model from JSON and arrays. Content that `encoding` does not write is refused.

There is one exception. An estimator may have attributes that a fit does not set, because other
versions of scikit-learn set other attributes. These attributes are plain values, never methods.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sgbn.core.exceptions import InputError, listed
from sgbn.io.models.arrays import DTYPES, from_npy, in_order
from sgbn.io.models.checks import require, require_type
from sgbn.io.models.consistency import check_object
from sgbn.io.models.registry import attributes, build

MAX_BYTES = 2**29  # in all arrays of a model, each counted as often as it is used
# Values in a model, without the numbers in arrays. An analysis has ten values per region, or 250
# with IterativeImputer.
MAX_VALUES = 2**18
MAX_DEPTH = 40  # levels of values inside values; a model has about 15
# Errors that values cause if they do not fit together. InputError is a ValueError.
MISFITS = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)
NOT_FINITE = "it holds NaN or infinity, but its numbers must be finite."
TOO_LARGE = f"the arrays of the model need more than {MAX_BYTES >> 20} MB."

_DTYPES = {np.dtype(code).name: np.dtype(code).newbyteorder("=") for code in DTYPES}
_TYPES_OF_CELLS: dict[str, set[type]] = {"b": {bool}, "i": {int}, "u": {int}, "f": {int, float}}


def _dict(items: list[Any]) -> dict[Any, Any]:
    for pair in items:  # `dict` would read any other iterable to its end, however long it is
        require_type(pair, list)
    made = dict(items)
    # Without this check, the later value would silently replace the earlier value.
    require(len(made) == len(items), "a dict has the same key twice.")
    return made


def _slice(ends: list[Any]) -> slice:
    return slice(*(require_type(end, int | None) for end in ends))


def _array(numbers: list[Any], shape: list[Any], dtype: str, order: str) -> NDArray[Any]:
    kind = _DTYPES[dtype]
    # numpy would turn text and truth values into numbers.
    odd = set(map(type, numbers)) - _TYPES_OF_CELLS[kind.kind]
    require(not odd, f"an array of {kind} holds {listed([cell.__name__ for cell in odd])}.")
    require(order in ("C", "F"), f"{order!r:.60} is not an order of cells in memory.")
    with np.errstate(over="raise"):  # 1e30 is too large for float16
        return in_order(np.array(numbers, kind), tuple(shape), order)


def _labels(cells: list[Any], shape: list[Any], kind: str) -> NDArray[Any]:
    require(kind in ("text", "object"), f"{kind!r:.60} is not a kind of labels.")
    # Labels are compared and sorted later, which would fail for a list or an object.
    for label in cells:
        require_type(label, str if kind == "text" else str | float | int | None)
    array = np.empty(len(cells), object)
    array[:] = cells
    if kind == "text":
        # numpy stores each label with the length of the longest, at four bytes per character.
        n_bytes = 4 * len(cells) * max(map(len, cells), default=0)
        require(n_bytes <= MAX_BYTES, TOO_LARGE)
        array = array.astype(str)
    return in_order(array, tuple(shape), "C")


def _records(fields: list[Any]) -> NDArray[Any]:
    columns = _dict(fields)
    # numpy would repeat a short column, so that a small file could ask for any amount of memory.
    shapes = {column.shape for column in columns.values()}
    require(len(shapes) == 1, f"the fields of records have several shapes: {sorted(shapes)}.")
    made = np.empty(shapes.pop(), [(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        made[name] = column
    return made


def _range(length: int) -> pd.RangeIndex:
    # A very long range needs no memory, but a loop over its values would not end.
    require(0 <= length <= MAX_VALUES, f"a range has {length!r:.20} values.")
    return pd.RangeIndex(length)


def _index(cells: list[Any], is_object: bool, name: str | None) -> pd.Index[Any]:
    return pd.Index(cells, dtype=object if is_object else None, name=name)


def _series(index: pd.Index[Any], cells: NDArray[Any]) -> pd.Series[Any]:
    return pd.Series(cells, index=index)


# Kind of value -> the function that makes it, and the type of each of its parts.
KINDS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "tuple": (tuple, {"items": list}),
    "set": (set, {"items": list}),
    "dict": (_dict, {"items": list}),
    "float": (float, {"value": str}),
    "array": (_array, {"of": list, "shape": list, "dtype": str, "order": str}),
    "labels": (_labels, {"cells": list, "shape": list, "kind": str}),
    "records": (_records, {"fields": list}),
    "range": (_range, {"length": int}),
    "index": (_index, {"cells": list, "object": bool, "name": str | None}),
    "series": (_series, {"index": pd.Index, "of": np.ndarray}),
    "dtype": (_DTYPES.__getitem__, {"name": str}),
    "slice": (_slice, {"of": list}),
}


class Decoder:
    """Turns JSON into values.

    An array that is used in several places counts in each place, because each owner may copy it.
    If it counted only once, a small file could ask for any amount of memory.

    Parameters
    ----------
    members : dict of str to bytes
        Name -> content of the npy files that the JSON refers to.

    Attributes
    ----------
    classes : set of str
        Names of the classes of all objects that were made.
    arrays : dict of str to ndarray
        Name -> array of each npy file that was used.
    """

    def __init__(self, members: Mapping[str, bytes]) -> None:
        self.classes: set[str] = set()
        self.arrays: dict[str, NDArray[Any]] = {}
        self._members, self._depth = members, 0
        self._bytes_left, self._values_left = MAX_BYTES, MAX_VALUES
        # These two kinds need the decoder itself, so they are not in the table.
        self._kinds = KINDS | {
            "file": (self._file, {"name": str}),
            "object": (self._object, {"class": str, "state": dict}),
        }
        self._place = "the model"  # class or attribute that is being made, for messages

    def decode(self, content: Any, finite: bool = True) -> Any:
        """Return the value of a piece of JSON; with `finite`, NaN and infinity are refused."""
        try:
            return self._value(content, finite)
        except MISFITS as error:
            reason = f"{error!s:.200}".rstrip(".")
            raise InputError(f"{self._place} does not fit: {reason}.") from error

    def _value(self, given: Any, finite: bool) -> Any:
        self._values_left -= 1
        if self._values_left < 0:
            raise InputError(f"the model holds more than {MAX_VALUES} values.")
        value = given
        if isinstance(given, list | dict):
            self._depth += 1
            require(self._depth <= MAX_DEPTH, f"its values are nested more than {MAX_DEPTH} deep.")
            if isinstance(given, list):
                value = [self._value(part, finite) for part in given]
            else:
                value = self._made(given, finite)
            self._depth -= 1
        # Python's JSON reader accepts NaN, and reads 1e999 as infinity.
        require(not finite or not isinstance(value, float) or math.isfinite(value), NOT_FINITE)
        return value

    def _made(self, given: Mapping[str, Any], finite: bool) -> Any:
        kind = require_type(given.get("is"), str)
        require(kind in self._kinds, f"{kind!r:.60} is not a kind of value.")
        make, types = self._kinds[kind]
        if given.keys() != {"is", *types}:
            raise InputError(f"a {kind} has the parts {listed([*given])}, not {listed([*types])}.")
        parts = [given[key] for key in types]
        # The numbers of an array do not count as values. `_object` decodes its attributes itself,
        # because some of them may be NaN.
        if kind not in ("array", "object"):
            parts = [self._value(part, finite) for part in parts]
        for part, type_of_part in zip(parts, types.values(), strict=True):
            require_type(part, type_of_part)
        made = make(*parts)
        if isinstance(made, np.ndarray):
            self._bytes_left -= made.nbytes
            require(self._bytes_left >= 0, TOO_LARGE)
            is_finite = made.dtype.kind != "f" or bool(np.isfinite(made).all())
            require(is_finite or not finite, NOT_FINITE)
        return made

    def _file(self, name: str) -> NDArray[Any]:
        if name not in self.arrays:
            require(name in self._members, f"the file has no part {name!r:.80}.")
            self.arrays[name] = from_npy(self._members[name])
        return self.arrays[name]

    def _object(self, name: str, state: Mapping[str, Any]) -> Any:
        not_finite, parts = attributes(name, "not_finite"), {}
        for key, part in state.items():
            self._place = f"{name:.60}.{key:.60}"
            parts[key] = self._value(part, key not in not_finite)
        self._place = f"{name:.60}"
        made = build(name, parts)
        check_object(name, made)  # now, because the next object may be built from this one
        self.classes.add(name)
        return made
