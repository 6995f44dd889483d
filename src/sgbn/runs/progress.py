"""How far a study is: a bar on a terminal or in a notebook, lines of text in a log file."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tqdm.asyncio import tqdm_asyncio
from tqdm.auto import tqdm

from sgbn.runs.files import Arrays
from sgbn.runs.time_left import TimeLeft

SECONDS_PER_LINE = 30.0  # at least, between two lines of a log
SECONDS_PER_ESTIMATE = 0.5  # at least, between two estimates that a bar shows
IN_NOTEBOOK = tqdm is not tqdm_asyncio  # what tqdm.auto takes outside of notebooks
# Without tqdm's own rate and time left, which take all tasks as equally long.
BAR = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"


class Outcome(NamedTuple):
    """What became of a task: its result, why it failed, and the seconds that it took."""

    result: Arrays
    failure: str
    seconds: float


Finished = Iterable[tuple[int, Outcome]]


def with_progress(
    finished: Finished, planned: int, left: TimeLeft, title: str
) -> Iterator[tuple[int, Outcome]]:
    """Give outcomes as they come, and show how many there are and how much time is left.

    Parameters
    ----------
    finished : iterable of (int, Outcome)
        One for each task that was missing, by its number.
    planned : int
        Tasks in all, those with a result at the start among them.
    left : TimeLeft
        Of the tasks that were missing.
    title : str
        Of the study; "" if it has none.
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
            # On a cluster whoever takes the item writes its result first, so that the bar counts
            # what is kept.
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
