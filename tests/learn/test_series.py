import numpy as np
import pytest
from sklearn.base import clone
from tests.codes import refused, warned

from sgbn.cohort.design import Design
from sgbn.cohort.series import SeriesCohort, filtered_series, subject_moments
from sgbn.core.equivalence import cpdag, skeleton
from sgbn.core.problems import StudyError
from sgbn.learn.knowledge import read_knowledge
from sgbn.learn.orient import decide_directions
from sgbn.learn.search.search import search_subjects
from sgbn.learn.series import (
    Rules,
    SeriesSGBN,
    SubjectResiduals,
    arrow_shares,
    edge_gains,
    learn_halves,
    learn_pair,
    noise_shares,
    subject_weights,
)
from sgbn.runs.study import Study


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
    with refused("required.cycle"):
        SeriesSGBN(required=[(0, 1), (1, 0)]).fit(series)


def test_a_folder_keeps_finished_halves(tmp_path, simulated):
    series = simulated(S=6)
    first = SeriesSGBN(n_pairs=2).fit(series, folder=tmp_path)
    again = SeriesSGBN(n_pairs=3).fit(series, folder=tmp_path)
    assert first.confidence_.n_halves == 4
    assert again.confidence_.n_halves == 6


def test_few_subjects_have_a_network_and_no_confidence(simulated):
    with warned("halves.few"):
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
    with refused("moments.series"):
        SeriesSGBN(non_gaussian="orient").fit_moments(moments)


def test_residuals_decide_what_the_class_leaves_open():
    rng = np.random.default_rng(3)
    series = rng.exponential(size=(10, 200, 2))
    series[:, :, 1] += 0.8 * series[:, :, 0]
    learner = SeriesSGBN(n_pairs=0, non_gaussian="orient").fit(list(series))
    assert learner.coef_[0, 1]
    assert learner.edge_kinds_.tolist() == ["non-Gaussian"]
    with warned("series.few-to-orient"):
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
    with warned("halves.few"):
        SeriesSGBN().fit(cohort)


@pytest.mark.parametrize("name", ["units", "strata"])
def test_labels_of_another_length_are_refused(name, simulated):
    series, wrong = simulated(S=6), {name: ["a", "b"]}
    with refused("labels.count"):
        SeriesSGBN(n_pairs=2).fit(series, **wrong)


def test_noise_is_a_mean_over_persons(simulated):
    """Many sessions of one person do not outweigh the others, as in the weights."""
    series = simulated(S=8)
    persons = [0, 0, 0, 0, 1, 2, 3, 4]
    learner = SeriesSGBN(n_pairs=0).fit(series, units=persons)
    shares = noise_shares(learner.moments_, learner.coef_ != 0)
    expected = np.mean([shares[:4].mean(axis=0), *shares[4:]], axis=0)
    assert learner.noise_variance_ == pytest.approx(expected)
    assert np.abs(expected - shares.mean(axis=0)).max() > 0.01  # a mean over sessions differs


def test_open_directions_count_half_each_way():
    P = np.array([[0, 1, 0], [1, 0, 1], [0, 0, 0]], bool)
    assert arrow_shares(P).tolist() == [[0, 0.5, 0], [0.5, 0, 1], [0, 0, 0]]


def rules_of(moments):
    return Rules(read_knowledge(None, None, None, list(moments.names)), 1.0, 2)


def halves(moments, n_pairs, study, **labels):
    design = Design.of(moments.ids, **labels)
    return learn_halves(moments, design, rules_of(moments), n_pairs, 0, study)


def test_a_study_goes_on_with_more_pairs_and_any_number_of_processes(tmp_path):
    series = np.random.default_rng(0).standard_normal((8, 100, 4))
    series[:, :, 3] += series[:, :, 1]
    moments = subject_moments(list(series))
    halves(moments, 2, Study(tmp_path))
    whole = halves(moments, 4, Study(tmp_path))
    other = halves(moments, 4, Study(n_jobs=2))
    assert np.array_equal(whole.arrow_, other.arrow_)
    assert whole.adjacency_[1, 3] == 1
    assert whole.arrow_[1, 3] == 0.5
    assert whole.n_halves == 8


