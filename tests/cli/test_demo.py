import re
from dataclasses import replace

import pandas as pd
import pytest

from sgbn.cli import demo, main
from sgbn.comparison import Settings, compare


def test_a_demo_too_small_for_tests_says_so(tmp_path, capsys, monkeypatch):
    def networks_alone(cohort, *_):
        comparison = compare(cohort, Settings.networks_only())
        return replace(comparison, skipped={"differences": "there are too few subjects."})

    monkeypatch.setattr(demo, "compare_and_write", networks_alone)
    assert main(["demo", "--out", str(tmp_path), "--subjects", "20"]) == 0
    assert "The differences were not tested: there are too few" in capsys.readouterr().out


@pytest.mark.usefixtures("as_quick_as_possible")
def test_the_demo_compares_with_the_truth(tmp_path, capsys):
    out = tmp_path / "demo"
    assert main(["demo", "--out", str(out), "--subjects", "60", "--workers", "1"]) == 0
    printed = capsys.readouterr().out
    assert "How much of the truth was found" in printed
    assert "recall" in printed
    for how in ("both ways", "as the arrow is written"):
        assert re.search(rf"Of \d+ edges found to differ {how} \d+ do in truth", printed)
    assert (out / "report.html").stat().st_size > 5_000_000
    differences = pd.read_csv(out / "tables" / "differences.csv")
    assert {"true_control", "true_patient", "true_change"} <= set(differences)
    edges = pd.read_csv(out / "tables" / "edges.csv")
    assert "true_weight_std" in edges
