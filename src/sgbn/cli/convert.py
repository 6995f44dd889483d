"""`sgbn convert`: a network as a file of another tool."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from sgbn.cli.help import examples
from sgbn.exceptions import InputError

if TYPE_CHECKING:
    from sgbn.gaussian import NetworkLike
    from sgbn.io.networks import NamedGraph

# Said again, so that --help imports no numerical library.
TO = ("bnlearn", "bnlearn-r", "bif", "dagitty", "tetrad", "lavaan", "semopy", "dot")
MODEL = ".sgbn"


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `convert` to the subcommands."""
    parser = commands.add_parser(
        "convert",
        help="write a network as a file of bnlearn, DAGitty, Tetrad, lavaan, ...",
        description="Reads a network, such as networks/GROUP.json of a results folder or a file of "
        "one of these tools, and writes it in the format of another. Names that a format cannot "
        "express are replaced, and the file says by what.",
        epilog=examples(
            {
                "sgbn convert results/networks/CTR.json --to dagitty --out ctr.dagitty": "all "
                "edges as arrows of a dag",
                "sgbn convert results/networks/CTR.json --to tetrad --directions supported": "only "
                "supported directions as arrows, the others as lines; printed",
                "sgbn convert asia.bif --to lavaan": "a structural equation model of a graph",
            }
        ),
    )
    parser.add_argument(
        "network",
        type=Path,
        metavar="NETWORK",
        help="file to read: networks/GROUP.json of a results folder, a network of sgbn.save "
        "(.sgbn), or a file of a tool",
    )
    parser.add_argument(
        "--from", dest="source", choices=(*TO, "json"), help="format of NETWORK (by its ending)"
    )
    parser.add_argument("--to", required=True, choices=TO, help="format to write")
    parser.add_argument("--out", type=Path, metavar="FILE", help="file to write (printed)")
    parser.add_argument(
        "--directions",
        choices=("graph", "supported", "cpdag"),
        default="graph",
        help="arrows: all edges (graph), those whose direction is supported, or those that all "
        "equivalent graphs share (cpdag); the others become lines, which dagitty, tetrad and dot "
        "have (graph)",
    )
    parser.add_argument(
        "--weights",
        choices=("free", "start", "fixed"),
        help="parameters of lavaan and semopy: free, start at the weights, or fixed at them (free)",
    )
    parser.set_defaults(run=run, after_interrupt="Start the same command again.")


def run(arguments: argparse.Namespace) -> None:
    """Read, write, say where."""
    from sgbn.io.exports.files import write_text
    from sgbn.io.networks.formats import network_text

    text = network_text(
        _network(arguments.network, arguments.source),
        arguments.to,
        arguments.directions,
        weights=arguments.weights,
    )
    if arguments.out is None:
        print(text, end="")  # redirected, it is the file of --out
    else:
        print(f"Wrote {write_text(arguments.out, text)}.")


def _network(path: Path, source: str | None) -> NamedGraph | NetworkLike:
    """Read the network of a file, which may be a saved model."""
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "is not there"
        raise InputError(
            f"{str(path)!r} {what}. Give a file, such as networks/GROUP.json of a results folder."
        )
    # --from goes before the ending of the file.
    if source is None and path.suffix == MODEL:
        from sgbn.io.exports.network_tables import network_of
        from sgbn.io.models import load

        saved: NetworkLike = load(path)
        network_of(saved)  # raises InputError for a model that is no network
        return saved
    from sgbn.io.networks import read_network

    return read_network(path, source)
