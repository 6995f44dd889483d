import argparse
import inspect
import re
import shlex
import tomllib
from contextlib import nullcontext
from dataclasses import fields, replace
from functools import cache
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.codes import refused
from tests.read.written import write_cat12, write_freesurfer

import sgbn
from sgbn import Settings
from sgbn.cli import compare, data, extract, other
from sgbn.cli import compare as compare_command
from sgbn.cli import compare as demo
from sgbn.cli.data import SHEET
from sgbn.cli.main import main, parser
from sgbn.cli.options import (
    _WORDS,
    HOW,
    KINDS,
    LEARNERS,
    OPTIONS,
    PATHS,
    QUICK,
    SERIES,
    SETTINGS,
    TABLE,
    WHAT,
    Parser,
    add_command,
    add_options,
    add_worker_options,
    at_least,
    config_text,
    examples,
    folder_of_results,
    local_workers,
    make_folder,
    option_names,
    options_of,
    with_config,
    workers,
)
from sgbn.cli.predict import READING
from sgbn.cli.read_subjects import FAILED, QUALITY, REGIONS
from sgbn.cohort import simulate as nuisance
from sgbn.comparison.compare import compare as help_compare
from sgbn.comparison.settings import REFINEMENTS
from sgbn.comparison.settings import Settings as help_Settings
from sgbn.inference.intervals import repeats_for
from sgbn.paper.experiments import exp2, exp3
from sgbn.prepare.outliers import OUTLIERS, TRANSFORMS
from sgbn.read.roles import LISTS, Options
from sgbn.read.series import read_series
from sgbn.read.table import read_freesurfer, read_table
from sgbn.runs import dask
from sgbn.runs.tasks import n_processors
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
    beside = {"help", "debug", "names"} | of_one_run
    assert set(OPTIONS.values()) == {action.dest for action in compare._actions} - beside
    assert {"tables", "participants"} == PATHS


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


def pages(top):
    """Name -> parser of a command and of all below it."""
    found = {top.prog: top}
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                found |= pages(below)
    return found


PAGES = pages(parser())


EXAMPLES = {
    command: None  # each once, in the order of the pages
    for page in PAGES.values()
    for command in re.findall(r"^  (sgbn .*)$", page.epilog, re.M)
}
N = 60  # subjects per group, as many as exp3 trains and tests on


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_every_command_shows_examples_of_its_own(page):
    assert re.findall(rf"^  ({page.prog}\b.*)$", page.format_help(), re.M)


def a_table(group, columns):
    """Table of subjects with six regions, a group, and no other columns than those asked for."""
    cohort = sgbn.simulate_cohort(N, regions=6)
    frame = pd.DataFrame(cohort.values, columns=cohort.regions)
    rng = np.random.default_rng(0)
    known = {
        "age": rng.uniform(20, 60, 2 * N).round(1),
        "sex": rng.choice(["F", "M"], 2 * N),
        "site": rng.choice(["A", "B"], 2 * N),
        "person": [f"p{k}" for k in range(N)] * 2,
        "mean_fd": rng.uniform(0.1, 0.3, 2 * N),
    }
    beside = {"subject_id": [f"s{k:02}" for k in range(2 * N)], group: cohort.group}
    beside |= {name: known[name] for name in columns}
    return pd.concat([pd.DataFrame(beside), frame], axis=1)


def write_tables(arguments):
    """Write the tables that a command reads into the current folder."""
    columns = [*(arguments.covariates or []), arguments.site, arguments.pair]
    columns = [name for name in columns if name]
    table = a_table(arguments.group, columns)
    if arguments.participants is None:
        table.to_csv(arguments.tables[0], index=False)
        return
    table[["subject_id", arguments.group, *columns]].to_csv(
        arguments.participants, sep="\t", index=False
    )
    if not arguments.tables[0].suffix:
        write_series(arguments.tables[0], table["subject_id"])
        return
    for file, side, k in zip(arguments.tables, ("lh", "rh"), (-3, -6), strict=True):
        regions = table.iloc[:, k:].iloc[:, :3].set_axis(["insula", "cuneus", "lingual"], axis=1)
        regions = regions.add_prefix(f"{side}_").add_suffix("_thickness")
        regions.insert(0, f"{side}.aparc.thickness", table["subject_id"])
        regions.to_csv(file, sep="\t", index=False)


