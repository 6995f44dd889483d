"""A comparison in plain words: the same sentences in the terminal and in the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sgbn.comparison import tables
from sgbn.comparison.accuracy import METRICS, OURS
from sgbn.comparison.peers import COVARIATES_ALONE
from sgbn.comparison.result import Comparison
from sgbn.comparison.support import agreement_words, support_words
from sgbn.exceptions import listed
from sgbn.inference import Differences

NAMED = 5  # edges that the summary names
POWER = 0.8


class Statement(NamedTuple):
    """One question of a reader, and the answer; several remarks are one a line."""

    question: str
    answer: str

    @property
    def lines(self) -> list[str]:
        """The answer, remark by remark."""
        return self.answer.split("\n")


def summarise(comparison: Comparison) -> list[Statement]:
    """Answer what a reader asks first."""
    answers = {
        "What was compared?": _data(comparison),
        "Do the networks differ?": _overall(comparison),
        "Which edges differ, and how sure is that?": _edges(comparison),
        "Is a network the right picture?": _models(comparison),
        "Can the arrows be trusted?": _arrows(comparison),
        "Can the groups be told apart?": _accuracy(comparison),
        "What should be kept in mind?": _remarks(comparison),
    }
    return [Statement(question, answer) for question, answer in answers.items() if answer]


def p_text(p: float) -> str:
    """P as one writes it in a sentence."""
    return f"p = {p:.3f}" if p >= 0.001 else f"p = {p:.1g}"


def _data(comparison: Comparison) -> str:
    cohort = comparison.cohort
    sizes = ", ".join(f"{group} ({cohort.sizes[group]})" for group in comparison.groups)
    who = f"{len(cohort)} subjects"
    if cohort.pair is not None:
        who = f"{len(cohort)} visits of {len(np.unique(cohort.pair))} persons"
    parts = [f"{who} in {len(comparison.groups)} groups: {sizes}"]
    parts.append(f"{len(cohort.regions)} regions")
    sites = _n_sites(comparison)
    if sites > 1:
        parts.append(f"{sites} sites, harmonised")
    if cohort.covariates:
        parts.append(f"without the effects of {', '.join(cohort.covariates)}")
    return (
        f"{'; '.join(parts)}. The reference is {comparison.reference}.{_filled_in(comparison)}"
        f"{_left_out(comparison)}"
    )


def _filled_in(comparison: Comparison) -> str:
    """Say how many cells were missing, and what stands for them."""
    cohort = comparison.cohort
    missing = np.isnan(cohort.values)
    if not missing.any():
        return ""
    where = " at the same site" if _n_sites(comparison) > 1 else ""
    return (
        f" Missing cells ({missing.sum()}, {missing.mean():.2%} of all) were filled in with the "
        f"median of the region{where}."
    )


def _left_out(comparison: Comparison) -> str:
    """Name the subjects that the networks do without."""
    named = [f"{listed(ids)} ({group})" for group, ids in comparison.left_out.items() if ids]
    if not named:
        return ""
    return f" Left out of the networks, because they lie far from their group: {'; '.join(named)}."


def _n_sites(comparison: Comparison) -> int:
    site = comparison.cohort.site
    return 0 if site is None else len(np.unique(site))


def _overall(comparison: Comparison) -> str:
    found, level = comparison.differences, comparison.settings.level
    if found is None:
        return ""
    p = p_text(found.global_p)
    singles = bool((found.edges["q"] <= level).any())
    if found.global_p <= level:
        where = "" if singles else ", though no single edge survives correction"
        return f"Yes: a test of all edges together finds a difference ({p}){where}."
    if singles:
        return (
            f"Not by the test of all edges together ({p}), but single edges do: see next. A change "
            "of a few edges can be lost among all."
        )
    return f"A test of all edges together finds no difference ({p}). That is no proof of equality."


def _edges(comparison: Comparison) -> str:
    found, level = comparison.differences, comparison.settings.level
    if found is None:
        return f"Not tested: {comparison.skipped.get('differences', 'not asked for')}"
    table = tables.differences(comparison)
    significant = table[table["q"] <= level]
    if significant.empty:
        said = f"None of {len(table)} tested edges survives correction at {level:.0%}."
        return f"{said} {_detectable(found, level)}".rstrip()
    named = significant.head(NAMED).to_dict("records")
    names = [_edge_text(row, comparison) for row in named]
    more = len(significant) - len(names)
    surest = (table["p_fwer"] <= level).sum()
    return (
        f"{len(significant)} of {len(table)} tested edges, at a false discovery rate of {level:.0%}"
        f" ({surest} also family-wise): {'; '.join(names)}{f'; and {more} more' if more else ''}."
        " Weights are per standard deviation."
    )


def _edge_text(row: Mapping[Any, Any], comparison: Comparison) -> str:
    """Name an edge, by an arrow if one is supported, with its weight per SD in each group."""
    weights = ", ".join(
        f"{group} {_signed(row[f'weight_std_{group}'])}" for group in comparison.groups
    )
    sign = "→" if row["supported"] else "–"
    return f"{row['source']} {sign} {row['target']} ({weights}; q = {row['q']:.2g})"


def _signed(weight: float) -> str:
    """Two places of a number, with a minus sign that is one, and none before zero."""
    return f"{round(weight, 2) + 0.0:.2f}".replace("-", "−")


def _detectable(found: Differences, level: float) -> str:
    if not len(found.edges) or level * (found.n_permutations + 1) < 1:
        return ""
    effect = np.median(found.detectable(POWER, level))
    return (
        f"With these subjects a change of {effect:.2f} standard deviations (of the target, per one "
        f"of the source) would have been found family-wise with {POWER:.0%} probability at half of "
        "the edges; smaller ones may be there."
    )


def _models(comparison: Comparison) -> str:
    """One line per group: what predicts unseen subjects best, and which edges stay."""
    lines = []
    for group, compared in comparison.models.items():
        line = f"{group}: {compared.verdict}"
        beside = comparison.beside_factors.get(group)
        if beside is not None and len(beside):
            stays, k = beside["stays"], compared.leading_factors
            factors = "hidden factor is" if k == 1 else f"{k} hidden factors are"
            line += (
                f" {stays.sum()} of the {len(stays)} edges of the network stay when the leading "
                f"{factors} taken out."
            )
        lines.append(line)
    return "\n".join(lines)


def _arrows(comparison: Comparison) -> str:
    parts = [
        support_words(comparison),
        "Only these are drawn as arrows, the other edges as lines. A difference at an edge whose "
        "direction is wrong can come from a change of variance alone.",
        agreement_words(comparison),
    ]
    return " ".join(filter(None, parts))


def _accuracy(comparison: Comparison) -> str:
    if comparison.accuracy is None:
        return f"Not tried: {comparison.skipped.get('accuracy', 'not asked for')}"
    table = tables.accuracy(comparison)
    scores: dict[str, Any] = {
        row["method"]: row for row in table.to_dict("records") if row["metric"] == METRICS[0]
    }
    ours, alone = scores.pop(OURS), scores.pop(COVARIATES_ALONE, None)
    chance = comparison.accuracy.chance
    text = (
        f"{'Yes' if ours['low'] > chance else 'Not reliably'}. Balanced accuracy in unseen subjects"
        f" {_interval(ours)}, where a guess has {chance:.2f}.{_best(scores)}"
    )
    if alone is None:
        return text
    confounded = (
        " The groups differ in them: an accuracy that is no higher says nothing about the regions."
    )
    return (
        f"{text} Covariates and sites alone have {_interval(alone)}."
        f"{confounded if alone['low'] > chance else ''}"
    )


def _best(scores: Mapping[str, Any]) -> str:
    """Sentence on the best of the other classifiers."""
    if not scores:
        return ""
    best = max(scores.values(), key=lambda row: row["mean"])
    name = best["method"] if len(scores) == 1 else f"The best other classifier, {best['method']},"
    return f" {name[0].upper()}{name[1:]} has {_interval(best)}."


def _interval(row: Mapping[str, float]) -> str:
    return f"{row['mean']:.2f} ({row['low']:.2f} to {row['high']:.2f})"


def _remarks(comparison: Comparison) -> str:
    findings = [
        f"{finding.what}. {finding.action}."
        for finding in comparison.review.findings
        if finding.level == "warning"
    ]
    skipped = [
        f"{' '.join(filter(None, (step, of_groups(comparison, step))))} left out: {reason}"
        for step, reason in comparison.skipped.items()
    ]
    remarks = [" ".join(one.split()) for one in (*findings, *skipped, *comparison.warnings)]
    return "\n".join(one[:1].upper() + one[1:] for one in remarks)


def of_groups(comparison: Comparison, step: str) -> str:
    """Name the groups that a step was left out for, if it was done for others."""
    done = getattr(comparison, step) if step in ("confidence", "models") else None
    if not done:
        return ""
    lacking = [group for group in comparison.groups if group not in done]
    return f"of {', '.join(lacking)}"
