import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from sgbn import InputError, StudyError
from sgbn.runs import parallel, read_result, run_study, versions, write_atomically


def task(seed, scale=1.0):
    return {"draw": scale * np.random.default_rng(seed).standard_normal(3), "seed": seed}


TASKS = {f"task{k}": {"seed": k} for k in range(6)}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_do_not_depend_on_the_number_of_processes(tmp_path, n_jobs):
    results = run_study(tmp_path, task, TASKS, {"scale": 1}, n_jobs=n_jobs, progress=False)
    assert list(results) == list(TASKS)
    for name, result in results.items():
        assert np.array_equal(result["draw"], task(TASKS[name]["seed"])["draw"])


def test_a_second_start_does_only_what_is_missing(tmp_path):
    calls = []

    def counted(seed):
        calls.append(seed)
        return task(seed)

    run_study(tmp_path, counted, TASKS, {}, progress=False)
    (tmp_path / "tasks" / "task3.npz").unlink()
    calls.clear()
    results = run_study(tmp_path, counted, TASKS, {}, progress=False)
    assert calls == [3]
    assert len(results) == 6


def test_a_failed_task_loses_nothing_that_was_finished(tmp_path):
    def sometimes(seed):
        if seed == 4:
            raise ValueError("the disk is full")
        return task(seed)

    with pytest.raises(ValueError, match="disk is full"):
        run_study(tmp_path, sometimes, TASKS, {}, progress=False)
    names = sorted(path.name for path in (tmp_path / "tasks").iterdir())
    assert names == [f"task{k}.npz" for k in range(4)]


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_skipped_task_is_reported_and_the_others_are_done(tmp_path, kept, n_jobs):
    folder = tmp_path if kept else None
    results = run_study(folder, picky, TASKS, {}, n_jobs=n_jobs, progress=False, on_error="skip")
    assert list(results) == [name for name in TASKS if name != "task4"]
    assert results.failures == {"task4": "seed 4 is bad luck"}
    for name, result in results.items():
        assert np.array_equal(result["draw"], task(TASKS[name]["seed"])["draw"])
    assert len(list(tmp_path.rglob("*.npz"))) == (5 if kept else 0)


def picky(seed):
    if seed == 4:
        raise InputError("seed 4 is bad luck")
    return task(seed)


def test_a_skipped_task_is_tried_again_and_no_other(tmp_path):
    run_study(tmp_path, picky, TASKS, {}, progress=False, on_error="skip")
    calls = []

    def counted(seed):
        calls.append(seed)
        return task(seed)

    results = run_study(tmp_path, counted, TASKS, {}, progress=False, on_error="skip")
    assert calls == [4]
    assert list(results) == list(TASKS)
    assert results.failures == {}


def test_errors_that_are_not_of_the_input_are_never_skipped(tmp_path):
    def broken(seed):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_study(tmp_path, broken, TASKS, {}, progress=False, on_error="skip")
    with pytest.raises(InputError, match="'raise' or 'skip'"):
        run_study(tmp_path, task, TASKS, {}, progress=False, on_error="ignore")


def test_without_a_folder_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = run_study(None, task, TASKS, {}, progress=False)
    assert list(results) == list(TASKS)
    assert np.array_equal(results["task2"]["draw"], task(2)["draw"])
    assert not list(tmp_path.iterdir())


def test_other_settings_are_refused_and_the_difference_is_shown(tmp_path):
    run_study(tmp_path, task, TASKS, {"alpha": 0.1, "seed": 0}, progress=False)
    with pytest.raises(StudyError, match=r"alpha: 0\.1 there, 0\.2 now") as caught:
        run_study(tmp_path, task, TASKS, {"alpha": 0.2, "seed": 0}, progress=False)
    assert "seed" not in str(caught.value)


def test_other_data_are_said_in_words(tmp_path):
    run_study(tmp_path, task, TASKS, {"data": "0a1b2c"}, progress=False)
    with pytest.raises(StudyError, match="the data are not the same") as caught:
        run_study(tmp_path, task, TASKS, {"data": "3d4e5f"}, progress=False)
    assert "0a1b2c" not in str(caught.value)


