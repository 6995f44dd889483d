"""The help texts and options of each command, which are read from ``commands.toml``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from sgbn.cli.help import examples
from sgbn.cli.options import Option, read_option, read_words

_WORDS = read_words("commands.toml")


def add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    run: Callable[[argparse.Namespace], None] | None = None,
) -> argparse.ArgumentParser:
    """Add a command with its help, and return its parser, which has no options yet.

    Parameters
    ----------
    commands : subparsers
        The subcommands of the parser above.
    name : str
        Name of the command, and of its table in the file.
    run : callable, optional
        The function that runs the command; it is called with the arguments. None for a command
        that only has subcommands.
    """
    words: dict[str, Any] = _WORDS[name]
    parser = commands.add_parser(
        name,
        help=words["help"],
        description=words["description"],
        epilog=examples(words["examples"], words.get("then", "")),
    )
    if run is not None:
        parser.set_defaults(run=run, after_interrupt=words["after_interrupt"])
    return parser


def options_of(command: str, section: str = "options") -> list[Option]:
    """Return the options of one command, in the order of its help."""
    return [read_option(**entry) for entry in _WORDS[command][section]]
