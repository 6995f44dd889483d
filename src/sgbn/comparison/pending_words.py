"""What a comparison has not computed yet, in words: a first report comes before the slow steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sgbn.comparison.result import Comparison

NOT_YET = "Not yet computed."
STILL = {
    "replication": "whether the differences come back in other subjects",
    "sensitivity": "how the finds depend on sparsity and learner",
    "refinements": "refined networks",
    "deviations": "the deviation of each subject",
    "accuracy": "how well the groups can be told apart (accuracy)",
    "model": "the classifier for new subjects",
}


def pending_words(comparison: Comparison) -> str:
    """Say which results are still to come; "" if the comparison is complete."""
    if not comparison.pending:
        return ""
    steps = "; ".join(STILL[step] for step in comparison.pending)
    return (
        f"This is a first report. Still being computed: {steps}. The complete report takes its "
        "place. If the run was stopped, start it again: it goes on."
    )


def not_done(comparison: Comparison, step: str, said: str = "Not tried") -> str:
    """Say why a step has no result: it is still to come, was left out, or not asked for."""
    if step in comparison.pending:
        return NOT_YET
    return f"{said}: {comparison.skipped.get(step, 'not asked for')}"
