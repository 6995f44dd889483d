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
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy.spatial import KDTree

from sgbn.cohort.cohort import Cohort, label_counts
from sgbn.cohort.series import SeriesCohort
from sgbn.core.graph import joined_parts
from sgbn.core.problems import counted, listed
from sgbn.core.types import Array, Indices
from sgbn.prepare.findings import Finding, filled, marked, parts

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
REMEDY = (
    "If a person has several rows, name the column that identifies the person: --subject COLUMN "
    "(subject=) if these rows are in one group, --pair COLUMN (pair=) if each person has one row "
    "in every group, --block COLUMN (block=) for families. Or give one row per subject: the mean "
    "of its rows, or one of them. If each row is a different subject, give --rows-are-subjects, "
    "Settings(rows_are_subjects=True)"
)
VOLUMES = (
    "If rows are volumes of time series, do not give them as subjects. Give a folder with one file "
    "per subject. Or add the columns 'subject' (the subject of the volume) and 'volume' (its "
    f"number), so that the rows are read as series. {REMEDY}"
)
OVERRULED = "You said that each row is a different subject, so that nothing is done about it"


def check_independence(cohort: Cohort, *, overruled: bool = False) -> Iterator[Finding]:
    """Check whether rows are sessions of a person, copies, or points in time.

    If the user said that all rows are subjects (`overruled`), stops become warnings.
    """
    copies = [*_near_copies(cohort)]
    # Copies are lookalikes too, and would be reported twice.
    checks = CHECKS if copies else (*CHECKS, _lookalikes, unnamed_persons)
    findings = copies + next(filter(None, ([*check(cohort)] for check in checks)), [])
    # The option to give, if a column of the table may identify the persons.
    repeated = cohort.provenance.get("repeated", {})
    columns = {**repeated.get("persons", {}), **repeated.get("nested", {})}
    options = [f"{option} {column}" for column, option in columns.items()]
    hint = f". In this table: {' or '.join(options)}" if options else ""
    for finding in findings:
        if finding.level == "stop" and overruled:
            yield finding._replace(level="warning", action=OVERRULED)
        else:
            yield finding._replace(action=finding.action.replace(REMEDY, REMEDY + hint))
    if len(cohort) > MAX_ROWS:
        yield Finding(
            "warning",
            f"there are {len(cohort)} rows, more than most studies have subjects",
            "Check that the rows are subjects, and not points in time or space",
        )


def unnamed_persons(cohort: Cohort) -> Iterator[Finding]:
    """Report columns without a role whose labels repeat, because they may identify persons."""
    repeated = cohort.provenance.get("repeated", {})
    for column in repeated.get("persons", ()):
        yield Finding(
            "stop",
            f"the column {column!r} has fewer labels than there are rows: several rows seem to "
            "belong to one person or family",
            REMEDY,
        )
    for column, option in repeated.get("nested", {}).items():
        yield Finding(
            "warning",
            f"the column {column!r} has fewer labels than there are rows, and each label is in one "
            "group",
            f"If this column identifies persons, give {option} {column}",
        )


def _volumes_of_persons(cohort: Cohort) -> Iterator[Finding]:
    """Check whether persons have so many rows that these must be volumes, not sessions."""
    if cohort.persons is None:
        return
    # By the median, because one person with many sessions does not mean that rows are volumes.
    middle = float(np.median(np.unique(cohort.persons, return_counts=True)[1]))
    if middle > MOST_SESSIONS:
        yield Finding(
            "stop",
            f"a person has {middle:g} rows (median), which are too many to be sessions. They seem "
            "to be volumes of time series",
            VOLUMES,
        )


