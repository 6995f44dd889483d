"""Write graphs as BIF files, which bnlearn (`read.bif`) and pgmpy (`BIFReader`) read.

BIF has discrete variables only, so it cannot hold the weights of a Gaussian network. The file holds
the graph. Each variable has two states. All probabilities are the same, and mean nothing.
"""

from __future__ import annotations

import re
from itertools import product

import numpy as np

from sgbn.core.exceptions import InputError
from sgbn.read.network import NamedGraph, check_dag, parse_bif
from sgbn.read.program_texts import name_comments, safe_names, with_true_names

STATES = ("low", "high")
MAX_PARENTS = 12  # a table has one row per combination of the parents' states, here 4096

# `read_bif` accepts more names, but other readers accept only these.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def write_bif(content: NamedGraph) -> str:
    """Return a graph as BIF. Its probabilities are placeholders, and mean nothing."""
    check_dag(content, "BIF")
    # pgmpy does not distinguish upper and lower case.
    names = safe_names(content.names, _PLAIN, ignore_case=True)
    lines = [
        "// Structure only: the probabilities are placeholders and mean nothing.",
        *name_comments(names, "//"),
        "network structure_only {",
        "}",
    ]
    for name in content.names:
        states = ", ".join(STATES)
        lines += [f"variable {names[name]} {{", f"  type discrete [ 2 ] {{ {states} }};", "}"]
    for j, name in enumerate(content.names):
        parents = [content.names[i] for i in np.flatnonzero(content.graph[:, j])]
        if len(parents) > MAX_PARENTS:
            raise InputError(
                f"{name!r} has {len(parents)} parents, but sgbn writes BIF for at most "
                f"{MAX_PARENTS}, because the file lists all combinations of their states. Choose "
                "another format."
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
