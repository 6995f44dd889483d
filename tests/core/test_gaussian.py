import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from tests.codes import refused

from sgbn.core.gaussian import GaussianNetwork, html_repr
from sgbn.learn.base import fit_weights


@pytest.fixture
def network(simulate):
    rng = np.random.default_rng(5)
    _, drawn = simulate(6, 10, 4)
    names = ["hippocampus", "insula", "amygdala", "thalamus", "cuneus", "precuneus"]
    return GaussianNetwork(drawn.coef, rng.standard_normal(6), drawn.noise_variance, names)


def test_the_log_likelihood_is_that_of_the_implied_normal_distribution(network):
    X = network.sample(20, 0)
    expected = multivariate_normal(network.mean, network.covariance).logpdf(X)
    np.testing.assert_allclose(network.log_likelihood(X), expected, rtol=1e-10)


def test_mean_and_covariance_follow_from_the_equations(network):
    total = np.linalg.inv(np.eye(6) - network.coef)
    np.testing.assert_allclose(network.mean, network.intercept @ total, atol=1e-12)
    expected = total.T @ np.diag(network.noise_variance) @ total
    np.testing.assert_allclose(network.covariance, expected, atol=1e-12)


def test_the_gradient_equals_finite_differences(network):
    X = network.sample(7, 1)
    coef_gradient, intercept_gradient = network.gradient(X)
    # Only weights that keep the graph acyclic can be moved: those along a topological order.
    place = np.argsort(network.topological_order)
    step = 1e-6

    def likelihood(coef, intercept):
        moved = GaussianNetwork(coef, intercept, network.noise_variance)
        return moved.log_likelihood(X).sum()

    for i in range(6):
        shift = np.zeros(6)
        shift[i] = step
        numeric = (
            likelihood(network.coef, network.intercept + shift)
            - likelihood(network.coef, network.intercept - shift)
        ) / (2 * step)
        assert intercept_gradient[i] == pytest.approx(numeric, rel=1e-6, abs=1e-6)
        for j in range(6):
            if place[i] < place[j]:
                shift = np.zeros((6, 6))
                shift[i, j] = step
                numeric = (
                    likelihood(network.coef + shift, network.intercept)
                    - likelihood(network.coef - shift, network.intercept)
                ) / (2 * step)
                assert coef_gradient[i, j] == pytest.approx(numeric, rel=1e-6, abs=1e-6)
    assert np.all(np.diag(coef_gradient) == 0)


def test_coefficients_sd_likelihood_and_covariance_equal_bnlearn(bnlearn, adjacency):
    """Reference: bnlearn's bn.fit, logLik and gbn2mvnorm for a given DAG."""
    for case in bnlearn["cases"]:
        columns, fit = case["columns"], case["fit"]
        place = {name: k for k, name in enumerate(columns)}
        X = np.array(case["data"])
        network = fit_weights(X, adjacency(case["true"], columns), columns)
        for target, values in fit["coefficients"].items():
            j = place[target]
            assert network.intercept[j] == pytest.approx(values["(Intercept)"], rel=1e-8)
            for source, weight in values.items():
                if source != "(Intercept)":
                    assert network.coef[place[source], j] == pytest.approx(weight, rel=1e-8)
            assert np.sqrt(network.noise_variance[j]) == pytest.approx(fit["sd"][target], rel=1e-8)
            assert network.mean[j] == pytest.approx(fit["mean"][target], rel=1e-8, abs=1e-10)
        order = [place[name] for name in fit["covariance"]["nodes"]]
        values = np.array(next(v for k, v in fit["covariance"].items() if k != "nodes"))
        np.testing.assert_allclose(network.covariance[np.ix_(order, order)], values, rtol=1e-8)
        assert network.log_likelihood(X).sum() == pytest.approx(fit["loglik"], rel=1e-8)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"coef": np.zeros((2, 3))}, "matrix.shape"),
        ({"coef": [[0, np.nan], [0, 0]]}, "values.finite"),
        ({"coef": [[0, 1], [1, 0]]}, "graph.cycle"),
        ({"coef": np.zeros((2, 2)), "intercept": [1.0]}, "argument.shape"),
        ({"coef": np.zeros((2, 2)), "noise_variance": [1.0, -1.0]}, "network.negative-noise"),
        ({"coef": np.zeros((2, 2)), "names": ["a", "a"]}, "names.twice"),
        ({"coef": np.zeros((2, 2)), "names": ["a"]}, "argument.shape"),
    ],
)
def test_bad_arguments_are_refused(arguments, code):
    with refused(code):
        GaussianNetwork(**arguments)


def test_conditional_distribution_is_the_gaussian_one(network):
    given = {"insula": 0.3, "cuneus": -1.0}
    result = network.conditional(given)
    seen, rest = [1, 4], [0, 2, 3, 5]
    C, mean = network.covariance, network.mean
    gain = C[np.ix_(rest, seen)] @ np.linalg.inv(C[np.ix_(seen, seen)])
    np.testing.assert_allclose(result.mean, mean[rest] + gain @ ([0.3, -1.0] - mean[seen]))
    np.testing.assert_allclose(
        result.covariance, C[np.ix_(rest, rest)] - gain @ C[np.ix_(seen, rest)], atol=1e-12
    )
    assert result.names == ("hippocampus", "amygdala", "thalamus", "precuneus")
    np.testing.assert_array_equal(network.conditional({}).mean, mean)


