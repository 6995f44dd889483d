import numpy as np
import pytest

from sgbn.learn.posterior import largest_difference, split_r_hat


def test_chains_that_agree_have_an_r_hat_near_one():
    traces = np.random.default_rng(0).standard_normal((4, 500))
    assert split_r_hat(traces) == pytest.approx(1.0, abs=0.02)


def test_chains_that_differ_or_drift_have_a_large_one():
    traces = np.random.default_rng(0).standard_normal((2, 500))
    assert split_r_hat(traces + np.array([[0], [5]])) > 2
    assert split_r_hat(traces + np.linspace(0, 20, 500)) > 2


def test_constant_chains():
    assert split_r_hat(np.zeros((2, 10))) == 1.0
    assert split_r_hat(np.array([np.zeros(10), np.ones(10)])) == np.inf


def test_largest_difference():
    arrows = np.zeros((3, 2, 2))
    arrows[:, 0, 1] = (0.1, 0.5, 0.3)
    assert largest_difference(arrows) == pytest.approx(0.4)
