"""How much time tasks of several kinds still take.

Tasks of one kind cost about the same, and those of another kind may cost a hundred times as much.
So a task that is left is taken to last as long as the finished ones of its kind, and the tasks that
are left are dealt out to the workers as they would take them.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from itertools import islice
from statistics import fmean, median_low


class TimeLeft:
    """Seconds that tasks will still take.

    Parameters
    ----------
    kinds : sequence of str
        Kind of each task, in the order in which they begin.
    workers : int
        Tasks that run at the same time.
    """

    def __init__(self, kinds: Sequence[str], workers: int) -> None:
        self._kinds = kinds
        self._workers = workers
        self._took: dict[str, dict[int, float]] = {}  # kind -> number -> seconds
        self._left = dict.fromkeys(range(len(kinds)), 0.0)  # number -> begin, as far as it is known
        self._now = 0.0

    def note(self, number: int, seconds: float, now: float) -> None:
        """Note that a task ended at a time `now`, after so many seconds in its worker."""
        if not self._took:  # what runs beside the first task began with it
            self._left = dict.fromkeys(self._left, now - seconds)
        self._now = now
        self._left.pop(number, None)
        self._took.setdefault(self._kinds[number], {})[number] = seconds
        # Tasks begin in order, so that the first of what is left are running, one per worker: the
        # last of these has just begun.
        next_one = next(islice(self._left, self._workers - 1, None), None)
        if next_one is not None:
            self._left[next_one] = now  # its worker is free now

    @property
    def n_left(self) -> int:
        """Tasks that have not ended."""
        return len(self._left)

    def seconds(self) -> float | None:
        """Estimate the seconds that are left; None before any task has ended."""
        if not self._took:
            return None
        usual = {kind: _usual(took, self._workers) for kind, took in self._took.items()}
        other = fmean(usual.values())  # of a kind that none has ended of
        costs = [usual.get(self._kinds[number], other) for number in self._left]
        running = islice(self._left.values(), self._workers)
        for place, begin in enumerate(running):
            # A task that takes longer than usual counts as about to end.
            costs[place] = max(costs[place] - (self._now - begin), 0.0)
        return _last_end(costs, self._workers)


def _usual(took: Mapping[int, float], workers: int) -> float:
    """Mean of what tasks of a kind took, without the first of each worker, which may compile."""
    seconds = [took[number] for number in sorted(took)]
    return fmean(seconds[workers:]) if len(seconds) > workers else median_low(seconds)


def _last_end(costs: Sequence[float], workers: int) -> float:
    """Time at which the last task ends, if each worker that is free takes the next one."""
    ends = [0.0] * min(workers, max(len(costs), 1))
    for cost in costs:
        heapq.heapreplace(ends, ends[0] + cost)
    return max(ends)
