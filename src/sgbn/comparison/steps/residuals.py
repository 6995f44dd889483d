"""Residual checks of the network of each group, as a table and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sgbn.comparison.names import called
from sgbn.inference.intervals import FEWEST_ROWS, ResidualChecks, residual_checks
from sgbn.write.tables import frame_of

if TYPE_CHECKING:
    import pandas as pd

    from sgbn.comparison.result import Comparison


# Smaller shares are not reported, because a few cases are expected and change no result.
MIN_SHARE_NOT_GAUSSIAN = 0.1  # share of the regions of a group
MIN_SHARE_CURVED = 0.05  # share of the edges of a network


def residual_table(comparison: Comparison) -> pd.DataFrame:
    """Return the residual checks of each group. Groups with too few subjects have no row.

    Returns
    -------
    DataFrame
        One row per group, with these columns:

        - group, rows, regions, edges: the group and its numbers of subjects, regions and edges.
        - not_gaussian: the number of regions whose residuals are not Gaussian at the level, after
          Holm's correction.
        - skewness, skewed_region: the skewness with the largest absolute value, and its region.
        - kurtosis, heavy_region: the kurtosis with the largest absolute value, and its region.
        - curved: the number of edges that are curved at the level, after Holm's correction.
        - far, expected_far: the number of residuals of more than 4 robust standard deviations, and
          the number that Gaussian data would have.

        The tests treat rows as independent, even the rows of one person or family.
    """
    rows = []
    for group, learner in comparison.learners.items():
        # Outliers are left out, because a single one makes any residual look far from Gaussian.
        values = comparison.kept(group).values
        most_parents = int((learner.coef_ != 0).sum(axis=0).max(initial=0))
        # With fewer rows `residual_checks` raises an error, which would end the whole comparison.
        if len(values) < max(FEWEST_ROWS, most_parents + 3):
            continue
        checks = residual_checks(values, learner.coef_ != 0)
        rows.append({"group": group, "rows": len(values)} | _row(comparison, checks))
    return frame_of(rows)


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
    """Return one line per group whose residuals do not fit the model, or "" if all fit."""
    lines = []
    for row in comparison.tables.residuals.to_dict("records"):
        problems = []
        if row["not_gaussian"] > MIN_SHARE_NOT_GAUSSIAN * row["regions"]:
            problems.append(
                f"the residuals of {row['not_gaussian']} of {row['regions']} regions are not "
                "Gaussian"
            )
        if row["curved"] > MIN_SHARE_CURVED * row["edges"]:
            problems.append(f"{row['curved']} of {row['edges']} edges are curved, not straight")
        if problems:
            lines.append(f"{called(row['group'])}: {' and '.join(problems)}.")
    if not lines:
        return ""
    cohort = comparison.cohort
    if cohort.person is not None or cohort.block is not None:
        of = "person" if cohort.block is None else "family"
        lines.append(
            f"These checks treat the rows of one {of} as independent. If these rows are alike, the "
            "checks find too much."
        )
    lines.append(
        "Tests by permutations and half samples allow for this, but likelihoods and accuracies of "
        "the networks may be worse. Compare with the results of --transform normal-scores."
    )
    return "\n".join(lines)