def write_series(folder, subjects):
    """Write one file of time series per subject."""
    folder.mkdir()
    for k, name in enumerate(subjects):
        series = pd.DataFrame(
            np.random.default_rng(k).standard_normal((40, 3)), columns=list("abc")
        )
        series.to_csv(folder / f"{name}_timeseries.tsv", sep="\t", index=False)


def write_images(arguments):
    """Write the images that a command reads, their atlas and its names."""
    labels = np.zeros((6, 6, 6))
    labels[:3], labels[3:] = 1, 2
    nib.save(nib.Nifti1Image(labels.astype(np.int16), np.eye(4)), arguments.atlas)
    arguments.labels.write_text("1 Insula_L\n2 Insula_R\n")
    for k in range(4):
        image = np.random.default_rng(k).random((6, 6, 6)).astype(np.float32)
        path = Path(arguments.images[0].replace("*", f"sub-{k}"))
        path.parent.mkdir(parents=True, exist_ok=True)
        nib.save(nib.Nifti1Image(image, np.eye(4)), path)


def write_subjects(arguments):
    """Write the subjects that a command reads, in the layout of the tool that it names."""
    cat12 = "CAT12" in str(arguments.folder)
    for k in range(3):
        if cat12:
            write_cat12(arguments.folder, f"sub-{k}_T1w")
        else:
            write_freesurfer(arguments.folder, f"sub-{k}", "aparc.DKTatlas.mapped")


def write_converted(arguments):
    """Write the network that a command converts, with the ending that it names."""
    network = sgbn.SGBN().fit(a_table("diagnosis", ()).iloc[:, 2:]).network_
    arguments.network.parent.mkdir(parents=True, exist_ok=True)
    if arguments.network.suffix == ".json":
        sgbn.write.write_node_link(arguments.network, network)
    else:
        sgbn.write_network(arguments.network, network)


class ReachedWorkError(RuntimeError):
    """All options were read, and the hours of an experiment would begin."""


def begin(*_):
    raise ReachedWorkError("the work would begin.")


def networks_alone(cohort, settings, learner, arguments, key, config="", more=None):
    """Write the config and the last file of a run, and learn nothing but networks."""
    assert not getattr(arguments, "figures", False)
    (arguments.out / "config.toml").write_text(config)
    (arguments.out / "about.json").write_text("{}")
    (arguments.out / "work").mkdir(exist_ok=True)
    plain = None if isinstance(cohort, sgbn.SeriesCohort) else sgbn.SGBN()
    found = help_compare(cohort, help_Settings.networks_only(), learner=plain, folder=arguments.out)
    if more is not None:
        said = more(replace(found, skipped={"differences": "that takes too long."}))
        assert "The differences were not tested: that takes too long." in said


def figures_alone(cohort, settings, learner, arguments):
    assert arguments.figures


