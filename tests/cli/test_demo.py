import re
from functools import partial

import numpy as np
import pandas as pd
import pytest

from sgbn.cli import compare as demo
from sgbn.cli.main import main
from sgbn.cohort.simulate import simulate_cohort
from sgbn.cohort.simulate_series import SimulatedSeries, simulate_series
from sgbn.comparison.compare import compare
from sgbn.comparison.settings import Settings


def test_the_demo_compares_with_the_truth(tmp_path, capsys, as_quick_as_possible, monkeypatch):
    out = tmp_path / "demo"
    if as_quick_as_possible:
        fewer = partial(simulate_cohort, regions=12)
        monkeypatch.setattr("sgbn.simulate_cohort", fewer)
    assert main(["demo", "--out", str(out), "--subjects", "60", "--workers", "1"]) == 0
    printed = capsys.readouterr().out
    assert "How much of the truth was found" in printed
    assert "recall" in printed
    for how in ("both ways", "as the arrow is written"):
        assert re.search(rf"found to differ {how}: \d+\. Of these, \d+ truly differ", printed)
    assert (out / "report.html").stat().st_size > 5_000_000
    differences = pd.read_csv(out / "tables" / "differences.csv")
    assert {"true_control", "true_patient", "true_change"} <= set(differences)
    edges = pd.read_csv(out / "tables" / "edges.csv")
    assert "true_weight_std" in edges


def test_time_series_are_simulated_and_compared_as_a_cohort_is(tmp_path, capsys, monkeypatch):
    asked = []

    def note(cohort, settings, learner, *_, more):
        asked.append((cohort, settings, learner))
        more("compared")

    def truth(cohort, found):
        asked.append((cohort, found))
        return ["true"]

    monkeypatch.setattr(demo, "compare_and_write", note)
    for one in ("_networks", "_differences"):
        monkeypatch.setattr(demo, one, truth)
    assert main(["demo", "--series", "--out", str(tmp_path), "--subjects", "10"]) == 0
    (cohort, settings, learner), *printed = asked
    assert isinstance(cohort, SimulatedSeries)
    assert learner is None
    assert settings == Settings.quick()
    assert printed == [(cohort, "compared")] * 2
    said = "Simulated 10 subjects in each of 2 groups, 40 regions, time series of 200 volumes"
    assert said in capsys.readouterr().out


@pytest.fixture
def small():
    return simulate_series(10, regions=10, n_volumes=150, n_changed=5)


def test_the_truth_of_series_is_told_without_likelihoods(small):
    comparison = compare(small, Settings.networks_only(n_permutations=39))
    printed = demo._truth_words(small, comparison)
    assert "log-lik" not in printed
    row = re.search(r"control +(\d+) +(\d+) +([\d.]+)", printed)
    assert int(row[1]) == np.count_nonzero(small.networks["control"].coef)
    assert int(row[2]) == np.count_nonzero(comparison.learners["control"].coef_)
    n_true = int(re.search(r"(\d+) of \d+ tested edges truly differ", printed)[1])
    changed = {frozenset(edge) for edge in small.changed["patient"]}
    ends = zip(comparison.differences["source"], comparison.differences["target"], strict=True)
    assert n_true == sum(frozenset(pair) in changed for pair in ends) > 0


def test_gamma_is_not_for_series(tmp_path, capsys):
    assert main(["demo", "--series", "--gamma", "1", "--out", str(tmp_path / "new")]) == 2
    assert "--gamma is not for time series" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
