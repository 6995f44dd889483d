"""Review of prepared regions: outlying subjects, and dependences that ranks show better."""

from __future__ import annotations

import warnings

import numpy as np

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.design import group_sample
from sgbn.cohort.effects import without_nuisance
from sgbn.core.exceptions import DataWarning, listed
from sgbn.core.moments import one_blas_thread
from sgbn.core.types import Array
from sgbn.quality.findings import Finding
from sgbn.structure.robust import MAX_SHARE_FAR, OUTLIER_SD, ScoreGain, far_rows, score_gain

TRIMMED = (
    "Such subjects are left out of networks, half samples and tests of differences, and kept in "
    "all other steps. To keep them everywhere, give outliers='keep' (--outliers keep)"
)
TESTED = (
    "Such subjects are left out of tests of differences, and kept in all other steps. To keep them "
    "everywhere, give outliers='keep' (--outliers keep)"
)
KEPT = (
    "Such subjects are kept. To leave them out of networks, half samples and tests of differences, "
    "give outliers='trim' (--outliers trim)"
)
ACTIONS = {"trim": TRIMMED, "tests": TESTED, "keep": KEPT}
KEPT_AS_GROUP = (
    "These are too many to be outliers, and are kept. Compare them as a group of their own"
)
HELPFUL = (
    "Learn the graphs from normal scores (transform='normal-scores', --transform normal-scores)"
)
HARMFUL = "Learn the graphs from the values as they are (transform='none', --transform none)"


def review_prepared(
    cohort: Cohort, outliers: str = "trim", transform: str = "none"
) -> list[Finding]:
    """Look for outlying subjects in prepared regions, and check whether ranks would help.

    Effects of covariates and sites are removed from each group once more, as in `SGBNEnsemble`, so
    that this review and the learner find the same outliers.

    Parameters
    ----------
    cohort : Cohort
        The result of `prepare`: no cell is missing, and covariates are regressed out. Each group is
        checked by itself.
    outliers : {"trim", "tests", "keep"}
        What the analysis does with outlying subjects: it leaves them out of networks and tests of
        differences, or only out of these tests, or it keeps them. The finding reports this.
    transform : {"none", "normal-scores"}
        Whether the analysis learns graphs from the values or from their normal scores.
    """
    far_out, scores = [], []
    for group in cohort.groups or (None,):
        values = _learned_from(cohort, group)
        far = far_rows(values)
        # Without outliers, because outliers alone would make ranks look better than values.
        gain = score_gain(values[~far])
        of_group = "" if group is None else f" of the group {group!r}"
        if far.any():
            ids = cohort.ids if group is None else np.array(cohort.ids)[cohort.group == group]
            far_out.append(_far_out(np.array(ids)[far].tolist(), len(far), of_group, outliers))
        if gain.helps and transform == "none":
            scores.append(Finding("note", _depends(gain, of_group, "more"), HELPFUL))
        elif gain.harms and transform == "normal-scores":
            scores.append(Finding("warning", _depends(gain, of_group, "less"), HARMFUL))
    return far_out + scores


def _learned_from(cohort: Cohort, group: str | None) -> Array:
    """Return the rows that the network of a group is learned from, without nuisance effects."""
    if group is None:
        return cohort.values
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore", DataWarning)  # the same warnings come with the networks
        sample = group_sample(cohort, group)
        return without_nuisance(sample.values, sample.nuisance)[0]


def _far_out(ids: list[str], n: int, of_group: str, outliers: str) -> Finding:
    return Finding(
        "warning",
        f"{len(ids)} of {n} subjects{of_group} {'is' if len(ids) == 1 else 'are'} far from the "
        f"others, by more than {OUTLIER_SD:g} robust standard deviations: {listed(ids)}",
        KEPT_AS_GROUP if len(ids) > MAX_SHARE_FAR * n else ACTIONS[outliers],
    )


def _depends(gain: ScoreGain, of_group: str, what: str) -> str:
    return (
        f"the ranks of the regions{of_group} depend on each other {abs(gain.share):.0%} {what} "
        "than their values do"
    )
