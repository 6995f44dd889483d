"""Classes that a model file may hold: these and no others, whatever a file asks for.

A class is found by its name in ``classes.toml``. Nothing is imported that is not written there.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import import_module
from importlib.resources import files
from inspect import Parameter, getattr_static, signature
from typing import Any

from sklearn.base import BaseEstimator

from sgbn.exceptions import InputError, listed
from sgbn.io.models.checks import require
from sgbn.structure import baselines

_MODULES = tomllib.loads(files(__package__).joinpath("classes.toml").read_text("utf-8"))
SHARED: dict[str, str] = _MODULES.pop("shared")
# Baselines share one line. A new one is known by its line in baselines/__init__.pyi.
_BASELINE = _MODULES["sgbn.structure.baselines"]["each"]
_MODULES["sgbn.structure.baselines"] = dict.fromkeys(baselines.__all__, _BASELINE)
# Class -> its line of the table, and the module that it is imported from as "home".
CLASSES: dict[str, dict[str, str]] = {
    name: {"home": home, **line} for home, lines in _MODULES.items() for name, line in lines.items()
}
# Attributes of estimators that older versions called otherwise.
RENAMED = {"_arrows": "arrows_"}


@cache
def class_named(name: str) -> type[Any]:
    """Return the class of the table with this name."""
    if name not in CLASSES:
        raise InputError(f"{name!r} is not a class that a model is made of.")
    # Imported by need: a file of one class does not load the modules of all.
    cls: type[Any] = getattr(import_module(CLASSES[name]["home"]), name)
    return cls


def name_of(value: object) -> str | None:
    """Return the name of the class of `value`; None if ``classes.toml`` does not list it."""
    name = type(value).__name__
    # A subclass may keep other things in its attributes, and is not saved as its parent.
    return name if name in CLASSES and class_named(name) is type(value) else None


def is_estimator(name: str) -> bool:
    """Whether a class is kept by its attributes, as scikit-learn's estimators are."""
    return issubclass(class_named(name), BaseEstimator)


def attributes(name: str, quality: str) -> list[str]:
    """Attributes that the table lists under `quality`, such as ``not_finite``, for a class."""
    return CLASSES.get(name, {}).get(quality, "").split()


@cache
def parameters(name: str) -> dict[str, Any]:
    """Parameter of the constructor -> its default, or `Parameter.empty`.

    For a named tuple, a dataclass and a network, they are all that an instance is made of.
    """
    given = signature(class_named(name)).parameters.values()
    return {p.name: p.default for p in given if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}


def state_of(name: str, value: Any) -> dict[str, Any]:
    """Return what an instance is made of."""
    if not is_estimator(name):
        return {field: getattr(value, field) for field in parameters(name)}
    left_out = attributes(name, "left_out")
    return {key: part for key, part in vars(value).items() if key not in left_out}


def build(name: str, state: dict[str, Any]) -> Any:
    """Instance from what `state_of` gave.

    A parameter that an older version lacked has its default.
    """
    cls, known = class_named(name), parameters(name)
    state = known | {RENAMED.get(attribute, attribute): part for attribute, part in state.items()}
    missing = [key for key, part in state.items() if part is Parameter.empty]
    require(not missing, f"a {name} has no {listed(missing)}.")
    if not is_estimator(name):
        if not state.keys() <= known.keys():
            raise InputError(f"a {name} has {listed(sorted(state))}, and not {listed([*known])}.")
        return cls(**state)  # it checks what it is given
    for attribute in state:
        # A file could else put data in the place of a method, and so change what a model does.
        if not attribute.isidentifier() or attribute.startswith("__") or _works(cls, attribute):
            raise InputError(f"a {name} has no attribute {attribute!r}.")
    # Without __init__: a fit has set attributes that no constructor takes.
    made: Any = object.__new__(cls)
    vars(made).update(state)
    return made


def _works(cls: type[Any], attribute: str) -> bool:
    """Whether this is a method or property of the class, which a file must not replace."""
    member = getattr_static(cls, attribute, None)
    return callable(member) or hasattr(member, "__get__")
