import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import partial
from hashlib import sha256
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from tests.codes import refused, warned

from sgbn.cli import compare as demo
from sgbn.cli import compare as finished_compare
from sgbn.cli.compare import (
    ATLAS,
    FINISHED,
    _other_run,
    ask_about_sites,
    finished_key,
    read_learner,
    read_settings,
    settings_for,
    split_edge,
)
from sgbn.cli.data import SUFFIXES
from sgbn.cli.main import main, parser
from sgbn.cli.options import OptionError, with_config
from sgbn.cohort.simulate import simulate_cohort
from sgbn.cohort.simulate_series import SimulatedSeries, simulate_series
from sgbn.comparison.compare import compare
from sgbn.comparison.settings import Settings
from sgbn.comparison.steps import told_apart
from sgbn.core.problems import Problem, StudyError
from sgbn.inference.deviation import NormativeDeviation
from sgbn.paper.classifier_cv import SGBNClassifierCV
from sgbn.paper.mm_sgbn import CLSGBNClassifier
from sgbn.read.files import EXCEL, PARQUET
from sgbn.read.roles import EXTRACTED
from sgbn.read.series_sources import PARTICIPANTS
from sgbn.runs import tasks
from sgbn.write import figures as drawing

AGE = ["--covariates", "age"]
FEW = [
    *("--quick", "--permutations", "20", "--half-samples", "2", "--folds", "2"),
    *("--refinements", "--workers", "1"),
]
NONE = ["--permutations", "0", "--half-samples", "0", "--repeats", "0", "--refinements"]


def words_of_config(path):
    """Options that a config stands for."""
    chosen = parser().parse_args(["compare", "--config", str(path), "--out", "x"])
    return with_config(chosen.parser, ["--config", str(path), "--out", "x"])


def edges_of(folder, group="CTR"):
    table = pd.read_csv(folder / "tables" / "edges.csv")
    return table[table["group"] == group]


def test_one_command_writes_report_tables_networks_and_figures(whole_run):
    out, printed = whole_run.out, whole_run.printed
    names = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert {"report.html", "summary.txt", "config.toml", "about.json"} <= names
    assert {"tables/edges.csv", "tables/differences.csv", "tables/subjects.csv"} <= names
    matrix = "networks/group-ADMCI_seg-aal_meas-StandardisedWeight_relmat.tsv"
    assert {"networks/CTR.graphml", matrix} <= names
    assert {"figures/network_CTR_matrix.svg", "figures/accuracy.png"} <= names
    about = json.loads((out / "about.json").read_text())
    assert about["groups"] == {"AD/../MCI": 40, "CTR": 40}
    assert about["reference"] == "CTR"
    assert set(about["files"]) <= names
    step = re.findall(r"^\[(\d)/(\d)\] ", printed, re.M)
    assert step == [(str(k), step[-1][0]) for k in range(1, len(step) + 1)]
    assert "Can the groups be told apart?" in printed
    assert "Open" in printed


@pytest.mark.usefixtures("no_figures")
def test_figures_alone_are_drawn_again_from_finished_work(whole_run, capsys):
    out = shutil.copytree(whole_run.out, whole_run.out.with_name("drawn"))  # as far from the table
    png = out / "figures" / "forest.png"
    png.unlink()
    (out / "report.html").write_text("as it is")
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    command = ["compare", "--config", str(out / "config.toml"), "--out", str(out), "--workers", "1"]
    assert main([*command, "--figures"]) == 0
    assert re.search(r"Wrote \d+ files to .*figures, and nothing else", capsys.readouterr().out)
    assert png.exists()
    parts = ("figures", "about.json", "work")
    for path, time in before.items():
        if path.relative_to(out).parts[0] not in parts:
            assert path.stat().st_mtime_ns == time, path
    assert (out / "report.html").read_text() == "as it is"
    finished = [path for path in before if path.relative_to(out).parts[0] == "work"]
    results = [path for path in finished if path.suffix == ".npz"]
    assert all(path.stat().st_mtime_ns == before[path] for path in results)
    assert all(
        (out / name).exists() for name in json.loads((out / "about.json").read_text())["files"]
    )


