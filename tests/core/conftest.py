"""All DAGs on four nodes, for tests by brute force."""

from itertools import combinations, product

import numpy as np
import pytest

from sgbn.core.equivalence import skeleton, v_structures
from sgbn.core.graph import is_dag


def all_dags(m):
    """Every DAG on m nodes, by brute force over the three states of each pair."""
    pairs = list(combinations(range(m), 2))
    for states in product(range(3), repeat=len(pairs)):
        A = np.zeros((m, m), bool)
        for (i, j), state in zip(pairs, states, strict=True):
            A[i, j], A[j, i] = state == 1, state == 2
        if is_dag(A):
            yield A


@pytest.fixture(scope="session")
def classes():
    """Equivalence classes of the DAGs on 4 nodes: same skeleton, same v-structures."""
    by_class = {}
    for A in all_dags(4):
        by_class.setdefault((skeleton(A).tobytes(), tuple(v_structures(A))), []).append(A)
    return list(by_class.values())
