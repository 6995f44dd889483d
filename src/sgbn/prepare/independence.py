"""Review of the rows: whether each row is a different subject, and series the right way round.

Sessions of a person, copies of rows and points in time may look like subjects. A test that counts
them as subjects finds differences that do not exist. The checks look at the names of rows, and at
how similar rows are, compared with independent rows. Rows of the same known person
(`Cohort.person`, `Cohort.pair`) or family (`Cohort.block`) may be similar. Rows of different
persons or families may not.

`find_exchanged` finds series in which rows and columns may be exchanged. The values of a region are
similar from one volume to the next. The values of a volume are hardly similar from one region to
the next, after the mean over the regions is removed. In ABIDE (60 to 200 regions, one volume every
2 s) the correlation from volume to volume is at least 0.2 in each subject, and the correlation from
region to region is -0.03 on average.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.spatial import KDTree

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.design import label_counts, visits_pooled, with_several
from sgbn.cohort.series import SeriesCohort
from sgbn.core.graph import joined_parts
from sgbn.core.problems import Finding, Level
from sgbn.core.types import Array, Indices, Labels
from sgbn.prepare.findings import filled, found, marked, parts

MOST_SESSIONS = 10  # sessions of a person; a longer counter may be a number of subjects
MIN_LIKENESS = 0.3  # how much higher the correlation of rows of one stem must be than of others
MIN_STANDARD_ERRORS = 4  # standard errors by which such a difference must exceed chance
NEAR_COPY = 0.05  # largest difference of two near copies in any region, in standard deviations
EXACT_COPY = 1e-6  # the same for exact copies, used if independent rows may be near copies
MIN_REGIONS = 5  # two rows of fewer regions may be similar by chance
ROWS_APART = 10  # rows so far apart are no longer similar in time, but still within a site
MAX_DISTANCE_RATIO = 0.75  # distance to the next row over distance to a row far apart; 1 by chance
DISTANCE_QUANTILE = 0.25  # quantile of the distances, because sites and persons end at some rows
MIN_ROWS = 24  # for neighbours and lookalikes; random 30 rows of ABIDE, COBRE and IXI give no stop
MIN_GAP = 0.1  # gap minus the gap of independent rows; at most 0.003 in ABIDE, COBRE and IXI
MIN_SHARE_OF_ROWS = 0.1  # share of rows that must have such a gap; 0.01 have one by chance
MAX_ROWS_ASKED = 1000  # number of rows for which the most similar row is searched
MAX_ROWS = 10_000  # more rows than most studies have subjects are a warning
NAME_PERSONS = (
    "Name the column of persons: {subject=} if their rows are in one group, {pair=} if each has "
    "one row in every group, {block=} for families. If each row is a different subject, give "
    "{rows_are_subjects=True}."
)
AS_SERIES = (
    "Give volumes as one file per subject, or with columns 'subject' and 'volume'. For sessions, "
    "name the column of persons ({subject=}, {pair=}). If each row is a different subject, give "
    "{rows_are_subjects=True}."
)
OVERRULED = "You said that each row is a different subject, so that nothing is done about it."


def check_independence(cohort: Cohort) -> Iterator[Finding]:
    """Check whether rows are sessions of a person, copies, or points in time."""
    copies = [*_near_copies(cohort)]
    # Copies are lookalikes too, and would be reported twice.
    checks = CHECKS if copies else (*CHECKS, _lookalikes, unnamed_persons)
    yield from copies
    yield from next(filter(None, ([*check(cohort)] for check in checks)), [])
    if len(cohort) > MAX_ROWS:
        yield Finding("warning", "rows.many", n=len(cohort)).says(
            "there are {n} rows, more than most studies have subjects",
            "Check that the rows are subjects, and not points in time or space.",
        )


def overrule(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Make stops warnings, because the user said that all rows are subjects."""
    for finding in findings:
        if finding.level == "stop":
            finding.level = "warning"
            finding.problem.parts = (finding.problem.parts[0], OVERRULED)
        yield finding


