import inspect
import re
from dataclasses import fields

import pytest

from sgbn import Settings
from sgbn.cli.main import parser
from sgbn.cli.options import HOW, LEARNERS, OPTIONS, PATHS, QUICK, SERIES, SETTINGS, TABLE, WHAT
from sgbn.cli.predict import READING
from sgbn.comparison.settings import REFINEMENTS
from sgbn.inference.intervals import repeats_for
from sgbn.prepare.outliers import OUTLIERS, TRANSFORMS
from sgbn.read.roles import LISTS, Options
from sgbn.read.series import read_series
from sgbn.read.table import read_freesurfer, read_table
from sgbn.write.model_files import read_inputs

CLI_ONLY = {"freesurfer", "lobes"}  # which reader, and what is taken of its cohort
OF_FILES = {"participants", "sheet", "delimiter", "decimal"}  # beside `Options`
DEFAULTS = {
    **{"yes": True, "no": None, "all": None},
    "a group whose name looks like controls, else the first group by name": None,
    **{"trim": None, "none": None},  # as the learner has it
}


def named(options):
    return {one.dest for one in options}


def keywords(function):
    kept = inspect.signature(function).parameters.values()
    return {one.name for one in kept if one.kind is one.KEYWORD_ONLY}


def documented(thing, section="Parameters"):
    """Names that a numpydoc section describes."""
    text = inspect.cleandoc(thing.__doc__).split(f"{section}\n{'-' * len(section)}\n")[1]
    text = re.split(r"\n\w+\n-+\n", text)[0]
    lines = re.findall(r"^([*\w][^:\n]*)(?: : |$)", text, re.M)
    return {name.strip() for line in lines for name in line.split(",")}


def choices_of(name):
    return next(one.kind["choices"] for one in (*WHAT, *HOW) if one.name == name)


def test_the_reader_of_tables_has_the_same_options():
    assert named(TABLE) - CLI_ONLY == keywords(read_table)
    assert named(TABLE) - CLI_ONLY == documented(read_table) - {"source"}
    assert named(TABLE) - CLI_ONLY - OF_FILES == {one.name for one in fields(Options)} - {
        "only_regions"
    }


def test_the_reader_of_freesurfer_has_all_but_the_sheet():
    assert keywords(read_freesurfer) == keywords(read_table) - {"sheet"}
    assert documented(read_freesurfer) == keywords(read_freesurfer) | {"*tables"}


def test_the_reader_of_series_has_options_of_its_own_and_no_measure():
    own = named(SERIES) | (keywords(read_table) - {"measure", "participants"})
    assert keywords(read_series) == own == documented(read_series) - {"source", "participants"}


def test_lists_are_the_same_at_the_command_line_and_in_the_reader():
    lists = {one.dest for one in TABLE if one.kind.get("action") == "extend"}
    assert lists == {*LISTS, "lobes", "missing"}


def test_a_model_reads_tables_by_the_same_options():
    assert set(READING) == keywords(read_inputs) < named(TABLE)
    assert documented(read_inputs) == keywords(read_inputs) | {"model", "source"}


def test_settings_have_the_same_options():
    assert named(SETTINGS) == {one.name for one in fields(Settings)}
    assert named(SETTINGS) == documented(Settings, "Attributes")


@pytest.mark.parametrize("option", SETTINGS, ids=lambda one: one.name)
def test_help_says_the_default(option):
    default = next(one.default for one in fields(Settings) if one.name == option.dest)
    said = re.search(r"\(default: ([^()]*)\)$", option.help)
    if said is None or option.dest == "refinements":
        assert default in (False, (), REFINEMENTS)
    elif option.dest == "n_repeats":
        assert default is None
        assert said[1] == "4 with a few hundred subjects, fewer with thousands"
        assert repeats_for([150, 150], 5) == 4 > repeats_for([2500, 2500], 5)
    elif said[1] in DEFAULTS:
        assert DEFAULTS[said[1]] is default
    else:
        assert float(said[1]) == default


def test_quick_decides_what_its_options_say():
    usual, quick = Settings(), Settings.quick()
    changed = {name for name in vars(usual) if getattr(usual, name) != getattr(quick, name)}
    assert changed <= named(QUICK)
    assert named(QUICK) - changed == {"models"}


def test_choices_are_those_of_the_library():
    assert choices_of("refinements") == REFINEMENTS
    assert choices_of("outliers") == OUTLIERS
    assert choices_of("transform") == TRANSFORMS
    assert choices_of("learner") == LEARNERS


def test_a_config_knows_all_options_of_compare_but_those_of_one_run():
    compare = parser().parse_args(["compare", "--out", "x"]).parser
    of_one_run = {"out", "config", "figures", "quick", "workers", "dask", "slurm"}
    of_one_run |= {"subjects_in_report"}
    beside = {"help", "debug"} | of_one_run
    assert set(OPTIONS.values()) == {action.dest for action in compare._actions} - beside
    assert {"tables", "participants"} == PATHS
