import json
from collections import Counter
from dataclasses import replace
from pkgutil import resolve_name
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from markupsafe import escape

from sgbn import Cohort
from sgbn.comparison.compare import compare
from sgbn.comparison.figures import plans
from sgbn.comparison.report import _clear, _summary, _write_found, write_comparison, write_figures
from sgbn.comparison.settings import Settings
from sgbn.comparison.summary import Statement
from sgbn.comparison.tables import Tables
from sgbn.core.exceptions import InputError
from sgbn.prepare.pipeline import cohort_table
from sgbn.write.figures import KINDS, Plan
from sgbn.write.model_files import load


@pytest.fixture(scope="module")
def plain():
    """Networks of two groups, and nothing else."""
    values, group = np.random.default_rng(1).normal(size=(40, 3)), np.repeat(["x", "y"], 20)
    cohort = Cohort(values, list("abc"), range(40), group=group)
    return compare(cohort, Settings.networks_only())


def test_everything_is_listed_and_there(written):
    folder, paths = written
    assert paths[0] == folder / "report.html"
    assert all(path.stat().st_size for path in paths)
    about = json.loads((folder / "about.json").read_text())
    assert {folder / name for name in about["files"]} == {*paths} - {folder / "about.json"}
    assert about["settings"]["n_permutations"] == 39


def test_the_model_predicts_as_the_one_that_was_fitted(written, nasty):
    folder, paths = written
    assert folder / "model.sgbn" in paths
    model, rows = load(folder / "model.sgbn"), cohort_table(nasty.cohort)
    assert list(model.feature_names_in_) == list(rows.columns)
    np.testing.assert_array_equal(model.predict(rows), nasty.model.predict(rows))


def test_names_stay_inert_in_tables(written):
    folder, _ = written
    for path in (folder / "tables").glob("*.csv"):
        for column in pd.read_csv(path, dtype=str, keep_default_na=False).items():
            texts = [column[0], *column[1]]
            assert not any(text.startswith(("=", "@", "+")) for text in texts), path.name


def test_networks_come_back_from_other_programs_files(written, nasty):
    folder, _ = written
    graphs = list((folder / "networks").glob("*.graphml"))
    assert len(graphs) == 2
    for path in graphs:
        assert sorted(nx.read_graphml(path).nodes) == sorted(nasty.cohort.regions)


def test_models_and_what_stays_beside_factors_are_written(written):
    folder, _ = written
    models = pd.read_csv(folder / "tables" / "models.csv")
    assert models["model"].tolist()[:2] == ["network", "factor analysis"]
    assert len(models) == 8
    edges = pd.read_csv(folder / "tables" / "edges.csv")
    assert set(edges["beside_factors"]) <= {"stays", "goes"}
    assert "Is a network the right picture?" in (folder / "summary.txt").read_text()
    assert 'id="models"' in (folder / "report.html").read_text()


def test_command_and_config_are_those_given(written):
    folder, paths = written
    command = "sgbn compare '<script>alert(4)</script>'"
    assert json.loads((folder / "about.json").read_text())["command"] == command
    assert str(escape(command)) in (folder / "report.html").read_text()
    assert (folder / "config.toml").read_text() == "seed = 0\n"
    assert folder / "config.toml" in paths


def test_graphs_have_the_confidence_of_their_edges(written):
    folder, _ = written
    seen = 0
    for path in (folder / "networks").glob("*.graphml"):
        for *_, about in nx.read_graphml(path).edges(data=True):
            assert 0 <= about["adjacent"] <= 1
            assert about["supported"] in (True, False)
            seen += 1
    assert seen
    edges = pd.concat(pd.read_csv(path) for path in (folder / "networks").glob("*_edges.csv"))
    assert {"adjacent", "this_way", "supported", "low", "high", "graph_direction"} <= set(edges)


@pytest.mark.parametrize("where", ["region", "group"])
def test_a_name_that_no_file_can_hold_leaves_the_earlier_report(tmp_path, plain, where):
    (tmp_path / "report.html").write_text("earlier")
    (tmp_path / "about.json").write_text(json.dumps({"files": ["report.html"]}))
    cohort, learners = plain.cohort, plain.learners
    if where == "region":
        cohort = replace(cohort, regions=("a\x07b", "b", "c"))
    else:
        learners = {"x": learners["x"], "y\x07": learners["y"]}
    found = replace(plain, review=replace(plain.review, cohort=cohort), learners=learners)
    with pytest.raises(InputError, match="Rename it"):
        write_comparison(found, tmp_path)
    assert (tmp_path / "report.html").read_text() == "earlier"