ELSEWHERE = ("--dask", "--slurm", "--download")  # need a scheduler, SLURM, or a network


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_runs(example, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SGBN_DATA", str(tmp_path))
    for module in (compare_command, demo):
        monkeypatch.setattr(module, "compare_and_write", networks_alone)
    monkeypatch.setattr(compare_command, "draw_again", figures_alone)
    monkeypatch.setattr(other, "_run", begin)
    monkeypatch.setattr(other, "_use_every_kernel", lambda: None)  # tests/cli/test_other.py does
    monkeypatch.setattr(extract, "workers", lambda _: nullcontext(1))  # no process is started
    words = shlex.split(example)[1:]
    if "--help" in words:
        with pytest.raises(SystemExit) as stop:
            main(words)
        assert stop.value.code == 0
        return
    arguments = parser().parse_args(words)
    if any(option in words for option in ELSEWHERE):
        return
    if "--config" in words or arguments.command == "status":
        a_table("diagnosis", ()).to_csv("table.csv", index=False)
        assert main(["compare", "table.csv", "--group", "diagnosis", "--out", "results"]) == 0
    elif getattr(arguments, "tables", None):
        write_tables(arguments)
    elif arguments.command == "predict":
        rows = a_table("diagnosis", ())
        rows.to_csv(arguments.table, index=False)
        arguments.model.parent.mkdir()
        classifier = sgbn.SGBNClassifier(sgbn.SGBN())
        sgbn.save(classifier.fit(rows.iloc[:, 2:], rows["diagnosis"]), arguments.model)
    elif arguments.command == "extract":
        write_images(arguments)
    elif arguments.command == "convert":
        write_converted(arguments)
    elif arguments.command == "read-subjects":
        write_subjects(arguments)
    code = main(words)
    said = capsys.readouterr().err
    if arguments.command == "reproduce":
        assert "ReachedWorkError" in said
    else:
        assert code == 0, said


def test_text_is_wrapped_and_examples_are_not():
    long = "sgbn compare " + "--covariates age sex " * 10
    page = Parser(prog="x", epilog=examples({long: "what it does"}, "word " * 60))
    lines = page.format_help().splitlines()
    assert f"  {long}" in lines
    assert "      what it does" in lines
    assert sum(line.startswith("word") for line in lines) > 2


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("compare t.csv --gruop dx --out x", "'--group'"),
        ("demo --sed=1", "'--seed'"),
        ("demo --subjects 3", "--subjects"),
        ("demo --gamma best", "--gamma"),
        ("demo --seed -1", "--seed"),
        ("reproduce exp1 --permutations 0", "--permutations"),
        ("reproduce exp1 --workers 0", "--workers"),
        ("reproduce exp3 --splits 1", "--splits"),
        ("compare nowhere.csv --out x --slurm ' '", "--slurm"),
        ("compare nowhere.csv --out x --slurm walltime", "--slurm"),
        ("compare nowhere.csv --out x --slurm partiton=long", "'partition'"),
        ("warmup table.csv", "table.csv"),
    ],
)
def test_a_wrong_option_is_answered_in_one_line_before_any_work(
    words, option, typed, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    told = typed(words)
    assert (told.code, told.err.count("\n")) == (2, 1)
    assert option in told.err
    assert not list(tmp_path.iterdir())


def test_each_atlas_option_but_that_of_images_says_the_columns_of_a_table():
    atlases = [
        action
        for name, page in PAGES.items()
        if name != "sgbn extract"
        for action in page._actions
        if "--atlas" in action.option_strings
    ]
    assert len(atlases) >= 3  # check, compare, simulate
    for action in atlases:
        assert "a table of your own (.csv, .tsv, .txt) with the columns region" in action.help
        for column in ("hemisphere", "lobe", "x, y, z", "volume_mm3"):
            assert column in action.help


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (at_least(3), "3", ["2", "x"]),
        (KINDS["number"]["type"], "0.4", ["best", "-1", "inf", "nan"]),
        (KINDS["from 0 to 1"]["type"], "1", ["1.1"]),
        (KINDS["share"]["type"], "0.5", ["0", "1", "nan"]),
        (KINDS["positive"]["type"], "2", ["inf"]),
    ],
)
def test_numbers_within_limits(kind, good, bad):
    assert kind(good) == float(good)
    for text in bad:
        with pytest.raises(argparse.ArgumentTypeError, match=r"is (not a|too small)"):
            kind(text)


def test_the_folder_to_write_to_is_made_and_left_empty(tmp_path):
    path = tmp_path / "a" / "b"
    assert make_folder(path) == path
    assert make_folder(path) == path
    assert not list(path.iterdir())


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")

    def denied(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", denied)
    for path, reason in {"file": "it is a", "file/a/b": "file is a", "": "permission"}.items():
        with refused("out.unwritable") as caught:
            make_folder(tmp_path / path)
        assert reason in caught.value.problem.values["reason"]


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


def test_a_command_of_srun_alone_is_refused_elsewhere(typed, monkeypatch):
    monkeypatch.delenv("SLURM_STEP_ID", raising=False)
    told = typed("compare nowhere.csv --out x --slurm runner")
    assert (told.code, "slurm.srun" in told.codes) == (1, True)


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
    with refused("dask.address"), workers(nobody):
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


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12).filter(
    lambda text: text.strip() == text
)


@cache
def compare_parser():
    return parser().parse_args(["compare", "--out", "x"]).parser


def write_config(path, options):
    path.write_text(config_text(path, options))


def expanded(*words):
    return with_config(compare_parser(), [*words, "--out", "x"])


def parsed(*words):
    return compare_parser().parse_args(expanded(*words))


def test_paths_are_relative_to_the_folder_of_the_config(tmp_path):
    config = tmp_path / "results" / "config.toml"
    config.parent.mkdir()
    table = tmp_path / "data" / "table.csv"
    write_config(config, {"tables": [table], "participants": table.with_name("people.tsv")})
    assert 'tables = [\n    "../data/table.csv",\n]' in config.read_text()
    moved = tmp_path.with_name(tmp_path.name + "-moved")
    tmp_path.rename(moved)
    found = parsed("--config", str(moved / "results/config.toml"))
    assert found.tables == [moved / "data" / "table.csv"]
    assert found.participants == moved / "data" / "people.tsv"