def test_units_are_never_parted():
    """Half of the persons, with two sessions each, have the edge: whole persons decide."""
    rng = np.random.default_rng(1)
    series = rng.standard_normal((8, 80, 2))
    series[:4, :, 1] += 2 * series[:4, :, 0]
    persons = np.repeat([0, 1], 4)
    found = halves(subject_moments(list(series)), 6, Study(), person=persons)
    assert found.adjacency_[0, 1] == 0.5  # one half of every split has person 0, and so the edge


def test_halves_of_more_than_ten_subjects_are_those_of_their_rows():
    """Numbers of persons are not labels: sorted as text, 10 would come before 2."""
    rng = np.random.default_rng(2)
    series = rng.standard_normal((12, 80, 6))
    for s, rows in enumerate(series):
        rows[:, s % 6] += 2 * rows[:, (s + 1) % 6]  # halves of other subjects have other edges
    moments, design = subject_moments(list(series)), Design(12)
    rules = rules_of(moments)
    for number in range(4):
        part = design.deal(np.random.default_rng([0, number]))
        joined = np.zeros((6, 6))
        for which in range(2):
            problem = rules.problem(moments.take(part == which))
            graph = problem.to_user(search_subjects(problem, np.random.RandomState(0)).parents)
            joined += (graph != 0) | (graph != 0).T
        shares = learn_pair(moments, design, rules, 0, number)["arrows"]
        assert np.array_equal(shares + shares.T, joined / 2)


def test_a_folder_of_halves_is_of_one_design_and_its_subjects(tmp_path):
    series = list(np.random.default_rng(3).standard_normal((6, 60, 2)))
    moments, other = subject_moments(series), subject_moments([series[1], *series[1:]])
    for n_pairs in (1, 2):
        halves(subject_moments(series), n_pairs, Study(tmp_path))
    of_others = {"person": [0, 0, 1, 1, 2, 2]}, {"site": [0, 0, 0, 1, 1, 1]}
    for given, labels in ((other, {}), *((moments, labels) for labels in of_others)):
        with refused("study.settings", StudyError):
            halves(given, 2, Study(tmp_path), **labels)


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


GRAPH = np.array([[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]], bool)


@pytest.fixture(scope="module")
def cohort():
    rng = np.random.default_rng(0)
    series = rng.standard_normal((3, 120, 4))
    series[:, :, 1] += 0.8 * series[:, :, 0]
    series[:, :, 2] += 0.5 * series[:, :, 1] - 0.5 * series[:, :, 0]
    return SeriesCohort.of(list(series))


def test_weights_are_least_squares_in_each_subject(cohort):
    moments = subject_moments(cohort)
    found = subject_weights(moments, GRAPH)
    shares = noise_shares(moments, GRAPH)
    for s, one in enumerate(filtered_series(cohort)):
        rows = one.rows
        expected = np.linalg.lstsq(rows[:, [0, 1]], rows[:, 2], rcond=None)[0]
        assert found[s][[0, 1], 2] == pytest.approx(expected, abs=1e-3)  # the floor of noise
        left = rows[:, 2] - rows[:, [0, 1]] @ expected
        assert shares[s, 2] == pytest.approx(np.square(left).mean(), abs=1e-3)  # the floor of noise
    assert (found[:, ~GRAPH] == 0).all()
    assert (shares[:, [0, 3]] == 1).all()


def test_an_edge_is_worth_the_difference_of_two_scores(cohort):
    moments = subject_moments(cohort)
    gains = edge_gains(moments, GRAPH, 1.5)
    without = GRAPH.copy()
    without[0, 2] = False
    rss, more = (noise_shares(moments, graph)[:, 2] for graph in (GRAPH, without))
    expected = moments.n * np.log(more / rss) - 1.5 * np.log(moments.n)
    assert gains[:, 0, 2] == pytest.approx(expected)
    assert (gains[:, ~GRAPH] == 0).all()
