import heapq

import numpy as np
import pytest

from sgbn.runs.tasks import TimeLeft

COSTS = {"ours": 30.0, "LDA": 0.2, "L1 logistic": 4.0, "forest": 12.0}


def ends_of(costs, workers):
    """Number, seconds and end of each task, in the order in which they end."""
    free, ended = [0.0] * workers, []
    for number, cost in enumerate(costs):
        end = heapq.heappop(free) + cost
        heapq.heappush(free, end)
        ended.append((end, number, cost))
    return [(number, cost, end) for end, number, cost in sorted(ended)]


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_it_is_right_within_thirty_percent_from_a_third_of_the_way_on(workers):
    rng = np.random.default_rng(0)
    kinds = [kind for _ in range(25) for kind in COSTS]
    costs = [COSTS[kind] * rng.uniform(0.8, 1.25) for kind in kinds]
    costs[0] += 40.0  # it compiles
    left = TimeLeft(kinds, workers)
    ended = ends_of(costs, workers)
    whole, judged = ended[-1][2], 0
    for number, cost, end in ended:
        left.note(number, cost, end)
        if end >= whole / 3 and end < whole - COSTS["ours"]:
            judged += 1
            assert left.seconds() == pytest.approx(whole - end, rel=0.3)
    assert judged > 20
    assert left.n_left == 0
    assert left.seconds() == 0.0


def test_one_estimate_for_all_kinds_would_be_wrong():
    kinds = ["quick"] * 10 + ["slow"] * 10
    left, alike = TimeLeft([*kinds], 1), TimeLeft([""] * 20, 1)
    for one in (left, alike):
        one.note(10, 60.0, 60.0)
        for k in range(10):
            one.note(k, 1.0, 61.0 + k)
    assert left.seconds() == pytest.approx(9 * 60.0)
    assert alike.seconds() < 100.0


def test_workers_that_start_late_are_not_taken_for_slow_tasks():
    left = TimeLeft(["a"] * 8, 2)
    for k in range(4):
        left.note(k, 10.0, 110.0 + 10 * (k // 2))  # two at a time, after 100 seconds
    assert left.seconds() == pytest.approx(20.0)


def test_a_task_that_runs_is_left_in_part():
    left = TimeLeft(["long", "short", "short", "short"], 2)
    left.note(1, 4.0, 4.0)
    left.note(2, 4.0, 8.0)
    left.note(0, 10.0, 10.0)
    assert left.seconds() == pytest.approx(2.0)  # the last began at 8


def test_nothing_is_known_before_a_task_has_ended():
    assert TimeLeft(["a"], 1).seconds() is None
    assert TimeLeft([], 1).n_left == 0


def test_the_first_task_of_each_worker_may_load_and_compile():
    left = TimeLeft(["a"] * 40, 2)
    for k in range(2):
        left.note(k, 30.0, 30.0)
    for k in range(2, 6):
        left.note(k, 1.0, 30.0 + k // 2)
    assert left.seconds() == pytest.approx(17.0)
