import numpy as np
import pandas as pd
import pytest

from sgbn.cohort.atlas import load_atlas
from sgbn.core.exceptions import InputError
from sgbn.core.gaussian import GaussianNetwork
from sgbn.inference.confidence import edge_confidence
from sgbn.learn.confidence import MIN_ADJACENCY, MIN_DIRECTION
from sgbn.learn.ensemble import SGBNEnsemble
from sgbn.learn.sgbn import SGBN
from sgbn.paper.or_sgbn import ORSGBN
from sgbn.write.tables import edge_table, node_table, standardised_weights, with_columns

COLUMNS = ["source", "target", "weight", "weight_std", "supported", "graph_direction"]


def test_the_strongest_edge_comes_first():
    network = GaussianNetwork([[0, 0.2, -0.9], [0, 0, 0.5], [0, 0, 0]], names=["a", "b", "c"])
    table = edge_table(network)
    assert table.columns.tolist() == COLUMNS
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
    kinds = edge_table(learner).set_index(["source", "target"])["graph_direction"].to_dict()
    assert kinds[("x0", "x2")] == kinds[("x1", "x2")] == "compelled"
    assert {kinds.get(("x3", "x4")), kinds.get(("x4", "x3"))} == {"reversible", None}
    assert edge_table(learner.network_).equals(edge_table(learner))
    known = edge_table(SGBN(tiers=[["x4"], ["x3"]]).fit(X)).set_index(["source", "target"])
    assert known.loc[("x4", "x3"), "graph_direction"] == "prior knowledge"
    equal = edge_table(SGBN(noise="equal").fit(X)).set_index(["source", "target"])
    assert equal.loc[("x3", "x4"), "graph_direction"] == "equal variances"


@pytest.fixture(scope="module")
def collision():
    """Rows in which only x0 -> x2 <- x1 has a direction that halves agree on."""
    X = np.random.default_rng(0).standard_normal((300, 4))
    X[:, 2] += X[:, 0] + X[:, 1]
    return X


def test_an_ensemble_says_which_directions_are_supported(collision):
    learner = SGBNEnsemble(n_chains=4, n_pairs=5, min_direction=0.75).fit(collision)
    table = edge_table(learner).set_index(["source", "target"])
    for (source, target), row in table.iterrows():
        i, j = int(source[1]), int(target[1])
        assert row["supported"] == learner.supported_[i, j]
        assert row["adjacent"] == learner.adjacency_[i, j]
        assert row["this_way"] == learner.arrow_[i, j] / learner.adjacency_[i, j]
        assert (row["low"], row["high"]) == (learner.coef_low_[i, j], learner.coef_high_[i, j])
        assert row["low"] < row["weight"] < row["high"]
    assert table.loc[[("x0", "x2"), ("x1", "x2")], "supported"].all()


def test_nothing_is_supported_unless_something_says_so(collision):
    learner = SGBN().fit(collision)
    assert not edge_table(learner)["supported"].any()
    assert "adjacent" not in edge_table(learner)
    assert edge_table(learner, supported=learner.coef_ > 0)["supported"].all()
    halves = edge_confidence(collision, SGBN(), n_pairs=3)
    table = edge_table(learner, confidence=halves)
    is_supported = (table.adjacent >= MIN_ADJACENCY) & (table.this_way >= MIN_DIRECTION)
    assert table["supported"].tolist() == is_supported.tolist()
    assert table["supported"].any()
    with pytest.raises(InputError, match=r"supported has shape \(2, 2\).*4 regions"):
        edge_table(learner, supported=np.ones((2, 2)))


def test_a_network_without_edges_is_an_empty_table():
    assert edge_table(GaussianNetwork([[0, 0], [0, 0]])).empty


def test_what_is_no_network_is_told_apart(simulate):
    with pytest.raises(InputError, match="SGBN is neither a network nor a fitted learner"):
        edge_table(SGBN())


def test_a_node_knows_its_place_and_its_strength():
    names = ["lh_insula_thickness", "Left-Hippocampus", "Brain-Stem", "my region"]
    coef = np.zeros((4, 4))
    coef[0, 1], coef[2, 1], coef[1, 3] = 0.5, -2.0, 3.0
    network = GaussianNetwork(coef, names=names)
    table = node_table(network, "dk").set_index("region")
    assert list(table.index) == names
    assert table.loc[names[0], "label"] == "lh_insula"
    assert table["hemisphere"].tolist() == ["L", "L", "", ""]
    assert table.loc["my region", ["label", "lobe"]].tolist() == ["", "unknown"]
    place = load_atlas("dk").find("lh_insula")
    assert table.loc[names[0], ["x", "y", "z"]].tolist() == [place.x, place.y, place.z]
    assert table[["x", "y", "z"]].isna().all(axis=1).tolist() == [False, False, False, True]
    assert table["parents"].tolist() == [0, 2, 0, 1]
    assert table["children"].tolist() == [1, 1, 1, 0]
    edges = edge_table(network)
    for end, column in (("source", "out_strength"), ("target", "in_strength")):
        sums = edges["weight_std"].abs().groupby(edges[end]).sum()
        np.testing.assert_allclose(table[column], sums.reindex(names, fill_value=0.0))


def test_without_an_atlas_no_place_is_known(simulate):
    X, _ = simulate(5, 60, 0)
    learner = ORSGBN().fit(X)
    table = node_table(learner)
    assert table[["x", "y", "z"]].isna().all(axis=None)
    assert (table["lobe"] == "unknown").all()
    assert table.equals(node_table(learner.network_))
    assert table["parents"].sum() == table["children"].sum() == len(edge_table(learner))


def test_an_edge_of_what_does_not_vary_has_no_standardised_weight():
    network = GaussianNetwork([[0, 1.0], [0, 0]], names=["a", "b"])
    with pytest.raises(InputError, match=r"'a' -> 'b' has no standardised weight"):
        standardised_weights(network.do({"a": 1.0}))
    assert np.count_nonzero(standardised_weights(network.do({"b": 1.0}))) == 0


def test_further_columns_are_found_by_the_ends_of_an_edge():
    network = GaussianNetwork([[0, 0.2, -0.9], [0, 0, 0.5], [0, 0, 0]], names=["a", "b", "c"])
    more = pd.DataFrame({"source": ["b", "c", "a"], "target": ["c", "a", "b"], "p": [0.1, 0.2, 1]})
    table = with_columns(edge_table(network), more)
    assert table["source"].tolist() == ["a", "b", "a"]
    np.testing.assert_array_equal(table["p"], [np.nan, 0.1, 1.0])
    assert with_columns(edge_table(network), None).equals(edge_table(network))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"source": ["a"], "p": [1]}, "columns 'source' and 'target'"),
        ({"source": ["a"], "target": ["b"], "weight": [1]}, "of the same name: 'weight'. Rename"),
        ({"source": ["a", "a"], "target": ["b", "b"]}, "two rows for 'a' -> 'b'"),
    ],
)
def test_columns_that_belong_to_no_one_edge_are_refused(more, message):
    edges = edge_table(GaussianNetwork([[0, 1], [0, 0]], names=["a", "b"]))
    with pytest.raises(InputError, match=message):
        with_columns(edges, pd.DataFrame(more))
