import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.exceptions import InputError
from sgbn.core.gaussian import GaussianNetwork
from sgbn.learn.classifier import SGBNClassifier, explain_ratio


@pytest.fixture(scope="module")
def fitted():
    cohort = simulate_cohort(80, regions=12)
    X = pd.DataFrame(cohort.values, columns=cohort.regions)
    return SGBNClassifier(temperature=1.0, priors="equal").fit(X, cohort.group), X


def test_regions_and_edges_sum_to_the_log_likelihood_ratio(fitted):
    classifier, X = fitted
    parts = classifier.explain(X)
    np.testing.assert_allclose(parts.ratio, classifier.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(parts.own.sum(axis=1) + parts.edges.sum(axis=1), parts.ratio)
    np.testing.assert_allclose(parts.regions.sum(axis=1), parts.ratio)


def test_a_region_has_its_own_part_and_that_of_the_edges_into_it(fitted):
    classifier, X = fitted
    parts = classifier.explain(X)
    first, second = (classifier.networks_[name] for name in ("patient", "control"))
    for k, name in enumerate(parts.names):
        term = [
            -(net.residuals(X)[:, k] ** 2) / (2 * net.noise_variance[k])
            - np.log(2 * np.pi * net.noise_variance[k]) / 2
            for net in (first, second)
        ]
        np.testing.assert_allclose(parts.regions[:, k], term[0] - term[1], atol=1e-9)
        assert name == X.columns[k]


def test_edges_are_those_of_either_network(fitted):
    classifier, X = fitted
    parts = classifier.explain(X[:1])
    edges = set(zip(parts.sources, parts.targets, strict=True))
    for network in classifier.networks_.values():
        assert {(edge.source, edge.target) for edge in network.edges()} <= edges


def test_the_other_way_round_is_the_negative(fitted):
    classifier, X = fitted
    there = classifier.explain(X, of="patient", against="control")
    back = classifier.explain(X, of="control", against="patient")
    np.testing.assert_allclose(there.edges, -back.edges)
    with pytest.raises(InputError, match=r"no class is called 'patients'\. Did you mean 'patient'"):
        classifier.explain(X, of="patients")


@settings(max_examples=20)
@given(seed=st.integers(0, 1000), shift=st.floats(-100, 100))
def test_parts_do_not_depend_on_the_zero_of_the_units(seed, shift):
    rng = np.random.default_rng(seed)
    coef = np.triu(rng.normal(size=(4, 4)), 1)
    X = rng.normal(size=(3, 4))
    means = rng.normal(size=(2, 4))
    parts = []
    for move in (0.0, shift):
        moved = zip((coef, coef / 2), means + move, strict=True)
        networks = [GaussianNetwork(c, mean - mean @ c) for c, mean in moved]
        parts.append(explain_ratio(*networks, X + move))
    np.testing.assert_allclose(parts[0].edges, parts[1].edges, atol=1e-6)
    np.testing.assert_allclose(parts[0].own, parts[1].own, atol=1e-6)
