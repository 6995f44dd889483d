"""Functions that check the fields of a cohort. Errors name the subject."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgbn.core.exceptions import InputError, counted, listed
from sgbn.core.graph import joined_parts
from sgbn.core.types import Array, Labels
from sgbn.core.validation import LARGEST, check_name_lengths, is_number

# Names of these columns in the table of a cohort
ID, SITE, PAIR = "subject_id", "site", "pair"
PERSON, BLOCK = "person", "block"
LABELS = ("group", "site", "pair", "person", "block")  # fields that hold one label per row


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Mark an array as read-only, and return it."""
    array.setflags(write=False)
    return array


def label_counts(labels: NDArray[Any]) -> dict[Any, int]:
    """Return the number of rows with each label, by label."""
    names, counts = np.unique(labels, return_counts=True)
    return dict(zip(names.tolist(), counts.tolist(), strict=True))


def checked_names(names: Sequence[str], what: str) -> tuple[str, ...]:
    """Return names of rows or columns as text; raise InputError if one is long or used twice."""
    # Names in spreadsheets are often numbers.
    texts = tuple(str(name) for name in names)
    check_name_lengths(texts, f"name of a {what}")
    counts = label_counts(np.array(texts, dtype=str))
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise InputError(
            f"the {what} name {twice[0]!r} is used {counts[twice[0]]} times. Give each {what} its "
            "own name."
        )
    return texts


def checked_values(values: ArrayLike, regions: tuple[str, ...], ids: tuple[str, ...]) -> Array:
    """Return the table of numbers; NaN is allowed, infinity is not."""
    try:
        # A copy, so that the caller's table stays writable and cannot change this one.
        table = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InputError(f"values is not a table of numbers ({error}). Give numbers.") from error
    if table.shape != (len(ids), len(regions)):
        raise InputError(
            f"values has shape {table.shape}, but there are {len(ids)} subjects and "
            f"{len(regions)} regions. Give one row per subject and one column per region."
        )
    # No comparison with NaN is true: missing cells pass, and infinite cells do not.
    huge = np.abs(table) > LARGEST
    if huge.any():
        row, column = np.argwhere(huge)[0]
        raise InputError(
            f"region {regions[column]!r} of subject {ids[row]!r} is {table[row, column]:g}, which "
            "is too large to compute with. Correct the cell, or leave it empty (NaN)."
        )
    return read_only(table)


def checked_labels(labels: ArrayLike | None, what: str, ids: tuple[str, ...]) -> Labels | None:
    """Return one label per subject as text; raise InputError if one is missing or too long."""
    if labels is None:
        return None
    array = _as_text(labels)
    if array.shape != (len(ids),):
        raise InputError(
            f"{what} has shape {array.shape}, but there are {len(ids)} subjects. Give one label "
            "per subject."
        )
    if (array == "").any():
        subject = ids[int(np.flatnonzero(array == "")[0])]
        raise InputError(
            f"subject {subject!r} has no {what}. Give it a {what}, or leave the subject out."
        )
    check_name_lengths(array.tolist(), f"label of the {what}")
    return read_only(array)


def checked_covariates(
    covariates: Mapping[str, ArrayLike], regions: tuple[str, ...], n: int
) -> dict[str, NDArray[Any]]:
    """Return the covariates, each as numbers or as text."""
    checked = {str(name): _covariate(name, column, n) for name, column in covariates.items()}
    check_name_lengths(checked, "name of a covariate")
    both = sorted(set(checked) & set(regions))
    if both:
        raise InputError(
            f"{both[0]!r} is the name of a covariate and of a region. Rename or drop one of them."
        )
    return checked


def _covariate(name: str, column: ArrayLike, n: int) -> NDArray[Any]:
    array = _cells(column)
    # This is a list of numbers in which None or NaN means a missing value.
    if array.dtype.kind == "O" and all(_is_missing(c) or is_number(c) for c in array.ravel()):
        array = np.array([np.nan if _is_missing(c) else c for c in array.ravel()], np.float64)
    is_numeric = array.dtype.kind in "biuf"
    array = np.array(array, dtype=np.float64) if is_numeric else _as_text(array)
    if array.shape != (n,):
        raise InputError(
            f"covariate {name!r} has shape {array.shape}, but there are {n} subjects. Give one "
            "value per subject."
        )
    if is_numeric and (np.abs(array) > LARGEST).any():
        raise InputError(
            f"covariate {name!r} has a value that is infinite or too large to compute with. "
            "Correct it, or replace it by NaN."
        )
    return read_only(array)


def checked_smooth(names: Iterable[str], covariates: Mapping[str, NDArray[Any]]) -> tuple[str, ...]:
    """Return the names of the smooth covariates, which must be covariates of numbers."""
    smooth = (names,) if isinstance(names, str) else tuple(names)
    for name in smooth:
        if name not in covariates:
            known = listed([*covariates]) if covariates else "none"
            raise InputError(
                f"{name!r} is named as smooth, but is not a covariate (the covariates: {known}). "
                "Name it as a covariate too (covariates=, --covariates)."
            )
        if covariates[name].dtype.kind != "f":
            raise InputError(
                f"the smooth covariate {name!r} holds labels, but a curve needs numbers. Remove it "
                "from smooth= (--smooth)."
            )
    return tuple(dict.fromkeys(smooth))  # a name that is given twice is one curve


def check_persons(persons: Labels, labels: Labels | None, what: str, remedy: str) -> None:
    """Raise InputError if a person has rows with different labels."""
    if labels is None:
        return
    _, first, person = np.unique(persons, return_index=True, return_inverse=True)
    # Compare the label of each row with the label of the first row of its person.
    mixed = np.unique(persons[labels != labels[first][person]])
    if len(mixed):
        labels_of_first = np.unique(labels[persons == mixed[0]]).tolist()
        raise InputError(
            f"the person {str(mixed[0])!r} has rows in the {what} {listed(labels_of_first)} "
            f"({counted(len(mixed), 'person is', 'persons are')} in several {what}). {remedy}."
        )


def merged_labels(first: Labels, second: Labels) -> Labels:
    """Return one label per row. Rows that share a label in `first` or in `second` get the same one.

    Rows that are linked only through other rows get the same label, too.
    """
    names, by_first = np.unique(first, return_inverse=True)
    # The nodes of a graph are the labels of both kinds, and each row joins its two labels.
    by_second = len(names) + np.unique(second, return_inverse=True)[1]
    n_nodes = int(by_second.max(initial=0)) + 1
    parts = joined_parts(by_first, by_second, n_nodes)[by_first]
    _, rows, part = np.unique(parts, return_index=True, return_inverse=True)
    # A part has the label of its first row, so that messages show a label that the user knows.
    return read_only(first[rows][part])


def _as_text(labels: ArrayLike) -> Labels:
    """Return labels as text; a missing label is ""."""
    array = _cells(labels)
    # Only objects and floats can hold None or NaN.
    if array.dtype.kind in "Of":
        cells = ["" if _is_missing(cell) else str(cell) for cell in array.ravel().tolist()]
        return np.array(cells, dtype=str).reshape(array.shape)
    return np.array(array, dtype=str)


def _cells(column: ArrayLike) -> NDArray[Any]:
    """Return the cells as an array, without changing them."""
    # As objects, because numpy would turn a NaN among text into the text "nan".
    return np.asarray(column, dtype=None if hasattr(column, "dtype") else object)


def _is_missing(cell: object) -> bool:
    return cell is None or cell != cell  # only NaN differs from itself
