"""Types of command-line arguments."""

from __future__ import annotations

import argparse
from collections.abc import Callable


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


def number_from(smallest: float) -> Callable[[str], float]:
    """Type of an argument that is a finite number from `smallest` on."""

    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
        if not smallest <= value < float("inf"):
            raise argparse.ArgumentTypeError(f"{text} is not a number from {smallest:g} on")
        return value

    return number
