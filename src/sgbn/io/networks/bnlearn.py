"""Write and read networks for the R package bnlearn: a model string, or a script with weights.

A model string such as ``[a][b][c|a:b]`` names each node with its parents. ``model2network`` reads
it. The files that bnlearn writes for other programs (BIF, DSC, NET) hold discrete networks only.
Therefore the weights are in an R script, which makes a Gaussian network by ``custom.fit``.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

import numpy as np

from sgbn.core.exceptions import InputError
from sgbn.read.network import (
    NUMBER,
    GraphBuilder,
    NamedGraph,
    check_dag,
    number_of,
    number_text,
    pieces,
)
from sgbn.read.program_texts import name_comments, safe_names, with_true_names

INTERCEPT = "(Intercept)"

# All characters except the four marks of a model string, quotes, backslashes and line ends.
_PLAIN = re.compile(r"(?![\s#])[^\[\]|:\"\\\x00-\x1f\x7f-\xa0\u2028\u2029\ud800-\udfff]+(?<!\s)")
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
    network = content.network
    if network is None:
        raise InputError(
            "an R script for bnlearn needs weights, but this graph has none. Write the model "
            "string (format='bnlearn'), or give a GaussianNetwork."
        )
    names = _names(content)
    rows = []
    for j, name in enumerate(network.names):
        cells = [f"{_quoted(INTERCEPT)} = {number_text(network.intercept[j])}"]
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
        raise InputError(
            "the script has no line 'model <- \"[...]\"'. Give a script that sgbn wrote."
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
        raise InputError(
            "the names of the coefficients differ from the parents in the model string. Write the "
            "script again, or correct one of the two."
        )
    return with_true_names(fitted, text)


def _read_fit(name: str, fit: re.Match[str], line: int, builder: GraphBuilder) -> None:
    """Read the coefficients and the standard deviation of one node."""
    weights = _coefficients(fit[2], line)
    # R lists the intercept among the coefficients, under this name.
    builder.intercept[name] = weights.pop(INTERCEPT, 0.0)
    sd = number_of(fit[3], line)
    # The square keeps the sign, so that a negative number is refused.
    builder.set_variance(name, sd * abs(sd), line)
    for parent, weight in weights.items():
        builder.add_edge(parent, name, line, weight, arrow=True)


def _coefficients(text: str, line: int) -> dict[str, float]:
    wrong = 'line {line}: expected coefficients as "name" = number, not {part}. Correct the line.'
    cells = (cell for cell, _ in pieces(_COEFFICIENT, text, wrong, line))
    return {_unquoted(cell[1], line): number_of(cell[2], line) for cell in cells}


def _names(content: NamedGraph) -> dict[str, str]:
    check_dag(content, "bnlearn")
    # R's make.names also fills in a dot, so the names are the same as in a table that R has read.
    return safe_names(content.names, _PLAIN, ".")


def _model_string(content: NamedGraph, names: dict[str, str]) -> str:
    parts = []
    for j, name in enumerate(content.names):
        parents = [names[content.names[i]] for i in np.flatnonzero(content.graph[:, j])]
        parts.append(f"[{names[name]}{'|' * bool(parents)}{':'.join(parents)}]")
    return "".join(parts)


def _families(line: str, number: int) -> list[_Family]:
    """Return the nodes in one line of a model string, with their parents."""
    wrong = (
        "line {line}: expected [node|parent:parent], not {part}. Give a model string of bnlearn."
    )
    nodes = (node for node, _ in pieces(_NODE, line, wrong, number))
    return [_Family(node[1], node[2].split(":") if node[2] else [], number) for node in nodes]


def _graph(families: list[_Family]) -> NamedGraph:
    builder = GraphBuilder()
    declared: set[str] = set()
    # All nodes come first, because a parent may be declared after its child.
    for family in families:
        if family.name in declared:
            raise InputError(
                f"line {family.line}: the node {family.name!r} is there twice. Keep one."
            )
        declared.add(family.name)
        builder.add_node(family.name)
    for family in families:
        for parent in family.parents:
            if parent not in declared:
                raise InputError(
                    f"line {family.line}: {family.name!r} has the parent {parent!r}, but the model "
                    "string has no such node. Add this node, or correct the name."
                )
            builder.add_edge(parent, family.name, family.line, arrow=True)
    return builder.graph()


# A string of JSON is also a string of R: both have the same escapes, and \u with four digits.
def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _unquoted(text: str, line: int) -> str:
    try:
        return str(json.loads(text))
    except ValueError:
        raise InputError(f"line {line}: {text[:40]!r} is not text. Correct the line.") from None