def test_figures_alone_need_finished_work(table, tmp_path, typed):
    out = tmp_path / "none"
    words = f"compare {table} --group dx --out {out} --figures"
    assert "figures.unfinished" in typed(words).codes
    assert not out.exists()
    out.mkdir()
    (out / "about.json").write_text('{"pending": ["accuracy"]}')
    assert "figures.unfinished" in typed(words).codes  # without the folder of tasks
    (out / "work").mkdir()
    assert "figures.unfinished" in typed(words).codes


@pytest.fixture(scope="module")
def six_regions():
    return simulate_cohort(40, regions=6)


@pytest.mark.parametrize(
    ("options", "learner"),
    [
        ("", "None"),  # `compare` makes the default
        ("--gamma 3", "SGBNEnsemble(gamma=3.0"),
        ("--learner SGBN", "SGBN(gamma=1.0, "),
        ("--learner SGBN --gamma 2", "SGBN(gamma=2.0)"),
        ("--learner HSGBN", "HSGBN()"),
        ("--learner GS", "GS()"),
    ],
)
def test_learners_by_name_with_their_own_sparsity(options, learner, six_regions):
    settings, arguments = asked_for(*options.split())
    assert repr(read_learner(arguments, settings, six_regions)).startswith(learner)


def test_other_settings_in_the_same_folder_are_refused_and_change_nothing(whole_run, typed):
    out, words = whole_run.out, whole_run.words
    before = {path: path.read_bytes() for path in out.glob("*.*")}
    told = typed("", *words, "--gamma", "3")
    assert (told.code, "study.other-run" in told.codes) == (1, True)
    assert "--learner (SGBNEnsemble(" in told.err
    assert f"--config {out / 'config.toml'} --out {out}" in told.err
    assert main([word for word in words if word != "--quick"]) == 1
    assert {path: path.read_bytes() for path in out.glob("*.*")} == before
    assert main(words) == 0


def test_a_run_without_a_config_cannot_be_repeated_by_it(tmp_path):
    error = StudyError("study.settings")
    error.differs = {"seed": (1, 2)}
    arguments = parser().parse_args(["demo", "--out", str(tmp_path)])
    assert "--config" not in str(_other_run(error, arguments))


@pytest.mark.parametrize("told", [0.1, 1.0])
def test_a_column_that_looks_like_sites_is_asked_about(told, six_regions, capsys):
    facts = {"unnamed_sites": {"scanner": {"sites": 2, "told": told}}}
    ask_about_sites(replace(six_regions, provenance=facts))
    # A column that nearly determines the groups is an error in a moment.
    assert ("'scanner'" in capsys.readouterr().out) == (told < 1)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("--groups CTR", "groups.one"),
        ("--among limbisch", "among.unknown"),
        ("--edges a:b", "edges.region"),
    ],
)
def test_a_table_that_cannot_be_compared_so_writes_nothing(
    options, problem, table, tmp_path, typed
):
    told = typed(f"compare {table} --group dx --covariates age --out {tmp_path / 'r'} {options}")
    assert (told.code, problem in told.codes) == (1, True)
    assert not (tmp_path / "r" / "report.html").exists()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("--level 2", "--level"),
        ("--level 0", "--level"),
        ("--level 0.001 --quick", "settings.few-permutations"),
        ("--permutations 5", "settings.few-permutations"),
        ("--alpha 0 --learner ORSGBN", "--alpha"),
        ("--alpha 0.1", "learner.alpha"),
        ("--learner GS --gamma 1", "learner.gamma"),
        ("--edges a b", "edges.colon"),
        ("--edges a:b --permutations 0", "settings.untested"),
        ("--among a --permutations 0", "settings.untested"),
        ("--replicate site", "settings.replicate"),
        ("--replicate half --permutations 0", "settings.untested"),
    ],
)
def test_options_are_checked_before_the_table_is_read(options, problem, tmp_path, typed):
    told = typed(f"compare {tmp_path}/absent.csv --group dx --out {tmp_path} {options}")
    assert told.code == 2
    assert problem in (told.err if problem.startswith("--") else told.codes)
    assert "absent.csv" not in told.err


