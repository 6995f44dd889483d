"""From a model to JSON and arrays.

None, truth values, whole and finite numbers, text and lists are what they are in JSON. Everything
else is an object with a key ``is``: tuple, set, dict, float (nan, inf), array, text (array of
labels), records, index, series, dtype, slice, or object (of a class in `registry`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sgbn.exceptions import InputError
from sgbn.io.models.arrays import order_of, plain, to_npy
from sgbn.io.models.registry import HOME, NOT_FINITE, name_of, state_of

DEEPEST = 40  # objects in objects; a model has about 15
FEW = 256  # numbers that stand in the JSON: a file each would be more than they are
ARRAY_NAME = "arrays/{:04}.npy"


class Encoder:
    """Turns values into what JSON can hold; arrays become files in `members`."""

    def __init__(self) -> None:
        self.members: dict[str, bytes] = {}
        self.classes: set[str] = set()
        self._known: dict[str, str] = {}

    def encode(self, value: Any, where: str, *, finite: bool = True, depth: int = 0) -> Any:
        """JSON of a value; `where` is what an error calls it."""
        if depth > DEEPEST:
            raise InputError(f"{where} cannot be saved: it holds itself, or is nested too deeply.")
        value = value.item() if isinstance(value, np.generic) else value
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, int | float):
            return self._number(value, where, finite)
        if isinstance(value, np.ndarray):
            return self._array(value, where, finite, depth)
        return self._composed(value, where, finite, depth)

    def _number(self, value: float, where: str, finite: bool) -> Any:
        if isinstance(value, int) or math.isfinite(value):
            return value
        _check(not finite, where)
        return {"is": "float", "value": str(float(value))}

    def _array(self, value: NDArray[Any], where: str, finite: bool, depth: int) -> Any:
        if value.dtype.names is not None:
            columns = [
                [name, self._array(value[name], f"{where}[{name!r}]", finite, depth)]
                for name in value.dtype.names
            ]
            return {"is": "records", "fields": columns}
        if value.dtype.kind in "UO":
            cells = self._all(value.ravel().tolist(), where, finite, depth)
            kind = "text" if value.dtype.kind == "U" else "object"
            return {"is": "labels", "cells": cells, "shape": list(value.shape), "kind": kind}
        try:
            value = plain(value)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
        is_finite = bool(np.isfinite(value).all())
        _check(is_finite or not finite, where)
        if is_finite and value.size <= FEW:
            order = order_of(value)
            numbers = value.ravel(order=order).tolist()  # type: ignore[arg-type]
            shape = list(value.shape)
            dtype = value.dtype.name
            return {"is": "array", "dtype": dtype, "shape": shape, "order": order, "of": numbers}
        return {"is": "file", "name": self._member(to_npy(value))}

    def _member(self, content: bytes) -> str:
        """Name of the file with this content: arrays that are alike are there once."""
        name = ARRAY_NAME.format(len(self._known))
        name = self._known.setdefault(sha256(content).hexdigest(), name)
        self.members[name] = content
        return name

    def _composed(self, value: Any, where: str, finite: bool, depth: int) -> Any:
        name = name_of(value)
        if name is not None:
            return self._object(name, value, where, depth)
        if type(value) is list:
            return self._all(value, where, finite, depth)
        if type(value) in (tuple, set, frozenset):
            kind = "tuple" if type(value) is tuple else "set"
            items = value if kind == "tuple" else sorted(value, key=repr)
            return {"is": kind, "items": self._all(items, where, finite, depth)}
        if type(value) is dict:
            pairs = [
                [
                    self.encode(key, f"a key of {where}", depth=depth + 1),
                    self.encode(one, f"{where}[{key!r}]", finite=finite, depth=depth + 1),
                ]
                for key, one in value.items()
            ]
            return {"is": "dict", "items": pairs}
        return self._of_other_libraries(value, where, finite, depth)

    def _of_other_libraries(self, value: Any, where: str, finite: bool, depth: int) -> Any:
        if isinstance(value, pd.RangeIndex) and value.start == 0 and value.step == 1:
            return {"is": "range", "length": len(value)}
        if isinstance(value, pd.Index) and value.nlevels == 1 and value.dtype.kind != "M":
            cells = self._all(value.tolist(), where, finite, depth)
            is_object = value.dtype == object
            return {"is": "index", "cells": cells, "object": is_object, "name": value.name}
        if isinstance(value, pd.Series):
            index = self.encode(value.index, where, depth=depth + 1)
            cells = self.encode(value.to_numpy(), where, finite=finite, depth=depth + 1)
            return {"is": "series", "index": index, "of": cells}
        if isinstance(value, np.dtype):
            return {"is": "dtype", "name": value.name}
        if isinstance(value, slice):
            return {"is": "slice", "of": [value.start, value.stop, value.step]}
        raise InputError(
            f"{where} cannot be saved: it is a {type(value).__name__}. A model file holds "
            "networks, learners, classifiers and preparations of sgbn with parameters that are "
            f"numbers, text or lists of them; of scikit-learn, {_of_sklearn()}."
        )

    def _all(self, values: Iterable[Any], where: str, finite: bool, depth: int) -> list[Any]:
        return [
            self.encode(one, f"{where}[{k}]", finite=finite, depth=depth + 1)
            for k, one in enumerate(values)
        ]

    def _object(self, name: str, value: Any, where: str, depth: int) -> Any:
        self.classes.add(name)
        odd = NOT_FINITE.get(name, ())
        state = {
            key: self.encode(one, f"{where}.{key}", finite=key not in odd, depth=depth + 1)
            for key, one in sorted(state_of(name, value).items())
        }
        return {"is": "object", "class": name, "state": state}


def _check(allowed: bool, where: str) -> None:
    if not allowed:
        raise InputError(f"{where} cannot be saved: it holds NaN or infinity. Fit the model anew.")


def _of_sklearn() -> str:
    shown = ("Pipeline", "StandardScaler", "LinearDiscriminantAnalysis")
    return ", ".join(name for name in shown if name in HOME)
