import argparse
import re

import pytest

from sgbn.cli import compare, data
from sgbn.cli.data import SHEET
from sgbn.cli.main import parser
from sgbn.cli.options import _WORDS, Parser, add_command, add_options, options_of
from sgbn.cli.read_subjects import FAILED, QUALITY, REGIONS
from sgbn.cohort import simulate as nuisance
from sgbn.paper.experiments import exp2, exp3


def test_a_command_has_the_words_and_options_of_the_file():
    top = Parser(prog="sgbn")
    below = top.add_subparsers(dest="command")
    page = add_command(below, "simulate", print)
    add_options(page, options_of("simulate"))
    chosen = top.parse_args(["simulate", "--out", "x", "--regions", "all"])
    assert (chosen.run, chosen.after_interrupt) == (print, "Start the same command again.")
    assert (chosen.regions, chosen.groups, chosen.seed) == (None, ["control", "patient"], 0)
    assert "  sgbn simulate --out study\n" in page.format_help()
    assert "write a simulated cohort and its known truth as files" in top.format_help()


def test_an_argument_without_dashes_has_none():
    page = argparse.ArgumentParser()
    add_options(page, options_of("status"))
    assert str(page.parse_args(["results"]).folder) == "results"
    with pytest.raises(SystemExit):
        page.parse_args(["--folder", "results"])


def test_every_command_of_the_file_is_one_of_sgbn():
    top = parser()._subparsers._group_actions[0].choices
    experiments = top["reproduce"]._subparsers._group_actions[0].choices
    assert set(_WORDS) == {*top, *experiments}


def test_the_words_name_the_files_and_numbers_of_the_commands():
    by_name = {option.name: option.help for option in options_of("demo")}
    usual = f"(default: {compare.OF_TABLES}; {compare.OF_SERIES} with --series)"
    assert by_name["subjects"].endswith(usual)
    assert SHEET in options_of("check")[0].help
    for name in (REGIONS, QUALITY, FAILED):
        assert name in _WORDS["read-subjects"]["description"]


def test_the_covariates_to_choose_from_are_those_that_are_simulated():
    (option,) = (each for each in options_of("simulate", "effects") if each.name == "covariates")
    assert option.kind["choices"] == data.COVARIATES == nuisance.COVARIATES
    assert "some of {}, {} and {}.".format(*data.COVARIATES) in option.help


def numbers_in_help(command, name):
    (option,) = (each for each in options_of(command) if each.name == name)
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", option.help)]


def test_the_help_of_experiments_names_their_defaults_and_limits():
    sparsity = exp2.Settings()
    assert numbers_in_help("exp2", "alpha") == [sparsity.alpha]
    assert numbers_in_help("exp2", "alpha-raw") == [sparsity.alpha_raw]
    usual = [exp3.Settings().splits, exp3.SHUFFLES]
    fewest = [exp3.MIN_SPLITS, exp3.MIN_SHUFFLES]
    assert numbers_in_help("exp3", "splits") == [*fewest, *usual]
