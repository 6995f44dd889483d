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
USUAL_ARROWS = (
    "On brain tables of 250 subjects, three in four supported directions came back in 250 other "
    "subjects, and none turned round. Of 100 subjects hardly any direction is supported."
)


def support_words(comparison: Comparison) -> str:
    """Say how many directions are supported, and what this means."""
    if not comparison.confidence:
        why = comparison.skipped.get("confidence", "half samples were not asked for.")
        return f"No direction is supported: {why}"
    sizes = {
        group: np.count_nonzero(learner.coef_)
        for group, learner in comparison.learners.items()
        if group in comparison.confidence
    }
    parts = [f"{comparison.supported[group].sum()} of {n} in {group}" for group, n in sizes.items()]
    edges = "edge" if next(iter(sizes.values())) == 1 else "edges"
    parts[0] = parts[0].replace(" in ", f" {edges} in ", 1)
    adjacency, direction = (f"{100 * share:.3g}%" for share in min_shares(comparison))
    said = (
        f"The direction of {joined(parts)} is supported: at least {adjacency} of the networks of "
        f"half samples join the pair, and at least {direction} of these have this direction."
    )
    without = [group for group in comparison.groups if group not in comparison.confidence]
    if without:
        said += f" Of {joined(without)} there are too few subjects for half samples."
    return said + _shadow_words(comparison)


def trust_words(comparison: Comparison) -> str:
    """Say in short how far networks and arrows can be trusted: what the first screen has room for.

    `support_words` and `agreement_words` say it at length.
    """
    if not comparison.confidence:
        return support_words(comparison)
    arrows = [
        f"{comparison.supported[group].sum()} of {np.count_nonzero(learner.coef_)} in {group}"
        for group, learner in comparison.learners.items()
        if group in comparison.confidence
    ]
    shares = [
        f"{confidence.agreement.edges:.0%} in {group}"
        for group, confidence in comparison.confidence.items()
        if not math.isnan(confidence.agreement.edges)
    ]
    said = (
        f"Directions that half samples support: {joined(arrows)}; the other edges may point either "
        "way, and are drawn as lines."
    )
    without = [group for group in comparison.groups if group not in comparison.confidence]
    if without:
        said += f" Of {joined(without)} there are too few subjects to say."
    if shares:
        said += f" Edges that come back in the other half of the subjects: {joined(shares)}."
    shadows = [group for group, one in comparison.models.items() if one.edges_may_be_shadows]
    if shadows:
        said += (
            f" In {joined(shadows)} hidden common causes predict unseen subjects better than the "
            "network: do not rely on single edges."
        )
    return said


def _shadow_words(comparison: Comparison) -> str:
    """Say which arrows half samples agree on, and hidden factors explain."""
    counts = {
        group: (comparison.agreed[group] & ~comparison.supported[group]).sum()
        for group in comparison.confidence
    }
    parts = [f"{count} in {group}" for group, count in counts.items() if count]
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
        found = confidence.agreement
        if math.isnan(found.edges):
            continue
        text = f"{found.edges:.0%} of the edges of half of {group} ({found.n_edges:.0f} on average)"
        if not math.isnan(found.arrows):
            text += (
                f" and {found.arrows:.0%} of the directions that this half is sure of "
                f"({found.n_arrows:.1f})"
            )
        parts.append(text)
    if not parts:
        return ""
    low, high = (f"{share:.0%}" for share in USUAL_EDGES)
    return (
        f"Complementary halves of these data agree in part: the other half has {'; '.join(parts)}. "
        f"On brain tables of 170 to 530 subjects, {low} to {high} of the edges are usual. "
        f"{USUAL_ARROWS}"
    )


def min_shares(comparison: Comparison) -> tuple[float, float]:
    """Shares of the networks that join a pair, and of these with a direction, to support it."""
    learner = comparison.learners[comparison.reference]
    return (
        float(getattr(learner, "min_adjacency", MIN_ADJACENCY)),
        float(getattr(learner, "min_direction", MIN_DIRECTION)),
    )


def joined(names: Sequence[str]) -> str:
    """Names as a sentence lists them."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