def check_ids(cohort: Cohort) -> Iterator[Finding]:
    """Check whether ids are those of summary rows, or two spellings of the same id."""
    if labels := summary_labels(cohort.ids):
        # These words are no names of people, so that they are shown.
        yield Finding("stop", "ids.summary", labels=labels).says(
            "the table seems to have {labels:summary row}: {labels}",
            "Delete such rows. If each row is a different subject, give {rows_are_subjects=True}.",
        )
    if spellings := _of_several(cohort, spelling_stems(cohort.ids)):
        subjects = [cohort.ids[row] for rows in spellings.values() for row in rows]
        yield Finding("stop", "ids.spelling", subjects=subjects).says(
            "ids differ only in case, separators or leading zeros: {subjects}",
            "Correct them, or delete repeated rows. If each row is a different subject, give "
            "{rows_are_subjects=True}.",
        )


def check_visits(cohort: Cohort) -> Iterator[Finding]:
    """Check whether visits of a person are pooled, although a column without a role tells them."""
    if cohort.person is None or _tells_visits(cohort, cohort.person):
        return
    excluded = cohort.provenance.get("excluded", ())
    columns = cohort.provenance.get("repeated", {}).get("visits", ())
    if unused := [column for column in columns if column not in excluded]:
        yield found("stop", visits_pooled(unused))
    elif columns:
        yield Finding("note", "visits.pooled", columns=columns).says(
            "the visits of a person are pooled, as these columns are excluded: {columns}"
        )


def _tells_visits(cohort: Cohort, persons: Labels) -> bool:
    """Return whether the columns with a role tell all rows of a person apart."""
    roles = [persons, cohort.group, cohort.site, cohort.block]
    # Many different numbers, such as motion, differ between visits but do not tell them.
    roles += [
        column
        for name, column in cohort.covariates.items()
        if column.dtype.kind != "f" or len(np.unique(column)) <= MOST_SESSIONS or _names_visit(name)
    ]
    # As text, because NaN is not equal to NaN.
    known = [column.astype(str).tolist() for column in roles if column is not None]
    return len(set(zip(*known, strict=True))) == len(cohort)


def visit_columns(columns: Mapping[str, Sequence[str]], persons: Sequence[str]) -> list[str]:
    """Return the columns that tell the visits of a person, by their names or all their labels."""
    return [
        name
        for name, cells in columns.items()
        if with_several(np.array(persons, str), np.array(cells, str))
        and not OF_VISIT.search(_spaced(name))
        and (_names_visit(name) or all(VISIT_LABEL.fullmatch(cell) for cell in cells if cell))
    ]


def _spaced(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)


def _names_visit(name: str) -> bool:
    return VISIT_NAME.search(_spaced(name)) is not None


def unnamed_persons(cohort: Cohort) -> Iterator[Finding]:
    """Report columns without a role whose labels repeat, because they may identify persons."""
    repeated = cohort.provenance.get("repeated", {})
    for column, argument in repeated.get("persons", {}).items():
        yield Finding("stop", "persons.unnamed", column=column, argument=argument).says(
            "the column {column} has fewer labels than there are rows: several rows seem to belong "
            "to one person or family",
            "Name it ({argument}). If each row is a different subject, give "
            "{rows_are_subjects=True}.",
        )
    for column in repeated.get("nested", ()):
        yield Finding("warning", "persons.nested", column=column).says(
            "the column {column} has fewer labels than there are rows, and each label is in one "
            "group",
            "If it is the column of persons, name it ({subject=}).",
        )


def _volumes_of_persons(cohort: Cohort) -> Iterator[Finding]:
    """Check whether persons have so many rows that these must be volumes, not sessions."""
    if cohort.persons is None:
        return
    # By the median, because one person with many sessions does not mean that rows are volumes.
    middle = float(np.median(np.unique(cohort.persons, return_counts=True)[1]))
    if middle > MOST_SESSIONS:
        yield Finding("stop", "rows.volumes", n=middle).says(
            "a person has {n:g} rows (median), which seem to be volumes of time series", AS_SERIES
        )


def find_sessions(cohort: Cohort) -> Iterator[Finding]:
    """Report rows that seem to be sessions of a person, by their names and their values.

    A stem is a name without the words or numbers of a session. Words that surely mean a session are
    enough for a report. If names have only counters, the rows of a stem must also be similar. A
    person has few sessions. A stem with many rows may be a site or a batch, and is reported only if
    its rows are similar.
    """
    long = long_stems(cohort.ids)
    for stems, surely in (
        (_short(session_stems(cohort.ids)), True),
        (long, bool(_short(long))),
        (_short(counter_stems(cohort.ids)), False),
    ):
        shared = _of_several(cohort, stems)
        if shared and (surely or _are_alike(cohort, shared)):
            unsure = stems is long and not surely and len(cohort.regions) < MIN_REGIONS
            level: Level = "warning" if unsure else "stop"
            subjects = [cohort.ids[row] for rows in shared.values() for row in rows]
            yield Finding(level, "rows.sessions", subjects=subjects, n=len(shared)).says(
                "the rows of {subjects} seem to be sessions of {n:person}",
                NAME_PERSONS,
            )
            return


