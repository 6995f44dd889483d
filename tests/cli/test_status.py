import json

import pytest

from sgbn.cli.main import main
from sgbn.core.exceptions import InputError
from sgbn.runs.study import Study

TASKS = {f"task{k}": {"k": k} for k in range(5)}


def picky(k):
    if k == 3:
        raise InputError("no three")
    return {"k": k}


def fine(k):
    return {"k": k}


@pytest.fixture
def output(tmp_path):
    """Folder as `compare` leaves it in the middle: a frame without tasks, and a step."""
    settings = {"alpha": 0.1, "regions": [f"region {k}" for k in range(100)]}
    Study(tmp_path / "work").require({"seed": 0})
    folder = tmp_path / "work" / "differences"
    Study(folder).run(picky, TASKS, settings, on_error="skip")
    return tmp_path


def test_what_is_left_is_said_and_the_exit_code_is_0(output, capsys):
    assert main(["status", str(output)]) == 0
    text = capsys.readouterr().out
    assert "  work/differences  4 of 5 done, 1 left  last 20" in text
    assert "\nsettings\n  seed 0\n" in text  # those of the frame: of the whole comparison
    assert "numpy" in text
    assert "1 task is left. Run the same command again" in text.splitlines()[-1]
    assert max(map(len, text.splitlines())) <= 100


def test_a_finished_study_is_said_to_be(output, capsys):
    folder = output / "work" / "differences"
    settings = json.loads((folder / "study.json").read_text())["settings"]
    Study(folder).run(fine, TASKS, settings)
    assert main(["status", str(folder)]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"{folder}\n\n  tasks  5 of 5 done  last 20")
    assert "alpha 0.1, regions ['region 0', 'region 1'" in text
    assert "...\n" in text  # of a hundred regions
    assert text.endswith("All tasks of the steps that were begun are done.\n")


def test_that_the_report_is_not_written_is_said(output, capsys):
    folder = output / "work" / "differences"
    settings = json.loads((folder / "study.json").read_text())["settings"]
    Study(folder).run(fine, TASKS, settings)
    main(["status", str(output)])
    assert "there is no report. Run the same command" in capsys.readouterr().out
    (output / "about.json").write_text('{"pending": ["accuracy"]}')
    main(["status", str(output)])
    assert "the report is not complete. Run the same command" in capsys.readouterr().out
    (output / "about.json").write_text("{}")
    main(["status", str(output)])
    assert capsys.readouterr().out.endswith("All tasks of the steps that were begun are done.\n")


def test_a_study_of_an_earlier_version_and_an_earlier_plan(output, capsys):
    path = output / "work" / "differences" / "study.json"
    study = json.loads(path.read_text())
    path.write_text(json.dumps(study | {"tasks": 2}))
    main(["status", str(output)])
    assert "2 of 2 done (and 2 results of an earlier start)" in capsys.readouterr().out
    del study["tasks"]
    path.write_text(json.dumps(study))
    main(["status", str(output)])
    text = capsys.readouterr().out
    assert "4 done (an earlier version of sgbn began it" in text
    assert "the number of tasks is not known" in text.splitlines()[-1]


def test_studies_without_a_frame_show_the_settings_of_each(tmp_path, capsys):
    for name, seed in (("one", 0), ("two", 1)):
        Study(tmp_path / name).run(fine, TASKS, {"seed": seed})
    assert main(["status", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "\nsettings of one\n  seed 0\n\nsettings of two\n  seed 1\n\nversions\n" in text


def test_nothing_is_changed(output):
    def files():
        return {p: p.stat().st_mtime_ns for p in output.rglob("*")}

    before = files()
    main(["status", str(output)])
    assert files() == before


def test_a_folder_without_a_study_is_an_error(tmp_path, capsys):
    assert main(["status", str(tmp_path)]) == 1
    assert "there is no study in" in capsys.readouterr().err
