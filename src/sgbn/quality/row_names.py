"""What the names of rows say: sessions and runs of a person, counters, points in time."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from sgbn.types import Indices

Stems = dict[str, list[int]]

# Words that are followed by a number: of what is surely a session, and of what may be one.
SURE = "ses|session|run|visit|wave|time|timepoint|tp|vol|volume|frame|month|week|day|year|followup"
MAYBE = "t|v|scan"
ALONE = (
    "baseline|bl|follow[-_ ]?up|fu|screening|retest|test|pre|post|pretest|posttest|before|after"
    "|first|second"
)
AFTER = r"(?:[-_. ]+|(?<=\d))"  # a word of its own: patient1 is not t1
SESSION = re.compile(
    rf"(?:{AFTER}(?:{SURE})|[-_. ]+(?:{MAYBE}))[-_. ]*\d{{1,4}}$|{AFTER}(?:{ALONE})$", re.IGNORECASE
)
BIDS = re.compile(r"[-_. ](?:ses|run|task|acq)-[^\W_]+.*$", re.IGNORECASE)
LONG = re.compile(rf"{AFTER}(?:{SURE})[-_. ]*\d{{1,4}}$", re.IGNORECASE)
# The same may be said by a counter, a letter, a date, or before the name of the person.
COUNTER = re.compile(
    r"[-_. ]m?\d{1,2}$|(?<=\d)[a-d]$|[-_. ]\d{4}-?\d{2}-?\d{2}$"
    rf"|(?<=\d)(?:{MAYBE})\d{{1,4}}$"
    rf"|^(?:(?:{SURE}|{MAYBE})[-_. ]*\d{{1,3}}|{ALONE})[-_. ]+",
    re.IGNORECASE,
)
NUMBER = re.compile(r"\d+$")


def session_stems(ids: Sequence[str]) -> Stems:
    """Rows of each person, where the ids end with words for sessions."""
    return _grouped(ids, lambda name: SESSION.sub("", BIDS.sub("", name)))


def long_stems(ids: Sequence[str]) -> Stems:
    """Rows of each stem before a word that means nothing but a session or a point in time."""
    return _grouped(ids, lambda name: LONG.sub("", BIDS.sub("", name)))


def counter_stems(ids: Sequence[str]) -> Stems:
    """Rows of each stem, where the ids have a counter, a letter or a date beside it."""
    return _grouped(ids, lambda name: COUNTER.sub("", name))


def spelling_stems(ids: Sequence[str]) -> Stems:
    """Rows whose ids differ in case, separators and leading zeros only."""
    # sub-01, SUB_1 and Sub 1 become one name.
    names = [re.sub(r"(?<!\d)0+(?=\d)", "", re.sub(r"[-_. ]+", "-", n)).casefold() for n in ids]
    rows: Stems = defaultdict(list)
    for row, name in enumerate(names):
        rows[name].append(row)
    return {name: members for name, members in rows.items() if len(members) > 1}


def numbered_rows(ids: Sequence[str], fewest: int) -> list[Indices]:
    """Rows of each stem before a number, in the order of the numbers; stems of few rows left out.

    Of ``sub-01_0001`` and so on these are the rows of each person in time, however the table is
    sorted; of ``sub-001`` and so on they are all rows.
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
    """Return the rows of each stem that several ids share; a stem is an id that was cut."""
    rows: Stems = defaultdict(list)
    for row, name in enumerate(ids):
        stem = stem_of(name)
        # A name from which nothing was cut has no session.
        if stem and stem != name:
            rows[stem].append(row)
    return {stem: members for stem, members in rows.items() if len(members) > 1}
