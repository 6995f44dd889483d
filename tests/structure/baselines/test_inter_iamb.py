import numpy as np
import pytest

from sgbn.paper.markov import IAMB, InterIAMB


def test_blankets_and_graphs_equal_bnlearns(cases):
    for case in cases:
        fitted = InterIAMB().fit(case.X)
        assert np.array_equal(fitted.blankets_, case.blankets["inter.iamb"])
        assert np.array_equal(fitted.pdag_, case.learned["inter.iamb"])


def test_it_is_not_iamb(simulate):
    """Shrinking in between lets other variables in: the variants differ now and then."""
    samples = (simulate(20, 60, [50, seed])[0] for seed in range(20))
    assert any(
        not np.array_equal(IAMB().fit(X).blankets_, InterIAMB().fit(X).blankets_) for X in samples
    )


def test_a_blanket_that_comes_back_ends_the_search():
    class Undecided(InterIAMB):
        """Removes what was just added."""

        n_shrunk = 0

        def _shrink(self, test, target, blanket):
            self.n_shrunk += 1
            return blanket[:-1]

    X = np.random.default_rng(0).standard_normal((100, 2))
    X[:, 1] += X[:, 0]
    learner = Undecided().fit(X)
    assert learner.n_shrunk == 2
    assert not learner.blankets_.any()
    assert learner.score(X) == pytest.approx(learner.network_.log_likelihood(X).mean())
