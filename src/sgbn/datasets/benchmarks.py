"""The nine networks of the paper's Exp-II, from the published Bayesian Network Repository."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from sgbn.core.exceptions import InputError
from sgbn.core.types import Mask

NETWORKS = (
    *("factors", "alarm", "barley", "carpo", "chain"),
    *("hailfinder", "insurance", "mildew", "water"),
)


class BenchmarkNetwork(NamedTuple):
    """A published DAG.

    Attributes
    ----------
    graph : ndarray of shape (m, m), bool
        ``graph[i, j]`` is True if there is an arc from ``names[i]`` to ``names[j]``.
    names : tuple of str
        Names of the nodes.
    """

    graph: Mask
    names: tuple[str, ...]

    @classmethod
    def from_arcs(cls, names: tuple[str, ...], arcs: Iterable[tuple[str, str]]) -> BenchmarkNetwork:
        """Return the network with these nodes and these arcs (source, target)."""
        place = {name: k for k, name in enumerate(names)}
        graph = np.zeros((len(names), len(names)), dtype=bool)
        for source, target in arcs:
            graph[place[source], place[target]] = True
        return cls(graph, names)


def load_network(name: str) -> BenchmarkNetwork:
    """Return the structure of one of the nine networks of Exp-II.

    In five of them the published order of the nodes is already topological. Shuffle the columns of
    simulated data before learning. Otherwise methods that depend on the order have an advantage.

    Parameters
    ----------
    name : str
        One of `NETWORKS`. Upper and lower case are the same.

    Returns
    -------
    BenchmarkNetwork
        The graph and the names of its nodes.

    Examples
    --------
    >>> from sgbn import load_network
    >>> graph, names = load_network("alarm")
    >>> graph.shape, int(graph.sum())
    ((37, 37), 46)
    """
    if name.lower() not in NETWORKS:
        raise InputError(f"no network is called {name!r}. Use one of {', '.join(NETWORKS)}.")
    names = tuple(row["node"] for row in _rows(f"{name.lower()}_nodes.csv"))
    arcs = ((row["source"], row["target"]) for row in _rows(f"{name.lower()}.csv"))
    return BenchmarkNetwork.from_arcs(names, arcs)


def _rows(file: str) -> list[dict[str, str]]:
    text = (files("sgbn.datasets") / "networks" / file).read_text()
    return list(csv.DictReader(text.splitlines()))
