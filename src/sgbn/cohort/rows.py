"""Readers and checks of the rows, groups and networks that functions take.

`read_sample` and `read_rows` read the rows of one group, `read_groups` the rows of all groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sgbn.cohort.cohort import Cohort, check_region
from sgbn.cohort.design import Sample
from sgbn.cohort.effects import (
    design_of,
    held_fixed,
    missing_rows,
    nuisance_of,
    with_curves_that_fit,
)
from sgbn.core.moments import constant_columns
from sgbn.core.problems import InputError, Problem
from sgbn.core.types import Array, Indices
from sgbn.core.validation import FEW_SAMPLES, check_values

NOTHING_LEFT = 1e-8  # share of a region's spread; if less of it is left, that is round-off
OR_PREPARED = "Leave these subjects out, or give prepared rows: sgbn.prepare.prepare fills gaps."


def read_sample(X: ArrayLike | Cohort, group: str | None = None) -> Sample:
    """Return rows as they were measured, with the nuisance columns of sites and covariates.

    The caller divides the rows into parts, and takes the effects of sites and covariates out of
    each part separately. Sites are balanced between parts. The rows of a person and of a family
    stay together.

    Parameters
    ----------
    X : array-like of shape (n, m), DataFrame or Cohort
        The rows. Only a Cohort has sites and covariates.
    group : str, optional
        The group to use, if a Cohort has several.
    """
    if not isinstance(X, Cohort):
        if group is not None:
            raise InputError("group.cohort").says(
                "{group=} needs a Cohort", "Give the rows of that group instead."
            )
        values, names = check_values(X)
        return Sample(values, names, np.empty((len(values), 0)))
    chosen = with_curves_that_fit(one_group(X, group))
    values, _ = check_values(chosen.values)
    design = design_of(len(values), held_fixed(chosen), chosen.site)
    # Without families, `Sample.units` are the persons.
    blocks = None if chosen.block is None else chosen.units
    return Sample(values, list(chosen.regions), design, chosen.site, chosen.persons, blocks)


def read_rows(X: ArrayLike | Cohort, group: str | None = None) -> Sample:
    """Return rows of a table, of an array, or of one group of a cohort; see `read_sample`.

    The effects of a cohort's sites and covariates are taken out within the group: the means of the
    sites and the slopes of the covariates. The mean of the group is kept. The columns of
    `Sample.nuisance` span what was taken out. Each of them cost one degree of freedom. The rows of
    a person or family are one of the `blocks`.
    """
    if not isinstance(X, Cohort):
        return read_sample(X, group)
    chosen = with_curves_that_fit(one_group(X, group))
    values, _ = check_values(chosen.values)
    n, names = len(values), list(chosen.regions)
    if chosen.site is None and not chosen.covariates:
        return Sample(values, names, np.empty((n, 0)), blocks=chosen.units)
    nuisance = nuisance_of(np.zeros(n, np.intp), held_fixed(chosen), chosen.site)
    left = nuisance.residuals(values)
    gone = left.std(axis=0) <= NOTHING_LEFT * values.std(axis=0)
    gone &= ~constant_columns(values)  # a constant region had no spread before
    if gone.any():
        raise InputError("regions.explained", regions=np.array(names)[gone].tolist()).says(
            "sites and covariates leave nothing of {regions}",
            "Exclude these regions, or give fewer covariates.",
        )
    # The first column of the basis is the mean, which is not a nuisance effect.
    return Sample(left + values.mean(axis=0), names, nuisance.basis[:, 1:], blocks=chosen.units)


def read_groups(groups: Cohort | Mapping[Any, ArrayLike]) -> dict[str, Sample]:
    """Return the rows of each group of a cohort, or of a mapping of group to table.

    Rows are read as by `read_rows`.

    Raises
    ------
    InputError
        If there are fewer than two groups, or their columns differ.
    """
    if isinstance(groups, Cohort):
        samples = {name: read_rows(groups, name) for name in groups.groups}
    elif isinstance(groups, Mapping):
        samples = {str(name): read_rows(X) for name, X in groups.items()}
    else:
        raise InputError("groups.type", type=type(groups).__name__).says(
            "groups is a {type:s}", "Give a Cohort, or a mapping of group to rows."
        )
    if len(samples) < 2:
        raise InputError("groups.few", n=len(samples)).says(
            "{n:group is/groups are} given, but a difference needs two", "Give two or more groups."
        )
    # Weights are compared by the positions of columns. So the order of the names must be the same.
    first, *more = samples
    for other in more:
        if samples[other].names != samples[first].names:
            raise InputError("groups.columns", first=first, other=other).says(
                "the groups {first} and {other} have different columns",
                "Give all groups the same columns in the same order.",
            )
    return samples


def refuse_cohort(X: Any) -> None:
    """Raise InputError if X is a cohort."""
    if isinstance(X, Cohort):
        raise InputError("cohort.estimator").says(
            "X is a Cohort, but estimators take arrays and tables",
            "Give cohort.values and cohort.group, or the rows of one group: "
            "cohort.of_group('control').",
        )


def check_groups_vary(
    values: Array, codes: Indices, groups: Sequence[Any], names: Sequence[str]
) -> None:
    """Raise InputError for regions that are constant in a group.

    `codes` holds the position in `groups` of each row's group.
    """
    # Each group is checked: over all rows a region may vary only because group means differ.
    for code, group in enumerate(groups):
        check_varies(values[codes == code], names, group)


def check_varies(values: Array, names: Sequence[str], group: Any) -> None:
    """Raise InputError for regions that have one value in all of these rows of a group."""
    constant = [names[k] for k in np.flatnonzero(constant_columns(values)).tolist()]
    if constant:
        n = len(values)
        raise InputError("regions.constant", regions=constant, n=n, group=group).says(
            "{regions:region has/regions have} the same value in {n:row} of the group {group}: "
            "{regions}",
            "Leave these regions out.",
        )


def region_index(name: str, names: list[str] | tuple[str, ...]) -> int:
    """Return the position of a region among the names; raise InputError for an unknown name."""
    check_region(name, names)
    return list(names).index(name)


def warn_about_few(n: int) -> None:
    """Warn if a sample is too small for useful intervals."""
    if n < FEW_SAMPLES:
        Problem("intervals.few", n=n, least=FEW_SAMPLES).warn(
            "a group or sample of {n:subject} is too small for useful intervals",
            "Add subjects, or join groups, so that there are {least} or more.",
        )


def one_group(cohort: Cohort, group: str | None) -> Cohort:
    """Return the subjects of one group; raise InputError for a missing cell or covariate."""
    if group is None and len(cohort.groups) > 1:
        raise InputError("group.several", groups=cohort.groups).says(
            "the cohort has the groups {groups}", "Name one of them ({group=})."
        )
    chosen = cohort if group is None else cohort.subset(groups=[group])
    gaps = np.argwhere(np.isnan(chosen.values))
    if len(gaps):
        subject, region = chosen.ids[gaps[0, 0]], chosen.regions[gaps[0, 1]]
        raise InputError("cells.gaps", region=region, subject=subject, n=len(gaps)).says(
            "region {region} of {subject} is missing ({n:such cell})", OR_PREPARED
        )
    for name, column in chosen.covariates.items():
        missing = missing_rows(column)
        if missing:
            subjects = [chosen.ids[row] for row in missing]
            raise InputError("covariate.gaps", name=name, subjects=subjects).says(
                "covariate {name} of {subjects} is missing", OR_PREPARED
            )
    return chosen
