"""From JSON and arrays to a model. What `encoding` does not write is refused.

One thing is not: attributes that a fit would not give an estimator are kept, since other versions
of scikit-learn have others. Like the rest they are plain values, and none is a method.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sgbn.exceptions import InputError, listed
from sgbn.io.models.arrays import DTYPES, check_shape, from_npy, in_order
from sgbn.io.models.consistency import check_object
from sgbn.io.models.encoding import DEEPEST
from sgbn.io.models.registry import NOT_FINITE, build

MOST_BYTES = 2**29  # of the arrays of a model, each counted as often as it is used
# Beside the cells of arrays; an analysis has ten a region, one with IterativeImputer 250.
MOST_VALUES = 2**18

_BY_NAME = {np.dtype(code).name: np.dtype(code) for code in DTYPES}
_TYPES_OF_CELLS: dict[str, set[type]] = {"b": {bool}, "i": {int}, "u": {int}, "f": {int, float}}


class Decoder:
    """Turns JSON into values; `read` gives the content of a file by its name.

    An array that is used in several places counts in each, because whoever holds it may copy it:
    a small file could else ask for any amount of memory.
    """

    def __init__(self, read: Callable[[str], bytes]) -> None:
        self.classes: set[str] = set()
        self.used: set[str] = set()
        self._read, self._bytes_left, self._values_left = read, MOST_BYTES, MOST_VALUES
        self._arrays: dict[str, NDArray[Any]] = {}
        self._kinds: dict[str, tuple[set[str], Callable[..., Any]]] = {
            "tuple": ({"items"}, self._tuple),
            "set": ({"items"}, self._set),
            "dict": ({"items"}, self._dict),
            "float": ({"value"}, self._float),
            "array": ({"dtype", "shape", "order", "of"}, self._array),
            "file": ({"name"}, self._file),
            "labels": ({"cells", "shape", "kind"}, self._labels),
            "records": ({"fields"}, self._records),
            "range": ({"length"}, self._range),
            "index": ({"cells", "object", "name"}, self._index),
            "series": ({"index", "of"}, self._series),
            "dtype": ({"name"}, self._dtype),
            "slice": ({"of"}, self._slice),
            "object": ({"class", "state"}, self._object),
        }

    def decode(self, value: Any, *, finite: bool = True, depth: int = 0) -> Any:
        """Value of a piece of JSON."""
        if depth > DEEPEST:
            raise InputError(f"objects are nested more than {DEEPEST} deep.")
        self._values_left -= 1
        if self._values_left < 0:
            raise InputError(f"it holds more than {MOST_VALUES} values.")
        if isinstance(value, list):
            return self._all(value, finite, depth)
        if not isinstance(value, dict):
            return value
        given = dict(value)
        kind = given.pop("is", None)
        if not isinstance(kind, str) or kind not in self._kinds:
            raise InputError(f"{kind!r:.60} is no kind of value.")
        wanted, make = self._kinds[kind]
        if set(given) != wanted:
            raise InputError(f"a {kind} has {listed(sorted(given))} and not {sorted(wanted)}.")
        return make(given, finite, depth)

    def _all(self, values: Any, finite: bool, depth: int) -> list[Any]:
        _check_type(values, list)
        return [self.decode(one, finite=finite, depth=depth + 1) for one in values]

    def _tuple(self, given: Mapping[str, Any], finite: bool, depth: int) -> tuple[Any, ...]:
        return tuple(self._all(given["items"], finite, depth))

    def _set(self, given: Mapping[str, Any], finite: bool, depth: int) -> set[Any]:
        return set(self._all(given["items"], finite, depth))

    def _dict(self, given: Mapping[str, Any], finite: bool, depth: int) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for pair in _check_type(given["items"], list):
            if len(_check_type(pair, list)) != 2:
                raise InputError("a dict has an item that is no pair.")
            key = self.decode(pair[0], depth=depth + 1)
            if key in found:
                raise InputError(f"a dict has the key {key!r:.60} twice.")
            found[key] = self.decode(pair[1], finite=finite, depth=depth + 1)
        return found

    def _float(self, given: Mapping[str, Any], finite: bool, _: int) -> float:
        if given["value"] not in ("nan", "inf", "-inf"):
            raise InputError(f"{given['value']!r:.60} is no number.")
        _check_allowed(not finite)
        return float(given["value"])

    def _array(self, given: Mapping[str, Any], finite: bool, _: int) -> NDArray[Any]:
        numbers, shape = _check_type(given["of"], list), _check_type(given["shape"], list)
        dtype = self._dtype({"name": given["dtype"]}, finite, 0)
        check_shape(shape)
        if len(numbers) != math.prod(shape) or given["order"] not in ("C", "F"):
            raise InputError(f"an array of shape {shape} has {len(numbers)} numbers.")
        odd = set(map(type, numbers)) - _TYPES_OF_CELLS[dtype.kind]
        if odd:
            raise InputError(f"an array of {dtype} holds a {odd.pop().__name__}.")
        array = in_order(np.array(numbers, dtype), tuple(shape), given["order"])
        return self._counted(array, finite)

    def _file(self, given: Mapping[str, Any], finite: bool, _: int) -> NDArray[Any]:
        name = _check_type(given["name"], str)
        if name not in self._arrays:
            try:
                self._arrays[name] = from_npy(self._read(name))
            except InputError as error:
                raise InputError(f"in {name}: {error}") from error
        self.used.add(name)
        return self._counted(self._arrays[name], finite)

    def _counted(self, array: NDArray[Any], finite: bool) -> NDArray[Any]:
        self._spend(array.nbytes)
        _check_allowed(not finite or bool(np.isfinite(array).all()))
        return array

    def _spend(self, n_bytes: int) -> None:
        self._bytes_left -= n_bytes
        if self._bytes_left < 0:
            raise InputError(f"its arrays need more than {MOST_BYTES >> 20} MB.")

    def _labels(self, given: Mapping[str, Any], finite: bool, depth: int) -> NDArray[Any]:
        cells = self._all(given["cells"], finite, depth)
        shape = _check_type(given["shape"], list)
        check_shape(shape)
        if math.prod(shape) != len(cells) or given["kind"] not in ("text", "object"):
            raise InputError(f"{len(cells)} labels have the shape {shape}.")
        for cell in cells:
            _check_type(cell, str if given["kind"] == "text" else str | float | int | None)
        array = np.empty(len(cells), object)
        array[:] = cells
        if given["kind"] == "text":
            # numpy gives every label the room of the longest
            self._spend(4 * len(cells) * max(map(len, cells), default=0))
            array = array.astype(str)
        return array.reshape(shape)

    def _records(self, given: Mapping[str, Any], finite: bool, depth: int) -> NDArray[Any]:
        columns = self._dict({"items": given["fields"]}, finite, depth)
        for name, column in columns.items():
            _check_type(name, str)
            _check_type(column, np.ndarray)
        shapes = {column.shape for column in columns.values()}
        if len(shapes) != 1:
            raise InputError(f"records have fields of the shapes {sorted(shapes)}.")
        made = np.empty(shapes.pop(), [(name, one.dtype) for name, one in columns.items()])
        for name, column in columns.items():
            made[name] = column
        return made

    def _range(self, given: Mapping[str, Any], _: bool, __: int) -> pd.RangeIndex:
        return pd.RangeIndex(_check_type(given["length"], int))

    def _index(self, given: Mapping[str, Any], finite: bool, depth: int) -> pd.Index[Any]:
        cells = self._all(given["cells"], finite, depth)
        name = _check_type(given["name"], str | None)
        return pd.Index(cells, dtype=object if given["object"] else None, name=name)

    def _series(self, given: Mapping[str, Any], finite: bool, depth: int) -> pd.Series[Any]:
        index = _check_type(self.decode(given["index"], depth=depth + 1), pd.Index)
        cells = self.decode(given["of"], finite=finite, depth=depth + 1)
        return pd.Series(_check_type(cells, np.ndarray), index=index)

    def _dtype(self, given: Mapping[str, Any], _: bool, __: int) -> np.dtype[Any]:
        name = given["name"]
        if not isinstance(name, str) or name not in _BY_NAME:
            raise InputError(f"{name!r:.60} is no type of numbers.")
        return _BY_NAME[name].newbyteorder("=")

    def _slice(self, given: Mapping[str, Any], _: bool, __: int) -> slice:
        ends = [_check_type(end, int | None) for end in _check_type(given["of"], list)]
        if len(ends) != 3:
            raise InputError("a slice has three numbers.")
        return slice(*ends)

    def _object(self, given: Mapping[str, Any], _: bool, depth: int) -> Any:
        name, state = _check_type(given["class"], str), _check_type(given["state"], dict)
        odd = NOT_FINITE.get(name, ())
        values = {
            key: self.decode(one, finite=key not in odd, depth=depth + 1)
            for key, one in state.items()
        }
        made = build(name, values)
        check_object(name, made)
        self.classes.add(name)
        return made


def _check_type(value: Any, kind: Any) -> Any:
    if not isinstance(value, kind):
        raise InputError(f"{value!r:.60} is not what belongs in its place.")
    return value


def _check_allowed(allowed: bool) -> None:
    if not allowed:
        raise InputError("it holds NaN or infinity where only finite numbers can be.")