@pytest.mark.usefixtures("no_figures")
def test_a_second_write_replaces_the_first_and_touches_nothing_else(plain, tmp_path):
    folder, outside = tmp_path / "results", tmp_path / "outside.txt"
    (folder / "tables").mkdir(parents=True)
    for kept in (folder / "mine.txt", outside):
        kept.write_text("kept")
    for earlier in ("tables/edges.csv", "tables/differences.csv"):
        (folder / earlier).write_text("of an earlier comparison")
    names = ["../outside.txt", "/etc/hosts", "tables/edges.csv", "tables/differences.csv", 3]
    (folder / "about.json").write_text(json.dumps({"files": names}))
    written = write_comparison(plain, folder)
    assert outside.exists()
    assert (folder / "mine.txt").exists()
    assert set(pd.read_csv(folder / "tables" / "edges.csv")["group"]) <= {"x", "y"}
    assert not (folder / "tables" / "differences.csv").exists()
    assert folder / "model.sgbn" not in written  # there is none without cross-validation


@pytest.mark.parametrize(
    "name",
    [
        "../outside/mine.csv",
        "tables/../../outside/mine.csv",
        "tables/../notes/mine.csv",
        "{outside}/mine.csv",
        "figures/mine.csv",  # figures is a link to the folder outside
        "tables/linked/mine.csv",
        "tables/link.csv",
        "notes/mine.csv",
        "mine.csv",
        *("", ".", "tables", "tables/nothing.csv", "tables/\0", "tables/loop", 3, None),
    ],
)
def test_a_listed_file_that_no_comparison_wrote_is_kept(tmp_path, name):
    folder, outside = tmp_path / "results", tmp_path / "outside"
    for made in (folder / "tables", folder / "notes", outside):
        made.mkdir(parents=True)
    for mine in (outside, folder, folder / "notes"):
        (mine / "mine.csv").write_text("kept")
    (folder / "figures").symlink_to(outside, target_is_directory=True)
    (folder / "tables" / "linked").symlink_to(outside, target_is_directory=True)
    (folder / "tables" / "link.csv").symlink_to(outside / "mine.csv")
    (folder / "tables" / "loop").symlink_to(folder / "tables" / "loop")
    (folder / "tables" / "edges.csv").write_text("of an earlier comparison")
    listed = name.format(outside=outside) if isinstance(name, str) else name
    (folder / "about.json").write_text(json.dumps({"files": [listed, "tables/edges.csv"]}))
    before = {*tmp_path.rglob("*")}
    assert _clear(folder) in (["tables/edges.csv"], [listed, "tables/edges.csv"])
    assert before - {*tmp_path.rglob("*")} == {folder / "tables" / "edges.csv"}


def test_a_folder_that_is_itself_a_link_is_cleared(tmp_path):
    (tmp_path / "real" / "tables").mkdir(parents=True)
    (tmp_path / "real" / "tables" / "edges.csv").write_text("old")
    (tmp_path / "real" / "about.json").write_text(json.dumps({"files": ["tables/edges.csv"]}))
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    assert _clear(tmp_path / "link") == ["tables/edges.csv"]
    assert not (tmp_path / "real" / "tables" / "edges.csv").exists()


@pytest.mark.parametrize("content", ["[]", "3", '{"files": 3}', '{"files": null}', "{", ""])
def test_an_about_file_of_another_form_removes_nothing(tmp_path, content):
    (tmp_path / "about.json").write_text(content)
    assert _clear(tmp_path) == []


def test_tables_hold_no_minus_zero(tmp_path):
    table = pd.DataFrame({"a": [-0.0, -1.5, np.nan], "b": ["-0", "x", ""], "c": [1, 2, 3]})
    nothing = {"review": SimpleNamespace(findings=[]), "groups": (), "learners": {}}
    nothing |= {"tests": None, "left_out": {}}
    (tmp_path / "tables").mkdir()
    tables = Tables(table, *(pd.DataFrame() for _ in Tables._fields[1:]))
    (path,) = _write_found(SimpleNamespace(tables=tables, **nothing), tmp_path)
    text = path.read_text()
    assert text == "a,b,c\n0.0,'-0,1\n-1.5,x,2\n,,3\n"
    assert np.signbit(table["a"][0])  # the table itself stays as it is


def test_several_remarks_of_the_summary_are_marked():
    said = [Statement("One?", ["Yes."]), Statement("More?", ["First.", "Second."])]
    assert _summary(said) == "One?\nYes.\n\nMore?\n- First.\n- Second.\n"


