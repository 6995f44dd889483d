import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.mixture import GaussianMixture
from tests.codes import refused

from sgbn.core.gaussian import GaussianNetwork
from sgbn.paper.densities import (
    MixtureMeans,
    ParametricDensity,
    ScoreKernelObjective,
    SideBySide,
    learn_kernel,
)
from sgbn.paper.fisher import FisherVectors, HasScore, NetworkScore
from sgbn.paper.fisher_svm import FisherSVMClassifier, l2_svm, total_scatter

KINDS = ["diag", "spherical"]


def bananas(n, seed, bend=1.0):
    """Two half circles, one around the end of the other."""
    rng = np.random.default_rng(seed)
    side = np.repeat([1, -1], n)
    t = rng.uniform(0, np.pi, 2 * n)
    X = np.column_stack([side * np.cos(t) + (side < 0), side * np.sin(t) + 0.5 * (side < 0)])
    return X + 0.35 * rng.standard_normal((2 * n, 2)), np.where(side > 0, "up", "down")


def mixture(rows, parts=2, kind="diag"):
    return MixtureMeans.of(GaussianMixture(parts, covariance_type=kind, random_state=0).fit(rows))


def mixtures(X, y, **options):
    return {c: mixture(X[y == c], **options) for c in np.unique(y)}


def numerical(function, x, step=1e-5):
    """Central differences of a function, one row an entry of x."""
    bumps = step * np.eye(len(x))
    return np.array([(function(x + d) - function(x - d)) / (2 * step) for d in bumps])


def bound_of(densities, X, y, start=None):
    """Radius-margin bound, with the penalty that fits `start`."""
    scores, first = (
        SideBySide(d, X).scores(0) for d in (densities, densities if start is None else start)
    )
    return ScoreKernelObjective([np.where(y == np.unique(y)[1], 1.0, -1.0)], 1.0, first)(scores)[0]


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_gradients_of_scikit_learns_log_likelihood(kind):
    X, _ = bananas(20, 0)
    peer = GaussianMixture(3, covariance_type=kind, random_state=0).fit(X)
    density = MixtureMeans.of(peer)

    def log_likelihood(parameters):
        peer.means_ = parameters.reshape(3, 2)
        return peer.score_samples(X)

    expected = numerical(log_likelihood, density.parameters).T
    np.testing.assert_allclose(density.scores(X), expected, rtol=1e-6, atol=1e-6)
    assert len(density.score_names) == density.scores(X).shape[1] == 6


