"""Review of the rows: whether each of them is another subject.

Sessions of a person, copies of rows and time points look like subjects, and every test that counts
them as such finds differences that are none. Rows of persons that are known (`Cohort.person`,
`Cohort.pair`) or of families (`Cohort.block`) may be alike; between them the same is looked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.spatial import KDTree

from sgbn.cohort import Cohort
from sgbn.exceptions import counted, listed
from sgbn.graph.parts import joined_parts
from sgbn.quality.findings import Finding, filled, parts
from sgbn.quality.row_names import (
    Stems,
    counter_stems,
    long_stems,
    numbered_rows,
    session_stems,
    spelling_stems,
)
from sgbn.types import Array, Indices

MOST_SESSIONS = 10  # of a person: a counter that goes on may be a number of subjects
SAME_PERSON = 0.3  # correlation by which rows of one stem must be more alike than others
SURE = 4  # standard errors by which it must be beyond chance
NEAR_COPY = 0.05  # standard deviations by which two rows may differ in any region
EXACT_COPY = 1e-6  # the same, where independent rows may come that near by chance
SEARCHED = 8  # regions: trees of more are slow
FEWEST_REGIONS = 5  # two rows of fewer regions are alike by chance
FAR = 10  # rows apart: points in time and sessions are less alike, subjects of one site as much
CLOSER = 0.75  # ratio of distances to the next row and to one so far away; 1 if independent
NEAREST = 0.25  # quantile of the distances: few rows stand where a site or a person ends
ENOUGH_ROWS = 24  # for neighbours and lookalikes; no random 30 rows of ABIDE, COBRE or IXI stop
LOOKALIKE = 0.1  # gap, beyond that of independent rows; at most 0.003 in ABIDE, COBRE and IXI
SHARE = 0.1  # of the rows that must have such a gap; 0.01 have one by chance
FAR_OUT = 3.0  # interquartile ranges beyond a quartile
QUARTILES = 1.349  # standard deviations between those of a Gaussian
ASKED = 1000  # rows whose likes are looked for
AT_A_TIME = 100  # of them: each is compared with all rows
MANY_ROWS = 10_000
REMEDY = (
    "If a person has several rows, name the column that says who it is: --subject COLUMN "
    "(subject=) where they are in one group, --pair COLUMN (pair=) where each person is there once "
    "in every group; --block COLUMN (block=) for families. Or give one row per subject (the mean "
    "of its rows, or one of them). If each row is another subject, say so: --rows-are-subjects, "
    "Settings(rows_are_subjects=True)"
)
VOLUMES = (
    "If rows are volumes of time series, do not give them as subjects: give a folder with one file "
    "per subject, or add columns that say whose volume a row is and which ('subject', 'volume'), "
    f"and they are read as series. {REMEDY}"
)
OVERRULED = "You said that each row is another subject: nothing is done about it"


def check_independence(cohort: Cohort, *, overruled: bool = False) -> Iterator[Finding]:
    """Whether rows are sessions of a person, copies, or points in time.

    Who says that they are subjects all the same (`overruled`) is warned, and not stopped.
    """
    copies = [*_near_copies(cohort)]
    checks = CHECKS if copies else (*CHECKS, _lookalikes, unnamed_persons)  # copies look alike
    found = copies + next(filter(None, ([*check(cohort)] for check in checks)), [])
    hint = _hint(cohort)
    for one in found:
        if one.level == "stop" and overruled:
            yield one._replace(level="warning", action=OVERRULED)
        else:
            yield one._replace(action=one.action.replace(REMEDY, REMEDY + hint))
    if len(cohort) > MANY_ROWS:
        yield Finding(
            "warning",
            f"there are {len(cohort)} rows, more than most studies have subjects",
            "See whether they are subjects, not points in time or places",
        )


def _hint(cohort: Cohort) -> str:
    """Say which option fits, where a column of the table may say who is behind the rows."""
    repeated = cohort.provenance.get("repeated", {})
    columns = {**repeated.get("persons", {}), **repeated.get("nested", {})}
    said = [f"{option} {column}" for column, option in columns.items()]
    return f". In this table: {' or '.join(said)}" if said else ""


def unnamed_persons(cohort: Cohort) -> Iterator[Finding]:
    """Columns that repeat as persons do, of a table whose rows do not show it."""
    repeated = cohort.provenance.get("repeated", {})
    for column in repeated.get("persons", ()):
        yield Finding(
            "stop",
            f"the column {column!r} has fewer labels than there are rows: several rows seem to be "
            "of one person or family",
            REMEDY,
        )
    for column, option in repeated.get("nested", {}).items():
        yield Finding(
            "warning",
            f"the column {column!r} has fewer labels than there are rows, and each is in one group",
            f"If it says who is behind the rows, say {option} {column}",
        )


def _volumes_of_persons(cohort: Cohort) -> Iterator[Finding]:
    """More rows of one person than anybody has sessions."""
    if cohort.persons is None:
        return
    middle = float(np.median(np.unique(cohort.persons, return_counts=True)[1]))
    if middle > MOST_SESSIONS:
        yield Finding(
            "stop",
            f"a person has {middle:g} rows (median), far more than sessions: they seem to be "
            "volumes of time series",
            VOLUMES,
        )


def _units(cohort: Cohort) -> Indices:
    """Person or family of each row: itself, where nothing is known."""
    if cohort.units is None:
        return np.arange(len(cohort))
    return np.unique(cohort.units, return_inverse=True)[1].astype(np.intp)


def find_sessions(cohort: Cohort) -> Iterator[Finding]:
    """Names that say session, or counters of rows that are alike.

    A person has few sessions. Stems of more rows may be sites or batches: they must be alike.
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
            n_rows = sum(len(own) for own in shared.values())
            examples = [" and ".join(cohort.ids[k] for k in own[:2]) for own in shared.values()]
            persons = counted(len(shared), "person")
            unsure = stems is long and not surely and len(cohort.regions) < FEWEST_REGIONS
            yield Finding(
                "warning" if unsure else "stop",
                f"{n_rows} rows seem to be sessions of {persons}, such as "
                f"{listed(examples, 3)}: they are no independent subjects",
                REMEDY,
            )
            return


