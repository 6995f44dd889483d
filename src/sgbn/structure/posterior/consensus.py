"""One DAG that stands for many: the arrows that are likely, the surest first."""

from __future__ import annotations

import numpy as np

from sgbn.types import Array, Graph

ROUND_OFF = 1e-9  # shares are sums of floats: a threshold that is met may be missed by this


def consensus(
    arrows: Array,
    threshold: float = 0.5,
    other_way: float = 1.0,
    max_parents: int | None = None,
) -> Graph:
    """DAG of the pairs that networks join with a share of at least `threshold`.

    Each edge has the more frequent direction. The surest directions come first; one that would
    close a cycle is turned round, or left out if no network had it that way. Of directions that
    are exactly even, the one from the earlier variable is taken.

    Parameters
    ----------
    arrows : ndarray of shape (m, m)
        Share of the networks with i -> j.
    threshold : float
        Least sum that joins a pair: the share of its more frequent direction, and `other_way` times
        that of the other one.
    other_way : float
        With 1 all networks that join a pair count. An edge drawn the wrong way round is an error
        too: with less, a pair whose direction is open must be surer to be drawn.
    max_parents : int, optional
        Most parents of a variable: the surest ones.

    Returns
    -------
    ndarray of bool, shape (m, m)
        ``[i, j]`` is i -> j.
    """
    more, less = np.maximum(arrows, arrows.T), np.minimum(arrows, arrows.T)
    i, j = np.nonzero(np.triu(more + other_way * less >= threshold - ROUND_OFF, 1))
    lead = arrows[i, j] - arrows[j, i]
    graph = np.zeros(arrows.shape, bool)
    most = len(graph) if max_parents is None else max_parents
    # [i, j]: a directed path leads from i to j; each variable leads to itself
    leads_to = np.eye(len(graph), dtype=bool)
    # rounded, so that round-off of shares does not decide between equally sure pairs
    for k in np.argsort(-np.round(np.abs(lead), 9), kind="stable"):
        source, target = (i[k], j[k]) if lead[k] > -ROUND_OFF else (j[k], i[k])
        if leads_to[target, source]:
            source, target = target, source
        if arrows[source, target] > 0 and graph[:, target].sum() < most:
            graph[source, target] = True
            # all that lead to the source now lead to all that the target leads to
            leads_to |= np.outer(leads_to[:, source], leads_to[target])
    return graph
