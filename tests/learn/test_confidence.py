import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.codes import refused

from sgbn.core.graph import is_dag
from sgbn.learn.confidence import (
    Agreement,
    EdgeConfidence,
    agreement_from,
    agreement_of,
    consensus,
    drawn_graph,
    selection_bound,
)

ARROW = np.array([[0.0, 0.9, 0.3], [0.05, 0.0, 0.0], [0.1, 0.0, 0.0]])


@pytest.fixture
def confidence():
    return EdgeConfidence(("a", "b", "c"), 10, ARROW, Agreement(2.0, 0.5, 1.0, 0.5))


def test_both_directions_make_the_share_of_a_pair(confidence):
    assert np.array_equal(confidence.adjacency_, ARROW + ARROW.T)
    assert confidence.direction_[0, 1] == pytest.approx(0.9 / 0.95)
    assert confidence.direction_[1, 2] == 0  # never joined
    assert confidence.n_adjacent == pytest.approx(1.35)


def test_an_arrow_is_supported_from_both_thresholds_on(confidence):
    graph = np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]])
    assert np.argwhere(confidence.supported(graph)).tolist() == [[0, 1]]
    assert np.argwhere(confidence.supported(graph, 0.4, 0.75)).tolist() == [[0, 1], [0, 2]]
    assert not confidence.supported(graph, 0.96, 0.75).any()
    assert not confidence.supported(graph.T).any()  # the other way


def test_what_is_drawn_has_arrows_only_where_supported(confidence):
    graph = np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]])
    drawn = drawn_graph(graph, confidence.supported(graph))
    assert np.argwhere(drawn).tolist() == [[0, 1], [0, 2], [2, 0]]


def test_pairs_are_listed_the_most_frequent_first(confidence):
    edges = confidence.edges()
    assert edges[["source", "target"]].tolist() == [("a", "b"), ("a", "c")]
    assert edges.adjacency.tolist() == pytest.approx([0.95, 0.4])
    assert edges.direction.tolist() == pytest.approx([0.9 / 0.95, 0.75])
    assert len(confidence.edges(0.5)) == 1


def test_halves_that_agree_and_halves_that_do_not():
    second = ARROW.T.copy()
    counts = agreement_of(ARROW, ARROW)
    assert agreement_from(counts, 2) == Agreement(1.0, 1.0, 1.0, 1.0)
    assert agreement_from(agreement_of(ARROW, second), 2) == Agreement(1.0, 1.0, 1.0, 0.0)
    none = agreement_from(agreement_of(np.zeros((3, 3)), np.zeros((3, 3))), 2)
    assert none.n_edges == 0
    assert np.isnan(none.edges)


def test_the_bound_is_that_of_stability_selection(confidence):
    assert selection_bound(0.75, 0.1, 20) == pytest.approx(4.0)
    assert selection_bound(1.0, 0.1, 20) == pytest.approx(2.0)
    assert confidence.bound(0.75, 0.1) == pytest.approx(0.2 * 1.35)
    assert confidence.bound(1.0) == pytest.approx(1.35**2 / 3)
    for wrong in (lambda: confidence.bound(0.5), lambda: selection_bound(0.9, 2, 1)):
        with refused("argument"):
            wrong()


def test_nothing_found_is_no_error():
    empty = EdgeConfidence(("a", "b", "c"), 4, np.zeros((3, 3)), Agreement(0.0, 0.0, 0.0, 0.0))
    assert len(empty.edges()) == 0
    assert not empty.consensus().any()
    assert empty.bound(0.9) == 0


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
    assert (arrows[graph] > 0).all()
    assert not (graph & (arrows + arrows.T < 0.4 - 1e-6)).any()
