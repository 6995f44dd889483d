from itertools import product

import numpy as np
import pytest

from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.exceptions import InputError
from sgbn.paper.classifier_cv import ClassMoments, Setting, common_order, mean_weights

M = 12


@pytest.fixture(scope="module")
def cohort():
    return simulate_cohort(50, regions=M)


def moments_of(values, group):
    classes, codes = np.unique(group, return_inverse=True)
    return ClassMoments.of(values, codes, classes.tolist(), [f"x{k}" for k in range(len(values.T))])


@pytest.fixture(scope="module")
def moments(cohort):
    return moments_of(cohort.values, cohort.group)


def fit(moments, setting):
    ((_, weights),) = moments.fits([setting])
    return weights


def networks(moments, setting, share=1.0):
    names = [f"x{k}" for k in range(M)]
    return moments.centres.networks(fit(moments, setting), share, names)


@pytest.mark.parametrize(("pool", "ridge"), [(0.0, 0.0), (0.3, 0.2), (1.0, 0.5)])
def test_without_a_price_it_is_regularised_discriminant_analysis(cohort, moments, pool, ridge):
    Z = (cohort.values - cohort.values.mean(axis=0)) / cohort.values.std(axis=0)
    own = [np.cov(Z[cohort.group == group].T, bias=True) for group in np.unique(cohort.group)]
    pooled = sum(own) / 2
    for S, network in zip(own, networks(moments, Setting(0.0, pool, ridge)), strict=True):
        blend = (1 - pool) * S + pool * pooled
        expected = (1 - ridge) * blend + ridge * np.diag(np.diag(blend))
        np.testing.assert_allclose(network.covariance, expected, atol=1e-6)


def test_groups_share_most_weights_exactly_and_differ_in_some(moments):
    first, second = networks(moments, Setting(1.0, 0.0, 0.0))
    present = (first.coef != 0) | (second.coef != 0)
    same = (first.coef == second.coef)[present]
    assert 0.5 < same.mean() < 1
    assert (first.noise_variance == second.noise_variance).any()


def test_fully_pooled_networks_differ_in_means_alone(moments):
    first, second = networks(moments, Setting(0.7, 1.0, 0.1))
    np.testing.assert_array_equal(first.coef, second.coef)
    np.testing.assert_array_equal(first.noise_variance, second.noise_variance)
    assert not np.allclose(first.mean, second.mean)


def test_a_higher_price_leaves_fewer_edges_and_departures(moments):
    counts = []
    for alpha in (0.3, 1.0, 3.0):
        first, second = networks(moments, Setting(alpha, 0.0, 0.0))
        counts.append((first.n_edges, np.count_nonzero(first.coef != second.coef)))
    assert counts[0] > counts[1] > counts[2]
    assert counts[0][1] > counts[1][1] > counts[2][1]


def test_without_a_share_of_the_means_they_are_the_same(moments):
    first, second = networks(moments, Setting(0.7, 0.0, 0.0), share=0.0)
    np.testing.assert_allclose(first.mean, second.mean, atol=1e-10)


def test_log_likelihoods_are_those_of_the_networks_up_to_a_constant(cohort, moments):
    fitted = fit(moments, Setting(0.7, 0.3, 0.1))
    shares = (0.0, 0.5, 1.0)
    quick = moments.centres.log_likelihoods(fitted, shares, cohort.values)
    Z = moments.centres.scale.standardise(cohort.values)
    for share, of_share in zip(shares, quick, strict=True):
        found = moments.centres.networks(fitted, share, [f"x{k}" for k in range(M)])
        exact = np.column_stack([network.log_likelihood(Z) for network in found])
        np.testing.assert_allclose(exact - of_share, -M * np.log(2 * np.pi) / 2, atol=1e-8)


def test_settings_that_start_from_each_other_end_where_each_does_alone(moments):
    settings = [
        Setting(*numbers) for numbers in product((0.3, 1.0, 0.6), (0.0, 0.5, 1.0), (0.2, 0.0))
    ]
    together = dict(moments.fits(settings))
    assert sorted(together) == list(range(len(settings)))
    for number, setting in enumerate(settings):
        alone = fit(moments, setting)
        np.testing.assert_allclose(together[number].matrices, alone.matrices, atol=1e-7)
        np.testing.assert_allclose(together[number].variances, alone.variances, atol=1e-7)


def test_an_average_lies_between_and_is_a_network(moments):
    parts = [fit(moments, one) for one in (Setting(0.3, 0.0, 0.0), Setting(1.0, 1.0, 0.2))]
    mean = mean_weights(parts, np.array([0.25, 0.75]))
    expected = 0.25 * parts[0].matrices + 0.75 * parts[1].matrices
    np.testing.assert_allclose(mean.matrices, expected)
    logs = [np.log(part.variances) for part in parts]
    np.testing.assert_allclose(np.log(mean.variances), 0.25 * logs[0] + 0.75 * logs[1])
    names = [f"x{k}" for k in range(M)]
    moments.centres.networks(mean, 1.0, names)  # raises if there is a cycle


def test_a_part_without_a_share_does_not_count(moments):
    used = fit(moments, Setting(0.3, 0.0, 0.0))
    unsettled = used._replace(violation=1.0)
    mean = mean_weights([used, unsettled], np.array([1.0, 0.0]))
    np.testing.assert_array_equal(mean.matrices, used.matrices)
    assert mean.violation == used.violation
    assert mean_weights([used, unsettled], np.array([0.5, 0.5])).violation == 1.0


def test_units_and_places_of_columns_do_not_matter(cohort, moments):
    columns = np.random.default_rng(0).permutation(M)
    units = np.geomspace(0.01, 100, M)
    other = moments_of((cohort.values * units + 5)[:, columns], cohort.group)
    np.testing.assert_array_equal(columns[other.centres.order], moments.centres.order)
    setting = Setting(0.7, 0.0, 0.1)
    first, second = (fit(one, setting).matrices for one in (other, moments))
    np.testing.assert_allclose(first, second, atol=1e-7)


def test_a_collider_comes_after_its_parents():
    """In x0 -> x2 <- x1 nothing but the place of x2 is fixed."""
    X = np.random.default_rng(0).standard_normal((400, 3))
    X[:, 2] += X[:, 0] + X[:, 1]
    assert common_order(X - X.mean(axis=0), ["a", "b", "c"])[-1] == 2


def test_a_class_of_one_row_is_refused(cohort):
    group = np.array(["a"] * 99 + ["b"])
    with pytest.raises(InputError, match="class 'b' has 1 row"):
        moments_of(cohort.values, group)
