"""The `sgbn` command line."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from sgbn import __version__
from sgbn.cli import check, compare, demo, extract, predict, reproduce, simulate, status
from sgbn.cli.arguments import OptionError
from sgbn.cli.config import with_config
from sgbn.cli.help import Parser, examples


def parser() -> argparse.ArgumentParser:
    """Parser with all subcommands. It imports no numerical library, so that --help is quick."""
    top = Parser(
        prog="sgbn",
        description="One directed network per group from continuous data.",
        epilog=examples(
            {
                "sgbn demo": "the whole job on a simulated cohort, beside the truth",
                "sgbn check table.csv --group diagnosis": "what is in a table of yours",
                "sgbn compare table.csv --group diagnosis --out results --quick": "a first look",
            },
            "Each command has its own --help.",
        ),
    )
    top.add_argument("--version", action="version", version=f"sgbn {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in (demo, check, compare, predict, extract, simulate, reproduce, status):
        command.add_parser(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns 0, 1 after an error that is explained, 2 after a wrong option."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    top = parser()
    chosen = top.parse_args(words)

    try:
        if getattr(chosen, "config", None) is not None:
            chosen = top.parse_args([words[0], *with_config(chosen.parser, words[1:])])
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            chosen.run(chosen)
    except OptionError as error:
        print(
            f"sgbn {chosen.command}: {error} All options: sgbn {chosen.command} --help",
            file=sys.stderr,
        )
        return 2
    except (ValueError, OSError, RuntimeError) as error:
        print(f"sgbn {chosen.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"sgbn {chosen.command}: stopped. {chosen.after_interrupt}", file=sys.stderr)
        return 130
    return 0


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning without the line of code, of which a user here has no use."""
    print(f"warning: {message}", file=sys.stderr)
