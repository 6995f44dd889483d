"""What the tests of differences between groups are given, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgbn.atlases import UNKNOWN_LOBE
from sgbn.cohort import Cohort
from sgbn.exceptions import InputError, did_you_mean, listed, shown, warn
from sgbn.inference.exchange import Exchange, exchange_of
from sgbn.inference.rows import region_index
from sgbn.parameters import SEED, Constraint, OneOf, Whole, is_number
from sgbn.reference import choose_reference
from sgbn.structure.nuisance import missing_rows, nuisance_of
from sgbn.structure.robust import MOST_FAR, OUTLIERS, OutlierWarning, far_rows, row_labels
from sgbn.structure.smooth import held_fixed
from sgbn.types import Array, Indices, Mask
from sgbn.validation import check_values, read_labels

FEWEST = 10  # subjects of a group
FEWEST_PERMUTATIONS = 19  # with fewer no p is 0.05 or less; a q needs one more
UNEQUAL = 5.0  # ratio of group sizes from which on the smaller group decides nearly alone
FEWEST_EXCHANGES = 1.5  # there is one, which changes nothing, if rows cannot be exchanged
STUCK = 0.2  # share of the rows that may be unable to change groups without a warning
ROWS_LEFT_OUT = OneOf(*OUTLIERS) | Constraint(
    ["True or False for each row"], lambda value: not isinstance(value, str)
)
ALTERNATIVES = ("two-sided", "greater", "less")


class Covariates(Protocol):
    """Covariates by name: a mapping, or a DataFrame."""

    def items(self) -> Iterable[tuple[Any, ArrayLike]]:
        """Name and values of each."""


@dataclass(frozen=True)
class GroupData:
    """Checked input.

    `pairs` and `persons` number the person of each row: in paired designs, which have each person
    once in every group, and in others. `families` numbers the block. `ids` names the rows, by which
    they are called where they are left out.
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
        """What is independent of each other: families, persons, or, where this is None, rows."""
        labels = (self.families, self.pairs, self.persons)
        return next((codes for codes in labels if codes is not None), None)

    def exchange(self, members: Sequence[int] | None = None) -> Exchange:
        """Plan the exchanges that the design allows, between some groups or all; others stay."""
        rows = np.arange(len(self.codes))
        if members is not None:
            rows = np.flatnonzero(np.isin(self.codes, members))
        labels = (self.sites, self.pairs, self.persons, self.families)
        plan = exchange_of(
            self.codes[rows], *(None if own is None else own[rows] for own in labels)
        )
        sets, stacks = (tuple(rows[own] for own in kind) for kind in (plan.sets, plan.stacks))
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
    """Check regions, groups and what is held fixed, from a cohort or from arrays."""
    if isinstance(X, Cohort):
        values, regions, lobes = X.values, X.regions, X.lobes
        ids: Sequence[Any] = X.ids
        groups = X.group if groups is None else groups
        covariates = held_fixed(X) if covariates is None else covariates
        sites = X.site if sites is None else sites
        pairs = X.pair if pairs is None else pairs
        persons = X.person if persons is None else persons
        blocks = X.block if blocks is None else blocks
    else:
        values, names = check_values(X)
        regions, lobes = tuple(names), (UNKNOWN_LOBE,) * len(names)
        ids = row_labels(X) or range(len(values))
    if groups is None:
        raise InputError("there are no groups: give the group of each subject.")
    labels = {"groups": groups, "sites": sites, "pairs": pairs, "persons": persons}
    for what, column in (labels | {"blocks": blocks}).items():
        _check_rows_agree(X, column, what)
    found, codes = _reference_first(
        read_labels(_complete(groups, len(values), "groups"), len(values)), reference
    )
    _check_cells(values, regions)
    pair = None
    if pairs is not None:
        pair = check_pairs(_complete(pairs, len(values), "pairs").tolist(), codes)
    person = _codes(persons, len(values), "persons")
    family = _codes(blocks, len(values), "blocks")
    if person is not None and pair is None:
        remedy = "Name visits of one person by pairs="
        _check_within(person, codes, persons, "persons", "groups", remedy)
    for who, own, labelled in (("persons", person, persons), ("pairs", pair, pairs)):
        if own is not None and family is not None:
            _check_within(own, family, labelled, who, "blocks", "Give a person one block")
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
        _codes(sites, len(values), "sites"),
        pair,
        tuple(lobes),
        person,
        family,
        tuple(ids),
    )


