import json
import os
import runpy
import shutil
import signal
import subprocess
import sys
import time
from datetime import datetime, timedelta

import numpy as np
import pytest
from tests.codes import refused, warned

from sgbn.core.problems import InputError, StudyError
from sgbn.runs.files import read_result, versions
from sgbn.runs.study import Study, find_studies, study_status


def task(seed, scale=1.0):
    return {"draw": scale * np.random.default_rng(seed).standard_normal(3), "seed": seed}


TASKS = {f"task{k}": {"seed": k} for k in range(6)}


def assert_drawn(results):
    for name, result in results.items():
        assert np.array_equal(result["draw"], task(TASKS[name]["seed"])["draw"])


@pytest.fixture
def counted():
    """The task, which keeps the seeds of its calls."""

    def made(seed):
        made.calls.append(seed)
        return task(seed)

    made.calls = []
    return made


def edited(folder, without=(), **changes):
    """What study.json says, after it was changed so."""
    study = json.loads((folder / "study.json").read_text()) | changes
    study = {name: value for name, value in study.items() if name not in without}
    (folder / "study.json").write_text(json.dumps(study))
    return study


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_do_not_depend_on_the_number_of_processes(tmp_path, n_jobs):
    results = Study(tmp_path, n_jobs).run(task, TASKS, {"scale": 1})
    assert list(results) == list(TASKS)
    assert_drawn(results)


def test_a_second_start_does_only_what_is_missing(tmp_path, counted):
    Study(tmp_path).run(counted, TASKS, {})
    (tmp_path / "tasks" / "task3.npz").unlink()
    counted.calls.clear()
    results = Study(tmp_path).run(counted, TASKS, {})
    assert counted.calls == [3]
    assert len(results) == 6


def test_a_failed_task_loses_nothing_that_was_finished(tmp_path):
    def sometimes(seed):
        if seed == 4:
            raise ValueError("the disk is full")
        return task(seed)

    with pytest.raises(ValueError, match="disk is full"):
        Study(tmp_path).run(sometimes, TASKS, {})
    names = sorted(path.name for path in (tmp_path / "tasks").iterdir())
    assert names == [f"task{k}.npz" for k in range(4)]


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_skipped_task_is_reported_and_the_others_are_done(tmp_path, kept, n_jobs):
    folder = tmp_path if kept else None
    results = Study(folder, n_jobs).run(picky, TASKS, {}, on_error="skip")
    assert list(results) == [name for name in TASKS if name != "task4"]
    assert {name: failure.code for name, failure in results.failures.items()} == {"task4": "luck"}
    assert_drawn(results)
    assert len(list(tmp_path.rglob("*.npz"))) == (5 if kept else 0)


def picky(seed):
    if seed == 4:
        raise InputError("luck").says("seed 4 is bad luck")
    return task(seed)


def test_a_skipped_task_is_tried_again_and_no_other(tmp_path, counted):
    Study(tmp_path).run(picky, TASKS, {}, on_error="skip")
    results = Study(tmp_path).run(counted, TASKS, {}, on_error="skip")
    assert counted.calls == [4]
    assert list(results) == list(TASKS)
    assert results.failures == {}


def test_errors_that_are_not_of_the_input_are_never_skipped(tmp_path):
    def broken(seed):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Study(tmp_path).run(broken, TASKS, {}, on_error="skip")


def test_without_a_folder_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = Study().run(task, TASKS, {})
    assert list(results) == list(TASKS)
    assert np.array_equal(results["task2"]["draw"], task(2)["draw"])
    assert not list(tmp_path.iterdir())


def test_other_settings_are_refused_and_the_difference_is_known(tmp_path):
    Study(tmp_path).run(task, TASKS, {"alpha": 0.1, "seed": 0, "data": "0a1b"})
    with refused("study.settings", kind=StudyError) as caught:
        Study(tmp_path).run(task, TASKS, {"alpha": 0.2, "seed": 0, "data": "3d4e"})
    assert caught.value.differs == {"alpha": (0.1, 0.2), "data": ("0a1b", "3d4e")}
    assert "0a1b" not in str(caught.value)


