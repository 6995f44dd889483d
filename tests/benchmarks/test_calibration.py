import json
import sys

import calibration
import numpy as np
import pytest
from calibration_parts.designs import STUDIES, Design, Study, folder_of
from calibration_parts.goals import GOALS, Goal, goal_row
from calibration_parts.power import least_squares, oracle_z
from calibration_parts.real import chosen_edges, plant
from calibration_parts.report import shown
from output import TEXTS


def score(design, cohort, seed):
    if cohort == 1:  # a method that could not be run
        return {"methods": ["one way"], "any_family": [0.0], "recall": [np.nan]}
    return {"methods": ["one way", "other"], "any_family": [1.0, 0.0], "recall": [0.5, 0.25]}


@pytest.fixture
def study(monkeypatch):
    designs = {"Gaussian": Design(score, 1, "gaussian"), "few": Design(score, 2, "few", most=1)}
    monkeypatch.setitem(STUDIES, "pairwise", Study(designs, 2))
    return STUDIES["pairwise"]


def test_rows_have_mean_error_and_number(study, tmp_path):
    rows = list(calibration.run(study, tmp_path, 2, 0, None))
    found = {(row["setting"], row["method"]): row for row in rows}
    assert found["Gaussian", "one way"]["any_family"] == [0.5, 0.5, 2]
    assert found["Gaussian", "one way"]["recall"] == [0.5, 0.0, 1]
    assert found["Gaussian", "other"]["recall"] == [0.25, 0.0, 1]
    assert found["few", "one way"]["cohorts"] == 1


def test_a_study_takes_the_place_of_its_old_rows(study, tmp_path, monkeypatch, capsys):
    words = ["calibration.py", "--study", "pairwise", "--out", str(tmp_path), "--cohorts"]
    for n in ("1", "2"):
        monkeypatch.setattr(sys, "argv", [*words, n])
        calibration.main()
    stored = json.loads((tmp_path / "calibration.json").read_text())
    assert [row["cohorts"] for row in stored["runs"]] == [2, 2, 1, 1]
    assert stored["studies"]["pairwise"]["command"].endswith("--cohorts 2")
    text = (tmp_path / "calibration.md").read_text()
    assert text == capsys.readouterr().out[-len(text) :]
    assert "| Gaussian | one way | 2 | 0.500 [0.095, 0.905] |" in text


def test_intervals_are_wilsons():
    assert shown(0.055, 200) == "0.055 [0.031, 0.096]"  # R: prop.test(11, 200, correct = FALSE)


def test_every_goal_names_a_study_and_its_settings():
    for goal in GOALS:
        assert set(goal.settings) <= set(STUDIES[goal.study].designs)
    for name, planned in STUDIES.items():
        assert (TEXTS / f"calibration-{name}.md").exists()
        folders = [design.folder for design in planned.designs.values()]
        assert len(set(folders)) == len(folders)


@pytest.mark.parametrize(("at_least", "met"), [(True, "no"), (False, "yes")])
def test_a_goal_is_met_or_not(at_least, met):
    row = {"study": "s", "setting": "a", "method": "m", "recall": [0.4, 0.1, 9]}
    goal = Goal("s", ("a", "b"), "m", "recall", 0.5, at_least)
    (cells,) = goal_row(goal, [row, row | {"setting": "c"}])
    assert cells[-3:] == [9, "0.400", met]
    assert list(goal_row(goal, [])) == []


def test_the_oracle_is_least_squares():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((60, 3))
    weights, variances = least_squares(rows, [0, 1], 2, robust=False)
    design = np.column_stack([np.ones(60), rows[:, :2]])
    solved, rest, *_ = np.linalg.lstsq(design, rows[:, 2], rcond=None)
    np.testing.assert_allclose(weights, solved[1:])
    G = np.linalg.inv(design.T @ design)
    np.testing.assert_allclose(variances, (rest[0] / 57 * np.diag(G))[1:])
    robust = least_squares(rows, [0, 1], 2, robust=True)[1]
    e = rows[:, 2] - design @ solved
    e /= 1 - np.diag(design @ G @ design.T)
    np.testing.assert_allclose(robust, np.diag(G @ (design.T * e**2) @ design @ G)[1:])
    graph = np.zeros((3, 3), bool)
    graph[0, 2] = True
    assert np.count_nonzero(oracle_z([rows, rows[::2]], graph, True)) == 1


def test_planted_children_follow_their_parents_less():
    rng = np.random.default_rng(0)
    coef = np.array([[0, 0.9, 0.5], [0, 0, 0], [0, 0, 0]])
    chosen = chosen_edges(coef)
    assert chosen.tolist() == (coef != 0).tolist()
    x = rng.standard_normal((5000, 3))
    planted = plant(x, x, coef, chosen)
    slope = np.polyfit(x[:, 0], planted[:, 1] - x[:, 1], 1)[0]
    assert slope == pytest.approx(-0.4, abs=0.02)
    np.testing.assert_array_equal(planted[:, 0], x[:, 0])


def test_a_setting_is_a_folder():
    assert folder_of("30 v 150, t3 noise") == "30-v-150-t3-noise"
