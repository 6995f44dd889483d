"""Counts what was tried: the number of examples of all properties in a run."""

import re

import pytest

TRIED = re.compile(r"(\d+) (?:passing|failing|invalid)")
EXAMPLES = "examples"  # the property of a report that takes the number to the process that sums up
counts = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.when == "teardown":
        said = getattr(item, "hypothesis_statistics", "")
        if said:
            report.user_properties.append((EXAMPLES, sum(map(int, TRIED.findall(said)))))
    return report


def pytest_runtest_logreport(report):
    if report.when == "teardown":
        counts.extend(number for name, number in report.user_properties if name == EXAMPLES)


def pytest_terminal_summary(terminalreporter):
    if counts:
        terminalreporter.write_line(f"{sum(counts):,} examples of {len(counts)} properties")
