"""Directed graphs as arrays: ``A[i, j] != 0`` is the edge i -> j."""

from sgbn.graph.acyclicity import (
    certifies_dag,
    find_cycle,
    is_dag,
    levels,
    reachable,
    topological_order,
    upsilon,
)
from sgbn.graph.comparison import GraphComparison, compare_graphs
from sgbn.graph.random import random_dag

__all__ = [
    "GraphComparison",
    "certifies_dag",
    "compare_graphs",
    "find_cycle",
    "is_dag",
    "levels",
    "random_dag",
    "reachable",
    "topological_order",
    "upsilon",
]
