import numpy as np

from sgbn import ORSGBN, GaussianNetwork, edge_table


def test_the_strongest_edge_comes_first():
    network = GaussianNetwork([[0, 0.2, -0.9], [0, 0, 0.5], [0, 0, 0]], names=["a", "b", "c"])
    table = edge_table(network)
    assert table.columns.tolist() == ["source", "target", "weight", "weight_std"]
    assert table.iloc[:, :3].to_numpy().tolist() == [
        ["a", "c", -0.9],
        ["b", "c", 0.5],
        ["a", "b", 0.2],
    ]
    sd = np.sqrt(np.diag(network.covariance))
    np.testing.assert_allclose(
        table["weight_std"], [-0.9 / sd[2], 0.5 * sd[1] / sd[2], 0.2 / sd[1]]
    )


def test_units_do_not_decide_which_edge_is_strongest():
    """b is in units a thousand times smaller: its weight is large, its edge is weak."""
    network = GaussianNetwork(
        [[0, 300.0, 0.9], [0, 0, 0], [0, 0, 0]], noise_variance=[1, 1e6, 1], names=["a", "b", "c"]
    )
    assert edge_table(network)["target"].tolist() == ["c", "b"]


def test_a_fitted_learner_will_do(simulate):
    X, _ = simulate(5, 60, 0)
    learner = ORSGBN().fit(X)
    assert edge_table(learner).equals(edge_table(learner.network_))


def test_a_network_without_edges_is_an_empty_table():
    assert edge_table(GaussianNetwork([[0, 0], [0, 0]])).empty