def _short(stems: Stems) -> Stems:
    """Return the stems, none at all if one of them has more rows than a person has sessions."""
    return stems if max(map(len, stems.values()), default=0) <= MOST_SESSIONS else {}


def _of_several(cohort: Cohort, stems: Stems) -> Stems:
    """Stems that are no known person or family, and no site."""
    unit, site = _units(cohort), cohort.site
    kept = {stem: own for stem, own in stems.items() if len(np.unique(unit[own])) > 1}
    if site is None:
        return kept
    sizes = dict(zip(*(one.tolist() for one in np.unique(site, return_counts=True)), strict=True))
    return {
        stem: own
        for stem, own in kept.items()
        if len(np.unique(site[own])) > 1 or sizes[str(site[own[0]])] > len(own)
    }


def _are_alike(cohort: Cohort, shared: Stems) -> bool:
    """Whether rows of one stem are much more alike than rows of others."""
    if len(cohort.regions) < FEWEST_REGIONS:
        return True  # too few regions to tell: the names alone speak
    Z = _profiles(cohort)
    within = np.concatenate(
        [(Z[own] @ Z[own].T)[np.triu_indices(len(own), 1)] for own in shared.values()]
    )
    apart = np.random.default_rng(0).permutation(len(Z))
    between = np.einsum("ij,ij->i", Z[apart], Z[np.roll(apart, 1)])
    reach = max(SAME_PERSON, SURE * between.std() / np.sqrt(len(within)))
    return bool(within.mean() > between.mean() + reach)


def _near_copies(cohort: Cohort) -> Iterator[Finding]:
    """Rows that are copies of others, but for rounding; within a person they are a warning."""
    if len(cohort.regions) < FEWEST_REGIONS:
        return
    values, unit = _in_robust_sd(filled(cohort.values)), _units(cohort)
    near = near_pairs(values, NEAR_COPY)
    if len(near) and len(near_pairs(_surrogate(_drawn_in(values)), NEAR_COPY)):
        near = near_pairs(values, EXACT_COPY)
    within = unit[near[:, 0]] == unit[near[:, 1]]
    if not within.all():
        what, rows = copies_in_words(cohort, near[~within])
        yield Finding("stop", what, f"Leave all but one of each out. {REMEDY}. {rows}")
    if within.any():
        what, rows = copies_in_words(cohort, near[within])
        action = f"See whether a row was entered twice, and leave one out. {rows}"
        yield Finding("warning", f"{what}; the copies are of one person or family each", action)


