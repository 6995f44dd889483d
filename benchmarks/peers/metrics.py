"""Measure how far a learned graph is from the true DAG."""

import numpy as np

from sgbn.core.equivalence import compare_graphs, consistent_extension, cpdag, shd
from sgbn.core.graph import is_dag


def measure(P, truth, returns):
    """Return the errors of a DAG and the SHD of the equivalence classes.

    Errors compare a DAG, which for a PDAG is a consistent extension. The SHD compares equivalence
    classes: the CPDAG of a DAG, or the PDAG itself.
    """
    if returns == "dag" and is_dag(P):
        dag, classes, note = P, cpdag(P), None
    else:
        dag, note = _extend(P)
        # The PDAG is the class that the method returned.
        classes = P
    comparison = compare_graphs(dag, truth)
    result = {
        "errors": comparison.errors,
        "false": comparison.false,
        "missing": comparison.missing,
        "shd": shd(classes, cpdag(truth)),
        "edges": comparison.n_learned,
    }
    return result | ({"note": note} if note else {})


def _extend(P):
    dag = consistent_extension(P)
    if dag is not None:
        return dag, None
    undirected = P & P.T
    # Columns are shuffled, so that the order of the index is a random order.
    by_index = P & ~(undirected & np.tri(len(P), k=-1, dtype=bool))
    return by_index, "no consistent extension: undirected edges directed by column index"
