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


def test_what_is_left_is_said_and_the_exit_code_is_0(output, capsys):
    assert main(["status", str(output)]) == 0
    text = capsys.readouterr().out
    assert "  work/differences  4 of 5 done, 1 left  last 20" in text
    assert "\nsettings\n  seed 0\n" in text  # those of the frame: of the whole comparison
    assert "numpy" in text
    assert "1 task is left. Run the same command again" in text.splitlines()[-1]
    assert max(map(len, text.splitlines())) <= 100


def test_a_finished_study_is_said_to_be(output, capsys):
    folder = output / "work" / "differences"
    settings = json.loads((folder / "study.json").read_text())["settings"]
    Study(folder).run(fine, TASKS, settings)
    assert main(["status", str(folder)]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"{folder}\n\n  tasks  5 of 5 done  last 20")
    assert "alpha 0.1, regions ['region 0', 'region 1'" in text
    assert "...\n" in text  # of a hundred regions
    assert text.endswith("All tasks of the steps that were begun are done.\n")


def test_that_the_report_is_not_written_is_said(output, capsys):
    folder = output / "work" / "differences"
    settings = json.loads((folder / "study.json").read_text())["settings"]
    Study(folder).run(fine, TASKS, settings)
    main(["status", str(output)])
    assert "there is no report. Run the same command" in capsys.readouterr().out
    (output / "about.json").write_text('{"pending": ["accuracy"]}')
    main(["status", str(output)])
    assert "the report is not complete. Run the same command" in capsys.readouterr().out
    (output / "about.json").write_text("{}")
    main(["status", str(output)])
    assert capsys.readouterr().out.endswith("All tasks of the steps that were begun are done.\n")


def test_a_study_of_an_earlier_version_and_an_earlier_plan(output, capsys):
    path = output / "work" / "differences" / "study.json"
    study = json.loads(path.read_text())
    path.write_text(json.dumps(study | {"tasks": 2}))
    main(["status", str(output)])
    assert "2 of 2 done (and 2 results of an earlier start)" in capsys.readouterr().out
    del study["tasks"]
    path.write_text(json.dumps(study))
    main(["status", str(output)])
    text = capsys.readouterr().out
    assert "4 done (an earlier version of sgbn began it" in text
    assert "the number of tasks is not known" in text.splitlines()[-1]


def test_studies_without_a_frame_show_the_settings_of_each(tmp_path, capsys):
    for name, seed in (("one", 0), ("two", 1)):
        Study(tmp_path / name).run(fine, TASKS, {"seed": seed})
    assert main(["status", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "\nsettings of one\n  seed 0\n\nsettings of two\n  seed 1\n\nversions\n" in text


def test_nothing_is_changed(output):
    def files():
        return {p: p.stat().st_mtime_ns for p in output.rglob("*")}

    before = files()
    main(["status", str(output)])
    assert files() == before


def test_a_folder_without_a_study_is_an_error(tmp_path, capsys):
    assert main(["status", str(tmp_path)]) == 1
    assert "there is no study in" in capsys.readouterr().err


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


def test_without_a_file_the_text_is_printed(source, capsys):
    words = ["convert", source, "--to", "tetrad", "--directions", "supported"]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "1. Left-Insula --> b_c\n2. b_c --- d\n" in printed


def test_weights_of_a_model_are_fixed(source, capsys):
    assert main(["convert", source, "--to", "semopy", "--weights", "fixed"]) == 0
    assert "b_c ~ 0.5*Left_Insula" in capsys.readouterr().out


def test_a_saved_network_and_a_file_of_a_tool_are_read(tmp_path, network, capsys):
    model = save(network, tmp_path / "net.sgbn")
    assert main(["convert", str(model), "--to", "dot", "--out", str(tmp_path / "n.txt")]) == 0
    words = ["convert", str(tmp_path / "n.txt"), "--from", "dot", "--to", "bnlearn-r"]
    assert main([*words, "--out", str(tmp_path / "n.R")]) == 0
    found = read_network(tmp_path / "n.R").network
    np.testing.assert_array_equal(found.coef, network.coef)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--to", "bif", "--directions", "cpdag"], "without a direction"),
        (["--to", "dot", "--weights", "fixed"], "lavaan and semopy"),
        (["--to", "dot", "--from", "tetrad"], "CTR.json: line 1: expected 'Graph Nodes:'"),
    ],
)
def test_what_cannot_be_done_is_explained(source, words, message, capsys):
    assert main(["convert", source, *words]) == 1
    assert message in capsys.readouterr().err


def test_a_folder_and_a_missing_file_are_said(tmp_path, capsys):
    assert main(["convert", str(tmp_path), "--to", "dot"]) == 1
    assert "is a folder. Give a file, such as networks/GROUP.json" in capsys.readouterr().err
    assert main(["convert", str(tmp_path / "none.json"), "--to", "dot"]) == 1
    assert "does not exist" in capsys.readouterr().err


