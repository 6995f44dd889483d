"""Readers and checks of the input of the tests of differences between groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgbn.cohort.atlas import UNKNOWN_LOBE
from sgbn.cohort.cohort import Cohort, merged_labels, with_several
from sgbn.cohort.design import Exchange, choose_reference, exchange_of, label_codes
from sgbn.cohort.effects import held_fixed, missing_rows, nuisance_of
from sgbn.core.problems import InputError, Problem
from sgbn.core.types import Array, Indices, Mask
from sgbn.core.validation import (
    Constraint,
    OneOf,
    check_finite,
    check_mask,
    check_values,
    read_labels,
)
from sgbn.learn.ensemble import check_blocks
from sgbn.prepare.outliers import MAX_SHARE_FAR, OUTLIERS, OutlierWarning, far_rows, row_labels

ROWS_LEFT_OUT = OneOf(*OUTLIERS) | Constraint(
    ["True or False for each row"], lambda value: not isinstance(value, str)
)


class Covariates(Protocol):
    """The covariates by name: a mapping, or a DataFrame."""

    def items(self) -> Iterable[tuple[Any, ArrayLike]]:
        """Return pairs of the name and the values of each covariate."""


@dataclass(frozen=True)
class GroupData:
    """The checked input of the tests, with one entry per row (subject or session).

    Attributes
    ----------
    values : ndarray of shape (n, m)
        Values of the m regions in each row.
    regions, groups : tuple of str
        Names of the regions and of the groups. The reference group comes first.
    codes : ndarray of int of shape (n,)
        Number of each row's group.
    covariates : mapping of str to values
        Covariates by name.
    sites : ndarray of int of shape (n,), or None
        Number of each row's site.
    pairs : ndarray of int of shape (n,), or None
        Number of each row's person in a paired design: each person is in every group once.
    lobes : tuple of str
        Lobe of each region.
    persons : ndarray of int of shape (n,), or None
        Number of each row's person in a design that is not paired.
    families : ndarray of int of shape (n,), or None
        Number of each row's block, such as a family.
    ids : tuple
        Names of the rows. The result reports the names of the rows that are left out.
    """

    values: Array
    regions: tuple[str, ...]
    groups: tuple[str, ...]
    codes: Indices
    covariates: Mapping[str, Any]
    sites: Indices | None
    pairs: Indices | None
    lobes: tuple[str, ...]
    persons: Indices | None = None
    families: Indices | None = None
    ids: tuple[Any, ...] = ()

    @property
    def units(self) -> Indices | None:
        """Label of each row's unit; None if the rows themselves are independent.

        Rows that share a family, a person or a pair, or are linked through other rows, are one
        unit, as in `Cohort.units`.
        """
        labels = (self.families, self.persons, self.pairs)
        given = [codes for codes in labels if codes is not None]
        return reduce(merged_labels, given) if given else None  # type: ignore[arg-type]

    def exchange(self, members: Sequence[int] | None = None) -> Exchange:
        """Plan the exchanges that the design allows between all groups, or between `members`.

        Rows of other groups stay in their places.
        """
        rows = np.arange(len(self.codes))
        if members is not None:
            rows = np.flatnonzero(np.isin(self.codes, members))
        labels = (self.sites, self.pairs, self.persons, self.families)
        plan = exchange_of(
            self.codes[rows], *(None if column is None else column[rows] for column in labels)
        )
        sets, stacks = (tuple(rows[units] for units in kind) for kind in (plan.sets, plan.stacks))
        return Exchange(len(self.codes), sets, stacks)


def read_group_data(
    X: ArrayLike | Cohort,
    groups: ArrayLike | None = None,
    covariates: Covariates | None = None,
    sites: ArrayLike | None = None,
    pairs: ArrayLike | None = None,
    reference: str | None = None,
    persons: ArrayLike | None = None,
    blocks: ArrayLike | None = None,
) -> GroupData:
    """Read and check regions, groups, covariates and labels of rows, from a cohort or from arrays.

    The parameters are the same as in `edge_differences`. An argument that is given replaces the
    column of a cohort.
    """
    columns: Sequence[Any] = (groups, sites, pairs, persons, blocks)
    if isinstance(X, Cohort):
        values, regions, lobes = X.values, X.regions, X.lobes
        ids: Sequence[Any] = X.ids
        covariates = held_fixed(X) if covariates is None else covariates
        own_columns = (X.group, X.site, X.pair, X.person, X.block)
        both = zip(columns, own_columns, strict=True)
        columns = [own if given is None else given for given, own in both]
    else:
        values, names = check_values(X)
        regions, lobes = tuple(names), (UNKNOWN_LOBE,) * len(names)
        ids = row_labels(X) or range(len(values))
    labels = zip(("groups", "sites", "pairs", "persons", "blocks"), columns, strict=True)
    codes = _checked_labels(X, dict(labels), len(values), reference)
    check_finite(values, regions)
    if covariates is not None and not hasattr(covariates, "items"):
        raise InputError("covariates.type", type=type(covariates).__name__).says(
            "covariates is a {type:s}", "Give a mapping of name to values, or a DataFrame."
        )
    return GroupData(
        values=np.asarray(values, float),
        regions=tuple(regions),
        covariates={} if covariates is None else dict(covariates.items()),
        lobes=tuple(lobes),
        ids=tuple(ids),
        **codes,
    )


def _checked_labels(
    X: Any, labels: Mapping[str, Any], n: int, reference: str | None
) -> dict[str, Any]:
    """Return the fields of `GroupData` that come from labels of the rows."""
    if labels["groups"] is None:
        raise InputError("groups.none").says(
            "there are no groups", "Give the group of each subject ({groups=})."
        )
    for what, column in labels.items():
        _check_rows_agree(X, column, what)
    group_labels = read_labels(_complete(labels["groups"], n, "groups"), n)
    groups, codes = _reference_first(group_labels, reference)
    pairs = None
    if labels["pairs"] is not None:
        pairs = check_pairs(_complete(labels["pairs"], n, "pairs").tolist(), codes)
    persons, families, sites = (
        None if labels[what] is None else label_codes(_complete(labels[what], n, what), n, what)
        for what in ("persons", "blocks", "sites")
    )
    # Paired persons are in every group by design. Any other person must be in one group.
    ids = np.asarray(labels["persons"]).astype(str)
    if persons is not None and pairs is None and (mixed := with_several(ids, codes.astype(str))):
        raise InputError("persons.groups", persons=mixed).says(
            "rows of {persons} are in several groups",
            "If these are visits, give the persons as {pairs=}. Otherwise correct them.",
        )
    check_blocks(labels["persons"], families)
    check_blocks(labels["pairs"], families)
    return {
        "groups": tuple(groups),
        "codes": codes,
        "sites": sites,
        "pairs": pairs,
        "persons": persons,
        "families": families,
    }


def without_outliers(
    data: GroupData, outliers: str | ArrayLike
) -> tuple[GroupData, dict[str, tuple[Any, ...]]]:
    """Return the rows without outliers, and the names of the outliers.

    An outlier lies far from the others of its group. Distances are measured after the effects of
    covariates and sites are taken out. If one row of a person lies far out, all rows of this person
    are left out.

    Parameters
    ----------
    data : GroupData
        All rows.
    outliers : {"trim", "keep"} or array-like of bool
        "trim" leaves out rows that lie far out. "keep" keeps all rows. An array marks the rows to
        leave out.

    Returns
    -------
    GroupData
        The rows that are kept.
    dict of group to tuple
        Names of the rows that are left out.
    """
    n = len(data.codes)
    if not isinstance(outliers, str):
        far = check_mask(outliers, n, "outliers")
    else:
        ROWS_LEFT_OUT.check("outliers", outliers)
        far = _far_rows(data) if outliers == "trim" else np.zeros(n, bool)
    # If one row of a person is left out, all are. Pairs must stay complete, and a person is
    # exchanged only with persons who have the same number of sessions.
    for persons in (data.pairs, data.persons):
        if persons is not None:
            far = np.isin(persons, persons[far])
    if isinstance(outliers, str) and far.any():
        names = [data.ids[row] for row in np.flatnonzero(far)]
        Problem("rows.outliers", subjects=names).warn(
            "not tested, since far from the others of their group: {subjects}",
            "Look at their values. To test them too, give {outliers='keep'}.",
            OutlierWarning,
        )
    left_out = {
        group: tuple(data.ids[row] for row in np.flatnonzero(far & (data.codes == c)))
        for c, group in enumerate(data.groups)
    }
    return (_part(data, ~far) if far.any() else data), left_out


def _far_rows(data: GroupData) -> Mask:
    """Mark the rows that lie far from the others of their group."""
    # In the values themselves, all rows of a site with another scanner might lie far out.
    residuals = nuisance_of(data.codes, data.covariates, data.sites).residuals(data.values)
    far = np.zeros(len(residuals), bool)
    for c in range(len(data.groups)):
        rows = np.flatnonzero(data.codes == c)
        far_in_group = far_rows(residuals[rows])
        # More far rows than this are not outliers but a part of the group.
        if far_in_group.sum() <= MAX_SHARE_FAR * len(rows):
            far[rows] = far_in_group
    return far


def _part(data: GroupData, rows: Mask) -> GroupData:
    """Return some of the rows, with persons, sites and families numbered again."""
    labels = {name: getattr(data, name) for name in ("sites", "pairs", "persons", "families")}
    # Exchanges need numbers without gaps, and rows that are left out may leave gaps.
    numbered: dict[str, Any] = {
        name: None if column is None else np.unique(column[rows], return_inverse=True)[1]
        for name, column in labels.items()
    }
    return replace(
        data,
        values=data.values[rows],
        codes=data.codes[rows],
        covariates={name: np.asarray(column)[rows] for name, column in data.covariates.items()},
        ids=tuple(row_id for row_id, kept in zip(data.ids, rows.tolist(), strict=True) if kept),
        **numbered,
    )


def _complete(labels: Any, n: int, what: str) -> NDArray[Any]:
    """Return the labels as an array, one per row. Error messages call them `what`."""
    cells = np.asarray(labels)
    label_codes(cells, n, what)  # refuses another number of labels
    missing = missing_rows(cells)
    if missing:
        raise InputError("labels.missing", argument=what, row=missing[0]).says(
            "{argument} is missing in row {row} (counted from 0)", "Leave this row out."
        )
    return cells


def _check_rows_agree(X: Any, labels: Any, what: str) -> None:
    """Raise InputError if the index of labels has the rows of the table in another order."""
    rows, label_index = getattr(X, "index", None), getattr(labels, "index", None)
    if rows is None or label_index is None or callable(label_index):
        return
    differs = len(rows) == len(label_index) and list(rows) != list(label_index)
    # Different names may be on purpose. The same names in another order are a mistake.
    if differs and set(rows) == set(label_index):
        raise InputError("rows.order", argument=what).says(
            "the index of {argument} orders the rows in another way than X", "Give one order."
        )


def check_pairs(ids: Sequence[Any], codes: Indices) -> Indices:
    """Return the number of each row's person; each id must be in every group exactly once."""
    labels, pairs = np.unique(np.asarray(ids, dtype=str), return_inverse=True)
    counts = np.zeros((len(labels), codes.max() + 1), int)
    np.add.at(counts, (pairs, codes), 1)
    wrong = labels[(counts != 1).any(axis=1)]
    if len(wrong):
        raise InputError("pairs.incomplete", persons=wrong.tolist()).says(
            "pairs need one row in every group, but this is not true of {persons}",
            "Leave them out, or compare the groups unpaired.",
        )
    return pairs.astype(np.intp)


def _reference_first(labels: NDArray[Any], reference: str | None) -> tuple[list[str], Indices]:
    """Return the group names, the reference first, and the index of each row's group."""
    sorted_names, codes = np.unique(labels, return_inverse=True)
    names = [str(name) for name in sorted_names]
    first = names.index(choose_reference(names, reference))
    # A difference is the last group minus the first group. So the reference comes first.
    order = [first, *(k for k in range(len(names)) if k != first)]
    return [names[k] for k in order], np.argsort(order)[codes]
