import io
from functools import partial

import pytest
from tqdm.auto import tqdm

from sgbn.runs import tasks as progress
from sgbn.runs.study import Study
from sgbn.runs.tasks import Outcome, TimeLeft, with_progress


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