MADE_ONCE = {
    "sgbn.comparison.result": ("make_tables", "make_words", "supported_of"),
    "sgbn.comparison.tables": (
        *("_edges", "_models", "_subjects", "_tests", "_differences", "_components"),
        *("_per_sd", "edge_table"),
    ),
    "sgbn.comparison.summary": (
        *("overall_words", "edge_lines", "support_words", "agreement_words"),
        *("replication_words", "left_out_words"),
    ),
    "sgbn.comparison.steps.accuracy.Accuracy": ("table",),
}


@pytest.mark.usefixtures("no_figures")
def test_tables_and_words_are_made_once(compared, tmp_path, monkeypatch):
    calls = Counter()

    def counted(name, function):
        def call(*arguments, **more):
            calls[name] += 1
            return function(*arguments, **more)

        return call

    for place, names in MADE_ONCE.items():
        for name in names:
            path = f"{place}.{name}"
            monkeypatch.setattr(path, counted(path, resolve_name(path)))
    known = replace(compared)  # without what another test asked for
    write_comparison(known, tmp_path, n_jobs=1)
    each_group = {"sgbn.comparison.result.supported_of", "sgbn.comparison.tables.edge_table"}
    assert {name for name, count in calls.items() if count > 1} == each_group
    assert {calls[name] for name in each_group} == {len(compared.groups)}
    assert len(calls) == sum(map(len, MADE_ONCE.values()))


@pytest.mark.usefixtures("no_figures")
def test_only_figures_are_written_again(compared, tmp_path):
    write_comparison(compared, tmp_path)
    about = json.loads((tmp_path / "about.json").read_text())
    stale = tmp_path / "figures" / "of_an_older_version.svg"
    stale.write_text("old")
    names = [*about["files"], "figures/of_an_older_version.svg"]
    (tmp_path / "about.json").write_text(json.dumps(about | {"files": names}))
    for mine in ("report.html", "tables/edges.csv"):
        (tmp_path / mine).write_text("as it is")
    (tmp_path / "figures" / "mine.svg").write_text("kept")
    written = write_figures(compared, tmp_path)
    assert {path.parent for path in written} == {tmp_path / "figures"}
    assert {path.suffix[1:] for path in written} == set(KINDS) == {"svg", "pdf", "png"}
    assert not stale.exists()
    assert (tmp_path / "figures" / "mine.svg").exists()
    for mine in ("report.html", "tables/edges.csv"):
        assert (tmp_path / mine).read_text() == "as it is"
    after = json.loads((tmp_path / "about.json").read_text())
    assert sorted(after.pop("files")) == sorted(about.pop("files"))
    assert after == about


@pytest.mark.usefixtures("no_figures")
def test_figures_can_be_written_to_a_new_folder(plain, tmp_path):
    written = write_figures(plain, tmp_path / "new")
    assert written
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"figures"}


def test_a_first_report_is_marked_in_its_summary_and_completed_by_the_next(
    compared, tmp_path, monkeypatch
):
    drawn = []

    def files(plan, kinds, dpi):
        drawn.append(plan.plot.func.__name__)
        return dict.fromkeys(kinds, f"<svg>{len(drawn)}</svg>".encode())

    monkeypatch.setattr(Plan, "files", files)
    early = replace(compared, accuracy=None, pending=("accuracy",))
    kept = tmp_path / "work"
    write_comparison(early, tmp_path, n_jobs=1, drawn=kept)
    summary = (tmp_path / "summary.txt").read_text()
    assert summary.startswith("This is a first report. Still being computed: ")
    assert "Not yet computed." in summary
    assert json.loads((tmp_path / "about.json").read_text())["pending"] == ["accuracy"]
    assert not (tmp_path / "tables" / "accuracy.csv").exists()
    shown, drawn[:] = len(drawn), []
    assert shown == 2  # where and how much: a first report comes at once
    assert not list((tmp_path / "figures").iterdir())

    write_comparison(compared, tmp_path, n_jobs=1, drawn=kept)
    assert len(drawn) == len(plans(compared))  # those of the first screen are kept
    assert "first report" not in (tmp_path / "summary.txt").read_text()
    assert json.loads((tmp_path / "about.json").read_text())["pending"] == []
    assert (tmp_path / "tables" / "accuracy.csv").exists()
    assert len(list((tmp_path / "figures").glob("*.svg"))) == len(drawn)
