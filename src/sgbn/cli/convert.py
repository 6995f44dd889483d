"""`sgbn convert` writes a network as a file for another tool."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from sgbn.cli.commands import add_command, options_of
from sgbn.cli.options import add_options
from sgbn.core.exceptions import InputError

if TYPE_CHECKING:
    from sgbn.core.gaussian import NetworkLike
    from sgbn.read.network import NamedGraph

MODEL = ".sgbn"


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `convert` to the subcommands."""
    add_options(add_command(commands, "convert", run), options_of("convert"))


def run(arguments: argparse.Namespace) -> None:
    """Read a network, and write it in another format."""
    from sgbn.write.formats import network_text
    from sgbn.write.tables import write_text

    text = network_text(
        _network(arguments.network, arguments.source),
        arguments.to,
        arguments.directions,
        weights=arguments.weights,
    )
    if arguments.out is None:
        print(text, end="")  # a user may redirect it to a file
    else:
        print(f"Wrote {write_text(arguments.out, text)}.")


def _network(path: Path, source: str | None) -> NamedGraph | NetworkLike:
    """Read the network of a file, which may be a saved model."""
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise InputError(
            f"{str(path)!r} {what}. Give a file, such as networks/GROUP.json of a results folder."
        )
    # --from takes precedence over the ending of the file.
    if source is None and path.suffix == MODEL:
        from sgbn.write.model_files import load
        from sgbn.write.tables import network_of

        saved: NetworkLike = load(path)
        network_of(saved)  # raises InputError for a model that is not a network
        return saved
    from sgbn.write.formats import read_network

    return read_network(path, source)
