"""Gadget (PyPI sumu): networks drawn from their posterior by partitions of the variables."""

import numpy as np
import sumu

CANDIDATES = 10  # parents; 2^10 sets each, as many as ours
# What its authors use, but shorter chains
SETTINGS = {
    "scoref": "bge",
    "ess": 10,
    "max_id": -1,
    "d": 2,
    "cp_algo": "greedy-lite",
    "cp_path": None,
    "mc3_chains": 16,
    "burn_in": 2000,
    "iterations": 2000,
    "thinning": 5,
    "tolerance": 2.0**-32,
}


def drawn_networks(X, seed=0):
    """Return drawn networks, [i, j] for i -> j, and their scores."""
    m = X.shape[1]
    np.random.seed(seed)  # noqa: NPY002 - the only seed it takes
    rows = sumu.Data(np.ascontiguousarray(X), discrete=False)
    families, scores = sumu.Gadget(data=rows, K=min(CANDIDATES, m - 1), **SETTINGS).sample()
    graphs = np.zeros((len(families), m, m), bool)
    for graph, network in zip(graphs, families, strict=True):
        for child, *parents in network:  # none, or one tuple of them
            graph[list(*parents), child] = True
    return graphs, np.asarray(scores)
