"""Write and read graphs as text files of Tetrad ("Save Graph as Text"), which hold no weights.

All nodes are in one line. The edges are numbered: ``-->`` is an arrow, and ``---`` is a line, an
edge without a direction::

    Graph Nodes:
    a;b;c

    Graph Edges:
    1. a --> b
    2. b --- c
"""

from __future__ import annotations

import re

from sgbn.core.exceptions import InputError
from sgbn.read.network import GraphBuilder, NamedGraph, edges_and_lines
from sgbn.read.program_texts import name_comments, safe_names, with_true_names

NODES, EDGES = "Graph Nodes:", "Graph Edges:"

# White space ends a name in an edge, and ";" or "," ends it in the list of nodes. Brackets mark a
# latent variable.
_PLAIN = re.compile(r"(?!\#)[^\s;,()\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_EDGE = re.compile(
    r"\d+\.\s+(\S+)\s+(\S+)\s+(\S+)(?:\s.*)?"
)  # other text, such as colours, may follow


def write_tetrad(content: NamedGraph) -> str:
    """Return a graph as text of Tetrad. Comments are at the end, which Tetrad does not read."""
    names = safe_names(content.names, _PLAIN)
    arrows, lines = edges_and_lines(content)
    marked = [(edge, "-->") for edge in arrows] + [(edge, "---") for edge in lines]
    rows = [
        f"{number}. {names[source]} {mark} {names[target]}"
        for number, ((source, target), mark) in enumerate(marked, start=1)
    ]
    nodes = ";".join(names[name] for name in content.names)
    parts = [NODES, nodes, "", EDGES, *rows, "", *name_comments(names)]
    return "\n".join(parts) + "\n"


def read_tetrad(text: str) -> NamedGraph:
    """Return the graph of a text file of Tetrad.

    An edge with a hidden common cause (``<->``) or with an unknown end (``o->``) is refused,
    because a DAG does not have such edges.
    """
    builder = GraphBuilder()
    declared: set[str] = set()
    part = ""
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip()
        if line in (NODES, EDGES):
            part = line
        elif not line:
            # An empty line ends a section, but it may also be between the title and the nodes.
            part = "" if part == EDGES or declared else part
        elif part == NODES:
            declared |= _read_nodes(line, number, builder)
        elif part == EDGES:
            _read_edge(line, number, declared, builder)
        elif not declared:
            raise InputError(
                f"line {number}: expected '{NODES}', not {line[:40]!r}. Give a file of Tetrad."
            )
    return with_true_names(builder.graph(), text)


def _read_nodes(line: str, number: int, builder: GraphBuilder) -> set[str]:
    names: set[str] = set()
    for name in map(str.strip, re.split("[;,]", line)):
        if not name or name in names:
            raise InputError(f"line {number}: the node {name!r} is empty or repeated. Correct it.")
        builder.add_node(name)
        names.add(name)
    return names


def _read_edge(line: str, number: int, declared: set[str], builder: GraphBuilder) -> None:
    edge = _EDGE.fullmatch(line)
    if edge is None:
        raise InputError(f"line {number}: write an edge as '1. a --> b', not as {line[:40]!r}.")
    first, mark, second = edge[1], edge[2], edge[3]
    # A name that is only in an edge is a typing error, because Tetrad lists all nodes.
    for name in (first, second):
        if name not in declared:
            raise InputError(
                f"line {number}: {name!r} is not among the nodes of the file. Correct the name."
            )
    if mark == "<--":
        first, mark, second = second, "-->", first
    if mark not in ("-->", "---"):
        raise InputError(
            f"line {number}: {first} {mark[:9]} {second} is neither an arrow (-->) nor a line "
            "(---). A network cannot have an edge with a hidden cause or with an unknown end. "
            "Remove the edge, or make it an arrow or a line."
        )
    builder.add_edge(first, second, number, arrow=mark == "-->")
