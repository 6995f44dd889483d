import pytest

from sgbn import SGBN, InputError, simulate_cohort
from sgbn.comparison import Settings, steps
from sgbn.comparison.steps import SLOW, STEPS, Job
from sgbn.preprocessing import prepare
from sgbn.runs import Study


@pytest.fixture
def job():
    whole = simulate_cohort(40)
    cohort = whole.subset(regions=whole.regions[:6])
    settings = Settings.networks_only()
    said = []
    made = Job(cohort, prepare(cohort), settings, SGBN(), SGBN(), Study(), said.append)
    made.said = said
    return made


def test_slow_steps_are_the_last():
    assert tuple(STEPS)[-len(SLOW) :] == SLOW


def test_a_step_says_that_it_begins_and_how_long_it_took(job):
    found = steps.networks_of(job)
    assert list(found) == job.groups
    assert job.said == [STEPS["networks"]]
    assert job.seconds["networks"] > 0


def test_what_was_not_asked_for_is_not_done(job):
    assert steps.tests_of(job, {}) is None
    assert steps.model_of(job, None) is None
    assert not job.seconds


def test_what_the_data_do_not_allow_is_kept_with_its_reason(job):
    with job.step("accuracy"):
        raise InputError("too few subjects")
    assert job.skipped == {"accuracy": "too few subjects"}


def test_other_errors_say_where_they_arose(job):
    with pytest.raises(ZeroDivisionError) as caught, job.step("accuracy"):
        raise ZeroDivisionError
    assert caught.value.__notes__ == [f"in the step: {STEPS['accuracy']}"]