def near_pairs(values: Array, tolerance: float) -> Indices:
    """Rows that differ by no more than that in any region, found by a few of them first."""
    few = np.linspace(0, values.shape[1] - 1, min(values.shape[1], SEARCHED)).astype(int)
    pairs = KDTree(values[:, few]).query_pairs(tolerance, p=np.inf, output_type="ndarray")
    first, second = pairs.T
    near = np.ones(len(pairs), bool)
    for column in values.T:  # one at a time: there may be very many pairs
        near &= np.abs(column[first] - column[second]) <= tolerance
    found: Indices = pairs[near]
    return found


def copies_in_words(cohort: Cohort, pairs: Indices, things: str = "rows") -> tuple[str, str]:
    """How many copies there are, with an example, and all of them: they may fill a screen."""
    groups = _linked(pairs, len(cohort))
    named = [" and ".join(cohort.ids[k] for k in rows) for rows in groups]
    kind = "pair" if max(map(len, groups)) == 2 else "group"
    first = " and ".join(cohort.ids[k] for k in groups[0][:2])
    count = f"{counted(len(groups), kind)} of {things} are copies of each other or nearly so"
    return f"{count}, such as {first}", f"The copies: {'; '.join(named)}"


def _linked(pairs: Indices, n: int) -> list[list[int]]:
    """Rows that pairs link, each in one group."""
    label = joined_parts(pairs[:, 0], pairs[:, 1], n)
    groups: dict[int, list[int]] = {}
    for row in np.unique(pairs).tolist():
        groups.setdefault(int(label[row]), []).append(row)
    return [*groups.values()]


def _neighbours(cohort: Cohort) -> Iterator[Finding]:
    """Rows that resemble the next one, as sessions and points in time do."""
    found = _resemblance(cohort, [np.arange(len(cohort))])
    if found:
        yield Finding(
            "stop",
            f"each row resembles the next one ({found}), as sessions or points in time of one "
            "person do",
            VOLUMES,
        )


def _numbered(cohort: Cohort) -> Iterator[Finding]:
    """Rows that resemble the one whose name has the next number, wherever it stands."""
    series = numbered_rows(cohort.ids, MOST_SESSIONS)
    found = _resemblance(cohort, series)
    if found:
        first, second = (cohort.ids[row] for row in series[0][:2])
        yield Finding(
            "stop",
            f"rows with consecutive numbers, such as {first} and {second}, resemble each other "
            f"({found}), as points in time of one person do",
            VOLUMES,
        )


def _resemblance(cohort: Cohort, series: Sequence[Indices]) -> str:
    """How much rows resemble the next of a series, in words; "" if no more than those beyond.

    Rows of a site resemble the next one as much as others of the site. Those of a person and those
    close in time resemble it more.
    """
    if len(cohort.regions) < FEWEST_REGIONS or not series:
        return ""
    unit, Z = _units(cohort), _profiles(cohort)
    next_ones, far_ones = (
        np.concatenate([np.column_stack([rows[:-lag], rows[lag:]]) for rows in series])
        for lag in (1, FAR)
    )
    near, far = (
        np.einsum("ij,ij->i", Z[i], Z[j])
        for i, j in (own[unit[own[:, 0]] != unit[own[:, 1]]].T for own in (next_ones, far_ones))
    )
    if len(near) < ENOUGH_ROWS - 1 or len(far) < ENOUGH_ROWS - FAR:
        return ""
    error = np.sqrt(near.var() / len(near) + far.var() / len(far))
    distances = [1 - np.quantile(own, 1 - NEAREST) for own in (near, far)]
    if near.mean() - far.mean() < SURE * error or distances[0] > CLOSER * distances[1]:
        return ""
    return f"mean correlation {near.mean():.2f}; {far.mean():.2f} with the {FAR}th after it"


