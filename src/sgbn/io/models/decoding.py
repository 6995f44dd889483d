"""Make a model from JSON and arrays. Whatever `encoding` does not write is refused.

There is one exception. An estimator may have attributes that a fit does not set, because other
versions of scikit-learn set other attributes. These too are plain values, and never methods.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sgbn.exceptions import InputError, listed
from sgbn.io.models.arrays import DTYPES, check_shape, from_npy, in_order
from sgbn.io.models.checks import require, require_type
from sgbn.io.models.consistency import check_object
from sgbn.io.models.encoding import MAX_DEPTH
from sgbn.io.models.registry import attributes, build

MAX_BYTES = 2**29  # of the arrays of a model, each counted as often as it is used
# Cells of arrays do not count. An analysis has ten values per region, 250 with IterativeImputer.
MAX_VALUES = 2**18

# Kind of value -> its keys, in the order of the parameters of the method that decodes it.
KINDS = {
    "tuple": ("items",),
    "set": ("items",),
    "dict": ("items",),
    "float": ("value",),
    "array": ("of", "shape", "dtype", "order"),
    "file": ("name",),
    "labels": ("cells", "shape", "kind"),
    "records": ("fields",),
    "range": ("length",),
    "index": ("cells", "object", "name"),
    "series": ("index", "of"),
    "dtype": ("name",),
    "slice": ("of",),
    "object": ("class", "state"),
}
_DTYPES = {np.dtype(code).name: np.dtype(code).newbyteorder("=") for code in DTYPES}
_TYPES_OF_CELLS: dict[str, set[type]] = {"b": {bool}, "i": {int}, "u": {int}, "f": {int, float}}


class Decoder:
    """Turns JSON into values.

    An array that is used in several places counts in each place, because each owner may copy it.
    Otherwise a small file could ask for any amount of memory.

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

    def decode(self, value: Any, finite: bool = True) -> Any:
        """Return the value of a piece of JSON; with `finite`, NaN and infinity are refused."""
        self._values_left -= 1
        if self._values_left < 0:
            raise InputError(f"it holds more than {MAX_VALUES} values.")
        if not isinstance(value, list | dict):
            # Python's JSON reader accepts NaN, and reads 1e999 as infinity.
            _check_finite(not finite or not isinstance(value, float) or math.isfinite(value))
            return value
        self._depth += 1
        require(self._depth <= MAX_DEPTH, f"its values are nested more than {MAX_DEPTH} deep.")
        made = self._all(value, finite) if isinstance(value, list) else self._made(value, finite)
        self._depth -= 1
        return made

    def _made(self, given: Mapping[str, Any], finite: bool) -> Any:
        kind = given.get("is")
        if not isinstance(kind, str) or kind not in KINDS:
            raise InputError(f"{kind!r:.60} is not a kind of value.")
        keys = ("is", *KINDS[kind])
        if set(given) != set(keys):  # not `require`: its message would be made for each value
            raise InputError(f"a {kind} has the keys {listed(sorted(given))}, not {listed(keys)}.")
        return getattr(self, f"_{kind}")(finite, *(given[key] for key in keys[1:]))

    def _all(self, values: Any, finite: bool) -> list[Any]:
        return [self.decode(part, finite) for part in require_type(values, list)]

    def _tuple(self, finite: bool, items: Any) -> tuple[Any, ...]:
        return tuple(self._all(items, finite))

    def _set(self, finite: bool, items: Any) -> set[Any]:
        return set(self._all(items, finite))

    def _dict(self, finite: bool, items: Any) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for pair in require_type(items, list):
            require(len(require_type(pair, list)) == 2, "a dict has an item that is not a pair.")
            key = self.decode(pair[0])
            # Otherwise the later value would silently replace the earlier one.
            require(key not in made, f"a dict has the key {key!r:.60} twice.")
            made[key] = self.decode(pair[1], finite)
        return made

    def _float(self, finite: bool, value: Any) -> float:
        require(value in ("nan", "inf", "-inf"), f"{value!r:.60} is not a number.")
        _check_finite(not finite)
        return float(value)

    def _array(self, finite: bool, numbers: Any, shape: Any, dtype: Any, order: Any) -> Any:
        cells, kind = require_type(numbers, list), self._dtype(finite, dtype)
        _check_cells(cells, shape)
        require(order in ("C", "F"), f"{order!r:.60} is not an order of cells in memory.")
        # numpy would turn text and truth values into numbers.
        odd = set(map(type, cells)) - _TYPES_OF_CELLS[kind.kind]
        if odd:
            raise InputError(f"an array of {kind} holds a {odd.pop().__name__}.")
        return self._counted(in_order(np.array(cells, kind), tuple(shape), order), finite)

    def _file(self, finite: bool, name: Any) -> NDArray[Any]:
        if require_type(name, str) not in self.arrays:
            require(name in self._members, f"it has no part {name!r:.80}.")
            try:
                self.arrays[name] = from_npy(self._members[name])
            except InputError as error:
                raise InputError(f"in {name}: {error}") from error
        return self._counted(self.arrays[name], finite)

    def _counted(self, array: NDArray[Any], finite: bool) -> NDArray[Any]:
        self._spend(array.nbytes)
        _check_finite(not finite or bool(np.isfinite(array).all()))
        return array

    def _spend(self, n_bytes: int) -> None:
        self._bytes_left -= n_bytes
        require(self._bytes_left >= 0, f"its arrays need more than {MAX_BYTES >> 20} MB.")

    def _labels(self, finite: bool, cells: Any, shape: Any, kind: Any) -> NDArray[Any]:
        labels = self._all(cells, finite)
        _check_cells(labels, shape)
        require(kind in ("text", "object"), f"{kind!r:.60} is not a kind of labels.")
        # Labels are compared and sorted later: a list or an object among them would fail there.
        for label in labels:
            require_type(label, str if kind == "text" else str | float | int | None)
        array = np.empty(len(labels), object)
        array[:] = labels
        if kind == "text":
            # numpy stores each label with the length of the longest, at four bytes per character.
            self._spend(4 * len(labels) * max(map(len, labels), default=0))
            array = array.astype(str)
        return array.reshape(shape)

    def _records(self, finite: bool, fields: Any) -> NDArray[Any]:
        columns = self._dict(finite, fields)
        for name, column in columns.items():
            require_type(name, str)
            require_type(column, np.ndarray)
        shapes = {column.shape for column in columns.values()}
        require(len(shapes) == 1, f"the fields of records have several shapes: {sorted(shapes)}.")
        made = np.empty(shapes.pop(), [(name, column.dtype) for name, column in columns.items()])
        for name, column in columns.items():
            made[name] = column
        return made

    def _range(self, _: bool, length: Any) -> pd.RangeIndex:
        return pd.RangeIndex(require_type(length, int))

    def _index(self, finite: bool, cells: Any, is_object: Any, name: Any) -> pd.Index[Any]:
        dtype = object if is_object else None
        return pd.Index(self._all(cells, finite), dtype=dtype, name=require_type(name, str | None))

    def _series(self, finite: bool, index: Any, cells: Any) -> pd.Series[Any]:
        labels = require_type(self.decode(index), pd.Index)
        return pd.Series(require_type(self.decode(cells, finite), np.ndarray), index=labels)

    def _dtype(self, _: bool, name: Any) -> np.dtype[Any]:
        known = require_type(name, str) in _DTYPES
        require(known, f"{name!r:.60} is not a type of numbers.")
        return _DTYPES[name]

    def _slice(self, _: bool, ends: Any) -> slice:
        require(len(require_type(ends, list)) == 3, "a slice does not have three numbers.")
        return slice(*(require_type(end, int | None) for end in ends))

    def _object(self, _: bool, name: Any, state: Any) -> Any:
        not_finite = attributes(require_type(name, str), "not_finite")
        items = require_type(state, dict).items()
        parts = {key: self.decode(part, key not in not_finite) for key, part in items}
        made = build(name, parts)
        check_object(name, made)  # now, because the next object may be built from this one
        self.classes.add(name)
        return made


def _check_cells(cells: list[Any], shape: Any) -> None:
    check_shape(require_type(shape, list))
    right = math.prod(shape) == len(cells)
    require(right, f"an array has the shape {shape}, but {len(cells)} cells.")


def _check_finite(right: bool) -> None:
    require(right, "it holds NaN or infinity where numbers must be finite.")