@pytest.mark.parametrize("kind", KINDS)
def test_the_pull_is_the_gradient_of_the_scores(kind):
    X, _ = bananas(15, 1)
    density = mixture(X, 3, kind)
    G = np.random.default_rng(0).standard_normal((30, 6))
    at = density.parameters + 0.1
    expected = numerical(lambda p: np.sum(G * density.score(X, p)), at)
    np.testing.assert_allclose(density.pull(X, at, G), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n", [12, 90])
def test_the_gradient_of_the_bound_is_that_of_finite_differences(n_classes, n):
    """Through the SVM, on few rows (its kernel) and on many (its weights)."""
    X, _ = bananas(45, 2)
    codes = np.arange(90) % n_classes
    X[:, 0] += codes
    densities = [mixture(X[codes == c], 3) for c in range(n_classes)]
    signs = [np.where(codes[:n] == c, 1.0, -1.0) for c in range(n_classes)]
    start = SideBySide(densities, X[:n])
    u = 0.1 * np.random.default_rng(0).standard_normal(start.offsets[-1])
    bound = ScoreKernelObjective(signs, 1.0, start.scores(0 * u))
    value, G = bound(start.scores(u))
    expected = numerical(lambda v: bound(start.scores(v))[0], u)
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(start.pull(u, G) / value, expected / value, rtol=1e-6, atol=1e-6)


def test_the_bound_is_the_papers():
    X, y = bananas(20, 3)
    Phi = mixture(X, 3).scores(X)
    side = np.where(y == "up", 1.0, -1.0)
    K = Phi @ Phi.T
    C = 2.0 * len(K) / total_scatter(K)
    augmented = K + np.eye(len(K)) / C
    expected = total_scatter(augmented) * l2_svm(K, side, C).objective
    assert ScoreKernelObjective([side], 2.0, Phi)(Phi)[0] == pytest.approx(expected)


@pytest.mark.parametrize("kind", KINDS)
def test_one_mixture_of_all_rows_learns_to_tell_the_classes_apart(kind):
    before, after = [], []
    for seed in range(4):
        X, y = bananas(60, seed)
        Z, truth = bananas(500, 100 + seed)
        start = mixture(X, 4, kind)
        found = learn_kernel(start, X, y, radius=1.0)
        assert list(found) == [None]
        assert np.linalg.norm(found[None].parameters - start.parameters) <= 1 + 1e-8
        assert bound_of(found, X, y, start) < 0.8 * bound_of(start, X, y)
        for accuracies, density in ((before, start), (after, found)):
            svm = FisherSVMClassifier(FisherVectors(networks=density)).fit(X, y)
            accuracies.append(svm.score(Z, truth))
    assert np.mean(after) > np.mean(before) + 0.05


@pytest.mark.parametrize("radius", [0.1, 1.0])
def test_each_mixture_stays_in_its_ball_and_accuracy_does_not_fall(radius):
    X, y = bananas(60, 0)
    Z, truth = bananas(1000, 100)
    start = mixtures(X, y)
    parameters = {c: density.parameters.copy() for c, density in start.items()}
    found = learn_kernel(start, X, y, radius=radius)
    assert bound_of(found, X, y, start) < bound_of(start, X, y)
    assert list(found) == ["down", "up"]
    for label, density in found.items():
        np.testing.assert_array_equal(start[label].parameters, parameters[label])
        moved = np.linalg.norm(density.parameters - parameters[label])
        assert 0 < moved <= radius + 1e-8
        np.testing.assert_array_equal(density.weights, start[label].weights)
    before, after = (
        FisherSVMClassifier(FisherVectors(networks=d)).fit(X, y).score(Z, truth)
        for d in (start, found)
    )
    assert after > before - 0.005


def test_a_single_gaussian_has_nothing_to_learn():
    """Its scores are linear in the row: moving the mean only shifts them."""
    X, y = bananas(30, 4)
    start = mixtures(X, y, parts=1)
    found = learn_kernel(start, X, y, radius=1.0)
    assert bound_of(found, X, y, start) == pytest.approx(bound_of(start, X, y), rel=1e-9)


def test_three_classes_and_repetition():
    X, y = bananas(45, 5)
    y = np.array([*y[:60], *["third"] * 30])
    start = mixtures(X, y)
    one, other = (learn_kernel(start, X, y, radius=0.5, max_iter=10) for _ in range(2))
    assert list(one) == ["down", "third", "up"]
    for label, density in one.items():
        np.testing.assert_array_equal(density.parameters, other[label].parameters)
        assert np.any(density.parameters != start[label].parameters)


def test_fisher_vectors_take_the_density():
    X, y = bananas(20, 6)
    density = mixture(X)
    assert isinstance(density, HasScore)
    assert isinstance(density, ParametricDensity)
    vectors = FisherVectors(networks=mixtures(X, y)).fit(X)
    assert vectors.transform(X).shape == (40, 8)
    assert vectors.get_feature_names_out()[5] == "up: part 0: mean of x1"


class NetworkParameters:
    """A network as a density to be moved: its scores are linear in its parameters."""

    def __init__(self, network):
        self.network, self.function = network, NetworkScore(network)

    @property
    def score_names(self):
        return self.function.names()

    @property
    def parameters(self):
        return np.vstack([self.network.coef, self.network.intercept])[self.function.taken]

    def with_parameters(self, parameters):
        raise NotImplementedError

    def scores(self, X):
        return self.score(X, self.parameters)

    def _theta(self, parameters):
        theta = np.zeros(self.function.taken.shape)
        theta[self.function.taken] = parameters
        return theta

    def score(self, X, parameters):
        Xb = np.column_stack([X, np.ones(len(X))])
        R = (X - Xb @ self._theta(parameters)) / self.network.noise_variance
        return (Xb[:, :, None] * R[:, None])[:, self.function.taken]

    def pull(self, X, parameters, G):
        Xb = np.column_stack([X, np.ones(len(X))])
        full = np.zeros((len(X), *self.function.taken.shape))
        full[:, self.function.taken] = G
        in_residuals = np.einsum("nij,ni->nj", full, Xb) / self.network.noise_variance
        return -(Xb.T @ in_residuals)[self.function.taken]


def test_a_network_is_one_such_density():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    coef = np.array([[0, 0.5, 0.2], [0, 0, -0.4], [0, 0, 0]])
    density = NetworkParameters(GaussianNetwork(coef, np.zeros(3), np.array([1.0, 0.5, 2.0])))
    np.testing.assert_allclose(density.scores(X), density.function.scores(X))
    assert isinstance(density, ParametricDensity)
    start = SideBySide(density, X)
    u = 0.1 * rng.standard_normal(9)
    side = np.where(rng.random(30) < 0.5, 1.0, -1.0)
    bound = ScoreKernelObjective([side], 1.0, start.scores(u))
    value, G = bound(start.scores(u))
    expected = numerical(lambda v: bound(start.scores(v))[0], u)
    np.testing.assert_allclose(start.pull(u, G) / value, expected / value, rtol=1e-6, atol=1e-6)


ROWS, SIDES = bananas(20, 7)
FULL = GaussianMixture(2, covariance_type="full").fit(ROWS)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda density: MixtureMeans.of(FULL), "mixture.type"),
        (lambda density: learn_kernel([FULL], ROWS, SIDES, radius=1), "density.parameters"),
        (lambda density: learn_kernel(density, ROWS, ["up"] * 40, radius=1), "classes.one"),
        (lambda density: learn_kernel(density, ROWS, SIDES, radius=0), "argument"),
        (lambda density: learn_kernel(density, ROWS, SIDES, radius=1, C=-1), "argument"),
        (lambda density: learn_kernel(density, 0 * ROWS, SIDES, radius=1), "scores.constant"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(call, code):
    with refused(code):
        call(mixture(ROWS))


def test_shares_of_the_parts_survive_rows_far_away():
    density = MixtureMeans(np.array([0.5, 0.5]), np.array([[0.0, 0], [1, 1]]), np.ones((2, 2)))
    X = np.array([[1e3, 1e3], [-1e3, 0]])
    apart = X[:, None] - density.means
    log_parts = -0.5 * (apart**2).sum(axis=2)
    shares = np.exp(log_parts - logsumexp(log_parts, axis=1, keepdims=True))
    np.testing.assert_allclose(density.scores(X), (shares[:, :, None] * apart).reshape(2, -1))
