"""Networks read back by the tools that they are written for.

What R, Tetrad, Graphviz and pgmpy made of the files is frozen (other_tools.py, other_tools.R).
Graphviz, semopy and pgmpy run anew where they are installed.
"""

import json
import runpy
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sgbn.learn.base import fit_weights
from sgbn.read.program_texts import true_names
from sgbn.write.formats import read_network, write_network

FROZEN = Path(__file__).parent / "other_tools"
NETWORK = runpy.run_path(str(FROZEN.with_suffix(".py")))["network"]()
SUPPORTED = np.zeros((6, 6), bool)
SUPPORTED[1, 0] = SUPPORTED[2, 4] = True


def true_order(found, tmp_path, ending):
    """Places of the network's names in a file that has lost the comments."""
    names = true_names(write_network(tmp_path / f"own.{ending}", NETWORK).read_text())
    there = [names.get(name, name) for name in found.names]
    assert sorted(there) == sorted(NETWORK.names)
    return [there.index(name) for name in NETWORK.names]


@pytest.mark.parametrize(
    ("file", "ending", "name"),
    [
        ("net_graphviz.gv", "dot", "dot"),
        ("net_tetrad.txt", "tetrad", "tetrad"),
        ("net_pgmpy.bif", "bif", "bif"),
        ("net_pgmpy.dagitty", "bif", "dagitty"),
    ],
)
def test_what_a_tool_wrote_is_the_graph_it_was_given(tmp_path, file, ending, name):
    found = read_network(FROZEN / file, name)
    order = true_order(found, tmp_path, ending)
    np.testing.assert_array_equal(found.graph[np.ix_(order, order)], NETWORK.coef != 0)


def test_the_model_of_lavaan_that_pgmpy_wrote_has_all_edges():
    found = read_network(FROZEN / "net_pgmpy.lavaan")  # a node without edges is not in it
    assert len(found.names) == NETWORK.m - 1
    assert np.count_nonzero(found.graph) == NETWORK.n_edges


@pytest.mark.parametrize(
    ("file", "ending"), [("pdag_graphviz.gv", "dot"), ("pdag_tetrad.txt", "tetrad")]
)
def test_a_tool_keeps_the_lines(tmp_path, file, ending):
    found = read_network(FROZEN / file, ending)
    order = true_order(found, tmp_path, ending)
    edges = NETWORK.coef != 0
    wanted = edges | (edges & ~SUPPORTED).T
    np.testing.assert_array_equal(found.graph[np.ix_(order, order)], wanted)


def test_graphviz_keeps_all_numbers(tmp_path):
    found = read_network(FROZEN / "net_graphviz.gv").network
    order = true_order(found, tmp_path, "dot")
    np.testing.assert_allclose(found.coef[np.ix_(order, order)], NETWORK.coef, rtol=1e-8)
    np.testing.assert_allclose(found.intercept[order], NETWORK.intercept, rtol=1e-8)
    np.testing.assert_allclose(found.noise_variance[order], NETWORK.noise_variance, rtol=1e-8)


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_reads_the_file(tmp_path):
    path = write_network(tmp_path / "net.dot", NETWORK)
    subprocess.run(["dot", "-Tdot", path, "-o", tmp_path / "out.gv"], check=True)
    found = read_network(tmp_path / "out.gv").network
    order = true_order(found, tmp_path, "dot")
    np.testing.assert_allclose(found.coef[np.ix_(order, order)], NETWORK.coef, rtol=1e-8)


# lavaan, R


@pytest.fixture(scope="module")
def answer():
    return json.loads((FROZEN / "lavaan.json").read_text())


def numbers(table, columns):
    """Weights, intercepts and variances of a table of parameters, in the order of the columns."""
    place = {name: k for k, name in enumerate(columns)}
    m = len(columns)
    coef, intercept, variance = np.zeros((m, m)), np.zeros(m), np.zeros(m)
    rows = zip(table["lhs"], table["op"], table["rhs"], table["value"], strict=True)
    for child, operator, parent, value in rows:
        if operator == "~1" or parent == "1":
            intercept[place[child]] = value
        elif operator == "~":
            coef[place[parent], place[child]] = value
        else:
            assert child == parent
            variance[place[child]] = value
    return coef, intercept, variance


