"""Sentences about the supported arrows of a comparison, for the terminal and the report.

benchmarks/results/replication.md shows how well halves of other data agree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sgbn.learn.confidence import MIN_ADJACENCY, MIN_DIRECTION

if TYPE_CHECKING:
    from sgbn.comparison.result import Comparison

# The lowest and highest share of the edges of one half of the subjects that the other half joins
# too, in the age groups of IXI and the controls of ABIDE
# (benchmarks/results/replication_same_rows.md).
USUAL_EDGES = (0.40, 0.53)
UNSEEN = (  # the numbers are from benchmarks/results/series-harder.md
    " Half samples cannot detect inputs that all subjects share and that no region measures: with "
    "two such inputs and 20 simulated regions, 37% of the supported arrows were wrong."
)
USUAL_ARROWS = (  # the numbers are from benchmarks/results/replication.md
    "On brain tables of 250 subjects, three in four supported directions came back in 250 other "
    "subjects, and none was supported in the opposite direction. With 100 subjects, hardly any "
    "direction is supported."
)


def support_words(comparison: Comparison) -> str:
    """Say how many directions are supported, and what this means."""
    if not comparison.confidence:
        why = comparison.skipped.get("confidence", "half samples were not asked for.")
        return f"No direction is supported: {why}"
    parts = _supported_counts(comparison)
    # Only the first count says "edges": "3 of 20 edges in CTR and 1 of 18 in SCZ".
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
    """Say in short how far networks and arrows can be trusted, for the first screen.

    `support_words` and `agreement_words` give the details.
    """
    if not comparison.confidence:
        return support_words(comparison)  # it is short in this case
    text = (
        "Edges with a direction that half samples support: "
        f"{joined(_supported_counts(comparison))}. The other edges may point either way, and are "
        f"drawn as lines.{_too_few_words(comparison)}"
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
            f" In {joined(shadows)}, hidden common causes predict unseen subjects better than the "
            "network: do not rely on single edges."
        )
    chance = [called(group) for group, compared in models if compared.edges_may_be_chance]
    if chance:
        text += (
            f" In {joined(chance)}, the network does not clearly predict unseen subjects better "
            "than independent regions do: its edges may be due to chance."
        )
    return text


def _supported_counts(comparison: Comparison) -> list[str]:
    """Return the count of supported directions in words, for each group with half samples."""
    sizes = {
        group: np.count_nonzero(learner.coef_) for group, learner in comparison.learners.items()
    }
    return [
        f"{comparison.supported[group].sum()} of {n} in {called(group)}"
        for group, n in sizes.items()
        # Small groups have no half samples. `_too_few_words` names them.
        if group in comparison.confidence
    ]


def _too_few_words(comparison: Comparison) -> str:
    """Name the groups that are too small for half samples. Return "" if there are none."""
    without = [called(group) for group in comparison.groups if group not in comparison.confidence]
    if not without:
        return ""
    verb = "has" if len(without) == 1 else "have"
    return f" {joined(without)} {verb} too few subjects for half samples."


def _shadow_words(comparison: Comparison) -> str:
    """Count the directions on which half samples agree, but which hidden factors explain."""
    counts = {
        group: (comparison.agreed[group] & ~comparison.supported[group]).sum()
        for group in comparison.confidence
    }
    parts = [f"{count} in {called(group)}" for group, count in counts.items() if count]
    if not parts:
        return ""
    return (
        f" Half samples agree on further directions ({joined(parts)}). These do not count, because "
        "hidden factors predict better than the network and these edges disappear when the factors "
        "are taken out."
    )


def agreement_words(comparison: Comparison) -> str:
    """Say how well complementary halves of these data agree, and what is usual."""
    sentences = []
    for group, confidence in comparison.confidence.items():
        agreement = confidence.agreement
        if math.isnan(agreement.edges):
            continue  # the halves have no edges to agree on
        sentences.append(
            f"One half of {called(group)} joins {agreement.n_edges:.0f} pairs of regions on "
            f"average, and the other half joins {agreement.edges:.0%} of these too."
        )
        if not math.isnan(agreement.arrows):
            # A half of series has one network, and a half of a table has many.
            half = "The network of one half has" if comparison.of_series else "One half is sure of"
            sentences.append(
                f"{half} {agreement.n_arrows:.1f} directions on average, and the other half has "
                f"{agreement.arrows:.0%} of these too."
            )
    if not sentences:
        return ""
    return (
        f"Complementary halves of these data were compared. {' '.join(sentences)}"
        f"{UNSEEN if comparison.of_series else _usual_words()}"
    )


def _usual_words() -> str:
    """Say how well halves of other tables agree."""
    low, high = (f"{share:.0%}" for share in USUAL_EDGES)
    return (
        f" On brain tables of 170 to 530 subjects, the other half usually joins {low} to {high} of "
        f"the pairs. {USUAL_ARROWS}"
    )


def min_shares(comparison: Comparison) -> tuple[float, float]:
    """Return the two shares that a direction needs to be supported.

    The first is the share of the networks that join the pair. The second is the share of these
    networks that have the direction.
    """
    learner = comparison.learners[comparison.reference]  # all groups have the same thresholds
    return (
        float(getattr(learner, "min_adjacency", MIN_ADJACENCY)),
        float(getattr(learner, "min_direction", MIN_DIRECTION)),
    )


def called(group: str) -> str:
    """Return the name of a group in a sentence: "group 1" if the name is the number 1."""
    return f"group {group}" if group.replace(".", "", 1).isdigit() else group


def joined(names: Sequence[str]) -> str:
    """Join names with commas and "and", as in a sentence."""
    # `filter` drops the empty first part of a single name, so that it has no "and".
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
