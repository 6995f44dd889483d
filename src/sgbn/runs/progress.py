"""Show the progress of a study: a bar on a terminal or in a notebook, lines in a log file."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tqdm.asyncio import tqdm_asyncio
from tqdm.auto import tqdm

from sgbn.runs.files import Arrays
from sgbn.runs.time_left import TimeLeft

SECONDS_PER_LINE = 30.0  # shortest time between two lines of a log
SECONDS_PER_ESTIMATE = 0.5  # shortest time between two estimates in a bar
IN_NOTEBOOK = tqdm is not tqdm_asyncio  # outside of notebooks, tqdm.auto uses tqdm_asyncio
# tqdm's own rate and time left are omitted, because they assume that all tasks take equally long.
BAR = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"


class Outcome(NamedTuple):
    """The result of a task, or why it failed, and its time.

    Attributes
    ----------
    result : dict of str to ndarray
        The result. Empty if the task failed or wrote its result to a file.
    failure : str
        Message of the error. "" if the task did not fail.
    seconds : float
        Time that the task took.
    """

    result: Arrays
    failure: str
    seconds: float


Finished = Iterable[tuple[int, Outcome]]


def with_progress(
    finished: Finished, planned: int, left: TimeLeft, title: str
) -> Iterator[tuple[int, Outcome]]:
    """Yield outcomes as they arrive, and show how many tasks are done and the time left.

    Parameters
    ----------
    finished : iterable of (int, Outcome)
        Number and outcome of each task that had no result at the start.
    planned : int
        Number of all tasks, including the tasks that had a result at the start.
    left : TimeLeft
        Estimate for the tasks that had no result at the start.
    title : str
        Title of the study, or "" for no title.
    """
    noted = _noted(finished, left)
    if IN_NOTEBOOK or sys.stderr.isatty():
        return _with_bar(noted, planned, left, title)
    return _with_lines(noted, planned, left, title)


def _noted(finished: Finished, left: TimeLeft) -> Iterator[tuple[int, Outcome]]:
    for number, outcome in finished:
        left.note(number, outcome.seconds, time.monotonic())
        yield number, outcome


def _with_bar(
    finished: Finished, planned: int, left: TimeLeft, title: str
) -> Iterator[tuple[int, Outcome]]:
    done = planned - left.n_left
    estimated_at = float("-inf")
    with tqdm(total=planned, initial=done, desc=title or None, bar_format=BAR) as bar:
        for item in finished:
            # On a cluster the caller writes the result now. So the bar counts written results.
            yield item
            if time.monotonic() - estimated_at >= SECONDS_PER_ESTIMATE:
                estimated_at = time.monotonic()
                bar.set_postfix_str(_words(left), refresh=False)
            bar.update()


def _with_lines(
    finished: Finished, planned: int, left: TimeLeft, title: str
) -> Iterator[tuple[int, Outcome]]:
    begin = printed_at = time.monotonic()
    for item in finished:
        yield item
        now = time.monotonic()
        if now - printed_at >= SECONDS_PER_LINE and left.n_left:
            printed_at = now
            tqdm.write(
                f"{title or 'tasks'}: {planned - left.n_left} of {planned} done, "
                f"{tqdm.format_interval(now - begin)} passed, {_words(left)}",
                file=sys.stderr,
            )


def _words(left: TimeLeft) -> str:
    return f"about {tqdm.format_interval(left.seconds() or 0.0)} left"
