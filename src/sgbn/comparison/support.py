"""Which arrows of a comparison are supported, in words: said once, for the terminal and the page.

How well halves agree elsewhere is in benchmarks/results/replication.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sgbn.structure.ensemble.confidence import MIN_ADJACENCY, MIN_DIRECTION

if TYPE_CHECKING:
    from sgbn.comparison.result import Comparison

# Share of the edges of one half of the subjects that the other half joins too, in the age groups of
# IXI and the controls of ABIDE (benchmarks/results/replication_same_rows.md).
USUAL_EDGES = (0.40, 0.53)
UNSEEN = (  # numbers of benchmarks/results/series-harder.md
    " Half samples cannot see inputs that all subjects share and no region measures: with two of "
    "them among 20 simulated regions, 37% of the supported arrows were wrong."
)
USUAL_ARROWS = (  # numbers of benchmarks/results/replication.md
    "On brain tables of 250 subjects, three in four supported directions came back in 250 other "
    "subjects, and none turned round. Of 100 subjects hardly any direction is supported."
)


def support_words(comparison: Comparison) -> str:
    """Say how many directions are supported, and what this means."""
    if not comparison.confidence:
        why = comparison.skipped.get("confidence", "half samples were not asked for.")
        return f"No direction is supported: {why}"
    parts = _supported_counts(comparison)
    # the first count names what is counted: "3 of 20 edges in CTR and 1 of 18 in SCZ"
    edges = "edge" if " of 1 in " in parts[0] else "edges"
    parts[0] = parts[0].replace(" in ", f" {edges} in ", 1)
    adjacency, direction = (f"{100 * share:.3g}%" for share in min_shares(comparison))
    halves = "half samples of the subjects" if comparison.of_series else "half samples"
    return (
        f"The direction of {joined(parts)} is supported: at least {adjacency} of the networks of "
        f"{halves} join the pair, and at least {direction} of these have this direction."
        f"{_too_few_words(comparison)}{_shadow_words(comparison)}"
    )


def trust_words(comparison: Comparison) -> str:
    """Say in short how far networks and arrows can be trusted: what the first screen has room for.

    `support_words` and `agreement_words` say it at length.
    """
    if not comparison.confidence:
        return support_words(comparison)  # it is short then
    text = (
        f"Directions that half samples support: {joined(_supported_counts(comparison))}; the other "
        f"edges may point either way, and are drawn as lines.{_too_few_words(comparison)}"
    )
    shares = [
        f"{confidence.agreement.edges:.0%} in {called(group)}"
        for group, confidence in comparison.confidence.items()
        if not math.isnan(confidence.agreement.edges)
    ]
    if shares:
        text += f" Edges that come back in the other half of the subjects: {joined(shares)}."
    models = comparison.models.items()
    shadows = [called(group) for group, compared in models if compared.edges_may_be_shadows]
    if shadows:
        text += (
            f" In {joined(shadows)} hidden common causes predict unseen subjects better than the "
            "network: do not rely on single edges."
        )
    chance = [called(group) for group, compared in models if compared.edges_may_be_chance]
    if chance:
        text += (
            f" In {joined(chance)} the network does not clearly predict unseen subjects better "
            "than independent regions do: its edges may be due to chance."
        )
    return text


def _supported_counts(comparison: Comparison) -> list[str]:
    """Count the supported directions among the edges of each group that has half samples."""
    sizes = {
        group: np.count_nonzero(learner.coef_) for group, learner in comparison.learners.items()
    }
    return [
        f"{comparison.supported[group].sum()} of {n} in {called(group)}"
        for group, n in sizes.items()
        # Small groups have no half samples: `_too_few_words` names them.
        if group in comparison.confidence
    ]


def _too_few_words(comparison: Comparison) -> str:
    """Name the groups that are too small for half samples; "" if none is."""
    without = [called(group) for group in comparison.groups if group not in comparison.confidence]
    return f" Of {joined(without)} there are too few subjects for half samples." if without else ""


def _shadow_words(comparison: Comparison) -> str:
    """Say which arrows half samples agree on, and hidden factors explain."""
    counts = {
        group: (comparison.agreed[group] & ~comparison.supported[group]).sum()
        for group in comparison.confidence
    }
    parts = [f"{count} in {called(group)}" for group, count in counts.items() if count]
    if not parts:
        return ""
    return (
        f" Half samples agree on further directions ({joined(parts)}). These do not count: hidden "
        "factors predict better than the network, and the edges go once these are taken out."
    )


def agreement_words(comparison: Comparison) -> str:
    """Say how well complementary halves of these very data agree, beside what is usual."""
    parts = []
    for group, confidence in comparison.confidence.items():
        agreement = confidence.agreement
        if math.isnan(agreement.edges):
            continue  # halves without edges agree on nothing
        half = f"half of {called(group)} ({agreement.n_edges:.0f} on average)"
        text = f"{agreement.edges:.0%} of the edges of {half}"
        if not math.isnan(agreement.arrows):
            # one network per half of series, many of tables
            which = "of its network" if comparison.of_series else "that this half is sure of"
            text += (
                f" and {agreement.arrows:.0%} of the directions {which} ({agreement.n_arrows:.1f})"
            )
        parts.append(text)
    if not parts:
        return ""
    return (
        f"Complementary halves of these data agree in part: the other half has {'; '.join(parts)}."
        f"{UNSEEN if comparison.of_series else _usual_words()}"
    )


def _usual_words() -> str:
    """Say how well halves of tables agree elsewhere."""
    low, high = (f"{share:.0%}" for share in USUAL_EDGES)
    return (
        f" On brain tables of 170 to 530 subjects, {low} to {high} of the edges are usual. "
        f"{USUAL_ARROWS}"
    )


def min_shares(comparison: Comparison) -> tuple[float, float]:
    """Shares of the networks that join a pair, and of these with a direction, to support it."""
    learner = comparison.learners[comparison.reference]  # all groups have the same thresholds
    return (
        float(getattr(learner, "min_adjacency", MIN_ADJACENCY)),
        float(getattr(learner, "min_direction", MIN_DIRECTION)),
    )


def called(group: str) -> str:
    """Name of a group in a sentence: "group 1" if it is a number, which could look like a count."""
    return f"group {group}" if group.replace(".", "", 1).isdigit() else group


def joined(names: Sequence[str]) -> str:
    """Names as a sentence lists them."""
    # A single name has nothing before it, and no "and".
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
