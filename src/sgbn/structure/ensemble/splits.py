"""Random divisions of rows into parts that balance sites and keep the rows of persons together."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sgbn.core.exceptions import InputError
from sgbn.core.types import Indices


def deal_rows(
    rng: np.random.Generator,
    n: int,
    n_parts: int,
    strata: ArrayLike | None = None,
    persons: ArrayLike | None = None,
) -> Indices:
    """Return the number of the part that each row belongs to, in a random division of the rows.

    Persons are shuffled, sorted by stratum, and given to the parts in turn. So the numbers of
    persons in the parts differ by at most one, in each stratum and in total.

    Parameters
    ----------
    rng : Generator
        Source of random numbers.
    n : int
        Number of rows.
    n_parts : int
        Number of parts.
    strata : sequence of length n, optional
        Labels to balance, for example the site of each row. The stratum of a person is the label of
        the person's first row.
    persons : sequence of length n, optional
        The person of each row. All rows of a person are in the same part.
    """
    person = np.arange(n) if persons is None else label_codes(persons, n, "persons")
    stratum = np.zeros(n, np.intp) if strata is None else label_codes(strata, n, "strata")
    return deal_persons(rng, n_parts, stratum, person)


def deal_persons(
    rng: np.random.Generator, n_parts: int, stratum: Indices, person: Indices
) -> Indices:
    """Return the part of each row as `deal_rows` does.

    `stratum` and `person` hold codes from `label_codes`.
    """
    _, first = np.unique(person, return_index=True)
    shuffled = rng.permutation(len(first))
    # A stable sort, so that persons keep their shuffled order within each stratum.
    dealt = shuffled[np.argsort(stratum[first][shuffled], kind="stable")]
    part = np.empty(len(first), np.intp)
    # A random first part, because otherwise the first part would always get the odd person.
    part[dealt] = (np.arange(len(first)) + rng.integers(n_parts)) % n_parts
    return part[person]


def label_codes(labels: ArrayLike, n: int, what: str, rows: str = "rows") -> Indices:
    """Return the code of each row's label: its place among the sorted labels, from 0 upwards.

    Labels are sorted as text. So do not pass codes to this function again: 10 would come before 2.

    Parameters
    ----------
    labels : array-like of shape (n,)
        The labels, of any type.
    n : int
        Number of rows.
    what : str
        Name of the labels, for messages.
    rows : str
        Word for the n rows, for messages.

    Raises
    ------
    InputError
        If there is not one label per row.
    """
    # As text, because labels of several types, such as 1 and "a", cannot be sorted.
    texts = np.asarray(labels).astype(str)
    if texts.shape != (n,):
        raise InputError(
            f"{what} has shape {texts.shape}: give one label for each of the {n} {rows}."
        )
    return np.unique(texts, return_inverse=True)[1].astype(np.intp)
