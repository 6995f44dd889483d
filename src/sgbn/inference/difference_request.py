"""Checks whether a test of differences that a user asks for is possible with the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sgbn.cohort.atlas import UNKNOWN_LOBE
from sgbn.cohort.cohort import Cohort
from sgbn.cohort.rows import region_index, too_few
from sgbn.core.exceptions import InputError, counted, did_you_mean, shown, warn
from sgbn.core.types import Mask
from sgbn.core.validation import SEED, OneOf, Whole, is_number
from sgbn.inference.difference_input import GroupData

MIN_SUBJECTS_PER_GROUP = 10  # a smaller group raises an error
FEWEST_PERMUTATIONS = 19  # with fewer, no p can be 0.05 or less; a q needs one more
MAX_SIZE_RATIO = 5.0  # largest to smallest group; a larger ratio leads to a warning
MIN_EXCHANGES = 1.5  # if no rows can be exchanged, the count is 1: the data as they are
MAX_SHARE_STUCK = 0.2  # share of rows that no exchange moves; a larger one leads to a warning
ALTERNATIVES = ("two-sided", "greater", "less")


def check_request(
    n_permutations: Any, alternative: str, random_state: Any, data: GroupData
) -> tuple[int, int]:
    """Return the number of permutations and the seed; raise InputError if no test is possible."""
    _check_sizes(data)
    if is_number(n_permutations) and float(n_permutations).is_integer():
        n_permutations = int(n_permutations)  # users write 1e4, which is a float
    if Whole(0).check("n_permutations", n_permutations) < FEWEST_PERMUTATIONS:
        raise InputError(
            f"n_permutations is {n_permutations}. A p of 0.05 needs at least {FEWEST_PERMUTATIONS} "
            f"permutations, and a false discovery rate (q) of 0.05 at least "
            f"{FEWEST_PERMUTATIONS + 1}. Give 999 for a report, 199 for a first look."
        )
    OneOf(*ALTERNATIVES).check("alternative", alternative)
    if alternative != "two-sided" and len(data.groups) > 2:
        raise InputError(
            f"alternative={alternative!r} does not suit {len(data.groups)} groups: only a "
            "difference between two groups has a direction. Compare two groups at a time."
        )
    _check_exchanges(data, n_permutations)
    return n_permutations, SEED.check("random_state", random_state)


def read_edges(edges: Sequence[tuple[str, str]], data: GroupData | Cohort) -> list[tuple[int, int]]:
    """Return the edges that were named beforehand, as numbers of regions."""
    chosen = []
    for edge in edges:
        if isinstance(edge, str) or len(edge) != 2:
            raise InputError(f"edges holds {edge!r}. Give pairs (source, target) of regions.")
        source, target = (region_index(str(name), data.regions) for name in edge)
        if source == target:
            raise InputError(f"edges holds {edge!r}, from a region to itself. Name two regions.")
        chosen.append((source, target))
    # Every pair is tested in both directions. So (i, j) and (j, i) would be the same test.
    pairs = [frozenset(edge) for edge in chosen]
    twice = [edge for edge, pair in zip(edges, pairs, strict=True) if pairs.count(pair) > 1]
    if twice:
        raise InputError(f"edges holds the regions {twice[0]!r} twice. Name each pair once.")
    return chosen


def read_among(names: Sequence[str], data: GroupData | Cohort) -> Mask | None:
    """Mark all edges between some regions, which are given by their names or by their lobes."""
    # A single name would be read as a sequence of letters.
    if isinstance(names, str):
        names = [names]
    if not names:
        return None
    inside = np.zeros(len(data.regions), bool)
    for name in names:
        named = np.array(
            [name in (region, lobe) for region, lobe in zip(data.regions, data.lobes, strict=True)]
        )
        if not named.any() or name == UNKNOWN_LOBE:
            hint = did_you_mean(name, [*data.regions, *data.lobes])
            raise InputError(f"no region or lobe is called {name!r} (among=). {hint}")
        inside |= named
    if inside.sum() < 2:
        raise InputError(
            f"among={names} names only one region. Name two or more regions, or a lobe that has "
            "several."
        )
    return np.outer(inside, inside)


def _check_sizes(data: GroupData) -> None:
    """Raise InputError if there is one group or a group is too small; warn of unequal sizes."""
    noun = "subject" if data.persons is None else "person"
    persons = np.arange(len(data.codes)) if data.persons is None else data.persons
    # Persons are counted, not rows: ten sessions of one person are not ten subjects.
    rows = np.unique(np.column_stack([data.codes, persons]), axis=0)
    sizes = np.bincount(rows[:, 0], minlength=len(data.groups))
    if len(sizes) < 2:
        raise InputError(f"there is only one group, {shown(data.groups[0])}. Give two or more.")
    smallest = f"group {shown(data.groups[sizes.argmin()])}"
    if sizes.min() < MIN_SUBJECTS_PER_GROUP:
        raise InputError(
            too_few(
                smallest,
                sizes.min(),
                "tests of differences need",
                MIN_SUBJECTS_PER_GROUP,
                "Merge groups, or leave this one out.",
                noun,
            )
        )
    # The variance of a difference is the sum of the variances in both groups. So the variance in
    # the smaller group limits the test, however large the other group is.
    if sizes.max() > MAX_SIZE_RATIO * sizes.min():
        warn(
            f"{smallest} has {counted(sizes.min(), noun)}, and "
            f"{shown(data.groups[sizes.argmax()])} has {sizes.max()}. The smaller group limits "
            "what can be found. Add subjects to the smaller group. More subjects in other groups "
            "hardly help."
        )


def _check_exchanges(data: GroupData, n_permutations: int) -> None:
    """Raise InputError if no rows can be exchanged between groups; warn if only few can."""
    exchange, n = data.exchange(), len(data.codes)
    log_count = exchange.log_exchanges(data.codes)
    plain = data.persons is None and data.families is None
    has_strata = data.families is not None or data.sites is not None
    # Counts are logarithms: a thousand subjects have more exchanges than a float can hold.
    if log_count < np.log(MIN_EXCHANGES):
        raise InputError(
            "no site has subjects of two groups. So no rows can be exchanged, and a difference "
            "between groups cannot be separated from a difference between sites. Leave out sites=, "
            "or leave out groups that share no site with another group."
            if plain
            else "no rows can be exchanged between the groups. Two persons can be exchanged only "
            "if they have the same number of rows at each site, and two families only if they have "
            "the same number of such persons. Keep the same number of rows for every person, for "
            "example only the first row"
            + (", or leave out blocks= or sites=." if has_strata else ".")
        )
    stuck = exchange.cannot_move(data.codes)
    if stuck > MAX_SHARE_STUCK * n:
        warn(
            f"{stuck} of {n} rows cannot change groups, since no person of another group has the "
            "same number of rows at the same site. These rows add little to the tests. Leave out "
            "sites that have only one group. Keep the same number of rows for every person, for "
            "example the first two rows of each."
        )
    if log_count < np.log(n_permutations):
        remedy = "Give sites with more subjects of both groups, or fewer sites."
        warn(
            f"the rows can be exchanged in {np.exp(log_count):.0f} ways only, fewer than "
            f"n_permutations={n_permutations}. So no p can be below about "
            f"{np.exp(-log_count):.2g}. "
            + (
                remedy
                if plain
                else "Give more persons with the same number of rows, or fewer sites."
            )
        )
