"""Estimate the time that tasks of several kinds still take.

Tasks of one kind take about the same time, but tasks of another kind may take a hundred times as
long. So each task left is assumed to take as long as the finished tasks of its kind. The tasks left
are then assigned to the workers in the order in which they would start.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from itertools import islice
from statistics import fmean, median_low


class TimeLeft:
    """An estimate of the seconds that tasks will still take.

    Parameters
    ----------
    kinds : sequence of str
        Kind of each task, in the order in which the tasks start.
    workers : int
        Number of tasks that run at the same time.
    """

    def __init__(self, kinds: Sequence[str], workers: int) -> None:
        self._kinds = kinds
        self._workers = workers
        self._took: dict[str, dict[int, float]] = {}  # seconds by kind and number of the task
        self._left = dict.fromkeys(range(len(kinds)), 0.0)  # start times, as far as they are known
        self._now = 0.0

    def note(self, number: int, seconds: float, now: float) -> None:
        """Note that a task ended at the time `now` after `seconds` in its worker."""
        if not self._took:  # the other running tasks started together with the first one
            self._left = dict.fromkeys(self._left, now - seconds)
        self._now = now
        self._left.pop(number, None)
        self._took.setdefault(self._kinds[number], {})[number] = seconds
        # Tasks start in order. So the first tasks left are running, one per worker, and the last of
        # these has just started on the worker that became free.
        just_started = next(islice(self._left, self._workers - 1, None), None)
        if just_started is not None:
            self._left[just_started] = now

    @property
    def n_left(self) -> int:
        """Return the number of tasks that have not ended."""
        return len(self._left)

    def seconds(self) -> float | None:
        """Return the estimate of the seconds left, or None before any task has ended."""
        if not self._took:
            return None
        usual = {kind: _usual(took, self._workers) for kind, took in self._took.items()}
        other = fmean(usual.values())  # for a kind without any task that has ended
        costs = [usual.get(self._kinds[number], other) for number in self._left]
        running = islice(self._left.values(), self._workers)
        for place, begin in enumerate(running):
            # A task that already took longer than usual is assumed to end now.
            costs[place] = max(costs[place] - (self._now - begin), 0.0)
        return _last_end(costs, self._workers)


def _usual(took: Mapping[int, float], workers: int) -> float:
    """Return the usual seconds of the tasks of one kind."""
    seconds = [took[number] for number in sorted(took)]
    # The first task of each worker is left out, because it may include compilation.
    return fmean(seconds[workers:]) if len(seconds) > workers else median_low(seconds)


def _last_end(costs: Sequence[float], workers: int) -> float:
    """Return the time at which the last task ends, if each free worker starts the next task."""
    ends = [0.0] * min(workers, max(len(costs), 1))
    for cost in costs:
        heapq.heapreplace(ends, ends[0] + cost)
    return max(ends)
