import re
import shutil

import numpy as np
import pytest

from sgbn.experiments import exp2, exp2_calibration, exp2_report
from sgbn.runs import Study


@pytest.fixture(scope="module")
def text(exp2_folder):
    return exp2_report.report(exp2_folder)


def tables(text):
    """Header and rows of every table, as cells."""
    blocks = re.findall(r"(?:^\|.*\n)+", text, re.M)
    return [[re.split(r" *\| *", line)[1:-1] for line in b.splitlines()] for b in blocks]


def test_three_tables_have_a_row_a_network_and_a_sum(text, exp2_results):
    for measure, (header, _, *rows) in zip(("errors", "false", "pdag"), tables(text), strict=False):
        assert header == ["network", *exp2_report.MAIN]
        assert [row[0] for row in rows] == ["alarm", "chain", "sum"]
        assert all(len(row) == len(header) for row in rows)
        for k, method in enumerate(exp2_report.MAIN, start=1):
            ours = [float(row[k].split(" ")[0]) for row in rows]
            assert ours[0] + ours[1] == pytest.approx(ours[2])
            assert ours[0] == exp2_results.of(measure, "alarm", method).mean()


def test_the_papers_figures_stand_beside_ours_with_what_speaks_against_them(text):
    errors, false, pdag = (table[2:] for table in tables(text)[:3])
    assert errors[0][9].endswith("(44.40)")
    assert errors[0][5].endswith("(61.76 [b])")
    assert errors[2][9].endswith("(51.44)")
    assert false[1][1].endswith("(2.66)")
    assert pdag[1][9].endswith("(7.42 [c])")
    assert "(" not in errors[0][10]
    assert "- [a] The paper's figure is Hailfinder's" in text


def test_the_goal_is_shown_beside_the_empty_graph(text):
    goal = next(table for table in tables(text) if table[0][0] == "reading")
    by_name = {row[0]: row[1:] for row in goal[2:]}
    assert by_name["empty graph"] == ["52", "0", "52", "no"]
    assert by_name["paper"][:2] == ["51.44", "26.66"]
    assert len(by_name) == 8 + 2


def test_command_settings_and_times_are_part_of_the_report(text):
    assert "2 simulations of each network, 1000 samples, alpha = 0." in text
    assert "Versions: " in text
    assert "None, in any fit of any method." in text
    seconds = next(table for table in tables(text) if "slowest network" in table[0])
    assert all(float(row[1]) >= float(row[2]) > 0 for row in seconds[2:])


def test_failures_are_counted_and_shown(exp2_folder, tmp_path):
    folder = tmp_path / "failed"
    shutil.copytree(exp2_folder, folder)
    path = folder / "tasks" / "alarm.0000.npz"
    with np.load(path) as stored:
        task = dict(stored)
    failed = task["methods"] == "TC"
    for field in ("errors", "false", "pdag", "edges", "seconds"):
        task[field] = np.where(failed, np.nan, task[field])
    task["failure"] = np.where(failed, "InputError: no good", "")
    np.savez(path, **task)
    text = exp2_report.report(folder)
    assert "| failure | TC | alarm | 1 | InputError: no good |" in text
    left = exp2.read(folder).of("errors", "alarm", "TC")
    assert f"| {left[1]:.1f} +- nan (60.60)" in text


def test_a_calibration_in_the_folder_is_shown(exp2_folder, exp2_settings, tmp_path):
    folder = tmp_path / "calibrated"
    shutil.copytree(exp2_folder, folder)
    assert "--calibrate" in exp2_report.report(folder)
    alphas = np.array([0.3])
    exp2_calibration.run(Study(folder / "calibration"), exp2_settings, alphas)
    assert "in 2 simulations that are not evaluated" in exp2_report.report(folder)
