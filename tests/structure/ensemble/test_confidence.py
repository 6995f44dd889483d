import numpy as np
import pytest

from sgbn.core.exceptions import InputError
from sgbn.learn.confidence import (
    Agreement,
    EdgeConfidence,
    agreement_from,
    agreement_of,
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
    assert confidence.direction_[1, 2] == 0
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
    assert confidence.bound(0.75, 0.1) == pytest.approx(0.2 * 1.35)
    with pytest.raises(InputError, match="threshold"):
        confidence.bound(0.5)
