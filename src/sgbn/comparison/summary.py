"""A comparison in plain words. The terminal and the report have the same sentences.

The results that are still missing, in words. A first report is written before the slow steps.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sgbn.comparison.names import called, joined
from sgbn.comparison.steps import STEPS
from sgbn.comparison.steps.accuracy import METRICS, Accuracy
from sgbn.comparison.steps.data import left_out_words
from sgbn.comparison.steps.differences import edge_lines, overall_words, p_text
from sgbn.comparison.steps.networks import agreement_words, support_words, trust_words
from sgbn.comparison.steps.residuals import residual_words
from sgbn.comparison.steps.sensitivity import sensitivity_words
from sgbn.comparison.steps.series_data import series_words
from sgbn.core.problems import counted
from sgbn.learn.peers import COVARIATES_ALONE

if TYPE_CHECKING:
    from sgbn.comparison.result import Comparison


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
    overall, edges = overall_words(comparison), edge_lines(comparison)
    support, replication = support_words(comparison), replication_words(comparison)
    not_tested = f"Differences were not tested: {comparison.skipped.get('differences', NOT_ASKED)}"
    answers = {
        "What was compared?": _data(comparison),
        "Do the networks differ?": overall,
        "Which edges differ, and how sure is that?": "\n".join(edges) or not_tested,
        "Do the differences come back in other subjects?": replication,
        "Do the differences depend on the choices made?": sensitivity_words(comparison),
        "Is a network the right picture?": _models(comparison),
        "Do the residuals fit the model?": residual_words(comparison),
        "Can the arrows be trusted?": _arrows(comparison, support),
        "Can the groups be told apart?": _accuracy(comparison),
        "What should be kept in mind?": _remarks(comparison),
    }
    # A step that was not asked for has no words, and its question is not shown.
    statements = [Statement(ask, text.split("\n")) for ask, text in answers.items() if text]
    # The first line of the edges counts them; the others name them.
    verdict = [overall, edges[0]] if edges else [not_tested]
    return Words(statements, verdict, edges, support, trust_words(comparison), replication)


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


def _models(comparison: Comparison) -> str:
    """Say which model predicts unseen subjects best and which edges stay, one line per group."""
    lines = []
    for group, compared in comparison.models.items():
        line = f"{called(group)}: {compared.verdict}"
        beside = comparison.beside_factors.get(group)
        if beside is not None and len(beside):
            stays, k = beside["stays"], compared.leading_factors
            factors = "hidden factor is" if k == 1 else f"{k} hidden factors are"
            line += (
                f" {stays.sum()} of the {counted(len(stays), 'edge')} of the network "
                f"{'stays' if stays.sum() == 1 else 'stay'} when the leading "
                f"{factors} taken out."
            )
        lines.append(line)
    return "\n".join(lines)


def _arrows(comparison: Comparison, support: str) -> str:
    some = any(mask.any() for mask in comparison.supported.values())
    drawn = "Only these are drawn as arrows, the other edges as lines."
    parts = [
        support,
        drawn if some else "All edges are drawn as lines.",
        agreement_words(comparison),
    ]
    return " ".join(filter(None, parts))


def _accuracy(comparison: Comparison) -> str:
    if comparison.accuracy is None:
        return not_done(comparison, "accuracy")
    table = comparison.tables.accuracy
    scores: dict[str, Any] = {
        row["method"]: row for row in table.to_dict("records") if row["metric"] == METRICS[0]
    }
    # What is left in `scores` are the peers: covariates alone do not classify by regions.
    ours, alone = scores.pop(comparison.accuracy.ours), scores.pop(COVARIATES_ALONE, None)
    chance = comparison.accuracy.chance
    text = (
        f"{_verdict(ours, chance, comparison.settings.level)}. The balanced accuracy in unseen "
        f"subjects is {_interval(ours)}; a guess has {chance:.2f}. It is the mean over "
        f"{_tested_parts(comparison.accuracy)}.{_best(scores)}"
    )
    if alone is None:
        return text
    # The columns that the classifier by covariates alone uses.
    known = [*comparison.cohort.covariates, *(["site"] * (comparison.n_sites > 0))]
    confounded = (
        f" The groups differ in {'it' if len(known) == 1 else 'them'}: an accuracy that is not "
        "higher says nothing about the regions."
    )
    return (
        f"{text} From {joined(known)} alone it is {_interval(alone)}."
        # This is said only if covariates alone are surely better than a guess.
        f"{confounded if alone['low'] > chance else ''}"
    )


def _tested_parts(accuracy: Accuracy) -> str:
    """Say over how many test folds an accuracy is averaged."""
    n_repeats, n_folds = len(accuracy.folds), int(accuracy.folds.max()) + 1
    how = f"{counted(n_repeats, 'repeat')} x {counted(n_folds, 'fold')}"
    return f"{n_repeats * n_folds} test folds ({how})"


def _verdict(ours: Mapping[str, float], chance: float, level: float) -> str:
    """Say whether the accuracy is better than a guess, by its p and its interval.

    p is one-sided and the interval is two-sided. So p may reach the level while the interval still
    includes a guess. The answer is "Yes" only if both are better than a guess. Without p, the
    interval alone decides.
    """
    above = ours["low"] > chance
    if np.isnan(ours["p"]):
        return "Yes" if above else "Not reliably"
    # The corrected t is an approximation, which is not reliable in its far tail.
    p = f"one-sided {p_text(ours['p']) if ours['p'] >= 0.001 else 'p < 0.001'}"
    if ours["p"] > level:
        return f"Not reliably ({p})"
    return f"Yes ({p})" if above else f"Perhaps ({p}, but the interval includes a guess)"


def _best(scores: Mapping[str, Any]) -> str:
    """Say how accurate the best of the other classifiers is; return "" if there are none."""
    if not scores:
        return ""
    # The best of several looks better than it is. So the text says that it is the best of several.
    best = max(scores.values(), key=lambda row: row["mean"])
    name = best["method"] if len(scores) == 1 else f"The best other classifier, {best['method']},"
    return f" {name[0].upper()}{name[1:]} has {_interval(best)}."


def _interval(row: Mapping[str, float]) -> str:
    return f"{row['mean']:.2f} ({row['low']:.2f} to {row['high']:.2f})"


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


NOT_YET = "Not yet computed."
NOT_ASKED = "the settings of this run leave this step out."


def pending_words(comparison: Comparison) -> str:
    """Say which results are still missing; return "" if the comparison is complete."""
    if not comparison.pending:
        return ""
    steps = "; ".join(step.still for step in STEPS if step.name in comparison.pending)
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
