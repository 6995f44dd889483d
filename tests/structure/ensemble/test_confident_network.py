import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from sgbn.learn.ensemble import SGBNEnsemble
from sgbn.learn.series import SeriesSGBN


@pytest.mark.parametrize("learner", [SGBNEnsemble(), SeriesSGBN()])
def test_nothing_is_said_before_a_fit(learner):
    for name in ("adjacency_", "arrow_", "supported_"):
        with pytest.raises(NotFittedError):
            getattr(learner, name)


def test_without_half_samples_nothing_is_supported_and_all_is_a_line():
    X = np.random.default_rng(0).standard_normal((100, 3))
    X[:, 2] += X[:, 0] + X[:, 1]
    learner = SGBNEnsemble(n_chains=4, n_pairs=0).fit(X)
    assert not learner.supported_.any()
    assert not learner.adjacency_.any()
    assert np.array_equal(learner.drawn_graph_, learner.drawn_graph_.T)
