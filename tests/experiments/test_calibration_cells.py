import numpy as np
import pytest

from sgbn.experiments import calibration_cells as cells
from sgbn.experiments.calibration import Scores


def test_a_share_stands_within_its_interval():
    estimate, low, high = cells.share(np.array([True] * 3 + [False] * 97))
    assert estimate == pytest.approx(0.03)
    assert 0 < low < 0.03 < high < 0.1
    assert cells.shown(cells.share(np.zeros(0, bool))) == "-"
    assert cells.shown((0.5, 0.25, 0.75)) == "0.500 [0.250, 0.750]"


def test_a_mean_leaves_out_what_means_nothing():
    assert cells.mean_shown(np.array([0.0, 1.0, np.nan])) == "0.500 +- 0.500"
    assert cells.mean_shown(np.array([np.nan])) == "-"
    assert cells.mean_interval(np.array([0.0, 1.0])) == (0.5, 0.0, 1.0)
    assert cells.number(np.nan, ".0f") == "-"


def test_nothing_found_is_no_false_share():
    values = {"found": np.array([[0.0], [4.0]]), "false": np.array([[0.0], [1.0]])}
    assert cells.false_share(Scores(["ours"], values), "ours").tolist() == [0, 0.25]


def test_uniform_p_are_told_from_others():
    grid = np.arange(1, 201) / 200
    assert cells.uniform_p(grid, 1 / 200) > 0.5
    assert cells.uniform_p(grid**2, 1 / 200) < 0.01
    assert cells.uniform_p(np.append(grid, np.nan), 1 / 200) > 0.5


def test_settings_are_told_apart_by_name():
    own = {"nuisance": False, "noise": 2.0, "known_order": True, "sizes": (60, 40)}
    assert cells.kind_of(own) == "noise doubled in half the regions, order known"
    assert cells.kind_of(own | {"noise": 1.0, "known_order": False}) == "equal noise"
    assert cells.sizes_of(own) == "60/40"
