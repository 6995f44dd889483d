from itertools import pairwise

from sgbn.experiments import exp4, exp4_claims, exp4_report
from sgbn.experiments.exp4_counts import COUNTS


def test_the_report_shows_every_claim_count_and_test(exp4_folder):
    text = exp4_report.report(exp4_folder)
    parts = exp4.read(exp4_folder)["table"]
    for (claim, paper), ours in exp4_claims.claims(parts).items():
        assert f"| {claim} | {paper} | {ours} |" in text
    for count in COUNTS:
        assert f"\n| {count} | " in text
    change = exp4_claims.changes(parts, "OR-SGBN")["edges"]
    assert f"{change} ({change.low:.3g} to {change.high:.3g}, p = {change.p:.2f})" in text
    assert f"| table | p = {parts['tests']['all']:.3f} | {parts['tests']['tested']} | " in text
    assert "control (30) → patient (30) | 14 | none | 1 |" in text
    assert "19 permutations, seed 1" in text
    assert "Versions: " in text


def test_only_what_was_run_is_spoken_of(exp4_folder, monkeypatch):
    text = exp4_report.report(exp4_folder)
    assert "Of more than 40 regions the hippocampi are kept" in text
    assert "real tables" not in text
    assert "drawn from" not in text
    parts = exp4.read(exp4_folder)["table"]
    networks = parts["networks"] | {"truth": parts["networks"]["OR-SGBN"]}
    data = {"simulated": parts | {"networks": networks}, "cobre": parts}
    monkeypatch.setattr(exp4_report, "read", lambda _: data)
    text = exp4_report.report(exp4_folder)
    assert "the real tables have other groups" in text
    assert '"False in truth": the networks that the data were drawn from' in text


def test_every_row_has_as_many_cells_as_its_header(exp4_folder):
    widths = [
        line.count("|") if line.startswith("|") else 0
        for line in exp4_report.report(exp4_folder).splitlines()
    ]
    assert all(first == second for first, second in pairwise(widths) if first and second)
