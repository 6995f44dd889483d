import numpy as np
import pytest
from sklearn.base import clone

from sgbn.cohort.series import SeriesCohort, subject_moments
from sgbn.core.equivalence import skeleton
from sgbn.core.exceptions import DataWarning, InputError
from sgbn.learn.series import SeriesSGBN, noise_shares


@pytest.fixture(scope="module")
def learner(simulated):
    return SeriesSGBN(n_pairs=10).fit(simulated())


def test_the_graph_that_subjects_share_is_found_and_its_arrows_are_supported(learner, true_graph):
    assert np.array_equal(skeleton(learner.coef_), skeleton(true_graph))
    expected = true_graph.copy()
    expected[4, 5] = False  # nothing decides this direction
    assert np.array_equal(learner.supported_, expected)
    assert learner.adjacency_[4, 5] == 1
    assert learner.arrow_[4, 5] == 0.5
    assert learner.drawn_graph_[5, 4]


def test_weights_and_shares_describe_the_subjects(learner):
    edges = learner.coef_ != 0
    assert learner.subject_weights_.shape == (12, 6, 6)
    assert np.allclose(learner.subject_weights_.mean(axis=0), learner.coef_)
    assert (learner.coef_low_[edges] < learner.coef_[edges]).all()
    assert (learner.coef_high_[edges] > learner.coef_[edges]).all()
    assert (learner.support_share_[edges] > 0.8).all()
    assert learner.survives_[edges].all()
    assert not learner.support_share_[~edges].any()


def test_an_edge_that_few_subjects_carry_does_not_survive_without_them(simulated):
    series = simulated(S=20)
    for rows in series[:2]:
        rows[:, 5] += 30 * rows[:, 0]
    learner = SeriesSGBN(n_pairs=0).fit(series)
    i, j = (0, 5) if learner.coef_[0, 5] else (5, 0)
    assert learner.coef_[i, j]
    assert learner.support_share_[i, j] < 0.3
    assert not learner.survives_[i, j]


def test_parameters_are_cloned_and_checked(learner, simulated):
    again = clone(learner)
    assert again.get_params() == learner.get_params()
    with pytest.raises(InputError, match="penalty"):
        SeriesSGBN(penalty=-1).fit(simulated(S=2))


def test_the_same_answer_for_any_order_of_subjects_regions_and_processes(simulated):
    series = simulated(S=6)
    names = list("abcdef")
    first = SeriesSGBN(n_pairs=2).fit(SeriesCohort.of(series, names))
    columns = [3, 1, 5, 0, 2, 4]
    moved = SeriesCohort.of([rows[:, columns] for rows in series], [names[k] for k in columns])
    again = SeriesSGBN(n_pairs=2, n_jobs=2).fit(moved)
    assert np.allclose(again.coef_, first.coef_[np.ix_(columns, columns)])
    assert np.array_equal(again.arrow_, first.arrow_[np.ix_(columns, columns)])


def test_prior_knowledge_holds(simulated):
    series = simulated(S=6)
    learner = SeriesSGBN(n_pairs=2, required=[(5, 4)], forbidden=[(2, 3)]).fit(series)
    assert learner.coef_[5, 4]
    assert not learner.coef_[2, 3]
    assert learner.arrow_[5, 4] == 1
    with pytest.raises(InputError, match="directed cycle"):
        SeriesSGBN(required=[(0, 1), (1, 0)]).fit(series)


def test_a_folder_keeps_finished_halves(tmp_path, simulated):
    series = simulated(S=6)
    first = SeriesSGBN(n_pairs=2).fit(series, folder=tmp_path)
    again = SeriesSGBN(n_pairs=3).fit(series, folder=tmp_path)
    assert first.confidence_.n_halves == 4
    assert again.confidence_.n_halves == 6


def test_few_subjects_have_a_network_and_no_confidence(simulated):
    with pytest.warns(DataWarning, match="3 subjects are too few for half samples"):
        learner = SeriesSGBN().fit(simulated(S=3))
    assert learner.confidence_ is None
    assert learner.network_.n_edges >= 3
    alone = SeriesSGBN(n_pairs=0).fit(simulated(S=1))
    assert np.isnan(alone.coef_low_[alone.coef_ != 0]).all()