def without_outliers(
    data: GroupData, outliers: str | ArrayLike
) -> tuple[GroupData, dict[str, tuple[Any, ...]]]:
    """Leave out subjects that lie far from the others of their group, and name them.

    By their residuals, once what is held fixed is taken out; with all rows of the person.

    Parameters
    ----------
    outliers : {"trim", "keep"} or array-like of bool
        Which are left out: those that lie far out, none, or these.
    """
    n = len(data.codes)
    if not isinstance(outliers, str):
        far = np.asarray(outliers)
        if far.shape != (n,) or far.dtype != bool:
            raise InputError(
                f"outliers has shape {far.shape} and type {far.dtype}: give True or False for each "
                f"of {n} rows, or one of {list(OUTLIERS)}."
            )
    else:
        ROWS_LEFT_OUT.check("outliers", outliers)
        far = _far_rows(data) if outliers == "trim" else np.zeros(n, bool)
    for persons in (data.pairs, data.persons):
        if persons is not None:
            far = np.isin(persons, persons[far])
    if isinstance(outliers, str) and far.any():
        names = [data.ids[row] for row in np.flatnonzero(far)]
        warn(
            f"{len(names)} of {n} rows lie far from the others of their group and are not tested: "
            f"{listed(names)}. Look at them; outliers='keep' keeps them.",
            OutlierWarning,
        )
    left_out = {
        group: tuple(data.ids[row] for row in np.flatnonzero(far & (data.codes == c)))
        for c, group in enumerate(data.groups)
    }
    return (_part(data, ~far) if far.any() else data), left_out


def _far_rows(data: GroupData) -> Mask:
    residuals = nuisance_of(data.codes, data.covariates, data.sites).residuals(data.values)
    far = np.zeros(len(residuals), bool)
    for c in range(len(data.groups)):
        rows = np.flatnonzero(data.codes == c)
        own = far_rows(residuals[rows])
        if own.sum() <= MOST_FAR * len(rows):  # more are a group of their own
            far[rows] = own
    return far


def _part(data: GroupData, rows: Mask) -> GroupData:
    """Keep some rows, with persons, sites and families numbered anew."""
    names = ("sites", "pairs", "persons", "families")
    labels = {name: getattr(data, name) for name in names}
    numbered: dict[str, Any] = {
        name: None if own is None else np.unique(own[rows], return_inverse=True)[1]
        for name, own in labels.items()
    }
    return replace(
        data,
        values=data.values[rows],
        codes=data.codes[rows],
        covariates={name: np.asarray(own)[rows] for name, own in data.covariates.items()},
        ids=tuple(one for one, kept in zip(data.ids, rows.tolist(), strict=True) if kept),
        **numbered,
    )


def read_edges(edges: Sequence[tuple[str, str]], data: GroupData | Cohort) -> list[tuple[int, int]]:
    """Numbers of the regions of edges that were named beforehand."""
    found = []
    for edge in edges:
        if isinstance(edge, str) or len(edge) != 2:
            raise InputError(f"edges holds {edge!r}: give pairs (source, target) of regions.")
        source, target = (region_index(str(name), data.regions) for name in edge)
        if source == target:
            raise InputError(f"edges holds {edge!r}, from a region to itself. Name two regions.")
        found.append((source, target))
    pairs = [frozenset(edge) for edge in found]
    twice = [edge for edge, pair in zip(edges, pairs, strict=True) if pairs.count(pair) > 1]
    if twice:
        raise InputError(f"edges holds the pair {twice[0]!r} twice. Name each pair once.")
    return found


def read_among(names: Sequence[str], data: GroupData | Cohort) -> Mask | None:
    """Mark the edges between regions that were named, by themselves or by their lobes."""
    if isinstance(names, str):
        names = [names]
    if not names:
        return None
    inside = np.zeros(len(data.regions), bool)
    for name in names:
        own = np.array(
            [name in (region, lobe) for region, lobe in zip(data.regions, data.lobes, strict=True)]
        )
        if not own.any() or name == UNKNOWN_LOBE:
            hint = did_you_mean(name, [*data.regions, *data.lobes])
            raise InputError(f"no region or lobe is called {name!r} (among). {hint}")
        inside |= own
    if inside.sum() < 2:
        raise InputError(f"among names one region, {names[0]!r}: give two or more, or a lobe.")
    return np.outer(inside, inside)


def check_request(
    n_permutations: Any, alternative: str, random_state: Any, data: GroupData
) -> tuple[int, int]:
    """Give the number of permutations and the seed; refuse what cannot be tested."""
    _check_sizes(data)
    if is_number(n_permutations) and float(n_permutations).is_integer():
        n_permutations = int(n_permutations)  # 1e4 is written for 10,000 permutations
    if Whole(0).check("n_permutations", n_permutations) < FEWEST_PERMUTATIONS:
        raise InputError(
            f"n_permutations is {n_permutations}: no p can reach 0.05 with fewer than "
            f"{FEWEST_PERMUTATIONS}, and no false discovery rate (q) with fewer than "
            f"{FEWEST_PERMUTATIONS + 1}. Give 999 for a report, 199 for a first look."
        )
    OneOf(*ALTERNATIVES).check("alternative", alternative)
    if alternative != "two-sided" and len(data.groups) > 2:
        raise InputError(
            f"alternative={alternative!r} with {len(data.groups)} groups: a difference has a "
            "direction between two only. Compare groups by pairs."
        )
    _check_exchanges(data, n_permutations)
    return n_permutations, SEED.check("random_state", random_state)


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


