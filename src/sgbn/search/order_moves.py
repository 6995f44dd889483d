"""The step that all searches over orders share: one variable moves to another place."""

from __future__ import annotations

from sgbn.core.jit import jit_loops


@jit_loops
def move_to(order, rank, x, place):  # type: ignore[no-untyped-def]
    """Move x to `place`, and shift the variables in between by one; changes `order` and `rank`.

    `rank` is the inverse of `order` before and after the move.
    """
    # Only the places in between are written: most moves are short, and orders may be long.
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
