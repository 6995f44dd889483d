import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sgbn.core.exceptions import InputError
from sgbn.paper.fisher_svm import FisherSVMClassifier
from sgbn.paper.kl_sgbn import KLSGBNClassifier, PairwiseFisherKernels


@parametrize_with_checks([KLSGBNClassifier(temperature=1.0)])  # "cv" is that of SGBNClassifier
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("radius", ["scatter", "ball"])
def test_the_radius_margin_bound_falls(problem, radius):
    p = problem(3, k=12, slack=0.05)
    bound = PairwiseFisherKernels(p.likelihoods, 1.0, p.moves.u0, radius)
    u = KLSGBNClassifier(radius=radius)._optimise(p.likelihoods).u
    assert bound(u)[0] < 0.99 * bound(p.moves.u0)[0]


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
    with pytest.raises(InputError, match="C is -1"):
        KLSGBNClassifier(C=-1).fit(cohort.values, cohort.group)


def test_the_radius_is_one_of_two(cohort):
    with pytest.raises(InputError, match="radius is 'sphere'"):
        KLSGBNClassifier(radius="sphere").fit(cohort.values, cohort.group)


@pytest.mark.parametrize("components", [None, 20])
def test_one_network_for_all_classes_tells_them_apart_by_its_fisher_vectors(cohort, components):
    shared = KLSGBNClassifier(shared=True)
    svm = FisherSVMClassifier(shared, components=components).fit(cohort.values, cohort.group)
    first, second = svm.classifier_.networks_.values()
    np.testing.assert_array_equal(first.coef, second.coef)
    assert svm.coef_.shape[1] == (components or 14 * 14)
    assert svm.score(cohort.values, cohort.group) > 0.7
    before, after, limit = svm.classifier_.fitting_errors_["patient"]
    assert after <= limit * (1 + 1e-8)
    assert limit == pytest.approx(1.01 * before)
    assert len(svm.classifier_.edge_changes()) > 0


def test_one_network_has_no_likelihood_ratio(cohort):
    fitted = KLSGBNClassifier(shared=True).fit(cohort.values, cohort.group)
    for method in (fitted.predict, fitted.explain):
        with pytest.raises(InputError, match="FisherSVMClassifier"):
            method(cohort.values)
    with pytest.raises(InputError, match="shared is 'no'"):
        KLSGBNClassifier(shared="no").fit(cohort.values, cohort.group)
