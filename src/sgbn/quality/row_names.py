"""Functions that find sessions, counters and points in time in the names of rows."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from sgbn.core.types import Indices

Stems = dict[str, list[int]]  # name without the words of a session -> rows

# Words before a number that surely mean a session, and words that may mean one.
SURE = "ses|session|run|visit|wave|time|timepoint|tp|vol|volume|frame|month|week|day|year|followup"
MAYBE = "t|v|scan"
ALONE = (
    "baseline|bl|follow[-_ ]?up|fu|screening|retest|test|pre|post|pretest|posttest|before|after"
    "|first|second"
)
AFTER = r"(?:[-_. ]+|(?<=\d))"  # what must come before such a word: "patient1" does not end in "t1"
SESSION = re.compile(
    rf"(?:{AFTER}(?:{SURE})|[-_. ]+(?:{MAYBE}))[-_. ]*\d{{1,4}}$|{AFTER}(?:{ALONE})$", re.IGNORECASE
)
BIDS = re.compile(r"[-_. ](?:ses|run|task|acq)-[^\W_]+.*$", re.IGNORECASE)
LONG = re.compile(rf"{AFTER}(?:{SURE})[-_. ]*\d{{1,4}}$", re.IGNORECASE)
# A counter, a letter, a date, or a word before the name of the person may mean a session, too.
COUNTER = re.compile(
    r"[-_. ]m?\d{1,2}$|(?<=\d)[a-d]$|[-_. ]\d{4}-?\d{2}-?\d{2}$"
    rf"|(?<=\d)(?:{MAYBE})\d{{1,4}}$"
    rf"|^(?:(?:{SURE}|{MAYBE})[-_. ]*\d{{1,3}}|{ALONE})[-_. ]+",
    re.IGNORECASE,
)
NUMBER = re.compile(r"\d+$")


def session_stems(ids: Sequence[str]) -> Stems:
    """Return the rows of each person, if the ids end with words for sessions."""
    return _grouped(ids, lambda name: SESSION.sub("", BIDS.sub("", name)))


def long_stems(ids: Sequence[str]) -> Stems:
    """Return the rows of each stem before a word that surely means a session or point in time."""
    return _grouped(ids, lambda name: LONG.sub("", BIDS.sub("", name)))


def counter_stems(ids: Sequence[str]) -> Stems:
    """Return the rows of each stem, if the ids have a counter, a letter or a date beside it."""
    return _grouped(ids, lambda name: COUNTER.sub("", name))


def spelling_stems(ids: Sequence[str]) -> Stems:
    """Return groups of rows whose ids differ only in case, separators and leading zeros."""
    # sub-01, SUB_1 and Sub 1 become one name.
    names = [re.sub(r"(?<!\d)0+(?=\d)", "", re.sub(r"[-_. ]+", "-", n)).casefold() for n in ids]
    rows: Stems = defaultdict(list)
    for row, name in enumerate(names):
        rows[name].append(row)
    return {name: members for name, members in rows.items() if len(members) > 1}


def numbered_rows(ids: Sequence[str], fewest: int) -> list[Indices]:
    """Return the rows of each stem before a number, in the order of the numbers.

    Stems with at most `fewest` rows are left out. For ids such as ``sub-01_0001``, the result is
    the rows of each person in time, however the table is sorted. For ids such as ``sub-001``, it is
    all rows.
    """
    rows: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for row, name in enumerate(ids):
        number = NUMBER.search(name)
        if number is not None:
            rows[name[: number.start()]].append((int(number.group()), row))
    return [
        np.array([row for _, row in sorted(members)])
        for members in rows.values()
        if len(members) > fewest
    ]


def _grouped(ids: Sequence[str], stem_of: Callable[[str], str]) -> Stems:
    """Return the rows of each stem that several ids share; a stem is a part of an id."""
    rows: Stems = defaultdict(list)
    for row, name in enumerate(ids):
        stem = stem_of(name)
        # A name that is its own stem has no word for a session.
        if stem and stem != name:
            rows[stem].append(row)
    return {stem: members for stem, members in rows.items() if len(members) > 1}