def _short(stems: Stems) -> Stems:
    """Return the stems, or none of them if one has too many rows to be sessions of a person."""
    return stems if max(map(len, stems.values()), default=0) <= MOST_SESSIONS else {}


def _of_several(cohort: Cohort, stems: Stems) -> Stems:
    """Return the stems without those that are one known person or family, or one whole site."""
    unit, site = cohort.design.unit_codes, cohort.site
    kept = {stem: rows for stem, rows in stems.items() if len(np.unique(unit[rows])) > 1}
    if site is None:
        return kept
    sizes = label_counts(site)
    return {
        stem: rows
        for stem, rows in kept.items()
        if len(np.unique(site[rows])) > 1 or sizes[str(site[rows[0]])] > len(rows)
    }


def _are_alike(cohort: Cohort, shared: Stems) -> bool:
    """Return whether rows of one stem are much more similar than rows of different stems."""
    if len(cohort.regions) < MIN_REGIONS:
        return True  # the regions are too few for a comparison, so that only the names count
    Z = profiles(cohort)
    within = np.concatenate(
        [(Z[rows] @ Z[rows].T)[np.triu_indices(len(rows), 1)] for rows in shared.values()]
    )
    # Neighbours in a random order are pairs of unrelated rows. The seed is fixed, so that a second
    # review gives the same result.
    apart = np.random.default_rng(0).permutation(len(Z))
    between = np.einsum("ij,ij->i", Z[apart], Z[np.roll(apart, 1)])
    reach = max(MIN_LIKENESS, MIN_STANDARD_ERRORS * between.std() / np.sqrt(len(within)))
    return bool(within.mean() > between.mean() + reach)


def _near_copies(cohort: Cohort) -> Iterator[Finding]:
    """Report rows that are copies of others up to rounding; within a person, only warn."""
    if len(cohort.regions) < MIN_REGIONS:
        return
    values, unit = in_robust_sd(filled(cohort.values)), cohort.design.unit_codes
    near = near_pairs(values, NEAR_COPY)
    # With few regions or strong correlations, independent rows may be near copies by chance. Then
    # only exact copies count.
    if len(near) and len(near_pairs(surrogate(drawn_in(values)), NEAR_COPY)):
        near = near_pairs(values, EXACT_COPY)
    within = unit[near[:, 0]] == unit[near[:, 1]]
    if not within.all():
        yield Finding("stop", "rows.copies", **copies_of(cohort, near[~within])).says(
            "{n:set} of rows are copies of each other or nearly so: {subjects}",
            "Keep only one of each. If they are sessions, name the column of persons "
            "({subject=}, {pair=}). If all are different subjects, give {rows_are_subjects=True}.",
        )
    if within.any():
        yield Finding("warning", "rows.copies-within", **copies_of(cohort, near[within])).says(
            "rows of a person or family are copies of each other or nearly so: {subjects}",
            "Check whether a row was entered twice. If so, leave one of them out.",
        )


def copies_of(cohort: Cohort, pairs: Indices) -> dict[str, Any]:
    """Return the number of sets of copies, and the ids of their rows, set after set."""
    # Rows are in one set if pairs link them, directly or through other rows.
    label = joined_parts(pairs[:, 0], pairs[:, 1], len(cohort))
    rows = sorted(np.unique(pairs).tolist(), key=lambda row: label[row])
    return {"n": len(set(label[rows])), "subjects": [cohort.ids[row] for row in rows]}


def _neighbours(cohort: Cohort) -> Iterator[Finding]:
    """Report rows that resemble the next row, as sessions and points in time do."""
    near, far = _resemblance(cohort, [np.arange(len(cohort))])
    if near > far:
        yield Finding("stop", "rows.neighbours", near=near, far=far, lag=ROWS_APART).says(
            "each row resembles the next row, as sessions or points in time do (correlation "
            "{near:.2f}; {far:.2f} with the {lag}th row after it)",
            AS_SERIES,
        )