def test_columns_that_r_has_read_have_the_names_of_the_model(tmp_path, answer):
    names = true_names(write_network(tmp_path / "net.lavaan", NETWORK).read_text())
    assert [names.get(name, name) for name in answer["columns"]] == list(NETWORK.names)


def test_lavaan_reads_the_weights(answer):
    coef, intercept, variance = numbers(answer["fixed"], answer["columns"])
    np.testing.assert_allclose(coef, NETWORK.coef, rtol=1e-8)
    np.testing.assert_allclose(intercept, NETWORK.intercept, rtol=1e-8)
    np.testing.assert_allclose(variance, NETWORK.noise_variance, rtol=1e-8)


def test_the_model_that_lavaan_fits_is_the_network(answer):
    data = np.array(answer["data"])
    wanted = fit_weights(data, NETWORK.coef != 0)
    coef, intercept, _ = numbers(answer["free"], answer["columns"])
    np.testing.assert_allclose(coef, wanted.coef, rtol=1e-5)  # how far lavaan's optimiser goes
    np.testing.assert_allclose(intercept, wanted.intercept, rtol=1e-4, atol=1e-5)
    m = NETWORK.m
    assert answer["df"] == m * (m + 3) / 2 - (NETWORK.n_edges + 2 * m)  # no covariance is added


def test_r_reads_the_numbers_of_the_script_for_bnlearn(answer):
    for j, (family, name) in enumerate(zip(answer["script"].values(), NETWORK.names, strict=True)):
        weights = NETWORK.coef[NETWORK.coef[:, j] != 0, j]
        wanted = [NETWORK.intercept[j], *weights]
        np.testing.assert_allclose(np.atleast_1d(family["coef"]), wanted, rtol=1e-8, err_msg=name)
        np.testing.assert_allclose(family["sd"] ** 2, NETWORK.noise_variance[j], rtol=1e-8)


# semopy, pgmpy


@pytest.mark.parametrize("weights", ["free", "start"])
def test_the_model_that_semopy_fits_is_the_network(tmp_path, answer, weights):
    semopy = pytest.importorskip("semopy", reason="semopy is not installed")
    text = write_network(tmp_path / "net.semopy", NETWORK, weights=weights).read_text()
    names = {true: safe for safe, true in true_names(text).items()}
    columns = [names.get(name, name) for name in NETWORK.names]
    data = np.array(answer["data"])
    model = semopy.ModelMeans(text)
    model.fit(pd.DataFrame(data, columns=columns))
    table = model.inspect().rename(columns={"lval": "lhs", "rval": "rhs", "Estimate": "value"})
    coef, intercept, variance = numbers(table, columns)
    wanted = fit_weights(data, NETWORK.coef != 0)
    np.testing.assert_allclose(coef, wanted.coef, atol=1e-3)  # how far semopy's optimiser goes
    np.testing.assert_allclose(intercept, wanted.intercept, atol=1e-3)
    np.testing.assert_allclose(coef, NETWORK.coef, atol=0.35)  # 80 subjects: 3 standard errors
    assert (variance > 0).all()


def test_semopy_reads_fixed_weights(tmp_path):
    parser = pytest.importorskip("semopy.parser", reason="semopy is not installed")
    text = write_network(tmp_path / "net.semopy", NETWORK, weights="fixed").read_text()
    effects, _ = parser.parse_desc(text)
    names = true_names(text)
    place = {name: k for k, name in enumerate(NETWORK.names)}
    coef = np.zeros_like(NETWORK.coef)
    for child, parents in effects["~"].items():
        for parent, value in parents.items():
            if parent != "1":
                i, j = (place[names.get(name, name)] for name in (parent, child))
                coef[i, j] = float(value)
    np.testing.assert_array_equal(coef, NETWORK.coef)


def test_pgmpy_reads_the_bif_file(tmp_path):
    readwrite = pytest.importorskip("pgmpy.readwrite", reason="pgmpy is not installed")
    path = write_network(tmp_path / "net.bif", NETWORK)
    names = true_names(path.read_text())
    model = readwrite.BIFReader(str(path)).get_model()
    found = {tuple(names.get(name, name) for name in edge) for edge in model.edges()}
    assert found == {(source, target) for source, target, _ in NETWORK.edges().tolist()}
    assert {names.get(name, name) for name in model.nodes()} == set(NETWORK.names)
