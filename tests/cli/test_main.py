import subprocess
import sys

import numpy as np
import pytest

from sgbn import __version__
from sgbn.cli.main import own_error_text, parser
from sgbn.core.graph import topological_order
from sgbn.core.problems import InputError, Problem, StudyError
from sgbn.paper.experiments.experiment import Experiment


def test_version_and_help(typed):
    told = typed("--version")
    assert (told.code, told.out) == (0, f"sgbn {__version__}\n")
    assert "demo" in typed("--help").out


def failing(error):
    def run(*_, **__):
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (InputError("no such column"), 1, "sgbn check: no such column\n"),
        (StudyError("other settings"), 1, "sgbn check: other settings\n"),
        (FileNotFoundError(2, "No such file", "x.csv"), 1, "sgbn check: no such file.\n"),
        (MemoryError(), 1, "--workers 1"),
        (ValueError("zero-dimensional arrays"), 3, "not in your data: Value"),
        (RuntimeError("dictionary changed"), 3, "not in your data: Runtime"),
        (TypeError("unhashable"), 3, "not in your data: Type"),
    ],
)
def test_only_errors_that_say_what_to_do_are_the_users(monkeypatch, typed, error, code, said):
    monkeypatch.setattr("sgbn.cli.data.show_cohort", failing(error))
    told = typed("check table.csv --group dx")
    assert (told.code, said in told.err, "Traceback" in told.err) == (code, True, False)


def test_a_warning_is_shown_once(monkeypatch, typed):
    def warn(_):
        for _ in range(2):
            Problem("odd").warn("odd", "Give {outliers='keep'}.")
        raise InputError("stop")

    monkeypatch.setattr("sgbn.cli.data.show_cohort", warn)
    told = typed("check table.csv --group dx").err
    assert told == "warning: odd. Give --outliers keep.\nsgbn check: stop\n"


@pytest.mark.parametrize("words", [["--debug", "check", "x.csv"], ["check", "--debug", "x.csv"]])
@pytest.mark.parametrize("error", [InputError("no such column"), ValueError("not ours")])
def test_the_traceback_is_shown_if_asked_for(monkeypatch, typed, words, error):
    monkeypatch.setattr("sgbn.cli.data.show_cohort", failing(error))
    shown = typed("", *words, "--group", "dx").err
    assert shown.index("Traceback (most recent call last)") < shown.index("sgbn check: ")


def test_debug_goes_before_a_command_with_a_config_and_after_the_deepest_command(tmp_path, typed):
    (tmp_path / "config.toml").write_text('tables = ["none.csv"]\ngroup = "dx"\n')
    told = typed(f"--debug compare --config {tmp_path}/config.toml --out {tmp_path}/out")
    assert (told.code, "Traceback" in told.err, "none.csv" in told.err) == (1, True, True)
    assert parser().parse_args(["reproduce", "exp1", "--debug"]).debug


def test_an_interrupt_says_that_finished_work_is_kept(monkeypatch, typed, tmp_path):
    monkeypatch.setattr(Experiment, "run", failing(KeyboardInterrupt))
    told = typed(f"reproduce exp1 --out {tmp_path}")
    assert (told.code, "again" in told.err) == (130, True)


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
    assert "\n  in the step: Tests of differences, by permutations\n" in text
    assert "\n  in sgbn/core/graph.py, line " in text
    assert f"numpy {np.__version__}" in text
    assert "--debug" in text
    assert "--debug" not in own_error_text("compare", error, traced=True)


def test_an_error_that_came_through_no_file_of_ours():
    assert "in no file of sgbn" in own_error_text("check", KeyError("x"), traced=False)
