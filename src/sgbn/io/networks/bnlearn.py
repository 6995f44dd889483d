"""Networks for the R package bnlearn: its model string, and an R script with the weights.

A model string names each node with its parents, ``[a][b][c|a:b]``; ``model2network`` reads it. The
files that bnlearn writes for other programs (BIF, DSC, NET) hold discrete networks only. A Gaussian
one is made by ``custom.fit``, of which the script is a call.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

import numpy as np

from sgbn.exceptions import InputError
from sgbn.io.networks.builder import GraphBuilder
from sgbn.io.networks.named_graph import NamedGraph, check_dag
from sgbn.io.networks.safe_names import name_comments, safe_names, with_true_names
from sgbn.io.networks.texts import NUMBER, number_of, number_text, pieces

INTERCEPT = "(Intercept)"

# Anything but the four marks of a model string, a quote, a backslash, and what ends a line.
_PLAIN = re.compile(r"(?![\s#])[^\[\]|:\"\\\x00-\x1f\x7f-\xa0\u2028\u2029\ud800-\udfff]+(?<!\s)")
# Nothing is quoted in a model string: the four marks end a name, whatever stands around them.
_NODE = re.compile(r"\[([^\[\]|:]+)(?:\|([^\[\]|]+))?\]")
# Possessive (*+), so that a long string without an end is refused at once.
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
    """Model string in the first line; comments below it, if names had to be replaced."""
    names = _names(content)
    return "\n".join([_model_string(content, names), *name_comments(names)]) + "\n"


def read_model_string(text: str) -> NamedGraph:
    """Graph of a model string, which may be broken into lines between nodes."""
    families = [
        family
        for number, line in enumerate(text.split("\n"), start=1)
        if not line.lstrip().startswith("#")  # a # within a line belongs to a name
        for family in _families(line.strip(), number)
    ]
    return with_true_names(_graph(families), text)


def write_script(content: NamedGraph) -> str:
    """R script that makes the network, with its weights, by `custom.fit`."""
    network = content.network
    if network is None:
        raise InputError(
            "an R script for bnlearn needs weights, and this graph has none. Write the model "
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
        # bnlearn has standard deviations where sgbn has variances.
        sd = number_text(np.sqrt(network.noise_variance[j]))
        rows.append(f"  {_quoted(names[name])} = list(coef = c({', '.join(cells)}), sd = {sd})")
    lines = [
        "# source() makes fitted, the network with its weights (class bn.fit).",
        *name_comments(names),
        f"model <- {_quoted(_model_string(content, names))}",
        "dag <- bnlearn::model2network(model)",
        "fitted <- bnlearn::custom.fit(dag, dist = list(",
        ",\n".join(rows),
        "))",
    ]
    return "\n".join(lines) + "\n"


def read_script(text: str) -> NamedGraph:
    """Network of a script of the form that `write_script` gives it; nothing in it is run."""
    model = _MODEL.search(text)
    if model is None:
        raise InputError("the script has no line 'model <- \"[...]\"'. Is it one that sgbn wrote?")
    line = text.count("\n", 0, model.start(1)) + 1
    # The script says each parent twice: in the model string, and as the name of a coefficient.
    graph = _graph(_families(_unquoted(model[1], line), line))
    builder = GraphBuilder()
    # Nodes in the order of the model string, or the comparison below would fail.
    for name in graph.names:
        builder.add_node(name)
    for fit in _FIT.finditer(text):
        line = text.count("\n", 0, fit.start(1)) + 1
        _read_fit(_unquoted(fit[1], line), fit, line, builder)
    fitted = builder.graph()
    if fitted.names != graph.names or (fitted.graph != graph.graph).any():
        raise InputError(
            "the coefficients are not those of the parents that the model string names. Write the "
            "script again, or correct one of the two."
        )
    return with_true_names(fitted, text)


def _read_fit(name: str, fit: re.Match[str], line: int, builder: GraphBuilder) -> None:
    """Read the coefficients and the standard deviation of one node."""
    weights = _coefficients(fit[2], line)
    # R has the intercept among the coefficients, by this name.
    builder.intercept[name] = weights.pop(INTERCEPT, 0.0)
    sd = number_of(fit[3], line)
    # Squared with its sign, or -1 would pass as 1.
    builder.set_variance(name, sd * abs(sd), line)  # a negative one is refused
    for parent, weight in weights.items():
        builder.add_edge(parent, name, line, weight, arrow=True)


def _coefficients(text: str, line: int) -> dict[str, float]:
    wrong = 'line {line}: expected coefficients as "name" = number, not {part}. Correct the line.'
    cells = (cell for cell, _ in pieces(_COEFFICIENT, text, wrong, line))
    return {_unquoted(cell[1], line): number_of(cell[2], line) for cell in cells}


def _names(content: NamedGraph) -> dict[str, str]:
    check_dag(content, "bnlearn")
    # A dot, as R's make.names fills in: the names are then those of a table read by R.
    return safe_names(content.names, _PLAIN, ".")


def _model_string(content: NamedGraph, names: dict[str, str]) -> str:
    parts = []
    for j, name in enumerate(content.names):
        parents = [names[content.names[i]] for i in np.flatnonzero(content.graph[:, j])]
        parts.append(f"[{names[name]}{'|' * bool(parents)}{':'.join(parents)}]")
    return "".join(parts)


def _families(line: str, number: int) -> list[_Family]:
    """Nodes of a line of a model string, with their parents."""
    wrong = (
        "line {line}: expected [node|parent:parent] and not {part}. Is it a model string of "
        "bnlearn?"
    )
    nodes = (node for node, _ in pieces(_NODE, line, wrong, number))
    return [_Family(node[1], node[2].split(":") if node[2] else [], number) for node in nodes]


def _graph(families: list[_Family]) -> NamedGraph:
    builder = GraphBuilder()
    declared: set[str] = set()
    # All nodes first: a parent may be declared after its child.
    for family in families:
        if family.name in declared:
            raise InputError(f"line {family.line}: a second node {family.name!r}. Keep one.")
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


# A string of JSON is one of R too: both have the same escapes, and \u with four digits.
def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _unquoted(text: str, line: int) -> str:
    try:
        return str(json.loads(text))
    except ValueError:
        raise InputError(f"line {line}: {text[:40]!r} is not text. Correct the line.") from None
