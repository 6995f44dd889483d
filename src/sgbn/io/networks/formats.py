"""Networks to and from the files of other tools: one table of formats."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from sgbn.datasets import BenchmarkNetwork
from sgbn.exceptions import InputError, did_you_mean
from sgbn.gaussian import NetworkLike
from sgbn.io.exports.files import PathName, write_text
from sgbn.io.networks.bif_writer import read_bif_text, write_bif
from sgbn.io.networks.bnlearn import (
    read_model_string,
    read_script,
    write_model_string,
    write_script,
)
from sgbn.io.networks.dagitty import read_dagitty, write_dagitty
from sgbn.io.networks.dot import read_dot, write_dot
from sgbn.io.networks.named_graph import NamedGraph, named_graph
from sgbn.io.networks.node_link import node_link_text, read_node_link
from sgbn.io.networks.sem_reader import read_sem
from sgbn.io.networks.sem_writer import write_lavaan, write_semopy
from sgbn.io.networks.tetrad import NODES, read_tetrad, write_tetrad
from sgbn.io.networks.texts import read_text


class Format(NamedTuple):
    """How files of one format are written and read.

    Attributes
    ----------
    write : function
        NamedGraph -> text.
    read : function
        Text -> NamedGraph.
    endings : tuple of str
        Endings of file names that mean this format.
    has_weights_option : bool
        Whether parameters may be free, start at the weights, or be fixed at them.
    """

    write: Callable[..., str]
    read: Callable[[str], NamedGraph]
    endings: tuple[str, ...]
    has_weights_option: bool = False


FORMATS: dict[str, Format] = {
    "bnlearn": Format(write_model_string, read_model_string, (".bnlearn",)),
    "bnlearn-r": Format(write_script, read_script, (".r",)),
    "bif": Format(write_bif, read_bif_text, (".bif", ".bif.gz")),
    "dagitty": Format(write_dagitty, read_dagitty, (".dagitty",)),
    "tetrad": Format(write_tetrad, read_tetrad, (".tetrad",)),
    "lavaan": Format(write_lavaan, read_sem, (".lavaan", ".lav"), has_weights_option=True),
    "semopy": Format(write_semopy, read_sem, (".semopy",), has_weights_option=True),
    "dot": Format(write_dot, read_dot, (".dot", ".gv")),
    "json": Format(node_link_text, read_node_link, (".json",)),
}


def write_network(
    path: PathName,
    network: NetworkLike | NamedGraph | BenchmarkNetwork,
    format: str | None = None,
    *,
    directions: str = "graph",
    supported: ArrayLike | None = None,
    weights: str | None = None,
) -> Path:
    """Write a network as a file of another tool.

    Parameters
    ----------
    path : path
        File to write.
    network : GaussianNetwork, fitted learner, NamedGraph or BenchmarkNetwork
        What `read_network` returns can be written in another format.
    format : str, optional
        By default the ending of the path says it. ``bnlearn`` is the model string of bnlearn,
        ``bnlearn-r`` an R script that makes the fitted network (.R); ``bif``, ``dagitty``,
        ``tetrad``, ``lavaan``, ``semopy``, ``dot``. Weights, intercepts and variances are in
        ``bnlearn-r``, ``dagitty``, ``dot``, and, if asked for, in ``lavaan`` and ``semopy``; the
        others have the graph only. BIF has discrete variables only: its probabilities are
        placeholders.
    directions : {"graph", "supported", "cpdag"}
        "graph" writes all edges as arrows, as they are in the one graph of the network.
        "supported" writes those edges as arrows whose direction is supported, and the others as
        lines; "cpdag" those that every equivalent graph directs the same way. Only ``dagitty``
        (then a pdag), ``tetrad`` and ``dot`` have lines.
    supported : array-like of bool, shape (m, m), optional
        Edges whose direction is supported; by default what the learner or the file says.
    weights : {"free", "start", "fixed"}, optional
        For ``lavaan`` and ``semopy``: whether parameters are free (the default), start at the
        network's numbers, or are fixed at them.

    Returns
    -------
    Path
        The file written. A name that the format cannot express is replaced, and the file says by
        what; `read_network` puts the true names back.

    Examples
    --------
    >>> import sgbn, tempfile
    >>> net = sgbn.GaussianNetwork([[0, 0.8], [0, 0]], names=["left insula", "cuneus"])
    >>> path = sgbn.write_network(tempfile.mkdtemp() + "/net.dagitty", net)
    >>> sgbn.read_network(path).network.edges().tolist()
    [('left insula', 'cuneus', 0.8)]
    """
    name = _format_name(path, format)
    return write_text(path, network_text(network, name, directions, supported, weights))


def network_text(
    network: NetworkLike | NamedGraph | BenchmarkNetwork,
    name: str,
    directions: str = "graph",
    supported: ArrayLike | None = None,
    weights: str | None = None,
) -> str:
    """Text of the file that `write_network` writes, in the format of this name."""
    chosen = FORMATS[name]
    options: dict[str, Any] = {}
    if weights is not None:
        if not chosen.has_weights_option:
            raise InputError(
                f"weights={weights!r} is for lavaan and semopy, and not for {name}. Leave it out."
            )
        options["weights"] = weights
    # `weights` is passed on only if given, since most writers do not take it.
    return chosen.write(named_graph(network, directions, supported), **options)


def read_network(path: PathName, format: str | None = None) -> NamedGraph:
    """Read a network from a file of another tool, or from the node-link JSON that sgbn writes.

    Parameters
    ----------
    path : path
        A text file, which may be gzipped.
    format : str, optional
        See `write_network`; ``json`` is the node-link JSON of a results folder. By default the
        ending of the path says it, or for a ``.txt`` file its first characters.

    Returns
    -------
    NamedGraph
        The graph and the names of its nodes; `network` too, if the file has all weights.

    Raises
    ------
    InputError
        If the text is not of this format (the message names the line), or has a directed cycle.
    """
    text = read_text(Path(path))
    name = _format_name(path, format, text)
    try:
        return FORMATS[name].read(text)
    except InputError as error:  # readers see text, and know no file
        raise InputError(f"{path}: {error}") from None


def _format_name(path: PathName, chosen: str | None, text: str = "") -> str:
    """Name of a format: what was chosen, else what the ending or the text says."""
    if chosen is not None:
        if chosen not in FORMATS:
            raise InputError(
                f"no format is called {chosen!r}. {did_you_mean(chosen, list(FORMATS))}"
            )
        return chosen
    # Endings in any case: R's scripts are .R.
    ending = str(path).lower()
    for name, known in FORMATS.items():
        if ending.endswith(known.endings):
            return name
    # A .txt file may be any of these three, which begin as no other format does.
    start = text.lstrip()
    # When a file is to be written there is no text, and only the ending can tell.
    if start.startswith(NODES):
        return "tetrad"
    if start.startswith("["):
        return "bnlearn"
    if re.match(r"(dag|pdag|mag|pag)\s*\{", start):
        return "dagitty"
    raise InputError(
        f"{str(path)!r}: the ending does not tell the format. Name it (format=, --from): one of "
        f"{', '.join(FORMATS)}. From a results folder, take networks/GROUP.json."
    )
