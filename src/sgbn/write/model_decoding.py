"""Make a model from JSON and arrays. Content that `sgbn.save` does not write is refused.

There is one exception. An estimator may have attributes that a fit does not set, because other
versions of scikit-learn set other attributes. These attributes are plain values, never methods.

`to_npy` and `from_npy` write and read arrays as npy files; the header of a file must fit its size.
`Decoder` turns JSON into values. `check_object` then checks that the parts of an object fit
together. The parts of a file that was made by hand may not fit, and such a file must be refused
when it is read, not fail later in a prediction. ``classes.toml`` has the shapes of arrays, and all
other conditions are here.

``classes.toml`` also lists by name the classes whose instances a model file may hold. A class that
is not in this list is never imported, even if a file names it (`class_named`).
"""

from __future__ import annotations

import io
import math
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.resources import files
from inspect import getattr_static, signature
from operator import attrgetter
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.lib import format as npy
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from sgbn.core.problems import InputError
from sgbn.core.validation import LARGEST

MODEL = "model.json"  # the part of a model file that says what the arrays mean
VERSION = (1, 0)
MAX_HEADER_BYTES = 1024  # the header of an array of plain numbers has 118 bytes
MAX_AXES = 4
# Little-endian on every machine, so that the same model gives the same file.
DTYPES = ("|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8")


def to_npy(array: NDArray[Any]) -> bytes:
    """Return the content of an npy file. The order of the array in memory (C or F) is kept."""
    stream = io.BytesIO()
    # Version 1.0 has the smallest header, and `from_npy` reads no other version.
    npy.write_array(stream, plain(array), version=VERSION, allow_pickle=False)
    return stream.getvalue()