def _units(cohort: Cohort) -> Indices:
    """Return a number for the person or family of each row; by default all rows differ."""
    if cohort.units is None:
        return np.arange(len(cohort))
    return np.unique(cohort.units, return_inverse=True)[1].astype(np.intp)


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
        (_short(spelling_stems(cohort.ids)), False),
    ):
        shared = _of_several(cohort, stems)
        if shared and (surely or _are_alike(cohort, shared)):
            n_rows = sum(len(rows) for rows in shared.values())
            examples = [" and ".join(cohort.ids[k] for k in rows[:2]) for rows in shared.values()]
            persons = counted(len(shared), "person")
            unsure = stems is long and not surely and len(cohort.regions) < MIN_REGIONS
            yield Finding(
                "warning" if unsure else "stop",
                f"{n_rows} rows seem to be sessions of {persons}, such as "
                f"{listed(examples, 3)}: they are not independent subjects",
                REMEDY,
            )
            return


def _short(stems: Stems) -> Stems:
    """Return the stems, or none of them if one has too many rows to be sessions of a person."""
    return stems if max(map(len, stems.values()), default=0) <= MOST_SESSIONS else {}


def _of_several(cohort: Cohort, stems: Stems) -> Stems:
    """Return the stems without those that are one known person or family, or one whole site."""
    unit, site = _units(cohort), cohort.site
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
    values, unit = in_robust_sd(filled(cohort.values)), _units(cohort)
    near = near_pairs(values, NEAR_COPY)
    # With few regions or strong correlations, independent rows may be near copies by chance. Then
    # only exact copies count.
    if len(near) and len(near_pairs(surrogate(drawn_in(values)), NEAR_COPY)):
        near = near_pairs(values, EXACT_COPY)
    within = unit[near[:, 0]] == unit[near[:, 1]]
    if not within.all():
        what, rows = copies_in_words(cohort, near[~within])
        yield Finding("stop", what, f"Keep only one of each. {REMEDY}. {rows}")
    if within.any():
        what, rows = copies_in_words(cohort, near[within])
        action = f"Check whether a row was entered twice. If so, leave one of them out. {rows}"
        yield Finding("warning", f"{what}, each within one person or family", action)


def copies_in_words(cohort: Cohort, pairs: Indices, things: str = "rows") -> tuple[str, str]:
    """Return two texts: the number of copies with an example, and a list of all copies."""
    # Rows are in one group if pairs link them, directly or through other rows.
    label = joined_parts(pairs[:, 0], pairs[:, 1], len(cohort))
    linked: dict[int, list[int]] = defaultdict(list)
    for row in np.unique(pairs).tolist():
        linked[int(label[row])].append(row)
    groups = [*linked.values()]
    named = [" and ".join(cohort.ids[k] for k in rows) for rows in groups]
    kind = "pair" if max(map(len, groups)) == 2 else "group"
    first = " and ".join(cohort.ids[k] for k in groups[0][:2])
    count = f"{counted(len(groups), kind)} of {things} are copies of each other or nearly so"
    return f"{count}, such as {first}", f"The copies: {'; '.join(named)}"


def _neighbours(cohort: Cohort) -> Iterator[Finding]:
    """Report rows that resemble the next row, as sessions and points in time do."""
    resemblance = _resemblance(cohort, [np.arange(len(cohort))])
    if resemblance:
        yield Finding(
            "stop",
            f"each row resembles the next row ({resemblance}), as sessions or points in time of "
            "one person do",
            VOLUMES,
        )


def _numbered(cohort: Cohort) -> Iterator[Finding]:
    """Check whether rows with consecutive numbers in their names resemble each other."""
    series = numbered_rows(cohort.ids, MOST_SESSIONS)
    resemblance = _resemblance(cohort, series)
    if resemblance:
        first, second = (cohort.ids[row] for row in series[0][:2])
        yield Finding(
            "stop",
            f"rows with consecutive numbers, such as {first} and {second}, resemble each other "
            f"({resemblance}), as points in time of one person do",
            VOLUMES,
        )


