import subprocess
import sys

import pytest

from sgbn import __version__
from sgbn.cli import main


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


def test_an_interrupt_says_that_finished_work_is_kept(monkeypatch, capsys, tmp_path):
    from sgbn.experiments import exp1

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(exp1, "run", interrupt)
    assert main(["reproduce", "exp1", "--out", str(tmp_path)]) == 130
    assert "goes on from there" in capsys.readouterr().err


def test_python_m_sgbn_is_the_same_command():
    done = subprocess.run(
        [sys.executable, "-m", "sgbn", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"sgbn {__version__}"
