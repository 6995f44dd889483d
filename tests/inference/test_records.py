import numpy as np

from sgbn.inference.difference_tables import records


def test_columns_keep_their_order_and_types():
    table = records({"region": np.array(["a", "b"], object), "p": np.array([0.1, 0.2])})
    assert table.dtype.names == ("region", "p")
    assert table.tolist() == [("a", 0.1), ("b", 0.2)]
    assert table["p"].dtype == float
