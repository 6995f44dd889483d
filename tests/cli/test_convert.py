import numpy as np
import pytest

from sgbn.cli.main import main
from sgbn.cli.options import options_of
from sgbn.core.gaussian import GaussianNetwork
from sgbn.write.formats import FORMATS, read_network
from sgbn.write.model_files import save
from sgbn.write.network_files import write_node_link

TO = next(option.kind["choices"] for option in options_of("convert") if option.name == "to")


@pytest.fixture
def network():
    coef = np.array([[0, 0.5, 0], [0, 0, -1 / 3], [0, 0, 0]])
    return GaussianNetwork(coef, [1, 2, 3], [1, 0.5, 2], ["Left-Insula", "b c", "d"])


@pytest.fixture
def source(tmp_path, network):
    supported = np.zeros((3, 3), bool)
    supported[0, 1] = True
    return str(write_node_link(tmp_path / "CTR.json", network, supported=supported))


def test_all_formats_can_be_asked_for():
    assert tuple(FORMATS) == TO


@pytest.mark.parametrize("name", TO)
def test_the_network_of_a_results_folder_is_converted(tmp_path, network, source, name, capsys):
    out = tmp_path / "out"
    assert main(["convert", source, "--to", name, "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"Wrote {out}.\n"
    found = read_network(out, name)
    assert found.names == network.names
    np.testing.assert_array_equal(found.graph, network.coef != 0)


def test_without_a_file_the_text_is_printed(source, capsys):
    words = ["convert", source, "--to", "tetrad", "--directions", "supported"]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "1. Left-Insula --> b_c\n2. b_c --- d\n" in printed


def test_weights_of_a_model_are_fixed(source, capsys):
    assert main(["convert", source, "--to", "semopy", "--weights", "fixed"]) == 0
    assert "b_c ~ 0.5*Left_Insula" in capsys.readouterr().out


def test_a_saved_network_and_a_file_of_a_tool_are_read(tmp_path, network, capsys):
    model = save(network, tmp_path / "net.sgbn")
    assert main(["convert", str(model), "--to", "dot", "--out", str(tmp_path / "n.txt")]) == 0
    words = ["convert", str(tmp_path / "n.txt"), "--from", "dot", "--to", "bnlearn-r"]
    assert main([*words, "--out", str(tmp_path / "n.R")]) == 0
    found = read_network(tmp_path / "n.R").network
    np.testing.assert_array_equal(found.coef, network.coef)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--to", "bif", "--directions", "cpdag"], "without a direction"),
        (["--to", "dot", "--weights", "fixed"], "lavaan and semopy"),
        (["--to", "dot", "--from", "tetrad"], "CTR.json: line 1: expected 'Graph Nodes:'"),
    ],
)
def test_what_cannot_be_done_is_explained(source, words, message, capsys):
    assert main(["convert", source, *words]) == 1
    assert message in capsys.readouterr().err


def test_a_folder_and_a_missing_file_are_said(tmp_path, capsys):
    assert main(["convert", str(tmp_path), "--to", "dot"]) == 1
    assert "is a folder. Give a file, such as networks/GROUP.json" in capsys.readouterr().err
    assert main(["convert", str(tmp_path / "none.json"), "--to", "dot"]) == 1
    assert "does not exist" in capsys.readouterr().err
