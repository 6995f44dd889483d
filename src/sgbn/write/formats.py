"""Write and read networks in the formats of other tools. `FORMATS` lists these formats.

Write and read networks for the R package bnlearn: a model string, or a script with weights.

A model string such as ``[a][b][c|a:b]`` names each node with its parents. ``model2network`` reads
it. The files that bnlearn writes for other programs (BIF, DSC, NET) hold discrete networks only.
Therefore the weights are in an R script, which makes a Gaussian network by ``custom.fit``.

Write and read graphs for DAGitty (the web page, and the R package of this name).

``dag { a -> b }`` has arrows only. ``pdag { a -- b }`` may also have edges without a direction. In
DAGitty, for example in its ``simulateSEM``, ``beta`` is the standardised weight of an edge. DAGitty
ignores the other attributes that sgbn writes: ``coef`` (the weight in the units of the data),
``intercept`` and ``noise_variance``. DAGitty has no comments. So if a node had to be renamed, its
attribute ``sgbn_name`` holds its true name, quoted as in a web address (``%20`` for a blank).

Write and read networks as dot files of Graphviz, with weights, intercepts and variances.

Graphviz draws the file, and ignores attributes that it does not know. The weight of an edge is the
attribute ``coef``, because in Graphviz ``weight`` means something else and must not be negative. An
edge without a direction has ``dir=none``, and is drawn as a line.

Write networks as structural equation models, in the syntax of lavaan (R) and semopy (Python).

The model of a graph has one regression per node with parents, and one variance and one intercept
per node. It has no covariances. Its parameters are free (a confirmatory model of the graph), start
at the weights of the network, or are fixed at them.

Write and read graphs as text files of Tetrad ("Save Graph as Text"), which hold no weights.

All nodes are in one line. The edges are numbered: ``-->`` is an arrow, and ``---`` is a line, an
edge without a direction::

    Graph Nodes:
    a;b;c

    Graph Edges:
    1. a --> b
    2. b --- c

Write graphs as BIF files, which bnlearn (`read.bif`) and pgmpy (`BIFReader`) read.

BIF has discrete variables only, so it cannot hold the weights of a Gaussian network. The file holds
the graph. Each variable has two states. All probabilities are the same, and mean nothing.

Write and read networks as node-link JSON, which sgbn also writes to each results folder.

Convert networks to models of pgmpy, and back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard
from urllib.parse import quote, unquote

import numpy as np
from numpy.typing import ArrayLike

from sgbn.cohort.simulate import BenchmarkNetwork
from sgbn.core.equivalence import cpdag
from sgbn.core.gaussian import GaussianNetwork, NetworkLike
from sgbn.core.graph import check_distinct
from sgbn.core.problems import InputError, did_you_mean
from sgbn.core.types import Mask
from sgbn.core.validation import OneOf
from sgbn.learn.confidence import drawn_graph
from sgbn.read.network import (
    INTERCEPT,
    NUMBER,
    VARIANCE,
    Edge,
    GraphBuilder,
    NamedGraph,
    check_acyclic,
    check_dag,
    edges_and_lines,
    in_file,
    number_of,
    number_text,
    parse_bif,
    pieces,
    read_text,
    unreadable,
    weights_of,
)
from sgbn.read.program_texts import (
    QUOTABLE,
    RESERVED,
    name_comments,
    parse_graph_text,
    quoted,
    read_sem,
    renamed,
    safe_names,
    with_true_names,
)
from sgbn.write.tables import (
    PathName,
    check_shape,
    network_of,
    standardised_or_nan,
    support_mask,
    write_text,
)

R_INTERCEPT = "(Intercept)"

# All characters except the four marks of a model string, quotes, backslashes and line ends.
_PLAIN_IN_R = re.compile(
    r"(?![\s#])[^\[\]|:\"\\\x00-\x1f\x7f-\xa0\u2028\u2029\ud800-\udfff]+(?<!\s)"
)
# A model string has no quotes, so each of the four marks ends a name.
_NODE = re.compile(r"\[([^\[\]|:]+)(?:\|([^\[\]|]+))?\]")
# A possessive repeat (*+) never goes back, so a long string without an end is refused at once.
_STRING = r'"(?:[^"\\]|\\.)*+"'
_MODEL = re.compile(rf"^\s*model *<- *({_STRING})\s*$", re.M)
_FIT = re.compile(
    rf"^\s*({_STRING}) *= *list\(coef *= *c\((.*)\), *sd *= *({NUMBER})\),?\s*$", re.M
)
_COEFFICIENT = re.compile(rf"\s*({_STRING}) *= *({NUMBER})\s*(?:,|$)")


class _Family(NamedTuple):
    name: str
    parents: list[str]
    line: int


def write_model_string(content: NamedGraph) -> str:
    """Return the model string, and below it comments about names that had to be replaced."""
    names = _names(content)
    return "\n".join([_model_string(content, names), *name_comments(names)]) + "\n"


def read_model_string(text: str) -> NamedGraph:
    """Return the graph of a model string, which may have line ends between nodes."""
    families = [
        family
        for number, line in enumerate(text.split("\n"), start=1)
        if not line.lstrip().startswith("#")  # inside a line, # belongs to a name
        for family in _families(line.strip(), number)
    ]
    return with_true_names(_graph(families), text)


def write_script(content: NamedGraph) -> str:
    """Return an R script that makes the network with its weights, by `custom.fit`."""
    network, names = _weighted(content), _names(content)
    rows = []
    for j, name in enumerate(network.names):
        cells = [f"{_quoted(R_INTERCEPT)} = {number_text(network.intercept[j])}"]
        cells += [
            f"{_quoted(names[network.names[i]])} = {number_text(network.coef[i, j])}"
            for i in np.flatnonzero(network.coef[:, j])
        ]
        # bnlearn uses standard deviations, and sgbn uses variances.
        sd = number_text(np.sqrt(network.noise_variance[j]))
        rows.append(f"  {_quoted(names[name])} = list(coef = c({', '.join(cells)}), sd = {sd})")
    lines = [
        "# Run this script with source(). It makes fitted, the network with its weights (bn.fit).",
        *name_comments(names),
        f"model <- {_quoted(_model_string(content, names))}",
        "dag <- bnlearn::model2network(model)",
        "fitted <- bnlearn::custom.fit(dag, dist = list(",
        ",\n".join(rows),
        "))",
    ]
    return "\n".join(lines) + "\n"


def read_script(text: str) -> NamedGraph:
    """Return the network of a script that `write_script` made. The script is not run."""
    model = _MODEL.search(text)
    if model is None:
        raise InputError("script.model").says(
            "the script has no line 'model <- \"[...]\"'", "Give a script that sgbn wrote."
        )
    line = text.count("\n", 0, model.start(1)) + 1
    # The script names each parent twice: in the model string, and as the name of a coefficient.
    graph = _graph(_families(_unquoted(model[1], line), line))
    builder = GraphBuilder()
    # Nodes are added in the order of the model string. Otherwise the comparison below would fail.
    for name in graph.names:
        builder.add_node(name)
    for fit in _FIT.finditer(text):
        line = text.count("\n", 0, fit.start(1)) + 1
        _read_fit(_unquoted(fit[1], line), fit, line, builder)
    fitted = builder.graph()
    if fitted.names != graph.names or (fitted.graph != graph.graph).any():
        raise InputError("script.parents").says(
            "the coefficients have other names than the parents in the model string",
            "Write the script again.",
        )
    return with_true_names(fitted, text)


def _read_fit(name: str, fit: re.Match[str], line: int, builder: GraphBuilder) -> None:
    """Read the coefficients and the standard deviation of one node."""
    cells = (cell for cell, _ in pieces(_COEFFICIENT, fit[2], line))
    weights = {_unquoted(cell[1], line): number_of(cell[2], line) for cell in cells}
    # R lists the intercept among the coefficients, under this name.
    builder.intercept[name] = weights.pop(R_INTERCEPT, 0.0)
    sd = number_of(fit[3], line)
    # The square keeps the sign, so that a negative number is refused.
    builder.set_variance(name, sd * abs(sd), line)
    for parent, weight in weights.items():
        builder.add_edge(parent, name, line, weight, arrow=True)


def _names(content: NamedGraph) -> dict[str, str]:
    check_dag(content, "bnlearn")
    # R's make.names also fills in a dot, so the names are the same as in a table that R has read.
    return safe_names(content.names, _PLAIN_IN_R, ".")


def _model_string(content: NamedGraph, names: dict[str, str]) -> str:
    parts = []
    for j, name in enumerate(content.names):
        parents = [names[content.names[i]] for i in np.flatnonzero(content.graph[:, j])]
        parts.append(f"[{names[name]}{'|' * bool(parents)}{':'.join(parents)}]")
    return "".join(parts)


def _families(line: str, number: int) -> list[_Family]:
    """Return the nodes in one line of a model string, with their parents."""
    nodes = (node for node, _ in pieces(_NODE, line, number))
    return [_Family(node[1], node[2].split(":") if node[2] else [], number) for node in nodes]


def _graph(families: list[_Family]) -> NamedGraph:
    builder = GraphBuilder()
    # All nodes come first, because a parent may be declared after its child.
    for family in families:
        _check_new(family.name, builder.names, family.line)
        builder.add_node(family.name)
    for family in families:
        for parent in family.parents:
            _check_known(parent, builder.names, family.line)
            builder.add_edge(parent, family.name, family.line, arrow=True)
    return builder.graph()


# A string of JSON is also a string of R: both have the same escapes, and \u with four digits.
def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _unquoted(text: str, line: int) -> str:
    try:
        return str(json.loads(text))
    except ValueError:
        raise unreadable(line, text) from None


def _weighted(content: NamedGraph) -> GaussianNetwork:
    if content.network is None:
        raise InputError("graph.no-weights").says(
            "this graph has no weights to write",
            "Give a GaussianNetwork, or {weights='free'}, or write the format bnlearn.",
        )
    return content.network


def _check_new(name: str, known: Collection[str], line: int) -> None:
    if not name or name in known:
        raise InputError("node.twice", name=name, line=line).says(
            "line {line}: the node {name} is empty or repeated", "Correct it."
        )


def _check_known(name: str, known: Collection[str], line: int, unit: str = "line") -> None:
    if name not in known:
        raise InputError("node.unknown", name=name, unit=unit, line=line).says(
            "{unit:s} {line}: there is no node {name}", "Add it, or correct the name."
        )


def _add_edge(
    builder: GraphBuilder,
    ends: Sequence[str],
    mark: str,
    marks: tuple[str, str, str],
    line: int,
    about: Mapping[str, str],
) -> None:
    """Add an edge whose mark is one of three, for an arrow, a line and an arrow to the left."""
    weight = number_of(about[COEF], line) if COEF in about else None
    arrow, plain, back = marks
    if mark not in marks:  # an edge with a hidden cause or with an unknown end
        raise InputError("edge.mark", line=line, mark=mark[:20], arrow=arrow, plain=plain).says(
            "line {line}: {mark} is neither an arrow ({arrow:s}) nor a line ({plain:s})",
            "Remove the edge, or make a hidden cause a node.",
        )
    source, target = ends[::-1] if mark == back else ends
    builder.add_edge(source, target, line, weight, arrow=mark != plain)


def _numbers(content: NamedGraph, k: int) -> dict[str, float]:
    """Return the intercept and the variance of a node, if they are known."""
    if content.network is None:
        return {}
    network = content.network
    return {INTERCEPT: float(network.intercept[k]), VARIANCE: float(network.noise_variance[k])}


def _attributes(cells: list[str], numbers: Mapping[str, float], separator: str) -> str:
    """Return the attributes of a node or an edge: some cells, and then the numbers."""
    cells = [*cells, *(f'{key}="{number_text(value)}"' for key, value in numbers.items())]
    return f" [{separator.join(cells)}]" if cells else ""


BETA, COEF = "beta", "coef"
NAME = "sgbn_name"
TAKEN = ("graph", "node", "edge")  # DAGitty would read a node of this name as an attribute


def write_dagitty(content: NamedGraph) -> str:
    """Return a graph in the language of DAGitty: a dag, or a pdag if there are lines."""
    names = safe_names(content.names, QUOTABLE, reserved=TAKEN)
    arrows, lines = edges_and_lines(content)
    weights, betas = weights_of(content), _betas(content)
    rows = []
    # All nodes are written before the edges, to keep their order.
    for k, name in enumerate(content.names):
        safe, true = names[name], []
        if safe != name:
            # A name may hold half of a surrogate pair. Without surrogatepass UTF-8 refuses it.
            true = [f'{NAME}="{quote(name.encode("utf-8", "surrogatepass"), safe="")}"']
        rows.append(quoted(safe) + _attributes(true, _numbers(content, k), ","))
    for source, target in arrows:
        about = {}
        if (source, target) in betas:
            about[BETA] = betas[source, target]
        if weights:
            about[COEF] = weights[source, target]
        ends = f"{quoted(names[source])} -> {quoted(names[target])}"
        rows.append(ends + _attributes([], about, ","))
    # A line gets no weight, because a weight belongs to a direction.
    rows += [f"{quoted(names[source])} -- {quoted(names[target])}" for source, target in lines]
    return "\n".join([f"{'pdag' if lines else 'dag'} {{", *rows, "}"]) + "\n"


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
    _, statements = parse_graph_text(text, ("dag", "pdag", "digraph", "graph"))
    builder = GraphBuilder()
    replaced: dict[str, str] = {}
    for statement in statements:
        names, about, line = statement.names, statement.attributes, statement.line
        if statement.operator:
            # beta is not read, because a network has its weights in the units of the data.
            _add_edge(builder, names, statement.operator, ("->", "--", "<-"), line, about)
            continue
        builder.describe_node(names[0], about, line)
        if NAME in about:
            replaced[names[0]] = unquote(about[NAME], errors="surrogatepass")
    return renamed(builder.graph(), replaced)


def write_dot(content: NamedGraph) -> str:
    """Return a graph in the dot language."""
    names = safe_names(content.names, QUOTABLE)
    weights = weights_of(content)
    rows = [
        f"  {quoted(names[name])}{_attributes([], _numbers(content, k), ', ')};"
        for k, name in enumerate(content.names)
    ]
    # A line is written as -> too, because a digraph of Graphviz has no other kind of edge.
    for edges, shape in zip(edges_and_lines(content), ([], ["dir=none"]), strict=True):
        for source, target in edges:
            about = {COEF: weights[source, target]} if (source, target) in weights else {}
            ends = f"{quoted(names[source])} -> {quoted(names[target])}"
            rows.append(f"  {ends}{_attributes(shape, about, ', ')};")
    return "\n".join([*name_comments(names, "//"), "digraph {", *rows, "}"]) + "\n"


def read_dot(text: str) -> NamedGraph:
    """Return the graph of a dot file. It has a network if all weights and variances are there."""
    kind, statements = parse_graph_text(text, ("digraph", "graph"))
    # The mark of an edge, and its default direction.
    mark, usual = ("->", "forward") if kind == "digraph" else ("--", "none")
    builder = GraphBuilder()
    defaults: dict[str, str] = {}
    for statement in statements:
        if statement.is_default:  # only the defaults of edges are needed
            # Graphviz does not distinguish upper and lower case in its keywords.
            if statement.names[0].lower() == "edge":
                defaults |= statement.attributes
        elif statement.operator:
            if statement.operator != mark:
                raise unreadable(statement.line, statement.operator)
            # An attribute of the edge itself replaces a default.
            about, line = defaults | statement.attributes, statement.line
            marks = ("forward", "none", "back")
            _add_edge(builder, statement.names, about.get("dir", usual), marks, line, about)
        else:
            builder.describe_node(statement.names[0], statement.attributes, statement.line)
    return with_true_names(builder.graph(), text)


_LAVAAN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.]*")
_SEMOPY_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_LAVAAN_ABOUT = (
    "# Fit it by lavaan(text, data), and not by sem(), which adds covariances between nodes."
)
_SEMOPY_ABOUT = "# Fit it by semopy.ModelMeans(text).fit(data)."


def write_lavaan(content: NamedGraph, weights: str = "free") -> str:
    """Return a graph in the model syntax of lavaan."""
    _check(content, weights, "lavaan")
    names = safe_names(content.names, _LAVAAN_NAME, ".", RESERVED)
    equations = _equations(content, names, weights, lambda value: f"start({value})")
    return "\n".join([_LAVAAN_ABOUT, *name_comments(names), *equations, ""])


def write_semopy(content: NamedGraph, weights: str = "free") -> str:
    """Return a graph in the model syntax of semopy.

    In semopy, a parameter with a start value must have a name.
    """
    _check(content, weights, "semopy")
    names = safe_names(content.names, _SEMOPY_NAME, "_", RESERVED)
    starts: list[str] = []
    taken = set(names.values())

    def start(value: str) -> str:
        parameter = f"p{len(starts) + 1}"
        # A parameter must not have the same name as a variable.
        while parameter in taken:
            parameter += "_"
        starts.append(f"START({value}) {parameter}")
        return parameter

    equations = _equations(content, names, weights, start)
    return "\n".join([_SEMOPY_ABOUT, *name_comments(names), *equations, *starts, ""])


def _equations(
    content: NamedGraph, names: dict[str, str], weights: str, start: Callable[[str], str]
) -> list[str]:
    """Return lines with regressions, variances and intercepts. `start` formats a start value."""
    network = content.network

    def parameter(value: float) -> str:
        if weights == "free":
            return ""
        text = number_text(value)
        return f"{text if weights == 'fixed' else start(text)}*"

    n = len(content.names)
    coef, variance, intercept = np.zeros((n, n)), np.zeros(n), np.zeros(n)
    if network is not None:  # if it is None, weights are free (see `_check`), without values
        coef, variance, intercept = network.coef, network.noise_variance, network.intercept
    regressions, variances, intercepts = [], [], []
    for j, name in enumerate(content.names):
        child = names[name]
        terms = [
            parameter(coef[i, j]) + names[content.names[i]]
            for i in np.flatnonzero(content.graph[:, j])
        ]
        if terms:
            regressions.append(f"{child} ~ {' + '.join(terms)}")
        variances.append(f"{child} ~~ {parameter(variance[j])}{child}")
        intercepts.append(f"{child} ~ {parameter(intercept[j])}1")
    return [*regressions, *variances, *intercepts]


def _check(content: NamedGraph, weights: str, tool: str) -> None:
    check_dag(content, tool)
    OneOf("free", "start", "fixed").check("weights", weights)
    if weights != "free":
        _weighted(content)


NODES, EDGES = "Graph Nodes:", "Graph Edges:"

# White space ends a name in an edge, and ";" or "," ends it in the list of nodes. Brackets mark a
# latent variable.
_PLAIN_IN_TETRAD = re.compile(r"(?!\#)[^\s;,()\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
# Other text, such as colours, may follow.
_EDGE = re.compile(r"\d+\.\s+(\S+)\s+(\S+)\s+(\S+)(?:\s.*)?")


def write_tetrad(content: NamedGraph) -> str:
    """Return a graph as text of Tetrad. Comments are at the end, which Tetrad does not read."""
    names = safe_names(content.names, _PLAIN_IN_TETRAD)
    arrows, lines = edges_and_lines(content)
    marked = [(edge, "-->") for edge in arrows] + [(edge, "---") for edge in lines]
    rows = [
        f"{number}. {names[source]} {mark} {names[target]}"
        for number, ((source, target), mark) in enumerate(marked, start=1)
    ]
    nodes = ";".join(names[name] for name in content.names)
    return "\n".join([NODES, nodes, "", EDGES, *rows, "", *name_comments(names), ""])


def read_tetrad(text: str) -> NamedGraph:
    """Return the graph of a text file of Tetrad.

    An edge with a hidden common cause (``<->``) or with an unknown end (``o->``) is refused,
    because a DAG does not have such edges.
    """
    builder = GraphBuilder()
    part = ""
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip()
        if line in (NODES, EDGES):
            part = line
        elif not line:
            # An empty line ends a section, but it may also be between the title and the nodes.
            part = "" if part == EDGES or builder.names else part
        elif part == NODES:
            _read_nodes(line, number, builder)
        elif part == EDGES:
            _read_edge(line, number, builder)
        elif not builder.names:
            raise unreadable(number, line)
    return with_true_names(builder.graph(), text)


def _read_nodes(line: str, number: int, builder: GraphBuilder) -> None:
    names: set[str] = set()
    for name in map(str.strip, re.split("[;,]", line)):
        _check_new(name, names, number)
        builder.add_node(name)
        names.add(name)


def _read_edge(line: str, number: int, builder: GraphBuilder) -> None:
    edge = _EDGE.fullmatch(line)
    if edge is None:
        raise unreadable(number, line)
    # A name that is only in an edge is a typing error, because Tetrad lists all nodes.
    for name in edge.group(1, 3):
        _check_known(name, builder.names, number)
    _add_edge(builder, edge.group(1, 3), edge[2], ("-->", "---", "<--"), number, {})


STATES = ("low", "high")
MAX_PARENTS = 12  # a table has one row per combination of the parents' states, here 4096

# `read_bif` accepts more names, but other readers accept only these.
_PLAIN_IN_BIF = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def write_bif(content: NamedGraph) -> str:
    """Return a graph as BIF. Its probabilities are placeholders, and mean nothing."""
    check_dag(content, "BIF")
    # pgmpy does not distinguish upper and lower case.
    names = safe_names(content.names, _PLAIN_IN_BIF, ignore_case=True)
    lines = [
        "// Structure only: the probabilities are placeholders and mean nothing.",
        *name_comments(names, "//"),
        "network structure_only {",
        "}",
    ]
    kind = f"  type discrete [ 2 ] {{ {', '.join(STATES)} }};"
    for name in content.names:
        lines += [f"variable {names[name]} {{", kind, "}"]
    for j, name in enumerate(content.names):
        parents = [content.names[i] for i in np.flatnonzero(content.graph[:, j])]
        if len(parents) > MAX_PARENTS:
            raise InputError("bif.parents", name=name, n=len(parents), most=MAX_PARENTS).says(
                "{name} has {n:parent}, and sgbn writes BIF for at most {most}",
                "Choose another format.",
            )
        lines += _probability(names[name], [names[parent] for parent in parents])
    return "\n".join(lines) + "\n"


def read_bif_text(text: str) -> NamedGraph:
    """Return the graph of a BIF file."""
    return with_true_names(NamedGraph(*parse_bif(text)), text)


def _probability(name: str, parents: list[str]) -> list[str]:
    # A node without parents has a "table". All other nodes have one row per combination.
    if not parents:
        return [f"probability ( {name} ) {{", "  table 0.5, 0.5;", "}"]
    rows = [f"  ({', '.join(states)}) 0.5, 0.5;" for states in product(STATES, repeat=len(parents))]
    return [f"probability ( {name} | {', '.join(parents)} ) {{", *rows, "}"]


def node_link_text(content: NamedGraph) -> str:
    """Return a graph as node-link JSON, with its numbers and supported directions if known.

    Unlike `sgbn.write.write_node_link`, it adds no standardised weights and no places of regions.
    """
    check_dag(content, "node-link JSON")
    nodes = [{"id": name, **_numbers(content, k)} for k, name in enumerate(content.names)]
    weights, place = weights_of(content), {name: k for k, name in enumerate(content.names)}
    edges: list[dict[str, Any]] = []
    for source, target in edges_and_lines(content)[0]:
        edge: dict[str, Any] = {"source": source, "target": target}
        if weights:
            edge["weight"] = weights[source, target]
        if content.supported is not None:
            edge["supported"] = bool(content.supported[place[source], place[target]])
        edges.append(edge)
    graph = {"directed": True, "multigraph": False, "graph": {}, "nodes": nodes, "edges": edges}
    return json.dumps(graph, indent=1, allow_nan=False) + "\n"


def read_node_link(text: str) -> NamedGraph:
    """Return the graph of node-link JSON, with its weights and supported directions if given."""
    nodes, edges = _parts(text)
    builder = GraphBuilder("entry")  # messages count entries, not lines
    names = [_text(node, "id", k) for k, node in enumerate(nodes, start=1)]
    for k, (name, node) in enumerate(zip(names, nodes, strict=True), start=1):
        builder.add_node(name)
        if INTERCEPT in node:
            builder.intercept[name] = _number(node, INTERCEPT, k)
        if VARIANCE in node:
            builder.set_variance(name, _number(node, VARIANCE, k), k)
    # The builder accepts a node twice, because some formats name nodes only in edges.
    check_distinct(names)
    supported: set[tuple[str, str]] | None = set()
    for k, edge in enumerate(edges, start=1):
        source, target = (_text(edge, end, k) for end in ("source", "target"))
        for name in (source, target):
            _check_known(name, builder.names, k, "edge")
        weight = _number(edge, "weight", k) if "weight" in edge else None
        builder.add_edge(source, target, k, weight, arrow=True)
        if "supported" not in edge:
            # If one edge does not say whether it is supported, the mask is unknown. This is not the
            # same as "not supported".
            supported = None
        elif supported is not None and edge["supported"] is True:
            supported.add((source, target))
    content = builder.graph()
    if supported is None:
        return content
    return content._replace(supported=BenchmarkNetwork.from_arcs(content.names, supported).graph)


def _parts(text: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the nodes and the edges of a directed graph."""
    try:
        content = json.loads(text)
    # Deeply nested brackets cause a RecursionError.
    except (ValueError, RecursionError) as error:
        raise InputError("text.json", cause=error).says(
            "it is not JSON ({cause})", "Check that the file is complete."
        ) from None
    content = content if isinstance(content, dict) else {}
    nodes, edges = content.get("nodes"), content.get("edges")
    is_simple = content.get("directed") is True and content.get("multigraph") is not True
    if not (is_simple and _is_list_of_tables(nodes) and _is_list_of_tables(edges)):
        raise InputError("json.graph").says(
            "it is not a directed node-link graph with lists of nodes and edges",
            "Give a file such as networks/GROUP.json in a results folder.",
        )
    return nodes, edges