def test_settings_can_be_required_before_any_task_is_known(tmp_path):
    Study(tmp_path).require({"alpha": 0.1})
    assert study_status(tmp_path).planned == 0
    with refused("study.settings", kind=StudyError):
        Study(tmp_path).require({"alpha": 0.2})
    with refused("study.settings", kind=StudyError):
        Study(tmp_path).run(task, TASKS, {"alpha": 0.2})
    Study(tmp_path).run(task, TASKS, {"alpha": 0.1})
    Study(tmp_path).require({"alpha": 0.1})
    assert study_status(tmp_path).planned == 6


def test_a_part_has_its_own_folder_and_the_same_workers(tmp_path, monkeypatch):
    part = Study(str(tmp_path), n_jobs=2, progress=True).part("step")
    assert part == Study(tmp_path / "step", 2, True)
    monkeypatch.chdir(tmp_path)
    Study().require({"alpha": 0.1})
    Study(n_jobs=2).part("step").run(task, TASKS, {"alpha": 0.1})
    assert not list(tmp_path.iterdir())


def test_results_of_which_nobody_knows_the_settings_are_refused(tmp_path):
    Study(tmp_path).run(task, TASKS, {"alpha": 0.1})
    description = tmp_path / "study.json"
    description.rename(tmp_path / "elsewhere")
    with refused("study.no-settings", kind=StudyError):
        Study(tmp_path).run(task, TASKS, {"alpha": 0.2})
    assert not description.exists()
    (tmp_path / "elsewhere").rename(description)
    assert list(Study(tmp_path).run(task, TASKS, {"alpha": 0.1})) == list(TASKS)


@pytest.mark.parametrize("within", [".", "deeper"])
def test_a_folder_that_is_a_file_is_named(tmp_path, within):
    (tmp_path / "study").write_text("notes")
    with refused("study.no-folder"):
        Study(tmp_path / "study" / within).run(task, TASKS, {})
    assert (tmp_path / "study").read_text() == "notes"


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"{}", b"[]", b"\xff", b'{"settings": {}}', b'{"settings": 1, "versions": 2}'],
)
def test_a_damaged_study_file_is_named(tmp_path, content):
    Study(tmp_path).run(task, TASKS, {})
    (tmp_path / "study.json").write_bytes(content)
    with refused("study.damaged", kind=StudyError):
        Study(tmp_path).run(task, TASKS, {})


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True])
def test_a_number_of_processes_that_is_none_is_refused(tmp_path, n_jobs):
    with refused("argument"):
        Study(tmp_path / "study", n_jobs).run(task, TASKS, {})
    assert not list(tmp_path.iterdir())


def test_the_study_and_every_result_say_what_was_run(tmp_path):
    Study(tmp_path).run(task, TASKS, {"alpha": 0.1})
    made_with = {"settings": {"alpha": 0.1}, "versions": versions()}
    study = json.loads((tmp_path / "study.json").read_text())
    assert study.items() >= made_with.items()
    assert study["command"]
    with np.load(tmp_path / "tasks" / "task0.npz") as stored:
        assert json.loads(str(stored["provenance"])) == made_with
    assert "provenance" not in read_result(tmp_path / "tasks" / "task0.npz")


def test_a_folder_of_another_release_is_refused(tmp_path):
    Study(tmp_path).run(task, TASKS, {})
    # The settings differ too, but that is not what another release is told.
    edited(tmp_path, versions=versions() | {"sgbn": "0.1.0"}, settings={"gamma": 2.0})
    with refused("study.release", kind=StudyError):
        Study(tmp_path).run(task, TASKS, {})


def test_a_folder_goes_on_with_a_correction_of_its_release(tmp_path):
    Study(tmp_path).run(task, TASKS, {})
    release = ".".join(versions()["sgbn"].split(".")[:2])
    edited(tmp_path, versions=versions() | {"sgbn": f"{release}.99"})
    with warned("study.versions"):
        assert list(Study(tmp_path).run(task, TASKS, {})) == list(TASKS)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_result_copied_over_another_is_refused_and_computed_after_removal(tmp_path, n_jobs):
    before = Study(tmp_path, n_jobs).run(task, TASKS, {})
    path = tmp_path / "tasks" / "task2.npz"
    shutil.copy(path.with_name("task4.npz"), path)
    with refused("result.moved", kind=StudyError):
        Study(tmp_path, n_jobs).run(task, TASKS, {})
    path.unlink()
    after = Study(tmp_path, n_jobs).run(task, TASKS, {})
    assert all(np.array_equal(after[name]["draw"], before[name]["draw"]) for name in TASKS)


