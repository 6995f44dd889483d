import argparse

import pytest

from sgbn import InputError
from sgbn.cli import main
from sgbn.cli.arguments import at_least, make_folder, number_from


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
