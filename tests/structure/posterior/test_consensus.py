import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sgbn.core.graph import is_dag
from sgbn.learn.confidence import consensus


def test_frequent_pairs_have_their_more_frequent_direction():
    arrows = np.array([[0, 0.6, 0.2], [0.1, 0, 0.2], [0.2, 0.0, 0]])
    assert np.argwhere(consensus(arrows)).tolist() == [[0, 1]]


def test_the_rarer_direction_may_count_less():
    arrows = np.array([[0, 0.3], [0.25, 0]])
    assert consensus(arrows).any()
    assert not consensus(arrows, other_way=0.5).any()


def test_the_surest_parents_are_kept_of_too_many():
    arrows = np.zeros((4, 4))
    arrows[:3, 3] = 0.7, 0.9, 0.8
    assert np.flatnonzero(consensus(arrows, max_parents=2)[:, 3]).tolist() == [1, 2]


def test_the_least_sure_direction_gives_way_to_a_cycle():
    arrows = np.array([[0, 0.9, 0.1], [0, 0, 0.8], [0.6, 0, 0]])
    assert np.argwhere(consensus(arrows)).tolist() == [[0, 1], [0, 2], [1, 2]]
    arrows[0, 2] = 0.0  # nobody had it that way: it is left out
    assert np.argwhere(consensus(arrows)).tolist() == [[0, 1], [1, 2]]


@settings(max_examples=50, deadline=None)
@given(arrays(float, (6, 6), elements=st.floats(0, 0.5)))
def test_it_is_always_a_dag_of_pairs_that_reach_the_threshold(arrows):
    np.fill_diagonal(arrows, 0)
    graph = consensus(arrows, 0.4)
    assert is_dag(graph)
    assert not (graph & (arrows + arrows.T < 0.4 - 1e-6)).any()
