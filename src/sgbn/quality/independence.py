"""Review of the rows: whether each of them is another subject.

Sessions of a person, copies of rows and time points look like subjects, and every test that counts
them as such finds differences that are none.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.spatial import KDTree

from sgbn.cohort import Cohort
from sgbn.exceptions import listed
from sgbn.quality.findings import Array, Finding, filled, parts

# What names of sessions and runs end with, after the name of the person.
SESSION = re.compile(
    r"[-_. ]*(?:(?:ses|session|run|visit|wave|scan|time|timepoint|tp|t|v)[-_. ]*\d{1,3}"
    r"|baseline|followup|follow[-_ ]up|retest|test|pre|post)$",
    re.IGNORECASE,
)
COUNTER = re.compile(r"[-_. ]\d{1,2}$|(?<=\d)[a-d]$", re.IGNORECASE)
MOST_SESSIONS = 10  # of a person: a counter that goes on is a number of subjects
SAME_PERSON = 0.2  # by how much rows of one stem must be more alike than others
NEAR_COPY = 0.05  # standard deviations by which two rows may differ in any region
FEWEST_REGIONS = 5  # two rows of fewer regions are alike by chance
FAR = 20  # rows apart: points in time are no longer alike, subjects of one site still are
NEIGHBOURS = 0.2  # correlation of a row with the next, beyond that with the one so far apart
ENOUGH_ROWS = 3 * FAR  # for the mean correlation of neighbours to say anything
MANY_ROWS = 10_000
SUBJECT = (
    "Give one row per subject (the mean of its rows, or one of them); --pair or pair= names the "
    "person, where each is there once in every group. If each row is another subject, say so: "
    "--rows-are-subjects, Settings(rows_are_subjects=True)"
)
OVERRULED = "You said that each row is another subject: nothing is done about it"


def check_independence(cohort: Cohort, *, overruled: bool = False) -> Iterator[Finding]:
    """Whether rows are sessions of a person, copies, or points in time.

    Who says that they are subjects all the same (`overruled`) is warned, and not stopped.
    """
    stops = [*_near_copies(cohort)]
    if cohort.pair is None:
        stops += [*_sessions(cohort)] or [*_neighbours(cohort)]
    for found in stops:
        yield found._replace(level="warning", action=OVERRULED) if overruled else found
    if len(cohort) > MANY_ROWS:
        yield Finding(
            "warning",
            f"there are {len(cohort)} rows, more than most studies have subjects",
            "See whether they are subjects, not points in time or places",
        )


def stems_of(ids: Sequence[str], pattern: re.Pattern[str]) -> dict[str, list[int]]:
    """Rows of each stem that several ids share, once what the pattern matches is cut off."""
    rows: dict[str, list[int]] = defaultdict(list)
    for row, name in enumerate(ids):
        stem = pattern.sub("", name)
        if stem and stem != name:
            rows[stem].append(row)
    return {stem: own for stem, own in rows.items() if len(own) > 1}


def _sessions(cohort: Cohort) -> Iterator[Finding]:
    """Names that say session, or counters of rows that are alike."""
    shared = stems_of(cohort.ids, SESSION)
    if not shared:
        shared = stems_of(cohort.ids, COUNTER)
        sizes = [len(own) for own in shared.values()]
        if not sizes or max(sizes) > MOST_SESSIONS or not _are_alike(cohort, shared):
            return
    n_rows = sum(len(own) for own in shared.values())
    examples = [" and ".join(cohort.ids[k] for k in own[:2]) for own in shared.values()]
    yield Finding(
        "stop",
        f"{n_rows} rows seem to be sessions of {len(shared)} persons, such as "
        f"{listed(examples)}: they are no independent subjects",
        SUBJECT,
    )


def _are_alike(cohort: Cohort, shared: dict[str, list[int]]) -> bool:
    """Whether rows of one stem are much more alike than rows of others."""
    if len(cohort.regions) < FEWEST_REGIONS:
        return True  # too few regions to tell: the names alone speak
    Z = _profiles(cohort)
    within = np.concatenate(
        [(Z[own] @ Z[own].T)[np.triu_indices(len(own), 1)] for own in shared.values()]
    )
    firsts = Z[[own[0] for own in shared.values()]]
    between = (firsts @ np.roll(firsts, 1, axis=0).T).diagonal()
    return bool(within.mean() > between.mean() + SAME_PERSON)


def _near_copies(cohort: Cohort) -> Iterator[Finding]:
    """Rows that are copies of others, but for rounding."""
    if len(cohort.regions) < FEWEST_REGIONS:
        return
    near = KDTree(_in_sd(filled(cohort.values))).query_pairs(NEAR_COPY, p=np.inf)
    pairs = [f"{cohort.ids[i]} and {cohort.ids[j]}" for i, j in sorted(near)]
    if pairs:
        yield Finding(
            "stop",
            f"{len(pairs)} pairs of rows are copies of each other or nearly so: "
            f"{listed(pairs, len(pairs))}",
            f"Leave one of each out. {SUBJECT}",
        )


def _neighbours(cohort: Cohort) -> Iterator[Finding]:
    """Rows that resemble the next one, as sessions and points in time do."""
    if len(cohort) < ENOUGH_ROWS or len(cohort.regions) < FEWEST_REGIONS:
        return
    Z = _profiles(cohort)
    near, far = (np.einsum("ij,ij->i", Z[:-lag], Z[lag:]).mean() for lag in (1, FAR))
    if near - far > NEIGHBOURS:
        yield Finding(
            "stop",
            f"each row resembles the next one (mean correlation {near:.2f}; {far:.2f} with the "
            f"{FAR}th after it), as sessions or points in time of one person do",
            SUBJECT,
        )


def _in_sd(values: Array) -> Array:
    spread = values.std(axis=0)
    found: Array = values / np.where(spread > 0, spread, 1.0)
    return found


def _profiles(cohort: Cohort) -> Array:
    """Rows less the means of their group, then less their own mean, scaled to length one."""
    values = filled(cohort.values).copy()
    for rows in parts(cohort):
        values[rows] -= values[rows].mean(axis=0)
    values = _in_sd(values)
    values -= values.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    found: Array = values / np.where(lengths > 0, lengths, 1.0)
    return found
