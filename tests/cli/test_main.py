import subprocess
import sys

import numpy as np
import pytest

from sgbn import __version__
from sgbn.cli.main import main, own_error_text, parser
from sgbn.core.graph import topological_order
from sgbn.core.problems import InputError, StudyError


def test_version_and_help(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert __version__ in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "demo" in capsys.readouterr().out


def test_errors_are_one_line_and_exit_code_one(tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    assert main(["demo", "--out", str(tmp_path / "file" / "x")]) == 1
    error = capsys.readouterr().err
    assert error.startswith("sgbn demo: ")
    assert "Traceback" not in error


def failing(error):
    def run(*_, **__):
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (InputError("no such column"), 1, "sgbn check: no such column\n"),
        (StudyError("other settings"), 1, "sgbn check: other settings\n"),
        (FileNotFoundError(2, "No such file", "x.csv"), 1, "No such file: 'x.csv'\n"),
        (MemoryError(), 1, "too little memory. Use fewer processes"),
        (ValueError("zero-dimensional arrays"), 3, "an error in sgbn, not in your data: Value"),
        (RuntimeError("dictionary changed"), 3, "an error in sgbn, not in your data: Runtime"),
        (TypeError("unhashable"), 3, "an error in sgbn, not in your data: Type"),
    ],
)
def test_only_errors_that_say_what_to_do_are_the_users(monkeypatch, capsys, error, code, said):
    monkeypatch.setattr("sgbn.cli.data.show_cohort", failing(error))
    assert main(["check", "table.csv", "--group", "dx"]) == code
    shown = capsys.readouterr().err
    assert said in shown
    assert "Traceback" not in shown


@pytest.mark.parametrize("words", [["--debug", "check", "x.csv"], ["check", "--debug", "x.csv"]])
@pytest.mark.parametrize("error", [InputError("no such column"), ValueError("not ours")])
def test_the_traceback_is_shown_if_asked_for(monkeypatch, capsys, words, error):
    monkeypatch.setattr("sgbn.cli.data.show_cohort", failing(error))
    assert main([*words, "--group", "dx"]) in (1, 3)
    shown = capsys.readouterr().err
    assert "Traceback (most recent call last)" in shown
    assert shown.index("Traceback") < shown.index("sgbn check: ")


def test_debug_goes_before_a_command_with_a_config_and_after_the_deepest_command(tmp_path, capsys):
    (tmp_path / "config.toml").write_text('tables = ["none.csv"]\ngroup = "dx"\n')
    config = ["compare", "--config", str(tmp_path / "config.toml"), "--out", str(tmp_path / "out")]
    assert main(["--debug", *config]) == 1
    shown = capsys.readouterr().err
    assert "Traceback" in shown
    assert "none.csv" in shown
    assert parser().parse_args(["reproduce", "exp1", "--debug"]).debug


def test_an_interrupt_says_that_finished_work_is_kept(monkeypatch, capsys, tmp_path):
    from sgbn.paper.experiments.experiment import Experiment

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(Experiment, "run", interrupt)
    assert main(["reproduce", "exp1", "--out", str(tmp_path)]) == 130
    assert "the same command again to go on" in capsys.readouterr().err


def test_python_m_sgbn_is_the_same_command():
    done = subprocess.run(
        [sys.executable, "-m", "sgbn", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"sgbn {__version__}"


def raised():
    with pytest.raises(ValueError, match="cycle") as caught:
        topological_order(np.array([[0, 1], [1, 0]]))
    return caught.value


def test_it_is_said_to_be_ours_with_place_versions_and_what_to_do():
    error = raised()
    error.add_note("in the step: Tests of differences, by permutations")
    text = own_error_text("compare", error, traced=False)
    assert text.startswith("sgbn compare: this is an error in sgbn, not in your data: ValueError: ")
    assert "\n  in the step: Tests of differences, by permutations\n" in text
    assert "\n  in sgbn/core/graph.py, line " in text
    assert f"numpy {np.__version__}" in text
    assert "again with --debug" in text


def test_once_traced_nobody_is_asked_to_trace_it():
    text = own_error_text("compare", raised(), traced=True)
    assert "--debug" not in text
    assert "Report everything above" in text


def test_an_error_that_came_through_no_file_of_ours():
    assert "in no file of sgbn" in own_error_text("check", KeyError("x"), traced=False)
