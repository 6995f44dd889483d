import numpy as np

from sgbn import subject_moments
from sgbn.runs import Study
from sgbn.structure.knowledge import read_knowledge
from sgbn.structure.series.subject_halves import arrow_shares, learn_halves


def test_open_directions_count_half_each_way():
    P = np.array([[0, 1, 0], [1, 0, 1], [0, 0, 0]], bool)
    assert arrow_shares(P).tolist() == [[0, 0.5, 0], [0.5, 0, 1], [0, 0, 0]]


def halves(moments, n_pairs, study, units=None):
    knowledge = read_knowledge(None, None, None, moments.names)
    return learn_halves(moments, knowledge, 1.0, 2, n_pairs, 0, (None, units), study)


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
    persons = np.array(["a", "a", "a", "a", "b", "b", "b", "b"])
    found = halves(subject_moments(list(series)), 6, Study(), persons)
    assert found.adjacency_[0, 1] == 0.5  # one half of every split has person a, and so the edge