def _resemblance(cohort: Cohort, series: Sequence[Indices]) -> str:
    """Return how much rows resemble the next row; "" if they resemble farther rows as much.

    A row of a site resembles all rows of the site equally. A row of one person, or a point in time,
    resembles the next row more than farther rows.
    """
    if len(cohort.regions) < MIN_REGIONS or not series:
        return ""
    unit, Z = _units(cohort), profiles(cohort)
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
        return ""
    error = np.sqrt(near.var() / len(near) + far.var() / len(far))
    distances = [1 - np.quantile(pairs, 1 - DISTANCE_QUANTILE) for pairs in (near, far)]
    if (
        near.mean() - far.mean() < MIN_STANDARD_ERRORS * error
        or distances[0] > MAX_DISTANCE_RATIO * distances[1]
    ):
        return ""
    after = f"with the {ROWS_APART}th row after it"
    return f"mean correlation {near.mean():.2f}; {far.mean():.2f} {after}"


def _lookalikes(cohort: Cohort) -> Iterator[Finding]:
    """Check whether many rows have one other row that resembles them far more than the rest.

    Names and order of the rows do not matter. Rows of a site resemble many others, but rows of a
    person resemble only each other. So this check measures the gap between two correlations: with
    the most similar row, and with the eleventh most similar row. It compares this gap with the gap
    of independent Gaussian rows that have the same covariance.
    """
    if len(cohort) < MIN_ROWS or len(cohort.regions) < MIN_REGIONS:
        return
    unit = _units(cohort)
    asked = np.random.default_rng(0).permutation(len(cohort))[:MAX_ROWS_ASKED]
    gaps, likest = gaps_to_likest(profiles(cohort), unit, asked, MOST_SESSIONS)
    # The gap depends on the numbers of rows and regions, which are the same in the surrogates.
    random = unit_rows(surrogate(centred_rows(cohort)))
    by_chance, _ = gaps_to_likest(random, unit, asked, MOST_SESSIONS)
    share = float((gaps > np.quantile(by_chance, 0.99)).mean())
    if gaps.mean() - by_chance.mean() > MIN_GAP and share > MIN_SHARE_OF_ROWS:
        largest = np.argsort(-gaps, kind="stable")
        named = {tuple(sorted((int(asked[k]), int(likest[k])))) for k in largest[:6]}
        examples = [f"{cohort.ids[i]} and {cohort.ids[j]}" for i, j in sorted(named)]
        yield Finding(
            "stop",
            f"{share:.0%} of the rows resemble one other row far more than the rest, such as "
            f"{listed(examples)}. Sessions or shuffled points in time of one person look like this",
            VOLUMES,
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
    names = marked(cohort.ids, odd)
    who = f" ({listed(names)})" if len(names) < len(cohort) else ""
    of_columns, of_rows = np.median(regions[odd]), np.median(volumes[odd])
    what = (
        f"rows and columns seem to be exchanged in {len(names)} of {len(cohort)} subjects{who}: "
        f"neighbouring rows should be similar, but their correlation is {of_rows:.2f}, and the "
        f"correlation of neighbouring columns is {of_columns:.2f}"
    )
    action = (
        "If the rows are regions, transpose the series: one row per volume and one column per "
        "region"
    )
    return cohort, [Finding("warning", what, action)]


def _neighbour_correlations(series: Array) -> tuple[float, float]:
    """Return the mean correlation of neighbouring rows, and of neighbouring columns."""
    centred = series - series.mean(axis=0)
    spread = np.sqrt(np.square(centred).mean(axis=0))
    scaled = np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 0)
    # The global signal is removed, because it makes all regions similar, in any order.
    scaled -= scaled.mean(axis=1, keepdims=True)
    return _lag_one(scaled), _lag_one(scaled.T)


def _lag_one(values: Array) -> float:
    products = (values[1:] * values[:-1]).sum(axis=0)
    squares = np.maximum(np.square(values).sum(axis=0), np.finfo(float).tiny)
    return float((products / squares).mean())
