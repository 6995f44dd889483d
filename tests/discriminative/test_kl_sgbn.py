import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sgbn import InputError, KLSGBNClassifier, simulate_cohort


@parametrize_with_checks([KLSGBNClassifier()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def cohort():
    return simulate_cohort(60, regions=14)


def test_the_radius_margin_bound_falls(problem):
    from sgbn.discriminative.kl_sgbn import PairwiseFisherKernels

    p = problem(3, k=12, slack=0.05)
    start = p.moves.thetas(p.moves.u0)
    bound = PairwiseFisherKernels(p.sample, 1.0, start)
    u, _ = KLSGBNClassifier(C=1.0)._optimise(p.sample, p.moves)
    assert bound(p.moves.thetas(u))[0] < 0.99 * bound(start)[0]


def test_the_bound_of_three_classes_is_the_sum_over_pairs(problem):
    from sgbn.discriminative.kl_sgbn import PairwiseFisherKernels, _pair
    from sgbn.discriminative.objectives import FisherKernelObjective

    p = problem(3)
    thetas = p.moves.thetas(p.moves.u0)
    bound = PairwiseFisherKernels(p.sample, 1.0, thetas)
    parts = [
        FisherKernelObjective(_pair(p.sample, a, b), own.C)([thetas[a], thetas[b]])[0]
        for (a, b), own in zip(bound.pairs, bound.bounds, strict=True)
    ]
    assert bound(thetas)[0] == pytest.approx(sum(parts))


def test_units_do_not_matter(cohort):
    plain = KLSGBNClassifier(temperature=1.0).fit(cohort.values, cohort.group)
    units = np.exp(np.random.default_rng(0).normal(size=14))
    other = KLSGBNClassifier(temperature=1.0).fit(cohort.values * units, cohort.group)
    np.testing.assert_allclose(
        plain.decision_function(cohort.values),
        other.decision_function(cohort.values * units),
        rtol=1e-3,
        atol=1e-3,
    )


def test_the_penalty_is_positive(cohort):
    with pytest.raises(InputError, match="C=-1"):
        KLSGBNClassifier(C=-1).fit(cohort.values, cohort.group)
