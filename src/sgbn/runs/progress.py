"""How far a study is: a bar on a terminal or in a notebook, lines of text in a log file."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from tqdm.asyncio import tqdm_asyncio
from tqdm.auto import tqdm

Item = TypeVar("Item")

SECONDS_PER_LINE = 30.0  # at least, between two lines of a log
IN_NOTEBOOK = tqdm is not tqdm_asyncio  # what tqdm.auto takes outside of notebooks


def with_progress(
    finished: Iterable[Item], planned: int, missing: int, title: str
) -> Iterable[Item]:
    """Give the items as they come, and show how many there are and how much time is left.

    Parameters
    ----------
    finished : iterable
        One item per task that was missing.
    planned, missing : int
        Tasks in all, and those that had no result at the start.
    title : str
        Of the study; "" if it has none.
    """
    if not (IN_NOTEBOOK or sys.stderr.isatty()):
        return _with_lines(finished, planned, missing, title)
    done = planned - missing
    return tqdm(finished, total=planned, initial=done, desc=title or None, unit="task")


def _with_lines(finished: Iterable[Item], planned: int, missing: int, title: str) -> Iterator[Item]:
    begin = said = first = time.monotonic()
    for count, item in enumerate(finished, start=1):
        yield item
        now = time.monotonic()
        first = now if count == 1 else first  # compiling may have taken most of the first task
        if now - said >= SECONDS_PER_LINE and count < missing:
            said = now
            left = ""
            if count > 1:
                seconds = (now - first) / (count - 1) * (missing - count)
                left = f", about {tqdm.format_interval(seconds)} left"
            tqdm.write(
                f"{title or 'tasks'}: {planned - missing + count} of {planned} done, "
                f"{tqdm.format_interval(now - begin)} passed{left}",
                file=sys.stderr,
            )
