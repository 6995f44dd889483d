import numpy as np
import pytest

from sgbn.cohort.series import SeriesCohort, filtered_series, subject_moments
from sgbn.learn.series import edge_gains, noise_shares, subject_weights

GRAPH = np.array([[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]], bool)


@pytest.fixture(scope="module")
def cohort():
    rng = np.random.default_rng(0)
    series = rng.standard_normal((3, 120, 4))
    series[:, :, 1] += 0.8 * series[:, :, 0]
    series[:, :, 2] += 0.5 * series[:, :, 1] - 0.5 * series[:, :, 0]
    return SeriesCohort.of(list(series))


def test_weights_are_least_squares_in_each_subject(cohort):
    moments = subject_moments(cohort)
    found = subject_weights(moments, GRAPH)
    shares = noise_shares(moments, GRAPH)
    for s, one in enumerate(filtered_series(cohort)):
        rows = one.rows
        expected = np.linalg.lstsq(rows[:, [0, 1]], rows[:, 2], rcond=None)[0]
        assert found[s][[0, 1], 2] == pytest.approx(expected, abs=1e-3)  # the floor of noise
        left = rows[:, 2] - rows[:, [0, 1]] @ expected
        assert shares[s, 2] == pytest.approx(np.square(left).mean(), abs=1e-3)  # the floor of noise
    assert (found[:, ~GRAPH] == 0).all()
    assert (shares[:, [0, 3]] == 1).all()


def test_an_edge_is_worth_the_difference_of_two_scores(cohort):
    moments = subject_moments(cohort)
    gains = edge_gains(moments, GRAPH, 1.5)
    without = GRAPH.copy()
    without[0, 2] = False
    rss, more = (noise_shares(moments, graph)[:, 2] for graph in (GRAPH, without))
    expected = moments.n * np.log(more / rss) - 1.5 * np.log(moments.n)
    assert gains[:, 0, 2] == pytest.approx(expected)
    assert (gains[:, ~GRAPH] == 0).all()
