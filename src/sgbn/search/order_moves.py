"""The one change that all searches over orders make: a variable moves to another place."""

from __future__ import annotations

from sgbn.jit import jit_loops


@jit_loops
def move_to(order, rank, x, place):  # type: ignore[no-untyped-def]
    """Move x to `place`, in place; the variables between close up.

    ``rank[order[i]] == i`` before and afterwards. Only the places between are touched: most moves
    are short, and orders may be long.
    """
    i = rank[x]
    while i < place:
        order[i] = order[i + 1]
        rank[order[i]] = i
        i += 1
    while i > place:
        order[i] = order[i - 1]
        rank[order[i]] = i
        i -= 1
    order[place] = x
    rank[x] = place