def test_do_cuts_the_edges_into_a_variable_and_keeps_those_out_of_it(network):
    after = network.do({"amygdala": 2.0})
    total = np.linalg.inv(np.eye(6) - network.coef)
    assert after.mean[2] == 2.0
    assert after.covariance[2, 2] == 0.0
    assert np.all(after.coef[:, 2] == 0)
    np.testing.assert_array_equal(after.coef[2], network.coef[2])
    # Effect of a unit of do() on a descendant: the sum over directed paths.
    further = network.do({"amygdala": 3.0})
    np.testing.assert_allclose(further.mean - after.mean, total[2], atol=1e-12)


def test_do_differs_from_seeing_where_there_is_a_common_cause():
    coef = np.zeros((3, 3))
    coef[0, 1] = coef[0, 2] = 1.0
    net = GaussianNetwork(coef, names=["cause", "a", "b"])
    assert net.conditional({"a": 2.0}).mean[1] == pytest.approx(1.0)
    assert net.do({"a": 2.0}).mean[2] == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("use", "code"),
    [
        (lambda net: net.log_likelihood(np.zeros((2, 5))), "columns.number"),
        (lambda net: net.log_likelihood(np.full((2, 6), np.nan)), "cells.gaps"),
        (lambda net: net.conditional({"insula": 1.0, "cuneus": np.nan}), "values.finite"),
        (lambda net: net.conditional({"putamen": 1.0}), "names.unknown"),
        (lambda net: net.do({"insula": 1.0}).conditional({"insula": 1.0}), "evidence.singular"),
    ],
)
def test_rows_and_evidence_that_cannot_be_used_are_refused(network, use, code):
    with refused(code):
        use(network)


def test_a_network_after_do_has_no_density_but_can_be_sampled(network):
    after = network.do({"insula": 1.5})
    assert np.all(after.sample(10, 0)[:, 1] == 1.5)
    for call in (after.log_likelihood, after.gradient):
        with refused("network.no-noise"):
            call(np.zeros((1, 6)))


def test_samples_have_the_implied_moments_and_repeat_with_the_seed(network):
    X = network.sample(200_000, 3)
    np.testing.assert_allclose(X.mean(axis=0), network.mean, atol=0.05)
    np.testing.assert_allclose(np.cov(X.T), network.covariance, atol=0.08)
    assert np.array_equal(network.sample(5, 1), network.sample(5, 1))
    assert not np.array_equal(network.sample(5, 1), network.sample(5, 2))


def test_edges_are_records(network):
    edges = network.edges()
    assert edges.dtype.names == ("source", "target", "weight")
    assert len(edges) == network.n_edges
    index = {name: k for k, name in enumerate(network.names)}
    for source, target, weight in edges:
        assert network.coef[index[source], index[target]] == weight


def test_networkx_and_back(network):
    graph = network.to_networkx()
    assert nx.is_directed_acyclic_graph(graph)
    back = GaussianNetwork.from_networkx(graph)
    assert back.names == network.names
    for field in ("coef", "intercept", "noise_variance"):
        np.testing.assert_array_equal(getattr(back, field), getattr(network, field))
    plain = nx.DiGraph([("a", "b")])
    with refused("edges.weight"):
        GaussianNetwork.from_networkx(plain)


def test_a_network_cannot_be_changed(network):
    for field in ("coef", "intercept", "noise_variance", "mean", "covariance"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(network, field)[0] = 1.0


def test_columns_of_a_table_are_found_by_name(network):
    table = pd.DataFrame(network.sample(5, 0), columns=network.names)
    expected = network.log_likelihood(table.to_numpy())
    np.testing.assert_array_equal(network.log_likelihood(table.iloc[:, ::-1]), expected)
    np.testing.assert_array_equal(network.log_likelihood(table.assign(age=70)), expected)
    with refused("columns.missing"):
        network.log_likelihood(table.rename(columns={"insula": "putamen"}))


def test_evidence_may_be_a_series_and_weights_a_labelled_table(network):
    evidence = {"insula": 0.3, "cuneus": -1.0}
    first, second = network.conditional(evidence), network.conditional(pd.Series(evidence))
    np.testing.assert_array_equal(first.mean, second.mean)
    labelled = pd.DataFrame(network.coef, index=network.names, columns=network.names)
    assert GaussianNetwork(labelled).names == network.names
    with refused("matrix.names"):
        GaussianNetwork(labelled.iloc[::-1])


def test_a_notebook_shows_the_strongest_edges_with_their_names_escaped():
    coef = np.diag([0.1, 9.0, 0.3, 0.4, 0.5, 0.6], 1)
    names = ["<b>", *"bcdefg"]
    page = GaussianNetwork(coef, names=names)._repr_html_()
    assert page.count("<tr>") == 1 + 5
    assert "<td>b</td><td>c</td><td>9</td>" in page
    assert "&lt;b&gt;" not in page  # its edge is the weakest
    assert "&lt;b&gt;" in GaussianNetwork(coef[:2, :2], names=names[:2])._repr_html_()
    assert "<b>b" not in page


def test_a_title_a_table_and_lines_with_every_name_escaped():
    page = html_repr("<b>", ["a & b"], ("<i>", "p"), [("<script>", 0.04999), ("x", 12)])
    assert page == (
        "<div><p><b>&lt;b&gt;</b></p>"
        "<table><thead><tr><th>&lt;i&gt;</th><th>p</th></tr></thead>"
        "<tbody><tr><td>&lt;script&gt;</td><td>0.05</td></tr><tr><td>x</td><td>12</td></tr></tbody>"
        "</table><p>a &amp; b</p></div>"
    )
