"""Read graphs from structural equation models in the syntax of lavaan and semopy.

The reader takes regressions (``y ~ a + 0.5*b``), variances (``y ~~ y``), intercepts (``y ~ 1``) and
start values. It refuses latent variables and covariances, which a network does not have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from sgbn.core.exceptions import InputError
from sgbn.io.networks.builder import GraphBuilder
from sgbn.io.networks.named_graph import NamedGraph
from sgbn.io.networks.safe_names import with_true_names
from sgbn.io.networks.texts import NUMBER, number_of

_NAME = r"[^\W\d][\w.]*|\.[^\W\d][\w.]*"
_FORMULA = re.compile(rf"\s*({_NAME})\s*(=~|~~|~)\s*(.*)", re.DOTALL)
_TERM = re.compile(
    rf"""\s*(?: (?: start\( \s*(?P<start>{NUMBER})\s* \) | (?P<fixed>{NUMBER})
            | (?P<label>{_NAME}) ) \s*\*\s* )? (?P<name>{_NAME}|1|0) \s*""",
    re.VERBOSE,
)
_START = re.compile(rf"\s*START\(\s*({NUMBER})\s*\)\s*(\S[\w.\s]*)")
# A plus sign between terms. It is not inside brackets or in an exponent such as 1e+5.
_PLUS = re.compile(r"\+(?![^()]*\))(?<![\d.][eE]\+)")


class _Term(NamedTuple):
    child: str
    operator: str
    name: str
    value: float | None
    line: int


def read_sem(text: str) -> NamedGraph:
    """Return the graph of a model of lavaan or semopy.

    The graph has a network if each regression weight and each variance has a value, either a fixed
    value or a start value. An intercept without a value is 0.
    """
    starts: dict[str, float] = {}
    lines = list(_formulas(text))
    # Start values are read first, because semopy writes them after the formulas that use them.
    for line, formula in lines:
        if start := _START.fullmatch(formula):
            starts |= dict.fromkeys(start[2].split(), number_of(start[1], line))
    builder = GraphBuilder()
    terms = [
        term
        for line, formula in lines
        if not _START.fullmatch(formula)
        for term in _terms(formula, line, starts)
    ]
    # Variances come first: sgbn writes one for each node, in the order of the network.
    for term in sorted(terms, key=lambda term: term.operator != "~~"):
        _add(term, builder)
    return with_true_names(builder.graph(), text)


def _formulas(text: str) -> Iterator[tuple[int, str]]:
    """Yield each formula with the number of its first line.

    If a line ends with an operator, the formula continues in the next line.
    """
    formula, first = "", 0
    for number, raw in enumerate(text.split("\n"), start=1):
        line = re.split("[#!]", raw, maxsplit=1)[0]  # both begin a comment in lavaan
        for k, part in enumerate(line.split(";")):  # a semicolon ends a formula, like a line end
            if k and formula.strip():
                yield first, formula
                formula = ""
            first = first if formula.strip() else number
            formula += f" {part}"
        if formula.strip() and not formula.rstrip().endswith(("+", "~", "*", "(", ",")):
            yield first, formula
            formula = ""
    if formula.strip():
        yield first, formula


def _terms(formula: str, line: int, starts: dict[str, float]) -> Iterator[_Term]:
    parts = _FORMULA.fullmatch(formula)
    if parts is None:
        raise InputError(
            f"line {line}: {formula.strip()[:40]!r} is not a formula such as 'y ~ a + b', 'y ~~ y' "
            "or 'y ~ 1'. Correct or remove it."
        )
    child, operator, right = parts.groups()
    if operator == "=~":
        raise InputError(
            f"line {line}: {child!r} is a latent variable, and a network can only have observed "
            "variables. Remove this line, and remove the variable from all other lines."
        )
    for part in _PLUS.split(right):
        term = _TERM.fullmatch(part)
        if term is None:
            raise InputError(
                f"line {line}: the term {part.strip()[:40]!r} cannot be read. Write a term "
                "such as 'a', '0.5*a', 'label*a' or '1'."
            )
        value = starts.get(term["label"] or "")
        if term["start"] or term["fixed"]:
            value = number_of(term["start"] or term["fixed"], line)
        yield _Term(child, operator, term["name"], value, line)


def _add(term: _Term, builder: GraphBuilder) -> None:
    builder.add_node(term.child)
    if term.operator == "~~" and term.name != term.child:
        if term.value != 0:  # a covariance of 0 is no covariance
            raise InputError(
                f"line {term.line}: {term.child} ~~ {term.name} is a covariance between two nodes, "
                "which a network cannot have. Remove it, or write it as a regression (~)."
            )
    elif term.operator == "~~":
        if term.value is not None:
            builder.set_variance(term.child, term.value, term.line)
    # In R, "y ~ 0" means that there is no intercept. Here an intercept without a value is 0.
    elif term.name in ("0", "1"):
        if term.value is not None and term.name == "1":
            builder.intercept[term.child] = term.value
    else:
        builder.add_edge(term.name, term.child, term.line, term.value, arrow=True)
