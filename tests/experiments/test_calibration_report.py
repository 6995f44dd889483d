import numpy as np
import pytest

from sgbn.experiments import calibration
from sgbn.experiments.calibration_report import report


@pytest.fixture(scope="module")
def calibration_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calibration")
    calibration.run(folder, 2, progress=False, regions=8, cost=(5, 30, 19))
    return folder


def rows_of(text, heading):
    lines = text.split(f"## {heading}\n")[1].split("\n## ")[0].splitlines()
    return [line.split(" | ") for line in lines if line.startswith("| ")][1:]


def test_every_setting_has_its_row(calibration_folder):
    text = report(calibration_folder)
    null, changed = rows_of(text, "No difference"), rows_of(text, "Changed edges")
    assert len(null) == 5
    assert len(changed) == 4 * 6 + 2 * 2
    assert {tuple(row[2:4]) for row in changed} == {("2", "2")}
    assert {row[0] for row in null} == {
        "| equal noise",
        "| noise doubled in half the regions",
        "| three sites and covariates, confounded",
    }


def test_goals_are_compared_with_what_was_measured(calibration_folder):
    goals = rows_of(report(calibration_folder), "Goals")
    recall = [row for row in goals if row[1].startswith("recall")]
    assert [row[1] for row in recall] == [f"recall at least {x}" for x in (0.6, 0.85, 0.95)]
    for row in recall:
        reached = float(row[2]) >= float(row[1].split()[-1])
        assert row[3] == ("yes |" if reached else "no |")
    assert sum("FWER" in row[1] for row in goals) == 11


def test_the_cost_is_a_multiple_of_a_fit(calibration_folder):
    with np.load(calibration_folder / "cost" / "tasks" / "cost.npz") as stored:
        times = float(stored["tests"] / stored["fit"])
    assert f"{times:.0f} times the" in report(calibration_folder)
