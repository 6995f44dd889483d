"""Steps that several searches for Markov blankets share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sgbn.core.types import Graph
from sgbn.structure.baselines.partial_correlation import IndependenceTest


def blanket_matrix(blankets: Sequence[Sequence[int]]) -> Graph:
    """Return the blankets as a matrix: ``[i, j]`` is True if j is in the blanket of i."""
    members = np.zeros((len(blankets), len(blankets)), dtype=bool)
    for i, blanket in enumerate(blankets):
        members[i, list(blanket)] = True
    return members


def shrink(test: IndependenceTest, target: int, blanket: Sequence[int]) -> list[int]:
    """Return the blanket without each member that is independent of the target given the others.

    Members are removed one at a time. Members that were added first are tested first.
    """
    for member in blanket:
        rest = [k for k in blanket if k != member]
        if test.strength(target, member, rest) < 1.0:
            return shrink(test, target, rest)
    return list(blanket)
