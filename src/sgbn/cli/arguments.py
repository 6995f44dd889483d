"""Types of command-line arguments."""

from __future__ import annotations

import argparse
from collections.abc import Callable

CRITERIA = ("bic", "ebic", "cv_error", "cv_likelihood")  # those of sgbn.structure.selection


def at_least(smallest: int) -> Callable[[str], int]:
    """Type of an argument that is a whole number from `smallest` on."""

    def whole_number(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if number < smallest:
            raise argparse.ArgumentTypeError(f"{number} is too small: give {smallest} or more")
        return number

    return whole_number


def alpha(text: str) -> float | str:
    """Type of an argument that is a positive number or the name of a criterion."""
    if text in CRITERIA:
        return text
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        names = ", ".join(CRITERIA)
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a positive number nor one of {names}"
        )
    return number
