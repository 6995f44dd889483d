import numpy as np
import pytest

from sgbn import ORSGBN, SGBN, GaussianNetwork, InputError, edge_table


def test_the_strongest_edge_comes_first():
    network = GaussianNetwork([[0, 0.2, -0.9], [0, 0, 0.5], [0, 0, 0]], names=["a", "b", "c"])
    table = edge_table(network)
    assert table.columns.tolist() == ["source", "target", "weight", "weight_std", "direction"]
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


def test_each_edge_says_what_its_direction_rests_on():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 5))
    X[:, 2] += X[:, 0] + X[:, 1]  # a collision, which data show
    X[:, 4] += X[:, 3]  # a pair, which they do not
    learner = SGBN().fit(X)
    kinds = edge_table(learner).set_index(["source", "target"])["direction"].to_dict()
    assert kinds[("x0", "x2")] == kinds[("x1", "x2")] == "compelled"
    assert {kinds.get(("x3", "x4")), kinds.get(("x4", "x3"))} == {"reversible", None}
    assert edge_table(learner.network_).equals(edge_table(learner))
    known = edge_table(SGBN(tiers=[["x4"], ["x3"]]).fit(X)).set_index(["source", "target"])
    assert known.loc[("x4", "x3"), "direction"] == "prior knowledge"
    equal = edge_table(SGBN(noise="equal").fit(X)).set_index(["source", "target"])
    assert equal.loc[("x3", "x4"), "direction"] == "equal variances"


def test_a_network_without_edges_is_an_empty_table():
    assert edge_table(GaussianNetwork([[0, 0], [0, 0]])).empty


def test_what_is_no_network_is_told_apart(simulate):
    with pytest.raises(InputError, match="SGBN is no network and no fitted learner"):
        edge_table(SGBN())