def test_moments_do_for_the_series(simulated):
    series = simulated(S=6)
    moments = subject_moments(series)
    from_series = SeriesSGBN(n_pairs=0).fit(series)
    from_moments = SeriesSGBN(n_pairs=0).fit_moments(moments)
    assert np.array_equal(from_series.coef_, from_moments.coef_)
    with pytest.raises(InputError, match="needs the series"):
        SeriesSGBN(non_gaussian="orient").fit_moments(moments)


def test_residuals_decide_what_the_class_leaves_open():
    rng = np.random.default_rng(3)
    series = rng.exponential(size=(10, 200, 2))
    series[:, :, 1] += 0.8 * series[:, :, 0]
    learner = SeriesSGBN(n_pairs=0, non_gaussian="orient").fit(list(series))
    assert learner.coef_[0, 1]
    assert learner.edge_kinds_.tolist() == ["non-Gaussian"]
    with pytest.warns(DataWarning, match="2 subjects are too few .* at least 10"):
        SeriesSGBN(n_pairs=0, non_gaussian="orient").fit(list(series[:2]))


def test_sessions_of_a_person_are_no_further_subjects(simulated):
    """Copies of each series as sessions: intervals, shares and the tenth stay those of persons."""
    series = simulated(S=12)
    alone = SeriesSGBN(n_pairs=0).fit(series)
    persons = np.repeat(np.arange(12), 4)
    copies = [series[person] for person in persons]
    again = SeriesSGBN(n_pairs=0).fit(copies, units=persons)
    edges = alone.coef_ != 0
    assert np.array_equal(again.coef_ != 0, edges)
    assert again.coef_low_ == pytest.approx(alone.coef_low_)
    assert again.support_share_ == pytest.approx(alone.support_share_)
    assert np.array_equal(again.survives_, alone.survives_)
    naive = SeriesSGBN(n_pairs=0).fit(copies)
    width = (naive.coef_high_ - naive.coef_low_)[edges] / (alone.coef_high_ - alone.coef_low_)[
        edges
    ]
    assert (width < 0.6).all()


def test_one_subject_with_copies_does_not_hide_the_others():
    """Its regions are nearly copies: the score stays finite, and what it carries is told."""
    rng = np.random.default_rng(5)
    series = list(rng.standard_normal((20, 150, 4)))
    series[3][:, 1] = series[3][:, 0] + 0.02 * rng.standard_normal(150)
    learner = SeriesSGBN(n_pairs=0).fit(series)
    for i, j in np.argwhere(learner.coef_).tolist():
        assert not learner.survives_[i, j]


def test_a_cohort_brings_its_sites_and_persons(simulated):
    series = simulated(S=6)
    persons = ["a", "a", "b", "b", "c", "c"]
    cohort = SeriesCohort.of(series, person=persons)
    with pytest.warns(DataWarning, match="3 subjects are too few for half samples"):
        SeriesSGBN().fit(cohort)


@pytest.mark.parametrize("name", ["units", "strata"])
def test_labels_of_another_length_are_refused(name, simulated):
    series, wrong = simulated(S=6), {name: ["a", "b"]}
    expected = rf"{name} has shape \(2,\): give one label for each of the 6 subjects\."
    with pytest.raises(InputError, match=expected):
        SeriesSGBN(n_pairs=2).fit(series, **wrong)
    with pytest.raises(InputError, match=expected):
        SeriesSGBN(n_pairs=0).fit_moments(subject_moments(series), **wrong)


def test_noise_is_a_mean_over_persons(simulated):
    """Many sessions of one person do not outweigh the others, as in the weights."""
    series = simulated(S=8)
    persons = [0, 0, 0, 0, 1, 2, 3, 4]
    learner = SeriesSGBN(n_pairs=0).fit(series, units=persons)
    shares = noise_shares(learner.moments_, learner.coef_ != 0)
    expected = np.mean([shares[:4].mean(axis=0), *shares[4:]], axis=0)
    assert learner.noise_variance_ == pytest.approx(expected)
    assert np.abs(expected - shares.mean(axis=0)).max() > 0.01  # a mean over sessions differs
