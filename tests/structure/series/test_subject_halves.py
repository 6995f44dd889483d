import numpy as np

from sgbn.cohort.design import deal_rows
from sgbn.cohort.series import subject_moments
from sgbn.learn.knowledge import read_knowledge
from sgbn.learn.search.search import search_subjects
from sgbn.learn.series import Subjects, arrow_shares, learn_halves, learn_pair
from sgbn.runs.study import Study


def test_open_directions_count_half_each_way():
    P = np.array([[0, 1, 0], [1, 0, 1], [0, 0, 0]], bool)
    assert arrow_shares(P).tolist() == [[0, 0.5, 0], [0.5, 0, 1], [0, 0, 0]]


def subjects_of(moments, persons=None):
    knowledge = read_knowledge(None, None, None, moments.names)
    persons = np.arange(len(moments)) if persons is None else persons
    return Subjects(moments, persons, np.zeros(len(moments), int), knowledge, 1.0, 2)


def halves(moments, n_pairs, study, persons=None):
    return learn_halves(subjects_of(moments, persons), n_pairs, 0, study)


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
    found = halves(subject_moments(list(series)), 6, Study(), persons)
    assert found.adjacency_[0, 1] == 0.5  # one half of every split has person 0, and so the edge


def test_halves_of_more_than_ten_subjects_are_those_of_their_rows():
    """Numbers of persons are not labels: sorted as text, 10 would come before 2."""
    rng = np.random.default_rng(2)
    series = rng.standard_normal((12, 80, 6))
    for s, rows in enumerate(series):
        rows[:, s % 6] += 2 * rows[:, (s + 1) % 6]  # halves of other subjects have other edges
    subjects = subjects_of(subject_moments(list(series)))
    for number in range(4):
        part = deal_rows(np.random.default_rng([0, number]), 12, 2)
        joined = np.zeros((6, 6))
        for which in range(2):
            problem = subjects.problem(np.flatnonzero(part == which))
            graph = problem.to_user(search_subjects(problem, np.random.RandomState(0)).parents)
            joined += (graph != 0) | (graph != 0).T
        shares = learn_pair(subjects, 0, number)["arrows"]
        assert np.array_equal(shares + shares.T, joined / 2)


def test_what_the_halves_depend_on_is_told():
    series = list(np.random.default_rng(3).standard_normal((6, 60, 2)))
    subjects = subjects_of(subject_moments(series))
    other = subject_moments([series[1], *series[1:]])
    same, *others = [
        one.describe()["data"]
        for one in (
            subjects_of(subject_moments(series)),
            subjects._replace(persons=np.array([0, 0, 1, 1, 2, 2])),
            subjects._replace(strata=np.array([0, 0, 0, 1, 1, 1])),
            subjects._replace(moments=other),
        )
    ]
    assert same == subjects.describe()["data"]
    assert len({same, *others}) == 4
