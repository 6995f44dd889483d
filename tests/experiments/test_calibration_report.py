import numpy as np
import pytest

from sgbn.experiments import calibration, calibration_bound, calibration_intervals
from sgbn.experiments.calibration_report import report
from sgbn.experiments.calibration_sums import SUMS


@pytest.fixture(scope="module")
def calibration_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calibration")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration_bound, "DRAWS", 10)
        patch.setattr(calibration_bound, "N_PAIRS", 5)
        calibration.run(folder, 2, progress=False, regions=8, cost=(5, 30, 19))
    return folder


def rows_of(text, heading):
    lines = text.split(f"## {heading}\n")[1].split("\n## ")[0].splitlines()
    return [line.split(" | ") for line in lines if line.startswith("| ")][1:]


def test_every_setting_has_its_row(calibration_folder):
    text = report(calibration_folder)
    null, changed = rows_of(text, "No difference"), rows_of(text, "Changed edges")
    assert len(null) == 6
    assert len(rows_of(text, "No difference: hubs, lobes, components")) == 6 * len(SUMS)
    assert len(changed) == 4 * 6 + 2 * 2
    assert {tuple(row[2:4]) for row in changed} == {("2", "2")}
    assert {row[0] for row in null} == {
        "| equal noise",
        "| noise doubled in half the regions",
        "| noise doubled in half the regions, order known",
        "| three sites and covariates, confounded",
    }


def test_sums_are_counted_over_cohorts_of_equal_weights(calibration_folder):
    rows = rows_of(report(calibration_folder), "No difference: hubs, lobes, components")
    hubs = [row for row in rows if row[3] == "hubs"]
    same = [row for row in hubs if row[0] == "| equal noise"]
    assert [row[6] for row in same] == ["2"]  # every cohort, of which any find is false
    assert same[0][4] == same[0][5] == same[0][7].removesuffix(" |")


def test_the_cost_is_a_multiple_of_a_fit(calibration_folder):
    with np.load(calibration_folder / "cost" / "tasks" / "cost.npz") as stored:
        times = float(stored["tests"] / stored["fit"])
    assert f"{times:.0f} times the" in report(calibration_folder)


def test_intervals_and_ranges_are_counted_over_all_cohorts(calibration_folder):
    rows = rows_of(report(calibration_folder), "Intervals")
    assert [row[0] for row in rows] == [f"| {kind}" for kind in calibration_intervals.KINDS]
    assert rows[0][1] == str(2 * 2 * 12)  # cohorts, groups, edges
    counts = calibration_intervals.read(calibration_folder)
    for k, row in enumerate(rows):
        covered, intervals = (counts[field][:, k].sum() for field in ("covered", "intervals"))
        shown = f"{covered / intervals:.3f} [" if intervals else "-"
        assert row[2].startswith(shown)
        assert row[4] == str(counts["ranges"][:, k].sum())


def test_the_bound_stands_beside_what_was_selected(calibration_folder):
    text = report(calibration_folder)
    rows = rows_of(text, "Bound of stability selection")
    selected = calibration_bound.read(calibration_folder)
    n_rows = len(calibration_bound.THETAS) * len(calibration_bound.THRESHOLDS)
    assert len(rows) == n_rows
    assert rows[-1][4] == f"{selected['bound'][:, -1, -1].mean():.3f}"
    goals = [row for row in rows_of(text, "Goals") if row[1].startswith("at most the bound")]
    assert len(goals) == n_rows


def test_a_bound_that_is_broken_is_said_to_be(calibration_folder, monkeypatch):
    broken = calibration_bound.read(calibration_folder)
    broken["low"] = broken["bound"] + 1
    monkeypatch.setattr(calibration_bound, "read", lambda folder: broken)
    goals = rows_of(report(calibration_folder), "Goals")
    verdicts = {row[4] for row in goals if row[1].startswith("at most the bound")}
    assert verdicts == {"no |"}


def test_intervals_that_miss_the_truth_are_said_to(calibration_folder, monkeypatch):
    narrow = calibration_intervals.read(calibration_folder)
    narrow["covered"] = narrow["intervals"] // 2
    narrow["contained_exactly"] = 0 * narrow["ranges"]
    monkeypatch.setattr(calibration_intervals, "read", lambda folder: narrow)
    goals = rows_of(report(calibration_folder), "Goals")
    weights = [row for row in goals if row[0].startswith("| weight of an edge")]
    assert [row[4] for row in weights] == ["no |"]
    assert {row[4] for row in goals if row[1].startswith("the truth in all")} <= {"no |"}
