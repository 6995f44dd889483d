from types import SimpleNamespace

import pytest

from sgbn.comparison.settings import Settings
from sgbn.comparison.step import SLOW
from sgbn.comparison.summary import STILL, not_done, pending_words, replication_words


def comparison_of(pending=(), **skipped):
    return SimpleNamespace(pending=pending, skipped=skipped)


def test_a_complete_comparison_says_nothing():
    assert pending_words(comparison_of()) == ""


def test_what_is_still_to_come_is_named():
    text = pending_words(comparison_of(("deviations", "accuracy")))
    assert "the deviation of each subject; how well the groups" in text
    assert "(accuracy)" in text
    assert "classifier" not in text


def test_every_slow_step_has_words():
    assert set(STILL) == set(SLOW) < set(Settings(replicate="half").steps)


@pytest.mark.parametrize(
    ("comparison", "text"),
    [
        (comparison_of(("accuracy",)), "Not yet computed."),
        (comparison_of(accuracy="too few subjects."), "Not tried: too few subjects."),
        (comparison_of(), "Not tried: the settings of this run leave this step out."),
    ],
)
def test_why_a_step_has_no_result(comparison, text):
    assert not_done(comparison, "accuracy") == text


@pytest.mark.parametrize(
    ("pending", "how", "replication", "text"),
    [
        (("replication",), "half", None, "Not yet computed."),
        ((), "half", SimpleNamespace(words="2 of 3 come back."), "2 of 3 come back."),
        ((), None, None, ""),
    ],
)
def test_a_replication_speaks_for_itself(pending, how, replication, text):
    comparison = comparison_of(pending)
    comparison.settings, comparison.replication = Settings(replicate=how), replication
    assert replication_words(comparison) == text