def _numbered(cohort: Cohort) -> Iterator[Finding]:
    """Check whether rows with consecutive numbers in their names resemble each other."""
    series = numbered_rows(cohort.ids, MOST_SESSIONS)
    near, far = _resemblance(cohort, series)
    if near > far:
        ids = [cohort.ids[row] for row in series[0]]
        yield Finding("stop", "rows.numbered", subjects=ids, near=near, far=far).says(
            "rows with consecutive numbers resemble each other, as points in time do (correlation "
            "{near:.2f}; {far:.2f} with farther rows): {subjects}",
            AS_SERIES,
        )


def _resemblance(cohort: Cohort, series: Sequence[Indices]) -> tuple[float, float]:
    """Return how much rows resemble the next row, and farther rows; 0 if as much.

    A row of a site resembles all rows of the site equally. A row of one person, or a point in time,
    resembles the next row more than farther rows.
    """
    if len(cohort.regions) < MIN_REGIONS or not series:
        return 0.0, 0.0
    unit, Z = cohort.design.unit_codes, profiles(cohort)
    next_ones, far_ones = (
        np.concatenate([np.column_stack([rows[:-lag], rows[lag:]]) for rows in series])
        for lag in (1, ROWS_APART)
    )
    near, far = (
        np.einsum("ij,ij->i", Z[i], Z[j])
        for i, j in (
            pairs[unit[pairs[:, 0]] != unit[pairs[:, 1]]].T for pairs in (next_ones, far_ones)
        )
    )
    if len(near) < MIN_ROWS - 1 or len(far) < MIN_ROWS - ROWS_APART:
        return 0.0, 0.0
    error = np.sqrt(near.var() / len(near) + far.var() / len(far))
    distances = [1 - np.quantile(pairs, 1 - DISTANCE_QUANTILE) for pairs in (near, far)]
    if (
        near.mean() - far.mean() < MIN_STANDARD_ERRORS * error
        or distances[0] > MAX_DISTANCE_RATIO * distances[1]
    ):
        return 0.0, 0.0
    return float(near.mean()), float(far.mean())


def _lookalikes(cohort: Cohort) -> Iterator[Finding]:
    """Check whether many rows have one other row that resembles them far more than the rest.

    Names and order of the rows do not matter. Rows of a site resemble many others, but rows of a
    person resemble only each other. So this check measures the gap between two correlations: with
    the most similar row, and with the eleventh most similar row. It compares this gap with the gap
    of independent Gaussian rows that have the same covariance.
    """
    if len(cohort) < MIN_ROWS or len(cohort.regions) < MIN_REGIONS:
        return
    unit = cohort.design.unit_codes
    asked = np.random.default_rng(0).permutation(len(cohort))[:MAX_ROWS_ASKED]
    gaps, likest = gaps_to_likest(profiles(cohort), unit, asked, MOST_SESSIONS)
    # The gap depends on the numbers of rows and regions, which are the same in the surrogates.
    random = unit_rows(surrogate(centred_rows(cohort)))
    by_chance, _ = gaps_to_likest(random, unit, asked, MOST_SESSIONS)
    share = float((gaps > np.quantile(by_chance, 0.99)).mean())
    if gaps.mean() - by_chance.mean() > MIN_GAP and share > MIN_SHARE_OF_ROWS:
        largest = np.argsort(-gaps, kind="stable")
        first = largest[0]
        pair = [cohort.ids[row] for row in sorted((int(asked[first]), int(likest[first])))]
        yield Finding("stop", "rows.lookalikes", share=share, subjects=pair).says(
            "{share:.0%} of the rows resemble one other row far more than the rest, as sessions or "
            "shuffled points in time do, such as {subjects}",
            AS_SERIES,
        )


# Only the first check that finds something is reported.
CHECKS = (_volumes_of_persons, find_sessions, _neighbours, _numbered)


SEARCHED_REGIONS = 8  # regions in the tree that finds near rows; a tree of more regions is slow
MAX_QUARTILE_RANGES = 3.0  # interquartile ranges beyond a quartile at which cells are clipped
QUARTILE_RANGE = 1.349  # standard deviations between the quartiles of a Gaussian
ROWS_PER_BLOCK = 100  # rows that are compared with all rows at a time, to limit the memory


