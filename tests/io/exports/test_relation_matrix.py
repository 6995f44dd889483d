import json
import re

import numpy as np
import pandas as pd
import pytest

from sgbn.core.exceptions import InputError
from sgbn.core.gaussian import GaussianNetwork
from sgbn.write.network_files import write_relation_matrix
from sgbn.write.tables import node_table, standardised_weights

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
    return pd.read_csv(
        path, sep="\t", na_values="n/a", keep_default_na=False, float_precision="round_trip"
    )


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
        "group-a_seg-desikankilliany_meas-StandardisedWeight_relmat.tsv",
        "group-a_seg-desikankilliany_meas-StandardisedWeight_relmat.json",
        "group-a_seg-desikankilliany_nodeindices.tsv",
        "group-a_seg-desikankilliany_nodeindices.json",
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


@pytest.mark.parametrize(
    ("stem", "start"),
    [
        ("sub-01_task-rest", "sub-01_task-rest"),
        ("non-responders", "group-nonresponders"),
        ("AD_MCI", "group-ADMCI"),
        ("Köln 2", "group-Koln2"),
        ("患者", "group-[0-9a-f]{8}"),
    ],
)
def test_names_of_files_are_made_of_entities(tmp_path, network, stem, start):
    files = write_relation_matrix(tmp_path / stem, network)
    assert re.fullmatch(f"{start}_meas-StandardisedWeight_relmat.tsv", files[0].name)
    assert json.loads(files[1].read_text())["Group"] == stem


def test_true_names_are_in_the_json(tmp_path, network):
    files = write_relation_matrix(tmp_path / "AD_MCI", network, "dk", group="AD + MCI")
    about = json.loads(files[1].read_text())
    assert (about["Group"], about["Atlas"]) == ("AD + MCI", "desikan_killiany")


def test_the_matrix_of_another_group_is_not_replaced(tmp_path, network):
    write_relation_matrix(tmp_path / "a b", network)
    write_relation_matrix(tmp_path / "a b", network)
    with pytest.raises(InputError, match="holds the group 'a b'"):
        write_relation_matrix(tmp_path / "ab", network)
