"""From runs to the rows of a cohort: one per subject, or per subject and session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sgbn.exceptions import InputError, counted, listed, warn
from sgbn.io.series.cells import Volumes
from sgbn.io.series.names import run_order
from sgbn.io.series.runs import Run, Source
from sgbn.io.tables.options import Options
from sgbn.types import Array, Mask

MAX_TR_DIFFERENCE = 0.01  # share by which the TR of two files may differ


class Row(NamedTuple):
    """One subject, or one session of a subject.

    Attributes
    ----------
    id, subject, session : str
        Names of the row, of who it is, and of the session ("" for none).
    runs : list of int
        Places of its runs in the source, in their order.
    """

    id: str
    subject: str
    session: str
    runs: list[int]


class Joined(NamedTuple):
    """Runs of a row one after the other.

    Attributes
    ----------
    series : ndarray of shape (volumes, m)
        A region that is empty in one of the runs is 0 in all volumes.
    lengths : tuple of int
        Volumes of each run, or of each piece of a run between censored volumes.
    run_volumes : tuple of int
        Volumes of each run.
    censored, short : int
        Volumes that were left out: without any value, and in pieces that are too short.
    """

    series: Array
    lengths: tuple[int, ...]
    run_volumes: tuple[int, ...]
    censored: int
    short: int


def rows_of(source: Source, options: Options) -> list[Row]:
    """Return the rows in the order of the runs; several sessions of a subject must be asked for."""
    visits: dict[tuple[str, str], list[int]] = {}
    for k, run in enumerate(source.runs):
        # Runs of one subject and session are one row.
        visits.setdefault(run.name[:2], []).append(k)
    several = len({subject for subject, _ in visits}) < len(visits)
    if several and options.pair is None and options.subject is None and options.block is None:
        raise _asked_about_sessions(source, [*visits])
    rows = []
    for (subject, session), runs in visits.items():
        runs.sort(key=lambda k: run_order(source.runs[k].name.run))
        # With one session each, the subject is name enough.
        name = f"{subject}_{session}" if several and session else subject
        rows.append(Row(name, subject, session, runs))
    return rows


def _asked_about_sessions(source: Source, visits: Sequence[tuple[str, str]]) -> InputError:
    """Return the error that asks what several sessions of a subject are."""
    subjects = [subject for subject, _ in visits]
    repeated = [name for name in dict.fromkeys(subjects) if subjects.count(name) > 1]
    sessions = [session for subject, session in visits if subject == repeated[0]]
    person, session = source.participant, source.session
    first = sessions[0] or sessions[1]
    return InputError(
        f"{source.name}: {counted(len(repeated), 'subject has', 'subjects have')} several sessions "
        f"({repeated[0]}: {listed(sessions)}). Say what they are. To compare the sessions: "
        f"group={session!r}, pair={person!r} (--group {session} --pair {person}). If all sessions "
        f"of a person are in one group: subject={person!r} (--subject {person}). To take one "
        f"session: files='*{first}*' (--files '*{first}*'), or remove the rows of the others."
    )


def join_runs(runs: Sequence[Volumes]) -> Joined:
    """Put runs one after the other: several are centred and scaled, region by region, each.

    Means and scales of a run are those of the scanner that day. Without this they would be
    correlations between regions. Runs of which nothing is left play no part.
    """
    # If nothing is left of any, the first stands for the shape.
    left = [run for run in runs if len(run.values)] or [runs[0]]
    # A region that one run lacks is empty in the whole row: its parts could not be compared.
    empty = np.any([run.empty for run in left], axis=0)
    parts = [run.values if len(left) == 1 else _standardised(run.values, empty) for run in left]
    series = np.concatenate(parts)
    series[:, empty] = 0.0
    return Joined(
        series,
        tuple(length for run in runs for length in run.lengths),
        tuple(len(run.values) for run in runs),
        sum(run.censored for run in runs),
        sum(run.short for run in runs),
    )


def _standardised(values: Array, empty: Mask) -> Array:
    spread = np.where(empty, 1.0, values.std(axis=0))
    return np.asarray((values - values.mean(axis=0)) / spread)


def tr_of(runs: Sequence[Run], asked: float | None) -> float | None:
    """Return the TR as it was asked for, else that of the files, if they agree."""
    # One file for each TR, to be named in the warning.
    known = {run.tr: run.where for run in runs if run.tr is not None}
    if not known:
        return asked
    low, high = min(known), max(known)
    if asked is not None:
        if max(abs(low - asked), abs(high - asked)) > MAX_TR_DIFFERENCE * asked:
            other = low if abs(low - asked) > abs(high - asked) else high
            warn(
                f"tr is {asked:g} s, but the file beside {known[other]} says {other:g} s. Your "
                "value is used: check it (tr=, --tr)."
            )
        return asked
    if high - low > MAX_TR_DIFFERENCE * low:
        warn(
            f"the TR is not the same in all files: {low:g} s beside {known[low]}, {high:g} s "
            f"beside {known[high]}. So it is treated as unknown. If one is wrong, give the "
            "right one (tr=, --tr); else check that the groups do not differ in it."
        )
        return None
    return low


def mean_fd_of(runs: Sequence[Run], lengths: Sequence[int]) -> float:
    """Return the mean framewise displacement over all volumes of a row; NaN if a run has none."""
    known = [np.nan if run.mean_fd is None else run.mean_fd for run in runs]
    # Longer runs count for more. A run without motion makes all NaN.
    return float(np.average(known, weights=lengths))
