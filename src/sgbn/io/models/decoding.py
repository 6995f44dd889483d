"""From JSON and arrays to a model. What `encoding` does not write is refused.

One thing is not: attributes that a fit would not give an estimator are kept, since other versions
of scikit-learn have others. Like the rest they are plain values, and none is a method.
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

MAX_BYTES = 2**29  # for the arrays of a model, each counted as often as it is used
# Beside the cells of arrays. An analysis has ten per region, one with IterativeImputer 250.
MAX_VALUES = 2**18

# Kind of value -> its keys, in the order in which the method of its name takes them.
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
    """Turns JSON into values; `members` are the files of the arrays that it names.

    An array that is used in several places counts in each, because whoever holds it may copy it:
    a small file could else ask for any amount of memory.
    """

    def __init__(self, members: Mapping[str, bytes]) -> None:
        self.classes: set[str] = set()
        self.arrays: dict[str, NDArray[Any]] = {}  # that were used, by the name of their file
        self._members, self._depth = members, 0
        self._bytes_left, self._values_left = MAX_BYTES, MAX_VALUES

    def decode(self, value: Any, finite: bool = True) -> Any:
        """Value of a piece of JSON; with `finite`, NaN and infinity are refused."""
        self._values_left -= 1
        if self._values_left < 0:
            raise InputError(f"it holds more than {MAX_VALUES} values.")
        if not isinstance(value, list | dict):
            return value
        self._depth += 1
        require(self._depth <= MAX_DEPTH, f"objects are nested more than {MAX_DEPTH} deep.")
        made = self._all(value, finite) if isinstance(value, list) else self._made(value, finite)
        self._depth -= 1
        return made

    def _made(self, given: Mapping[str, Any], finite: bool) -> Any:
        kind = given.get("is")
        if not isinstance(kind, str) or kind not in KINDS:
            raise InputError(f"{kind!r:.60} is not a kind of value.")
        keys = ("is", *KINDS[kind])
        if set(given) != set(keys):  # no `require` here: its message would be made for each value
            raise InputError(f"a {kind} has {listed(sorted(given))} and not {keys}.")
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
            # A later value would else replace an earlier one without a word.
            require(key not in made, f"a dict has the key {key!r:.60} twice.")
            made[key] = self.decode(pair[1], finite)
        return made

    def _float(self, finite: bool, value: Any) -> float:
        require(value in ("nan", "inf", "-inf"), f"{value!r:.60} is not a number.")
        _check_finite(not finite)
        return float(value)

    def _array(self, finite: bool, numbers: Any, shape: Any, dtype: Any, order: Any) -> Any:
        cells, kind = require_type(numbers, list), self._dtype(finite, dtype)
        check_shape(require_type(shape, list))
        if len(cells) != math.prod(shape) or order not in ("C", "F"):
            raise InputError(
                f"an array is said to have shape {shape}, but holds {len(cells)} numbers."
            )
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
        check_shape(require_type(shape, list))
        right = math.prod(shape) == len(labels) and kind in ("text", "object")
        require(right, f"{len(labels)} labels have the shape {shape}.")
        # Labels are compared and sorted later: a list or an object among them would fail there.
        for label in labels:
            require_type(label, str if kind == "text" else str | float | int | None)
        array = np.empty(len(labels), object)
        array[:] = labels
        if kind == "text":
            # numpy gives every label as many characters, of four bytes, as the longest has.
            self._spend(4 * len(labels) * max(map(len, labels), default=0))
            array = array.astype(str)
        return array.reshape(shape)

    def _records(self, finite: bool, fields: Any) -> NDArray[Any]:
        columns = self._dict(finite, fields)
        for name, column in columns.items():
            require_type(name, str)
            require_type(column, np.ndarray)
        shapes = {column.shape for column in columns.values()}
        require(len(shapes) == 1, f"records have fields of the shapes {sorted(shapes)}.")
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
        require(
            isinstance(name, str) and name in _DTYPES, f"{name!r:.60} is not a type of numbers."
        )
        return _DTYPES[name]

    def _slice(self, _: bool, ends: Any) -> slice:
        require(len(require_type(ends, list)) == 3, "a slice has three numbers.")
        return slice(*(require_type(end, int | None) for end in ends))

    def _object(self, _: bool, name: Any, state: Any) -> Any:
        not_finite = attributes(require_type(name, str), "not_finite")
        items = require_type(state, dict).items()
        parts = {key: self.decode(part, key not in not_finite) for key, part in items}
        made = build(name, parts)
        check_object(name, made)  # at once: the next object may be built from this one
        self.classes.add(name)
        return made


def _check_finite(right: bool) -> None:
    require(right, "it holds NaN or infinity where only finite numbers can be.")
