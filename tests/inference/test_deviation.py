import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.codes import refused, warned

from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.problems import problem_of
from sgbn.inference.deviation import NormativeDeviation, _Norm
from sgbn.learn.base import fit_weights
from sgbn.learn.sgbn import SGBN


@parametrize_with_checks([NormativeDeviation(SGBN(n_kicks=0), n_folds=3)])
@pytest.mark.filterwarnings("ignore::sgbn.core.problems.DataWarning")
def test_follows_scikit_learn(estimator, check):
    check(estimator)


def test_prediction_errors_on_the_true_graph_are_standard_normal(simulate):
    """Exactly so, however few rows: leverage and degrees of freedom are counted."""
    _, truth = simulate(6, 10, 0)
    rng = np.random.default_rng(0)
    z, n_draws = [], 200
    for _ in range(n_draws):
        train, new = truth.sample(12, rng), truth.sample(1, rng)
        z.append(_Norm.learn(fit_weights(train, truth), train).z(new)[0])
    z = np.array(z)
    assert np.abs(z.mean(axis=0)).max() < 4 / np.sqrt(n_draws)
    assert np.abs(z.var(axis=0) - 1).max() < 4 * np.sqrt(2 / n_draws)
    assert np.mean(np.abs(z) > 1.96) == pytest.approx(0.05, abs=0.02)


@pytest.fixture(scope="module")
def fitted():
    """Deviation of 120 reference rows, their rows, fresh ones, and the true network."""
    from sgbn.cohort.simulate import simulate_sem
    from sgbn.core.graph import random_dag

    rng = np.random.default_rng(5)
    X, truth = simulate_sem(random_dag(20, 3, rng), 120, noise="unequal", random_state=rng)
    return NormativeDeviation().fit(X), X, truth.sample(2000, rng), truth


def test_fresh_and_cross_fitted_reference_rows_are_standard_and_fitted_ones_too_close(fitted):
    deviation, X, fresh, _ = fitted
    z = deviation.transform(fresh)
    # a region's own mean and noise come from 120 rows: errors of 0.09 and 0.065, with parents more
    assert np.abs(z.mean(axis=0)).max() < 0.35
    assert np.abs(z.std(axis=0) - 1).max() < 0.25
    assert z.std() == pytest.approx(1, abs=0.03)
    crossed = deviation.reference_.regions
    assert np.abs(crossed.mean(axis=0)).max() < 0.1
    assert np.abs(crossed.std(axis=0) - 1).max() < 0.2
    assert deviation.transform(X).std() < 0.965


def test_edge_scores_have_mean_zero_and_variance_one_in_the_reference_group(fitted):
    deviation, _, fresh, _ = fitted
    found = deviation.deviations(fresh)
    assert found.edges.shape == (2000, len(found.sources))
    assert np.abs(found.edges.mean(axis=0)).mean() < 0.15
    assert found.edges.std() == pytest.approx(1, abs=0.1)


def test_p_values_of_fresh_reference_rows_are_uniform(fitted):
    deviation, _, fresh, _ = fitted
    found = deviation.deviations(fresh)
    for p in (found.p_chi2, found.p_reference):
        assert np.mean(p < 0.05) == pytest.approx(0.05, abs=0.04)
        assert np.mean(p < 0.5) == pytest.approx(0.5, abs=0.12)
    assert found.p_reference.min() >= 1 / 121
    np.testing.assert_allclose(found.distance, (found.regions**2).sum(axis=1))


def test_reference_rows_are_ranked_among_the_others(fitted):
    deviation, X, _, _ = fitted
    reference = deviation.reference_
    assert len(reference.regions) == len(X)
    ranks = np.argsort(np.argsort(-reference.distance))
    np.testing.assert_allclose(reference.p_reference, (1 + ranks) / 120)


def test_a_changed_mechanism_shows_in_its_region_and_not_in_its_children(fitted):
    deviation, _, fresh, truth = fitted
    reached = np.abs(truth.coef).sum(axis=1)
    j = int(np.argmax(reached * (truth.coef != 0).any(axis=0)))
    children = np.flatnonzero(truth.coef[j])
    sd = np.sqrt(truth.noise_variance[j])
    total = np.linalg.inv(np.eye(20) - truth.coef)
    ill = fresh[:300] + 5 * sd * total[j]  # the shift of region j is passed on
    change = np.abs(deviation.transform(ill) - deviation.transform(fresh[:300])).mean(axis=0)
    assert np.argmax(change) == j
    assert change[j] > 3
    assert change[children].max() < 1.5
    plain = np.abs(5 * sd * total[j]) / fresh.std(axis=0)  # what region-by-region z-scores see
    assert plain[children].max() > 1.5
    p = deviation.deviations(ill).p_chi2
    assert np.median(p) < 0.05


