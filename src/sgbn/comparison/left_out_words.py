"""How many subjects were left out, in words, for the terminal and the report.

The names of these subjects are in a table beside the report. So the sentence can be shared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sgbn.comparison.support import called, joined

if TYPE_CHECKING:
    from sgbn.comparison.result import Comparison

NAMED_IN = "tables/left_out.csv"  # in the folder of a report; names of subjects stay out of text


def left_out_words(comparison: Comparison) -> str:
    """Say how many subjects of each group are far from the others; return "" if there are none."""
    far = comparison.far_out
    if not any(far.values()):
        return ""
    lie = "lies" if sum(map(len, far.values())) == 1 else "lie"
    return (
        f"{left_out_counts(comparison, far)} {lie} far from their group ({NAMED_IN} names them). "
        f"{without_them(comparison)}"
    )


def left_out_counts(comparison: Comparison, left_out: Mapping[str, tuple[Any, ...]]) -> str:
    """Return how many rows of each group are left out, such as "2 of 63 CTR and 0 of 61 SCZ"."""
    # Rows are counted, not persons: a person with several visits may lose one of them.
    sizes = comparison.cohort.sizes
    counts = [
        f"{len(left_out[group])} of {sizes[group]} {called(group)}" for group in comparison.groups
    ]
    return joined(counts)


def without_them(comparison: Comparison) -> str:
    """Say which steps leave out the subjects that are far from their group."""
    # A learner may keep outliers, and the tests may be missing, so there are three sentences.
    networks, tests = comparison.left_out, comparison.tests
    if tests is None or not any(tests.left_out.values()):
        return "The networks leave them out."
    if not any(networks.values()):
        return "The tests of differences leave them out; the networks have all subjects."
    both = "The networks and the tests of differences leave them out."
    return f"{both} {visits_words(comparison)}".rstrip()


def visits_words(comparison: Comparison) -> str:
    """Say how many rows the tests leave out, if these are more than the rows that are far out.

    Otherwise return "". If one row of a person is far out, the tests leave out all its rows.
    """
    tests = comparison.tests
    if tests is None or tests.left_out == comparison.far_out or not any(tests.left_out.values()):
        return ""
    counts = left_out_counts(comparison, tests.left_out)
    return f"The tests leave out all rows of these persons: {counts}."
