import json
from datetime import datetime, timedelta

import pytest

from sgbn.core.exceptions import InputError, StudyError
from sgbn.runs.files import versions
from sgbn.runs.study import Study, find_studies, study_status

TASKS = {f"task{k}": {"k": k} for k in range(5)}


def identity(k):
    if k == 3:
        raise InputError("no three")
    return {"k": k}


def half_done(folder):
    Study(folder).run(identity, TASKS, {"alpha": 0.1}, on_error="skip")
    return folder


def test_done_and_left_are_counted(tmp_path):
    status = study_status(half_done(tmp_path))
    assert (status.done, status.planned, status.left) == (4, 5, 1)
    assert status.settings == {"alpha": 0.1}
    assert status.versions == versions()
    assert abs(status.last - datetime.now()) < timedelta(minutes=5)


def test_half_written_files_are_not_done(tmp_path):
    half_done(tmp_path)
    (tmp_path / "tasks" / "task3.npz.7.unfinished").write_bytes(b"half")
    assert study_status(tmp_path).left == 1
    assert (tmp_path / "tasks" / "task3.npz.7.unfinished").exists()  # it may be in use


def test_without_a_plan_nobody_knows_what_is_left(tmp_path):
    half_done(tmp_path)
    study = json.loads((tmp_path / "study.json").read_text())
    del study["tasks"]
    (tmp_path / "study.json").write_text(json.dumps(study))
    status = study_status(tmp_path)
    assert (status.done, status.planned, status.left) == (4, None, None)


def test_results_of_an_earlier_plan_leave_nothing_below_zero(tmp_path):
    half_done(tmp_path)
    study = json.loads((tmp_path / "study.json").read_text())
    (tmp_path / "study.json").write_text(json.dumps(study | {"tasks": 2}))
    assert study_status(tmp_path).left == 0


def test_studies_are_found_at_any_depth(tmp_path):
    Study(tmp_path / "work").run(identity, {}, {})
    half_done(tmp_path / "work" / "b")
    half_done(tmp_path / "work" / "a")
    assert find_studies(tmp_path) == [tmp_path / "work" / part for part in ("", "a", "b")]
    assert study_status(tmp_path / "work").last is None


def test_what_is_no_study_is_named(tmp_path):
    with pytest.raises(InputError, match="there is no study in"):
        find_studies(tmp_path)
    with pytest.raises(InputError, match="is not a folder"):
        find_studies(tmp_path / "absent")
    (tmp_path / "study.json").write_text("{")
    with pytest.raises(StudyError, match=r"study\.json cannot be read"):
        study_status(tmp_path)
