import json

import numpy as np
import pandas as pd
import pytest

from sgbn import simulate_cohort
from sgbn.cli import main

AGE = ["--covariates", "age"]


@pytest.fixture
def table(tmp_path):
    cohort = simulate_cohort(60)
    frame = pd.DataFrame(cohort.values[:, :15], columns=cohort.regions[:15])
    frame.insert(0, "age", np.random.default_rng(0).uniform(20, 60, 120))
    frame.insert(0, "dx", np.where(cohort.group == "control", "CTR", "AD/../MCI"))
    frame.insert(0, "subject_id", [f"sub-{k:03}" for k in range(120)])
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    return path


def test_it_writes_edges_and_a_matrix_a_group(table, tmp_path, capsys):
    out = tmp_path / "results"
    options = ["--group", "dx", "--covariates", "age", "--out", str(out)]
    assert main(["compare", str(table), *options]) == 0
    assert sorted(path.name for path in out.iterdir()) == [
        *("about.json", "edges_AD_MCI.csv", "edges_CTR.csv"),
        *("network_AD_MCI.png", "network_CTR.png"),
    ]
    edges = pd.read_csv(out / "edges_CTR.csv")
    assert edges.columns.tolist() == ["source", "target", "weight", "weight_std", "direction"]
    about = json.loads((out / "about.json").read_text())
    assert about["groups"] == {"AD/../MCI": 60, "CTR": 60}
    assert about["covariates"] == ["age"]
    printed = capsys.readouterr().out
    assert "Network of group 'CTR'" in printed
    assert "no finding by itself" in printed


def test_a_smaller_gamma_gives_more_edges(table, tmp_path):
    counts = []
    for gamma in ("0", "10"):
        options = ["--group", "dx", "--covariates", "age", "--gamma", gamma]
        assert main(["compare", str(table), *options, "--out", str(tmp_path / "r")]) == 0
        counts.append(len(pd.read_csv(tmp_path / "r" / "edges_CTR.csv")))
    assert counts[0] > counts[1]


def test_a_table_that_cannot_be_compared_writes_nothing(table, tmp_path, capsys):
    options = ["--group", "dx", "--groups", "CTR", "--covariates", "age"]
    assert main(["compare", str(table), *options, "--out", str(tmp_path / "r")]) == 1
    assert "only the group 'CTR'" in capsys.readouterr().err
    assert not list((tmp_path / "r").iterdir())


def test_a_folder_that_cannot_be_written_to_is_said_before_any_work(table, capsys):
    assert main(["compare", str(table), "--group", "dx", "--out", str(table), *AGE]) == 1
    assert "it is a file. Give another folder (--out)" in capsys.readouterr().err
