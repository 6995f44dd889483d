import argparse

import pytest

from sgbn.cli import main
from sgbn.cli.arguments import at_least, number_from


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
