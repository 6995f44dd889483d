"""The results that are still missing, in words. A first report is written before the slow steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sgbn.comparison.result import Comparison

NOT_YET = "Not yet computed."
NOT_ASKED = "the settings of this run leave this step out."
# One entry for each step of `SLOW`, since pending steps are looked up here.
STILL = {  # step -> what its result is called in a sentence
    "replication": "whether the differences come back in other subjects",
    "sensitivity": "whether the differences depend on the choices made",
    "refinements": "refined networks",
    "deviations": "the deviation of each subject",
    "accuracy": "how well the groups can be told apart (accuracy)",
    "model": "the classifier for new subjects",
}


def pending_words(comparison: Comparison) -> str:
    """Say which results are still missing; return "" if the comparison is complete."""
    if not comparison.pending:
        return ""
    steps = "; ".join(STILL[step] for step in comparison.pending)
    return (
        f"This is a first report. Still being computed: {steps}. The complete report will replace "
        "it. If the run was stopped, start it again: it continues where it stopped."
    )


def not_done(comparison: Comparison, step: str) -> str:
    """Say why a step has no result: it is pending, it could not be done, or it was not requested.

    A pending step is in `comparison.pending`, and not yet in `comparison.skipped`.
    """
    if step in comparison.pending:
        return NOT_YET
    return f"Not tried: {comparison.skipped.get(step, NOT_ASKED)}"


def replication_words(comparison: Comparison) -> str:
    """Say whether the differences come back in other subjects; return "" if not requested."""
    if comparison.settings.replicate is None:
        return ""
    if comparison.replication is None:
        return not_done(comparison, "replication")
    return comparison.replication.words