def _is_list_of_tables(part: object) -> TypeGuard[list[dict[str, Any]]]:
    return isinstance(part, list) and all(isinstance(entry, dict) for entry in part)


def _text(table: dict[str, Any], key: str, k: int) -> str:
    value = table.get(key)
    if not isinstance(value, str):
        raise InputError("entry.text", k=k, key=key).says(
            "entry {k}: {key} is not text", "Correct it."
        )
    return value


def _number(table: dict[str, Any], key: str, k: int) -> float:
    value = table[key]
    # True is an int in Python. Very large integers cannot become a float.
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e300:
        raise InputError("entry.number", k=k, key=key).says(
            "entry {k}: {key} is not a finite number", "Correct it."
        )
    return float(value)


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
            raise InputError("format.weights", name=name).says(
                "{weights=} is for lavaan and semopy, not for {name:s}", "Leave it out."
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
        raise in_file(path, error) from None


def _format_name(path: PathName, chosen: str | None, text: str = "") -> str:
    """Return `chosen`. If it is None, return the format that fits the ending or the text."""
    if chosen is not None:
        if chosen not in FORMATS:
            near = did_you_mean(chosen, list(FORMATS))
            raise InputError("format.unknown", name=chosen, near=near).says(
                "no format is called {name}", "{near}"
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
    raise InputError("format.ending", file=path, known=[*FORMATS]).says(
        "the ending of {file} does not tell the format", "Give one of {known:s} ({format=})."
    )


def to_pgmpy(network: NetworkLike) -> Any:
    """Return a network as a ``LinearGaussianBayesianNetwork`` of pgmpy, with the same weights.

    Parameters
    ----------
    network : GaussianNetwork or fitted learner
        Network to convert.

    Returns
    -------
    pgmpy.models.LinearGaussianBayesianNetwork
        The model. Its nodes are in the order of the network.
    """
    try:
        # Imported here, because pgmpy is optional.
        from pgmpy.factors.continuous import LinearGaussianCPD
        from pgmpy.models import LinearGaussianBayesianNetwork
    except ImportError as error:
        raise InputError("library.absent").says(
            "to_pgmpy needs the package pgmpy", 'Install it: pip install "sgbn[pgmpy]".'
        ) from error
    make_cpd: Any = LinearGaussianCPD  # its type hints call it abstract, but it is not
    weights = network_of(network)
    model = LinearGaussianBayesianNetwork()
    # Nodes come before edges, to keep their order and to keep nodes without edges.
    model.add_nodes_from(weights.names)
    model.add_edges_from((weights.names[i], weights.names[j]) for i, j in np.argwhere(weights.coef))
    for j, name in enumerate(weights.names):
        parents = np.flatnonzero(weights.coef[:, j])
        # In pgmpy the intercept is the first weight.
        beta = [float(weights.intercept[j]), *weights.coef[parents, j].tolist()]
        sd = float(np.sqrt(weights.noise_variance[j]))
        model.add_cpds(make_cpd(name, beta, sd, [weights.names[i] for i in parents]))
    return model


def from_pgmpy(model: Any) -> NamedGraph:
    """Return the graph of a model or DAG of pgmpy.

    Parameters
    ----------
    model : pgmpy.models.LinearGaussianBayesianNetwork, or any directed graph of pgmpy
        Model to convert.

    Returns
    -------
    NamedGraph
        The graph. It has a network too, if all nodes of the model are linear Gaussian.
    """
    if not hasattr(model, "nodes") or not hasattr(model, "edges"):
        raise InputError("pgmpy.type", kind=type(model).__name__).says(
            "{kind:s} is not a graph of pgmpy", "Give a model or a DAG."
        )
    builder = GraphBuilder()
    # Nodes of pgmpy may be any hashable object, but nodes of sgbn have names.
    names = [*map(str, model.nodes())]
    check_distinct(names)
    for name in names:
        builder.add_node(name)
    # A DAG of pgmpy has no distributions. The distributions of a discrete network are not linear
    # Gaussian.
    weights: dict[tuple[str, str], float] = {}
    for cpd in model.get_cpds() if hasattr(model, "get_cpds") else []:
        if hasattr(cpd, "beta") and hasattr(cpd, "std"):
            name = str(cpd.variable)
            builder.intercept[name], *betas = map(float, cpd.beta)
            sd = float(cpd.std)
            builder.set_variance(name, sd * sd, 0)  # there is no line to name
            parents = [str(parent) for parent in cpd.evidence]
            weights |= {(p, name): beta for p, beta in zip(parents, betas, strict=True)}
    for source, target in ((str(i), str(j)) for i, j in model.edges()):
        builder.add_edge(source, target, 0, weights.get((source, target)), arrow=True)
    return builder.graph()


def named_graph(
    network: NetworkLike | NamedGraph | BenchmarkNetwork,
    directions: str = "graph",
    supported: ArrayLike | None = None,
) -> NamedGraph:
    """Return the graph of a network, a fitted learner or a file, with the chosen directions."""
    OneOf("graph", "supported", "cpdag").check("directions", directions)
    if isinstance(network, BenchmarkNetwork):
        network = NamedGraph(network.graph, network.names)
    if isinstance(network, NamedGraph):
        given = network
        # The argument replaces the mask of the file.
        mask = given.supported if supported is None else np.asarray(supported, bool)
    else:
        weights = network_of(network)
        given = NamedGraph(weights.coef != 0, weights.names, weights)
        supported = getattr(network, "supported_", None) if supported is None else supported
        # Without half samples no direction is supported. The mask is then None, so that a file does
        # not say of each edge that it is not supported.
        is_known = directions == "supported" or supported is not None
        mask = support_mask(network, None, supported) if is_known else None
    if mask is not None:
        check_shape("supported", mask.shape, given.graph.shape)
    if directions == "graph":
        return given._replace(supported=mask)
    # If the file has weights, they give each of its lines a direction.
    graph = given.graph if given.network is None else given.network.coef != 0
    return given._replace(graph=_directed(graph, given.names, directions, mask), supported=None)


def _directed(graph: Mask, names: tuple[str, ...], directions: str, mask: Mask | None) -> Mask:
    """Return the graph with lines for edges that are reversible ("cpdag") or not supported."""
    if directions == "cpdag":
        check_acyclic(graph, names)
        # `cpdag` sets both entries of a reversible edge, like a line of `NamedGraph`.
        return np.asarray(cpdag(graph) != 0)
    if mask is None:
        raise InputError("directions.unknown").says(
            "it is not known which directions of this network are supported",
            "Give {supported=}, or {directions='graph'}.",
        )
    return drawn_graph(graph, mask)
