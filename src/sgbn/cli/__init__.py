"""The `sgbn` command: one subcommand a file; parse, call the library, print."""

from sgbn.cli.main import main

__all__ = ["main"]
