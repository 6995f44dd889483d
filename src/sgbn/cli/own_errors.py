"""The message for an unexpected error, which is an error in sgbn and not in the data."""

from __future__ import annotations

import traceback
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def own_error_text(command: str, error: Exception, *, traced: bool) -> str:
    """Return a message for an error in sgbn: where it is, which versions ran, and what to do.

    Parameters
    ----------
    command : str
        Name of the command, such as "compare".
    error : Exception
        The error. Its notes say what sgbn was doing.
    traced : bool
        Whether the traceback was printed, because of ``--debug``.
    """
    from sgbn.runs.files import versions

    numbers = ", ".join(f"{name} {number}" for name, number in versions().items())
    show = "Run the same command again with --debug, which shows the traceback. Report it"
    report = "Report everything above" if traced else show
    return "\n".join(
        [
            f"sgbn {command}: this is an error in sgbn, not in your data: "
            f"{type(error).__name__}: {error}",
            *(f"  {note}" for note in getattr(error, "__notes__", ())),
            f"  in {_place(error)}",
            f"  with {numbers}",
            f"{report} and these lines to the maintainers of sgbn. Read the text before you send "
            "it: it may contain names of files, columns and subjects.",
        ]
    )


def _place(error: Exception) -> str:
    """Return the last file and line of sgbn in the traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    # The last frame may be in numpy, but the line of sgbn that called it is more useful.
    in_package = [frame for frame in frames if Path(frame.filename).is_relative_to(PACKAGE)]
    if not in_package:
        return "no file of sgbn"
    path = Path(in_package[-1].filename).relative_to(PACKAGE.parent)
    return f"{path.as_posix()}, line {in_package[-1].lineno}"  # slashes on all systems
