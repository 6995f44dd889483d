import re
import shutil

import numpy as np
import pytest

from sgbn.paper.experiments.exp2 import (
    BASELINES,
    CLAIMS,
    EXPERIMENT,
    MAIN,
    claims_table,
    place,
    place_in_paper,
)
from sgbn.paper.experiments.experiment import Outcomes


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        ([1, 2, 3, 2], "fewest"),
        ([30, 31, 32, 31], "most"),
        ([11, 12, 13, 12], "between"),
        ([0, 50, 0, 0], "between"),  # fewer in most simulations, but not clearly
    ],
)
def test_a_place_is_clear_or_between(ours, expected):
    others = [[10 + k, 10 + k, 11 + k, 10 + k] for k in range(len(BASELINES))]
    values = {"errors": np.array([*others, ours], dtype=float)}
    results = {"alarm": Outcomes([*BASELINES, "OR-SGBN"], values, {})}
    assert place(results, "OR-SGBN", "errors", "alarm") == expected


def test_the_papers_own_figures_bear_its_claims_out_but_for_the_cell_that_is_not_mildews():
    for claim in CLAIMS:
        for network in claim["networks"].split():
            is_broken = (claim["measure"], network) == ("errors", "mildew")
            assert (place_in_paper(claim["measure"], network) == claim["place"]) != is_broken


def test_the_table_has_a_row_a_reading_and_one_of_the_paper(exp2_results):
    lines = claims_table(exp2_results)
    assert lines[2].startswith("| OR-SGBN | ")
    assert "BIC" in lines[0]
    assert lines[10].startswith("| the paper's own figures | 1 of 1 alarm | 1 of 1 alarm | 1 of 1")
    assert lines[10].endswith("| 0 of 0 | 1 of 1 chain |  |")


@pytest.fixture(scope="module")
def text(exp2_folder):
    return EXPERIMENT.text(exp2_folder)


def tables(text):
    """Header and rows of every table, as cells."""
    blocks = re.findall(r"(?:^\|.*\n)+", text, re.M)
    return [[re.split(r" *\| *", line)[1:-1] for line in b.splitlines()] for b in blocks]


def test_three_tables_have_a_row_a_network_and_a_sum(text, exp2_results):
    for measure, (header, _, *rows) in zip(("errors", "false", "pdag"), tables(text), strict=False):
        assert header == ["network", *MAIN]
        assert [row[0] for row in rows] == ["alarm", "chain", "sum without mildew"]
        assert all(len(row) == len(header) for row in rows)
        for k, method in enumerate(MAIN, start=1):
            ours = [float(row[k].split(" ")[0]) for row in rows]
            assert ours[0] + ours[1] == pytest.approx(ours[2])
            assert ours[0] == exp2_results["alarm"].of(method, measure).mean()


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


def test_the_report_says_where_the_default_alphas_come_from(text):
    assert "The defaults are 0.32 on standardised and 0.36 on raw data." in text
    assert "`sgbn reproduce exp2 --calibrate` of version 0.1, which 0.2 no longer has" in text


def test_command_and_settings_are_part_of_the_report(text):
    assert "2 simulations of each network, with 1000 samples each; alpha = 0." in text
    assert "Versions: " in text
    assert "No fit of any method had such a message." in text


def test_failures_are_counted_and_shown(exp2_folder, tmp_path):
    folder = tmp_path / "failed"
    shutil.copytree(exp2_folder, folder)
    path = folder / "tasks" / "alarm.0000.npz"
    with np.load(path) as stored:
        task = dict(stored)
    failed = task["methods"] == "TC"
    for field in ("errors", "false", "pdag", "edges"):
        task[field] = np.where(failed, np.nan, task[field])
    task["failure"] = np.where(failed, "InputError: no good", "")
    np.savez(path, **task)
    text = EXPERIMENT.text(folder)
    assert "| failure | alarm | TC | 1 | InputError: no good |" in text
    left = EXPERIMENT.results(folder)["alarm"].of("TC", "errors")
    assert f"| {left[1]:.1f} +- nan (60.60)" in text


def test_a_figure_per_measure_is_drawn_from_the_files(exp2_folder):
    _, paths = EXPERIMENT.finish(exp2_folder)
    assert [path.name for path in paths] == [
        "exp2_errors.png",
        "exp2_false.png",
        "exp2_pdag.png",
    ]
    assert all(path.stat().st_size > 10_000 for path in paths)
