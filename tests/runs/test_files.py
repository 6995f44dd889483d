import errno
import json
import os

import numpy as np
import pytest
from tests.codes import refused

from sgbn import __version__
from sgbn.core.problems import StudyError
from sgbn.runs import files
from sgbn.runs.files import (
    LOCK,
    differences,
    only_writer,
    read_result,
    remove_unfinished,
    versions,
    write_atomically,
    write_json,
    write_result,
)


def test_objects_are_never_written_and_nothing_but_the_arrays_is(tmp_path):
    write_result(tmp_path / "r.npz", {"x": np.arange(3), "text": np.asarray("a")})
    assert set(read_result(tmp_path / "r.npz")) == {"x", "text"}
    with pytest.raises(ValueError, match="'y' holds objects"):
        write_result(tmp_path / "s.npz", {"x": np.arange(3), "y": np.array([{}], dtype=object)})
    assert not (tmp_path / "s.npz").exists()


@pytest.mark.parametrize(
    ("cells", "code"),
    [(np.array([{"a": 1}], dtype=object), "result.damaged"), (np.arange(3), "result.unnamed")],
)
def test_pickled_objects_and_results_without_their_task_are_never_read(tmp_path, cells, code):
    np.savez(tmp_path / "evil.npz", x=cells)
    with refused(code, kind=StudyError):
        read_result(tmp_path / "evil.npz")


@pytest.mark.parametrize("content", [{}, {"provenance": np.array("{}")}, {"provenance": 1.5}])
def test_a_result_of_unknown_settings_is_refused_where_they_are_known(tmp_path, content):
    path = tmp_path / "task.npz"
    np.savez(path, x=np.arange(3), task="task", **content)
    assert set(read_result(path)) == {"x"}
    with refused("result.settings", kind=StudyError):
        read_result(path, {})


@pytest.mark.parametrize("kind", ["npy", "text", "empty", "half"])
def test_what_is_no_archive_is_named(tmp_path, kind):
    path = tmp_path / "task.npz"
    np.savez(path, x=np.arange(100.0))
    if kind == "npy":
        with path.open("wb") as stream:
            np.save(stream, np.arange(3))
    else:
        whole = path.read_bytes()
        path.write_bytes({"text": b"notes", "empty": b"", "half": whole[: len(whole) // 2]}[kind])
    with refused("result.damaged", kind=StudyError):
        read_result(path)


@pytest.mark.parametrize(
    ("number", "named"),
    [
        (errno.ENOSPC, refused("disk.full", kind=StudyError)),
        (errno.EDQUOT, refused("disk.full", kind=StudyError)),
        (errno.EFBIG, refused("disk.full", kind=StudyError)),
        (errno.EIO, pytest.raises(OSError, match="no room")),
    ],
)
def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path, number, named):
    path = tmp_path / "result"
    path.write_bytes(b"old")

    def fill(stream):
        stream.write(b"half")
        raise OSError(number, "no room")

    with named:
        write_atomically(path, fill)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["result"]


def test_results_and_json_are_read_as_written(tmp_path):
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.array(["x", "yz"])}
    write_result(tmp_path / "r.npz", arrays | {"provenance": np.array("{}")})
    found = read_result(tmp_path / "r.npz")
    assert set(found) == {"a", "b"}
    assert all(np.array_equal(found[name], arrays[name]) for name in arrays)
    write_json(tmp_path / "r.json", {"b": [1, 2], "a": None})
    assert json.loads((tmp_path / "r.json").read_text()) == {"a": None, "b": [1, 2]}


def test_only_what_is_unfinished_is_removed(tmp_path):
    (tmp_path / "tasks").mkdir()
    (tmp_path / "inner").mkdir()
    inner = "inner/d.unfinished"  # of another study, which may be running
    for name in ("study.json", "tasks/a.npz", "tasks/b.npz.12.unfinished", "c.unfinished", inner):
        (tmp_path / name).write_text("x")
    remove_unfinished(tmp_path, tmp_path / "tasks")
    left = sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file())
    assert left == [inner, "study.json", "tasks/a.npz"]


def test_a_folder_has_one_writer_at_a_time(tmp_path):
    pytest.importorskip("fcntl")
    for _ in range(2):
        with only_writer(tmp_path):
            with refused("study.locked", kind=StudyError):
                only_writer(tmp_path).__enter__()
            (tmp_path / "inner").mkdir(exist_ok=True)
            with only_writer(tmp_path / "inner"):
                pass
    assert (tmp_path / LOCK).read_bytes() == b""


def test_a_process_that_is_being_started_does_not_keep_the_lock(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    flock, copies = fcntl.flock, []

    def flock_and_copy(stream, how):
        copies.append(os.dup(stream.fileno()))  # as a fork does, until the other program runs
        flock(stream, how)

    monkeypatch.setattr(fcntl, "flock", flock_and_copy)
    for _ in range(2):
        with only_writer(tmp_path):
            pass
    for copy in copies:
        os.close(copy)


def test_a_folder_that_cannot_be_locked_is_written_all_the_same(tmp_path, monkeypatch):
    with only_writer(tmp_path / "absent"):  # its lock cannot be made, as on a full disk
        pass
    monkeypatch.setattr(files, "fcntl", None)
    with only_writer(tmp_path), only_writer(tmp_path):
        pass
    assert not list(tmp_path.iterdir())


def test_versions_are_those_of_what_numbers_depend_on():
    found = versions()
    assert found["sgbn"] == __version__
    assert {"python", "numpy", "scipy", "numba"} <= set(found)
    found["sgbn"] = "another"
    assert versions()["sgbn"] == __version__


def test_differences_are_the_stored_and_the_present_values():
    there, now = {"alpha": 1, "seed": 0, "data": "0a"}, {"seed": 0, "data": "0b", "beta": 2}
    assert differences(there, now) == {"alpha": (1, None), "beta": (None, 2), "data": ("0a", "0b")}
    assert not differences(there, there)
