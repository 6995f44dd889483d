"""The `sgbn` command: its parser, and the exit code after each kind of error."""

from __future__ import annotations

import argparse
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

from sgbn import __version__
from sgbn.cli import (
    check,
    compare,
    convert,
    demo,
    extract,
    predict,
    read_subjects,
    reproduce,
    simulate,
    status,
    warmup,
)
from sgbn.cli.arguments import OptionError, step_of_srun
from sgbn.cli.config import with_config
from sgbn.cli.help import Parser, examples
from sgbn.cli.own_errors import own_error_text
from sgbn.cli.wording import in_options
from sgbn.core.exceptions import InputError, StudyError

# Errors whose message a user understands. Messages of OSError name a file, a disk or a host.
EXPLAINED = (InputError, StudyError, OSError)
# In the order in which the help lists them.
COMMANDS = (
    *(demo, check, compare, predict, convert, extract, read_subjects),
    *(simulate, reproduce, status, warmup),
)
MEMORY = "Use fewer processes (--workers 1), fewer regions, or a machine with more memory."


def parser() -> argparse.ArgumentParser:
    """Return the parser with all subcommands.

    It imports no numerical library, so that --help is fast.
    """
    top = Parser(
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
    for command in COMMANDS:
        command.add_parser(commands)
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
    traced = getattr(chosen, "debug", False)

    try:
        if getattr(chosen, "config", None) is not None:
            begin = words.index(chosen.command) + 1  # options such as --debug may come before it
            chosen = top.parse_args([*words[:begin], *with_config(chosen.parser, words[begin:])])
        with warnings.catch_warnings():  # also restores `showwarning`
            warnings.showwarning = _show_warning
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
    message = in_options(str(error))
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


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning without its line of code, which does not help a user of the command."""
    print(f"warning: {in_options(str(message))}", file=sys.stderr)
