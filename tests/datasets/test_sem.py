import numpy as np
import pytest

from sgbn.cohort.simulate import random_weights, simulate_sem
from sgbn.core.exceptions import InputError
from sgbn.core.graph import random_dag


def test_weights_have_either_sign_and_the_stated_size():
    A = random_dag(60, 10, np.random.default_rng(0))
    W = random_weights(A, np.random.default_rng(1))
    assert np.array_equal(W != 0, A)
    size = np.abs(W[A])
    assert 0.5 <= size.min() < 0.55
    assert 0.95 < size.max() <= 1.0
    assert 0.4 < (W[A] > 0).mean() < 0.6


def test_rows_come_from_the_network():
    A = random_dag(5, 2, np.random.default_rng(2))
    X, network = simulate_sem(A, 100_000, noise="unequal", random_state=3)
    np.testing.assert_allclose(np.cov(X.T), network.covariance, rtol=0.05, atol=0.1)
    assert np.all((network.noise_variance >= 0.25) & (network.noise_variance <= 2.25))
    assert np.all(simulate_sem(A, 2, random_state=0)[1].noise_variance == 1.0)


def test_a_seed_repeats_and_an_unknown_noise_is_named():
    A = np.triu(np.ones((4, 4)), 1)
    assert np.array_equal(
        simulate_sem(A, 5, random_state=1)[0], simulate_sem(A, 5, random_state=1)[0]
    )
    with pytest.raises(InputError, match="noise is 'laplace'"):
        simulate_sem(A, 5, noise="laplace")
