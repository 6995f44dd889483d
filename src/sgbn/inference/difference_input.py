"""What the tests of differences between groups are given, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgbn.cohort import Cohort
from sgbn.exceptions import InputError, did_you_mean, shown, warn
from sgbn.inference.nuisance import check_pairs, log_exchanges, missing_rows
from sgbn.inference.rows import check_count
from sgbn.validation import check_values, is_number, read_labels

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

FEWEST = 10  # subjects of a group
FEWEST_PERMUTATIONS = 19  # with fewer no p is below 0.05
UNEQUAL = 5.0  # ratio of group sizes from which on the smaller group decides nearly alone
ALTERNATIVES = ("two-sided", "greater", "less")


class Covariates(Protocol):
    """Covariates by name: a mapping, or a DataFrame."""

    def items(self) -> Iterable[tuple[Any, ArrayLike]]:
        """Name and values of each."""


@dataclass(frozen=True)
class GroupData:
    """Checked input."""

    values: Array
    regions: tuple[str, ...]
    groups: tuple[str, ...]
    codes: Codes
    covariates: Mapping[str, Any]
    sites: Codes | None
    pairs: Codes | None
    lobes: tuple[str, ...]


def read_group_data(
    X: ArrayLike | Cohort,
    groups: ArrayLike | None,
    covariates: Covariates | None,
    sites: ArrayLike | None,
    pairs: ArrayLike | None,
    reference: str | None = None,
) -> GroupData:
    """Check regions, groups and what is held fixed, from a cohort or from arrays."""
    if isinstance(X, Cohort):
        values, regions, lobes = X.values, X.regions, X.lobes
        groups = X.group if groups is None else groups
        covariates = X.covariates if covariates is None else covariates
        sites = X.site if sites is None else sites
        pairs = X.pair if pairs is None else pairs
    else:
        values, names = check_values(X)
        regions, lobes = tuple(names), ("unknown",) * len(names)
    if groups is None:
        raise InputError("there are no groups: give the group of each subject.")
    found, codes = _reference_first(
        read_labels(_complete(groups, len(values), "groups"), len(values)), reference
    )
    _check_cells(values, regions)
    blocks = None
    if sites is not None:
        labels = _complete(sites, len(values), "sites").astype(str)
        blocks = np.unique(labels, return_inverse=True)[1]
    if pairs is not None:
        pairs = check_pairs(_complete(pairs, len(values), "pairs").tolist(), codes)
    if covariates is not None and not hasattr(covariates, "items"):
        raise InputError(
            f"covariates is a {type(covariates).__name__}: give a mapping of name to values, or a "
            "DataFrame."
        )
    return GroupData(
        np.asarray(values, float),
        tuple(regions),
        tuple(found),
        codes,
        {} if covariates is None else dict(covariates.items()),
        blocks,
        pairs,
        tuple(lobes),
    )


def check_request(
    n_permutations: Any, alternative: str, random_state: Any, data: GroupData
) -> tuple[int, int]:
    """Give the number of permutations and the seed; refuse what cannot be tested."""
    _check_sizes(data)
    whole = is_number(n_permutations) and np.isfinite(n_permutations) and n_permutations % 1 == 0
    if not whole or n_permutations < FEWEST_PERMUTATIONS:
        raise InputError(
            f"n_permutations={n_permutations!r}: no p can be below 0.05 with fewer than "
            f"{FEWEST_PERMUTATIONS}. Give 999 for a report, 199 for a first look."
        )
    if alternative not in ALTERNATIVES:
        raise InputError(f"alternative={alternative!r}: give one of {list(ALTERNATIVES)}.")
    if alternative != "two-sided" and len(data.groups) > 2:
        raise InputError(
            f"alternative={alternative!r} with {len(data.groups)} groups: a difference has a "
            "direction between two only. Compare groups by pairs."
        )
    _check_exchanges(data, int(n_permutations))
    return int(n_permutations), check_count(random_state, "random_state", 0)


def _complete(labels: Any, n: int, what: str) -> NDArray[Any]:
    """Label of each row; `what` names them in messages."""
    found = np.asarray(labels)
    if found.shape != (n,):
        raise InputError(f"{what} has shape {found.shape}: give one label for each of {n} rows.")
    missing = missing_rows(found)
    if missing:
        raise InputError(
            f"{what} is missing in row {missing[0]} (counted from 0). Leave this subject out."
        )
    return found


def _reference_first(labels: NDArray[Any], reference: str | None) -> tuple[list[str], Codes]:
    """Names of the groups, the reference and then the others by name, and each row's number."""
    found, codes = np.unique(labels, return_inverse=True)
    names = [str(name) for name in found]
    if reference is None:
        return names, codes
    if str(reference) not in names:
        raise InputError(f"no group is called {reference!r}. {did_you_mean(reference, names)}")
    first = names.index(str(reference))
    order = [first, *(k for k in range(len(names)) if k != first)]
    return [names[k] for k in order], np.argsort(order)[codes]


def _check_cells(values: Array, regions: tuple[str, ...]) -> None:
    missing = np.argwhere(~np.isfinite(values))
    if len(missing):
        row, column = missing[0]
        raise InputError(
            f"region {regions[column]!r} is missing in row {row} (counted from 0). Fill it in "
            "(RegionImputer), or leave the subject out."
        )


def _check_sizes(data: GroupData) -> None:
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


def _check_exchanges(data: GroupData, n_permutations: int) -> None:
    """Refuse groups whose rows cannot be exchanged, and warn where they hardly can."""
    log_count = log_exchanges(data.codes, data.sites, data.pairs)
    if log_count < np.log(1.5):
        raise InputError(
            "no site has subjects of two groups, so that no rows can be exchanged and no "
            "difference between groups told from one between sites. Leave out sites=, or such "
            "groups."
        )
    if log_count < np.log(n_permutations):
        warn(
            f"the rows can be exchanged in {np.exp(log_count):.0f} ways only, fewer than "
            f"n_permutations={n_permutations}: no p can be below about {np.exp(-log_count):.2g}. "
            "Give sites with more subjects of both groups, or fewer sites."
        )