def test_exp1_runs_prints_and_resumes(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("SGBN_DATA", str(tmp_path))
    command = ["reproduce", "exp1", "--out", str(tmp_path / "exp1"), "--permutations", "3"]
    assert main(command) == 0
    first = capsys.readouterr().out
    assert "paper's distance" in first
    assert "The COBRE table was not found. Set SGBN_DATA" in first
    assert (tmp_path / "exp1" / "exp1.png").exists()
    assert main(command) == 0
    assert capsys.readouterr().out == first
    assert main([*command, "--alpha", "0.3"]) == 1
    assert "begun with other settings" in capsys.readouterr().err


def test_exp2_runs_prints_and_resumes(tmp_path, capsys):
    out = tmp_path / "exp2"
    command = ["reproduce", "exp2", "--out", str(out), "--simulations", "2", "--networks", "Chain"]
    assert main(command) == 0
    first = capsys.readouterr().out
    assert "| chain | " in first
    assert (out / "exp2_errors.png").exists()
    assert main(command) == 0
    assert capsys.readouterr().out == first
    assert (out / "exp2.md").read_text() in first
    assert main([*command, "--alpha", "0.5"]) == 1
    assert "alpha: 0.32 there, 0.5 now" in capsys.readouterr().err
    assert main([*command[:-1], "asia"]) == 1
    assert "no network is called 'asia'" in capsys.readouterr().err


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
    assert "2 shuffles are too few for verdicts" in shuffled
    assert main(command) == 0
    first = capsys.readouterr().out
    assert "No real tables were found. Set SGBN_DATA" in first
    assert "The control chooses its regions by all rows" in first
    assert "| mixed | simulated groups that differ in both; 40 regions | 80 | 400 | 2 |" in first
    for name in ("exp3_free.png", "exp3_penalised.png"):
        assert (out / name).exists()
    assert main([*command, "--seed", "1"]) == 1
    assert "seed: 0 there, 1 now" in capsys.readouterr().err


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


@pytest.mark.parametrize(
    "given",
    [
        ["--group", "diagnosis"],
        ["--covariates", "age"],
        ["--site", "scanner"],
        ["--missing"],
        ["--sheet", "2"],
        ["--freesurfer"],
    ],
)
def test_options_of_a_table_need_one(tmp_path, capsys, monkeypatch, given):
    monkeypatch.setattr(Experiment, "run", None)  # nothing is begun
    assert main(["reproduce", "exp3", "--out", str(tmp_path / "exp3"), *given]) == 1
    message = capsys.readouterr().err
    assert f"{given[0]} can only be used with your own table" in message
    assert "--table" in message
    assert not (tmp_path / "exp3").exists()


@pytest.mark.parametrize("experiment", ["exp3", "exp4"])
def test_a_table_needs_its_groups_before_it_is_read(tmp_path, capsys, experiment):
    absent = str(tmp_path / "absent.csv")
    assert main(["reproduce", experiment, "--table", absent]) == 1
    assert "--table needs --group. Name the column" in capsys.readouterr().err


def test_a_wrong_number_is_answered_in_one_line(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["reproduce", "exp3", "--splits", "1"])
    assert stopped.value.code == 2
    message = capsys.readouterr().err
    assert "--splits: 1 is too small: give 2 or more." in message
    assert message.count("\n") == 1


def test_exp3_runs_on_a_table_of_ones_own(tmp_path, capsys, guessed):
    cohort = simulate_cohort(20, 0, regions=10, covariates=["age"], n_sites=2)
    path = tmp_path / "table.csv"
    write_table(cohort, path)
    options = ["--table", str(path), "--group", "group", "--covariates", "age", "--site", "site"]
    command = ["reproduce", "exp3", *options, "--splits", "2", "--out", str(tmp_path / "exp3")]
    assert main(command) == 1
    assert "40 subjects, fewer than 80 for training" in capsys.readouterr().err
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
    assert main([*command, "--reference", "patient"]) == 1
    assert "--reference can only be used with your own table" in capsys.readouterr().err
    command += ["--table", str(path), "--group", "group", "--covariates", "age"]
    assert main([*command, "--reference", "patients"]) == 1
    assert "Did you mean 'patient'?" in capsys.readouterr().err
    command += ["--reference", "patient", "--k", "6"]
    assert main(command) == 0
    first = capsys.readouterr().out
    assert "| patient (20) → control (20) | 6 | age | 1 |" in first
    for name in ("exp4_networks.png", "exp4_moves.png"):
        assert (out / name).exists()
    assert main(command) == 0
    assert capsys.readouterr().out == first
    assert (out / "exp4.md").read_text() in first
    assert main([*command, "--seed", "1"]) == 1
    assert "seed: 0 there, 1 now" in capsys.readouterr().err


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


def test_where_nothing_can_be_kept_it_says_what_to_do(one_kernel, monkeypatch, capsys):
    monkeypatch.setattr(jit, "cache_use", lambda: jit.CacheUse(3, 0, None))
    assert main(["warmup"]) == 1
    assert "sgbn warmup: no folder for the machine code is writable" in capsys.readouterr().err


def test_it_takes_no_arguments(capsys):
    with pytest.raises(SystemExit):
        main(["warmup", "table.csv"])
    assert "table.csv" in capsys.readouterr().err
