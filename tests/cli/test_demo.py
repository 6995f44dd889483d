import pandas as pd

from sgbn.cli import main


def test_the_demo_compares_with_the_truth(tmp_path, capsys):
    out = tmp_path / "demo"
    assert main(["demo", "--out", str(out), "--subjects", "60", "--workers", "1"]) == 0
    printed = capsys.readouterr().out
    assert "How much of the truth was found" in printed
    assert "recall" in printed
    assert (out / "report.html").stat().st_size > 5_000_000
    differences = pd.read_csv(out / "tables" / "differences.csv")
    assert {"true_control", "true_patient", "true_change"} <= set(differences)
    edges = pd.read_csv(out / "tables" / "edges.csv")
    assert "true_weight_std" in edges