def test_a_result_of_the_same_task_in_another_study_is_refused(tmp_path):
    for scale in (1, 2):
        arguments = {"task0": {"seed": 0, "scale": scale}}
        Study(tmp_path / str(scale)).run(task, arguments, {"scale": (scale,)})
    shutil.copy(*(tmp_path / scale / "tasks" / "task0.npz" for scale in "12"))
    with refused("result.settings", kind=StudyError):
        Study(tmp_path / "2").run(task, arguments, {"scale": (2,)})


def scaled(factor, seed):
    return {"draw": factor * task(seed)["draw"]}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_shared_arguments_are_those_of_every_task(tmp_path, n_jobs):
    shared = {"factor": np.arange(3.0)}
    results = Study(tmp_path, n_jobs).run(scaled, TASKS, {}, shared=shared)
    for name, result in results.items():
        assert np.array_equal(result["draw"], np.arange(3) * task(TASKS[name]["seed"])["draw"])


def test_the_number_of_tasks_is_noted_and_follows_the_plan(tmp_path):
    def noted():
        return json.loads((tmp_path / "study.json").read_text())["tasks"]

    few = {name: TASKS[name] for name in ("task0", "task1")}
    Study(tmp_path).run(task, few, {})
    assert noted() == 2
    Study(tmp_path).run(task, TASKS, {})
    assert noted() == 6


def test_a_folder_of_an_earlier_version_goes_on(tmp_path):
    Study(tmp_path).run(task, TASKS, {})
    study = edited(tmp_path, without=["tasks"])
    (tmp_path / "tasks" / "task3.npz").unlink()
    assert list(Study(tmp_path).run(task, TASKS, {})) == list(TASKS)
    assert json.loads((tmp_path / "study.json").read_text()) == study | {"tasks": 6}


def test_a_full_disk_loses_nothing_and_leaves_nothing_half_written(tmp_path, monkeypatch):
    savez, room = np.savez, iter(range(3))

    def until_full(stream, **content):
        if next(room, None) is None:
            stream.write(b"half")
            raise OSError(28, "No space left on device")
        savez(stream, **content)

    monkeypatch.setattr(np, "savez", until_full)
    with refused("disk.full", kind=StudyError):
        Study(tmp_path).run(task, TASKS, {})
    names = sorted(path.name for path in (tmp_path / "tasks").iterdir())
    assert names == ["task0.npz", "task1.npz", "task2.npz"]
    monkeypatch.undo()
    assert list(Study(tmp_path).run(task, TASKS, {})) == list(TASKS)


def kill_own_process(seed):
    if seed == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return task(seed)


def test_a_killed_process_is_said_and_what_was_finished_is_kept(tmp_path):
    with refused("tasks.killed", kind=StudyError):
        Study(tmp_path, 2).run(kill_own_process, TASKS, {})
    assert not list(tmp_path.rglob("*.unfinished"))
    results = Study(tmp_path, 2).run(task, TASKS, {})
    assert_drawn(results)


# A shell may start tests with SIGINT ignored, and so would be what they start.
PROGRAM = """
import os, signal, sys, time
import numpy as np
from sgbn.runs.study import Study

TASKS = {f"t{k:02d}": {"k": k} for k in range(12)}

def draw(hold, k):
    open(f"{hold}-{os.getpid()}", "w").close()  # this process has begun to work
    while k >= 4 and os.path.exists(hold):  # the run cannot end before the test is ready
        time.sleep(0.02)
    return {"draw": np.random.default_rng(k).standard_normal(1000)}

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder, n_jobs, hold = sys.argv[1:]
    Study(folder, int(n_jobs)).run(draw, TASKS, {}, shared={"hold": hold})
"""


