import numpy as np
import pytest

from sgbn.core.exceptions import InputError
from sgbn.paper.markov import IndependenceTest, exact_t_borders
from sgbn.paper.tc import TC, TCbw


def eliminated(test, target):
    """Backward elimination with every test made from scratch."""
    left = [k for k in range(len(test.R)) if k != target]
    while left:
        strengths = [test.strengths(target, [k for k in left if k != one])[one] for one in left]
        if min(strengths) >= 1:
            break
        left.pop(int(np.argmin(strengths)))
    return left


@pytest.mark.parametrize("seed", range(5))
def test_blankets_are_those_of_backward_elimination(seed, simulate):
    X, _ = simulate(12, 60, [70, seed])
    fitted = TCbw(0.05).fit(X)
    test = IndependenceTest(np.corrcoef(X.T), exact_t_borders(60, 12, 0.05))
    for target in range(12):
        assert np.flatnonzero(fitted.blankets_[target]).tolist() == eliminated(test, target)


def test_it_finds_links_that_tests_given_all_others_have_no_power_for():
    found = np.zeros(2, int)
    for seed in range(12):
        X = np.random.default_rng([71, seed]).standard_normal((30, 22))
        X[:, 1] += 0.9 * X[:, 0]
        found += [learner().fit(X).blankets_[0, 1] for learner in (TC, TCbw)]
    assert found[1] > 2 * found[0]


def test_its_error_names_it():
    with pytest.raises(InputError, match="TCbw tests each pair"):
        TCbw().fit(np.random.default_rng(72).standard_normal((12, 15)))
