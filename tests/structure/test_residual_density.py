import numpy as np
import pytest
from scipy.optimize import minimize

from sgbn.learn.orient import bends, bent_residual, curvature, density_gain, spacing_gain

DRAW = {
    "t": lambda rng, n: rng.standard_t(5, n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "uniform": lambda rng, n: rng.uniform(size=n),
    "normal": lambda rng, n: rng.standard_normal(n),
}


def standardised(name, n, seed):
    u = DRAW[name](np.random.default_rng(seed), n)
    return (u - u.mean()) / u.std()


def functions(u):
    bell = np.exp(-(u**2) / 2)
    return np.array([u * bell, bell, np.log1p(u**2), np.tanh(u)])


@pytest.mark.parametrize("name", ["exponential", "normal"])
def test_the_density_is_the_penalised_maximum_likelihood_one(name):
    """An independent optimiser, and Gauss's points in place of the grid."""
    u = standardised(name, 150, 0)
    x, weight = np.polynomial.hermite_e.hermegauss(150)
    weight /= weight.sum()
    mean = functions(x) @ weight
    sd = np.sqrt((functions(x).T - mean).T ** 2 @ weight)

    def exponent(theta, x):
        return theta @ ((functions(x).T - mean) / sd).T

    def gain(theta):
        return exponent(theta, u) - np.log(np.exp(exponent(theta, x)) @ weight)

    def loss(theta):
        return -gain(theta).mean() + theta @ theta / 2 / len(u)

    best = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(density_gain(u), gain(best.x), atol=1e-3)


@pytest.mark.parametrize("gain", [density_gain, spacing_gain])
def test_gains_are_large_where_values_are_not_normal(gain):
    means = {name: gain(standardised(name, 1000, 1)).mean() for name in DRAW}
    for name in ("t", "exponential", "uniform"):
        assert means[name] > means["normal"] + 0.005


@pytest.mark.parametrize("gain", [density_gain, spacing_gain])
def test_gains_belong_to_their_values(gain):
    u = standardised("exponential", 100, 2)
    order = np.random.default_rng(0).permutation(100)
    np.testing.assert_allclose(gain(u[order]), gain(u)[order], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(density_gain(-u).sum(), density_gain(u).sum(), rtol=1e-6)


def test_spacings_estimate_the_entropy():
    u = standardised("uniform", 5000, 3)
    entropy = -(spacing_gain(u) - u**2 / 2).mean()
    assert entropy == pytest.approx(np.log(np.sqrt(12)), abs=0.03)
    assert np.isfinite(spacing_gain(np.zeros(20))).all()  # ties


@pytest.mark.parametrize("noise", ["t", "exponential"])
def test_curvature_is_standard_normal_without_a_curve(noise):
    found = []
    for seed in range(200):
        X = np.column_stack([standardised(noise, 200, (seed, k)) for k in range(2)])
        y = X @ [0.8, -0.5] + standardised(noise, 200, (seed, 2))
        found.append(curvature(bent_residual_without_bends(y, X), X))
    t = np.array(found)
    assert 0.8 < t.std() < 1.15
    assert (np.abs(t) > 2.58).mean() < 0.03


def bent_residual_without_bends(y, X):
    design = np.column_stack([np.ones(len(X)), X])
    return y - design @ np.linalg.lstsq(design, y, rcond=None)[0]


def test_curvature_sees_a_bend_and_the_bent_residual_is_free_of_it():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((2000, 2))
    noise = rng.standard_normal(2000)
    y = np.tanh(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.3 * noise
    linear = bent_residual_without_bends(y, X)
    t = curvature(linear, X)
    assert np.abs(t[2]) > 8  # the third power of the first column
    assert np.abs(t[[1, 3]]).max() < 4
    bent = bent_residual(y, X)
    assert bent.var() < 0.8 * linear.var()
    np.testing.assert_allclose(X.T @ bent, 0, atol=1e-8)
    assert bends(X).shape == (2000, 4)
    np.testing.assert_allclose(bent_residual(y, X[:, :0]), y - y.mean())
