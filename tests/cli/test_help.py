import argparse
import re
import shlex
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd
import pytest
from tests.io.subjects.written import write_cat12, write_freesurfer

import sgbn
from sgbn.cli import compare as compare_command
from sgbn.cli import compare as demo
from sgbn.cli import extract, other
from sgbn.cli.main import main, parser
from sgbn.cli.options import Formatter, Parser, examples
from sgbn.comparison.compare import compare
from sgbn.comparison.settings import Settings


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
    found = compare(cohort, Settings.networks_only(), learner=plain, folder=arguments.out)
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
    monkeypatch.setattr(other, "_use_every_kernel", lambda: None)  # tests/cli/test_warmup.py does
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
        assert "the work would begin" in said
    else:
        assert code == 0, said


@pytest.mark.parametrize("wrong", ["exp2 --networks Chain Asia", "exp4 --group dx"])
def test_an_experiment_refuses_wrong_options_before_its_work(wrong, monkeypatch, capsys):
    monkeypatch.setattr(other, "_run", begin)
    assert main(["reproduce", *wrong.split()]) == 1
    assert "would begin" not in capsys.readouterr().err


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
