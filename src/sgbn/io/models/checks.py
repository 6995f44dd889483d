"""The one way in which a part of a model file is refused."""

from __future__ import annotations

from typing import Any

from sgbn.exceptions import InputError


def require(right: bool, wrong: str) -> None:
    """Raise InputError with the message `wrong` unless `right`."""
    if not right:
        raise InputError(wrong)


def require_type(value: Any, kind: Any) -> Any:
    """Return `value` if it is an instance of `kind`; else raise InputError."""
    if not isinstance(value, kind):  # the text of a large list is made only where it is needed
        raise InputError(f"{value!r:.60} is not what belongs in its place.")
    return value