def test_an_atlas_that_is_a_table_is_a_path_and_one_that_has_a_name_is_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "results" / "config.toml"
    config.parent.mkdir()
    (tmp_path / "mine").touch()
    for name, kept in {"mine.csv": "../mine.csv", "mine": "../mine", "aal": "aal"}.items():
        write_config(config, {"atlas": name})
        assert f'atlas = "{kept}"' in config.read_text()
        monkeypatch.chdir(tmp_path.parent)
        found = parsed("--config", str(config)).atlas
        assert found == (name if name == "aal" else str(tmp_path / name))
        monkeypatch.chdir(tmp_path)


@given(
    st.fixed_dictionaries(
        {
            "group": TEXT,
            "covariates": st.lists(TEXT, min_size=1, max_size=3, unique=True),
            "gamma": st.floats(0, 5),
            "n_permutations": st.integers(0, 10_000),
            "peers": st.booleans(),
            "refinements": st.lists(st.sampled_from(["KL-SGBN", "MM-SGBN"]), unique=True),
            "freesurfer": st.booleans(),
            "edges": st.lists(TEXT, min_size=1, max_size=3, unique=True),
            "among": st.lists(TEXT, min_size=1, max_size=3, unique=True),
        }
    )
)
def test_what_is_written_is_read_again(tmp_path_factory, options):
    config = tmp_path_factory.mktemp("config") / "config.toml"
    write_config(config, options)
    found = parsed("--config", str(config))
    for name, value in options.items():
        assert getattr(found, name) == value


def test_the_command_line_replaces_lists_and_does_not_add_to_them(tmp_path):
    config = tmp_path / "config.toml"
    options = {"covariates": ["age", "sex"], "peers": True, "seed": 3, "reference": "CTR"}
    write_config(config, options)
    words = ["--config", str(config), "--covariates", "iq", "--no-peers", "--reference", "AD"]
    found = parsed(*words)
    assert (found.covariates, found.reference) == (["iq"], "AD")
    assert found.peers is False
    assert found.seed == 3


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("permutation = 3", "config.option"),
        ("out = 'x'", "config.option"),
        ("participants = 3", "config.path"),
        ("group = ", "config.not-toml"),
        ("", "config.unreadable"),
    ],
)
def test_a_config_that_cannot_be_read_is_refused(tmp_path, text, problem):
    config = tmp_path / "config.toml"
    if text:
        config.write_text(text)
    with refused(problem):
        expanded("--config", str(config))


def test_without_a_config_the_words_stay():
    words = ["table.csv", "--group", "dx"]
    assert expanded(*words) == [*words, "--out", "x"]


def test_quick_replaces_how_thorough_the_file_is(tmp_path):
    config = tmp_path / "config.toml"
    write_config(config, {"n_permutations": 999, "n_repeats": 5, "peers": True, "seed": 7})
    found = parsed("--config", str(config), "--quick")
    decided = (found.n_permutations, found.n_repeats, found.peers)
    assert (*decided, found.seed) == (None, None, None, 7)
    found = parsed("--config", str(config), "--quick", "--permutations", "50")
    assert found.n_permutations == 50


def test_an_empty_list_does_not_swallow_the_tables(tmp_path):
    config = tmp_path / "config.toml"
    write_config(config, {"missing": [], "tables": [tmp_path / "t.csv"]})
    found = parsed("--config", str(config))
    assert found.missing == []
    assert found.tables == [tmp_path / "t.csv"]


def test_a_config_has_every_option_by_its_name_and_nothing_of_one_run(tmp_path):
    path = tmp_path / "config.toml"
    words = ["compare", "t.csv", "--half-samples", "3", "--rows-are-subjects", "--workers", "2"]
    chosen = parser().parse_args([*words, "--quick", "--out", "x"])
    write_config(path, vars(chosen))
    written = tomllib.loads(path.read_text())
    assert written["half-samples"] == 3
    assert written["rows-are-subjects"]
    assert not {"workers", "quick", "out", "config", "command"} & set(written)


@pytest.mark.parametrize(
    ("command", "argument", "option"),
    [
        ("compare", "n_permutations", "--permutations"),
        ("compare", "sites", "--site"),
        ("check", "outliers", "--outliers"),  # of `sgbn compare`
        ("simulate", "n_sites", "--sites"),
        ("simulate", "sites", "--sites"),
        ("simulate", "outliers", None),
    ],
)
def test_messages_name_options_for_arguments_of_the_library(command, argument, option):
    assert option_names(PAGES[f"sgbn {command}"]).get(argument) == option