@pytest.mark.parametrize("within", [".", "deeper"])
def test_a_folder_that_is_a_file_is_named(tmp_path, within):
    (tmp_path / "study").write_text("notes")
    with pytest.raises(InputError, match=r"study.* is a file, or lies in one. Give a folder"):
        run_study(tmp_path / "study" / within, task, TASKS, {}, progress=False)
    assert (tmp_path / "study").read_text() == "notes"


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"{}", b"[]", b"\xff", b'{"settings": {}}', b'{"settings": 1, "versions": 2}'],
)
def test_a_damaged_study_file_is_named(tmp_path, content):
    run_study(tmp_path, task, TASKS, {}, progress=False)
    (tmp_path / "study.json").write_bytes(content)
    with pytest.raises(StudyError, match=r"study\.json cannot be read .* Give another folder"):
        run_study(tmp_path, task, TASKS, {}, progress=False)


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True])
def test_a_number_of_processes_that_is_none_is_refused(tmp_path, n_jobs):
    with pytest.raises(InputError, match=r"n_jobs is .* give the number of processes"):
        run_study(tmp_path / "study", task, TASKS, {}, n_jobs=n_jobs, progress=False)
    with pytest.raises(InputError, match="n_jobs is"):
        parallel(abs, [1], n_jobs=n_jobs)
    assert not list(tmp_path.iterdir())


def test_the_study_file_says_what_was_run(tmp_path):
    run_study(tmp_path, task, TASKS, {"alpha": 0.1}, progress=False)
    study = json.loads((tmp_path / "study.json").read_text())
    assert study["settings"] == {"alpha": 0.1}
    assert study["versions"] == versions()
    assert study["command"]


def test_every_result_says_what_it_was_made_with(tmp_path):
    run_study(tmp_path, task, TASKS, {"alpha": 0.1}, progress=False)
    with np.load(tmp_path / "tasks" / "task0.npz") as stored:
        provenance = json.loads(str(stored["provenance"]))
    assert provenance == {"settings": {"alpha": 0.1}, "versions": versions()}
    assert "provenance" not in read_result(tmp_path / "tasks" / "task0.npz")


def test_going_on_with_other_versions_warns_and_names_them(tmp_path):
    run_study(tmp_path, task, TASKS, {}, progress=False)
    study = json.loads((tmp_path / "study.json").read_text())
    study["versions"]["numpy"] = "1.0"
    (tmp_path / "study.json").write_text(json.dumps(study))
    with pytest.warns(UserWarning, match=r"numpy: 1\.0 there"):
        run_study(tmp_path, task, TASKS, {}, progress=False)


def test_a_damaged_result_is_named(tmp_path):
    run_study(tmp_path, task, TASKS, {}, progress=False)
    path = tmp_path / "tasks" / "task2.npz"
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(StudyError, match=r"task2\.npz cannot be read .* Delete it"):
        run_study(tmp_path, task, TASKS, {}, progress=False)


def test_pickled_objects_are_never_read(tmp_path):
    path = tmp_path / "evil.npz"
    np.savez(path, x=np.array([{"a": 1}], dtype=object))
    with pytest.raises(StudyError):
        read_result(path)


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "result"
    path.write_bytes(b"old")

    def fail(stream):
        stream.write(b"half")
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        write_atomically(path, fail)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["result"]


def test_a_killed_run_goes_on_where_it_was(tmp_path):
    program = (
        "import sys, time\n"
        "from sgbn.runs import run_study\n"
        "def slow(k):\n"
        "    time.sleep(0.2)\n"
        "    return {'k': k}\n"
        "run_study(sys.argv[1], slow, {f't{k}': {'k': k} for k in range(20)}, {}, progress=False)\n"
    )
    run = [sys.executable, "-c", program, str(tmp_path / "study")]
    process = subprocess.Popen(run)
    tasks = tmp_path / "study" / "tasks"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len(list(tasks.glob("*.npz"))) < 2:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    kept = {path.name: path.stat().st_mtime_ns for path in tasks.glob("*.npz")}
    assert 2 <= len(kept) < 20
    (tasks / "t19.npz.1.unfinished").write_bytes(b"half a file")
    subprocess.run(run, check=True)
    files = {path.name: path.stat().st_mtime_ns for path in tasks.iterdir()}
    assert len(files) == 20
    assert {name: files[name] for name in kept} == kept


def test_parallel_keeps_the_order_of_the_tasks():
    assert parallel(abs, [-3, 2, -1], n_jobs=2) == [3, 2, 1]
