"""Write and read networks as dot files of Graphviz, with weights, intercepts and variances.

Graphviz draws the file, and ignores attributes that it does not know. The weight of an edge is the
attribute ``coef``, because in Graphviz ``weight`` means something else and must not be negative. An
edge without a direction has ``dir=none``, and is drawn as a line.
"""

from __future__ import annotations

from sgbn.core.exceptions import InputError
from sgbn.read.network import (
    INTERCEPT,
    VARIANCE,
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
    name_comments,
    parse_graph_text,
    quoted,
    safe_names,
    with_true_names,
)

COEF = "coef"


def write_dot(content: NamedGraph) -> str:
    """Return a graph in the dot language."""
    names = safe_names(content.names, QUOTABLE)
    weights, network = weights_of(content), content.network
    rows = []
    for k, name in enumerate(content.names):
        numbers = {}
        if network is not None:
            numbers = {INTERCEPT: network.intercept[k], VARIANCE: network.noise_variance[k]}
        about = [f'{key}="{number_text(value)}"' for key, value in numbers.items()]
        rows.append(f"  {quoted(names[name])}{_attributes(about)};")
    # A line is written as -> too, because a digraph of Graphviz has no other kind of edge.
    for edges, shape in zip(edges_and_lines(content), ([], ["dir=none"]), strict=True):
        for source, target in edges:
            weight = weights.get((source, target))
            about = shape + ([] if weight is None else [f'{COEF}="{number_text(weight)}"'])
            rows.append(
                f"  {quoted(names[source])} -> {quoted(names[target])}{_attributes(about)};"
            )
    return "\n".join([*name_comments(names, "//"), "digraph {", *rows, "}"]) + "\n"


def _attributes(about: list[str]) -> str:
    return f" [{', '.join(about)}]" if about else ""


def read_dot(text: str) -> NamedGraph:
    """Return the graph of a dot file. It has a network if all weights and variances are there."""
    parsed = parse_graph_text(text, ("digraph", "graph"))
    builder = GraphBuilder()
    defaults: dict[str, str] = {}
    for statement in parsed.statements:
        if statement.is_default:  # only the defaults of edges are needed
            # Graphviz does not distinguish upper and lower case in its keywords.
            if statement.names[0].lower() == "edge":
                defaults |= statement.attributes
        elif statement.operator:
            # An attribute of the edge itself replaces a default.
            _add_edge(statement, defaults | statement.attributes, parsed.kind, builder)
        else:
            (name,) = statement.names
            builder.describe_node(name, statement.attributes, statement.line)
    return with_true_names(builder.graph(), text)


def _add_edge(
    statement: Statement, about: dict[str, str], kind: str, builder: GraphBuilder
) -> None:
    line = statement.line
    expected = "->" if kind == "digraph" else "--"
    if statement.operator != expected:
        raise InputError(
            f"line {line}: the edges of a {kind} are written {expected}, not "
            f"{statement.operator}. Correct the line."
        )
    source, target = statement.names
    # The defaults of Graphviz.
    way = about.get("dir", "forward" if kind == "digraph" else "none")
    if way == "back":
        source, target, way = target, source, "forward"
    if way not in ("forward", "none"):
        raise InputError(
            f"line {line}: an edge with dir={way[:20]} is neither an arrow nor a line. Give it a "
            "direction, or dir=none."
        )
    weight = number_of(about[COEF], line) if COEF in about else None
    builder.add_edge(source, target, line, weight, arrow=way == "forward")
