import pandas as pd

from sgbn.cli import main


def test_the_demo_prints_the_recovery_and_writes_figure_and_tables(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / "demo"), "--subjects", "120"]) == 0
    printed = capsys.readouterr().out
    assert "control" in printed
    assert "patient" in printed
    assert "recall" in printed
    assert (tmp_path / "demo" / "networks.png").stat().st_size > 50_000
    edges = pd.read_csv(tmp_path / "demo" / "edges_control.csv")
    assert edges.columns.tolist() == ["source", "target", "weight", "weight_std", "direction"]
    assert len(edges) > 20


def test_a_larger_gamma_gives_fewer_edges(tmp_path):
    counts = []
    for gamma in ("0.5", "20"):
        assert main(["demo", "--out", str(tmp_path), "--subjects", "60", "--gamma", gamma]) == 0
        counts.append(len(pd.read_csv(tmp_path / "edges_patient.csv")))
    assert counts[1] < counts[0]
