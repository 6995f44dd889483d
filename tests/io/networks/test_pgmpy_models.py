import sys

import networkx as nx
import numpy as np
import pytest

from sgbn.core.exceptions import InputError
from sgbn.write.formats import from_pgmpy, to_pgmpy


def test_without_pgmpy_the_message_says_what_to_install(small, monkeypatch):
    monkeypatch.setitem(sys.modules, "pgmpy.models", None)
    with pytest.raises(InputError, match=r'pip install "sgbn\[pgmpy\]"'):
        to_pgmpy(small)


def test_the_weights_are_read_back(nasty):
    pytest.importorskip("pgmpy", reason="pgmpy comes with the extra of this name")
    model = to_pgmpy(nasty)
    assert model.check_model()
    found = from_pgmpy(model)
    assert found.names == nasty.names
    np.testing.assert_array_equal(found.network.coef, nasty.coef)
    np.testing.assert_array_equal(found.network.intercept, nasty.intercept)
    np.testing.assert_allclose(found.network.noise_variance, nasty.noise_variance, rtol=1e-12)


def test_pgmpy_implies_the_same_distribution(small):
    pytest.importorskip("pgmpy", reason="pgmpy comes with the extra of this name")
    model = to_pgmpy(small)
    mean, covariance = model.to_joint_gaussian()
    order = [small.names.index(name) for name in nx.topological_sort(model)]
    np.testing.assert_allclose(mean, small.mean[order], atol=1e-8)  # pgmpy rounds to 8 digits
    np.testing.assert_allclose(covariance, small.covariance[np.ix_(order, order)], atol=1e-8)


def test_a_graph_without_weights_is_a_graph(small):
    graph = small.to_networkx()
    found = from_pgmpy(graph)
    np.testing.assert_array_equal(found.graph, small.coef != 0)
    assert found.network is None
    with pytest.raises(InputError, match="graph of pgmpy"):
        from_pgmpy("model")