def _check_rows_agree(X: Any, labels: Any, what: str) -> None:
    """Refuse labels whose index names the rows of a table in another order."""
    rows, own = getattr(X, "index", None), getattr(labels, "index", None)
    if rows is None or own is None or callable(own) or len(rows) != len(own):
        return
    if list(rows) != list(own) and set(rows) == set(own):
        raise InputError(
            f"the index of {what} has the rows of the table in another order. Sort it: "
            f"{what}.loc[X.index]."
        )


def _codes(labels: ArrayLike | None, n: int, what: str) -> Indices | None:
    """Give the number of the label of each row, None where there are none."""
    if labels is None:
        return None
    texts = _complete(labels, n, what).astype(str)
    return np.unique(texts, return_inverse=True)[1].astype(np.intp)


def check_pairs(ids: Sequence[Any], codes: Indices) -> Indices:
    """Give the number of the person of each row: every id once in each group."""
    labels, pairs = np.unique(np.asarray(ids, dtype=str), return_inverse=True)
    counts = np.zeros((len(labels), codes.max() + 1), int)
    np.add.at(counts, (pairs, codes), 1)
    wrong = labels[(counts != 1).any(axis=1)]
    if len(wrong):
        raise InputError(
            f"pairs need each subject once in every group: {listed(wrong.tolist())} is not. Leave "
            "out subjects without a partner, or compare the groups unpaired."
        )
    return pairs.astype(np.intp)


def _check_within(
    inner: Indices, outer: Indices, names: Any, who: str, what: str, remedy: str
) -> None:
    """Refuse persons who are in several groups or blocks."""
    _, first = np.unique(inner, return_index=True)
    astray = np.unique(np.asarray(names)[outer != outer[first][inner]].astype(str)).tolist()
    if astray:
        raise InputError(
            f"{who} has rows of {listed(astray)} in several {what}. {remedy}, or correct {who}."
        )


def _reference_first(labels: NDArray[Any], reference: str | None) -> tuple[list[str], Indices]:
    """Names of the groups, the reference and then the others by name, and each row's number."""
    found, codes = np.unique(labels, return_inverse=True)
    names = [str(name) for name in found]
    first = names.index(choose_reference(names, reference))
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
    who = "subjects" if data.persons is None else "persons"
    persons = np.arange(len(data.codes)) if data.persons is None else data.persons
    rows = np.unique(np.column_stack([data.codes, persons]), axis=0)
    sizes = np.bincount(rows[:, 0], minlength=len(data.groups))
    if len(sizes) < 2:
        raise InputError(f"there is one group, {shown(data.groups[0])}: a difference needs two.")
    if sizes.min() < FEWEST:
        raise InputError(
            f"group {shown(data.groups[sizes.argmin()])} has {sizes.min()} {who}: differences "
            f"of edges need {FEWEST} or more in each group. Merge groups, or leave this one out."
        )
    if sizes.max() > UNEQUAL * sizes.min():
        warn(
            f"group {shown(data.groups[sizes.argmin()])} has {sizes.min()} {who} and "
            f"{shown(data.groups[sizes.argmax()])} {sizes.max()}: what can be found is decided by "
            "the smaller one. More subjects there would help, more elsewhere hardly."
        )


def _has_strata(data: GroupData) -> bool:
    return data.families is not None or data.sites is not None


def _check_exchanges(data: GroupData, n_permutations: int) -> None:
    """Refuse groups whose rows cannot be exchanged, and warn where they hardly can."""
    exchange, n = data.exchange(), len(data.codes)
    log_count = exchange.log_exchanges(data.codes)
    plain = data.persons is None and data.families is None
    if log_count < np.log(FEWEST_EXCHANGES):
        raise InputError(
            "no site has subjects of two groups, so that no rows can be exchanged and no "
            "difference between groups told from one between sites. Leave out sites=, or such "
            "groups."
            if plain
            else "nothing can be exchanged between the groups: no two persons of different groups "
            "have as many rows at the same site, and no two families as many such persons. Keep "
            "as many rows of each person, such as the first"
            + (", or leave out blocks= or sites=." if _has_strata(data) else ".")
        )
    stuck = exchange.cannot_move(data.codes)
    if stuck > STUCK * n:
        warn(
            f"{stuck} of {n} rows cannot change groups: nobody of another group has as many rows "
            "at the same site. They add little to the tests. Leave out sites with one group only; "
            "of persons keep as many rows each, such as the first two."
        )
    if log_count < np.log(n_permutations):
        remedy = "Give sites with more subjects of both groups, or fewer sites."
        warn(
            f"the rows can be exchanged in {np.exp(log_count):.0f} ways only, fewer than "
            f"n_permutations={n_permutations}: no p can be below about {np.exp(-log_count):.2g}. "
            + (remedy if plain else "Give more persons with as many rows, or fewer sites.")
        )
