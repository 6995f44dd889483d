import numpy as np
import pytest

from sgbn.experiments.exp4_counts import COUNTS, Layout, counts, hippocampi, nested

LAYOUT = Layout(("frontal", "frontal", "temporal", "temporal"), [3])


def named(weights, layout=LAYOUT):
    return dict(zip(COUNTS, counts(weights, layout), strict=True))


def test_edges_are_counted_from_the_cut_on_row_to_column():
    weights = np.zeros((4, 4))
    weights[0, 1], weights[2, 0], weights[0, 3], weights[3, 2] = 0.5, -0.01, -0.3, 0.009
    found = named(weights)
    assert found["edges"] == 3
    assert found["within frontal"] == 1
    assert found["within temporal"] == 0
    assert found["temporal to frontal"] == 1
    assert found["frontal and temporal, both ways"] == 2
    assert found["hippocampi, edges in"] == 1
    assert found["hippocampi, edges out"] == 0
    assert found["hippocampi, strength in"] == pytest.approx(0.3)
    assert np.isnan(found["within parietal"])


def test_there_is_no_count_of_hippocampi_without_any():
    found = named(np.zeros((4, 4)), Layout(LAYOUT.lobes, []))
    assert np.isnan(found["hippocampi, edges in"])
    assert np.isnan(found["hippocampi, strength out"])


def test_hippocampi_are_found_in_any_atlas_without_their_neighbours():
    names = ["Hippocampus_L", "ParaHippocampal_L", "Right-Hippocampus", "lh_parahippocampal"]
    assert hippocampi(names) == [0, 2]


def test_nested_tells_a_reversed_edge_from_a_lost_one():
    sparse, reverse, lost = np.zeros((3, 3, 3))
    sparse[0, 1] = sparse[1, 2] = 1.0
    reverse[0, 1] = reverse[2, 1] = 1.0
    lost[0, 1] = 1.0
    assert nested(sparse, reverse) == pytest.approx([1 / 3, 1 / 2, 1.0])
    assert nested(sparse, lost) == pytest.approx([1 / 2, 1 / 2, 1 / 2])
    assert nested(sparse, sparse) == pytest.approx([1.0, 1.0, 1.0])
