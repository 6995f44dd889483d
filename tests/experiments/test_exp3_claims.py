import numpy as np
import pytest

from sgbn.comparison.intervals import Estimate
from sgbn.experiments.exp3 import Data, Outcome, Results
from sgbn.experiments.exp3_claims import (
    CLAIMS,
    by_table,
    cell,
    claims_table,
    difference,
    gains_table,
    mean_accuracy,
    most_growth,
    occasions_table,
    verdict,
)
from sgbn.experiments.exp3_methods import BIASES, MOVED, SVM, Method, grid

ACCURACY = {"H-SGBN": 0.6, "OR-SGBN": 0.6, "KL-SGBN": 0.65, "MM-SGBN": 0.75, "CL-SGBN": 0.7}
SPLITS = 12


def made_up(overlap: float, gain: float = 1.0) -> Data:
    """Accuracies by network, SVMs 5 points below; the penalised bias gives all its 0.5."""
    noise = np.tile([0.001, -0.001], SPLITS // 2)
    methods = grid()
    level = [
        0.5
        if m.bias == "penalised"
        else 0.6 + gain * (ACCURACY[m.network] - 0.6) - 0.05 * (m.rule == SVM)
        for m in methods
    ]
    signs = np.where([m.network in MOVED for m in methods], 1, -1)[:, None]
    values = dict.fromkeys(Outcome._fields, np.zeros((len(methods), SPLITS)))
    values["balanced"] = np.array(level)[:, None] + signs * noise
    values["growth"] = np.tile(np.linspace(0, 0.009, SPLITS), (len(methods), 1))
    return Data([m.label for m in methods], values, overlap, (80, 40))


@pytest.fixture(scope="module")
def results():
    return Results({"cobre": made_up(0.5), "ixi": made_up(0.5, 0.0), "edges": made_up(0.0)})


def find(words: str):
    return next(claim for claim in CLAIMS if words in claim.words)


def test_all_six_claims_are_there():
    assert list(dict.fromkeys(claim.number for claim in CLAIMS)) == [
        "i",
        "ii",
        "iii",
        "iv",
        "v",
        "vi",
    ]


def test_every_claim_compares_methods_that_are_run():
    known = {method.label for method in grid()}
    for claim in CLAIMS:
        for bias in BIASES:
            labels = [m.label for side in (claim.more, claim.less) for m in side.methods(bias)]
            assert known.issuperset(labels), claim.words


def test_differences_are_in_points(results):
    data = results.data["cobre"]
    assert mean_accuracy(data, [Method("OR-SGBN", "free")]).mean() == pytest.approx(60)
    gain = difference(find("MM-SGBN improves the SGBN"), "free", data)
    assert gain.mean() == pytest.approx(15)
    assert gain.std() > 0
    assert difference(find("moved SGBN classifiers above"), "free", data).mean() == pytest.approx(5)


@pytest.mark.parametrize(
    ("words", "mean", "error", "said"),
    [
        ("KL-SGBN improves the SGBN", 3.0, 1.0, "holds"),
        ("KL-SGBN improves the SGBN", 1.0, 1.0, "likely"),
        ("KL-SGBN improves the SGBN", -1.0, 1.0, "unlikely"),
        ("KL-SGBN improves the SGBN", -3.0, 1.0, "contradicted"),
        ("MM-SGBN gains 10 points", 9.0, 0.1, "contradicted"),
        ("MM-SGBN gains 10 points", 12.0, 0.1, "holds"),
        ("alike", 0.0, 0.1, "holds"),
        ("alike", 3.0, 0.1, "contradicted"),
        ("alike", -3.0, 0.1, "contradicted"),
        ("alike", 1.0, 2.0, "likely"),
        ("alike", np.nan, np.nan, "not measured"),
    ],
)
def test_the_interval_decides(words, mean, error, said):
    assert verdict(find(words), Estimate(mean, error, 29)) == said


def test_few_splits_give_no_verdict():
    claim = find("KL-SGBN improves the SGBN")
    said = {n: verdict(claim, Estimate(3.0, 0.001, n - 1)) for n in (2, 9, 10)}
    assert said == {2: "too few splits", 9: "too few splits", 10: "holds"}


def test_one_split_has_a_mean_and_no_interval():
    alone = Estimate(3.0, np.nan, 1)
    assert cell(alone) == "+3.0"
    assert verdict(find("KL-SGBN improves the SGBN"), alone) == "too few splits"


def test_the_table_has_a_verdict_for_both_readings(results):
    lines = claims_table(results)
    assert lines[0] == "| claim | in words | bias | real tables | edges |"
    assert len(lines) == 2 + len(CLAIMS) * len(BIASES)
    gain = next(line for line in lines if "MM-SGBN improves the SGBN classifier | free" in line)
    assert "| +7.5 (" in gain  # the mean of 15 and 0
    assert "| +15.0 (" in gain
    assert gain.count("holds") == 2
    none = next(line for line in lines if "MM-SGBN gains 10 points" in line and "penalised" in line)
    assert none.count("contradicted") == 2
    assert "| +15.0 +- " in by_table(results)[4]


def test_without_real_tables_simulations_are_shown():
    only = Results({"edges": made_up(0.0)})
    assert claims_table(only)[0] == "| claim | in words | bias | edges |"
    assert "+15.0" in gains_table(only)[3]


def test_one_table_is_called_by_its_name():
    assert claims_table(Results({"table": made_up(0.5)}))[0].endswith("| bias | table |")


def test_occasions_are_counted(results):
    lines = occasions_table(results)
    assert lines[2] == "| KL-SGBN | free | 0 of 6 | 0 of 6 | 0 of 6 | 0% |"
    assert lines[3] == "| MM-SGBN | free | 6 of 6 | 0 of 6 | 6 of 6 | 67% |"


def test_the_fitting_error_of_the_papers_slack_is_looked_at(results):
    assert most_growth(results) == pytest.approx(0.009)


@pytest.mark.filterwarnings("error")
def test_the_fitting_error_of_moves_that_all_failed_is_not_known():
    failed = made_up(0.5)
    failed.values["growth"][:] = np.nan
    assert np.isnan(most_growth(Results({"cobre": failed})))
