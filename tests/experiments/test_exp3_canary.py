import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB

from sgbn import simulate_cohort
from sgbn.experiments import exp3_canary
from sgbn.experiments.exp3 import Sample, Settings, pipelines
from sgbn.experiments.exp3_canary import CONTROL, verdicts
from sgbn.experiments.exp3_methods import Method, at_base

SETTINGS = Settings(splits=20, regions=10, sizes=(40, 20))
CHEAP = {
    "ridge": RidgeClassifier(),
    "naive Bayes": GaussianNB(),
    **{
        network: Method(network, "free", edges=20).make()
        for network in ("H-SGBN", "OR-SGBN", "MM-SGBN")
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small canary of cheap pipelines, on groups that do differ until labels are shuffled."""
    folder = tmp_path_factory.mktemp("canary")
    cohort = simulate_cohort(30, 0, regions=90)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exp3_canary, "all_pipelines", lambda seed: CHEAP)
        exp3_canary.run(folder, SETTINGS, Sample((40, 20), cohort), progress=False)
    return folder


def test_no_pipeline_learns_from_shuffled_labels(folder):
    outcomes = exp3_canary.read(folder)
    del outcomes[CONTROL]
    found = verdicts(outcomes)
    assert set(found) == set(CHEAP)
    assert all(verdict.quiet for verdict in found.values())


def test_regions_chosen_by_all_rows_are_caught(folder):
    control = verdicts({CONTROL: exp3_canary.read(folder)[CONTROL]})[CONTROL]
    assert control.low > 0.5


def test_the_report_says_so(folder):
    text = exp3_canary.report(folder)
    assert "5 of 5 pipelines: a half is within the joint interval." in text
    assert "is caught." in text
    assert f"| {CONTROL} | 0." in text
    assert "20 shuffles" in text


def test_more_pipelines_have_wider_intervals():
    values = np.array([0.5, 0.6, 0.4, 0.55])
    alone = verdicts({"a": values})["a"]
    among = verdicts(dict.fromkeys("abcdefgh", values))["a"]
    assert among.low < alone.low < alone.high < among.high


def test_everything_that_is_compared_is_checked():
    names = exp3_canary.all_pipelines(0)
    assert set(pipelines(0)) < set(names)
    assert {method.label for method in at_base()} < set(names)


def test_the_table_with_the_most_regions_is_taken():
    small, large = (Sample((40, 20), simulate_cohort(30, 0, regions=k)) for k in (10, 20))
    data = {"small": small, "large": large, "edges": Sample((40, 20), differ="edges")}
    assert exp3_canary.canary_sample(SETTINGS, data) is large
    made = exp3_canary.canary_sample(SETTINGS, {"edges": data["edges"]})
    assert len(made.cohort.regions) == 90
    assert len(made.cohort) == 60
