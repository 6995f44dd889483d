"""The `sgbn` command: its parser, and the exit code after each kind of error.

`main` runs a command. `own_error_text` is the message for an error in sgbn, not in the data.
"""

from __future__ import annotations

import argparse
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sgbn import __version__
from sgbn.cli.compare import add_compare, add_demo
from sgbn.cli.data import add_check, add_simulate
from sgbn.cli.extract import add_extract
from sgbn.cli.options import OptionError, Parser, examples, option_names, step_of_srun, with_config
from sgbn.cli.other import add_convert, add_reproduce, add_status, add_warmup
from sgbn.cli.predict import add_predict
from sgbn.cli.read_subjects import add_read_subjects
from sgbn.core.problems import (
    PEOPLE,
    InputError,
    StudyError,
    names_people,
    problem_of,
    speaking,
)

# Errors whose message a user understands. Messages of OSError name a file, a disk or a host.
EXPLAINED = (InputError, StudyError, OSError)
# In the order in which the help lists them.
COMMANDS = (
    *(add_demo, add_check, add_compare, add_predict, add_convert, add_extract, add_read_subjects),
    *(add_simulate, add_reproduce, add_status, add_warmup),
)
MEMORY = "Use fewer processes (--workers 1), fewer regions, or a machine with more memory."


def parser() -> argparse.ArgumentParser:
    """Return the parser with all subcommands.

    It imports no numerical library, so that --help is fast.
    """
    top: argparse.ArgumentParser = Parser(
        prog="sgbn",
        description="One directed network per group from continuous data.",
        epilog=examples(
            {
                "sgbn demo": "a comparison of simulated groups, shown beside the truth",
                "sgbn check table.csv --group diagnosis": "what is in your table",
                "sgbn compare table.csv --group diagnosis --out results --quick": "a first look",
            },
            "Each command has its own --help.",
        ),
    )
    top.add_argument("--version", action="version", version=f"sgbn {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for add in COMMANDS:
        add(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words of the command line after `sgbn`. By default they come from `sys.argv`.

    Returns
    -------
    int
        0 after success, 1 after an error that the message explains, 2 after a wrong option, 3 after
        an error in sgbn itself, 130 after Ctrl-C.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    top = parser()
    chosen = top.parse_args(words)
    # Without --debug the attribute is absent, because `Parser` suppresses its default.
    traced, named = getattr(chosen, "debug", False), getattr(chosen, "names", False)
    shown: set[str] = set()
    withheld: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        """Print a warning once, without its line of code, which does not help a user."""
        text = str(message)
        if text not in shown:
            print(f"warning: {text}", file=sys.stderr)
        shown.add(text)
        withheld.update(front.withheld)

    with speaking(options=option_names(chosen.parser), people=named) as front:
        code = _run(top, chosen, words, show, traced=traced)
    if (front.withheld | withheld).intersection(PEOPLE):
        print("Messages do not name subjects. Add --names to see the names.", file=sys.stderr)
    return code


def _run(
    top: argparse.ArgumentParser,
    chosen: argparse.Namespace,
    words: list[str],
    show: Callable[..., None],
    *,
    traced: bool,
) -> int:
    """Run the chosen command, and return its exit code."""
    try:
        if getattr(chosen, "config", None) is not None:
            begin = words.index(chosen.command) + 1  # options such as --debug may come before it
            chosen = top.parse_args([*words[:begin], *with_config(chosen.parser, words[begin:])])
        with warnings.catch_warnings():  # also restores `showwarning`
            warnings.showwarning = show
            with step_of_srun(chosen):
                chosen.run(chosen)
    except KeyboardInterrupt:
        print(f"sgbn {chosen.command}: stopped. {chosen.after_interrupt}", file=sys.stderr)
        return 130  # 128 plus 2, the number of SIGINT, as in shells
    # argparse raises SystemExit for a wrong value in a config. It is not an Exception and passes.
    except Exception as error:
        if traced:
            traceback.print_exception(error)
        return _explain(chosen.command, error, traced=traced)
    return 0


def _explain(command: str, error: Exception, *, traced: bool) -> int:
    """Print the message of an error for a user, and return the exit code."""
    message = str(problem_of(error))
    # First, because an OptionError is also an InputError.
    if isinstance(error, OptionError):
        print(f"sgbn {command}: {message} All options: sgbn {command} --help", file=sys.stderr)
        return 2
    if isinstance(error, EXPLAINED):
        print(f"sgbn {command}: {message}", file=sys.stderr)
        return 1
    if isinstance(error, MemoryError):
        reason = f" ({error})" if str(error) else ""
        print(f"sgbn {command}: there is too little memory{reason}. {MEMORY}", file=sys.stderr)
        return 1
    print(own_error_text(command, error, traced=traced), file=sys.stderr)
    return 3


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
            f"{type(error).__name__}{f': {error}' if names_people() else ''}",
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
