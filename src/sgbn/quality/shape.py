"""Review of prepared regions: subjects that lie far out, and dependences that ranks show better."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sgbn.cohort import Cohort
from sgbn.exceptions import listed
from sgbn.quality.findings import Finding, parts
from sgbn.structure.robust import MOST_FAR, OUTLIER_SD, far_rows, score_gain

TRIMMED = (
    "They are left out of networks, half samples and tests of differences, and kept in all other "
    "steps (outliers='keep', --outliers keep: in these too)"
)
TESTED = (
    "They are left out of tests of differences, and kept in all other steps (outliers='keep', "
    "--outliers keep: in these too)"
)
KEPT = (
    "They are kept (outliers='trim', --outliers trim: left out of networks, half samples and tests "
    "of differences)"
)
ACTIONS = {"trim": TRIMMED, "tests": TESTED, "keep": KEPT}
TOO_MANY = "So many are no outliers, and are kept: compare them as a group of their own"
HELPFUL = (
    "Learn the graphs from normal scores (transform='normal-scores', --transform normal-scores)"
)
HARMFUL = "Learn the graphs from the values as they are (transform='none', --transform none)"


def review_prepared(
    cohort: Cohort, outliers: str = "trim", transform: str = "none"
) -> list[Finding]:
    """Look at regions that are ready for networks: nothing is missing, covariates are out.

    Parameters
    ----------
    cohort : Cohort
        With prepared values; each group is looked at by itself.
    outliers : {"trim", "tests", "keep"}
        What is done about subjects that lie far out, for the words of the finding: left out of
        networks and tests of differences, of these tests only, or kept.
    transform : {"none", "normal-scores"}
        What graphs are learned from.
    """
    return [*_far_out(cohort, outliers), *_scores(cohort, transform)]


def _far_out(cohort: Cohort, outliers: str) -> Iterator[Finding]:
    for rows in parts(cohort):
        far = np.flatnonzero(rows)[far_rows(cohort.values[rows])]
        if not far.size:
            continue
        action = ACTIONS[outliers]
        if far.size > MOST_FAR * rows.sum():
            action = TOO_MANY
        yield Finding(
            "warning",
            f"{far.size} of {rows.sum()} subjects{_of_group(cohort, rows)} lie far from the "
            f"others, more than {OUTLIER_SD:g} robust standard deviations: "
            f"{listed([cohort.ids[k] for k in far])}",
            action,
        )


def _scores(cohort: Cohort, transform: str) -> Iterator[Finding]:
    for rows in parts(cohort):
        values = cohort.values[rows]
        gain = score_gain(values[~far_rows(values)])
        better, worse = gain.helps, gain.harms
        if better and transform == "none":
            what, action = "more", HELPFUL
        elif worse and transform == "normal-scores":
            what, action = "less", HARMFUL
        else:
            continue
        yield Finding(
            "note" if better else "warning",
            f"the ranks of the regions{_of_group(cohort, rows)} depend on each other "
            f"{abs(gain.share):.0%} {what} than their values do",
            action,
        )


def _of_group(cohort: Cohort, rows: Any) -> str:
    if cohort.group is None:
        return ""
    return f" of the group {str(cohort.group[rows][0])!r}"
