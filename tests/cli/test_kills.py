"""Runs that are killed at any moment go on to the result of a run that was not.

``SGBN_KILLS`` says how often (1 by default; .ci/long takes 20): mostly when a random number of
results is kept, every fourth time at a random moment before the first.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import chdir

import numpy as np
import pytest

from sgbn import Cohort
from sgbn.cli.main import main
from sgbn.cohort.simulate import simulate_cohort
from sgbn.read.table import write_table
from sgbn.runs.files import read_result

KILLS = int(os.environ.get("SGBN_KILLS", "1"))
WORKERS = "2" if KILLS > 1 else "1"  # each imports everything anew
TRIES = 10  # to kill a run in time
COMPARED = ("tables", "networks", "figures")


def start(words, folder):
    """Run in a folder; its name must not be in the command, which some reports show."""
    temporary = folder / "temporary"  # what the killed leave there goes with the test
    temporary.mkdir(parents=True, exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-m", "sgbn", *words, "--out", "out"],
        cwd=folder,
        env=os.environ | {"TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,  # so that its workers are killed with it
    )


def finish(words, folder):
    """Run to the end in this process, which has imported everything."""
    folder.mkdir(exist_ok=True)
    with chdir(folder):
        assert main([*words, "--out", "out"]) == 0


def kill(process):
    """Kill a run with its workers, if it has not ended, and give its exit code."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    return process.returncode


def kill_when(reached, words, folder):
    """Whether a run was killed before it ended."""
    process = start(words, folder)
    try:
        while process.poll() is None and not reached():
            time.sleep(0.005)
    finally:
        code = kill(process)
    assert code in (0, -signal.SIGKILL)
    return code != 0


def kept_in(folder):
    """Results of finished tasks."""
    return list(folder.rglob("*.npz"))


def kill_with_some_kept(words, folder, planned, rng):
    """Kill a run that keeps some of its results, but not all; a quick one may need more tries.

    Returns the seconds that it took to its first result.
    """
    for _ in range(TRIES):
        begin, enough = time.time(), rng.integers(1, planned)
        killed = kill_when(lambda: len(kept_in(folder)) >= enough, words, folder)  # noqa: B023
        if killed and 0 < len(kept_in(folder)) < planned:
            return min(path.stat().st_mtime for path in kept_in(folder)) - begin
        shutil.rmtree(folder)
    pytest.fail(f"no run of {TRIES} was killed between its first and its last result")


def kill_before_any_is_kept(words, folder, seconds, rng):
    """Kill a run within the seconds that another one took to its first result."""
    end = time.monotonic() + rng.uniform(0, seconds)
    assert kill_when(lambda: time.monotonic() >= end, words, folder)


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
        table, drawn = tmp_path / "table.csv", simulate_cohort(40, regions=8)
        # names that no atlas has: a brain takes longer to draw than all else
        write_table(Cohort(drawn.values, list("abcdefgh"), drawn.ids, group=drawn.group), table)
        words = ["compare", str(table), "--group", "group", "--regions", "all", "--quick"]
        few = ["--permutations", "199", "--folds", "3", "--half-samples", "4"]
        return [*words, *few, "--model", "--workers", WORKERS], files_of
    few = ["--networks", "Chain", "--simulations", "4", "--workers", WORKERS]
    return ["reproduce", "exp2", *few], results_of


@pytest.mark.parametrize(
    "command", [pytest.param("compare", marks=pytest.mark.long), "exp2"], indirect=True
)
def test_a_killed_run_goes_on_to_the_same_result(command, tmp_path):
    words, read = command
    finish(words, tmp_path / "whole")
    wanted = read(tmp_path / "whole" / "out")
    planned = len(kept_in(tmp_path / "whole"))
    assert wanted
    assert planned >= 4
    rng, seconds = np.random.default_rng(0), 0.0
    for number in range(KILLS):
        folder = tmp_path / f"killed{number}"
        if number % 4 == 3:
            kill_before_any_is_kept(words, folder, seconds, rng)
        else:
            seconds = kill_with_some_kept(words, folder, planned, rng)
        before = {path: path.stat().st_mtime_ns for path in kept_in(folder)}
        finish(words, folder)
        assert read(folder / "out") == wanted
        assert {path: path.stat().st_mtime_ns for path in before} == before
        assert not list(folder.rglob("*.unfinished"))
