"""The `sgbn` command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from sgbn import __version__
from sgbn.cli import demo, reproduce


def parser() -> argparse.ArgumentParser:
    """Parser with all subcommands. It imports no numerical library, so that --help is quick."""
    top = argparse.ArgumentParser(
        prog="sgbn",
        description="One directed network per group from continuous data.",
        epilog="Start with `sgbn demo`. Each command has its own --help.",
    )
    top.add_argument("--version", action="version", version=f"sgbn {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in (demo, reproduce):
        command.add_parser(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns 0, or 1 after an error that the message explains."""
    chosen = parser().parse_args(arguments)
    try:
        chosen.run(chosen)
    except (ValueError, OSError, RuntimeError) as error:
        print(f"sgbn {chosen.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"sgbn {chosen.command}: stopped. {chosen.after_interrupt}", file=sys.stderr)
        return 130
    return 0
