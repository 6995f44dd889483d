from sgbn.experiments import exp3, exp3_canary
from sgbn.experiments.exp3_report import report


def test_the_report_says_what_was_run_and_what_holds(exp3_folder):
    text = report(exp3_folder)
    assert text.startswith("# Exp-III, 3 splits or cohorts, seed 0")
    assert "| table | the table given | 24 | 12 | 3 |" in text
    assert "| claim | in words | bias | real tables | edges |" in text
    assert "added is 1.0000%, within the 1 % allowed" in text
    assert "| **SGBNClassifierCV** | 0." in text
    assert "| covariates alone | 0." in text
    assert "None, in any fit." in text
    assert "Command: `" in text
    assert "`sgbn reproduce exp3 --canary` with the same folder" in text


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


def test_the_canary_is_shown_where_it_was_run(exp3_folder, monkeypatch):
    (exp3_folder / "canary").mkdir()
    (exp3_folder / "canary" / "study.json").write_text("{}")
    monkeypatch.setattr(exp3_canary, "report", lambda folder: "# title\n\n3 of 3 pipelines\n")
    assert "## Labels shuffled\n\n3 of 3 pipelines\n" in report(exp3_folder)
