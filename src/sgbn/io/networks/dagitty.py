"""Write and read graphs for DAGitty (the web page, and the R package of this name).

``dag { a -> b }`` has arrows only. ``pdag { a -- b }`` may also have edges without a direction. In
DAGitty, for example in its ``simulateSEM``, ``beta`` is the standardised weight of an edge. DAGitty
ignores the other attributes that sgbn writes: ``coef`` (the weight in the units of the data),
``intercept`` and ``noise_variance``. DAGitty has no comments. So if a node had to be renamed, its
attribute ``sgbn_name`` holds its true name, quoted as in a web address (``%20`` for a blank).
"""

from __future__ import annotations

from urllib.parse import quote, unquote

import numpy as np

from sgbn.core.exceptions import InputError
from sgbn.io.exports.network_tables import standardised_or_nan
from sgbn.read.network import (
    INTERCEPT,
    VARIANCE,
    Edge,
    GraphBuilder,
    NamedGraph,
    edges_and_lines,
    number_of,
    number_text,
    weights_of,
)
from sgbn.read.program_texts import (
    QUOTABLE,
    Statement,
    parse_graph_text,
    quoted,
    renamed,
    safe_names,
)

BETA, COEF = "beta", "coef"
NAME = "sgbn_name"
TAKEN = ("graph", "node", "edge")  # DAGitty would read a node of this name as an attribute


def write_dagitty(content: NamedGraph) -> str:
    """Return a graph in the language of DAGitty: a dag, or a pdag if there are lines."""
    names = safe_names(content.names, QUOTABLE, reserved=TAKEN)
    arrows, lines = edges_and_lines(content)
    # All nodes are written before the edges, to keep their order.
    rows = [_node(content, k, names[name]) for k, name in enumerate(content.names)]
    weights, betas = weights_of(content), _betas(content)
    for source, target in arrows:
        about = {}
        if (source, target) in betas:
            about[BETA] = betas[source, target]
        if weights:
            about[COEF] = weights[source, target]
        rows.append(f"{quoted(names[source])} -> {quoted(names[target])}{_attributes(about)}")
    # A line gets no weight, because a weight belongs to a direction.
    rows += [f"{quoted(names[source])} -- {quoted(names[target])}" for source, target in lines]
    return "\n".join([f"{'pdag' if lines else 'dag'} {{", *rows, "}"]) + "\n"


def _node(content: NamedGraph, k: int, safe: str) -> str:
    network, name = content.network, content.names[k]
    about: dict[str, float | str] = {}
    if safe != name:
        # A name may hold half of a surrogate pair. Without surrogatepass UTF-8 refuses it.
        about[NAME] = quote(name.encode("utf-8", "surrogatepass"), safe="")
    if network is not None:
        about |= {INTERCEPT: network.intercept[k], VARIANCE: network.noise_variance[k]}
    return quoted(safe) + _attributes(about)


def _attributes(about: dict[str, float | str] | dict[str, float]) -> str:
    cells = [
        f'{key}="{value if isinstance(value, str) else number_text(value)}"'
        for key, value in about.items()
    ]
    return f" [{','.join(cells)}]" if cells else ""


def _betas(content: NamedGraph) -> dict[Edge, float]:
    """Return the standardised weights of the edges whose two ends vary."""
    if content.network is None:
        return {}
    weights, names = standardised_or_nan(content.network), content.names
    known = np.argwhere((content.network.coef != 0) & np.isfinite(weights))
    return {(names[i], names[j]): float(weights[i, j]) for i, j in known}


def read_dagitty(text: str) -> NamedGraph:
    """Return the graph that a text in the language of DAGitty describes.

    An edge ``<->`` is refused, because it stands for a latent variable that is not a node. An edge
    of a mag or pag with an unknown end is refused too.
    """
    parsed = parse_graph_text(text, ("dag", "pdag", "digraph", "graph"))
    builder = GraphBuilder()
    replaced: dict[str, str] = {}
    for statement in parsed.statements:
        if statement.operator:
            _add_edge(statement, builder)
        else:
            _add_node(statement, builder, replaced)
    return renamed(builder.graph(), replaced)


def _add_node(statement: Statement, builder: GraphBuilder, replaced: dict[str, str]) -> None:
    (name,), about = statement.names, statement.attributes
    builder.describe_node(name, about, statement.line)
    if NAME in about:
        replaced[name] = unquote(about[NAME], errors="surrogatepass")


def _add_edge(statement: Statement, builder: GraphBuilder) -> None:
    source, target = statement.names
    operator, line = statement.operator, statement.line
    if operator == "<-":
        # Reversed here, so that the code below has to handle one kind of arrow only.
        source, target, operator = target, source, "->"
    if operator not in ("->", "--"):
        raise InputError(
            f"line {line}: {source} {operator} {target} is neither an arrow (->) nor a line (--). "
            "A network cannot have an edge with a hidden cause or with an unknown end. Remove the "
            "edge, or make the hidden cause a node."
        )
    about = statement.attributes
    # beta is not read, because a network has its weights in the units of the data.
    weight = number_of(about[COEF], line) if COEF in about else None
    builder.add_edge(source, target, line, weight, arrow=operator == "->")
