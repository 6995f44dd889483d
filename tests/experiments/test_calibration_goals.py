import numpy as np
import pytest

from sgbn.experiments.calibration import FIGURES, Scores
from sgbn.experiments.calibration_goals import JOINT, difference_goals, goals_table

NULL = {"changed": 0, "nuisance": False, "noise": 1.0, "known_order": False, "sizes": (60, 60)}
COHORTS = 500


def scores(**values):
    """Scores of cohorts in which nothing is found and p is uniform, but for `values`."""
    own = {field: np.zeros(COHORTS) for field in FIGURES}
    own |= {"global_p": np.ceil(0.4 * np.arange(1, COHORTS + 1)) / 200} | values
    return Scores([JOINT], {field: column[:, None] for field, column in own.items()})


def verdicts(found, setting):
    goals = difference_goals({"study": found}, {"study": setting})
    assert {goal.cohorts for goal in goals} == {COHORTS}
    return {goal.goal.split(" at ")[0]: goal.met for goal in goals}


def first(n):
    return (np.arange(COHORTS) < n).astype(float)


def test_all_goals_are_met_where_nothing_is_found():
    met = verdicts(scores(), NULL)
    assert len(met) == 7
    assert all(met.values())


@pytest.mark.parametrize(("finds", "met"), [(25, True), (34, True), (36, False)])
def test_an_error_rate_is_judged_by_its_interval(finds, met):
    found = scores(family=first(finds), false_hubs=first(finds))
    judged = verdicts(found, NULL)
    assert judged.pop("FWER") == judged.pop("hubs: false finds family-wise") == met
    assert all(judged.values())


def test_false_discoveries_count_under_no_difference():
    met = verdicts(scores(found=first(60), false=first(60)), NULL)
    assert not met["FDR"]
    assert verdicts(scores(found=first(60)), NULL)["FDR"]  # weights of these truly differ


def test_a_global_test_that_is_not_uniform_is_said_to_be():
    met = verdicts(scores(global_p=np.full(COHORTS, 0.5)), NULL)
    assert not met["global test uniform: p of KS"]
    assert met["FWER"]


def test_recall_and_false_share_are_judged_by_their_means():
    changed = NULL | {"changed": 10}
    many, few = (scores(hits=np.full(COHORTS, hits)) for hits in (6.1, 5.9))
    assert verdicts(many, changed)["recall"]
    assert not verdicts(few, changed)["recall"]
    wrong = scores(found=np.full(COHORTS, 10.0), false=np.ones(COHORTS))
    assert not verdicts(wrong, changed)["false share"]


def test_a_goal_that_is_missed_reads_no():
    goals = difference_goals({"a": scores(family=first(250))}, {"a": NULL})
    lines = goals_table(goals)
    assert lines[2].startswith("| null, equal noise, n = 60/60 | FWER at most 5 %")
    assert lines[2].endswith("| 500 | 0.500 [0.456, 0.544] | no |")
