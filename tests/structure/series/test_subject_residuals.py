import numpy as np

from sgbn.core.equivalence import cpdag
from sgbn.learn.orient import decide_directions
from sgbn.learn.series import SubjectResiduals

CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], bool)


def series_of(draw, S=15, T=200, seed=0):
    """Subjects with weights of their own along a chain."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(S):
        rows = draw(rng, (T, 3))
        rows[:, 1] += rng.uniform(0.4, 1.0) * rows[:, 0]
        rows[:, 2] += rng.uniform(0.4, 1.0) * rows[:, 1]
        rows -= rows.mean(axis=0)
        found.append(rows / np.sqrt(np.square(rows).mean(axis=0)))
    return found


def test_skewed_noise_decides_directions():
    def skewed(rng, shape):
        return rng.exponential(size=shape)

    found = decide_directions(SubjectResiduals(series_of(skewed)), cpdag(CHAIN))
    assert np.array_equal(found, CHAIN)


def test_gaussian_noise_rarely_decides_any_even_if_weights_vary():
    def normal(rng, shape):
        return rng.standard_normal(shape)

    decided = [
        decide_directions(SubjectResiduals(series_of(normal, seed=seed)), cpdag(CHAIN)).any()
        for seed in range(12)
    ]
    assert sum(decided) <= 2


def test_residuals_are_those_of_each_subject():
    series = series_of(lambda rng, shape: rng.standard_normal(shape), S=3, T=50)
    residuals = SubjectResiduals(series)
    found = residuals.residual(2, (1,))
    for s, rows in enumerate(series):
        w = np.linalg.lstsq(rows[:, [1]], rows[:, 2], rcond=None)[0]
        left = rows[:, 2] - rows[:, [1]] @ w
        left /= np.sqrt(np.square(left).mean())
        assert np.allclose(found[50 * s : 50 * (s + 1)], left)
    assert residuals.gain(2, (1,)).shape == (3,)


def test_few_subjects_decide_little():
    """Of two or three subjects the spread is hardly known: a t quantile allows for it."""

    def normal(rng, shape):
        return rng.standard_normal(shape)

    decided = [
        decide_directions(SubjectResiduals(series_of(normal, S=3, seed=seed)), cpdag(CHAIN)).any()
        for seed in range(20)
    ]
    assert sum(decided) <= 4
    alone = SubjectResiduals(series_of(normal, S=1, T=1500))
    assert not decide_directions(alone, cpdag(CHAIN)).any()


def test_gains_are_those_of_persons():
    series = series_of(lambda rng, shape: rng.exponential(size=shape), S=4, T=80)
    alone, joined = SubjectResiduals(series), SubjectResiduals(series, np.array([0, 0, 1, 1]))
    gains = alone.gain(1, (0,))
    assert np.allclose(joined.gain(1, (0,)), [gains[:2].sum(), gains[2:].sum()])
