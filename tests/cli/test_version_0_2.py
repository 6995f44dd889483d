"""A folder of results that sgbn 0.2.0 wrote: its model, networks and config keep working."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

from sgbn.cli import main

OLD = Path(__file__).parent / "version_0_2"


@pytest.fixture
def old(tmp_path, monkeypatch):
    shutil.copytree(OLD, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


def test_the_model_predicts_what_it_predicted(old):
    assert main(["predict", "results/model.sgbn", "table.csv", "--out", "now.csv"]) == 0
    pd.testing.assert_frame_equal(pd.read_csv("now.csv"), pd.read_csv("predicted.csv"))


def test_a_network_is_converted(old, capsys):
    assert main(["convert", "results/networks/patient.json", "--to", "dot"]) == 0
    assert "lh_insula" in capsys.readouterr().out


def test_the_state_of_the_run_is_shown(old, capsys):
    assert main(["status", "results"]) == 0
    assert "sgbn 0.2.0" in capsys.readouterr().out


def test_the_config_repeats_the_run(old, capsys):
    assert (
        main(["compare", "--config", "results/config.toml", "--workers", "1", "--out", "again"])
        == 0
    )
    assert "Do the networks differ?" in capsys.readouterr().out
    assert Path("again/report.html").exists()