def near_pairs(values: Array, tolerance: float) -> Indices:
    """Return pairs of rows that differ by at most `tolerance` in every region."""
    # Rows that are near in all regions are near in these, so that the tree misses no pair.
    few = np.linspace(0, values.shape[1] - 1, min(values.shape[1], SEARCHED_REGIONS)).astype(int)
    pairs = KDTree(values[:, few]).query_pairs(tolerance, p=np.inf, output_type="ndarray")
    first, second = pairs.T
    near = np.ones(len(pairs), bool)
    for column in values.T:  # one column at a time, because there may be very many pairs
        near &= np.abs(column[first] - column[second]) <= tolerance
    return pairs[near]


def gaps_to_likest(Z: Array, unit: Indices, asked: Indices, n_likest: int) -> tuple[Array, Indices]:
    """Return, for some rows, the gap in similarity and the most similar row of another unit.

    The gap is the correlation with the most similar row, minus the correlation with the row at
    place `n_likest + 1` in the order of similarity.

    Parameters
    ----------
    Z : ndarray of shape (n, m)
        Profiles of the rows, each of length one.
    unit : ndarray of int of shape (n,)
        Person or family of each row.
    asked : ndarray of int
        Indices of the rows to compare with all others.
    n_likest : int
        Number of the most similar rows that the gap covers.
    """
    gaps, likest = np.empty(len(asked)), np.empty(len(asked), np.intp)
    for first in range(0, len(asked), ROWS_PER_BLOCK):
        part = slice(first, first + ROWS_PER_BLOCK)
        R = Z[asked[part]] @ Z.T
        # Excludes the row itself, and rows of the same person, which may be similar.
        R[unit[asked[part]][:, None] == unit] = -1.0
        likest[part] = R.argmax(axis=1)
        top = np.partition(R, -n_likest - 1, axis=1)[:, -n_likest - 1 :]
        gaps[part] = top.max(axis=1) - top.min(axis=1)
    return gaps, likest


def surrogate(values: Array) -> Array:
    """Return independent Gaussian rows, with the number and the covariance of the given rows."""
    # The singular values and axes give a square root of the covariance.
    _, sizes, axes = np.linalg.svd(values - values.mean(axis=0), full_matrices=False)
    drawn = np.random.default_rng(0).standard_normal((len(values), len(sizes)))
    return drawn @ (sizes[:, None] * axes) / np.sqrt(len(values))


def _in_sd(values: Array) -> Array:
    spread = values.std(axis=0)
    return values / np.where(spread > 0, spread, 1.0)


def in_robust_sd(values: Array) -> Array:
    """Return the values in robust standard deviations, which are estimated from the quartiles.

    A few outlying rows do not change the quartiles much.
    """
    low, high = np.quantile(values, [0.25, 0.75], axis=0)
    spread = (high - low) / QUARTILE_RANGE
    return np.where(spread > 0, values / np.where(spread > 0, spread, 1.0), _in_sd(values))


def drawn_in(values: Array) -> Array:
    """Clip cells that are more than `MAX_QUARTILE_RANGES` beyond the quartiles of their column."""
    low, high = np.quantile(values, [0.25, 0.75], axis=0)
    reach = MAX_QUARTILE_RANGES * (high - low)
    # A range of 0 means that at least half of the cells are equal. Then nothing is clipped.
    reach[reach == 0] = np.inf
    return np.clip(values, low - reach, high + reach)


def centred_rows(cohort: Cohort) -> Array:
    """Return the rows minus the means of their group and site, in standard deviations.

    Outlying cells are clipped, because a few of them would dominate the covariance.
    """
    values = filled(cohort.values).copy()
    sites = [] if cohort.site is None else [cohort.site == name for name in np.unique(cohort.site)]
    for rows in (*parts(cohort), *sites):
        values[rows] -= values[rows].mean(axis=0)
    return _in_sd(drawn_in(values))


def profiles(cohort: Cohort) -> Array:
    """Return the profile of each row: `centred_rows`, minus the row's mean, with length one."""
    return unit_rows(centred_rows(cohort))