def test_names_that_lobes_left_out_are_not_called_unknown(tmp_path, typed):
    cohort = simulate_cohort(20)
    frame = pd.DataFrame(cohort.values, columns=cohort.regions).assign(dx=cohort.group)
    frame.to_csv(tmp_path / "table.csv", index=False)
    lobe, left_out = cohort.lobes[0], cohort.lobes[-1]
    first, last = cohort.regions[0], cohort.regions[-1]
    command = f"compare {tmp_path}/table.csv --group dx --out {tmp_path}/r --lobes {lobe}"
    for words in (f"--edges {first}:{last}", f"--among {first} {last}", f"--among {left_out}"):
        told = typed(f"{command} {words}")
        assert (told.code, "lobes.left-out" in told.codes) == (2, True)


@pytest.mark.usefixtures("no_figures")
def test_edges_and_lobes_named_beforehand_are_tested_and_repeated_by_the_config(
    study_frame, tmp_path, capsys
):
    first, second = study_frame.columns[3:5]
    frame = study_frame.rename(columns={first: f"a:{first}"})
    frame.to_csv(tmp_path / "table.csv", index=False)
    none = ["--half-samples", "0", "--repeats", "0", "--refinements", "--no-models"]
    few = ["--quick", "--permutations", "20", *none, "--workers", "1", "--regions", "all"]
    named = ["--edges", f"a:{first}:{second}", "--among", f"a:{first}", second]
    options = ["--group", "dx", *AGE, "--seed", "3", *few, *named]
    one, two = tmp_path / "one", tmp_path / "two"
    assert main(["compare", str(tmp_path / "table.csv"), *options, "--out", str(one)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert f"Named beforehand, a:{first} to {second}: " in printed
    assert "Among the 2 regions named beforehand" in printed
    tested = pd.read_csv(one / "tables" / "named.csv")
    assert tested[["source", "target"]].to_numpy().tolist() == [[f"a:{first}", second]]
    again = words_of_config(one / "config.toml")
    assert {f"--edges=a:{first}:{second}", f"--among=a:{first}", f"--among={second}"} <= {*again}
    config = ["--config", str(one / "config.toml"), "--workers", "1"]
    assert main(["compare", *config, "--out", str(two)]) == 0
    for name in ("differences", "edges", "named", "subjects"):
        table = f"tables/{name}.csv"
        assert (one / table).read_bytes() == (two / table).read_bytes()
    assert (one / "config.toml").read_text() == (two / "config.toml").read_text()


@pytest.mark.usefixtures("no_figures")
def test_outliers_are_left_out_by_name(study_frame, tmp_path, typed):
    frame, table = study_frame.copy(), tmp_path / "table.csv"
    regions = list(frame.columns[3:])
    frame.loc[5, regions] += 15 * frame[regions].std() * np.resize([1, -1], 6)
    frame.to_csv(table, index=False)
    command = f"compare {table} --group dx --workers 1 --out {tmp_path}/trim"
    told = typed(command, *AGE, *NONE)
    assert "tables/left_out.csv" in told.out
    assert "sub-005" not in told.out + told.err
    told = typed(command, *AGE, *NONE, "--names")
    assert "subject 'sub-005'" in told.out
    assert "--names" not in told.err
    left_out = pd.read_csv(tmp_path / "trim" / "tables" / "left_out.csv")
    assert left_out.to_dict("records") == [
        {"subject": "sub-005", "group": "CTR", "left_out_of": "networks"}
    ]
    config = (tmp_path / "trim" / "config.toml").read_text()
    assert 'outliers = "trim"' in config
    assert 'transform = "none"' in config


@pytest.mark.long
@pytest.mark.usefixtures("no_figures")
def test_subjects_are_held_back_and_a_config_repeats_it(table, tmp_path, capsys):
    few = [*NONE, "--permutations", "20", "--learner", "SGBN", "--no-models", "--no-deviations"]
    out = tmp_path / "out"
    frame = pd.read_csv(table)
    frame["scanner"] = np.tile(["NYU", "KKI"], 40)
    frame.to_csv(table, index=False)
    options = ["--group", "dx", *AGE, "--site", "scanner", "--replicate", "scanner=NYU", *few]
    assert main(["compare", str(table), *options, "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "Do the differences come back in other subjects?" in printed
    assert (out / "tables" / "replication.csv").exists()
    assert "--replicate=scanner=NYU" in words_of_config(out / "config.toml")


@pytest.mark.usefixtures("no_figures")
def test_an_interrupted_run_leaves_the_first_report_and_goes_on(table, tmp_path, monkeypatch):
    out, whole = tmp_path / "out", told_apart.cross_validate
    words = ["compare", str(table), "--group", "dx", *AGE, *FEW, "--half-samples", "0"]
    words += ["--no-deviations", "--no-models", "--learner", "ORSGBN", "--alpha", "0.2"]
    words += ["--out", str(out)]

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(told_apart, "cross_validate", interrupted)
    assert main(words) == 130
    assert "This is a first report" in (out / "report.html").read_text()
    assert (out / "tables" / "differences.csv").exists()
    first = (out / "report.html").stat().st_mtime_ns

    def not_replaced(*given, **more):
        assert (out / "report.html").stat().st_mtime_ns == first
        return whole(*given, **more)

    monkeypatch.setattr(told_apart, "cross_validate", not_replaced)
    assert main(words) == 0
    assert "first report" not in (out / "report.html").read_text()
    assert (out / "tables" / "accuracy.csv").exists()
    assert "ORSGBN(alpha=0.2)" in (out / "about.json").read_text()


def test_no_accuracy_is_no_repeats(table, tmp_path):
    chosen = parser().parse_args(["compare", str(table), "--out", "x", "--no-accuracy"])
    settings = read_settings(chosen)
    assert settings == Settings(n_repeats=0)
    assert not {"accuracy", "model"} & set(settings.steps)
    (tmp_path / "config.toml").write_text("repeats = 3\n")
    words = ["--config", str(tmp_path / "config.toml"), "--out", "x", "--no-accuracy"]
    assert "--repeats=3" not in with_config(chosen.parser, words)


def asked_for(*options):
    arguments = parser().parse_args(["compare", "given", "--out", "out", *options])
    return read_settings(arguments), arguments


@pytest.mark.parametrize(
    "options",
    [
        *(["--learner", "SGBN"], ["--gamma", "0"], ["--alpha", "0.1"], ["--models"]),
        *(["--deviations"], ["--model"], ["--refinements", "KL-SGBN"], ["--replicate", "half"]),
        *(["--transform", "normal-scores"], ["--outliers", "trim"], ["--select", "3"]),
    ],
    ids=lambda options: options[0],
)
def test_options_that_are_not_for_time_series_say_so(options, chains_of_series):
    with refused("series.setting", kind=OptionError):
        settings_for(chains_of_series, *asked_for(*options))


def test_settings_of_series_leave_out_steps_and_repeat_themselves(chains_of_series):
    settings = settings_for(chains_of_series, *asked_for("--no-models", "--refinements"))
    assert "models" not in settings.steps
    assert (settings.outliers, settings.transform) == (None, None)


def test_settings_of_tables_say_their_defaults(six_regions):
    for options in ([], ["--learner", "ensemble"], ["--learner", "SGBN"]):
        settings = settings_for(six_regions, *asked_for(*options))
        assert (settings.outliers, settings.transform) == ("trim", "none")
    other = settings_for(six_regions, *asked_for("--learner", "ORSGBN"))
    assert (other.outliers, other.transform) == (None, None)
    named = asked_for("--outliers", "keep", "--transform", "normal-scores")
    settings = settings_for(six_regions, *named)
    assert (settings.outliers, settings.transform) == ("keep", "normal-scores")


def test_the_same_command_compares_time_series(series_run):
    printed, out = series_run.printed, series_run.out
    assert "[1/2] One network per group" in printed
    assert "[2/2] Tests of differences" in printed
    assert "weights of each subject" in printed
    names = {path.name for path in (out / "tables").iterdir()}
    assert {"series.csv", "edges.csv", "differences.csv"} <= names
    assert "sub-000" not in (out / "report.html").read_text()
    about = json.loads((out / "about.json").read_text())
    assert about["learner"].startswith("SeriesSGBN(")


@pytest.mark.long
def test_a_config_repeats_a_run_of_time_series(series_run, no_figures):
    again = series_run.folder / "again"
    words = ["compare", "--config", str(series_run.out / "config.toml"), "--workers", "1"]
    assert main([*words, "--out", str(again)]) == 0
    first, second = (edges_of(out, "control") for out in (series_run.out, again))
    assert first.equals(second)


def test_a_run_of_time_series_goes_on_where_it_was_stopped(series_run, no_figures, monkeypatch):
    out = shutil.copytree(series_run.out, series_run.out.with_name("stopped"))
    (out / "about.json").unlink()

    def learned_again(*_, **more):
        raise AssertionError("a network of a half was learned again")

    monkeypatch.setattr("sgbn.learn.series.learn_pair", learned_again)
    assert main([*series_run.words, "--out", str(out)]) == 0
    assert (out / "about.json").exists()


def test_the_demo_compares_with_the_truth(tmp_path, capsys, as_quick_as_possible, monkeypatch):
    out = tmp_path / "demo"
    if as_quick_as_possible:
        fewer = partial(simulate_cohort, regions=12)
        monkeypatch.setattr("sgbn.simulate_cohort", fewer)
    assert main(["demo", "--out", str(out), "--subjects", "60", "--workers", "1"]) == 0
    printed = capsys.readouterr().out
    assert "How much of the truth was found" in printed
    assert "recall" in printed
    for how in ("both ways", "as the arrow is written"):
        assert re.search(rf"found to differ {how}: \d+\. Of these, \d+ truly differ", printed)
    assert (out / "report.html").stat().st_size > 5_000_000
    differences = pd.read_csv(out / "tables" / "differences.csv")
    assert {"true_control", "true_patient", "true_change"} <= set(differences)
    edges = pd.read_csv(out / "tables" / "edges.csv")
    assert "true_weight_std" in edges


def test_time_series_are_simulated_and_compared_as_a_cohort_is(tmp_path, capsys, monkeypatch):
    asked = []

    def note(cohort, settings, learner, *_, more):
        asked.append((cohort, settings, learner))
        more("compared")

    def truth(cohort, found):
        asked.append((cohort, found))
        return ["true"]

    monkeypatch.setattr(demo, "compare_and_write", note)
    for one in ("_networks", "_differences"):
        monkeypatch.setattr(demo, one, truth)
    assert main(["demo", "--series", "--out", str(tmp_path), "--subjects", "10"]) == 0
    (cohort, settings, learner), *printed = asked
    assert isinstance(cohort, SimulatedSeries)
    assert learner is None
    assert settings == Settings.quick()
    assert printed == [(cohort, "compared")] * 2
    said = "Simulated 10 subjects in each of 2 groups, 40 regions, time series of 200 volumes"
    assert said in capsys.readouterr().out


@pytest.fixture
def small():
    return simulate_series(10, regions=10, n_volumes=150, n_changed=5)


def test_the_truth_of_series_is_told_without_likelihoods(small):
    comparison = compare(small, Settings.networks_only(n_permutations=39))
    printed = demo._truth_words(small, comparison)
    assert "log-lik" not in printed
    row = re.search(r"control +(\d+) +(\d+) +([\d.]+)", printed)
    assert int(row[1]) == np.count_nonzero(small.networks["control"].coef)
    assert int(row[2]) == np.count_nonzero(comparison.learners["control"].coef_)
    n_true = int(re.search(r"(\d+) of \d+ tested edges truly differ", printed)[1])
    changed = {frozenset(edge) for edge in small.changed["patient"]}
    ends = zip(comparison.differences["source"], comparison.differences["target"], strict=True)
    assert n_true == sum(frozenset(pair) in changed for pair in ends) > 0


def test_gamma_is_not_for_series(tmp_path, typed):
    told = typed(f"demo --series --gamma 1 --out {tmp_path / 'new'}")
    assert (told.code, "series.setting" in told.codes) == (2, True)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("text", "edge"),
    [
        ("a:b", ("a", "b")),
        ("a:c:d", ("a", "c:d")),
        ("c:d:a", ("c:d", "a")),
        ("c:d:e:f", ("c:d", "e:f")),
    ],
)
def test_an_edge_is_split_where_both_parts_are_regions(text, edge):
    assert split_edge(text, ["a", "b", "c:d", "e:f"]) == edge


@pytest.mark.parametrize(
    ("text", "unknown", "problem"),
    [
        ("a:bb", "bb", "edges.region"),
        ("x:bbb", "x", "edges.region"),
        ("a:b:c", None, "edges.ambiguous"),
    ],
)
def test_an_edge_that_cannot_be_split_names_what_is_not_known(text, unknown, problem):
    with refused(problem) as caught:
        split_edge(text, ["a", "bbb", "a:b", "b:c", "c"])
    assert caught.value.problem.values.get("name") == unknown


SAID = "Nothing is computed or drawn again"


@pytest.fixture
def finished_kept(whole_run):
    """Folder and words of a finished comparison, put back as it was after the test."""
    folder = whole_run.folder
    copy = shutil.copytree(folder, folder.with_name(f"{folder.name}-copy"))
    yield folder, whole_run.words
    shutil.rmtree(folder)
    copy.rename(folder)


def fail(*_, **__):
    raise AssertionError("finished work is done again")


@pytest.fixture
def no_work(monkeypatch):
    """Any task that is run, and any figure that is drawn, is an error."""
    monkeypatch.setattr(tasks, "call", fail)
    monkeypatch.setattr(tasks, "_in_processes", fail)
    monkeypatch.setattr(drawing.Plan, "files", fail)


def files_of(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.usefixtures("no_work")
def test_the_same_command_again_changes_no_file_and_says_the_same(whole_run, capsys):
    folder = whole_run.folder
    before = files_of(folder)
    assert main(whole_run.words) == 0
    printed = capsys.readouterr()
    assert SAID in printed.out
    assert files_of(folder) == before


def test_a_finished_comparison_is_told_without_numerical_libraries(whole_run):
    code = (
        "import sys\n"
        "from sgbn.cli.main import main\n"
        "assert main() == 0\n"
        "heavy = {'numpy', 'scipy', 'pandas', 'numba', 'sklearn', 'matplotlib', 'joblib'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    words = [sys.executable, "-c", code, *whole_run.words]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert SAID in done.stdout


def test_what_is_deleted_or_changed_is_written_again_from_finished_work(
    finished_kept, capsys, monkeypatch
):
    folder, words = finished_kept
    before = files_of(folder / "results")
    names = ("report.html", "figures/forest.png", "tables/edges.csv")
    deleted, changed, gone = (folder / "results" / name for name in names)
    deleted.unlink()
    changed.write_bytes(b"not what was written")
    gone.unlink()
    with monkeypatch.context() as patched:
        for place in (drawing.Plan, CLSGBNClassifier, NormativeDeviation, SGBNClassifierCV):
            name = "files" if place is drawing.Plan else "fit"
            patched.setattr(place, name, fail)
        assert main(words) == 0
    printed = capsys.readouterr().out
    assert "[1/7] One network per group (finished before)" in printed
    assert files_of(folder / "results") == before
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert SAID in printed
    assert printed.endswith(f"Open {folder / 'results' / 'report.html'} in a browser.\n")


@pytest.mark.long
def test_a_figure_that_is_gone_everywhere_is_drawn_again(finished_kept):
    folder, words = finished_kept
    forest = folder / "results" / "figures" / "forest.png"
    drawn = []
    for _ in range(2):
        forest.unlink()
        shutil.rmtree(folder / "results" / "work" / "figures")
        assert main(words) == 0
        drawn.append(forest.read_bytes())
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) > 1000


def test_other_data_are_not_taken_for_finished(finished_kept, typed):
    folder, words = finished_kept
    table = pd.read_csv(folder / "table.csv")
    table.iloc[0, -1] += 1.0
    table.to_csv(folder / "table.csv", index=False)
    told = typed("", *words)
    assert (told.code, "study.other-run" in told.codes) == (1, True)


@pytest.mark.parametrize("text", ["", "[]", '{"key": 1}', '{"key": "", "files": {}}'])
def test_a_note_that_cannot_be_read_is_none(text, tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / FINISHED).write_text(text)
    assert not finished_compare.tell_finished(tmp_path, "")


def test_warnings_are_told_again_and_files_that_are_gone_are_not_finished(tmp_path):
    (tmp_path / "report.html").write_text("page")
    (tmp_path / "work").mkdir()
    odd = Problem("odd").says("odd", "Look.").to_json()
    note = {"key": "k", "said": "what it found", "warnings": [odd], "steps": 1}
    note["files"] = {"report.html": sha256(b"page").hexdigest()}
    (tmp_path / "work" / FINISHED).write_text(json.dumps(note))
    with warned("odd"):
        assert finished_compare.tell_finished(tmp_path, "k")
    (tmp_path / "report.html").unlink()
    assert not finished_compare.tell_finished(tmp_path, "k")


def test_the_key_tells_all_that_files_depend_on(tmp_path, monkeypatch):
    folder = tmp_path / "series"
    folder.mkdir()
    (folder / "sub-1.tsv").write_text("1")

    def key(*more):
        words = ["compare", str(folder), "--group", "dx", "--out", str(folder / "out"), *more]
        return finished_key(parser().parse_args(words))

    keys = [key(), key("--quick"), key("--seed", "1")]
    (folder / "sub-2.tsv").write_text("2")
    keys.append(key())
    (tmp_path / PARTICIPANTS[1]).write_text("participant_id,dx\n")
    keys.append(key())
    monkeypatch.setattr(sys, "argv", ["sgbn", "compare", "--workers", "2"])
    keys.append(key())
    monkeypatch.setenv("SUBJECTS_DIR", str(tmp_path))  # surfaces are read from there
    keys.append(key())
    other = SimpleNamespace(name="numpy", version="other")
    monkeypatch.setattr(finished_compare, "distributions", lambda name: [other])
    keys.append(key())
    monkeypatch.setattr(finished_compare, "_program", lambda: "other")
    keys.append(key())
    assert len({*keys}) == len(keys)
    (folder / "out").mkdir()
    (folder / "out" / "report.html").write_text("its own")
    assert key() == keys[-1]
    assert finished_compare.PARTICIPANTS == PARTICIPANTS


@pytest.mark.parametrize("out", [".", "series"])
def test_the_key_tells_files_of_a_folder_that_lies_within_the_results(tmp_path, out):
    (tmp_path / "series").mkdir()
    words = ["compare", str(tmp_path / "series"), "--group", "dx", "--out", str(tmp_path / out)]
    before = finished_key(parser().parse_args(words))
    (tmp_path / "series" / "sub-1.tsv").write_text("1")
    assert finished_key(parser().parse_args(words)) != before


@pytest.fixture
def run_with_own_atlas(tmp_path, typed):
    """Function (table of the atlas) -> exit code and what was said, of a run in one folder."""
    values = np.random.default_rng(0).normal(size=(40, 4))
    frame = pd.DataFrame(values, columns=["one", "two", "three", "four"])
    frame.insert(0, "dx", ["a", "b"] * 20)
    frame.to_csv(tmp_path / "table.csv", index=False)
    words = f"compare {tmp_path}/table.csv --group dx --out {tmp_path}/out --quick --workers 1 "
    words += "--permutations 20 --half-samples 0 --no-accuracy --refinements --rows-are-subjects"

    def run(text):
        (tmp_path / "mine.csv").write_text(text)
        told = typed(f"{words} --atlas {tmp_path}/mine.csv")
        return told.code, told.out + told.err

    return run


OWN = "region,hemisphere,lobe,x,y,z\n" + (
    "one,L,f,-20,5,30\ntwo,R,f,20,5,30\nthree,L,t,-40,5,-10\nfour,R,t,40,5,-10\n"
)


@pytest.mark.long
def test_another_table_of_the_atlas_is_drawn_anew_or_refused(run_with_own_atlas, tmp_path):
    brain = tmp_path / "out" / "figures" / "network_a_brain.png"
    nodes = tmp_path / "out" / "networks" / "a_nodes.csv"
    assert run_with_own_atlas(OWN)[0] == 0
    first = brain.read_bytes()
    code, said = run_with_own_atlas(OWN)
    assert (code, SAID in said) == (0, True)
    code, said = run_with_own_atlas(OWN.replace("-20,5", "-25,60"))
    assert (code, SAID in said) == (0, False)
    assert brain.read_bytes() != first
    assert pd.read_csv(nodes)["y"].tolist() == [60, 5, 5, 5]
    assert run_with_own_atlas(OWN.replace("R,t", "R,f"))[0] == 1


def test_the_key_changes_with_an_atlas_beside_the_table(tmp_path):
    (tmp_path / "table.csv").touch()
    words = ["compare", str(tmp_path / "table.csv"), "--out", str(tmp_path / "out")]
    keys = [finished_key(parser().parse_args(words))]
    for text in (OWN, OWN.replace("-20,5", "-25,60")):
        (tmp_path / EXTRACTED).write_text(text)
        keys.append(finished_key(parser().parse_args(words)))
    assert len(set(keys)) == 3
    assert ATLAS == EXTRACTED


@pytest.mark.long
def test_without_coordinates_there_are_lobes_and_no_brain(run_with_own_atlas, tmp_path):
    code, said = run_with_own_atlas(
        "index\tname\tnetwork\n1\tone\tA\n2\ttwo\tA\n3\tthree\tB\n4\tfour\tB\n"
    )
    assert code == 0, said
    figures = {path.name for path in (tmp_path / "out" / "figures").iterdir()}
    assert {"network_a_circle.png", "network_a_matrix.png"} <= figures
    assert not any("brain" in name for name in figures)
    nodes = pd.read_csv(tmp_path / "out" / "networks" / "a_nodes.csv")
    assert "".join(nodes["lobe"]) == "AABB"
    page = (tmp_path / "out" / "report.html").read_text()
    assert "has no coordinates for 4 regions" in page
    assert "NaN" not in page.split("<main")[-1].split("<script")[0]


def test_a_table_in_any_format_that_is_read_is_known_as_a_table():
    assert {*EXCEL, *PARQUET} <= {*SUFFIXES}
