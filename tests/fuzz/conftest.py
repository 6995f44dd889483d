"""Counts what was tried: the number of examples of all properties in a run."""

import re

import pytest

TRIED = re.compile(r"(\d+) (?:passing|failing|invalid)")
EXAMPLES = pytest.StashKey[list[int]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.when == "teardown":
        said = getattr(item, "hypothesis_statistics", "")
        if said:
            counts = item.config.stash.setdefault(EXAMPLES, [])
            counts.append(sum(map(int, TRIED.findall(said))))
    return report


def pytest_terminal_summary(terminalreporter, config):
    counts = config.stash.get(EXAMPLES, [])
    if counts:
        terminalreporter.write_line(f"{sum(counts):,} examples of {len(counts)} properties")
