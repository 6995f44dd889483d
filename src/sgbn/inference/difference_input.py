"""What the tests of differences between groups are given, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbn.cohort import Cohort
from sgbn.exceptions import InputError, shown, warn
from sgbn.inference.nuisance import check_pairs
from sgbn.validation import check_values, is_number, read_labels

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

FEWEST = 10  # subjects of a group
FEWEST_PERMUTATIONS = 19  # with fewer no p is below 0.05
UNEQUAL = 5.0  # ratio of group sizes from which on the smaller group decides nearly alone
ALTERNATIVES = ("two-sided", "greater", "less")


@dataclass(frozen=True)
class GroupData:
    """Checked input."""

    values: Array
    regions: tuple[str, ...]
    groups: tuple[str, ...]
    codes: Codes
    covariates: Mapping[str, NDArray[Any]]
    sites: Codes | None
    pairs: Codes | None
    lobes: tuple[str, ...]


def read_groups(
    X: Any, groups: Any, covariates: Mapping[str, Any] | None, sites: Any, pairs: Any
) -> GroupData:
    """Check regions, groups and what is held fixed, from a cohort or from arrays."""
    if isinstance(X, Cohort):
        values, regions, lobes = X.values, X.regions, X.lobes
        groups = X.group if groups is None else groups
        covariates = X.covariates if covariates is None else covariates
        sites = X.site if sites is None else sites
    else:
        values, names = check_values(X)
        regions, lobes = tuple(names), ("unknown",) * len(names)
    if groups is None:
        raise InputError("there are no groups: give the group of each subject.")
    labels = read_labels(groups, len(values))
    found, codes = np.unique(labels, return_inverse=True)
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise InputError(
            f"region {regions[column]!r} is missing in row {row} (counted from 0). Fill it in "
            "(RegionImputer), or leave the subject out."
        )
    blocks = None
    if sites is not None:
        blocks = np.unique(read_labels(sites, len(values)), return_inverse=True)[1]
    return GroupData(
        np.asarray(values, float),
        tuple(regions),
        tuple(str(name) for name in found),
        codes,
        {name: np.asarray(column) for name, column in (covariates or {}).items()},
        blocks,
        None if pairs is None else check_pairs(pairs, codes),
        tuple(lobes),
    )


def check_request(n_permutations: int, alternative: str, data: GroupData) -> None:
    """Refuse what cannot be tested, and warn of what hardly can."""
    sizes = np.bincount(data.codes)
    if len(sizes) < 2:
        raise InputError(f"there is one group, {shown(data.groups[0])}: a difference needs two.")
    if sizes.min() < FEWEST:
        raise InputError(
            f"group {shown(data.groups[sizes.argmin()])} has {sizes.min()} subjects: differences "
            f"of edges need {FEWEST} or more in each group. Merge groups, or leave this one out."
        )
    if sizes.max() > UNEQUAL * sizes.min():
        warn(
            f"group {shown(data.groups[sizes.argmin()])} has {sizes.min()} subjects and "
            f"{shown(data.groups[sizes.argmax()])} {sizes.max()}: what can be found is decided by "
            "the smaller one. More subjects there would help, more elsewhere hardly."
        )
    whole = is_number(n_permutations) and n_permutations == int(n_permutations)
    if not whole or n_permutations < FEWEST_PERMUTATIONS:
        raise InputError(
            f"n_permutations={n_permutations!r}: no p can be below 0.05 with fewer than "
            f"{FEWEST_PERMUTATIONS}. Give 999 for a report, 199 for a first look."
        )
    if alternative not in ALTERNATIVES:
        raise InputError(f"alternative={alternative!r}: give one of {list(ALTERNATIVES)}.")
    if alternative != "two-sided" and len(sizes) > 2:
        raise InputError(
            f"alternative={alternative!r} with {len(sizes)} groups: a difference has a direction "
            "between two only. Compare groups by pairs."
        )
