import numpy as np
import pytest

from sgbn.cohort.simulate import NETWORKS, load_network
from sgbn.core.exceptions import InputError
from sgbn.core.graph import is_dag

COUNTS = {  # nodes and arcs, as in the paper's Section 5.2
    "factors": (27, 68),
    "alarm": (37, 46),
    "barley": (48, 84),
    "carpo": (61, 74),
    "chain": (7, 6),
    "hailfinder": (56, 66),
    "insurance": (27, 52),
    "mildew": (35, 46),
    "water": (32, 66),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_sizes_are_those_of_the_paper(name):
    network = load_network(name)
    assert (len(network.names), int(network.graph.sum())) == COUNTS[name]
    assert is_dag(network.graph)
    assert len(set(network.names)) == len(network.names)


def test_factors_are_divisors():
    graph, names = load_network("Factors")
    number = np.array([int("".join(filter(str.isdigit, name))) for name in names])
    divides = (number[None, :] % number[:, None] == 0) & (number[:, None] < number[None, :])
    assert np.array_equal(graph, divides)


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(InputError, match=r"'asia'\. Use one of factors, alarm"):
        load_network("asia")
