"""Tables about the time series of the subjects."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.series import SeriesCohort
from sgbn.core.types import Array
from sgbn.learn.base import LearnedNetwork
from sgbn.learn.series import SeriesSGBN
from sgbn.prepare.series_review import series_quality
from sgbn.write.tables import to_frame

if TYPE_CHECKING:
    from sgbn.comparison.result import Comparison

DESCRIBED = {"volumes": "volumes", "effective_volumes": "effective volumes"}  # titles in Table 1


def series_table(comparison: Comparison) -> pd.DataFrame:
    """Return one row per subject, in the order of the cohort.

    The columns are subject, group, the numbers of `sgbn.prepare.series_quality`, and ar_order (the
    order of the autoregressive filter). The effective volumes come from the learned networks.
    """
    cohort = cast(SeriesCohort, comparison.cohort)
    table = to_frame(series_quality(cohort)).rename(columns={"subject_id": "subject"})
    table.insert(1, "group", np.asarray(cohort.group))
    table["effective_volumes"] = _of_moments(comparison, "n")
    table["ar_order"] = _of_moments(comparison, "ar_order").astype(int)
    # Columns without numbers are dropped, such as motion if it is not known.
    return table.drop(columns="empty_regions").dropna(axis="columns", how="all")


def with_volumes(comparison: Comparison, table: pd.DataFrame) -> Cohort:
    """Return the cohort with the numbers of volumes as covariates, for Table 1.

    The numbers come from a `series_table`. They do not replace a covariate of the same name.
    Numbers that are the same in all subjects are left out.
    """
    volumes = {
        title: table[name].to_numpy(float)
        for name, title in DESCRIBED.items()
        # If all numbers are equal, a test of the groups would divide 0 by 0.
        if table[name].nunique() > 1
    }
    cohort = comparison.cohort
    return replace(cohort, covariates={**volumes, **cohort.covariates})


def with_subjects_support(table: pd.DataFrame, learner: LearnedNetwork) -> pd.DataFrame:
    """Return a table of edges with their support by subjects, the largest weights first.

    The new columns are weight_std, support_share (the share of subjects that support the edge) and
    survives (whether the edge stays without the subjects that support it most). Weights of series
    are per standard deviation already, so weight_std is the weight.
    """
    fitted = cast(SeriesSGBN, learner)
    place = {name: k for k, name in enumerate(fitted.network_.names)}
    ends = [place[i] for i in table["source"]], [place[j] for j in table["target"]]
    supported = table.assign(
        weight_std=table["weight"],
        support_share=fitted.support_share_[ends],
        survives=fitted.survives_[ends],
    )
    by_size = supported["weight"].abs().sort_values(ascending=False, kind="stable")
    return supported.loc[by_size.index].reset_index(drop=True)


def _of_moments(comparison: Comparison, name: str) -> Array:
    """Return one number per subject from the moments of the learned networks."""
    labels = np.asarray(comparison.cohort.group)
    numbers = np.empty(len(labels))
    for group, learner in comparison.learners.items():
        # The subjects of a learner have the order of the cohort.
        numbers[labels == group] = getattr(cast(SeriesSGBN, learner).moments_, name)
    return numbers
