"""Errors and warnings of sgbn. Each message says what is wrong, where, and what to do."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from difflib import get_close_matches
from types import FrameType

LISTED = 8  # names that a message lists; further names are only counted
# A warning points at the user's line. These packages call sgbn on behalf of the user.
BETWEEN = ("sgbn", "contextlib", "joblib", "sklearn")


class InputError(ValueError):
    """The data or a parameter cannot be used. The message names the cause and the remedy."""


class CycleError(InputError):
    """A graph that must be acyclic has a directed cycle.

    Attributes
    ----------
    cycle : list of str
        Names of the nodes along the cycle. The first name is repeated at the end.
    """

    def __init__(self, cycle: Sequence[str]) -> None:
        self.cycle = list(cycle)
        super().__init__(
            f"the graph has a directed cycle: {' -> '.join(self.cycle)}. Remove one of these "
            "edges, or fit SGBN, which always returns a DAG."
        )

    def __reduce__(self) -> tuple[type[CycleError], tuple[list[str]]]:
        # By default, unpickling passes the message to __init__, which needs the list of names.
        return type(self), (self.cycle,)


class StudyError(RuntimeError):
    """The study folder already belongs to a different study."""


class DataWarning(UserWarning):
    """The data can be used, but the user should check something about them."""


def warn(message: str, category: type[Warning] = DataWarning) -> None:
    """Issue a warning that points at the user's line, the first caller outside `BETWEEN`."""
    # The number of calls in between varies (a Pipeline or a worker adds some): walk up to the user.
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _package(frame) in BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def shown(name: object) -> str:
    """Return the repr of a name or cell for a message. A numpy scalar looks like a plain number."""
    return repr(name.item() if hasattr(name, "item") else name)


def listed(names: Sequence[object], most: int = LISTED) -> str:
    """Return the first `most` names for a message, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(shown(name) for name in names[:most]) + more


def counted(n: int, singular: str, plural: str = "") -> str:
    """Return a count with its noun: "1 subject", "2 subjects".

    The default plural is the singular with an s. Both may have several words, as in
    ``counted(n, "subject lacks", "subjects lack")``.
    """
    return f"{n} {singular if n == 1 else plural or singular + 's'}"


def did_you_mean(name: object, known: Sequence[object]) -> str:
    """Return a sentence that suggests known names similar to `name`.

    If no name is similar, the sentence lists the first known names.
    """
    by_lower = {str(other).lower(): other for other in known}
    near = [by_lower[lower] for lower in get_close_matches(str(name).lower(), list(by_lower))]
    if near:
        return f"Did you mean {' or '.join(map(shown, near))}?"
    return f"There {'is only' if len(known) == 1 else 'are'} {listed(known)}."
