import json

import numpy as np
import pandas as pd
import pytest

from sgbn import GaussianNetwork, InputError
from sgbn.io import node_table, write_relation_matrix
from sgbn.io.exports.network_tables import standardised_weights

NASTY = ["<script>alert(1)</script>", "=cmd()", 'a, "b"', "脑 ü", "lh_insula", "Brain-Stem"]

# Of the sidecar of a matrix, by BEP017
REQUIRED = [
    "NodeFiles",
    "RelationshipMeasure",
    "Weighted",
    "Directed",
    "ValidDiagonal",
    "StorageFormat",
    "Software",
]


@pytest.fixture
def network():
    coef = np.zeros((6, 6))
    coef[3, 0], coef[0, 1], coef[3, 4] = 0.5, -1 / 3, 2.0
    return GaussianNetwork(coef, names=NASTY)


def read(path):
    return pd.read_csv(path, sep="\t", na_values="n/a", keep_default_na=False)


def test_the_matrix_is_read_back_directed(tmp_path, network):
    files = write_relation_matrix(tmp_path / "group-a", network)
    matrix = read(files[0])
    assert matrix.columns.tolist() == NASTY
    np.testing.assert_array_equal(matrix.to_numpy(), standardised_weights(network))
    assert matrix["=cmd()"][0] < 0 == matrix[NASTY[0]][1]


def test_the_sidecar_says_what_the_proposal_requires(tmp_path, network):
    files = write_relation_matrix(tmp_path / "group-a", network)
    about = json.loads(files[1].read_text())
    assert set(REQUIRED) <= set(about)
    assert about["Weighted"] is about["Directed"] is True
    assert about["ValidDiagonal"] is about["NonNegative"] is False
    assert [tmp_path / name for name in about["NodeFiles"]] == [files[2]]
    assert "Row i, column j" in about["MeasureDescription"]


def test_the_node_file_names_rows_and_columns(tmp_path, network):
    files = write_relation_matrix(tmp_path / "group-a", network, "dk")
    assert [path.name for path in files] == [
        "group-a_relmat.tsv",
        "group-a_relmat.json",
        "group-a_nodeindices.tsv",
        "group-a_nodeindices.json",
    ]
    nodes, wanted = read(files[2]), node_table(network, "dk")
    assert nodes["index"].tolist() == list(range(6))
    assert nodes["name"].tolist() == NASTY
    np.testing.assert_array_equal(nodes[["x", "y", "z"]], wanted[["x", "y", "z"]])
    assert nodes["hemisphere"].fillna("").tolist() == ["", "", "", "", "L", ""]
    assert nodes["lobe"].isna().tolist() == [True] * 4 + [False] * 2
    assert nodes.columns.tolist() == list(json.loads(files[3].read_text()))


def test_a_name_that_would_end_a_line_is_refused(tmp_path):
    with pytest.raises(InputError, match="Rename it"):
        write_relation_matrix(tmp_path / "a", GaussianNetwork([[0]], names=["a\tb"]))
    assert not list(tmp_path.iterdir())
