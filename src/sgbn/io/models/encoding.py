"""Turn a model into JSON and arrays.

None, truth values, integers, finite numbers, text and lists are written as in JSON. Every other
value is a JSON object whose key ``is`` names its kind: tuple, set, dict, float (nan or inf), array,
file (an array in its own npy file), labels, records, range, index, series, dtype, slice, or object
(an instance of a class in `registry`).
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
from sgbn.io.models.checks import require
from sgbn.io.models.registry import attributes, name_of, state_of

MAX_DEPTH = 40  # levels of values inside values; a model has about 15
MAX_NUMBERS_IN_JSON = 256  # larger arrays are npy files; a small npy file is mostly header
ARRAY_NAME = "arrays/{:04}.npy"


class Encoder:
    """Turns values into what JSON can hold.

    Attributes
    ----------
    members : dict of str to bytes
        Name -> content of the npy files, one for each large array.
    classes : set of str
        Names of the classes of all objects that were encoded.
    """

    def __init__(self) -> None:
        self.members: dict[str, bytes] = {}
        self.classes: set[str] = set()
        self._names: dict[str, str] = {}
        self._depth = 0

    def encode(self, value: Any, where: str, finite: bool = True) -> Any:
        """Return the JSON of a value; with `finite`, NaN and infinity are refused.

        `where` names the value in error messages, such as ``"SGBN.coef_"``.
        """
        # A fit may leave a number of numpy, but JSON holds only Python's numbers.
        value = value.item() if isinstance(value, np.generic) else value
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            is_finite = math.isfinite(value)
            _check_finite(is_finite or not finite, where)
            return value if is_finite else {"is": "float", "value": str(float(value))}
        self._depth += 1
        too_deep = f"{where} cannot be saved: it contains itself, or is nested too deeply."
        require(self._depth <= MAX_DEPTH, too_deep)
        encoded = self._composed(value, where, finite)
        self._depth -= 1
        return encoded

    def _composed(self, value: Any, where: str, finite: bool) -> Any:
        name, kind = name_of(value), type(value)
        if name is not None:
            return self._object(name, value, where)
        if isinstance(value, np.ndarray):
            return self._array(value, where, finite)
        if kind is list:
            return self._all(value, where, finite)
        if kind is tuple:
            return {"is": "tuple", "items": self._all(value, where, finite)}
        if kind in (set, frozenset):  # sorted, so that the same model gives the same bytes
            return {"is": "set", "items": self._all(sorted(value, key=repr), where, finite)}
        if kind is dict:
            # Keys are always finite: NaN is not equal to itself, and could not be looked up.
            keys = self._all(value, f"a key of {where}", True)
            cells = [self.encode(part, f"{where}[{k!r}]", finite) for k, part in value.items()]
            return {"is": "dict", "items": [list(pair) for pair in zip(keys, cells, strict=True)]}
        if isinstance(value, np.dtype):
            return {"is": "dtype", "name": value.name}
        if kind is slice:
            return {"is": "slice", "of": [value.start, value.stop, value.step]}
        return self._of_pandas(value, where, finite)

    def _of_pandas(self, value: Any, where: str, finite: bool) -> Any:
        if isinstance(value, pd.Series):
            index = self.encode(value.index, where)
            numbers = self._array(value.to_numpy(), where, finite)
            return {"is": "series", "index": index, "of": numbers}
        if isinstance(value, pd.Index) and value.nlevels == 1 and value.dtype.kind != "M":
            if isinstance(value, pd.RangeIndex) and value.start == 0 and value.step == 1:
                return {"is": "range", "length": len(value)}
            cells = self._all(value.tolist(), where, finite)
            is_object = value.dtype == object
            return {"is": "index", "cells": cells, "object": is_object, "name": value.name}
        raise InputError(
            f"{where} cannot be saved: it is a {type(value).__name__}. Use networks, learners, "
            "classifiers and preparations of sgbn, whose parameters are numbers, text or lists of "
            "them. Of scikit-learn, Pipeline, StandardScaler and LinearDiscriminantAnalysis can be "
            "saved too."
        )

    def _all(self, values: Iterable[Any], where: str, finite: bool) -> list[Any]:
        return [self.encode(part, f"{where}[{k}]", finite) for k, part in enumerate(values)]

    def _object(self, name: str, value: Any, where: str) -> Any:
        self.classes.add(name)
        not_finite = attributes(name, "not_finite")
        state = {
            key: self.encode(part, f"{where}.{key}", key not in not_finite)
            # Sorted, because otherwise attributes have the order in which a fit sets them.
            for key, part in sorted(state_of(name, value).items())
        }
        return {"is": "object", "class": name, "state": state}

    def _array(self, value: NDArray[Any], where: str, finite: bool) -> Any:
        names, shape = value.dtype.names, list(value.shape)
        if names is not None:
            columns = [[n, self._array(value[n], f"{where}[{n!r}]", finite)] for n in names]
            return {"is": "records", "fields": columns}
        if value.dtype.kind in "UO":
            # numpy would pickle objects, so labels are written one by one.
            cells = self._all(value.ravel().tolist(), where, finite)
            kind = "text" if value.dtype.kind == "U" else "object"
            return {"is": "labels", "cells": cells, "shape": shape, "kind": kind}
        try:
            value = plain(value)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
        is_finite = bool(np.isfinite(value).all())
        _check_finite(is_finite or not finite, where)
        if not is_finite or value.size > MAX_NUMBERS_IN_JSON:  # JSON cannot express NaN
            return {"is": "file", "name": self._member(to_npy(value))}
        order, dtype = order_of(value), value.dtype.name
        numbers = value.ravel(order=order).tolist()  # type: ignore[arg-type]
        return {"is": "array", "dtype": dtype, "shape": shape, "order": order, "of": numbers}

    def _member(self, content: bytes) -> str:
        """Return the name of the file with this content. Equal arrays share one file."""
        name = ARRAY_NAME.format(len(self._names))
        name = self._names.setdefault(sha256(content).hexdigest(), name)
        self.members[name] = content
        return name


def _check_finite(right: bool, where: str) -> None:
    require(right, f"{where} cannot be saved: it holds NaN or infinity. Fit the model again.")