def test_a_group_with_another_weight_has_an_edge_score_away_from_zero(fitted):
    deviation, _, _, truth = fitted
    network = deviation.network_
    i, j = np.argwhere((network.coef != 0) & (truth.coef != 0))[0]
    coef = truth.coef.copy()
    coef[i, j] += 1.0
    patients = GaussianNetwork(coef, noise_variance=truth.noise_variance).sample(500, 0)
    scores = deviation.deviations(patients).edges.mean(axis=0)
    place = np.argwhere(network.coef).tolist().index([i, j])
    assert np.argmax(np.abs(scores)) == place
    assert scores[place] > 0.5


def test_reference_rows_are_scored_by_networks_that_have_not_seen_them(simulate):
    X, _ = simulate(5, 40, 0)
    far = X.copy()
    far[7, 2] += 50.0
    crossed = NormativeDeviation(SGBN(outliers="keep")).fit(far)
    assert np.abs(crossed.reference_.regions[7]).max() > 2 * np.abs(crossed.transform(far)[7]).max()
    assert crossed.reference_.p_reference[7] == 1 / 40
    with warned("outliers.trimmed"):
        robust = NormativeDeviation().fit(far)
    clean = NormativeDeviation().fit(np.delete(X, 7, axis=0))
    np.testing.assert_allclose(robust.network_.coef, clean.network_.coef, rtol=1e-9)
    same_norm = clean.transform(X) * clean.inflation_ / robust.inflation_
    np.testing.assert_allclose(robust.transform(X), same_norm, rtol=1e-9)


def test_scores_stay_finite_far_away(fitted):
    deviation = fitted[0]
    z = deviation.transform(np.full((1, 20), 1e8))
    assert np.isfinite(z).all()
    assert np.abs(z).max() > 7


def test_names_come_along(simulate):
    X, _ = simulate(4, 40, 0)
    table = pd.DataFrame(X, columns=list("abcd"))
    deviation = NormativeDeviation().fit(table)
    assert deviation.get_feature_names_out().tolist() == list("abcd")
    assert deviation.network_.names == deviation.reference_.names == tuple("abcd")
    scores = deviation.score_samples(table)
    np.testing.assert_array_equal(scores, deviation.deviations(table).log_likelihood)


def test_results_do_not_depend_on_processes(simulate):
    X, _ = simulate(6, 60, 0)
    alone, together = (NormativeDeviation(SGBN(n_kicks=0), n_jobs=k).fit(X) for k in (None, 2))
    np.testing.assert_array_equal(alone.reference_.regions, together.reference_.regions)
    np.testing.assert_array_equal(
        alone.reference_.log_likelihood, together.reference_.log_likelihood
    )


def test_processes_are_used(simulate, monkeypatch):
    asked = []

    def in_turn(function, tasks, n_jobs):
        asked.append(n_jobs)
        return [function(task) for task in tasks]

    monkeypatch.setattr("sgbn.inference.deviation.parallel", in_turn)
    NormativeDeviation(SGBN(n_kicks=0), n_jobs=2).fit(simulate(4, 40, 0)[0])
    assert asked == [2]


@pytest.mark.parametrize(
    ("options", "change", "code"),
    [
        ({}, lambda X: X[:9], "rows.few"),
        ({"n_folds": 1}, lambda X: X, "argument"),
        ({"learner": "SGBN"}, lambda X: X, "argument"),
        ({}, lambda X: X * [1, 1, 1, 0], "regions.constant"),
        ({}, lambda _: simulate_cohort(30, regions=4), "cohort.estimator"),
    ],
)
def test_what_cannot_be_a_norm_is_refused(simulate, options, change, code):
    with refused(code):
        NormativeDeviation(**options).fit(change(simulate(4, 40, 0)[0]))


def test_warnings_about_the_group_come_once(simulate):
    X, _ = simulate(40, 12, 0)
    with warned("rows.few-for-columns") as caught:
        NormativeDeviation(SGBN(n_kicks=0), n_folds=2).fit(X)
    assert len({problem_of(one.message).code for one in caught}) == len(caught)


def test_more_folds_than_rows_leave_out_one_row_at_a_time(simulate):
    X, _ = simulate(3, 14, 0)
    one, many = (NormativeDeviation(SGBN(n_kicks=0), n_folds=n).fit(X) for n in (14, 1000))
    np.testing.assert_array_equal(many.reference_.regions, one.reference_.regions)


def test_persons_are_scored_by_networks_of_others():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((15, 4)), 2, axis=0)  # each person twice, the same
    persons = np.repeat(np.arange(15), 2)
    learner = SGBN(n_kicks=0)
    known = NormativeDeviation(learner, n_folds=15).fit(X, persons=persons)
    fooled = NormativeDeviation(learner, n_folds=30).fit(X)
    assert fooled.inflation_ < known.inflation_
    np.testing.assert_array_equal(known.reference_.distance[::2], known.reference_.distance[1::2])
    with refused("persons.one"):
        NormativeDeviation().fit(X, persons=np.zeros(30))
    with refused("labels.count"):
        NormativeDeviation().fit(X, persons=np.arange(31))
