"""Write networks as structural equation models, in the syntax of lavaan (R) and semopy (Python).

The model of a graph has one regression per node with parents, and one variance and one intercept
per node. It has no covariances. Its parameters are free (a confirmatory model of the graph), start
at the weights of the network, or are fixed at them.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from sgbn.core.exceptions import InputError
from sgbn.read.network import NamedGraph, check_dag, number_text
from sgbn.read.program_texts import RESERVED, name_comments, safe_names

WEIGHTS = ("free", "start", "fixed")

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
    if weights not in WEIGHTS:
        raise InputError(f"weights is {weights!r}. Give one of {', '.join(WEIGHTS)}.")
    if weights != "free" and content.network is None:
        raise InputError(
            f"weights={weights!r} needs weights, but this graph has none. Choose weights='free', "
            "or give a GaussianNetwork."
        )
