"""The `sgbn` command: each subcommand parses its words, calls the library, and prints.

In: the words of a command line. Out: what is printed, files, and an exit code. Start reading at
``main.py``; ``options.py`` makes parsers from ``commands.toml`` and ``options.toml``.
"""

from sgbn.cli.main import main

__all__ = ["main"]
