"""The layout of help pages: text in paragraphs, and examples in lines that can be copied."""

from __future__ import annotations

import argparse
import textwrap
from typing import Any, NoReturn

from sgbn.core.exceptions import did_you_mean

INDENT = "  "


def examples(commands: dict[str, str], then: str = "") -> str:
    """Return the text at the end of a help page.

    Parameters
    ----------
    commands : dict
        Command -> what it does, in a few words.
    then : str
        Text after the examples; "" for none.
    """
    lines = [f"{INDENT}{command}\n{INDENT * 3}{what}" for command, what in commands.items()]
    return "\n".join(["examples:", *lines, *(["", then] if then else [])])


class Formatter(argparse.HelpFormatter):
    """Formatter that wraps paragraphs and leaves indented lines as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        # argparse would join all lines to one paragraph.
        return "\n".join(
            line if line.startswith(INDENT) else textwrap.fill(line, width, initial_indent=indent)
            for line in text.splitlines()
        )


class Parser(argparse.ArgumentParser):
    """Parser of a command. argparse uses the same class for its subcommands."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=Formatter, **options)
        self.add_argument(
            "--debug",
            action="store_true",
            # Without a default, the parser of a subcommand does not reset an earlier --debug.
            default=argparse.SUPPRESS,
            help="show the traceback of an error",
        )

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse the words, and report an unknown option with options of similar names."""
        parsed, rest = super().parse_known_args(args, namespace)
        # argparse would report them for the main command, which does not have these options.
        unknown = [word.split("=")[0] for word in rest if word.startswith("--")]
        if unknown:
            known = [name for name in self._option_string_actions if name.startswith("--")]
            self.error(f"there is no option {unknown[0]}. {did_you_mean(unknown[0], known)}")
        return parsed, rest

    def error(self, message: str) -> NoReturn:
        """Print a message of one line and exit; the usage of a command would fill a screen."""
        # Messages of sgbn end with a full stop, and messages of argparse do not.
        end = "" if message.endswith(("?", ".")) else "."
        self.exit(2, f"{self.prog}: {message}{end} All options: {self.prog} --help\n")
