"""The classes whose instances a model file may hold.

``classes.toml`` lists them by name. A class that is not in this list is never imported, even if a
file names it.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import import_module
from importlib.resources import files
from inspect import getattr_static, signature
from typing import Any

from sklearn.base import BaseEstimator

from sgbn.core.exceptions import InputError
from sgbn.structure import baselines

_MODULES = tomllib.loads(files(__package__).joinpath("classes.toml").read_text("utf-8"))
SHARED: dict[str, str] = _MODULES.pop("shared")
# All baselines share one line of the table, so that a new baseline needs no new line.
_BASELINE = _MODULES["sgbn.structure.baselines"]["each"]
_MODULES["sgbn.structure.baselines"] = dict.fromkeys(baselines.__all__, _BASELINE)
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
        raise InputError(f"{name!r} is not the name of a class that a model may hold.")
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
        # Without this check, a file could replace a method by data, and change what a model does.
        if not attribute.isidentifier() or attribute.startswith("__") or _is_member(cls, attribute):
            raise InputError(f"it has an attribute {attribute!r}, which a {name} cannot have.")
    made = cls(**{attribute: part for attribute, part in state.items() if attribute in known})
    vars(made).update(state)  # a fit sets attributes that are not parameters
    return made


def _is_member(cls: type[Any], attribute: str) -> bool:
    """Return whether an attribute is a method or property of the class."""
    member = getattr_static(cls, attribute, None)
    return callable(member) or hasattr(member, "__get__")
