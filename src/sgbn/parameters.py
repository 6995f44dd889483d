"""Constraints: which values a parameter may have, and the error for any other value.

An estimator declares a table ``_parameters`` (name -> constraint) and calls `check_parameters`. A
subclass declares only the parameters that it adds. Other functions call `Constraint.check` for each
argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any, TypeGuard

import numpy as np

from sgbn.exceptions import InputError

LARGEST_SEED = 2**32 - 1  # the largest seed that numpy's RandomState accepts


def is_number(value: object) -> TypeGuard[float]:
    """Return whether `value` is a real number; True and False do not count."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether `value` is an integer of Python or numpy; True and 3.0 do not count."""
    # In Python True is an Integral, so seed=True would mean 1.
    return isinstance(value, Integral) and not isinstance(value, bool)


class Constraint:
    """Values that a parameter may have. ``first | second`` allows the values of both.

    Parameters
    ----------
    words : iterable of str
        Descriptions of the allowed values. Messages list them after "give".
    allows : callable
        Function that returns whether a value is allowed.
    """

    def __init__(self, words: Iterable[str], allows: Callable[[Any], bool]) -> None:
        self.words, self.allows = tuple(words), allows

    def check(self, name: str, value: Any) -> Any:
        """Return the value, or raise InputError if it is not allowed.

        Parameters
        ----------
        name : str
            Name of the parameter in the message.
        value : object
            Value to check. A numpy scalar is returned as a Python number.
        """
        if not self.allows(value):
            *first, last = self.words
            allowed = f"{', '.join(first)} or {last}" if first else last
            # Cut at 100 characters, since the value may be a whole table.
            raise InputError(f"{name} is {value!r:.100}; give {allowed}.")
        return value.item() if isinstance(value, np.generic) else value

    def __or__(self, other: Constraint) -> Constraint:
        words = self.words + other.words
        return Constraint(words, lambda value: self.allows(value) or other.allows(value))


Parameters = Mapping[str, Constraint]  # table of a class: name of a parameter -> its constraint


class Whole(Constraint):
    """Whole numbers from `least` to `most`; at least one of the two limits must be given."""

    def __init__(self, least: float = -inf, most: float = inf) -> None:
        start = f" from {least}" if isfinite(least) else ""
        end = f" up to {most}" if isfinite(most) else " upwards"
        super().__init__(
            [f"a whole number{start}{end}"],
            lambda value: is_whole(value) and least <= value <= most,
        )


class Number(Constraint):
    """Finite numbers within limits. `least` and `most` are allowed, `above` and `below` are not."""

    def __init__(
        self, least: float = -inf, most: float = inf, *, above: float = -inf, below: float = inf
    ) -> None:
        start, end = "", ""
        if isfinite(max(least, above)):
            start = f" from {least:g}" if isfinite(least) else f" above {above:g}"
            end = " upwards" if isfinite(least) else ""
        if isfinite(min(most, below)):
            joint = " to" if isfinite(least) else " and" if start else ""
            end = f" up to {most:g}" if isfinite(most) else f"{joint} below {below:g}"

        def allows(value: Any) -> bool:
            finite = is_number(value) and isfinite(value)
            return finite and least <= value <= most and above < value < below

        super().__init__([f"a number{start}{end}"], allows)


class OneOf(Constraint):
    """One of several names."""

    def __init__(self, *choices: str) -> None:
        super().__init__(
            map(repr, choices), lambda value: isinstance(value, str) and value in choices
        )


class ListOf(Constraint):
    """Lists and arrays of one or more values. The constraint `each` must allow each value."""

    def __init__(self, each: Constraint) -> None:
        def allows(value: Any) -> bool:
            if isinstance(value, str | Iterator) or not isinstance(value, Iterable):
                return False  # an iterator would be empty when it is used after this check
            members = list(value)
            return bool(members) and all(map(each.allows, members))

        super().__init__([f"a list in which each value is {' or '.join(each.words)}"], allows)


def _can_split(value: Any) -> bool:
    """Return whether the value may be a splitter of scikit-learn, or an iterable of splits."""
    return not isinstance(value, str) and (hasattr(value, "split") or isinstance(value, Iterable))


ANYTHING = Constraint(["anything"], lambda _: True)  # the value is checked where it is used
ESTIMATOR = Constraint(
    ["an estimator, such as SGBN()"],
    lambda value: hasattr(value, "fit") and not isinstance(value, type),
)
NONE = Constraint(["None"], lambda value: value is None)
TRUTH = Constraint(["True or False"], lambda value: isinstance(value, bool | np.bool_))
POSITIVE = Number(above=0)
NOT_NEGATIVE = Number(least=0)
SHARE = Number(above=0, below=1)
UP_TO_ONE = Number(above=0, most=1)
PROBABILITY = Number(least=0, most=1)
FOLDS = Whole(2) | Constraint(["a splitter of scikit-learn"], _can_split)
# joblib reads -2 as "all processors except one", and so on. It refuses 0.
JOBS = NONE | Constraint(
    ["a number of processes from 1 upwards", "-1 for one per processor"],
    lambda value: is_whole(value) and value != 0,
)
# numpy's default_rng accepts seeds of any size, the older RandomState only up to 32 bits.
SEED = Whole(0)
RANDOM_STATE = (
    NONE
    | Whole(0, LARGEST_SEED)
    | Constraint(["a RandomState"], lambda value: isinstance(value, np.random.RandomState))
)


def declared_parameters(kind: type) -> dict[str, Constraint]:
    """Return the constraint of each parameter of a class, also of parameters of base classes."""
    merged: dict[str, Constraint] = {}
    for base in reversed(kind.__mro__):
        merged |= vars(base).get("_parameters", {})
    return merged


def check_parameters(estimator: Any) -> None:
    """Raise InputError unless all parameters of an estimator have allowed values.

    The estimator may have a method ``_check_together``, which checks parameters against each other.
    """
    for name, constraint in declared_parameters(type(estimator)).items():
        constraint.check(name, getattr(estimator, name))
    # This comes last, when each value is known to have the right type.
    if hasattr(estimator, "_check_together"):
        estimator._check_together()
