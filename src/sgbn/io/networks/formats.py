"""Write and read networks in the formats of other tools. `FORMATS` lists these formats."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from sgbn.cohort.simulate import BenchmarkNetwork
from sgbn.core.exceptions import InputError, did_you_mean
from sgbn.core.gaussian import NetworkLike
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
from sgbn.io.networks.named_graph import named_graph
from sgbn.io.networks.node_link import node_link_text, read_node_link
from sgbn.io.networks.sem_writer import write_lavaan, write_semopy
from sgbn.io.networks.tetrad import NODES, read_tetrad, write_tetrad
from sgbn.read.network import NamedGraph, read_text
from sgbn.read.program_texts import read_sem


class Format(NamedTuple):
    """How files of one format are written and read.

    Attributes
    ----------
    write : function
        Function that makes the text of a file from a `NamedGraph`.
    read : function
        Function that makes a `NamedGraph` from the text of a file.
    endings : tuple of str
        Endings of the names of such files.
    has_weights_option : bool
        Whether `write` has the option `weights`, which says whether parameters are free, start at
        the weights, or are fixed at them.
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
        Network to write. The result of `read_network` can be written in another format.
    format : str, optional
        Name of the format: ``bnlearn`` (the model string of bnlearn), ``bnlearn-r`` (an R script
        that makes the fitted network), ``bif``, ``dagitty``, ``tetrad``, ``lavaan``, ``semopy``,
        ``dot`` or ``json`` (node-link JSON). By default the ending of the path gives the format.
        ``bnlearn-r``, ``dagitty``, ``dot`` and ``json`` hold weights, intercepts and variances.
        ``lavaan`` and ``semopy`` hold them if `weights` asks for them. The other formats hold the
        graph only. BIF has discrete variables only, so its probabilities are placeholders.
    directions : {"graph", "supported", "cpdag"}
        Which edges are arrows. "graph" writes all edges as arrows, as they are in the graph of the
        network. "supported" writes an edge as an arrow if its direction is supported. "cpdag"
        writes an edge as an arrow if it has the same direction in all equivalent graphs. The other
        edges are lines. Only ``dagitty`` (then a pdag), ``tetrad`` and ``dot`` have lines.
    supported : array-like of bool, shape (m, m), optional
        Edges whose direction is supported, for m variables. By default they are taken from the
        learner or from the file that was read.
    weights : {"free", "start", "fixed"}, optional
        For ``lavaan`` and ``semopy``: whether parameters are free (the default), start at the
        numbers of the network, or are fixed at them.

    Returns
    -------
    Path
        Path of the file. A name that the format cannot express is replaced. The file holds the
        true name, which `read_network` restores.

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
    """Return the text of the file that `write_network` writes, in the format of this name."""
    chosen = FORMATS[name]
    options: dict[str, Any] = {}
    if weights is not None:
        if not chosen.has_weights_option:
            raise InputError(
                f"weights={weights!r} is for lavaan and semopy, not for {name}. Leave it out."
            )
        options["weights"] = weights
    return chosen.write(named_graph(network, directions, supported), **options)


def read_network(path: PathName, format: str | None = None) -> NamedGraph:
    """Read a network from a file of another tool, or from the node-link JSON that sgbn writes.

    Parameters
    ----------
    path : path
        A text file, which may be gzipped.
    format : str, optional
        Name of the format, see `write_network`. ``json`` is also the format of the networks in a
        results folder. By default the ending of the path gives the format. If the ending is of no
        format, such as ``.txt``, the beginning of the text shows whether it is ``tetrad``,
        ``bnlearn`` or ``dagitty``.

    Returns
    -------
    NamedGraph
        The graph and the names of its nodes. It has a network if the file has all weights and
        variances.

    Raises
    ------
    InputError
        If there is no such file, if its text is not of this format (the message names the line),
        or if the graph has a directed cycle.
    """
    text = read_text(Path(path))
    name = _format_name(path, format, text)
    try:
        return FORMATS[name].read(text)
    except InputError as error:  # a reader gets only the text, so its message lacks the file
        raise InputError(f"{path}: {error}") from None


def _format_name(path: PathName, chosen: str | None, text: str = "") -> str:
    """Return `chosen`. If it is None, return the format that fits the ending or the text."""
    if chosen is not None:
        if chosen not in FORMATS:
            raise InputError(
                f"no format is called {chosen!r}. {did_you_mean(chosen, list(FORMATS))}"
            )
        return chosen
    # Upper and lower case are not distinguished, because scripts of R end in .R.
    ending = str(path).lower()
    for name, known in FORMATS.items():
        if ending.endswith(known.endings):
            return name
    # A file with another ending may be of one of these three formats, which have a typical
    # beginning. If a file is to be written, there is no text yet.
    start = text.lstrip()
    if start.startswith(NODES):
        return "tetrad"
    if start.startswith("["):
        return "bnlearn"
    if re.match(r"(dag|pdag|mag|pag)\s*\{", start):
        return "dagitty"
    raise InputError(
        f"{str(path)!r}: the ending does not tell the format. Give the format (format=, --from) as "
        f"one of {', '.join(FORMATS)}. From a results folder, give networks/GROUP.json."
    )