def _lookalikes(cohort: Cohort) -> Iterator[Finding]:
    """Rows with one other that is far more like them than most, whatever their names and order.

    Rows of a site all resemble each other, and those of a person only each other: what counts is
    the gap between the most similar row and the eleventh, beside that of independent Gaussian rows
    with the same covariance.
    """
    if len(cohort) < ENOUGH_ROWS or len(cohort.regions) < FEWEST_REGIONS:
        return
    unit = _units(cohort)
    asked = np.random.default_rng(0).permutation(len(cohort))[:ASKED]
    gaps, likest = _gaps(_profiles(cohort), unit, asked)
    by_chance, _ = _gaps(_unit_rows(_surrogate(_centred(cohort))), unit, asked)
    share = float((gaps > np.quantile(by_chance, 0.99)).mean())
    if gaps.mean() - by_chance.mean() > LOOKALIKE and share > SHARE:
        largest = np.argsort(-gaps, kind="stable")
        named = {tuple(sorted((int(asked[k]), int(likest[k])))) for k in largest[:6]}
        examples = [f"{cohort.ids[i]} and {cohort.ids[j]}" for i, j in sorted(named)]
        yield Finding(
            "stop",
            f"{share:.0%} of the rows resemble one other row far more than the rest, such as "
            f"{listed(examples)}, as sessions or shuffled points in time of one person do",
            VOLUMES,
        )


def _gaps(Z: Array, unit: Indices, asked: Indices) -> tuple[Array, Indices]:
    """Gap of each row that is asked, and the most similar row of another unit."""
    gaps, likest = np.empty(len(asked)), np.empty(len(asked), np.intp)
    for first in range(0, len(asked), AT_A_TIME):
        here = slice(first, first + AT_A_TIME)
        R = Z[asked[here]] @ Z.T
        R[unit[asked[here]][:, None] == unit] = -1.0
        likest[here] = R.argmax(axis=1)
        top = np.partition(R, -MOST_SESSIONS - 1, axis=1)[:, -MOST_SESSIONS - 1 :]
        gaps[here] = top.max(axis=1) - top.min(axis=1)
    return gaps, likest


CHECKS = (
    _volumes_of_persons,
    find_sessions,
    _neighbours,
    _numbered,
)  # the first that finds something speaks


def _surrogate(values: Array) -> Array:
    """Draw as many independent Gaussian rows with the same covariance."""
    centred = values - values.mean(axis=0)
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    drawn = np.random.default_rng(0).standard_normal((len(values), len(sizes)))
    found: Array = drawn @ (sizes[:, None] * axes) / np.sqrt(len(values))
    return found


def _in_sd(values: Array) -> Array:
    spread = values.std(axis=0)
    found: Array = values / np.where(spread > 0, spread, 1.0)
    return found


def _in_robust_sd(values: Array) -> Array:
    """Values per standard deviation, by the quartiles: a few rows far out do not inflate it."""
    low, high = np.quantile(values, [0.25, 0.75], axis=0)
    spread = (high - low) / QUARTILES
    return np.where(spread > 0, values / np.where(spread > 0, spread, 1.0), _in_sd(values))


def _drawn_in(values: Array) -> Array:
    """Values with cells far out at the border of what is not."""
    low, high = np.quantile(values, [0.25, 0.75], axis=0)
    reach = FAR_OUT * (high - low)
    reach[reach == 0] = np.inf
    return np.clip(values, low - reach, high + reach)


def _centred(cohort: Cohort) -> Array:
    """Rows less the means of their group and of their site, in standard deviations.

    Cells far out are drawn in: a few of them would make up most of the covariance.
    """
    values = filled(cohort.values).copy()
    sites = [] if cohort.site is None else [cohort.site == name for name in np.unique(cohort.site)]
    for rows in (*parts(cohort), *sites):
        values[rows] -= values[rows].mean(axis=0)
    return _in_sd(_drawn_in(values))


def _profiles(cohort: Cohort) -> Array:
    """Rows less the means of their group, then less their own mean, scaled to length one."""
    return _unit_rows(_centred(cohort))


def _unit_rows(values: Array) -> Array:
    values = values - values.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    found: Array = values / np.where(lengths > 0, lengths, 1.0)
    return found
