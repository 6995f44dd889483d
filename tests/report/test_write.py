import json
import sys

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from sgbn import Cohort
from sgbn.comparison import Settings, compare
from sgbn.report.write import shell_command, write_comparison

NASTY = ["<script>alert(1)</script>", "=cmd()", 'a,"b"', "a$b$c", "é Ω", "-x"]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, 6))
    values[:, 1] += values[:, 0]
    group = np.repeat(["=1+1", "<b>ill</b>"], 30)
    cohort = Cohort(values, NASTY, range(60), group=group)
    settings = Settings(
        n_permutations=19, n_pairs=2, n_folds=2, n_repeats=1, refinements=("CL-SGBN",), peers=False
    )
    folder = tmp_path_factory.mktemp("written")
    return folder, write_comparison(compare(cohort, settings), folder)


def test_everything_is_listed_and_there(written):
    folder, paths = written
    assert paths[0] == folder / "report.html"
    assert all(path.stat().st_size for path in paths)
    about = json.loads((folder / "about.json").read_text())
    assert {folder / name for name in about["files"]} == {*paths} - {folder / "about.json"}
    assert about["settings"]["n_permutations"] == 19


def test_names_stay_inert_in_tables(written):
    folder, _ = written
    for path in (folder / "tables").glob("*.csv"):
        for column in pd.read_csv(path, dtype=str, keep_default_na=False).items():
            texts = [column[0], *column[1]]
            assert not any(text.startswith(("=", "@", "+")) for text in texts), path.name


def test_networks_come_back_from_other_programs_files(written):
    folder, _ = written
    graphs = list((folder / "networks").glob("*.graphml"))
    assert len(graphs) == 2
    for path in graphs:
        assert sorted(nx.read_graphml(path).nodes) == sorted(NASTY)


def test_a_second_write_replaces_the_first_and_touches_nothing_else(written):
    folder, _ = written
    (folder / "mine.txt").write_text("kept")
    (folder / "about.json").write_text(
        json.dumps({"files": ["../outside.txt", "/etc/hosts", "tables/edges.csv", 3]})
    )
    outside = folder.parent / "outside.txt"
    outside.write_text("kept")
    cohort = Cohort(
        np.random.default_rng(1).normal(size=(40, 3)),
        list("abc"),
        range(40),
        group=np.repeat(["x", "y"], 20),
    )
    write_comparison(compare(cohort, Settings.networks_only()), folder)
    assert outside.exists()
    assert (folder / "mine.txt").exists()
    table = pd.read_csv(folder / "tables" / "edges.csv")
    assert set(table["group"]) <= {"x", "y"}


def test_the_command_is_shown_as_it_would_be_typed(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/usr/bin/sgbn", "compare", "my table.csv", "--out", "r"])
    assert shell_command() == "sgbn compare 'my table.csv' --out r"
