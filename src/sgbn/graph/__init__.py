"""Directed graphs as arrays: ``A[i, j] != 0`` is the edge i -> j."""

from sgbn.graph.acyclicity import (
    certifies_dag,
    find_cycle,
    is_dag,
    known_order,
    levels,
    reachable,
    topological_order,
    upsilon,
)
from sgbn.graph.comparison import GraphComparison, compare_graphs, pdag_errors, shd
from sgbn.graph.equivalence import (
    close_orientations,
    consistent_extension,
    cpdag,
    edge_kinds,
    orient_known,
    skeleton,
    v_structures,
)
from sgbn.graph.random import random_dag

__all__ = [
    "GraphComparison",
    "certifies_dag",
    "close_orientations",
    "compare_graphs",
    "consistent_extension",
    "cpdag",
    "edge_kinds",
    "find_cycle",
    "is_dag",
    "known_order",
    "levels",
    "orient_known",
    "pdag_errors",
    "random_dag",
    "reachable",
    "shd",
    "skeleton",
    "topological_order",
    "upsilon",
    "v_structures",
]
