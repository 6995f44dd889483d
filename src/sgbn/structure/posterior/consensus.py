"""The consensus of many networks: one DAG with the pairs that most of them join."""

from __future__ import annotations

import numpy as np

from sgbn.core.types import Array, Graph

ROUND_OFF = 1e-9  # shares are sums of floats, and may miss a threshold by this much


def consensus(
    arrows: Array,
    threshold: float = 0.5,
    other_way: float = 1.0,
    max_parents: int | None = None,
) -> Graph:
    """Return the DAG of the pairs that at least a share `threshold` of the networks joins.

    Each edge has the more frequent direction. The surest directions come first. If a direction
    would close a cycle, the edge is reversed. If no network has the reversed edge, it is left out.
    If both directions are equally frequent, the edge leads from the earlier to the later variable.

    Parameters
    ----------
    arrows : ndarray of shape (m, m)
        Share of the networks with i -> j.
    threshold : float
        A pair is joined if the share of its more frequent direction, plus `other_way` times the
        share of the opposite direction, is at least this.
    other_way : float
        With 1, all networks that join a pair count. With a smaller number, a pair whose direction
        is open must be joined by more networks. This takes into account that a wrong direction is
        an error, too.
    max_parents : int, optional
        The largest number of parents of a variable. The surest parents are kept.

    Returns
    -------
    ndarray of bool, shape (m, m)
        ``[i, j]`` is True for i -> j.
    """
    more, less = np.maximum(arrows, arrows.T), np.minimum(arrows, arrows.T)
    i, j = np.nonzero(np.triu(more + other_way * less >= threshold - ROUND_OFF, 1))
    lead = arrows[i, j] - arrows[j, i]
    graph = np.zeros(arrows.shape, bool)
    most = len(graph) if max_parents is None else max_parents
    # [i, j] is True if a directed path leads from i to j, and on the diagonal.
    leads_to = np.eye(len(graph), dtype=bool)
    # Rounded, so that round-off of shares does not decide between equally sure pairs.
    for k in np.argsort(-np.round(np.abs(lead), 9), kind="stable"):
        source, target = (i[k], j[k]) if lead[k] > -ROUND_OFF else (j[k], i[k])
        if leads_to[target, source]:
            source, target = target, source
        if arrows[source, target] > 0 and graph[:, target].sum() < most:
            graph[source, target] = True
            # Now paths lead from all ancestors of the source to all descendants of the target.
            leads_to |= np.outer(leads_to[:, source], leads_to[target])
    return graph
