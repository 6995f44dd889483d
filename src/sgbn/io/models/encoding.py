"""Turn a model into JSON and arrays.

None, truth values, integers, finite numbers, text and lists are written as in JSON. Every other
value is a JSON object whose key ``is`` names its kind: tuple, set, dict, float (nan or inf), array,
file (an array in its own npy file), labels, records, range, index, series, dtype, slice, or object
(an instance of a class in `registry`). Only `decoding` checks whether values belong in a model: it
refuses NaN in a weight, for example. So `save` decodes each model before it writes the file.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sgbn.core.exceptions import InputError
from sgbn.io.models.arrays import order_of, plain, to_npy
from sgbn.io.models.registry import name_of, state_of

MAX_NUMBERS_IN_JSON = 256  # larger arrays are npy files; a small npy file is mostly header


class Encoder:
    """Turns values into what JSON can hold.

    Attributes
    ----------
    members : dict of str to bytes
        Name -> content of the npy files, one for each large array.
    """

    def __init__(self) -> None:
        self.members: dict[str, bytes] = {}
        self._place = "the model"  # attribute that is being encoded, for messages

    def encode(self, value: Any) -> Any:
        """Return the JSON of a value; raise InputError if it cannot be saved."""
        try:
            return self._json(value)
        except InputError as error:
            raise InputError(f"{self._place} cannot be saved: {error}") from error
        except RecursionError as error:
            raise InputError(f"{self._place} cannot be saved: it contains itself.") from error

    def _json(self, value: Any) -> Any:
        # A fit may leave a number of numpy, but JSON holds only Python's numbers.
        value = value.item() if isinstance(value, np.generic) else value
        is_number = isinstance(value, float) and math.isfinite(value)
        if value is None or is_number or isinstance(value, bool | int | str):
            return value
        if type(value) is list:
            return [self._json(part) for part in value]
        name = name_of(value)
        if name is not None:
            return self._object(name, value)
        kind, parts = described(value)
        # JSON cannot express NaN.
        if kind == "array" and (value.size > MAX_NUMBERS_IN_JSON or not np.isfinite(value).all()):
            kind, parts = "file", {"name": self._member(to_npy(value))}
        return {"is": kind} | {key: self._json(part) for key, part in parts.items()}

    def _object(self, name: str, value: Any) -> Any:
        state = {}
        # Sorted, because otherwise attributes have the order in which a fit sets them.
        for key, part in sorted(state_of(name, value).items()):
            self._place = f"{name}.{key}"
            state[key] = self._json(part)
        return {"is": "object", "class": name, "state": state}

    def _member(self, content: bytes) -> str:
        """Return the name of the file with this content. Equal arrays share one file."""
        for name, other in self.members.items():
            if other == content:
                return name
        name = f"arrays/{len(self.members):04}.npy"
        self.members[name] = content
        return name


def described(value: Any) -> tuple[str, dict[str, Any]]:
    """Return the kind of a value and its parts, from which `decoding` makes it again."""
    kind = type(value)
    if isinstance(value, np.ndarray):
        return _described_array(value)
    if kind is tuple:
        return "tuple", {"items": list(value)}
    if kind in (set, frozenset):  # sorted, so that the same model gives the same bytes
        return "set", {"items": sorted(value, key=repr)}
    if kind is dict:
        return "dict", {"items": [list(pair) for pair in value.items()]}
    if kind is float:
        return "float", {"value": str(value)}
    if isinstance(value, np.dtype):
        return "dtype", {"name": value.name}
    if kind is slice:
        return "slice", {"of": [value.start, value.stop, value.step]}
    if isinstance(value, pd.Series):
        return "series", {"index": value.index, "of": value.to_numpy()}
    if isinstance(value, pd.RangeIndex) and value.start == 0 and value.step == 1:
        return "range", {"length": len(value)}
    if isinstance(value, pd.Index) and value.nlevels == 1 and value.dtype.kind != "M":
        is_object = value.dtype == object
        return "index", {"cells": value.tolist(), "object": is_object, "name": value.name}
    raise InputError(
        f"it is a {kind.__name__}. Use networks, learners, classifiers and preparations of sgbn, "
        "whose parameters are numbers, text or lists of these. Pipeline, StandardScaler and "
        "LinearDiscriminantAnalysis of scikit-learn can be saved too."
    )


def _described_array(value: NDArray[Any]) -> tuple[str, dict[str, Any]]:
    names, shape = value.dtype.names, list(value.shape)
    if names is not None:
        return "records", {"fields": [[name, value[name]] for name in names]}
    if value.dtype.kind in "UO":
        # numpy would pickle objects, so labels are written one by one.
        kind = "text" if value.dtype.kind == "U" else "object"
        return "labels", {"cells": value.ravel().tolist(), "shape": shape, "kind": kind}
    value, order = plain(value), order_of(value)
    numbers = value.ravel(order=order).tolist()
    return "array", {"dtype": value.dtype.name, "shape": shape, "order": order, "of": numbers}
