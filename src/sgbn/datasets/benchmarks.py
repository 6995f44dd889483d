"""The nine networks of the paper's Exp-II (Bayesian Network Repository): published arc lists."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from sgbn.exceptions import InputError
from sgbn.types import Mask

NETWORKS = (
    *("factors", "alarm", "barley", "carpo", "chain"),
    *("hailfinder", "insurance", "mildew", "water"),
)


class BenchmarkNetwork(NamedTuple):
    """A published DAG: ``graph[i, j]`` is the arc from ``names[i]`` to ``names[j]``."""

    graph: Mask
    names: tuple[str, ...]

    @classmethod
    def from_arcs(cls, names: tuple[str, ...], arcs: Iterable[tuple[str, str]]) -> BenchmarkNetwork:
        """Network on the named nodes with arcs (source, target)."""
        place = {name: k for k, name in enumerate(names)}
        graph = np.zeros((len(names), len(names)), dtype=bool)
        for source, target in arcs:
            graph[place[source], place[target]] = True
        return cls(graph, names)


def load_network(name: str) -> BenchmarkNetwork:
    """Structure of one of the nine networks of Exp-II.

    In five of them the published order of the nodes is already topological: shuffle the columns
    of simulated data before learning, or a method that depends on their order is helped.

    Parameters
    ----------
    name : str
        One of `NETWORKS`, in any case.

    Examples
    --------
    >>> from sgbn import load_network
    >>> graph, names = load_network("alarm")
    >>> graph.shape, int(graph.sum())
    ((37, 37), 46)
    """
    if name.lower() not in NETWORKS:
        raise InputError(f"no network is called {name!r}: there are {', '.join(NETWORKS)}.")
    names = tuple(row["node"] for row in _rows(f"{name.lower()}_nodes.csv"))
    arcs = ((row["source"], row["target"]) for row in _rows(f"{name.lower()}.csv"))
    return BenchmarkNetwork.from_arcs(names, arcs)


def _rows(file: str) -> list[dict[str, str]]:
    text = (files("sgbn.datasets") / "networks" / file).read_text()
    return list(csv.DictReader(text.splitlines()))
