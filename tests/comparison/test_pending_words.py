from types import SimpleNamespace

import pytest

from sgbn.comparison import Settings
from sgbn.comparison.pending_words import STILL, not_done, pending_words
from sgbn.comparison.replicated import replication_words
from sgbn.comparison.steps import SLOW


def comparison_of(pending=(), **skipped):
    return SimpleNamespace(pending=pending, skipped=skipped)


def test_a_complete_comparison_says_nothing():
    assert pending_words(comparison_of()) == ""


def test_what_is_still_to_come_is_named():
    said = pending_words(comparison_of(("deviations", "accuracy")))
    assert "Still being computed: the deviation of each subject; how well the groups" in said
    assert "(accuracy)" in said
    assert "classifier" not in said


def test_every_slow_step_has_words():
    assert set(STILL) == set(SLOW) < set(Settings(replicate="half").steps)


@pytest.mark.parametrize(
    ("comparison", "said"),
    [
        (comparison_of(("accuracy",)), "Not yet computed."),
        (comparison_of(accuracy="too few subjects."), "Not tried: too few subjects."),
        (comparison_of(), "Not tried: not asked for"),
    ],
)
def test_why_a_step_has_no_result(comparison, said):
    assert not_done(comparison, "accuracy") == said


def test_a_replication_that_is_to_come_is_not_said_to_be_unwanted():
    found = comparison_of(("replication",))
    found.settings, found.replication = Settings(replicate="half"), None
    assert replication_words(found) == "Not yet computed."
