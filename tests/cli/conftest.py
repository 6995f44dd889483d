"""Tables that commands read, and finished runs that many tests look at: each is made once."""

import shlex
import sys
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from sgbn.cli.main import main
from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.problems import Problem


def run_as_typed(words):
    """Run a command as a shell does, without drawing, and return what it printed."""
    plan = import_module("sgbn.comparison.figures").Plan
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(StringIO()) as printed:
        patched.setattr(sys, "argv", ["sgbn", *words])
        patched.setattr(plan, "files", lambda plan, kinds, dpi: dict.fromkeys(kinds, b"<svg/>"))
        patched.setattr("sgbn.write.figures.WORTH_WORKERS", float("inf"))  # in this process
        assert main(words) == 0
    return printed.getvalue()


@pytest.fixture
def typed(capsys, monkeypatch):
    """Function (words) -> exit code, what was printed, and the codes of all that became text."""
    codes, text = [], Problem.__str__

    def noted(problem):
        codes.append(problem.code)
        return text(problem)

    def run(words, *more):
        capsys.readouterr()
        codes.clear()
        try:
            code = main([*shlex.split(words), *map(str, more)])
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        return SimpleNamespace(code=code, out=out, err=err, codes={*codes})

    monkeypatch.setattr(Problem, "__str__", noted)
    return run


@pytest.fixture(scope="session")
def study_frame():
    """80 subjects with an age and six regions; a test that changes it copies it."""
    cohort = simulate_cohort(40)
    frame = pd.DataFrame(cohort.values[:, :6], columns=cohort.regions[:6])
    frame.insert(0, "age", np.random.default_rng(0).uniform(20, 60, 80))
    frame.insert(0, "dx", np.where(cohort.group == "control", "CTR", "AD/../MCI"))
    frame.insert(0, "subject_id", [f"sub-{k:03}" for k in range(80)])
    return frame


@pytest.fixture
def table(study_frame, tmp_path):
    """The same as a file."""
    study_frame.to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


@pytest.fixture(scope="session")
def whole_comparison(study_frame, tmp_path_factory):
    """Folder with a table and the results of a run with every step, its words, what it printed."""
    folder = tmp_path_factory.mktemp("whole")
    study_frame.to_csv(folder / "table.csv", index=False)
    words = ["compare", str(folder / "table.csv"), "--group", "dx", "--covariates", "age"]
    words += ["--reference", "CTR", "--seed", "7", "--quick", "--permutations", "20"]
    words += ["--half-samples", "2", "--folds", "2", "--refinements", "CL-SGBN", "--deviations"]
    words += ["--model", "--workers", "1", "--out", str(folder / "results")]
    printed = run_as_typed(words)
    return SimpleNamespace(folder=folder, out=folder / "results", words=words, printed=printed)


@pytest.fixture
def whole_run(whole_comparison, monkeypatch):
    """The same, while its words are what was typed."""
    monkeypatch.setattr(sys, "argv", ["sgbn", *whole_comparison.words])
    return whole_comparison


@pytest.fixture(scope="session")
def series_run(tmp_path_factory, chains_of_series):
    """Folder with time series and the results of a run, its words, what it printed."""
    folder, cohort = tmp_path_factory.mktemp("series"), chains_of_series
    np.savez(folder / "series.npz", **dict(zip(cohort.ids, cohort.series, strict=True)))
    people = pd.DataFrame({"participant_id": cohort.ids, "dx": cohort.group, **cohort.covariates})
    people.to_csv(folder / "participants.tsv", sep="\t", index=False)
    words = ["compare", str(folder / "series.npz")]
    words += ["--participants", str(folder / "participants.tsv"), "--group", "dx"]
    words += ["--covariates", "age", "mean_fd", "--tr", "2", "--quick", "--permutations", "20"]
    words += ["--half-samples", "2", "--no-accuracy", "--workers", "1"]
    words += ["--out", str(folder / "results")]
    printed = run_as_typed(words)
    return SimpleNamespace(folder=folder, out=folder / "results", words=words, printed=printed)
