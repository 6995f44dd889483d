"""Checks that raise InputError if a part of a model file is wrong."""

from __future__ import annotations

from typing import Any

from sgbn.core.exceptions import InputError


def require(right: bool, wrong: str) -> None:
    """Raise InputError with the message `wrong` unless `right`."""
    if not right:
        raise InputError(wrong)


def require_type(value: Any, kind: Any) -> Any:
    """Return `value`, or raise InputError unless it is an instance of `kind`."""
    if not isinstance(value, kind):  # `require` would build a message for each value
        raise InputError(f"it holds {value!r:.60}, but a value of another type is needed here.")
    return value
