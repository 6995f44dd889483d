"""A comparison in plain words. The terminal and the report have the same sentences.

The results that are still missing, in words. A first report is written before the slow steps.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sgbn.comparison.names import called
from sgbn.comparison.steps import STEPS, TITLES
from sgbn.comparison.steps.data import left_out_words
from sgbn.comparison.steps.differences import WHETHER, WHICH
from sgbn.comparison.steps.networks import support_words, trust_words
from sgbn.comparison.steps.series_data import series_words

if TYPE_CHECKING:
    from sgbn.comparison.result import Comparison


# The steps whose questions come first; those of other steps follow in the order of `STEPS`.
ORDER = ("differences", "replication", "sensitivity", "models", "networks", "confidence")
WIDTH = 100  # characters per line of the text in a terminal


class Statement(NamedTuple):
    """A question that a reader asks, and the lines of the answer."""

    question: str
    lines: list[str]


class Words(NamedTuple):
    """A comparison in words. ``str(words)`` is the text that the terminal shows.

    Attributes
    ----------
    statements : list of Statement
        The questions that a reader asks first, with their answers.
    verdict : list of str
        Whether the networks differ at all, and how many pairs differ, and how. If differences were
        not tested, the reason.
    edges : list of str
        The edges that differ.
    support : str
        How many directions are supported, and what this means.
    trust : str
        How far networks and arrows can be trusted, in short.
    replication : str
        Whether the differences come back in other subjects; "" if this was not requested.
    """

    statements: list[Statement]
    verdict: list[str]
    edges: list[str]
    support: str
    trust: str
    replication: str

    def __str__(self) -> str:
        return "\n\n".join(map(_paragraph, self.statements))


def _paragraph(statement: Statement) -> str:
    """Write a question, and the answer below it."""
    marks = ("  - ", "    ") if len(statement.lines) > 1 else ("  ", "  ")
    lines = [
        textwrap.fill(line, WIDTH, initial_indent=marks[0], subsequent_indent=marks[1])
        for line in statement.lines
    ]
    return "\n".join([statement.question, *lines])


def make_words(comparison: Comparison) -> Words:
    """Put a comparison in words."""
    answers = {"What was compared?": _data(comparison)}
    for step in sorted(STEPS, key=lambda step: (*ORDER, step.name).index(step.name)):
        answers |= step.words(comparison)
    answers["What should be kept in mind?"] = _remarks(comparison)
    # A step that was not asked for has no words, and its question is not shown.
    statements = [Statement(ask, text.split("\n")) for ask, text in answers.items() if text]
    edges = [] if comparison.tests is None else answers[WHICH].split("\n")
    # The first line of the edges counts them; the others name them.
    verdict = [answers[WHETHER], edges[0]] if edges else [answers[WHICH]]
    replication = answers.get(TITLES["replication"], "")
    support, trust = support_words(comparison), trust_words(comparison)
    return Words(statements, verdict, edges, support, trust, replication)


def _data(comparison: Comparison) -> str:
    parts = [_who(comparison), f"{len(comparison.cohort.regions)} regions"]
    reference = f"The reference is {called(comparison.reference)}."
    if comparison.of_series:
        # Nothing is harmonised, regressed out or filled in, because the tests hold effects fixed.
        return f"{'; '.join(parts)}. {reference} {series_words(comparison)}"
    if comparison.n_sites > 1:
        parts.append(f"{comparison.n_sites} sites, harmonised")
    if comparison.cohort.covariates:
        parts.append(f"without the effects of {', '.join(comparison.cohort.design.effect_names)}")
    far = left_out_words(comparison)
    return f"{'; '.join(parts)}. {reference}{_filled_in(comparison)}{' ' * bool(far)}{far}"


def _who(comparison: Comparison) -> str:
    cohort = comparison.cohort
    # Rows of one person are not subjects, and paired visits are a kind of rows.
    sizes = ", ".join(f"{called(group)} ({cohort.subjects[group]})" for group in comparison.groups)
    who = f"{len(cohort)} subjects"
    if cohort.pair is not None:
        who = f"{len(cohort)} visits of {len(np.unique(cohort.pair))} persons"
    elif cohort.person is not None:
        who = f"{len(cohort)} rows of {len(np.unique(cohort.person))} persons"
    if cohort.block is not None:
        who += f" from {len(np.unique(cohort.block))} families (blocks)"
    persons = "persons of " if cohort.person is not None else ""
    return f"{who} in {len(comparison.groups)} groups: {persons}{sizes}"


def _filled_in(comparison: Comparison) -> str:
    """Say how many cells were missing, and how they were filled in."""
    cohort = comparison.cohort
    missing = np.isnan(cohort.values)
    if not missing.any():
        return ""
    where = " at the same site" if comparison.n_sites > 1 else ""
    return (
        f" Missing cells ({missing.sum()}, {missing.mean():.2%} of all) were filled in with the "
        f"median of the region{where}."
    )


def _remarks(comparison: Comparison) -> str:
    findings = [
        str(finding.problem) for finding in comparison.review.findings if finding.level == "warning"
    ]
    skipped = [
        f"{' '.join(filter(None, (step, of_groups(comparison, step))))} left out: {reason}"
        for step, reason in comparison.skipped.items()
    ]
    # Messages of other libraries may have line breaks, but here one line is one remark.
    told = (*findings, *skipped, *map(str, comparison.warnings))
    remarks = [" ".join(remark.split()) for remark in told]
    return "\n".join(remark[:1].upper() + remark[1:] for remark in remarks)


def of_groups(comparison: Comparison, step: str) -> str:
    """Name the groups for which a step was left out, if it was done for other groups."""
    # Only these steps are done group by group, so that they can fail for a single group.
    done = getattr(comparison, step) if step in ("confidence", "models") else None
    if not done:
        return ""
    lacking = [group for group in comparison.groups if group not in done]
    return f"of {', '.join(lacking)}"


def pending_words(comparison: Comparison) -> str:
    """Say which results are still missing; return "" if the comparison is complete."""
    if not comparison.pending:
        return ""
    steps = "; ".join(step.still for step in STEPS if step.name in comparison.pending)
    return (
        f"This is a first report. Still being computed: {steps}. The complete report will replace "
        "it. If the run was stopped, start it again: it continues where it stopped."
    )
