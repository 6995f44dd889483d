import numpy as np
import pytest

from sgbn.comparison.methods import REFERENCES, SOURCES, learned_by, weights_are
from sgbn.comparison.names import joined
from sgbn.learn.ensemble import SGBNEnsemble
from sgbn.learn.sgbn import SGBN
from sgbn.paper.h_sgbn import HSGBN
from sgbn.paper.l1mb import L1MB
from sgbn.paper.markov import GS, IAMB, InterIAMB
from sgbn.paper.or_sgbn import ORSGBN
from sgbn.paper.penalised import PenalizedEstimator
from sgbn.paper.tc import TC, TCbw


@pytest.fixture(scope="module")
def values():
    found = np.random.default_rng(0).normal(size=(100, 4))
    found[:, 2] += found[:, 0] + found[:, 1]
    return found


def cite(*keys):
    return f"[{', '.join(keys)}]"


def test_lists_read_as_a_sentence():
    assert joined([]) == ""
    assert joined(["a"]) == "a"
    assert joined(["a", "b", "c"]) == "a, b and c"


def test_every_source_is_a_reference():
    assert set(SOURCES.values()) <= set(REFERENCES)


@pytest.mark.parametrize(
    ("learner", "said"),
    [
        (GS(0.01), "by GS [margaritis1999] with tests at level 0.01"),
        (IAMB(), "by IAMB [tsamardinos2003] with tests at level 0.05"),
        (InterIAMB(), "by InterIAMB [tsamardinos2003] with tests at level 0.05"),
        (L1MB(), "by L1MB [schmidt2007]"),
        (TC(), "by TC [pellet2008]"),
        (TCbw(0.02), "by TCbw [pellet2008] with tests at level 0.02"),
        (ORSGBN(0.2), "by ORSGBN [zhou2016] with the penalty alpha = 0.2"),
        (HSGBN(0.2), "by HSGBN [huang2013] with the penalty alpha = 0.2"),
    ],
)
def test_a_learner_is_named_with_its_own_source_and_setting(values, learner, said):
    if isinstance(learner, PenalizedEstimator):  # what is said of the others is known before
        learner.fit(values)
    assert learned_by([learner], cite) == said


def test_an_ensemble_says_how_many_chains_and_which_prior(values):
    said = learned_by([SGBNEnsemble(0.5, n_chains=2, n_pairs=0).fit(values)], cite)
    assert said.startswith("by SGBNEnsemble, the consensus of networks drawn from posteriors")
    assert "[friedman2003] by 2 chains" in said
    assert "to the power of -0.5, with m regions" in said
    assert "-0.75" in learned_by([SGBNEnsemble()], cite)  # the default of the prior


def test_a_penalty_that_was_chosen_says_by_what(values):
    assert learned_by([ORSGBN("bic").fit(values)], cite).endswith(", chosen by bic")


def test_every_gamma_is_named_once(values):
    fitted = [SGBN(gamma).fit(values) for gamma in (0.5, 1.0, 0.5)]
    assert "with gamma = 0.5 and 1." in learned_by(fitted, cite)


@pytest.mark.parametrize(
    ("learner", "lasso"),
    [
        (SGBN(), False),
        (SGBN(weights="lasso"), True),
        (ORSGBN(), True),
        (ORSGBN(refit=True), False),
        (HSGBN(), True),
        (IAMB(), False),
    ],
)
def test_weights_are_what_the_learner_makes_them(learner, lasso):
    assert ("lasso" in weights_are(learner)) is lasso
