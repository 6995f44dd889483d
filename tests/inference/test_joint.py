import numpy as np
import pandas as pd
import pytest

from sgbn import InputError, fit_weights, simulate_cohort
from sgbn.graph import is_dag
from sgbn.inference.joint import JointSGBN


@pytest.fixture(scope="module")
def cohort():
    return simulate_cohort(80, regions=12, differ="edges")


def test_all_groups_have_the_same_edges_and_their_own_least_squares_weights(cohort):
    table = pd.DataFrame(cohort.values, columns=cohort.regions)
    joint = JointSGBN().fit(table, cohort.group)
    assert is_dag(joint.parents_)
    for group, network in joint.networks_.items():
        own = fit_weights(table[cohort.group == group], joint.parents_)
        np.testing.assert_array_equal(network.coef != 0, joint.parents_)
        np.testing.assert_allclose(network.coef, own.coef, rtol=1e-6)
        np.testing.assert_allclose(network.intercept, own.intercept, rtol=1e-6)
        assert list(network.names) == list(cohort.regions)


def test_the_order_puts_parents_first(cohort):
    joint = JointSGBN().fit(cohort.values, cohort.group)
    place = np.argsort(joint.order_)
    sources, targets = np.nonzero(joint.parents_)
    assert (place[sources] < place[targets]).all()


def test_an_edge_that_cancels_in_the_pool_is_seen_by_the_groups():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.repeat(["a", "b"], 100)
    X[:, 2] += np.where(y == "a", 1, -1) * X[:, 0]
    together = JointSGBN(separate_parents=False).fit(X, y).parents_
    joint = JointSGBN().fit(X, y).parents_
    assert not (together | together.T)[0, 2]
    assert (joint | joint.T)[0, 2]


def test_groups_are_needed_and_must_have_rows(cohort):
    with pytest.raises(InputError, match="requires y"):
        JointSGBN().fit(cohort.values, None)
    labels = np.where(np.arange(160) < 2, "few", "many")
    with pytest.raises(InputError, match="'few' has 2 rows"):
        JointSGBN().fit(cohort.values, labels)
