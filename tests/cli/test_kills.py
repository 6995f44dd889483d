"""Runs that are killed at any moment go on to the result of a run that was not.

``SGBN_KILLS`` says at how many random moments (2 by default; .ci/long takes 20).
"""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from sgbn import simulate_cohort, write_table
from sgbn.runs import read_result

KILLS = int(os.environ.get("SGBN_KILLS", "2"))
COMPARED = ("tables", "networks", "figures")


def start(words, folder):
    """Run in a folder; its name must not be in the command, which some reports show."""
    folder.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-m", "sgbn", *words, "--out", "out"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,  # so that its workers are killed with it
    )


def finish(words, folder):
    """Seconds that a run took; it must end well."""
    begin = time.perf_counter()
    process = start(words, folder)
    _, said = process.communicate(timeout=600)
    assert process.returncode == 0, said.decode()
    return time.perf_counter() - begin


def kill_after(words, folder, seconds):
    process = start(words, folder)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def files_of(folder):
    """Path -> bytes of what a comparison wrote; its report says how long each step took."""
    paths = [path for name in COMPARED for path in (folder / name).rglob("*")]
    paths.append(folder / "model.sgbn")
    return {path.relative_to(folder): path.read_bytes() for path in paths if path.is_file()}


def results_of(folder):
    """Task -> what it found, as text; CPU seconds are of one run."""
    return {
        path.name: {k: repr(v.tolist()) for k, v in read_result(path).items() if k != "seconds"}
        for path in (folder / "tasks").iterdir()
    }


@pytest.fixture
def command(request, tmp_path):
    """Words of a command, and what reads the part of its output that must not change."""
    if request.param == "compare":
        table = tmp_path / "table.csv"
        write_table(simulate_cohort(40, regions=8), table)
        words = ["compare", str(table), "--group", "group", "--quick", "--permutations", "199"]
        return [*words, "--folds", "3", "--model", "--workers", "2"], files_of
    few = ["--networks", "Chain", "--simulations", "2", "--workers", "2"]
    return ["reproduce", "exp2", *few], results_of


@pytest.mark.parametrize("command", ["compare", "exp2"], indirect=True)
def test_a_killed_run_goes_on_to_the_same_result(command, tmp_path):
    words, read = command
    took = finish(words, tmp_path / "whole")
    wanted = read(tmp_path / "whole" / "out")
    assert wanted
    rng = np.random.default_rng(0)
    for number in range(KILLS):
        folder = tmp_path / f"killed{number}"
        kill_after(words, folder, rng.uniform(0.2, 1.0) * took)
        finish(words, folder)
        assert read(folder / "out") == wanted
        assert not list(folder.rglob("*.unfinished"))
