"""Residual checks of the network of each group: a table, and a sentence where something is off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sgbn.comparison.support import called
from sgbn.inference.residual_checks import FEWEST_ROWS, ResidualChecks, residual_checks

if TYPE_CHECKING:
    from sgbn.comparison.result import Comparison

# Smaller shares are not reported: a few finds are expected, and change no result.
MIN_SHARE_NOT_GAUSSIAN = 0.1  # of the regions of a group
MIN_SHARE_CURVED = 0.05  # of the edges of a network


def residual_table(comparison: Comparison) -> pd.DataFrame:
    """One row per group; empty if a group is too small to look at residuals.

    Columns group, rows, regions, not_gaussian (regions at the level, after Holm's correction),
    skewness and kurtosis (the largest in size), skewed_region and heavy_region (where they are),
    edges, curved (edges at the level, after Holm's correction), far and expected_far (residuals
    beyond 4 robust standard deviations, and how many Gaussian data have). The tests take rows as
    independent, also those of one person or family.
    """
    rows = []
    for group, learner in comparison.learners.items():
        # without outliers: a single one makes any residual look far from Gaussian
        values = comparison.kept(group).values
        most_parents = int((learner.coef_ != 0).sum(axis=0).max(initial=0))
        # `residual_checks` would refuse fewer rows, and with them the whole comparison
        if len(values) < max(FEWEST_ROWS, most_parents + 3):
            continue
        checks = residual_checks(values, learner.coef_ != 0)
        rows.append({"group": group, "rows": len(values)} | _row(comparison, checks))
    return pd.DataFrame(rows)


def _row(comparison: Comparison, checks: ResidualChecks) -> dict[str, Any]:
    regions, level = comparison.cohort.regions, comparison.settings.level
    skewed = int(np.abs(checks.skewness).argmax())
    heavy = int(np.abs(checks.kurtosis).argmax())
    return {
        "regions": len(regions),
        "not_gaussian": int((checks.p_gaussian <= level).sum()),
        "skewness": float(checks.skewness[skewed]),
        "skewed_region": regions[skewed],
        "kurtosis": float(checks.kurtosis[heavy]),
        "heavy_region": regions[heavy],
        "edges": len(checks.edges),
        "curved": int((checks.p_curved <= level).sum()),
        "far": checks.n_far,
        "expected_far": checks.expected_far,
    }


def residual_words(comparison: Comparison) -> str:
    """One line per group whose residuals are off; "" if none are."""
    lines = []
    for row in comparison.tables.residuals.to_dict("records"):
        off = []
        if row["not_gaussian"] > MIN_SHARE_NOT_GAUSSIAN * row["regions"]:
            off.append(
                f"the residuals of {row['not_gaussian']} of {row['regions']} regions are not "
                "Gaussian"
            )
        if row["curved"] > MIN_SHARE_CURVED * row["edges"]:
            off.append(f"{row['curved']} of {row['edges']} edges are bent, not straight")
        if off:
            lines.append(f"{called(row['group'])}: {' and '.join(off)}.")
    if not lines:
        return ""
    cohort = comparison.cohort
    if cohort.person is not None or cohort.block is not None:
        of = "person" if cohort.block is None else "family"
        lines.append(
            f"These checks take the rows of one {of} as independent. Where these rows are alike, "
            "the checks find too much."
        )
    lines.append(
        "Tests by permutations and half samples allow for this; likelihoods and accuracies of the "
        "networks may suffer. Compare with --transform normal-scores."
    )
    return "\n".join(lines)
