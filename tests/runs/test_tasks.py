import heapq
import io
import os
from functools import partial

import joblib
import numpy as np
import pytest
from tests.codes import refused
from threadpoolctl import threadpool_info
from tqdm.auto import tqdm

from sgbn.core.problems import StudyError
from sgbn.runs import tasks as progress
from sgbn.runs.study import Study
from sgbn.runs.tasks import Outcome, TimeLeft, n_processors, parallel, run_tasks, with_progress


class Witness:
    """Object that notes each time it is loaded: a line in a file."""

    def __init__(self, path):
        self.path = path

    def __setstate__(self, state):
        self.__dict__.update(state)
        with open(self.path, "a") as stream:
            stream.write(f"{os.getpid()}\n")

    def __call__(self, task):
        return task**2


def product(seed):
    X = np.random.default_rng(seed).standard_normal((300, 300))
    return (X.T @ X)[0]


def blas_threads(_):
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


def test_parallel_keeps_the_order_of_the_tasks():
    assert parallel(abs, [-3, 2, -1], n_jobs=2) == [3, 2, 1]
    assert parallel(abs, iter([-3, 2])) == [3, 2]
    assert parallel(abs, [], n_jobs=2) == []


def test_bits_do_not_depend_on_who_does_the_work():
    expected = parallel(product, range(6))
    assert np.array_equal(parallel(product, range(6), n_jobs=2), expected)
    with joblib.parallel_config(backend="threading"):
        assert np.array_equal(parallel(product, range(6), n_jobs=2), expected)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_every_task_has_one_blas_thread(n_jobs):
    assert parallel(blas_threads, range(3), n_jobs) == [{1}] * 3


def test_the_function_is_sent_once_a_process(tmp_path):
    path = tmp_path / "loads"
    assert parallel(Witness(path), range(50), n_jobs=2) == [k**2 for k in range(50)]
    loads = path.read_text().split()
    assert len(loads) == len(set(loads)) <= 2


def test_nothing_is_sent_within_one_process(tmp_path):
    assert parallel(Witness(tmp_path / "loads"), range(5)) == [0, 1, 4, 9, 16]
    assert not list(tmp_path.iterdir())


def test_no_temporary_file_stays(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    parallel(abs, [1, 2], n_jobs=2)
    with pytest.raises(ZeroDivisionError):
        parallel(lambda x: 1 / x, [1, 0], n_jobs=2)
    assert not list(tmp_path.glob("sgbn-*"))


def test_results_come_as_they_are_finished_with_their_numbers():
    found = dict(run_tasks(abs, [-1, -2, -3], ["a", "b", "c"], 2))
    assert found == {0: 1, 1: 2, 2: 3}


def allocate(size):
    return np.empty(size)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_too_little_memory_is_said(n_jobs):
    with refused("memory.full", kind=StudyError):
        parallel(allocate, [10**15, 10**15], n_jobs)


def test_there_is_a_processor():
    assert n_processors() >= 1


class Clock:
    """Seconds that pass only when a task ends."""

    now = 0.0

    def monotonic(self):
        return self.now

    def tasks(self, count, seconds, first=0):
        for k in range(first, first + count):
            self.now += seconds
            yield k, Outcome({}, "", seconds)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def alike(count):
    return TimeLeft([""] * count, 1)


def test_a_log_has_a_line_now_and_then_with_the_time_left(clock, capsys):
    numbers = [k for k, _ in with_progress(clock.tasks(6, 20), 10, alike(6), "differences")]
    assert numbers == list(range(6))
    assert capsys.readouterr().err.splitlines() == [
        "differences: 6 of 10 done, 00:40 passed, about 01:20 left",
        "differences: 8 of 10 done, 01:20 passed, about 00:40 left",
    ]


def test_a_slow_first_task_frightens_only_until_there_is_another(clock, capsys):
    def tasks():
        yield from clock.tasks(1, 42)  # it compiles
        yield from clock.tasks(4, 16, first=1)

    list(with_progress(tasks(), 5, alike(5), "networks"))
    assert capsys.readouterr().err.splitlines() == [
        "networks: 1 of 5 done, 00:42 passed, about 02:48 left",
        "networks: 3 of 5 done, 01:14 passed, about 00:32 left",
    ]


def test_what_is_soon_done_says_nothing(clock, capsys):
    assert len(list(with_progress(clock.tasks(20, 1), 20, alike(20), ""))) == 20
    assert capsys.readouterr().err == ""


def test_a_terminal_has_a_bar_with_the_time_left(clock, monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(progress, "tqdm", partial(progress.tqdm, mininterval=0))
    monkeypatch.setattr(progress.tqdm, "format_interval", tqdm.format_interval, raising=False)
    assert len(list(with_progress(clock.tasks(3, 20), 5, alike(3), "networks-0"))) == 3
    assert "networks-0" in terminal.getvalue()
    assert "about 00:20 left" in terminal.getvalue()
    assert "5/5" in terminal.getvalue()


def test_a_study_says_nothing_unless_asked(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(progress, "SECONDS_PER_LINE", 0.0)
    tasks = {"a": {"k": 1}, "b": {"k": 2}}
    Study(tmp_path / "quiet").run(dict, tasks, {})
    assert capsys.readouterr().err == ""
    Study(tmp_path / "told", progress=True).run(dict, tasks, {})
    assert capsys.readouterr().err.startswith("told: 1 of 2 done, ")


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


@pytest.mark.parametrize(
    ("kinds", "ended", "seconds"),
    [
        # Workers that start late, after 100 seconds, are not taken for slow tasks.
        (["a"] * 8, [(k, 10.0, 110.0 + 10 * (k // 2)) for k in range(4)], 20.0),
        # A task that runs is left in part: the last began at 8.
        (["long", *["short"] * 3], [(1, 4.0, 4.0), (2, 4.0, 8.0), (0, 10.0, 10.0)], 2.0),
        # The first task of each worker may load and compile.
        (
            ["a"] * 40,
            [(0, 30.0, 30.0), (1, 30.0, 30.0), *((k, 1.0, 30.0 + k // 2) for k in range(2, 6))],
            17.0,
        ),
    ],
)
def test_what_two_workers_have_left(kinds, ended, seconds):
    left = TimeLeft(kinds, 2)
    for one in ended:
        left.note(*one)
    assert left.seconds() == pytest.approx(seconds)


def test_nothing_is_known_before_a_task_has_ended():
    assert TimeLeft(["a"], 1).seconds() is None
    assert TimeLeft([], 1).n_left == 0
