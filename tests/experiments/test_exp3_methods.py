import numpy as np
import pytest
from sklearn.base import clone

from sgbn.experiments.exp3_methods import (
    BIASES,
    MOVED,
    NETWORKS,
    RULES,
    Method,
    at_base,
    defaults,
    grid,
    over_edges,
    over_slack,
    over_sparsity,
)


@pytest.fixture(scope="module")
def groups():
    """Two groups that differ in the means of some regions, and nothing else."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((160, 8)) + 0.7 * rng.standard_normal((160, 1))
    X[::2, :4] += 0.9
    return X, np.tile(["MCI", "NC"], 80)


def test_every_method_has_a_name_of_its_own():
    labels = [method.label for method in grid()]
    assert len(set(labels)) == len(labels) == len(set(grid()))


def test_one_factor_is_varied_at_a_time():
    for method in grid():
        base = Method(method.network, method.bias, method.rule)
        assert sum(a != b for a, b in zip(method, base, strict=True)) <= 1


def test_the_grid_holds_every_row_of_the_figure():
    assert len(at_base()) == len(NETWORKS) * len(BIASES) * len(RULES)
    rows = [*at_base()]
    for bias in BIASES:
        rows += [*over_sparsity(bias), *over_edges(bias), *over_slack(bias)]
    assert set(rows) == set(grid())


@pytest.mark.parametrize("method", at_base(), ids=lambda method: method.label)
def test_every_method_classifies(groups, method):
    X, y = groups
    classifier = clone(method.make()).fit(X[:100], y[:100])
    least = 0.4 if method.network not in MOVED and method.bias == "penalised" else 0.6
    assert classifier.score(X[100:], y[100:]) > least


def test_a_penalised_bias_loses_the_means_and_a_move_gives_them_back():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((160, 30)) + 0.5 * rng.standard_normal((160, 1))
    X[::2, :15] += 0.9
    y = np.tile(["MCI", "NC"], 80)
    scores = {
        (network, bias): Method(network, bias, alpha=0.5).make().fit(X, y).score(X, y)
        for network in ("OR-SGBN", "KL-SGBN", "MM-SGBN")
        for bias in BIASES
    }
    assert scores["OR-SGBN", "free"] > 0.7
    assert scores["OR-SGBN", "penalised"] < 0.6
    assert scores["KL-SGBN", "penalised"] > 0.7
    assert scores["MM-SGBN", "penalised"] > 0.8


def test_the_defaults_are_those_of_the_package():
    for name, classifier in defaults().items():
        assert type(classifier).__name__ == name
        assert classifier.get_params() == type(classifier)().get_params()
