"""The step from runs to the rows of a cohort: one per subject, or per subject and session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sgbn.core.exceptions import InputError, counted, listed, warn
from sgbn.core.types import Array, Mask
from sgbn.io.series.cells import Volumes
from sgbn.io.series.names import run_order
from sgbn.io.series.runs import Run, Source
from sgbn.io.tables.options import Options

MAX_TR_DIFFERENCE = 0.01  # relative difference that is allowed between the TRs of two files


class Row(NamedTuple):
    """One subject, or one session of a subject.

    Attributes
    ----------
    id, subject, session : str
        The names of the row, of the subject and of the session ("" if there is none).
    runs : list of int
        The indices of its runs in the source, in the order of the runs.
    """

    id: str
    subject: str
    session: str
    runs: list[int]


class Joined(NamedTuple):
    """The runs of a row, one after the other.

    Attributes
    ----------
    series : ndarray of shape (volumes, m)
        The values of the m regions. A region that is empty in one run is 0 in all volumes.
    lengths : tuple of int
        The number of volumes in each run, or in each piece if censored volumes cut the run.
    run_volumes : tuple of int
        The number of volumes in each run.
    censored, short : int
        The numbers of volumes that were left out because they have no value, and because they are
        in a piece that is too short.
    """

    series: Array
    lengths: tuple[int, ...]
    run_volumes: tuple[int, ...]
    censored: int
    short: int


def rows_of(source: Source, options: Options) -> list[Row]:
    """Return the rows in the order of the runs.

    If a subject has several sessions, the user must say what they are.
    """
    visits: dict[tuple[str, str], list[int]] = {}
    for k, run in enumerate(source.runs):
        # All runs of a subject in one session make one row.
        visits.setdefault(run.name[:2], []).append(k)
    several = len({subject for subject, _ in visits}) < len(visits)
    if several and options.pair is None and options.subject is None and options.block is None:
        raise _several_sessions(source, [*visits])
    rows = []
    for (subject, session), runs in visits.items():
        runs.sort(key=lambda k: run_order(source.runs[k].name.run))
        # If each subject has only one session, the subject is a sufficient name.
        name = f"{subject}_{session}" if several and session else subject
        rows.append(Row(name, subject, session, runs))
    return rows


def _several_sessions(source: Source, visits: Sequence[tuple[str, str]]) -> InputError:
    """Return the error that asks the user what several sessions of a subject are."""
    subjects = [subject for subject, _ in visits]
    repeated = [name for name in dict.fromkeys(subjects) if subjects.count(name) > 1]
    sessions = [session for subject, session in visits if subject == repeated[0]]
    person, session = source.participant, source.session
    first = sessions[0] or sessions[1]
    return InputError(
        f"{source.name}: {counted(len(repeated), 'subject has', 'subjects have')} several sessions "
        f"({repeated[0]}: {listed(sessions)}). Say what they are. To compare the sessions, give "
        f"group={session!r}, pair={person!r} (--group {session} --pair {person}). If all sessions "
        f"of a person are in one group, give subject={person!r} (--subject {person}). To use only "
        f"one session of a folder, give files='*{first}*' (--files '*{first}*'). To use only one "
        "session of a table, remove the rows of the other sessions."
    )


def join_runs(runs: Sequence[Volumes]) -> Joined:
    """Return the runs one after the other. If there are several, each is centred and scaled.

    Centring and scaling are done region by region. The means and scales of a run depend on the
    scanner on that day. Without this step, their differences between runs would look like
    correlations between regions. Runs without any volume left do not count.
    """
    # If no run has a volume left, the first one gives the number of regions.
    left = [run for run in runs if len(run.values)] or [runs[0]]
    # A region that is empty in one run counts as empty in the whole row.
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
    """Return the TR that the user gave. If there is none, return the TR of the series.

    It is None if the series have no TR, or different TRs.
    """
    # The warnings name one file for each TR.
    known = {run.tr: run.where for run in runs if run.tr is not None}
    if not known:
        return asked
    low, high = min(known), max(known)
    if asked is not None:
        if max(abs(low - asked), abs(high - asked)) > MAX_TR_DIFFERENCE * asked:
            other = low if abs(low - asked) > abs(high - asked) else high
            warn(
                f"tr is {asked:g} s, but the TR stored with {known[other]} is {other:g} s. "
                "Your value is used. Check it (tr=, --tr)."
            )
        return asked
    if high - low > MAX_TR_DIFFERENCE * low:
        warn(
            f"the TR is not the same in all series: {low:g} s for {known[low]}, {high:g} s for "
            f"{known[high]}. So it is treated as unknown. If one of them is wrong, give the right "
            "TR (tr=, --tr). If both are right, check that the groups do not differ in the TR."
        )
        return None
    return low


def mean_fd_of(runs: Sequence[Run], lengths: Sequence[int]) -> float:
    """Return the mean framewise displacement over all volumes of a row; NaN if a run has none."""
    known = [np.nan if run.mean_fd is None else run.mean_fd for run in runs]
    # Each run is weighted by its number of volumes. One NaN makes the mean NaN.
    return float(np.average(known, weights=lengths))
