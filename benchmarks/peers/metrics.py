"""How far a learned graph is from the true DAG."""

import numpy as np

from sgbn.graph import compare_graphs, consistent_extension, cpdag, is_dag, shd


def measure(P, truth, returns):
    """Return the errors of a DAG and the SHD of the equivalence classes.

    A DAG is compared as it is, and by its CPDAG; a PDAG by a consistent extension, and as it is.
    """
    if returns == "dag" and is_dag(P):
        dag, classes, note = P, cpdag(P), None
    else:
        dag, note = _extend(P)
        # A PDAG is the class that the method claims.
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
    # Columns are shuffled, so that the index is as good as any order.
    by_index = P & ~(undirected & np.tri(len(P), k=-1, dtype=bool))
    return by_index, "no consistent extension: undirected edges directed by column index"
