import json
import shutil
import subprocess
import sys
from hashlib import sha256
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from sgbn.cli import compare
from sgbn.cli.compare import ATLAS, FINISHED, finished_key
from sgbn.cli.main import main, parser
from sgbn.core.exceptions import DataWarning
from sgbn.inference.deviation import NormativeDeviation
from sgbn.paper.classifier_cv import SGBNClassifierCV
from sgbn.paper.mm_sgbn import CLSGBNClassifier
from sgbn.read.roles import EXTRACTED
from sgbn.read.series_sources import PARTICIPANTS
from sgbn.runs import tasks
from sgbn.write import figures as drawing

SAID = "Nothing is computed or drawn again"


@pytest.fixture
def kept(whole_run):
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
    assert "Do the networks differ?" in printed.out
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


def test_what_is_deleted_or_changed_is_written_again_from_finished_work(kept, capsys, monkeypatch):
    folder, words = kept
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
    assert "7 of 7 steps were finished before" in printed
    assert "[1/7] One network per group (finished before)" in printed
    assert files_of(folder / "results") == before
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert SAID in printed
    assert printed.endswith(f"Open {folder / 'results' / 'report.html'} in a browser.\n")


@pytest.mark.long
def test_a_figure_that_is_gone_everywhere_is_drawn_again(kept):
    folder, words = kept
    forest = folder / "results" / "figures" / "forest.png"
    drawn = []
    for _ in range(2):
        forest.unlink()
        shutil.rmtree(folder / "results" / "work" / "figures")
        assert main(words) == 0
        drawn.append(forest.read_bytes())
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) > 1000


def test_other_data_are_not_taken_for_finished(kept, capsys):
    folder, words = kept
    table = pd.read_csv(folder / "table.csv")
    table.iloc[0, -1] += 1.0
    table.to_csv(folder / "table.csv", index=False)
    assert main(words) == 1
    assert "the data are not the same" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "[]", '{"key": 1}', '{"key": "", "files": {}}'])
def test_a_note_that_cannot_be_read_is_none(text, tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / FINISHED).write_text(text)
    assert not compare.tell_finished(tmp_path, "")


def test_warnings_are_told_again_and_files_that_are_gone_are_not_finished(tmp_path):
    (tmp_path / "report.html").write_text("page")
    (tmp_path / "work").mkdir()
    note = {"key": "k", "said": "what it found", "warnings": ["odd. Look."], "steps": 1}
    note["files"] = {"report.html": sha256(b"page").hexdigest()}
    (tmp_path / "work" / FINISHED).write_text(json.dumps(note))
    with pytest.warns(DataWarning, match="odd"):
        assert compare.tell_finished(tmp_path, "k")
    (tmp_path / "report.html").unlink()
    assert not compare.tell_finished(tmp_path, "k")


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
    monkeypatch.setattr(compare, "distributions", lambda name: [other])
    keys.append(key())
    monkeypatch.setattr(compare, "_program", lambda: "other")
    keys.append(key())
    assert len({*keys}) == len(keys)
    (folder / "out").mkdir()
    (folder / "out" / "report.html").write_text("its own")
    assert key() == keys[-1]
    assert compare.PARTICIPANTS == PARTICIPANTS


@pytest.mark.parametrize("out", [".", "series"])
def test_the_key_tells_files_of_a_folder_that_lies_within_the_results(tmp_path, out):
    (tmp_path / "series").mkdir()
    words = ["compare", str(tmp_path / "series"), "--group", "dx", "--out", str(tmp_path / out)]
    before = finished_key(parser().parse_args(words))
    (tmp_path / "series" / "sub-1.tsv").write_text("1")
    assert finished_key(parser().parse_args(words)) != before


@pytest.fixture
def run_with_own_atlas(tmp_path, capsys):
    """Function (table of the atlas) -> exit code and what was said, of a run in one folder."""
    values = np.random.default_rng(0).normal(size=(40, 4))
    frame = pd.DataFrame(values, columns=["one", "two", "three", "four"])
    frame.insert(0, "dx", ["a", "b"] * 20)
    frame.to_csv(tmp_path / "table.csv", index=False)
    words = [
        "compare",
        str(tmp_path / "table.csv"),
        "--group",
        "dx",
        "--out",
        str(tmp_path / "out"),
    ]
    words += ["--quick", "--permutations", "20", "--half-samples", "0", "--no-accuracy"]
    words += ["--refinements", "--workers", "1"]
    words += ["--rows-are-subjects", "--atlas", str(tmp_path / "mine.csv")]

    def run(text):
        (tmp_path / "mine.csv").write_text(text)
        code = main(words)
        printed = capsys.readouterr()
        return code, printed.out + printed.err

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
    code, said = run_with_own_atlas(OWN.replace("R,t", "R,f"))
    assert code == 1
    assert "not the same" in said


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
    assert pd.read_csv(tmp_path / "out" / "networks" / "a_nodes.csv")["lobe"].tolist() == list(
        "AABB"
    )
    page = (tmp_path / "out" / "report.html").read_text()
    assert "has no coordinates for 4 regions" in page
    assert "NaN" not in page.split("<main")[-1].split("<script")[0]
