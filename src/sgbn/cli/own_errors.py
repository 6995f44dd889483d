"""Message for an unexpected error: it is an error of sgbn, not of the data."""

from __future__ import annotations

import traceback
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def own_error_text(command: str, error: Exception, *, traced: bool) -> str:
    """Say that an error is one of sgbn, where it arose, with which versions, and what to do.

    Parameters
    ----------
    command : str
        Such as "compare".
    error : Exception
        Its notes say what was being done.
    traced : bool
        Whether the traceback was shown, by ``--debug``.
    """
    from sgbn.runs import versions

    numbers = ", ".join(f"{name} {number}" for name, number in versions().items())
    show = "Run the same command again with --debug, which shows the traceback, and report that"
    report = "Report all that stands above" if traced else show
    return "\n".join(
        [
            f"sgbn {command}: this is an error of sgbn, not of your data: "
            f"{type(error).__name__}: {error}",
            *(f"  {note}" for note in getattr(error, "__notes__", ())),
            f"  in {_place(error)}",
            f"  with {numbers}",
            f"{report} and these lines to those who maintain sgbn. Names of files, columns and "
            "subjects may be in it: read it first.",
        ]
    )


def _place(error: Exception) -> str:
    """Find the last file and line of sgbn in the traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    # The last frame may be numpy's; the line of sgbn that called it is what helps.
    in_package = [frame for frame in frames if Path(frame.filename).is_relative_to(PACKAGE)]
    if not in_package:
        return "no file of sgbn"
    path = Path(in_package[-1].filename).relative_to(PACKAGE.parent)
    return f"{path.as_posix()}, line {in_package[-1].lineno}"  # the same on all systems
