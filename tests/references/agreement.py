"""Pytest plugin that reports how near each test's numbers are to those of the other program.

    PYTHONPATH=tests/references python -m pytest -n 0 -q -p agreement tests/references

The figure of a test is the largest difference in a comparison by `numpy.testing.assert_allclose`,
as a share of the largest number in it; the worst of its comparisons counts.
"""

from functools import partial

import numpy as np
import pytest

worst: dict[str, float] = {}
compare = np.testing.assert_allclose


def compare_and_note(test, actual, desired, *args, **options):
    ours, theirs = np.asarray(actual, float), np.asarray(desired, float)
    largest = np.abs(theirs).max(initial=0.0)
    if largest > 0:
        difference = float(np.abs(ours - theirs).max() / largest)
        worst[test] = max(worst.get(test, 0.0), difference)
    compare(actual, desired, *args, **options)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    np.testing.assert_allclose = partial(compare_and_note, item.nodeid)
    try:
        return (yield)
    finally:
        np.testing.assert_allclose = compare


def pytest_terminal_summary(terminalreporter):
    for name, difference in sorted(worst.items()):
        terminalreporter.write_line(f"{difference:8.0e}  {name}")
