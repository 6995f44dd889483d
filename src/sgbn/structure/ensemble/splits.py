"""Rows dealt at random to parts, sites balanced and persons whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbn.exceptions import InputError
from sgbn.types import Indices


def deal_rows(
    rng: np.random.Generator,
    n: int,
    n_parts: int,
    strata: Sequence[Any] | NDArray[Any] | None = None,
    persons: Sequence[Any] | NDArray[Any] | None = None,
) -> Indices:
    """Return the part of each row.

    Persons are shuffled, sorted by stratum, and dealt to the parts in turn: the parts of a stratum
    differ by one person at most, and so do the parts themselves.

    Parameters
    ----------
    rng : Generator
    n : int
        Rows.
    n_parts : int
    strata : sequence of length n, optional
        The site of each row, for example. The stratum of a person is that of its first row.
    persons : sequence of length n, optional
        Whose each row is. All rows of a person come into one part.
    """
    person = np.arange(n) if persons is None else _codes(persons, n, "persons")
    stratum = np.zeros(n, np.intp) if strata is None else _codes(strata, n, "strata")
    _, first = np.unique(person, return_index=True)
    shuffled = rng.permutation(len(first))
    dealt = shuffled[np.argsort(stratum[first][shuffled], kind="stable")]
    part = np.empty(len(first), np.intp)
    part[dealt] = (np.arange(len(first)) + rng.integers(n_parts)) % n_parts
    return part[person]


def _codes(labels: Sequence[Any] | NDArray[Any], n: int, what: str) -> Indices:
    found = np.asarray(labels)
    if found.shape != (n,):
        raise InputError(f"{what} has shape {found.shape}: give one label for each of {n} rows.")
    return np.unique(found.astype(str), return_inverse=True)[1].astype(np.intp)
