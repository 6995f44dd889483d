from dataclasses import replace

import numpy as np
import pytest

from sgbn.experiments import exp3, exp3_canary
from sgbn.experiments.exp3_methods import grid
from sgbn.experiments.exp3_report import report


def test_the_report_says_what_was_run_and_what_holds(exp3_folder):
    text = report(exp3_folder)
    assert text.startswith("# Exp-III, 3 splits or cohorts, seed 0")
    assert "| table | the table given; 6 of 10 regions | 24 | 12 | 3 |" in text
    assert (
        "| edges | simulated groups that differ in edges; 6 of 40 regions | 24 | 12 | 3 |" in text
    )
    assert "where there are more than 6 regions, the choice of 6 by F" in text
    assert "| claim | in words | bias | table | edges |" in text
    assert "added is 1.0000%, within the 1 % allowed" in text
    assert "| **SGBNClassifierCV** | 0." in text
    assert "| covariates alone | 0." in text
    assert "None, in any fit." in text
    assert "Command: `" in text
    assert "`sgbn reproduce exp3 --canary` with the same folder" in text


def of_some(folder, monkeypatch, names, **changes):
    """Report of some of the data, or of the table's under other names."""
    results = exp3.read(folder)
    data = {name: results.data.get(name, results.data["table"]) for name in names}
    some = exp3.Results({name: replace(one, **changes) for name, one in data.items()})
    monkeypatch.setattr("sgbn.experiments.exp3_report.read", lambda _: some)
    return report(folder).split("\nCommand: ")[0]


def test_few_splits_are_said_first_and_give_no_verdict(exp3_folder):
    text = report(exp3_folder)
    assert text.splitlines()[2] == "3 are too few for verdicts: give 10 or more (--splits)."
    claims = [one for one in text.splitlines() if one.startswith("| i | ")]
    assert claims
    assert all(one.count("too few splits |") == 2 for one in claims)


def test_a_table_alone_is_not_said_to_be_several_or_simulated(exp3_folder, monkeypatch):
    text = of_some(exp3_folder, monkeypatch, ["table"], regions=(12, 12))
    assert text.startswith("# Exp-III, 3 splits, seed 0")
    assert "| table | the table given; 12 regions | 24 | 12 | 3 |" in text
    assert "by the corrected resampled t (variance times 1/J + test/training).\n" in text
    for other in ("simulated", "cohorts", "real tables", "Table by table", "independent"):
        assert other not in text


def test_simulated_cohorts_alone_are_not_said_to_be_split(exp3_folder, monkeypatch):
    text = of_some(exp3_folder, monkeypatch, ["edges"])
    assert text.startswith("# Exp-III, 3 cohorts, seed 0")
    assert "real tables" not in text
    assert "overlapping splits" not in text


def test_several_real_tables_are_averaged_and_shown_one_by_one(exp3_folder, monkeypatch):
    text = of_some(exp3_folder, monkeypatch, ["cobre", "ixi"], regions=())
    assert "| claim | in words | bias | real tables |" in text
    assert "| claim | in words | bias | cobre | ixi |" in text
    assert "| pipeline | mean of the real tables |" in text
    assert "| cobre | COBRE, schizophrenia and controls | 24 |" in text  # regions not noted


def test_moves_that_all_failed_are_not_measured(exp3_folder, monkeypatch):
    results = exp3.read(exp3_folder)
    for data in results.data.values():
        data.values["growth"][:] = np.nan
    monkeypatch.setattr("sgbn.experiments.exp3_report.read", lambda _: results)
    text = report(exp3_folder)
    assert "Claim vi, the fitting error: not measured, for every move failed." in text
    assert "above the 1 %" not in text


def test_pipelines_are_ranked(exp3_folder):
    lines = report(exp3_folder).splitlines()
    first = lines.index("## Ours and the peers: balanced accuracy") + 4
    means = [float(line.split("|")[2]) for line in lines[first : first + 17]]
    assert means == sorted(means, reverse=True)
    first = lines.index("## Ours and the peers: log-loss") + 4
    losses = [float(line.split("|")[2]) for line in lines[first : first + 17]]
    assert losses == sorted(losses)


def test_the_difference_to_the_recommended_one_is_paired(exp3_folder):
    data = exp3.read(exp3_folder).data["table"]
    gap = 100 * (data.of("SGBNClassifierCV") - data.of("ridge")).mean()
    line = next(one for one in report(exp3_folder).splitlines() if one.startswith("| ridge |"))
    assert f"| {gap:+.1f} (" in line


def test_failures_are_listed(exp3_folder, monkeypatch):
    results = exp3.read(exp3_folder)
    data = results.data["table"]
    data.values["failure"] = data.values["failure"].astype("<U40")
    data.values["failure"][data.methods.index("ridge"), 1] = "ValueError: singular"
    monkeypatch.setattr("sgbn.experiments.exp3_report.read", lambda folder: results)
    assert "| table | ridge | 1 | ValueError: singular |" in report(exp3_folder)


@pytest.mark.filterwarnings("error")
def test_a_method_that_always_fails_leaves_its_cells_blank(exp3_folder, monkeypatch):
    results = exp3.read(exp3_folder)
    data = results.data["table"]
    for method in grid():
        if method.network == "KL-SGBN":
            data.values["balanced"][data.methods.index(method.label)] = np.nan
    monkeypatch.setattr("sgbn.experiments.exp3_report.read", lambda folder: results)
    text = report(exp3_folder)
    assert "nan" not in text
    best = text.split("## The paper's networks at their best sparsity")[1]
    line = next(one for one in best.splitlines() if one.startswith("| KL-SGBN | free | SGBN |"))
    assert line.startswith("| KL-SGBN | free | SGBN |  | 0.")
    assert "| KL-SGBN improves the SVM | free | not measured | " in text


def test_real_tables_are_set_apart_from_those_of_the_benchmark(exp3_folder, monkeypatch):
    assert "benchmarks/classifiers.py" not in report(exp3_folder)
    results = exp3.read(exp3_folder)
    real = replace(results, data={"ixi": results.data["table"]})
    monkeypatch.setattr("sgbn.experiments.exp3_report.read", lambda folder: real)
    text = report(exp3_folder)
    assert "youngest third (OLD, YOUNG)" in text
    assert "IXI (MID and OLD) without the quality of the scans" in text
    assert "can therefore not be compared" in text


def test_the_canary_is_shown_where_it_was_run(exp3_folder, monkeypatch):
    (exp3_folder / "canary").mkdir()
    (exp3_folder / "canary" / "study.json").write_text("{}")
    monkeypatch.setattr(exp3_canary, "report", lambda folder: "# title\n\n3 of 3 pipelines\n")
    assert "## Labels shuffled\n\n3 of 3 pipelines\n" in report(exp3_folder)
