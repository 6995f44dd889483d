import json
from contextlib import contextmanager
from importlib import import_module

import numpy as np
import pytest

from sgbn.cli import other
from sgbn.cli.main import main
from sgbn.cli.options import options_of
from sgbn.cohort.simulate import simulate_cohort
from sgbn.comparison.compare import compare
from sgbn.comparison.settings import Settings
from sgbn.core import jit
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.graph import levels
from sgbn.core.problems import InputError
from sgbn.paper.experiments import experiment as protocol
from sgbn.paper.experiments.experiment import Experiment
from sgbn.read.table import write_table
from sgbn.runs.study import Study
from sgbn.write.formats import FORMATS, read_network
from sgbn.write.model_files import save
from sgbn.write.network_files import write_node_link

TASKS = {f"task{k}": {"k": k} for k in range(5)}


def picky(k):
    if k == 3:
        raise InputError("no three")
    return {"k": k}


def fine(k):
    return {"k": k}


@pytest.fixture
def output(tmp_path):
    """Folder as `compare` leaves it in the middle: a frame without tasks, and a step."""
    settings = {"alpha": 0.1, "regions": [f"region {k}" for k in range(100)]}
    Study(tmp_path / "work").require({"seed": 0})
    folder = tmp_path / "work" / "differences"
    Study(folder).run(picky, TASKS, settings, on_error="skip")
    return tmp_path


def test_what_is_left_is_said_and_nothing_is_changed(output, typed):
    before = {path: path.stat().st_mtime_ns for path in output.rglob("*")}
    text = typed(f"status {output}").out
    assert {path: path.stat().st_mtime_ns for path in output.rglob("*")} == before
    assert "  work/differences  4 of 5 done, 1 left  last 20" in text
    assert "\nsettings\n  seed 0\n" in text  # those of the frame: of the whole comparison
    assert "numpy" in text
    assert "1 task is left." in text.splitlines()[-1]
    assert max(map(len, text.splitlines())) <= 100


def test_a_finished_study_is_said_to_be_and_what_its_report_lacks(output, typed):
    folder = output / "work" / "differences"
    settings = json.loads((folder / "study.json").read_text())["settings"]
    Study(folder).run(fine, TASKS, settings)
    text = typed(f"status {folder}").out
    assert text.startswith(f"{folder}\n\n  tasks  5 of 5 done  last 20")
    assert "alpha 0.1, regions ['region 0', 'region 1'" in text
    assert "...\n" in text  # of a hundred regions
    assert text.endswith("All tasks of the steps that were begun are done.\n")
    assert "there is no report" in typed(f"status {output}").out
    (output / "about.json").write_text('{"pending": ["accuracy"]}')
    assert "the report is not complete" in typed(f"status {output}").out
    (output / "about.json").write_text("{}")
    assert typed(f"status {output}").out.endswith("steps that were begun are done.\n")


def test_a_study_of_an_earlier_version_and_an_earlier_plan(output, typed):
    path = output / "work" / "differences" / "study.json"
    study = json.loads(path.read_text())
    path.write_text(json.dumps(study | {"tasks": 2}))
    assert "2 of 2 done (and 2 results of an earlier start)" in typed(f"status {output}").out
    del study["tasks"]
    path.write_text(json.dumps(study))
    text = typed(f"status {output}").out
    assert "4 done (an earlier version of sgbn began it" in text
    assert "the number of tasks is not known" in text.splitlines()[-1]


def test_studies_without_a_frame_show_the_settings_of_each(tmp_path, typed):
    for name, seed in (("one", 0), ("two", 1)):
        Study(tmp_path / name).run(fine, TASKS, {"seed": seed})
    text = typed(f"status {tmp_path}").out
    assert "\nsettings of one\n  seed 0\n\nsettings of two\n  seed 1\n\nversions\n" in text


TO = next(option.kind["choices"] for option in options_of("convert") if option.name == "to")


@pytest.fixture
def network():
    coef = np.array([[0, 0.5, 0], [0, 0, -1 / 3], [0, 0, 0]])
    return GaussianNetwork(coef, [1, 2, 3], [1, 0.5, 2], ["Left-Insula", "b c", "d"])


@pytest.fixture
def source(tmp_path, network):
    supported = np.zeros((3, 3), bool)
    supported[0, 1] = True
    return str(write_node_link(tmp_path / "CTR.json", network, supported=supported))


def test_all_formats_can_be_asked_for():
    assert tuple(FORMATS) == TO


@pytest.mark.parametrize("name", TO)
def test_the_network_of_a_results_folder_is_converted(tmp_path, network, source, name, capsys):
    out = tmp_path / "out"
    assert main(["convert", source, "--to", name, "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"Wrote {out}.\n"
    found = read_network(out, name)
    assert found.names == network.names
    np.testing.assert_array_equal(found.graph, network.coef != 0)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("--to tetrad --directions supported", "1. Left-Insula --> b_c\n2. b_c --- d\n"),
        ("--to semopy --weights fixed", "b_c ~ 0.5*Left_Insula"),
    ],
)
def test_without_a_file_the_text_is_printed(source, words, line, typed):
    assert line in typed(f"convert {source} {words}").out


