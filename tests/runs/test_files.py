import errno
import json

import numpy as np
import pytest

from sgbn import StudyError
from sgbn.runs.files import (
    read_result,
    remove_unfinished,
    write_atomically,
    write_json,
    write_result,
)


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


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_named_and_nothing_half_written_stays(tmp_path, number):
    path = tmp_path / "result"
    path.write_bytes(b"old")

    def fill(stream):
        stream.write(b"half")
        raise OSError(number, "no room")

    with pytest.raises(StudyError, match=r"no room for .*result .*What was finished is kept"):
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
    for name in ("study.json", "tasks/a.npz", "tasks/b.npz.12.unfinished", "c.unfinished"):
        (tmp_path / name).write_text("x")
    remove_unfinished(tmp_path)
    left = sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file())
    assert left == ["study.json", "tasks/a.npz"]
