import argparse
import re
import shlex

import pytest

from sgbn.cli.help import Formatter, Parser, examples
from sgbn.cli.main import parser


def pages(top):
    """Name -> parser of a command and of all below it."""
    found = {top.prog: top}
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                found |= pages(below)
    return found


PAGES = pages(parser())


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_the_examples_of_every_command_can_be_typed(page):
    commands = re.findall(rf"^  ({page.prog}\b.*)$", page.format_help(), re.M)
    assert commands
    for command in re.findall(r"^  (sgbn .*)$", page.epilog, re.M):
        words = shlex.split(command)[1:]
        if "--help" not in words:
            parser().parse_args(words)


def test_text_is_wrapped_and_examples_are_not():
    long = "sgbn compare " + "--covariates age sex " * 10
    page = Parser(prog="x", epilog=examples({long: "what it does"}, "word " * 60))
    lines = page.format_help().splitlines()
    assert f"  {long}" in lines
    assert "      what it does" in lines
    assert sum(line.startswith("word") for line in lines) > 2


def test_subcommands_look_alike():
    top = Parser(prog="x")
    below = top.add_subparsers().add_parser("y")
    assert type(below) is Parser
    assert below.formatter_class is Formatter


def test_a_misspelt_option_is_answered_in_one_line_by_its_like(capsys):
    for words in (["compare", "t.csv", "--gruop", "dx", "--out", "x"], ["demo", "--sed=1"]):
        with pytest.raises(SystemExit) as stop:
            parser().parse_args(words)
        assert stop.value.code == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert "Did you mean '--" in said
        assert said.startswith(f"sgbn {words[0]}: there is no option --")