def plain(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array with little-endian bytes; raise InputError unless it holds plain numbers."""
    dtype = array.dtype.newbyteorder("<")
    if dtype.str not in DTYPES or array.ndim > MAX_AXES:
        raise InputError("array.type", kind=dtype.name, n=array.ndim, most=MAX_AXES).says(
            "an array of {kind:s} with {n:axis/axes} cannot be saved",
            "Give an array of numbers with at most {most} axes.",
        )
    return array.astype(dtype, copy=False)


def from_npy(content: bytes) -> NDArray[Any]:
    """Return the array of an npy file. The array is writeable.

    numpy's own reader is not used: it allocates the memory that a header asks for before it looks
    at the size of the file.
    """
    stream = io.BytesIO(content)
    try:
        require(npy.read_magic(stream) == VERSION, "version")
        header = npy.read_array_header_1_0(stream, max_header_size=MAX_HEADER_BYTES)
        shape, is_fortran, dtype = header
        require(dtype.str in DTYPES, "dtype")
        # frombuffer gives a read-only view of the file. in_order copies it.
        flat = np.frombuffer(content, dtype, offset=stream.tell())
        return in_order(flat, shape, "F" if is_fortran else "C")
    except Exception as error:  # numpy evaluates the header as text, and may fail anywhere
        raise InputError("model.npy", cause=error).says(
            "it has an array that is not an npy file of a model ({cause})"
        ) from error


def in_order(flat: NDArray[Any], shape: Any, order: str) -> NDArray[Any]:
    """Return a copy of the numbers as an array of this shape and memory order."""
    # `isinstance` would accept True and False as integers. For a side of -1, numpy would choose a
    # length.
    right = all(type(side) is int and side >= 0 for side in shape) and len(shape) <= MAX_AXES
    require(right, "shape")
    array = flat.reshape(shape, order="F" if order == "F" else "C")
    # The bytes get the order of this machine, to compute with. The order of the cells is kept,
    # because sums in another order may differ in the last bits, and predictions must be the same.
    return array.astype(array.dtype.newbyteorder("="), order="K", copy=True)


def order_of(array: NDArray[Any]) -> Literal["C", "F"]:
    """Return the order of an array in memory: "F" if it is stored column by column, else "C"."""
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


MAX_BYTES = 2**29  # in all arrays of a model, each counted as often as it is used
# Values in a model, without the numbers in arrays. An analysis has ten values per region, or 250
# with IterativeImputer.
MAX_VALUES = 2**18
MAX_DEPTH = 40  # levels of values inside values; a model has about 15
# Errors that values cause if they do not fit together. InputError is a ValueError, and
# RecursionError and NotImplementedError are RuntimeErrors.
MISFITS = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RuntimeError)

_DTYPES = {np.dtype(code).name: np.dtype(code).newbyteorder("=") for code in DTYPES}
_TYPES_OF_CELLS: dict[str, set[type]] = {"b": {bool}, "i": {int}, "u": {int}, "f": {int, float}}


def _dict(items: list[Any]) -> dict[Any, Any]:
    for pair in items:  # `dict` would read any other iterable to its end, however long it is
        require_type(pair, list)
    made = dict(items)
    # Without this check, the later value would silently replace the earlier value.
    require(len(made) == len(items), "keys")
    return made


def _slice(ends: list[Any]) -> slice:
    return slice(*(require_type(end, int | None) for end in ends))


def _array(numbers: list[Any], shape: list[Any], dtype: str, order: str) -> NDArray[Any]:
    kind = _DTYPES[dtype]
    # numpy would turn text and truth values into numbers.
    require(set(map(type, numbers)) <= _TYPES_OF_CELLS[kind.kind], "cells")
    require(order in ("C", "F"), "order")
    with np.errstate(over="raise"):  # 1e30 is too large for float16
        return in_order(np.array(numbers, kind), tuple(shape), order)


def _labels(cells: list[Any], shape: list[Any], kind: str) -> NDArray[Any]:
    require(kind in ("text", "object"), "kind")
    # Labels are compared and sorted later, which would fail for a list or an object.
    for label in cells:
        require_type(label, str if kind == "text" else str | float | int | None)
    array = np.empty(len(cells), object)
    array[:] = cells
    if kind == "text":
        # numpy stores each label with the length of the longest, at four bytes per character.
        check_size(4 * len(cells) * max(map(len, cells), default=0))
        array = array.astype(str)
    return in_order(array, tuple(shape), "C")


def _records(fields: list[Any]) -> NDArray[Any]:
    columns = _dict(fields)
    # numpy would repeat a short column, so that a small file could ask for any amount of memory.
    shapes = {column.shape for column in columns.values()}
    require(len(shapes) == 1, "fields")
    made = np.empty(shapes.pop(), [(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        made[name] = column
    return made


def _range(length: int) -> pd.RangeIndex:
    # A very long range needs no memory, but a loop over its values would not end.
    require(0 <= length <= MAX_VALUES, "length")
    return pd.RangeIndex(length)


def _index(cells: list[Any], is_object: bool, name: str | None) -> pd.Index[Any]:
    return pd.Index(cells, dtype=object if is_object else None, name=name)


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
    "series": (pd.Series, {"of": np.ndarray, "index": pd.Index}),
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
        self._n_bytes, self._n_values = 0, 0
        # These two kinds need the decoder itself, so they are not in the table.
        self._kinds = KINDS | {
            "file": (self._file, {"name": str}),
            "object": (self._object, {"class": str, "state": dict}),
        }
        self._place = MODEL  # class or attribute that is being made, for messages

    def decode(self, content: Any, finite: bool = True) -> Any:
        """Return the value of a piece of JSON; with `finite`, NaN and infinity are refused."""
        try:
            return self._value(content, finite)
        except MISFITS as error:
            raise InputError("model.misfit", place=self._place, cause=error).says(
                "in {place}, {cause}"
            ) from error

    def _value(self, given: Any, finite: bool) -> Any:
        self._n_values += 1
        require(self._n_values <= MAX_VALUES, "number of values")
        value = given
        if isinstance(given, list | dict):
            self._depth += 1
            require(self._depth <= MAX_DEPTH, "depth")
            if isinstance(given, list):
                value = [self._value(part, finite) for part in given]
            else:
                value = self._made(given, finite)
            self._depth -= 1
        # Python's JSON reader accepts NaN, and reads 1e999 as infinity.
        if finite and not _is_finite(value):
            raise InputError("model.nan").says("a number is NaN or infinite")
        return value

    def _made(self, given: Mapping[str, Any], finite: bool) -> Any:
        kind = require_type(given.get("is"), str)
        require(kind in self._kinds, "kind")
        make, types = self._kinds[kind]
        require(given.keys() == {"is", *types}, "parts")
        parts = [given[key] for key in types]
        # The numbers of an array do not count as values. `_object` decodes its attributes itself,
        # because some of them may be NaN.
        if kind not in ("array", "object"):
            parts = [self._value(part, finite) for part in parts]
        for part, type_of_part in zip(parts, types.values(), strict=True):
            require_type(part, type_of_part)
        made = make(*parts)
        if isinstance(made, np.ndarray):
            self._n_bytes += made.nbytes
            check_size(self._n_bytes)
        return made

    def _file(self, name: str) -> NDArray[Any]:
        if name not in self.arrays:
            self.arrays[name] = from_npy(part_of(self._members, name))
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


def _is_finite(value: Any) -> bool:
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return bool(np.isfinite(value).all())
    return not isinstance(value, float) or math.isfinite(value)


def part_of(members: Mapping[str, bytes], name: str) -> bytes:
    """Return a part of a model file; raise InputError if the file does not have it."""
    if name not in members:
        raise InputError("model.lacks", name=name[:80]).says("it has no part {name}")
    return members[name]


def check_size(n_bytes: int, most: int = MAX_BYTES) -> None:
    """Raise InputError if a model, or a part of it, is too large."""
    if n_bytes > most:
        raise InputError("model.large", most=most >> 20).says(
            "a model may have {most} MB, and this one has more",
            "Use fewer regions, or an imputer that does not keep all rows.",
        )


# Smallest and largest temperature. A fit finds values from 1e-3 to 10. A user may give others.
TEMPERATURES = (1e-6, 1e6)
# Largest absolute value that a network can compute with, by attribute. A variance has the size of
# a squared cell.
SIZES = {"coef": LARGEST, "intercept": LARGEST, "noise_variance": LARGEST**2}


def check_object(name: str, made: Any) -> None:
    """Raise InputError if the parts of an object, whose class is `name`, do not fit together."""
    if name == "Pipeline":
        _check_pipeline(made)
    elif name == "GaussianNetwork":
        _check_network(made)
    elif is_estimator(name) and hasattr(made, "n_features_in_"):  # it is fitted
        like = CLASSES[name].get("like", "")
        _check_shapes(made, f"{SHARED.get(like, '')} {CLASSES[name].get('shapes', '')}")
        if like == "classifier":
            _check_classifier(made)
        elif like == "placed":
            _check_places(made)


def _check_network(made: Any) -> None:
    require(all(made.names), "names")
    for attribute, largest in SIZES.items():
        require(np.abs(getattr(made, attribute)).max(initial=0.0) <= largest, attribute)


def _check_pipeline(made: Any) -> None:
    # A cache is a folder of pickles that joblib would read. A pickle can run any code.
    require(made.memory is None, "memory")
    require(isinstance(getattr(made, "site_column_", None), str | None), "site_column_")
    require(isinstance(made.steps, list) and len(made.steps) > 0, "steps")
    for name, step in made.steps:
        class_name = name_of(step)
        right = isinstance(name, str) and class_name is not None and is_estimator(class_name)
        require(right, "steps")


def _check_shapes(made: Any, table: str) -> None:
    """Raise InputError unless each array has the shape that the table gives."""
    features = made.n_features_in_
    require(isinstance(features, int) and features > 0, "n_features_in_")
    n_classes = np.size(getattr(made, "classes_", ()))
    sizes = {"f": features, "c": n_classes, "p": 1 if n_classes == 2 else n_classes}
    for item in f"feature_names_in_:f? {table}".split():
        path, letters = item.split(":")
        _check_array(made, path, letters, sizes)
    names = getattr(made, "feature_names_in_", None)
    is_text = names is None or all(isinstance(name, str) for name in names.tolist())
    require(is_text, "feature_names_in_")


def _check_array(made: Any, path: str, letters: str, sizes: dict[str, int]) -> None:
    """Raise InputError unless an array has its shape. The sizes of new letters go to `sizes`."""
    letters, _, bound = letters.partition("<")
    shape = letters.rstrip("?")
    array = _part(made, path)
    if letters != shape and array is None:
        return
    require(isinstance(array, np.ndarray), path)
    for letter, size in zip(shape, array.shape, strict=False):
        sizes.setdefault(letter, size)
    # A letter without a size belongs to an axis that the array does not have. -1 never matches.
    wanted = tuple(sizes.get(letter, -1) for letter in shape)
    require(array.shape == wanted, path)
    if bound:
        # A place behind the last column would fail in a prediction. A negative place would count
        # from the end.
        right = array.dtype.kind == "i" and bool(((array >= 0) & (array < sizes[bound])).all())
        require(right, path)


def _part(made: Any, path: str) -> Any:
    try:
        return attrgetter(path)(made)
    except AttributeError:
        return None


def _check_classifier(made: Any) -> None:
    networks, priors = made.networks_, made.priors_
    # As lists, because the order matters. Probabilities have the order of `classes_`.
    same = isinstance(networks, dict) and list(networks) == made.classes_.tolist()
    right = same and all(network.m == made.n_features_in_ for network in networks.values())
    require(right, "networks_")
    # Positive, because a prediction takes their logarithms. The sum is 1 up to round-off.
    right = priors.dtype.kind == "f" and bool((priors > 0).all()) and abs(priors.sum() - 1) < 1e-6
    require(right, "priors_")
    temperature, (low, high) = made.temperature_, TEMPERATURES
    require(isinstance(temperature, float) and low <= temperature <= high, "temperature_")


def _check_places(made: Any) -> None:
    named = isinstance(made._names, list) and len(made._names) == len(made._named_places)
    require(named, "_names")
    for covariate in _part(made, "_design.covariates") or ():
        if covariate.spline is not None:
            _check_spline(covariate.spline)
    for centre in getattr(made, "_centres", {}).values():
        require(np.shape(centre) == made._region_places.shape, "_centres")


def _check_spline(spline: Any) -> None:
    knots, turn = spline.knots, spline.turn
    # A cubic basis of k functions has k + 4 knots.
    right = knots.ndim == 1 and turn.ndim == 2 and len(knots) == len(turn) + 4 and len(turn) > 3
    right = right and bool((np.diff(knots) >= 0).all()) and spline.high > spline.low
    require(right, "spline")


_MODULES = tomllib.loads(files(__package__).joinpath("classes.toml").read_text("utf-8"))
SHARED: dict[str, str] = _MODULES.pop("shared")
# Name of the class -> its line of the table, with the module to import it from as "home".
CLASSES: dict[str, dict[str, str]] = {
    name: {"home": home, **line} for home, lines in _MODULES.items() for name, line in lines.items()
}
# Name of a class in the code -> its name in files, where the two differ.
_IN_FILES = {line["class"]: name for name, line in CLASSES.items() if "class" in line}
# Name of an attribute in older versions -> its name now.
RENAMED = {"_arrows": "arrows_"}


@cache
def class_named(name: str) -> type[Any]:
    """Return the class of this name; raise InputError if the table does not list it."""
    if name not in CLASSES:
        raise InputError("model.class", name=name[:60]).says("no model may hold a {name}")
    # Imported here, so that a file of one class does not load the modules of all classes.
    line = CLASSES[name]
    cls: type[Any] = getattr(import_module(line["home"]), line.get("class", name))
    return cls


def name_of(value: object) -> str | None:
    """Return the name of the class of `value`; None if ``classes.toml`` does not list it."""
    name = type(value).__name__
    name = _IN_FILES.get(name, name)
    # A subclass may have other attributes than its parent, so it is not saved as its parent.
    return name if name in CLASSES and class_named(name) is type(value) else None


def is_estimator(name: str) -> bool:
    """Return whether a class is an estimator of scikit-learn. Then all its attributes are saved."""
    return issubclass(class_named(name), BaseEstimator)


def attributes(name: str, key: str) -> list[str]:
    """Return the attributes of a class that the table lists under a key such as ``not_finite``."""
    return CLASSES.get(name, {}).get(key, "").split()


@cache
def parameters(name: str) -> tuple[str, ...]:
    """Return the names of the parameters of the constructor.

    A named tuple, a dataclass or a network is fully described by the values of its parameters.
    """
    return tuple(signature(class_named(name)).parameters)


def state_of(name: str, value: Any) -> dict[str, Any]:
    """Return the attributes or fields of an instance, from which `build` makes it again."""
    if not is_estimator(name):
        return {field: getattr(value, field) for field in parameters(name)}
    left_out = attributes(name, "left_out")
    return {key: part for key, part in vars(value).items() if key not in left_out}


def build(name: str, state: dict[str, Any]) -> Any:
    """Return the instance that `state_of` described.

    A parameter that is missing, because an older version did not have it, gets its default.
    """
    cls, known = class_named(name), parameters(name)
    state = {RENAMED.get(attribute, attribute): part for attribute, part in state.items()}
    if not is_estimator(name):
        return cls(**state)  # the constructor checks the values
    for attribute in state:
        # Without this check, a file could replace a method or a property by data, and change what a
        # model does.
        member = getattr_static(cls, attribute, None)
        taken = callable(member) or hasattr(member, "__get__")
        right = attribute.isidentifier() and not attribute.startswith("__") and not taken
        require(right, attribute[:60])
    made = cls(**{attribute: part for attribute, part in state.items() if attribute in known})
    vars(made).update(state)  # a fit sets attributes that are not parameters
    return made


def require(right: bool, part: str) -> None:
    """Raise InputError, which names the part of a model that is wrong, unless `right`."""
    if not right:
        raise InputError("model.part", part=part).says("{part} does not fit")


def require_type(value: Any, kind: Any) -> Any:
    """Return `value`, or raise InputError unless it is an instance of `kind`."""
    require(isinstance(value, kind), "type of a value")
    return value