def unit_rows(values: Array) -> Array:
    """Return the rows minus their own mean, scaled to length one."""
    values = values - values.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    return values / np.where(lengths > 0, lengths, 1.0)


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
SUMMARY = re.compile(
    r"\W*(?:(?:group|grand|overall|sample|column)\W+)?"
    r"(?:mean|average|median|totals?|mittelwert|mittel|summe|gesamt)"
    r"(?:\W+(?:n\W+\d+|sd|std))?\W*",
    re.IGNORECASE,
)
SHORT_SUMMARY = re.compile(r"\W*(?:avg|sum|sd|std)\W*", re.IGNORECASE)  # or initials of a person
VISIT_NAME = re.compile(
    r"(?:^|[\W_])(?:ses|sessions?|visits?|waves?|time[-_. ]?points?|tp|runs?|follow[-_. ]?up"
    r"|viscode)(?:$|[\W_\d])",
    re.IGNORECASE,
)
# What a visit has, such as a date, an age or a quality, is not which visit it is.
OF_VISIT = re.compile(r"date|(?:^|[\W_])age(?:$|[\W_\d])|[\W_](?:quality|site)$", re.IGNORECASE)
VISIT_LABEL = re.compile(
    rf"(?:{SURE}|{MAYBE}|m)[-_. ]*\d{{1,4}}|(?:ses|run)-\w+|{ALONE}", re.IGNORECASE
)


def summary_labels(ids: Sequence[str]) -> list[str]:
    """Return the ids of summary rows, such as "Mean"; "SD" counts only in the last row."""
    return [
        name
        for name in ids
        if SUMMARY.fullmatch(name) or (name == ids[-1] and SHORT_SUMMARY.fullmatch(name))
    ]


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
    names = (re.sub(r"(?<!\d)0+(?=\d)", "", re.sub(r"[-_. ]+", "-", n)).casefold() for n in ids)
    return _shared(names)


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
    # A name that is its own stem has no word for a session.
    return _shared(stem if (stem := stem_of(name)) != name else "" for name in ids)


def _shared(stems: Iterable[str]) -> Stems:
    """Return the rows of each stem that several rows share, except of the empty stem."""
    rows: Stems = defaultdict(list)
    for row, stem in enumerate(stems):
        if stem:
            rows[stem].append(row)
    return {stem: members for stem, members in rows.items() if len(members) > 1}


MIN_CORRELATION = 0.1  # neighbours with a larger correlation are similar
MIN_SHARE_OF_SUBJECTS = 0.5  # smallest share of subjects with exchanged series for a warning
MIN_REGIONS_OF_SERIES = 3  # two regions have only one pair of neighbours, which is not enough


def find_exchanged(cohort: SeriesCohort) -> tuple[SeriesCohort, list[Finding]]:
    """Warn if neighbouring columns are similar, but neighbouring rows are not.

    In correct series the rows are volumes, and neighbouring volumes are similar. The cohort is
    returned unchanged.
    """
    if len(cohort) == 0 or len(cohort.regions) < MIN_REGIONS_OF_SERIES:
        return cohort, []
    volumes, regions = np.array([_neighbour_correlations(series) for series in cohort.series]).T
    # A table with fewer rows than columns may be transposed.
    short = np.array(cohort.n_volumes) < len(cohort.regions)
    exchanged = (volumes < MIN_CORRELATION) | (short & (volumes <= regions))
    odd = (regions > MIN_CORRELATION) & exchanged
    if odd.mean() < MIN_SHARE_OF_SUBJECTS:
        return cohort, []
    of_columns, of_rows = np.median(regions[odd]), np.median(volumes[odd])
    values = {"subjects": marked(cohort.ids, odd), "rows": of_rows, "columns": of_columns}
    finding = Finding("warning", "series.exchanged", **values).says(
        "rows and columns seem to be exchanged in {subjects}: the correlation of neighbouring rows "
        "is {rows:.2f}, and that of neighbouring columns {columns:.2f}",
        "If the rows are regions, transpose the series: one row per volume, one column per region.",
    )
    return cohort, [finding]


def _neighbour_correlations(series: Array) -> tuple[float, float]:
    """Return the mean correlation of neighbouring rows, and of neighbouring columns."""
    centred = series - series.mean(axis=0)
    spread = np.sqrt(np.square(centred).mean(axis=0))
    scaled = np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 0)
    # The global signal is removed, because it makes all regions similar, in any order.
    scaled -= scaled.mean(axis=1, keepdims=True)
    return lag_one([scaled]), lag_one([scaled.T])


def lag_one(runs: Sequence[Array]) -> float:
    """Return the mean correlation of the rows of centred runs with the next rows of their run."""
    products = sum((run[1:] * run[:-1]).sum(axis=0) for run in runs)
    squares = sum(np.square(run).sum(axis=0) for run in runs)
    return float((products / np.maximum(squares, np.finfo(float).tiny)).mean())
