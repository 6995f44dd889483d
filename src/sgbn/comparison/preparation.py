"""From a reviewed cohort to the regions that networks are learned from."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sgbn.cohort import Cohort
from sgbn.exceptions import InputError, listed
from sgbn.io import cohort_table
from sgbn.moments import constant_columns
from sgbn.preprocessing import make_preparation
from sgbn.quality import Review


def prepare(reviewed: Review) -> pd.DataFrame:
    """Make the regions that the networks of a reviewed cohort are learned from.

    Raises
    ------
    InputError
        If the groups cannot be compared.
    """
    return prepared_regions(reviewed.require())


def prepared_regions(usable: Cohort) -> pd.DataFrame:
    """Impute, harmonise sites and regress covariates out, within the groups.

    Raises
    ------
    InputError
        If nothing is left of a region.
    """
    table = cohort_table(usable)
    regions = make_preparation(usable).fit_transform(table, usable.group)
    for group in usable.groups:
        rows = usable.group == group
        constant = regions.columns[constant_columns(regions[rows].to_numpy())]
        if len(constant):
            raise InputError(
                f"nothing is left of {listed(list(constant))} in the group {group!r} once sites "
                "and covariates are taken out. Exclude these regions, or name fewer covariates."
            )
    return regions


def imputed_cohort(cohort: Cohort) -> Cohort:
    """Cohort whose gaps are filled in as `prepare` does, with effects of sites and covariates."""
    regions = cohort_table(cohort)
    if np.isnan(cohort.values).any():
        regions = make_preparation(cohort).named_steps["impute"].fit_transform(regions)
    return prepared_cohort(cohort, regions)


def prepared_cohort(cohort: Cohort, regions: pd.DataFrame) -> Cohort:
    """Cohort with prepared regions, and covariates without gaps.

    Its covariates and sites serve to hold their effects fixed in tests once more. A number that is
    missing becomes the mean and a missing label one of its own: the effects themselves have been
    taken out before.
    """
    covariates = {name: _filled(column) for name, column in cohort.covariates.items()}
    values = regions[list(cohort.regions)].to_numpy()
    return replace(cohort, values=values, covariates=covariates)


def _filled(column: NDArray[Any]) -> NDArray[Any]:
    if column.dtype.kind == "f":
        return np.where(np.isnan(column), np.nanmean(column), column)
    return np.where(column == "", "unknown", column)


def content(cohort: Cohort) -> bytes:
    """Everything of a cohort that results depend on."""
    columns = [("group", cohort.group), ("site", cohort.site), *cohort.covariates.items()]
    labels = {"pair": cohort.pair, "person": cohort.person, "block": cohort.block}
    columns += [(name, one) for name, one in labels.items() if one is not None]
    beside = [(name, None if one is None else one.tolist()) for name, one in columns]
    return cohort.values.tobytes() + json.dumps([cohort.regions, beside]).encode()


def digest(cohort: Cohort) -> str:
    """Short name of the content of a cohort, to tell two tables apart."""
    return sha256(content(cohort)).hexdigest()[:16]
