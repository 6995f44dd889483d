from contextlib import contextmanager

import pytest

from sgbn.cli import other
from sgbn.cli.main import main
from sgbn.cohort.simulate import simulate_cohort
from sgbn.paper.experiments import experiment as protocol
from sgbn.paper.experiments.experiment import Experiment
from sgbn.read.table import write_table


def test_exp1_runs_prints_and_resumes(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("SGBN_DATA", str(tmp_path))
    command = ["reproduce", "exp1", "--out", str(tmp_path / "exp1"), "--permutations", "3"]
    assert main(command) == 0
    first = capsys.readouterr().out
    assert "paper's distance" in first
    assert "The COBRE table was not found. Set SGBN_DATA" in first
    assert (tmp_path / "exp1" / "exp1.png").exists()
    assert main(command) == 0
    assert capsys.readouterr().out == first
    assert main([*command, "--alpha", "0.3"]) == 1
    assert "begun with other settings" in capsys.readouterr().err


def test_exp2_runs_prints_and_resumes(tmp_path, capsys):
    out = tmp_path / "exp2"
    command = ["reproduce", "exp2", "--out", str(out), "--simulations", "2", "--networks", "Chain"]
    assert main(command) == 0
    first = capsys.readouterr().out
    assert "| chain | " in first
    assert (out / "exp2_errors.png").exists()
    assert main(command) == 0
    assert capsys.readouterr().out == first
    assert (out / "exp2.md").read_text() in first
    assert main([*command, "--alpha", "0.5"]) == 1
    assert "alpha: 0.32 there, 0.5 now" in capsys.readouterr().err
    assert main([*command[:-1], "asia"]) == 1
    assert "no network is called 'asia'" in capsys.readouterr().err


@pytest.fixture
def guessed(monkeypatch):
    """No classifier is fitted: what they do is tested elsewhere."""

    def guess(classifier, problem, on_covariates=False):
        return protocol.Outcome(0.5 + 0.001 * problem.train[0, 0], 0.7, 0.01)

    monkeypatch.setattr(protocol, "evaluate", guess)


def test_exp3_shuffles_runs_and_prints_both(tmp_path, capsys, monkeypatch, guessed):
    monkeypatch.setenv("SGBN_DATA", str(tmp_path))
    out = tmp_path / "exp3"
    command = ["reproduce", "exp3", "--out", str(out), "--splits", "2"]
    assert main([*command, "--canary"]) == 0
    shuffled = capsys.readouterr().out
    assert "# Exp-III: the canary, 2 shuffles of the labels" in shuffled
    assert "2 shuffles are too few for verdicts" in shuffled
    assert main(command) == 0
    first = capsys.readouterr().out
    assert "No real tables were found. Set SGBN_DATA" in first
    assert "The control chooses its regions by all rows" in first
    assert "| mixed | simulated groups that differ in both; 40 regions | 80 | 400 | 2 |" in first
    for name in ("exp3_free.png", "exp3_penalised.png"):
        assert (out / name).exists()
    assert main([*command, "--seed", "1"]) == 1
    assert "seed: 0 there, 1 now" in capsys.readouterr().err


def test_workers_of_the_canary_log_in_the_folder_that_was_named(tmp_path, monkeypatch):
    seen = []

    @contextmanager
    def workers(arguments):
        seen.append(arguments.out)
        yield 1

    def run(experiment, study, settings, data):
        seen.append(study.folder)

    monkeypatch.setenv("SGBN_DATA", str(tmp_path))
    monkeypatch.setattr(other, "workers", workers)
    monkeypatch.setattr(Experiment, "run", run)
    monkeypatch.setattr(Experiment, "finish", lambda experiment, folder: (str(folder), []))
    assert main(["reproduce", "exp3", "--canary", "--out", str(tmp_path)]) == 0
    assert seen == [tmp_path, tmp_path / "canary"]


@pytest.mark.parametrize(
    "given",
    [
        ["--group", "diagnosis"],
        ["--covariates", "age"],
        ["--site", "scanner"],
        ["--missing"],
        ["--sheet", "2"],
        ["--freesurfer"],
    ],
)
def test_options_of_a_table_need_one(tmp_path, capsys, monkeypatch, given):
    monkeypatch.setattr(Experiment, "run", None)  # nothing is begun
    assert main(["reproduce", "exp3", "--out", str(tmp_path / "exp3"), *given]) == 1
    message = capsys.readouterr().err
    assert f"{given[0]} can only be used with your own table" in message
    assert "--table" in message
    assert not (tmp_path / "exp3").exists()


@pytest.mark.parametrize("experiment", ["exp3", "exp4"])
def test_a_table_needs_its_groups_before_it_is_read(tmp_path, capsys, experiment):
    absent = str(tmp_path / "absent.csv")
    assert main(["reproduce", experiment, "--table", absent]) == 1
    assert "--table needs --group. Name the column" in capsys.readouterr().err


def test_a_wrong_number_is_answered_in_one_line(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["reproduce", "exp3", "--splits", "1"])
    assert stopped.value.code == 2
    message = capsys.readouterr().err
    assert "--splits: 1 is too small: give 2 or more." in message
    assert message.count("\n") == 1


def test_exp3_runs_on_a_table_of_ones_own(tmp_path, capsys, guessed):
    cohort = simulate_cohort(20, 0, regions=10, covariates=["age"], n_sites=2)
    path = tmp_path / "table.csv"
    write_table(cohort, path)
    options = ["--table", str(path), "--group", "group", "--covariates", "age", "--site", "site"]
    command = ["reproduce", "exp3", *options, "--splits", "2", "--out", str(tmp_path / "exp3")]
    assert main(command) == 1
    assert "40 subjects, fewer than 80 for training" in capsys.readouterr().err
    assert main([*command, "--train", "24", "--test", "12"]) == 0
    text = capsys.readouterr().out
    assert "| table | the table given; 10 regions | 24 | 12 | 2 |" in text
    assert "| covariates alone | " in text


@pytest.mark.long
def test_exp4_runs_on_a_table_prints_and_resumes(tmp_path, capsys):
    path = tmp_path / "table.csv"
    write_table(simulate_cohort(20, 0, regions=8, covariates=["age"]), path)
    out = tmp_path / "exp4"
    command = ["reproduce", "exp4", "--permutations", "19", "--orders", "2", "--out", str(out)]
    assert main([*command, "--reference", "patient"]) == 1
    assert "--reference can only be used with your own table" in capsys.readouterr().err
    command += ["--table", str(path), "--group", "group", "--covariates", "age"]
    assert main([*command, "--reference", "patients"]) == 1
    assert "Did you mean 'patient'?" in capsys.readouterr().err
    command += ["--reference", "patient", "--k", "6"]
    assert main(command) == 0
    first = capsys.readouterr().out
    assert "| patient (20) → control (20) | 6 | age | 1 |" in first
    for name in ("exp4_networks.png", "exp4_moves.png"):
        assert (out / name).exists()
    assert main(command) == 0
    assert capsys.readouterr().out == first
    assert (out / "exp4.md").read_text() in first
    assert main([*command, "--seed", "1"]) == 1
    assert "seed: 0 there, 1 now" in capsys.readouterr().err
