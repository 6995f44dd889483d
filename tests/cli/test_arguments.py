import argparse

import pytest

from sgbn.cli.main import main, parser
from sgbn.cli.options import (
    add_worker_options,
    at_least,
    folder_of_results,
    local_workers,
    make_folder,
    number_above,
    number_from,
    workers,
)
from sgbn.core.exceptions import InputError
from sgbn.runs import dask
from sgbn.runs.tasks import n_processors


def test_whole_numbers_from_a_smallest_one_on():
    assert at_least(3)("3") == 3
    with pytest.raises(argparse.ArgumentTypeError, match="2 is too small: give 3 or more"):
        at_least(3)("2")
    with pytest.raises(argparse.ArgumentTypeError, match="'x' is not a whole number"):
        at_least(3)("x")


def test_numbers_from_a_smallest_one_on():
    assert number_from(0)("0.4") == 0.4
    for text in ("best", "-1", "inf", "nan"):
        with pytest.raises(argparse.ArgumentTypeError, match="is not a number"):
            number_from(0)(text)


def test_numbers_between_two_ends():
    assert number_from(0, 1)("1") == 1
    with pytest.raises(argparse.ArgumentTypeError, match=r"1\.1 is not a number from 0 to 1"):
        number_from(0, 1)("1.1")
    assert number_above(0, below=1)("0.5") == 0.5
    for text in ("0", "1", "nan"):
        with pytest.raises(argparse.ArgumentTypeError, match="not a number above 0 and below 1"):
            number_above(0, below=1)(text)
    with pytest.raises(argparse.ArgumentTypeError, match=r"not a number above 0$"):
        number_above(0)("inf")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["demo", "--subjects", "3"], "--subjects: 3 is too small: give 10 or more"),
        (["demo", "--gamma", "best"], "--gamma: 'best' is not a number"),
        (["demo", "--seed", "-1"], "--seed: -1 is too small"),
        (["reproduce", "exp1", "--permutations", "0"], "--permutations: 0 is too small"),
        (["reproduce", "exp1", "--workers", "0"], "--workers: 0 is too small"),
    ],
)
def test_bad_arguments_name_the_option_and_write_nothing(
    command, message, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(command)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_folder_to_write_to_is_made_and_left_empty(tmp_path):
    path = tmp_path / "a" / "b"
    assert make_folder(path) == path
    assert make_folder(path) == path
    assert not list(path.iterdir())


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match=r"cannot write to .*file: it is a file\. Give another"):
        make_folder(tmp_path / "file")
    with pytest.raises(InputError, match=r"to .*deep: .*file is a file\. Give another folder"):
        make_folder(tmp_path / "file" / "sub" / "deep")

    def denied(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", denied)
    with pytest.raises(InputError, match=r"permission denied\. Give another folder \(--out\)"):
        make_folder(tmp_path)


LONG = {
    "demo": ["demo"],
    "compare": ["compare", "table.csv", "--out", "x"],
    "extract": ["extract", "a.nii", "--atlas", "b.nii", "--out", "x"],
    **{name: ["reproduce", name] for name in ("exp1", "exp2", "exp3", "exp4")},
}


@pytest.mark.parametrize("command", LONG.values(), ids=LONG)
def test_every_long_command_says_who_does_the_work(command):
    assert parser().parse_args([*command, "--workers", "3"]).workers == 3
    assert parser().parse_args([*command, "--dask", "tcp://host:1"]).dask == "tcp://host:1"
    assert parser().parse_args([*command, "--slurm", "jobs=2"]).slurm == "jobs=2"
    for two in (["--dask", "tcp://host:1"], ["--slurm", "jobs=2"]):
        with pytest.raises(SystemExit):
            parser().parse_args([*command, "--workers", "3", *two])


def test_empty_options_of_slurm_are_refused(capsys):
    with pytest.raises(SystemExit):
        main(["compare", "nowhere.csv", "--out", "x", "--slurm", " "])
    assert "--slurm: it is empty. Give key=value" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["compare", "nowhere.csv", "--out", "x", "--slurm", "walltime"])
    assert "'walltime' in 'walltime' has no value" in capsys.readouterr().err


def test_a_key_of_slurm_that_is_unknown_is_named_before_anything_is_read(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["compare", "nowhere.csv", "--out", "x", "--slurm", "partiton=long"])
    assert stop.value.code == 2
    assert (
        "argument --slurm: the options of SLURM have no key called 'partiton'. Did you mean 'pa"
        in (capsys.readouterr().err)
    )


def test_a_command_of_srun_alone_is_refused_elsewhere(capsys, monkeypatch):
    monkeypatch.delenv("SLURM_STEP_ID", raising=False)
    assert main(["compare", "nowhere.csv", "--out", "x", "--slurm", "runner"]) == 1
    assert "Start it as srun -n 5 sgbn" in capsys.readouterr().err


def test_workers_are_processes_of_this_machine_or_of_a_cluster(monkeypatch):
    own = argparse.ArgumentParser()
    add_worker_options(own)
    with workers(own.parse_args([])) as n_jobs:
        assert n_jobs == n_processors()
    with workers(own.parse_args(["--workers", "3"])) as n_jobs:
        assert n_jobs == 3
    assert local_workers(own.parse_args(["--dask", "x"])) == n_processors()
    monkeypatch.setattr(dask, "CONNECT_SECONDS", 0.3)
    nobody = own.parse_args(["--dask", "tcp://127.0.0.1:9"])
    with pytest.raises(InputError, match="no Dask scheduler answers"), workers(nobody):
        pass


def fail_in(folder, name=""):
    with folder_of_results(folder) as out:
        if name:
            (out / name).touch()
        raise ValueError("failed")


def test_a_folder_that_stays_empty_is_removed_with_those_above_it(tmp_path):
    (tmp_path / "old").mkdir()
    with pytest.raises(ValueError, match="failed"):
        fail_in(tmp_path / "old/new/out")
    assert [path.name for path in tmp_path.rglob("*")] == ["old"]
    with pytest.raises(ValueError, match="failed"):
        fail_in(tmp_path / "out", "file")
    assert (tmp_path / "out" / "file").exists()
