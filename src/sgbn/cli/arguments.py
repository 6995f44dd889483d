"""Types of command-line arguments, and the folder that a command writes to."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from sgbn.exceptions import InputError


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


def make_folder(path: Path) -> Path:
    """Make the folder of ``--out`` and see that files can be written to it, before any work."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        file = next((one for one in (path, *path.parents) if os.path.isfile(one)), None)
        reason = (error.strerror or str(error)).lower()
        if file is not None:
            reason = "it is a file" if file == path else f"{file} is a file"
        raise InputError(
            f"cannot write to {path}: {reason}. Give another folder (--out)."
        ) from error
    return path
