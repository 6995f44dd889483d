"""Plans of the exchanges of rows that a permutation test may make.

A unit is all rows of one person, or a single row if no persons are given. Units are exchanged
whole. A unit takes the place of another unit only if both have the same number of rows at each
site. Its rows keep their order at each site.

Blocks such as families are exchangeability blocks (Winkler et al., 2015). A block that lies in one
group is exchanged whole, with another such block if both have the same number of units of each
kind (the same number of rows at each site). In a block that spans groups, units are exchanged with
each other, and never with units of other blocks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from sgbn.core.types import Indices

# The pattern of a unit (the site of each row), and its rows. Units of one pattern may be exchanged.
Unit = tuple[Any, Indices]


@dataclass(frozen=True)
class Exchange:
    """A plan of exchanges. It is made once, and many exchanges are drawn from it.

    Attributes
    ----------
    n : int
        Number of rows.
    sets : tuple of ndarray of shape (k, s)
        Each array holds the rows of k units with s rows each. Any unit may take the place of any
        other unit of its set.
    stacks : tuple of ndarray of shape (f, k, s)
        Each array holds f sets of the same shape, such as persons with paired visits.
    """

    n: int
    sets: tuple[Indices, ...]
    stacks: tuple[Indices, ...] = ()

    def draw(self, rng: np.random.Generator) -> Indices:
        """Return the row that moves to each place. All exchanges are equally likely."""
        rows = np.arange(self.n)
        for units in self.sets:
            rows[units] = units[rng.permutation(len(units))]
        for stack in self.stacks:
            # One call permutes every set of the stack separately, which saves a loop over persons.
            order = np.broadcast_to(np.arange(stack.shape[1]), stack.shape[:2])
            order = rng.permuted(order, axis=1)
            rows[stack] = np.take_along_axis(stack, order[:, :, None], axis=1)
        return rows

    def log_exchanges(self, codes: Indices) -> float:
        """Return the logarithm of the number of ways to assign the units to the groups."""
        counts = self._counts(codes)
        # The count of a set is a multinomial coefficient. It is a logarithm, since a thousand
        # subjects have more exchanges than a float can hold.
        ways = gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)
        return float(ways.sum())

    def cannot_move(self, codes: Indices) -> int:
        """Count the rows that no exchange takes to another group."""
        sizes = [units.size for units in self.sets]
        sizes += [stack[0].size for stack in self.stacks for _ in stack]
        # If all units of a set are in one group, exchanges leave the groups as they are.
        moves = (self._counts(codes) > 0).sum(axis=1) > 1
        return int(self.n - np.array(sizes, int)[moves].sum())

    def _counts(self, codes: Indices) -> Indices:
        """Return the number of units of each set in each group."""
        members = [codes[units[:, 0]] for units in self.sets]
        members += [set_codes for stack in self.stacks for set_codes in codes[stack[:, :, 0]]]
        n_groups = int(codes.max()) + 1
        counts = [np.bincount(set_codes, minlength=n_groups) for set_codes in members]
        return np.array(counts, np.intp).reshape(-1, n_groups)


def exchange_of(
    codes: Indices,
    sites: Indices | None = None,
    pairs: Indices | None = None,
    persons: Indices | None = None,
    families: Indices | None = None,
) -> Exchange:
    """Plan the exchanges that a design allows.

    Parameters
    ----------
    codes : ndarray of int of shape (n,)
        Group of each row.
    sites : ndarray of int of shape (n,), optional
        Site of each row. Rows are exchanged within a site.
    pairs : ndarray of int of shape (n,), optional
        Person of each row, if each person is in every group once. Rows are then exchanged within
        persons, and the other labels are not used.
    persons : ndarray of int of shape (n,), optional
        Person of each row, if all rows of a person are in one group.
    families : ndarray of int of shape (n,), optional
        Block of each row. A person is in one block.
    """
    n = len(codes)
    if pairs is not None:
        # Each person has as many rows as there are groups, so that the sorted rows form a matrix.
        order = np.argsort(pairs, kind="stable").reshape(pairs.max() + 1, -1)
        return Exchange(n, (), (order[:, :, None],))
    sites = np.zeros(n, np.intp) if sites is None else sites
    persons = np.arange(n) if persons is None else persons
    # Rows of a unit are sorted by site. So units of one pattern exchange rows of the same sites.
    by_site = (rows[np.argsort(sites[rows], kind="stable")] for rows in _rows_of(persons))
    units = [(tuple(sites[rows].tolist()), rows) for rows in by_site]
    if families is None:
        return Exchange(n, tuple(_alike(units)))
    whole: list[Unit] = []
    stacks = defaultdict(list)
    for family_units in _units_of(units, families):
        rows = np.concatenate([rows for _, rows in family_units])
        # A family in one group moves as a whole. In other families, members change places.
        if (codes[rows] == codes[rows[0]]).all():
            whole.append((tuple(pattern for pattern, _ in family_units), rows))
            continue
        for units_alike in _alike(family_units):
            # Sets are collected by shape, since sets of one shape are permuted in one call.
            stacks[units_alike.shape].append(units_alike)
    return Exchange(
        n, tuple(_alike(whole)), tuple(np.array(family_units) for family_units in stacks.values())
    )


def _rows_of(labels: Indices) -> list[Indices]:
    """Return the rows of each label, in their order."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)


def _units_of(units: Iterable[Unit], families: Indices) -> Iterable[list[Unit]]:
    """Return the units of each family, sorted by their patterns."""
    by_family: Mapping[int, list[Unit]] = defaultdict(list)
    for pattern, rows in units:
        by_family[int(families[rows[0]])].append((pattern, rows))
    return [sorted(members, key=lambda unit: unit[0]) for members in by_family.values()]


def _alike(units: Iterable[Unit]) -> list[Indices]:
    """Return the rows of units with the same pattern, if at least two units share it."""
    by_pattern: dict[Any, list[Indices]] = defaultdict(list)
    for pattern, rows in units:
        # Only units with the same pattern of sites, and so of the same size, may be exchanged.
        by_pattern[pattern].append(rows)
    return [
        np.array(by_pattern[pattern])
        for pattern in sorted(by_pattern)
        if len(by_pattern[pattern]) > 1
    ]
