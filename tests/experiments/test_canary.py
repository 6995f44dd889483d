import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB

from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.exceptions import StudyError
from sgbn.paper.experiments import exp3
from sgbn.paper.experiments.exp3 import (
    CANARY,
    CONTROL,
    SHUFFLED,
    Method,
    Sample,
    Settings,
    at_base,
    pipelines,
    shuffle_outcomes,
    verdicts,
)
from sgbn.runs.study import Study

SETTINGS = Settings(splits=20, regions=10, sizes=(40, 20))
CHEAP = {
    "ridge": RidgeClassifier(),
    "naive Bayes": GaussianNB(),
    **{network: Method(network, "free", edges=20).make() for network in ("OR-SGBN", "MM-SGBN")},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small canary of cheap pipelines, on groups that do differ until labels are shuffled."""
    folder = tmp_path_factory.mktemp("canary")
    cohort = simulate_cohort(30, 0, regions=90)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exp3, "all_pipelines", lambda seed: CHEAP)
        CANARY.run(Study(folder), SETTINGS, {SHUFFLED: Sample((40, 20), cohort)})
    return folder


def test_shuffles_of_other_labels_are_not_taken_for_these(folder):
    cohort = simulate_cohort(30, 0, regions=90)
    other = Sample((40, 20), replace(cohort, group=cohort.group[::-1]))
    with pytest.raises(StudyError, match="other settings"):
        CANARY.run(Study(folder), SETTINGS, {SHUFFLED: other})


def test_no_pipeline_learns_from_shuffled_labels(folder):
    outcomes = CANARY.results(folder)
    del outcomes[CONTROL]
    found = verdicts(outcomes)
    assert set(found) == set(CHEAP)
    assert {verdict.finding for verdict in found.values()} == {"yes"}


def test_regions_chosen_by_all_rows_are_caught(folder):
    control = verdicts({CONTROL: CANARY.results(folder)[CONTROL]})[CONTROL]
    assert control.low > 0.5


def test_the_report_says_so(folder):
    text = CANARY.text(folder)
    assert "20 shuffles, 4 of 4 pipelines: 0.5 is within the joint interval." in text
    assert f"| {CONTROL} | 0." in text
    assert text.count("| yes |") == 4
    assert text.count("| no: caught |") == 1
    assert "**" not in text


@pytest.fixture
def reported(tmp_path):
    """Report of made-up outcomes."""

    def report(outcomes, **settings):
        described = asdict(SETTINGS) | settings
        study = {"settings": described, "versions": {}, "command": ["sgbn"]}
        (tmp_path / "study.json").write_text(json.dumps(study))
        return replace(CANARY, read=lambda _: outcomes).text(tmp_path)

    return report


def test_few_shuffles_give_no_verdict(folder, reported):
    few = {name: values[:19] for name, values in CANARY.results(folder).items()}
    assert {verdict.finding for verdict in verdicts(few).values()} == {"too few shuffles"}
    text = reported(few, splits=19)
    assert "19 shuffles are too few for verdicts: give at least 20 (--splits)." in text
    assert text.count("| too few shuffles |") == 5
    assert "| yes |" not in text
    assert "caught |" not in text
    assert "not caught**" not in text


def test_a_control_that_is_not_caught_stands_out(folder, reported):
    text = reported(CANARY.results(folder) | {CONTROL: np.tile([0.4, 0.6], 10)})
    [row] = [line for line in text.splitlines() if line.startswith(f"| {CONTROL} |")]
    assert row.endswith("| **yes: not caught** |")
    assert text.count("| yes |") == 4


def test_a_pipeline_that_leaks_stands_out(folder, reported):
    text = reported(CANARY.results(folder) | {"ridge": np.tile([0.7, 0.8], 10)})
    assert "3 of 4 pipelines: 0.5 is within the joint interval; **no**: ridge." in text
    assert text.count("| **no** |") == 1


@pytest.mark.filterwarnings("error")
def test_a_pipeline_that_always_fails_is_not_measured(folder, reported):
    outcomes = CANARY.results(folder) | {"ridge": np.full(20, np.nan)}
    text = reported(outcomes)
    assert "3 of 4 pipelines: 0.5 is within the joint interval; not measured: ridge." in text
    assert "| ridge |  |  | not measured |" in text


def test_gaps_are_filled_in_before_the_control_chooses():
    cohort = simulate_cohort(30, 0, regions=20, missing=0.05)
    assert np.isnan(cohort.values).any()
    outcomes = shuffle_outcomes(Sample((40, 20), cohort), 0, SETTINGS, {"ridge": RidgeClassifier()})
    assert [outcome.failure for outcome in outcomes.values()] == ["", ""]
    assert set(outcomes) == {"ridge", CONTROL}


def test_without_regions_to_choose_there_is_no_control(reported):
    sample = Sample((40, 20), simulate_cohort(30, 0, regions=10))
    for regions in (10, 40):
        kept = replace(SETTINGS, regions=regions)
        outcomes = shuffle_outcomes(sample, 0, kept, {"ridge": RidgeClassifier()})
        assert set(outcomes) == {"ridge"}
    text = reported({"ridge": np.tile([0.4, 0.6], 10)}, regions=40)
    assert f"| {CONTROL} |" not in text
    # Not "below 40": of 10 regions, 39 would still be all of them.
    assert "set `--k` below the number of regions of the table." in text


def test_more_pipelines_have_wider_intervals():
    values = np.array([0.5, 0.6, 0.4, 0.55])
    alone = verdicts({"a": values})["a"]
    among = verdicts(dict.fromkeys("abcdefgh", values))["a"]
    assert among.low < alone.low < alone.high < among.high


def test_everything_that_is_compared_is_checked():
    names = exp3.all_pipelines(0)
    assert set(pipelines(0)) < set(names)
    assert {method.label for method in at_base()} < set(names)


def test_the_table_with_the_most_regions_is_taken():
    small, large = (Sample((40, 20), simulate_cohort(30, 0, regions=k)) for k in (10, 20))
    data = {"small": small, "large": large, "edges": Sample((40, 20), differ="edges")}
    assert exp3.choose_sample(SETTINGS, data) is large
    made = exp3.choose_sample(SETTINGS, {"edges": data["edges"]})
    assert len(made.cohort.regions) == 90
    assert len(made.cohort) == 60
    odd = replace(SETTINGS, sizes=(41, 20))
    assert len(exp3.choose_sample(odd, {}).cohort) >= 61
