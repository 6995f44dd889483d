"""Rows dealt at random to parts, sites balanced and persons whole."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sgbn.exceptions import InputError
from sgbn.types import Indices


def deal_rows(
    rng: np.random.Generator,
    n: int,
    n_parts: int,
    strata: ArrayLike | None = None,
    persons: ArrayLike | None = None,
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
        Person behind each row. All rows of a person come into one part.
    """
    person = np.arange(n) if persons is None else label_codes(persons, n, "persons")
    stratum = np.zeros(n, np.intp) if strata is None else label_codes(strata, n, "strata")
    return deal_persons(rng, n_parts, stratum, person)


def deal_persons(
    rng: np.random.Generator, n_parts: int, stratum: Indices, person: Indices
) -> Indices:
    """Return the part of each row as `deal_rows` does, from codes of `label_codes`."""
    _, first = np.unique(person, return_index=True)
    shuffled = rng.permutation(len(first))
    # stable, so that the shuffled order stays within each stratum
    dealt = shuffled[np.argsort(stratum[first][shuffled], kind="stable")]
    part = np.empty(len(first), np.intp)
    # a random first part: else the same part would get the odd person of every deal
    part[dealt] = (np.arange(len(first)) + rng.integers(n_parts)) % n_parts
    return part[person]


def label_codes(labels: ArrayLike, n: int, what: str, rows: str = "rows") -> Indices:
    """Return the number of each row's label among the sorted ones, from 0 on.

    Labels are sorted as text. So codes are not to be coded again: 10 would come before 2.

    Parameters
    ----------
    labels : array-like of shape (n,)
    n : int
    what : str
        Name of the labels in a message.
    rows : str
        What a message calls the n rows.

    Raises
    ------
    InputError
        If there is not one label per row.
    """
    # labels of several types, such as 1 and "a", cannot be sorted as they are
    texts = np.asarray(labels).astype(str)
    if texts.shape != (n,):
        raise InputError(
            f"{what} has shape {texts.shape}: give one label for each of the {n} {rows}."
        )
    return np.unique(texts, return_inverse=True)[1].astype(np.intp)
