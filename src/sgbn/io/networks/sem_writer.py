"""Networks as structural equation models: the syntax of lavaan (R) and semopy (Python).

The model of a graph has one regression per node with parents, and an own variance and intercept for
each node; nothing else varies together. Its parameters are free (a confirmatory model of the
graph), start at the weights of the network, or are fixed at them.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from sgbn.exceptions import InputError
from sgbn.io.networks.named_graph import NamedGraph, check_dag
from sgbn.io.networks.safe_names import RESERVED, name_comments, safe_names
from sgbn.io.networks.texts import number_text

WEIGHTS = ("free", "start", "fixed")

_LAVAAN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.]*")
_SEMOPY_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_LAVAAN_ABOUT = (
    "# Fit it by lavaan(text, data), and not by sem(), which adds covariances between nodes.",
)
_SEMOPY_ABOUT = ("# Fit it by semopy.ModelMeans(text).fit(data).",)

# (what the parameter is called if it needs a name, its value or None) -> what stands before "*"
Modifier = Callable[[float | None], str]


def write_lavaan(content: NamedGraph, weights: str = "free") -> str:
    """Model syntax of lavaan."""
    _check(content, weights, "lavaan")
    names = safe_names(content.names, _LAVAAN_NAME, ".", RESERVED)

    def modifier(value: float | None) -> str:
        if value is None or weights == "free":
            return ""
        text = number_text(value)
        return f"{text}*" if weights == "fixed" else f"start({text})*"

    return _text([*_LAVAAN_ABOUT, *name_comments(names), *_equations(content, names, modifier)])


def write_semopy(content: NamedGraph, weights: str = "free") -> str:
    """Model syntax of semopy, in which a parameter with a start value must have a name."""
    _check(content, weights, "semopy")
    names = safe_names(content.names, _SEMOPY_NAME, "_", RESERVED)
    starts: list[str] = []
    taken = set(names.values())

    def modifier(value: float | None) -> str:
        if value is None or weights == "free":
            return ""
        if weights == "fixed":
            return f"{number_text(value)}*"
        parameter = f"p{len(starts) + 1}"
        while parameter in taken:
            parameter += "_"
        starts.append(f"START({number_text(value)}) {parameter}")
        return f"{parameter}*"

    equations = _equations(content, names, modifier)
    return _text([*_SEMOPY_ABOUT, *name_comments(names), *equations, *starts])


def _equations(content: NamedGraph, names: dict[str, str], modifier: Modifier) -> list[str]:
    """Regressions, variances and intercepts."""
    network = content.network
    regressions, variances, intercepts = [], [], []
    for j, name in enumerate(content.names):
        child = names[name]
        terms = [
            modifier(None if network is None else network.coef[i, j]) + names[content.names[i]]
            for i in np.flatnonzero(content.graph[:, j])
        ]
        if terms:
            regressions.append(f"{child} ~ {' + '.join(terms)}")
        variance = None if network is None else network.noise_variance[j]
        variances.append(f"{child} ~~ {modifier(variance)}{child}")
        constant = None if network is None else network.intercept[j]
        intercepts.append(f"{child} ~ {modifier(constant)}1")
    return [*regressions, *variances, *intercepts]


def _check(content: NamedGraph, weights: str, tool: str) -> None:
    check_dag(content, tool)
    if weights not in WEIGHTS:
        raise InputError(f"weights is one of {', '.join(WEIGHTS)}, not {weights!r}.")
    if weights != "free" and content.network is None:
        raise InputError(
            f"weights={weights!r} needs weights, and this graph has none. Choose weights='free', "
            "or give a GaussianNetwork."
        )


def _text(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"