def test_a_saved_network_and_a_file_of_a_tool_are_read(tmp_path, network, typed):
    model = save(network, tmp_path / "net.sgbn")
    assert typed(f"convert {model} --to dot --out {tmp_path}/n.txt").code == 0
    words = f"convert {tmp_path}/n.txt --from dot --to bnlearn-r --out {tmp_path}/n.R"
    assert typed(words).code == 0
    found = read_network(tmp_path / "n.R").network
    np.testing.assert_array_equal(found.coef, network.coef)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("convert {0}/CTR.json --to bif --directions cpdag", "graph.lines"),
        ("convert {0}/CTR.json --to dot --weights fixed", "format.weights"),
        ("convert {0}/CTR.json --to dot --from tetrad", "text.unreadable"),
        ("convert {0} --to dot", "convert.no-file"),
        ("convert {0}/none.json --to dot", "convert.no-file"),
        ("status {0}", "study.none"),
        ("reproduce exp3 --out {0}/exp3 --group diagnosis", "reproduce.no-table"),
        ("reproduce exp3 --out {0}/exp3 --covariates age", "reproduce.no-table"),
        ("reproduce exp3 --out {0}/exp3 --missing", "reproduce.no-table"),
        ("reproduce exp3 --out {0}/exp3 --sheet 2", "reproduce.no-table"),
        ("reproduce exp3 --out {0}/exp3 --freesurfer", "reproduce.no-table"),
        ("reproduce exp4 --out {0}/exp4 --reference patient", "reproduce.no-table"),
        ("reproduce exp3 --table {0}/absent.csv", "reproduce.no-group"),
        ("reproduce exp4 --table {0}/absent.csv", "reproduce.no-group"),
        ("reproduce exp2 --networks Chain Asia", "simulate.network"),
    ],
)
def test_what_cannot_be_done_is_refused_before_any_work(words, problem, source, tmp_path, typed):
    told = typed(words.format(tmp_path))
    assert (told.code, problem in told.codes) == (1, True)
    assert {path.name for path in tmp_path.iterdir()} == {"CTR.json"}


@pytest.mark.parametrize(
    ("words", "words_of_report", "picture"),
    [
        ("exp1 --permutations 3", ("paper's distance", "SGBN_DATA"), "exp1.png"),
        ("exp2 --simulations 2 --networks Chain", ("| chain | ",), "exp2_errors.png"),
    ],
)
def test_an_experiment_runs_prints_and_resumes(
    words, words_of_report, picture, tmp_path, typed, monkeypatch
):
    monkeypatch.setenv("SGBN_DATA", str(tmp_path))
    command = f"reproduce {words} --out {tmp_path}/out"
    first = typed(command)
    assert first.code == 0
    assert all(said in first.out for said in words_of_report)
    assert (tmp_path / "out" / picture).exists()
    assert typed(command).out == first.out
    told = typed(f"{command} --alpha 0.5")
    assert (told.code, "study.settings" in told.codes) == (1, True)


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
    assert main(command) == 0
    first = capsys.readouterr().out
    assert "SGBN_DATA" in first
    assert "| mixed | simulated groups that differ in both; 40 regions | 80 | 400 | 2 |" in first
    for name in ("exp3_free.png", "exp3_penalised.png"):
        assert (out / name).exists()
    assert main([*command, "--seed", "1"]) == 1


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


def test_exp3_runs_on_a_table_of_ones_own(tmp_path, capsys, guessed):
    cohort = simulate_cohort(20, 0, regions=10, covariates=["age"], n_sites=2)
    path = tmp_path / "table.csv"
    write_table(cohort, path)
    options = ["--table", str(path), "--group", "group", "--covariates", "age", "--site", "site"]
    command = ["reproduce", "exp3", *options, "--splits", "2", "--out", str(tmp_path / "exp3")]
    assert main(command) == 1
    assert "--train" in capsys.readouterr().err
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
    command += ["--table", str(path), "--group", "group", "--covariates", "age"]
    command += ["--reference", "patient", "--k", "6"]
    assert main(command) == 0
    first = capsys.readouterr().out
    assert "| patient (20) → control (20) | 6 | age | 1 |" in first
    for name in ("exp4_networks.png", "exp4_moves.png"):
        assert (out / name).exists()
    assert main(command) == 0
    assert capsys.readouterr().out == first
    assert (out / "exp4.md").read_text() in first


@pytest.mark.long
def test_a_comparison_after_it_compiles_nothing(capsys):
    assert main(["warmup"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    used = jit.cache_use()
    assert f"Compiled {used.n_compiled} kernels and loaded {used.n_loaded} from disk in " in last
    assert last.endswith(f"The machine code is in {used.folder}.")

    cohort = simulate_cohort(50, 1, regions=30)
    settings = Settings(n_permutations=20, n_pairs=3, n_folds=3, n_repeats=1)
    compare(cohort, settings, n_jobs=1)
    assert jit.cache_use() == used


@pytest.fixture
def one_kernel(monkeypatch):
    """A warmup that uses one kernel only."""
    monkeypatch.setattr(other, "_use_every_kernel", lambda: levels([[0, 1], [0, 0]]))


def test_both_searches_and_every_step_are_used(monkeypatch, capsys):
    fitted, compared = [], []

    def note(cohort, settings, n_jobs, on_step):
        compared.append((cohort.values.shape, settings, n_jobs))
        on_step("Networks")

    monkeypatch.setattr("sgbn.SGBN.fit", lambda _, values: fitted.append(values.shape))
    monkeypatch.setattr(import_module("sgbn.comparison.compare"), "compare", note)
    other._use_every_kernel()
    assert fitted == [(80, other.FEW_REGIONS)]
    ((shape, settings, n_jobs),) = compared
    assert shape == (80, 40)
    assert n_jobs == 1  # kernels of other processes are not counted
    steps = ("n_permutations", "n_pairs", "n_folds", "n_repeats")
    assert [getattr(settings, name) for name in steps] == [20, 2, 2, 1]
    assert capsys.readouterr().out == "Networks ...\n"


def test_where_nothing_can_be_kept_it_says_what_to_do(one_kernel, monkeypatch, typed):
    monkeypatch.setattr(jit, "cache_use", lambda: jit.CacheUse(3, 0, None))
    told = typed("warmup")
    assert (told.code, "warmup.nowhere" in told.codes) == (1, True)
