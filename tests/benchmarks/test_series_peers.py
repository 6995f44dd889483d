import numpy as np
import pytest
from series_peers import (
    components,
    correlations,
    false_discoveries,
    network_based_statistic,
    pairs_of,
    partial_correlations,
)

from sgbn.cohort.series import SeriesCohort

M, N = 5, 15


def make_cohort(change):
    """A chain; patients differ in the weights of 0 -> 1 and 1 -> 2."""
    rng = np.random.default_rng(0)
    group = np.repeat(["control", "patient"], N)
    series = []
    for label in group:
        X = rng.normal(size=(100, M))
        for j in range(1, M):
            X[:, j] += (0.4 + change * (label == "patient" and j < 3)) * X[:, j - 1]
        series.append(X)
    return SeriesCohort.of(series, group=group)


@pytest.mark.parametrize("make", [correlations, partial_correlations])
def test_peers_find_a_large_change_and_nothing_without_one(make):
    for change, finds in ((0.8, True), (0.0, False)):
        cohort = make_cohort(change)
        matrices = make(cohort)
        rng = np.random.default_rng(0)
        for found in (
            false_discoveries(matrices, cohort, {}),
            network_based_statistic(matrices, cohort, {}, 39, rng),
        ):
            assert found[0, 1] == found[1, 0] == finds
            assert not found.diagonal().any()


def test_partial_correlations_are_those_given_all_others():
    cohort = make_cohort(0.0)
    X = cohort.series[0] - cohort.series[0].mean(axis=0)
    others = X[:, 2:]
    left = X[:, :2] - others @ np.linalg.lstsq(others, X[:, :2], rcond=None)[0]
    expected = np.corrcoef(left.T)[0, 1]
    assert np.tanh(partial_correlations(cohort)[0, 0, 1]) == pytest.approx(expected)


def test_components_join_pairs_that_share_a_region():
    pairs = np.array(np.triu_indices(5, 1))
    t = np.zeros(pairs.shape[1])
    for i, j in ((0, 1), (1, 2), (3, 4)):
        t[(pairs[0] == i) & (pairs[1] == j)] = -4.0
    labels, sizes = components(t, pairs, 5)
    assert sorted(sizes.tolist()) == [1, 2]
    assert (labels >= 0).sum() == 3
    assert not len(components(np.zeros(10), pairs, 5)[1])


def test_pairs_are_found_by_names():
    found = pairs_of([("a", "c")], ("a", "b", "c"))
    assert np.argwhere(found).tolist() == [[0, 2], [2, 0]]
    assert not pairs_of([], ("a", "b")).any()