@pytest.fixture
def started(tmp_path):
    """Function (n_jobs) -> process of a study that waits for the file `hold` to go."""
    (tmp_path / "temporary").mkdir()
    (tmp_path / "hold").touch()
    (tmp_path / "study.py").write_text(PROGRAM)
    processes = []

    def start(n_jobs):
        words = [tmp_path / "study.py", tmp_path / "study", n_jobs, tmp_path / "hold"]
        environment = os.environ | {"TMPDIR": str(tmp_path / "temporary")}
        processes.append(
            subprocess.Popen(
                [sys.executable, *map(str, words)], env=environment, stderr=subprocess.DEVNULL
            )
        )
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])  # test_kills has one process
def test_a_run_that_is_stopped_goes_on_where_it_was(tmp_path, started, sent):
    process = started(2)
    tasks = tmp_path / "study" / "tasks"
    _wait_until(lambda: len(list(tasks.glob("*.npz"))) >= 2)
    _wait_until(lambda: len(list(tmp_path.glob("hold-*"))) == 2)  # both workers
    os.kill(process.pid, sent)
    process.wait(60)
    # the file that workers read may hold the data of persons: it goes soon, however the run ended
    _wait_until(lambda: not list((tmp_path / "temporary").glob("sgbn-*")))
    kept = {path.name: path.read_bytes() for path in tasks.glob("*.npz")}
    assert 2 <= len(kept) < 12
    if sent == signal.SIGINT:
        assert not list(tasks.glob("*.unfinished"))
    (tasks / "t11.npz.1.unfinished").write_bytes(b"half a file")
    program = runpy.run_path(str(tmp_path / "study.py"))
    results = Study(tmp_path / "study").run(
        program["draw"], program["TASKS"], {}, shared={"hold": str(tmp_path / "gone")}
    )
    files = {path.name: path.read_bytes() for path in tasks.iterdir()}
    assert sorted(files) == [f"t{k:02d}.npz" for k in range(12)]
    assert {name: files[name] for name in kept} == kept
    for k, result in enumerate(results.values()):
        expected = np.random.default_rng(k).standard_normal(1000)
        assert np.array_equal(result["draw"], expected)


def test_a_folder_in_which_another_process_writes_is_refused_and_left_alone(tmp_path, started):
    pytest.importorskip("fcntl")
    process = started(1)
    tasks = tmp_path / "study" / "tasks"
    _wait_until(lambda: list(tasks.glob("*.npz")))
    (tasks / "t11.npz.1.unfinished").write_bytes(b"being written")
    with refused("study.locked", kind=StudyError):
        Study(tmp_path / "study").run(task, TASKS, {})
    assert study_status(tmp_path / "study").planned == 12  # reading goes on
    assert (tasks / "t11.npz.1.unfinished").exists()
    Study(tmp_path).require({})  # a frame around it, as compare has one
    assert (tasks / "t11.npz.1.unfinished").exists()
    (tmp_path / "hold").unlink()
    assert process.wait(60) == 0
    assert study_status(tmp_path / "study").done == 12


def _wait_until(reached):
    deadline = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_workers_that_stand_in_another_folder_write_where_they_should(tmp_path, monkeypatch):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)  # the workers of the first call serve the second
        Study("study", n_jobs=2).run(task, TASKS, {})
        written = {path.stem for path in (tmp_path / name / "study" / "tasks").glob("*.npz")}
        assert written == set(TASKS)


STATUS_TASKS = {f"task{k}": {"k": k} for k in range(5)}


def identity(k):
    if k == 3:
        raise InputError("no three")
    return {"k": k}


def half_done(folder):
    Study(folder).run(identity, STATUS_TASKS, {"alpha": 0.1}, on_error="skip")
    return folder


def test_done_and_left_are_counted(tmp_path):
    half_done(tmp_path)
    half_written = tmp_path / "tasks" / "task3.npz.7.unfinished"
    half_written.write_bytes(b"half")
    status = study_status(tmp_path)
    assert (status.done, status.planned, status.left) == (4, 5, 1)
    assert half_written.exists()  # it may be in use
    assert status.settings == {"alpha": 0.1}
    assert status.versions == versions()
    assert abs(status.last - datetime.now()) < timedelta(minutes=5)


def test_without_a_plan_nobody_knows_what_is_left_and_never_less_than_nothing(tmp_path):
    half_done(tmp_path)
    edited(tmp_path, without=["tasks"])
    status = study_status(tmp_path)
    assert (status.done, status.planned, status.left) == (4, None, None)
    edited(tmp_path, tasks=2)
    assert study_status(tmp_path).left == 0


def test_studies_are_found_at_any_depth(tmp_path):
    Study(tmp_path / "work").run(identity, {}, {})
    half_done(tmp_path / "work" / "b")
    half_done(tmp_path / "work" / "a")
    assert find_studies(tmp_path) == [tmp_path / "work" / part for part in ("", "a", "b")]
    assert study_status(tmp_path / "work").last is None


def test_what_is_no_study_is_named(tmp_path):
    with refused("study.none"):
        find_studies(tmp_path)
