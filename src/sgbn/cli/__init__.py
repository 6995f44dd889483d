"""The `sgbn` command. Each subcommand has one file, which parses, calls the library and prints."""

from sgbn.cli.main import main

__all__ = ["main"]
