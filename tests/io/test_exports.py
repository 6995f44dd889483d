from sgbn import GaussianNetwork, edge_table


def test_the_strongest_edge_comes_first():
    network = GaussianNetwork([[0, 0.2, -0.9], [0, 0, 0.5], [0, 0, 0]], names=["a", "b", "c"])
    table = edge_table(network)
    assert table.columns.tolist() == ["source", "target", "weight"]
    assert table.to_numpy().tolist() == [["a", "c", -0.9], ["b", "c", 0.5], ["a", "b", 0.2]]


def test_a_network_without_edges_is_an_empty_table():
    assert edge_table(GaussianNetwork([[0, 0], [0, 0]])).empty
