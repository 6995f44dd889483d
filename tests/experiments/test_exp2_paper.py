import pytest

from sgbn.datasets import NETWORKS, load_network
from sgbn.experiments.exp2_paper import (
    BASELINES,
    DOUBTS,
    FIGURES,
    MEASURES,
    METHODS,
    doubt,
    paper_sum,
    summed,
)


def test_three_tables_of_nine_networks_and_nine_methods():
    assert set(FIGURES) == {(t, n, m) for t in MEASURES for n in NETWORKS for m in METHODS}


def test_or_sgbn_sums_to_440_errors_of_which_214_false_without_mildew():
    assert paper_sum("errors", "OR-SGBN", NETWORKS) == pytest.approx(440.26)
    assert paper_sum("false", "OR-SGBN", NETWORKS) == pytest.approx(214.22)
    assert sum(load_network(n).graph.sum() for n in summed(NETWORKS)) == 462


def test_total_errors_leave_a_possible_number_of_missing_edges_where_nothing_is_in_doubt():
    for network in NETWORKS:
        for method in METHODS:
            missing = FIGURES["errors", network, method] - FIGURES["false", network, method]
            possible = 0 <= missing <= load_network(network).graph.sum()
            assert possible or doubt("errors", network, method)


def test_the_cells_in_doubt_are_what_they_are_said_to_be():
    for method in METHODS[-4:]:
        mildew = FIGURES["errors", "mildew", method]
        assert mildew == FIGURES["errors", "hailfinder", method]
        assert doubt("errors", "mildew", method) == "a"
        assert doubt("false", "mildew", method) != "a"
    for measure in MEASURES:
        for network in NETWORKS:
            same = {FIGURES[measure, network, m] for m in ("IAMB", "IAMB2", "IAMB3")}
            assert len(same) == 1 or (measure, network) == ("errors", "mildew")
            assert doubt(measure, network, "IAMB2") in ("a", "b")
    assert FIGURES["pdag", "chain", "OR-SGBN"] > 6
    assert doubt("pdag", "chain", "OR-SGBN") == "c"


def test_most_cells_are_not_in_doubt():
    letters = [doubt(*key) for key in FIGURES]
    assert set(letters) == {"", *DOUBTS}
    assert letters.count("a") == 4
    assert letters.count("b") == 3 * 9 * 3 - 2
    assert letters.count("c") == 1
    assert not any(doubt("errors", "alarm", m) for m in BASELINES if not m.startswith("IAMB"))
